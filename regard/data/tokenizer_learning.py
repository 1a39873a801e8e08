"""How each kind of tokenizer learns its tokens from text, by the trainers of the `tokenizers` library."""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tokenizers import Regex, models, pre_tokenizers, trainers
from tokenizers import Tokenizer as LibraryTokenizer

from regard.data.vocabulary import SPECIAL_TOKENS, UNK_ID, tag_for

# The library's threads would fight the model's for the cores, and it warns when a process forks after using them.
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

CONTINUATION = "##"
LONGEST_PIECE = 16
LONGEST_HAN = 4
UNK = SPECIAL_TOKENS[UNK_ID]
_BEHIND = "\uffff"

# A word carries the space before it; a digit and a mark of punctuation stand alone. No match holds a space but as its
# first character, so that text can also be cut at its spaces; and none joins letters to "<" or "#", so that no text
# can spell `</s>`, `<0xE4>` or `##x` as one token.
_LETTER = r"\p{L}\p{M}\p{Cf}"
_DIGIT_MARK_OR_SPACE = rf" ?\p{{N}}| ?[^\s\p{{N}}{_LETTER}]|\s"
WORDS = rf" ?[{_LETTER}]+|{_DIGIT_MARK_OR_SPACE}"
# For whole words: scripts written without spaces give one character at a time, or each sentence would be a new word.
_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
WORDS_OR_CHARACTERS = rf" ?[{_UNSPACED}]\p{{M}}*| ?[[{_LETTER}]&&[^{_UNSPACED}]]+|{_DIGIT_MARK_OR_SPACE}"
# For characters and bytes, which any cut suits.
CHARACTERS = r"\S+|\s"


@dataclass(frozen=True)
class Learned:
    """What a tokenizer learned: its tokens by id, and what some kinds need beside them."""

    pieces: list[str]
    merges: list[tuple[str, str]] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)


def with_tags(learned: Learned, languages: Sequence[str]) -> Learned:
    """The same with a token at the end for the tag of each language: no cut of a text can have its form."""
    scores = [*learned.scores, *(0.0 for _ in languages)] if learned.scores else []
    return Learned([*learned.pieces, *map(tag_for, languages)], learned.merges, scores)


def surface(piece: str, kind: str) -> str:
    """The text that a learned token stands for."""
    continues = kind == "wordpiece" and piece.startswith(CONTINUATION) and len(piece) > len(CONTINUATION)
    return piece[len(CONTINUATION) :] if continues else piece


def none_of(alphabet: Sequence[str]) -> str:
    """A regular expression for one character outside an alphabet."""
    escaped = (character if character.isalnum() else f"\\x{{{ord(character):X}}}" for character in alphabet)
    return f"[^{''.join(escaped)}]"


def _train(texts: Sequence[str], model: Any, trainer: Any, pattern: str, alphabet: list[str] | None) -> dict[str, Any]:
    """Let the library learn, on text from which characters outside the alphabet are cut."""
    pipeline = LibraryTokenizer(model)
    split = pre_tokenizers.Split(Regex(pattern), "isolated")
    pipeline.pre_tokenizer = split
    if alphabet is not None:
        rare = pre_tokenizers.Split(Regex(none_of(alphabet)), "removed")
        pipeline.pre_tokenizer = pre_tokenizers.Sequence([split, rare])
    pipeline.train_from_iterator(texts, trainer)
    trained: dict[str, Any] = json.loads(pipeline.to_str())["model"]
    return trained


def _by_id(vocabulary: dict[str, int]) -> list[str]:
    return sorted(vocabulary, key=vocabulary.__getitem__)


def _is_han(character: str) -> bool:
    return "\u3400" <= character <= "\u9fff" or "\uf900" <= character <= "\ufaff" or character >= "\U00020000"


def _is_word_sized(piece: str) -> bool:
    """Chinese has no spaces to stop at: without a limit, sentences that come up twice would be tokens."""
    return len(piece) <= LONGEST_PIECE and sum(map(_is_han, piece)) <= LONGEST_HAN


def _with_spares(size: int, alphabet: list[str]) -> int:
    """How many tokens to ask for where some will be found too long."""
    return 2 * size if any(map(_is_han, alphabet)) else size


def learn_bpe(texts: Sequence[str], alphabet: list[str], size: int) -> Learned:
    """Byte-pair encoding: the alphabet, and the pairs that occur most, in the order of their merges."""
    trainer = trainers.BpeTrainer(
        vocab_size=_with_spares(size, alphabet),
        min_frequency=2,
        max_token_length=LONGEST_PIECE,
        show_progress=False,
    )
    trained = _train(texts, models.BPE(), trainer, WORDS, alphabet)
    pieces = dict.fromkeys(alphabet)
    merges: list[tuple[str, str]] = []
    for left, right in trained["merges"]:
        merged = left + right
        room = merged in pieces or len(pieces) < size
        if room and left in pieces and right in pieces and _is_word_sized(merged):
            pieces[merged] = None
            merges.append((left, right))
    return Learned(list(pieces), merges)


