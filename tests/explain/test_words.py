import numpy as np
import pytest

from regard.explain.words import Word, group_words, merge_keys, merge_queries


@pytest.mark.parametrize(
    ("pieces", "words"),
    [
        ("▁The ▁ani mal ▁sleeps .", ["The", "animal", "sleeps", "."]),
        ("▁didn ' t ▁it ' s ▁we ’ ll", ["didn't", "it's", "we’ll"]),
        ("▁parce ▁qu ' il ▁l ’ eau ▁n ' a", ["parce", "qu'", "il", "l’", "eau", "n'", "a"]),
        ("▁well - known ▁( yes )", ["well-known", "(", "yes", ")"]),
        ("▁动物 没 有 。", ["动物", "没", "有", "。"]),
        ("▁ the ▁ ▁cat", ["the", "▁", "cat"]),
        ("<s> ▁a <unk> b </s>", ["<s>", "a", "<unk>", "b", "</s>"]),
        ("▁caf <0xC3> <0xA9> s ▁ <0xF0> <0x9F> <0x98> <0x80>", ["cafés", "😀"]),
        ("<0x20> <0x61> <0x62> <0x20> <0xE4> <0xBD> <0xA0> <0xE5> <0xA5> <0xBD>", ["ab", "你", "好"]),
        ("▁a <0xFF> <0xC3>", ["a", "\ufffd\ufffd"]),
        ("▁wide. </s>", ["wide.", "</s>"]),
    ],
)
def test_tokens_are_grouped_into_the_words_a_reader_sees(pieces, words):
    assert [word.text for word in group_words(pieces.split(" "))] == words


def test_every_token_belongs_to_exactly_one_word():
    pieces = ["▁L", "'", "ani", "mal", "▁n", "'", "a", "▁pas", "▁traver", "<0xC3>", "<0xA9>", ",", "▁non", "!", "</s>"]
    words = group_words(pieces)
    assert [index for word in words for index in range(word.start, word.stop)] == list(range(len(pieces)))


def test_no_tokens_are_no_words():
    assert group_words([]) == []


def test_columns_of_a_word_are_added_and_rows_averaged():
    weights = np.array([[0.5, 0.25, 0.25], [0.0, 0.5, 0.5], [1.0, 0.0, 0.0]], dtype=np.float32)
    words = [Word("a", 0, 1), Word("bc", 1, 3)]
    merged = merge_keys(merge_queries(weights, words), words)
    np.testing.assert_allclose(merged, [[0.5, 0.5], [0.5, 0.5]])


def test_rows_still_sum_to_one_in_every_layer_and_head():
    weights = np.random.default_rng(1).dirichlet(np.ones(6), size=(2, 3, 6)).astype(np.float32)
    words = group_words(["▁ani", "mal", "▁cross", "ed", ".", "</s>"])
    merged = merge_keys(merge_queries(weights, words), words)
    assert merged.shape == (2, 3, 4, 4)
    np.testing.assert_allclose(merged.sum(axis=-1), 1, atol=1e-6)
