"""Tokenizers of every kind: exact round trips, no mark from text, the same vocabulary every time."""

from __future__ import annotations

import hashlib
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tokenizer_world import ODD_TEXTS, TARGETS, corpus

from regard.config import TokenizerConfig
from regard.data import tokenizer_kinds
from regard.data.tokenizer import Tokenizer, train_tokenizer
from regard.data.tokenizer_kinds import KINDS
from regard.data.vocabulary import BYTE_TOKENS, EOS_ID, FIRST_LEARNED_ID, SPECIAL_TOKENS, UNK_ID
from regard.errors import CorpusError, InputError


def test_every_configured_kind_exists() -> None:
    assert set(KINDS) == set(get_args(TokenizerConfig.model_fields["kind"].annotation))


@pytest.mark.parametrize("text", ODD_TEXTS)
def test_odd_text_comes_back_exactly_and_makes_no_marks(tokenizer: Tokenizer, text: str) -> None:
    ids = tokenizer.encode(text)
    assert tokenizer.decode(ids) == text
    assert all(index >= len(SPECIAL_TOKENS) for index in ids)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text() | st.text(alphabet=" \t▁#<>/sx0E4'é\u0301漢\u00a0"))
def test_any_text_comes_back_exactly(trained: dict[str, Tokenizer], text: str) -> None:
    for tokenizer in trained.values():
        ids = tokenizer.encode(text)
        assert tokenizer.decode(ids) == text
        assert all(index >= len(SPECIAL_TOKENS) for index in ids)


