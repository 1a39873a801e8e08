from pathlib import Path

import pytest

from regard.errors import CorpusError, InputError
from regard.text.glossary import Glossary, Term
from regard.text.units import find_begun, find_whole


def found(glossary: Glossary, text: str) -> list[tuple[str, str]]:
    return [(text[match.start : match.stop], match.term.target) for match in glossary.find(text)]


def test_the_longest_term_is_found_first_and_terms_do_not_overlap() -> None:
    glossary = Glossary.of([("ice", "Eis"), ("ice cream", "Speiseeis"), ("cream", "Sahne")])
    assert found(glossary, "Ice cream, cream and ice; icecream") == [
        ("Ice cream", "Speiseeis"),
        ("cream", "Sahne"),
        ("ice", "Eis"),
    ]


def test_only_whole_words_are_found() -> None:
    glossary = Glossary.of([("cat", "Katze"), ("U.S.", "USA")])
    assert found(glossary, "concatenate cats cat_1 cat's (cat)") == [("cat", "Katze"), ("cat", "Katze")]
    assert found(glossary, "in the U.S. and U . S .") == [("U.S.", "USA"), ("U . S .", "USA")]


def test_a_term_with_a_capital_is_found_as_it_is_written() -> None:
    glossary = Glossary([Term("may", "dürfen"), Term("US", "USA"), Term("polish", "Politur", exact_case=True)])
    assert found(glossary, "May us US Us") == [("May", "dürfen"), ("US", "USA")]
    assert found(glossary, "Polish polish") == [("polish", "Politur")]


def test_of_two_spellings_the_one_that_is_written_just_so_is_taken() -> None:
    for pairs in ([("may", "dürfen"), ("May", "Mai")], [("May", "Mai"), ("may", "dürfen")]):
        assert found(Glossary.of(pairs), "May may MAY") == [("May", "Mai"), ("may", "dürfen"), ("MAY", "dürfen")]


def test_chinese_needs_no_spaces() -> None:
    glossary = Glossary.of([("人工智能", "artificial intelligence"), ("人", "person"), ("智能", "intelligence")])
    assert found(glossary, "人工智能和智能人。") == [
        ("人工智能", "artificial intelligence"),
        ("智能", "intelligence"),
        ("人", "person"),
    ]


def test_a_file_is_read_with_comments_and_options(tmp_path: Path) -> None:
    path = tmp_path / "terms.tsv"
    path.write_text(
        "\ufeff# a comment\n\ndog\tHund\nred\trot\tinflected\nmay\tMai\tcase, inflected\n", encoding="utf-8"
    )
    assert Glossary.load(path).terms == [
        Term("dog", "Hund"),
        Term("red", "rot", inflected=True),
        Term("may", "Mai", exact_case=True, inflected=True),
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"dog\tHund\ncat Katze\n", r"terms\.tsv:2: has 1 column, not 2 or 3"),
        (b"a\tb\tcase\td\n", r"terms\.tsv:1: has 4 columns"),
        (b"dog\t \n", r"terms\.tsv:1: the target term is empty"),
        (b"dog\tHund\tbold\n", r"terms\.tsv:1: there is no option 'bold'; there are: case, inflected"),
        (b"dog\tHund\n\ndog\tWauwau\n", r"terms\.tsv:3: the term 'dog' is on line 1 already"),
        (b"dog\tHund\nM\xfcll\ttrash\n", r"terms\.tsv:2: byte 0xfc .* is not UTF-8"),
        (b"# nothing\n", r"terms\.tsv: holds no terms"),
    ],
)
def test_what_is_wrong_with_a_file_is_named_by_its_line(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "terms.tsv"
    path.write_bytes(content)
    with pytest.raises(CorpusError, match=message):
        Glossary.load(path)


def test_a_term_without_words_is_refused() -> None:
    with pytest.raises(InputError, match="words on both sides"):
        Glossary.of([("dog", " ")])


def test_terms_are_looked_for_in_outputs_as_whole_words() -> None:
    assert find_whole("Hunde, Hund und Schäferhund-Hund", "Hund") == [(7, 11), (28, 32)]
    assert find_whole("一只狗和狗", "狗") == [(2, 3), (4, 5)]
    assert find_begun("Hunde und Schäferhund Hund", "Hund") == [(0, 4), (22, 26)]
    assert find_begun("feuerwehrmann feuern, feuer! feuer12", "feuer") == [(14, 19), (22, 27)]
    assert find_begun("roten rotem rotesten rot", "rot") == [(0, 3), (6, 9), (21, 24)]
    assert find_whole("a", "") == []
