"""BPE-dropout: equal to plain encoding without dropout, reversible with it, and a function of its seed."""

from __future__ import annotations

import gzip
import os
import random
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.config import TokenizerConfig
from regard.data import subword_dropout
from regard.data.subword_dropout import SubwordDropout
from regard.data.tokenizer import Tokenizer, train_tokenizer
from regard.data.tokenizer_kinds import Scheme
from regard.data.tokenizer_learning import Learned
from regard.data.vocabulary import BYTE_TOKENS, SPECIAL_TOKENS
from regard.errors import ConfigError, InputError

DATA = Path(os.environ.get("REGARD_DATA") or Path(__file__).parents[2] / ".." / "shared" / "data")
SENTENCES = [
    "the animal did not cross the street because it was too tired .",
    "the children's houses, they're older than the street",
    "那只动物没有过马路，因为它太累了。",
    "l'élève n'a pas traversé la rue",
]
ODD = ["", " ", "a  b", " a ", "\tx\u00a0y\u3000z", "▁ </s> ##x <0xE4>", "👨\u200d👩\u200d👧 e\u0301 Ω龘"]
ODD += ["aaaaaaaa" * 50, "the\u2028animal"]


def small_corpus() -> list[str]:
    generator = random.Random(1)
    words = " ".join(SENTENCES[:2]).split()
    return [" ".join(generator.choices(words, k=8)) for _ in range(200)] + SENTENCES * 20


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return train_tokenizer(small_corpus(), TokenizerConfig(vocabulary_size=450))


def test_without_dropout_it_equals_the_tokenizer(tokenizer: Tokenizer) -> None:
    texts = small_corpus() + ODD
    assert SubwordDropout(tokenizer, 0.0).encode_batch(texts, (1, 2)) == tokenizer.encode_batch(texts)


@settings(max_examples=200, deadline=None)
@given(texts=st.lists(st.text() | st.text(alphabet=" thea cros\t.é漢")))
def test_without_dropout_it_equals_the_tokenizer_on_any_text(tokenizer: Tokenizer, texts: list[str]) -> None:
    assert SubwordDropout(tokenizer, 0.0).encode_batch(texts, ()) == tokenizer.encode_batch(texts)


def test_it_normalizes_as_the_tokenizer_does() -> None:
    config = TokenizerConfig(vocabulary_size=400, lowercase=True, normalization="nfkc")
    tokenizer = train_tokenizer(small_corpus(), config)
    texts = ["THE\u00a0Animal ﬁ", "ＴＨＥ\u3000x"]
    assert SubwordDropout(tokenizer, 0.0).encode_batch(texts, (1,)) == tokenizer.encode_batch(texts)


@pytest.mark.parametrize("name", ["multi30k/tok/train.de.gz", "tatoeba-zh-en/train.zh.gz"])
def test_without_dropout_it_equals_the_tokenizer_on_real_text(name: str) -> None:
    if not (DATA / name).exists():
        pytest.skip(f"no {name} under {DATA} (set REGARD_DATA)")
    with gzip.open(DATA / name, "rt", encoding="utf-8", newline="\n") as file:
        texts = [next(file).rstrip("\n") for _ in range(3000)]
    tokenizer = train_tokenizer(texts, TokenizerConfig(vocabulary_size=2000))
    assert SubwordDropout(tokenizer, 0.0).encode_batch(texts, (1,)) == tokenizer.encode_batch(texts)


@pytest.mark.parametrize("probability", [0.1, 0.5, 0.95])
def test_text_comes_back_exactly(tokenizer: Tokenizer, probability: float) -> None:
    texts = small_corpus() + ODD
    rows = SubwordDropout(tokenizer, probability).encode_batch(texts, (3, 1, 4))
    assert [tokenizer.decode(row) for row in rows] == texts
    assert all(index >= len(SPECIAL_TOKENS) for row in rows for index in row)
    assert sum(map(len, rows)) > sum(map(len, tokenizer.encode_batch(texts)))


def test_it_is_a_function_of_texts_and_seed(tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = small_corpus()
    dropout = SubwordDropout(tokenizer, 0.3)
    first = dropout.encode_batch(texts, (1, 2, 3))
    others = [dropout.encode_batch(texts, seed) for seed in ((1, 2, 4), (12, 3), (1, 2), ())]
    random.seed(9)
    monkeypatch.setattr(subword_dropout, "_CACHED_CHUNKS", 3)
    assert dropout.encode_batch(texts, (1, 2, 3)) == SubwordDropout(tokenizer, 0.3).encode_batch(texts, (1, 2, 3))
    assert dropout.encode_batch(texts, (1, 2, 3)) == first
    assert len({str(rows) for rows in [first, *others]}) == 5


def test_a_frequent_word_has_many_spellings_and_a_rare_one_its_own(tokenizer: Tokenizer) -> None:
    rows = SubwordDropout(tokenizer, 0.5).encode_batch(["because"] * 400 + ["animal"], (5,))
    counts = Counter(map(tuple, rows[:400]))
    assert 4 <= len(counts) <= subword_dropout.MOST_DRAWS
    assert max(counts.values()) < 300


def toy_tokenizer() -> Tokenizer:
    merges = [("a", "b"), ("b", "c"), ("ab", "c"), ("a", "bc"), ("c", "d"), ("abc", "d")]
    pieces = [*SPECIAL_TOKENS, *BYTE_TOKENS, *" abcd", *dict.fromkeys(left + right for left, right in merges)]
    return Tokenizer(Scheme("bpe"), Learned(pieces, merges))


def algorithm_of_the_paper(word: str, merges: list[tuple[str, str]], probability: float, draw: random.Random) -> str:
    """Algorithm 1 of Provilkov et al., word for word and slowly."""
    symbols = list(word)
    while True:
        possible = [(merges.index(pair), i) for i, pair in enumerate(pairwise(symbols)) if pair in merges]
        kept = [merge for merge in possible if draw.random() >= probability]
        if not kept:
            return "|".join(symbols)
        _, i = min(kept)
        symbols[i : i + 2] = [symbols[i] + symbols[i + 1]]


@pytest.mark.parametrize("probability", [0.1, 0.4, 0.7])
def test_spellings_are_as_frequent_as_under_the_papers_algorithm(probability: float) -> None:
    tokenizer = toy_tokenizer()
    dropout = SubwordDropout(tokenizer, probability)
    texts = ["abcdab"] * (subword_dropout.MOST_DRAWS - 1)
    rows = [row for seed in range(400) for row in dropout.encode_batch(texts, (seed,))]
    ours = Counter("|".join(tokenizer.pieces(row)[1:]) for row in rows)
    draw = random.Random(0)
    merges = tokenizer.learned.merges
    theirs = Counter(algorithm_of_the_paper("abcdab", merges, probability, draw) for _ in rows)
    for spelling in ours | theirs:
        assert abs(ours[spelling] - theirs[spelling]) / len(rows) < 0.025, spelling


def test_other_kinds_and_impossible_probabilities_are_refused(tokenizer: Tokenizer) -> None:
    characters = train_tokenizer(SENTENCES, TokenizerConfig(kind="character"))
    with pytest.raises(ConfigError, match="character"):
        SubwordDropout(characters, 0.1)
    for probability in (-0.1, 1.0):
        with pytest.raises(ConfigError, match="less than 1"):
            SubwordDropout(tokenizer, probability)


def test_lone_surrogates_are_refused(tokenizer: Tokenizer) -> None:
    with pytest.raises(InputError, match="surrogate"):
        SubwordDropout(tokenizer, 0.1).encode_batch(["a\ud800"], (1,))
