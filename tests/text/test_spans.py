import random
import re
import time
from pathlib import Path

import pytest

from regard.errors import CorpusError, InputError
from regard.text.masking import Edit, apply_edits, group_spans, mask, restoring_edit, stands_alone
from regard.text.spans import KINDS, SIGNS, SpanFinder, parse_kinds, read_strings


@pytest.mark.parametrize(
    ("kind", "text", "spans"),
    [
        ("urls", "See https://a.org/b?c=d#e, (http://x.y) or www.k.org.", "https://a.org/b?c=d#e http://x.y www.k.org"),
        ("urls", "请看https://a.cn/b。", "https://a.cn/b"),
        ("emails", "Ask a.b+c@d-e.co.uk.", "a.b+c@d-e.co.uk"),
        ("tags", "<b k='x'>a</b><br/> R&amp;D &#160; a < b > c & d;", "<b k='x'> </b> <br/>"),
        ("entities", "<b k='x'>a</b><br/> R&amp;D &#160; a < b > c & d;", "&amp; &#160;"),
        ("placeholders", "{name} {0} {} %s %-5.2f %(x)d, 50% of", "{name} {0} {} %s %-5.2f %(x)d"),
        ("placeholders", "a${var}b {{y}} {a.b[0]:>5} %1$s 100%", "${var} {{y}} %1$s"),
        ("numbers", "3 dogs, 1,000.50 or -5; 10:30 on 2024-05-06, iPhone12 v2", "3 1,000.50 -5 10:30 2024-05-06"),
        ("numbers", "他有3只狗，5km", "3 5"),
    ],
)  # fmt: skip
def test_spans_of_each_kind(kind: str, text: str, spans: str) -> None:
    found = SpanFinder([kind]).find(text)
    assert " ".join(span.text for span in found) == spans
    assert all(text[span.start : span.stop] == span.text for span in found)


def test_kinds_do_not_overlap_and_strings_come_first() -> None:
    found = SpanFinder(strings=["Acme 3000", "c"]).find("Acme 3000 at https://x.org/12 {n1} c cc")
    assert [(span.text, span.kind) for span in found] == [
        ("Acme 3000", "strings"),
        ("https://x.org/12", "urls"),
        ("{n1}", "placeholders"),
        ("c", "strings"),
    ]


def test_kinds_are_parsed_and_wrong_ones_named() -> None:
    assert parse_kinds("urls, numbers") == ("urls", "numbers")
    assert parse_kinds("all") == tuple(KINDS)
    with pytest.raises(InputError, match="no kind of span 'links' to keep; there are: urls, emails"):
        SpanFinder(parse_kinds("links"))
    with pytest.raises(InputError, match="--keep needs kinds"):
        parse_kinds(" , ")


def test_strings_are_read_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "keep.txt"
    path.write_text("# names\nAcme\n\nBlue Moon\n", encoding="utf-8")
    assert read_strings(path) == ["Acme", "Blue Moon"]
    path.write_text("# none\n", encoding="utf-8")
    with pytest.raises(CorpusError, match=r"keep\.txt: holds no strings"):
        read_strings(path)


def test_spans_side_by_side_move_as_one() -> None:
    text = "a <b><i> word</i> {x} {y}."
    groups = group_spans(text, SpanFinder().find(text))
    assert [group.text for group in groups] == ["<b><i>", "</i>", "{x} {y}"]
    assert mask(text, groups, ["", "", "Y"]) == ("a word Y.", [2, 6, 7])
    assert not stands_alone(text, groups)
    alone = "{x}: <br>!"
    assert stands_alone(alone, group_spans(alone, SpanFinder().find(alone)))


def test_a_stand_in_is_parted_from_what_it_touches_and_its_span_touches_it_again() -> None:
    text = "See (https://x.org) or <b>here</b>."
    groups = group_spans(text, SpanFinder().find(text))
    assert mask(text, groups, ["X", "Y", "Z"])[0] == "See ( X) or Y here Z."
    output = "Siehe ( X ) oder Y hier Z ."
    places = [(output.index(word), output.index(word) + 1) for word in "XYZ"]
    edits = [restoring_edit(output, *place, group) for place, group in zip(places, groups, strict=True)]
    assert apply_edits(output, edits)[0] == "Siehe (https://x.org) oder <b>hier</b>."
    elsewhere = restoring_edit("Siehe X bitte", 6, 7, groups[0])
    assert apply_edits("Siehe X bitte", [elsewhere])[0] == "Siehe https://x.org bitte"


def test_edits_say_where_their_texts_stand() -> None:
    text, places = apply_edits("abcdef", [Edit(4, 5, "EEE"), Edit(1, 2, ""), Edit(6, 6, "!")])
    assert text == "acdEEEf!"
    assert places == [(3, 6), (1, 1), (7, 8)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("part", ["www.-", "www.a", "a@", "{a", "<a ", "1.", "&a", "%(a", "http://"])
def test_no_text_takes_long(kind: str, part: str) -> None:
    began = time.process_time()
    SpanFinder((kind,)).find(part * 10_000)
    assert time.process_time() - began < 1.0


@pytest.mark.parametrize("kind", SIGNS)
def test_no_span_is_without_the_signs_by_which_texts_are_sifted(kind: str) -> None:
    pattern, draw = re.compile(KINDS[kind]), random.Random(kind)
    parts = [
        "a",
        "b.org",
        "1",
        ".",
        ":",
        "://",
        "http",
        "www.",
        "@",
        "<",
        ">",
        "&",
        "#",
        ";",
        "$",
        "{",
        "}",
        "%",
        "s",
        " ",
    ]
    texts = ["".join(draw.choices(parts, k=8)) for _ in range(20_000)]
    found = [text for text in texts if pattern.search(text)]
    assert len(found) > 20
    assert all(any(sign in text for sign in SIGNS[kind]) for text in found)