def learn_wordpiece(texts: Sequence[str], alphabet: list[str], size: int) -> Learned:
    """Pieces that start a word, and pieces that go on with one, which are marked `##`."""
    spelling = [form for character in alphabet for form in (character, CONTINUATION + character)]
    # Named beforehand: the trainer would number them in the order of a hash table, which differs from run to run.
    trainer = trainers.WordPieceTrainer(
        vocab_size=_with_spares(size, alphabet), min_frequency=2, special_tokens=spelling, show_progress=False
    )
    trained = _train(texts, models.WordPiece(unk_token=UNK), trainer, WORDS, alphabet)
    pieces = [piece for piece in _by_id(trained["vocab"]) if _is_word_sized(surface(piece, "wordpiece"))]
    return Learned(pieces[:size])


def learn_unigram(texts: Sequence[str], alphabet: list[str], size: int) -> Learned:
    """Pieces with the log-probabilities of a unigram language model."""
    trainer = trainers.UnigramTrainer(
        vocab_size=_with_spares(size, alphabet) + 2,
        special_tokens=[UNK],
        unk_token=UNK,
        max_piece_length=LONGEST_PIECE,
        show_progress=False,
    )
    # The trainer takes for a candidate what goes on in two ways, and so would miss a word that is part of no other:
    # each frequent word is shown once more, with a character behind it that no text has.
    texts = [text.replace("\0", " ").replace(_BEHIND, " ") for text in texts]
    frequent = _frequent_words(texts, set(alphabet), size)
    shown = [word + _BEHIND for word in frequent]
    pattern = rf"[^{_BEHIND}]*{_BEHIND}|{WORDS}"
    trained = _train([*texts, *shown], models.Unigram(), trainer, pattern, [*alphabet, _BEHIND])
    found = [(piece, score) for piece, score in trained["vocab"] if piece != UNK and _BEHIND not in piece]
    scores = _steady_scores([(piece, score) for piece, score in found if _is_word_sized(piece)], alphabet)
    # The shortest, such as " ,", are lost all the same beside the characters that they consist of.
    for word in (word for word in frequent if len(word) == 2):
        scores[word] = max(scores.get(word, -math.inf), round(math.log(frequent[word]), 4))
    required = set(alphabet)
    ranked = sorted(scores, key=lambda piece: (piece not in required, -scores[piece], piece))[:size]
    return Learned(ranked, scores=[scores[piece] for piece in ranked])


def _frequent_words(texts: Sequence[str], alphabet: set[str], most: int) -> dict[str, float]:
    """The most frequent words of more than one character, each with its share of all words."""
    chunks = Counter(chunk for text in texts for chunk in text.split(" ")[1:])
    split = pre_tokenizers.Split(Regex(WORDS), "isolated")
    words: Counter[str] = Counter()
    for chunk, count in chunks.items():
        for word, _ in split.pre_tokenize_str(" " + chunk):
            words[word] += count
    fit = (word for word in words if words[word] > 1 < len(word) and _is_word_sized(word) and alphabet.issuperset(word))
    total = words.total()
    return {word: words[word] / total for word in sorted(fit, key=lambda word: (-words[word], word))[:most]}


def _steady_scores(found: list[tuple[str, float]], alphabet: list[str]) -> dict[str, float]:
    """Scores that are the same in every run, with all of the alphabet among them.

    The trainer sums over a hash table, so that last bits differ from run to run, and gives characters which it had
    dropped scores in the order of another: these are rounded away and evened out.
    """
    scores = {piece: round(score, 4) for piece, score in found}
    lowest = min((score for piece, score in scores.items() if len(piece) > 1), default=-10.0)
    dropped = lowest + 1e-4 * (len(alphabet) + 2)
    for character in alphabet:
        if scores.get(character, lowest) <= dropped:
            scores[character] = lowest
    return scores


def learn_words(texts: Sequence[str], alphabet: list[str], size: int) -> Learned:
    """Whole words by their frequency, and the alphabet to spell the others."""
    trainer = trainers.WordLevelTrainer(vocab_size=size, min_frequency=2, special_tokens=[UNK], show_progress=False)
    trained = _train(texts, models.WordLevel(unk_token=UNK), trainer, WORDS_OR_CHARACTERS, None)
    known = {UNK, *alphabet}
    words = [word for word in _by_id(trained["vocab"]) if word not in known]
    return Learned([*alphabet, *words][:size])


def learn_characters(texts: Sequence[str], alphabet: list[str], size: int) -> Learned:  # noqa: ARG001
    """The alphabet alone."""
    return Learned(alphabet)


def learn_nothing(texts: Sequence[str], alphabet: list[str], size: int) -> Learned:  # noqa: ARG001
    """Bytes are enough."""
    return Learned([])
