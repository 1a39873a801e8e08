"""Texts that are encoded word by word get the ids that they get in one piece."""

import itertools
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.config import TokenizerConfig
from regard.data import word_memory
from regard.data.tokenizer import Tokenizer, train_tokenizer
from regard.data.tokenizer_kinds import KINDS

CORPUS = ["the old dog did not cross a street , 12 .", "l'élève n'a pas traversé la rue", "那只动物没有过马路。"] * 9


@pytest.fixture(scope="module")
def trained() -> list[Tokenizer]:
    forms = itertools.product(sorted(KINDS), (("none", False), ("nfc", True), ("nfkc", False)))
    return [
        train_tokenizer(CORPUS, TokenizerConfig(kind=kind, vocabulary_size=320, normalization=form, lowercase=lower))
        for kind, (form, lower) in forms
    ]


@settings(max_examples=150, deadline=None)
@given(texts=st.lists(st.text() | st.text(alphabet=" \t\n▁#<>/sxΣE4'é\u0301漢\u00a0\u00a8\ufdfa½İ"), max_size=4))
def test_words_have_the_ids_that_they_have_in_a_text(trained: list[Tokenizer], texts: list[str]) -> None:
    for tokenizer in trained:
        assert tokenizer.encode_batch([*texts, "the dog"]) == tokenizer._cut([*texts, "the dog"])


def test_a_word_is_cut_once_and_the_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    def letters(text: str) -> list[int]:
        return [ord(letter) for letter in " " + text] if text else []

    def cut(texts: Sequence[str]) -> list[list[int]]:
        asked.extend(texts)
        return [letters(text) for text in texts]

    asked: list[str] = []
    monkeypatch.setattr(word_memory, "MOST_CHARACTERS", 10)
    memory = word_memory.WordMemory(cut)
    asked.clear()
    for text in ("cat dog cat", "dog", "", "  dog "):
        assert memory.encode([text]) == [letters(text)]
    assert sorted(asked) == ["cat", "dog"]
    assert memory.encode(["elephant dog"]) == [letters("elephant dog")]  # too much, so that all is forgotten
    assert memory.encode(["dog"]) == [letters("dog")]
    assert asked[2:] == ["elephant", "dog"]
