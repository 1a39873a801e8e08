import time

import pytest

from regard.text.documents import put_together, sentences_of, take_apart
from regard.text.sentences import split_long, split_sentences
from regard.text.spans import SpanFinder


@pytest.mark.parametrize(
    ("language", "sentences"),
    [
        ("en", ["Dr. Smith paid $3.50.", "He left at 5 p.m. sharp.", "“Why?”", "She laughed...", "So do I.", "We."]),
        ("en", ['"Stop!" he said.', "(See Fig. 3.)", "J. S. Bach (b. 1685) wrote it, e.g. at St. Thomas.", "End"]),
        ("en", ["Is v1.2 at example.org ok?", "Yes!", "No?!", "They came in vol. 2, etc."]),
        ("de", ["Am 3. Mai kam z. B. Herr Dr. Müller, d.h. der Chef.", "Er rief: „Nein!“", "Ja.", "Nr. 5 lebt."]),
        ("de", ["Das kostet 1.000,50 Euro.", "»So?«", "Ja."]),
        ("fr", ["M. Dupont arriva.", "« Viens ! »", "Il partit.", "Quoi ?", "C'est l'an 50 av. J.-C. environ.", "F."]),
        ("", ["Mr. A. B. Smith came.", "Then he left."]),
    ],
)  # fmt: skip
def test_sentences_with_spaces_between_them(language: str, sentences: list[str]) -> None:
    for gap in (" ", "  "):
        text = gap.join(sentences)
        found = split_sentences(text, language)
        assert [sentence for sentence, _ in found] == sentences
        assert "".join(sentence + space for sentence, space in found) == text


def test_sentences_of_chinese() -> None:
    text = "他来了。“你好！”她说……然后走了？是的。Dr. Wang 很好。"
    assert split_sentences(text, "zh") == [
        ("他来了。", ""),
        ("“你好！”", ""),
        ("她说……然后走了？", ""),
        ("是的。", ""),
        ("Dr. Wang 很好。", ""),
    ]
    assert [sentence for sentence, _ in split_sentences("真的？！ 好。", "zh-CN")] == ["真的？！", "好。"]


DOCUMENT = (
    "# A title\n\n  Indented first.  Two spaces behind. \r\n\t- an item. And more.\n1. Numbered\n\n\n-----\n"
    "> Mr. Quote said it.\n  \n* * *\nlast, without an end"
)


def test_a_document_keeps_everything_but_its_sentences() -> None:
    pieces = take_apart(DOCUMENT, "en")
    assert "".join(piece.text for piece in pieces) == DOCUMENT
    sentences = sentences_of(pieces)
    assert sentences == [
        "A title", "Indented first.", "Two spaces behind.", "an item.", "And more.", "Numbered", "Mr. Quote said it.",
        "last, without an end",
    ]  # fmt: skip
    assert put_together(pieces, [sentence.upper() for sentence in sentences], "en", "de") == DOCUMENT.upper()


@pytest.mark.parametrize("text", ["", "\n", " \n\t\r\n", "...\n", "One.\n", "One. Two", "一。二。\n"])
def test_any_text_comes_back_as_it_was(text: str) -> None:
    pieces = take_apart(text, "en")
    assert put_together(pieces, sentences_of(pieces), "en", "fr") == text


def test_spaces_between_sentences_follow_the_language() -> None:
    pieces = take_apart("一。二。\n三。", "zh")
    assert put_together(pieces, ["One.", "Two.", "Three."], "zh", "en") == "One. Two.\nThree."
    pieces = take_apart("One. Two.\n\nThree.", "en")
    assert put_together(pieces, ["一。", "二。", "三。"], "en", "zh") == "一。二。\n\n三。"


def test_a_long_sentence_is_cut_at_clause_marks() -> None:
    text = "One two three, four five six; seven eight 1,000 nine, ten eleven twelve thirteen fourteen fifteen"
    parts = split_long(text, lambda part: len(part) < 30)
    assert [part for part, _ in parts] == [
        "One two three, four five six;", "seven eight 1,000 nine,", "ten eleven twelve", "thirteen fourteen fifteen"
    ]  # fmt: skip
    assert "".join(part + gap for part, gap in parts) == text
    assert split_long("short", lambda part: True) == [("short", "")]
    unbroken = split_long("x" * 25, lambda part: len(part) < 10)
    assert "".join(part for part, _ in unbroken) == "x" * 25
    assert max(len(part) for part, _ in unbroken) < 10


def test_no_span_is_cut() -> None:
    text = " ".join(["https://a.org/b:c;d,e", "{a:b}", "me@x.org"] * 5)
    parts = split_long(text, lambda part: len(part) < 40)
    assert "".join(part + gap for part, gap in parts) == text
    assert [word for part, _ in parts for word in part.split()] == text.split()
    assert "".join(part for part, _ in split_long(f"https://{'x' * 50}", lambda part: len(part) < 20)) == (
        f"https://{'x' * 50}"
    )


def test_over_long_sentences_of_a_document_come_back_whole() -> None:
    text = "  " + "word, " * 30 + "end. Short one.\n"
    pieces = take_apart(text, "en", lambda sentence: len(sentence) < 40)
    assert all(len(sentence) < 40 for sentence in sentences_of(pieces))
    assert put_together(pieces, sentences_of(pieces), "en", "de") == text


@pytest.mark.parametrize(
    "row", [".", "!", "…!", "?.", "A. ", '."', "!\u00a0»", "a@", "a.", "%0", "0", "www.a.", "{{", "http://."]
)
def test_no_text_takes_long(row: str) -> None:
    text = "a%" + row * (20_000 // len(row)) + "b"
    began = time.process_time()
    assert "".join(piece.text for piece in take_apart(text, "en")) == text
    SpanFinder().find(text)
    assert time.process_time() - began < 2
