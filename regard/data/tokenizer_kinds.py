"""The kinds of tokenizer: how each cuts text into words, learns its tokens, and becomes a `tokenizers` pipeline."""

from __future__ import annotations

import json
import os
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from tokenizers import Regex, decoders, models, normalizers, pre_tokenizers, trainers
from tokenizers import Tokenizer as LibraryTokenizer

from regard.data.vocabulary import BYTE_TOKENS, FIRST_LEARNED_ID, SPECIAL_TOKENS, UNK_ID

# The library's threads would fight the model's for the cores, and it warns when a process forks after using them.
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

CONTINUATION = "##"
LONGEST_PIECE = 16
LONGEST_WORD = 64
UNK = SPECIAL_TOKENS[UNK_ID]

# A word carries the space before it; a digit and a mark of punctuation stand alone. No match holds a space but as its
# first character, so that text can also be cut at its spaces; and none joins letters to "<" or "#", so that no text
# can spell `</s>`, `<0xE4>` or `##x` as one token.
_LETTER = r"\p{L}\p{M}\p{Cf}"
_DIGIT_MARK_OR_SPACE = rf" ?\p{{N}}| ?[^\s\p{{N}}{_LETTER}]|\s"
WORDS = rf" ?[{_LETTER}]+|{_DIGIT_MARK_OR_SPACE}"
# For whole words: scripts written without spaces give one character at a time, or each sentence would be a new word.
_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
WORDS_OR_CHARACTERS = rf" ?[{_UNSPACED}]\p{{M}}*| ?[[{_LETTER}]&&[^{_UNSPACED}]]+|{_DIGIT_MARK_OR_SPACE}"
CHARACTERS = r"\S+|\s"


@dataclass(frozen=True)
class Scheme:
    """What is decided before a tokenizer sees text."""

    kind: str
    lowercase: bool = False
    normalization: Literal["none", "nfc", "nfkc"] = "none"


@dataclass(frozen=True)
class Learned:
    """What a tokenizer learned: its tokens by id, and what some kinds need beside them."""

    pieces: list[str]
    merges: list[tuple[str, str]] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)


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


def surface(piece: str, kind: str) -> str:
    """The text that a learned token stands for."""
    continues = kind == "wordpiece" and piece.startswith(CONTINUATION) and len(piece) > len(CONTINUATION)
    return piece[len(CONTINUATION) :] if continues else piece


def _spellable(learned: Learned) -> list[Any]:
    """Cuts after which a WordPiece model fails on nothing but single characters outside its alphabet."""
    alphabet = [piece[-1] for piece in learned.pieces if len(piece) == len(CONTINUATION) + 1 and piece[:2] == "##"]
    outside = pre_tokenizers.Split(Regex(_none_of(alphabet)), "isolated")
    # Its longest-match search is quadratic in the length of a word, and gives up on long ones.
    short = pre_tokenizers.Split(Regex(rf"[\s\S]{{1,{LONGEST_WORD}}}"), "isolated")
    return [outside, short]


def _none_of(alphabet: Sequence[str]) -> str:
    escaped = (character if character.isalnum() else f"\\x{{{ord(character):X}}}" for character in alphabet)
    return f"[^{''.join(escaped)}]"


def _train(texts: Sequence[str], model: Any, trainer: Any, pattern: str, alphabet: list[str] | None) -> dict[str, Any]:
    """Let the library learn, on text from which characters outside the alphabet are cut."""
    pipeline = LibraryTokenizer(model)
    split = pre_tokenizers.Split(Regex(pattern), "isolated")
    pipeline.pre_tokenizer = split
    if alphabet is not None:
        rare = pre_tokenizers.Split(Regex(_none_of(alphabet)), "removed")
        pipeline.pre_tokenizer = pre_tokenizers.Sequence([split, rare])
    pipeline.train_from_iterator(texts, trainer)
    trained: dict[str, Any] = json.loads(pipeline.to_str())["model"]
    return trained


def _by_id(vocabulary: dict[str, int]) -> list[str]:
    return sorted(vocabulary, key=vocabulary.__getitem__)