def test_batch_equals_one_by_one(tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.data.tokenizer._TEXTS_AT_A_TIME", 7)
    texts = ODD_TEXTS + corpus()[::50]
    assert tokenizer.encode_batch(texts) == [tokenizer.encode(text) for text in texts]
    assert tokenizer.encode_batch([]) == []


def test_vocabulary_has_its_marks_and_bytes_first_and_keeps_to_its_size(tokenizer: Tokenizer) -> None:
    pieces = tokenizer.learned.pieces
    assert tuple(pieces[:FIRST_LEARNED_ID]) == SPECIAL_TOKENS + BYTE_TOKENS
    assert len(pieces) == len(set(pieces)) == tokenizer.vocabulary_size <= 600
    assert tokenizer.pieces(range(4)) == ["<pad>", "<s>", "</s>", "<unk>"]


@pytest.mark.parametrize("size", [300, 301, 340, 5000])
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_vocabulary_size_is_a_hard_maximum(kind: str, size: int) -> None:
    tokenizer = train_tokenizer(corpus(), TokenizerConfig(kind=kind, vocabulary_size=size))  # type: ignore[arg-type]
    assert tokenizer.vocabulary_size <= size
    assert tokenizer.decode(tokenizer.encode(corpus()[0] + TARGETS[1])) == corpus()[0] + TARGETS[1]


def test_kinds_cut_a_sentence_as_their_names_say(trained: dict[str, Tokenizer]) -> None:
    shown = {kind: tokenizer.pieces(tokenizer.encode("the animal .")) for kind, tokenizer in trained.items()}
    for kind in ("bpe", "wordpiece", "unigram", "word"):
        assert shown[kind] == ["▁the", "▁animal", "▁."], kind
    assert shown["character"] == list("▁the▁animal▁.")
    assert shown["byte"] == [f"<0x{byte:02X}>" for byte in b" the animal ."]


def test_unknown_words_are_spelled_by_characters_and_bytes(trained: dict[str, Tokenizer]) -> None:
    assert trained["word"].pieces(trained["word"].encode("the sheet Ω")) == [
        *("▁the", "▁", "s", "h", "e", "e", "t", "▁", "<0xCE>", "<0xA9>")
    ]
    assert trained["wordpiece"].pieces(trained["wordpiece"].encode("Ωthe"))[:3] == ["▁", "<0xCE>", "<0xA9>"]
    assert UNK_ID not in trained["wordpiece"].encode("Ω" * 200)


def test_whole_words_take_chinese_one_character_at_a_time(trained: dict[str, Tokenizer]) -> None:
    assert trained["word"].pieces(trained["word"].encode("the 动物")) == ["▁the", "▁", "动", "物"]


def test_chinese_tokens_stay_word_sized() -> None:
    generator = random.Random(0)
    words = ["除了", "汤姆", "以外", "任何人", "都", "知道", "他", "没必要", "这么做", "图书馆里", "也", "不"]
    sentences = ["".join(generator.choices(words, k=9)) for _ in range(60)] * 20
    for kind in ("bpe", "wordpiece", "unigram"):
        config = TokenizerConfig(kind=kind, vocabulary_size=600)  # type: ignore[arg-type]
        tokenizer = train_tokenizer(sentences, config)
        longest = max(
            len(piece.strip("▁")) for piece in tokenizer.pieces(range(FIRST_LEARNED_ID, tokenizer.vocabulary_size))
        )
        assert longest == 4, kind
        assert len(tokenizer.encode(sentences[0])) < len(sentences[0]) / 1.5, kind


def test_rare_characters_do_not_fill_the_vocabulary() -> None:
    every = "".join(map(chr, range(0x4E00, 0x5E00)))
    texts = [every, every, *["the animal crossed the street"] * 50]
    tokenizer = train_tokenizer(texts, TokenizerConfig(vocabulary_size=600))
    assert tokenizer.pieces(tokenizer.encode("the animal")) == ["▁the", "▁animal"]
    assert sum(len(text) == 1 for text in tokenizer.learned.pieces) <= 170
    assert tokenizer.decode(tokenizer.encode(every)) == every


def test_marks_between_tokens_are_left_out_of_text(tokenizer: Tokenizer) -> None:
    ids = tokenizer.encode("the animal")
    assert tokenizer.decode([1, *ids[:1], 0, *ids[1:], EOS_ID, 0, 0]) == "the animal"
    assert tokenizer.decode([]) == ""


def test_broken_bytes_become_replacement_characters(tokenizer: Tokenizer) -> None:
    assert tokenizer.decode([4 + 0xE4, 4 + 0xB8]) == "\ufffd"


def test_the_ends_of_tokens_are_how_long_their_beginnings_decode_to(tokenizer: Tokenizer) -> None:
    chance = random.Random(3)
    odd = [chance.randrange(tokenizer.vocabulary_size) for _ in range(200)]
    broken = [4 + byte for byte in b" \xe4\xb8a\xf0\x9f\xff\xe4\xb8\xad\xc3 "]
    for ids in ([], odd, broken, [1, 0, *broken[1:], 2], tokenizer.encode(" the  animal 汉字 🙂 é")):
        assert tokenizer.ends(ids) == [len(tokenizer.decode(ids[:count])) for count in range(len(ids) + 1)]


@pytest.mark.parametrize("wrong", [-1, 10**6])
def test_an_id_outside_the_vocabulary_is_named(tokenizer: Tokenizer, wrong: int) -> None:
    with pytest.raises(InputError, match=str(wrong)):
        tokenizer.decode([5, wrong])
    with pytest.raises(InputError, match=str(wrong)):
        tokenizer.pieces([5, wrong])


def test_pieces_are_printable(trained: dict[str, Tokenizer]) -> None:
    tokenizer = train_tokenizer(["a\tb\tc \u200b \u200b"] * 3, TokenizerConfig(kind="character"))
    assert tokenizer.pieces(tokenizer.encode("a\t\u200b")) == ["▁", "a", "<U+0009>", "<U+200B>"]


def test_lone_surrogates_are_refused_with_their_place(tokenizer: Tokenizer) -> None:
    with pytest.raises(InputError, match=r"character 3 .*U\+D83D"):
        tokenizer.encode("ab\ud83d")
    with pytest.raises(InputError, match=r"character 1 .*U\+DC00"):
        tokenizer.encode_batch(["fine", "\udc00"])
    with pytest.raises(InputError, match="surrogate"):
        train_tokenizer(["fine", "\udc00"], TokenizerConfig(kind=tokenizer.kind))  # type: ignore[arg-type]


def test_lower_case_and_normal_forms(tokenizer: Tokenizer) -> None:
    def options(**changes: Any) -> Tokenizer:
        config = TokenizerConfig.model_validate({"kind": tokenizer.kind, "vocabulary_size": 600, **changes})
        return train_tokenizer(corpus(), config)

    lower = options(lowercase=True)
    assert lower.decode(lower.encode("The ÉLÈVE")) == lower.normalize("The ÉLÈVE") == "the élève"
    assert lower.encode("THE") == lower.encode("the")
    composed = options(normalization="nfc")
    assert composed.decode(composed.encode("e\u0301\u00a0ﬁ")) == "é\u00a0ﬁ"
    compatible = options(normalization="nfkc", lowercase=True)
    assert compatible.decode(compatible.encode("Ａ\u00a0ﬁ\u3000B")) == "a fi b"


def test_words_name_the_tokens_for_pretrained_vectors(trained: dict[str, Tokenizer]) -> None:
    tokenizer = trained["word"]
    words = tokenizer.words()
    assert [words["animal"]] == [words["▁animal"]] == tokenizer.encode("animal")
    assert "</s>" not in words
    assert "<0xE4>" not in words


@pytest.mark.parametrize("texts", [[], [""], ["", "  ", "\u3000"]])
def test_an_empty_corpus_is_an_error(tokenizer: Tokenizer, texts: list[str]) -> None:
    with pytest.raises(CorpusError, match="no text"):
        train_tokenizer(iter(texts), TokenizerConfig(kind=tokenizer.kind))  # type: ignore[arg-type]


@pytest.mark.parametrize("texts", [["a"], ["ab ab"], ["漢"], ["</s>"] * 3])
def test_a_tiny_corpus_is_enough(tokenizer: Tokenizer, texts: list[str]) -> None:
    tiny = train_tokenizer(iter(texts), TokenizerConfig(kind=tokenizer.kind))  # type: ignore[arg-type]
    assert [tiny.decode(tiny.encode(text)) for text in ODD_TEXTS] == ODD_TEXTS


def test_a_large_corpus_is_drawn_from_evenly(monkeypatch: pytest.MonkeyPatch) -> None:
    small = tokenizer_kinds.Kind(**{**vars(KINDS["bpe"]), "training_characters": 4000})
    monkeypatch.setitem(KINDS, "bpe", small)
    taken = 0

    def sides() -> Iterator[str]:
        nonlocal taken
        for number in range(2000):
            taken += 1
            yield "un animal traversa" if number % 2 else "the street crossed"

    tokenizer = train_tokenizer(sides(), TokenizerConfig(vocabulary_size=600))
    assert taken == 2000
    assert tokenizer.pieces(tokenizer.encode("animal street traversa")) == ["▁animal", "▁street", "▁traversa"]


def digest_of_every_kind() -> str:
    """A hash of the files of all kinds; run in another process, too."""
    tokenizers_ = (train_tokenizer(corpus(), TokenizerConfig(kind=kind, vocabulary_size=450)) for kind in sorted(KINDS))  # type: ignore[arg-type]
    return hashlib.sha256("".join(tokenizer.to_json() for tokenizer in tokenizers_).encode()).hexdigest()


def test_the_same_text_gives_the_same_file_in_every_process() -> None:
    program = "import test_tokenizer; print(test_tokenizer.digest_of_every_kind())"
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(__file__).parent),
        "TOKENIZERS_PARALLELISM": "true",
        "RAYON_NUM_THREADS": "3",
        "PYTHONHASHSEED": "5",
    }
    other = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert other.stdout.strip() == digest_of_every_kind()
