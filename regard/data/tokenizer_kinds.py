"""The kinds of tokenizer: how each cuts text into words, learns its tokens, and becomes a pipeline of `tokenizers`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tokenizers import Regex, decoders, models, normalizers, pre_tokenizers
from tokenizers import Tokenizer as LibraryTokenizer

from regard.data import tokenizer_learning as learning
from regard.data.tokenizer_learning import CHARACTERS, CONTINUATION, UNK, WORDS, WORDS_OR_CHARACTERS, Learned, none_of
from regard.data.vocabulary import BYTE_TOKENS, FIRST_LEARNED_ID, SPECIAL_TOKENS, UNK_ID

LONGEST_WORD = 64


@dataclass(frozen=True)
class Scheme:
    """What is decided before a tokenizer sees text."""

    kind: str
    lowercase: bool = False
    normalization: Literal["none", "nfc", "nfkc"] = "none"


@dataclass(frozen=True)
class Kind:
    """One kind of tokenizer.

    `learn` takes texts, the alphabet and the number of tokens to learn, and gives these tokens, those for marks and
    bytes not among them; `alphabet_share` is the part of that number that single characters may take. It is given no
    more than about `training_characters`, drawn evenly from all text, so that memory and time are bounded.
    """

    model_type: str
    pattern: str
    alphabet_share: float
    learn: Callable[[Sequence[str], list[str], int], Learned]
    model: Callable[[Learned], models.Model]
    training_characters: int = 20_000_000


def learn(texts: Sequence[str], alphabet: list[str], scheme: Scheme, vocabulary_size: int) -> Learned:
    """Learn a vocabulary from normalized texts; marks and bytes come first, in the same place for every kind."""
    learned = KINDS[scheme.kind].learn(texts, alphabet, vocabulary_size - FIRST_LEARNED_ID)
    scores = [0.0] * FIRST_LEARNED_ID + learned.scores if learned.scores else []
    return Learned([*SPECIAL_TOKENS, *BYTE_TOKENS, *learned.pieces], learned.merges, scores)


def build(scheme: Scheme, learned: Learned) -> LibraryTokenizer:
    """The pipeline that turns text into ids. Marks are not registered with it, so it never finds them in text."""
    kind = KINDS[scheme.kind]
    pipeline = LibraryTokenizer(kind.model(learned))
    pipeline.normalizer = normalizer(scheme)
    split = pre_tokenizers.Split(Regex(kind.pattern), "isolated")
    pipeline.pre_tokenizer = split
    unmark: list[Any] = []
    if scheme.kind == "wordpiece":
        pipeline.pre_tokenizer = pre_tokenizers.Sequence([split, *_spellable(learned)])
        unmark = [decoders.Replace(Regex(f"^{CONTINUATION}(?=.)"), "")]
    pipeline.decoder = decoders.Sequence(
        [*unmark, decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", left=1, right=0)]
    )
    return pipeline


def normalizer(scheme: Scheme) -> normalizers.Normalizer:
    """Unicode form, case, and one space in front, so that a word at the start is as the same word elsewhere."""
    forms: dict[str, list[Any]] = {"none": [], "nfc": [normalizers.NFC()], "nfkc": [normalizers.NFKC()]}
    form = forms[scheme.normalization]
    case = [normalizers.Lowercase()] if scheme.lowercase else []
    return normalizers.Sequence([*form, *case, *(form if case else []), normalizers.Prepend(" ")])


def _spellable(learned: Learned) -> list[Any]:
    """Cuts after which a WordPiece model fails on nothing but single characters outside its alphabet."""
    alphabet = [piece[-1] for piece in learned.pieces if len(piece) == len(CONTINUATION) + 1 and piece[:2] == "##"]
    outside = pre_tokenizers.Split(Regex(none_of(alphabet)), "isolated")
    # Its longest-match search is quadratic in the length of a word, and gives up on long ones.
    short = pre_tokenizers.Split(Regex(rf"[\s\S]{{1,{LONGEST_WORD}}}"), "isolated")
    return [outside, short]


def _vocabulary(learned: Learned) -> dict[str, int]:
    return {piece: index for index, piece in enumerate(learned.pieces)}


def _bpe(learned: Learned) -> models.Model:
    return models.BPE(_vocabulary(learned), learned.merges, unk_token=UNK, byte_fallback=True)


def _whole_words(learned: Learned) -> models.Model:
    # Without merges a word is spelled; `ignore_merges` takes it whole where the vocabulary has it.
    return models.BPE(_vocabulary(learned), [], unk_token=UNK, byte_fallback=True, ignore_merges=True)


def _wordpiece(learned: Learned) -> models.Model:
    return models.WordPiece(
        _vocabulary(learned),
        unk_token=UNK,
        max_input_chars_per_word=LONGEST_WORD,
        continuing_subword_prefix=CONTINUATION,
    )


def _unigram(learned: Learned) -> models.Model:
    return models.Unigram(list(zip(learned.pieces, learned.scores, strict=True)), unk_id=UNK_ID, byte_fallback=True)


KINDS: dict[str, Kind] = {
    "bpe": Kind("BPE", WORDS, 0.5, learning.learn_bpe, _bpe),
    "wordpiece": Kind("WordPiece", WORDS, 0.25, learning.learn_wordpiece, _wordpiece),
    "unigram": Kind("Unigram", WORDS, 0.5, learning.learn_unigram, _unigram, training_characters=4_000_000),
    "word": Kind("BPE", WORDS_OR_CHARACTERS, 0.25, learning.learn_words, _whole_words),
    "character": Kind("BPE", CHARACTERS, 1.0, learning.learn_characters, _bpe),
    "byte": Kind("BPE", CHARACTERS, 0.0, learning.learn_nothing, _bpe),
}