def _learn_bpe(texts: Sequence[str], alphabet: list[str], size: int) -> Learned:
    trainer = trainers.BpeTrainer(vocab_size=size, min_frequency=2, max_token_length=LONGEST_PIECE, show_progress=False)
    trained = _train(texts, models.BPE(), trainer, WORDS, alphabet)
    return Learned(_by_id(trained["vocab"]), [(left, right) for left, right in trained["merges"]])


def _learn_wordpiece(texts: Sequence[str], alphabet: list[str], size: int) -> Learned:
    spelling = [form for character in alphabet for form in (character, CONTINUATION + character)]
    # Named beforehand: the trainer would number them in the order of a hash table, which differs from run to run.
    trainer = trainers.WordPieceTrainer(vocab_size=size, min_frequency=2, special_tokens=spelling, show_progress=False)
    trained = _train(texts, models.WordPiece(unk_token=UNK), trainer, WORDS, alphabet)
    pieces = [piece for piece in _by_id(trained["vocab"]) if len(surface(piece, "wordpiece")) <= LONGEST_PIECE]
    return Learned(pieces)


def _learn_unigram(texts: Sequence[str], alphabet: list[str], size: int) -> Learned:
    spaced = _spaced_marks(texts, alphabet)
    trainer = trainers.UnigramTrainer(
        vocab_size=size + 1 - len(spaced),
        special_tokens=[UNK],
        unk_token=UNK,
        max_piece_length=LONGEST_PIECE,
        show_progress=False,
    )
    trained = _train(texts, models.Unigram(), trainer, WORDS, alphabet)
    # Sums over a hash table differ in their last bits from run to run, and characters that the trainer had dropped
    # come back with scores in the table's order: both are evened out here, so that the same text gives the same file.
    scores = {piece: round(score, 4) for piece, score in trained["vocab"] if piece != UNK}
    lowest = min((score for piece, score in scores.items() if len(piece) > 1), default=-10.0)
    floor = lowest + 1e-4 * (len(alphabet) + 1)
    for character in alphabet:
        if scores.get(character, lowest) <= floor:
            scores[character] = lowest
    scores.update({mark: scores[mark[1]] for mark in spaced})
    required = set(alphabet)
    ranked = sorted(scores, key=lambda piece: (piece not in required, -scores[piece], piece))[:size]
    return Learned(ranked, scores=[scores[piece] for piece in ranked])


def _spaced_marks(texts: Sequence[str], alphabet: list[str]) -> list[str]:
    """Digits and marks that often follow a space, with it: the trainer overlooks what occurs in one word alone."""
    text = "\n".join(texts)
    marks = [character for character in alphabet if unicodedata.category(character)[0] in "NPS"]
    return [f" {mark}" for mark in marks if 2 * text.count(f" {mark}") > text.count(mark)]


def _learn_words(texts: Sequence[str], alphabet: list[str], size: int) -> Learned:
    trainer = trainers.WordLevelTrainer(vocab_size=size, min_frequency=2, special_tokens=[UNK], show_progress=False)
    trained = _train(texts, models.WordLevel(unk_token=UNK), trainer, WORDS_OR_CHARACTERS, None)
    known = {UNK, *alphabet}
    words = [word for word in _by_id(trained["vocab"]) if word not in known]
    return Learned([*alphabet, *words][:size])


def _learn_characters(texts: Sequence[str], alphabet: list[str], size: int) -> Learned:  # noqa: ARG001
    return Learned(alphabet)


def _learn_nothing(texts: Sequence[str], alphabet: list[str], size: int) -> Learned:  # noqa: ARG001
    return Learned([])


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
    "bpe": Kind("BPE", WORDS, 0.5, _learn_bpe, _bpe),
    "wordpiece": Kind("WordPiece", WORDS, 0.25, _learn_wordpiece, _wordpiece),
    "unigram": Kind("Unigram", WORDS, 0.5, _learn_unigram, _unigram, training_characters=4_000_000),
    "word": Kind("BPE", WORDS_OR_CHARACTERS, 0.25, _learn_words, _whole_words),
    "character": Kind("BPE", CHARACTERS, 1.0, _learn_characters, _bpe),
    "byte": Kind("BPE", CHARACTERS, 0.0, _learn_nothing, _bpe),
}
