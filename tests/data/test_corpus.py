"""Reading and checking bilingual text: formats, line ends, faults by line, and alignment that never shifts."""

from __future__ import annotations

import gzip
import json
import os
import tracemalloc
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.config import CorpusConfig, DataConfig
from regard.data.corpus import Faults, Pair, UnequalLinesError, read_lines, read_pairs
from regard.data.lines import raw_lines
from regard.errors import CorpusError

SKIP = DataConfig()
STRICT = DataConfig(on_bad_line="error")


def write(folder: Path, name: str, content: str | bytes) -> str:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(path)


def corpus(folder: Path, source: str | bytes, target: str | bytes) -> CorpusConfig:
    return CorpusConfig(source=write(folder, "a.en", source), target=write(folder, "b.fr", target))


def pairs_file(folder: Path, name: str, content: str | bytes) -> CorpusConfig:
    return CorpusConfig(pairs=write(folder, name, content))


def texts(pairs: list[Pair]) -> list[tuple[int, str, str]]:
    return [(pair.line, pair.source, pair.target) for pair in pairs]


def faults_of(config: CorpusConfig, data: DataConfig = SKIP) -> tuple[list[Pair], list[tuple[str, str, int]]]:
    """The usable pairs, and (cause, file name, line) of everything wrong."""
    faults = Faults(keep=1000)
    pairs = list(read_pairs(config, data, faults))
    found = [(fault.cause, Path(fault.file).name, fault.line) for shown in faults.examples.values() for fault in shown]
    return pairs, sorted(found, key=lambda fault: (fault[2], fault[0]))


class TestLines:
    def test_only_the_byte_newline_ends_a_line(self, tmp_path: Path) -> None:
        line = "one\u2028two\u2029three\x85four\x0bfive\x0csix\rseven\x1c\x1d\x1eeight"
        assert list(read_lines(write(tmp_path, "a", f"{line}\nnext\n"))) == [line, "next"]

    def test_windows_line_ends_lose_one_carriage_return(self, tmp_path: Path) -> None:
        assert list(read_lines(write(tmp_path, "a", "one\r\ntwo\r\r\nthree\r"))) == ["one", "two\r", "three"]

    def test_a_byte_order_mark_at_the_start_alone_is_dropped(self, tmp_path: Path) -> None:
        assert list(read_lines(write(tmp_path, "a", "\ufeffone\n\ufefftwo\n"))) == ["one", "\ufefftwo"]

    @pytest.mark.parametrize(
        ("content", "lines"), [("", []), ("\n", [""]), ("a", ["a"]), ("a\n", ["a"]), ("a\n\n", ["a", ""])]
    )
    def test_the_last_line_needs_no_end(self, tmp_path: Path, content: str, lines: list[str]) -> None:
        assert list(read_lines(write(tmp_path, "a", content))) == lines

    def test_gzip_is_known_by_its_first_bytes(self, tmp_path: Path) -> None:
        packed = gzip.compress("\ufeffone\r\n".encode()) + gzip.compress(b"two\n")
        assert list(read_lines(write(tmp_path, "a.txt", packed))) == ["one", "two"]
        assert list(read_lines(write(tmp_path, "plain.gz", "one\n"))) == ["one"]

    def test_cut_gzip_says_after_which_line(self, tmp_path: Path) -> None:
        packed = gzip.compress(os.urandom(50_000).hex().encode() + b"\n", mtime=0)
        with pytest.raises(CorpusError, match=r"a\.gz: the gzip data is cut short .* get the file again"):
            list(read_lines(write(tmp_path, "a.gz", packed[:-2000])))
        flipped = packed[:2000] + bytes([packed[2000] ^ 255]) + packed[2001:]
        with pytest.raises(CorpusError, match="damaged"):
            list(read_lines(write(tmp_path, "b.gz", flipped)))

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ("hello\n".encode("utf-16"), "is UTF-16 text; convert it with `iconv"),
            ("hello\n".encode("utf-16-be").join([b"\xfe\xff", b""]), "is UTF-16 text"),
            (gzip.compress("hello\n".encode("utf-16"), mtime=0), "is UTF-16 text"),
            (b"PK\x03\x04rest", "is a zip archive"),
            (b"\xfd7zXZ\x00rest", "compressed with xz"),
            (b"\x28\xb5\x2f\xfdrest", "compressed with zstd"),
        ],
    )
    def test_foreign_files_are_refused(self, tmp_path: Path, content: bytes, message: str) -> None:
        with pytest.raises(CorpusError, match=message):
            list(read_lines(write(tmp_path, "a", content)))

    def test_invalid_utf8_names_the_line_and_the_byte(self, tmp_path: Path) -> None:
        with pytest.raises(CorpusError, match=r"a:2: byte 0xe9 at byte 4 is not UTF-8"):
            list(read_lines(write(tmp_path, "a", b"ok\ncaf\xe9\n")))

    @pytest.mark.parametrize(
        ("end", "expected"), [(b"\nz", [b"12345", b"z"]), (b"\r\nz", [b"12345", b"z"]), (b"6\nz", [None, b"z"])]
    )
    def test_a_line_over_the_limit_is_one_line_and_none(
        self, tmp_path: Path, end: bytes, expected: list[bytes | None]
    ) -> None:
        assert list(raw_lines(write(tmp_path, "a", b"12345" + end), limit=5)) == expected

    def test_a_huge_line_is_not_held_in_memory(self, tmp_path: Path) -> None:
        path = write(tmp_path, "a", gzip.compress(b"x" * 30_000_000 + b"\nshort\n", compresslevel=1))
        tracemalloc.start()
        try:
            assert list(raw_lines(path, limit=1000)) == [None, b"short"]
            assert tracemalloc.get_traced_memory()[1] < 3_000_000
        finally:
            tracemalloc.stop()

    def test_missing_files_say_what_brings_them(self, tmp_path: Path) -> None:
        for path, advice in [
            ("data/multi30k/tok/train.en.gz", "`regard data multi30k` brings it"),
            ("data/tatoeba-zh-en/train.zh.gz", "`regard data tatoeba` brings it"),
            ("data/builtin/en-fr/train.en", "`regard data builtin` brings it"),
            ("text/train.en", "check the spelling"),
        ]:
            with pytest.raises(CorpusError, match=advice):
                list(read_lines(tmp_path / path))
        with pytest.raises(CorpusError, match="is a folder; name a file in it"):
            list(read_lines(tmp_path))

    @pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="permissions do not bind this user")
    def test_an_unreadable_file(self, tmp_path: Path) -> None:
        path = write(tmp_path, "a", "x\n")
        Path(path).chmod(0)
        with pytest.raises(CorpusError, match="may not be read"):
            list(read_lines(path))


class TestTextFiles:
    def test_pairs_have_their_line_and_file(self, tmp_path: Path) -> None:
        config = corpus(tmp_path, "\ufeffHello.\r\nYes.\r\n", "Bonjour.\nOui, bien sûr.")
        pairs = list(read_pairs(config, STRICT))
        assert texts(pairs) == [(1, "Hello.", "Bonjour."), (2, "Yes.", "Oui, bien sûr.")]
        assert {pair.origin for pair in pairs} == {config.source}

    def test_each_fault_is_named_with_its_line_and_the_rest_stays_aligned(self, tmp_path: Path) -> None:
        good = "a good line"
        source = [good, "", good, b"caf\xe9 noir", good, "nul\0here", "word " * 41, good, good, good]
        target = [good, good, " \u3000\u200b", good, "y" * 201, good, good, "w", good, good]
        source[7] = "long " * 6
        encode = lambda lines: b"\n".join(line if isinstance(line, bytes) else line.encode() for line in lines)  # noqa: E731
        config = corpus(tmp_path, encode(source), encode(target))
        pairs, found = faults_of(config, DataConfig(max_characters=200))
        assert found == [
            ("empty", "a.en", 2),
            ("empty", "b.fr", 3),
            ("invalid-utf8", "a.en", 4),
            ("too-long", "b.fr", 5),
            ("nul", "a.en", 6),
            ("too-long", "a.en", 7),
            ("ratio", "a.en", 8),
        ]
        assert [pair.line for pair in pairs] == [1, 9, 10]

    def test_both_sides_of_a_pair_are_reported_but_it_is_skipped_once(self, tmp_path: Path) -> None:
        faults = Faults()
        list(read_pairs(corpus(tmp_path, "\0\nok\n", b"\xff\nok\n"), SKIP, faults))
        assert (faults.pairs, faults.skipped) == (1, 1)
        assert faults.counts == {"invalid-utf8": 1}
        list(read_pairs(corpus(tmp_path, "a\0\nok\n", "\nok\n"), SKIP, faults))
        assert (faults.pairs, faults.skipped) == (2, 2)
        assert faults.counts == {"invalid-utf8": 1, "nul": 1, "empty": 1}

    def test_strict_policy_names_the_first_bad_line_and_the_remedy(self, tmp_path: Path) -> None:
        reader = read_pairs(corpus(tmp_path, "one\n\nthree\n", "un\ndeux\ntrois\n"), STRICT)
        assert next(reader).source == "one"
        with pytest.raises(CorpusError, match=r'a\.en:2: this line is empty; .* data\.on_bad_line = "skip"'):
            next(reader)

    @pytest.mark.parametrize(("source", "target"), [(3, 5), (5, 3), (0, 2), (2, 0), (1, 100_000)])
    @pytest.mark.parametrize("policy", ["skip", "error"])
    def test_unequal_counts_state_both(self, tmp_path: Path, source: int, target: int, policy: str) -> None:
        config = corpus(tmp_path, "x\n" * source, "y\n" * target)
        with pytest.raises(UnequalLinesError, match=rf"a\.en has {source:,} lines but .*b\.fr has {target:,}:"):
            list(read_pairs(config, DataConfig(on_bad_line=policy)))  # type: ignore[arg-type]

    def test_unequal_counts_come_before_a_bad_line(self, tmp_path: Path) -> None:
        # the empty line may well be where the alignment broke; the counts are the real news
        with pytest.raises(UnequalLinesError, match=r"has 3 lines but .* has 2:"):
            list(read_pairs(corpus(tmp_path, "one\n\nthree\n", "un\ntrois\n"), STRICT))

    def test_a_blank_last_line_counts(self, tmp_path: Path) -> None:
        with pytest.raises(UnequalLinesError, match=r"2 lines .* 1:"):
            list(read_pairs(corpus(tmp_path, "x\n\n", "y\n"), SKIP))

    def test_empty_corpora_are_refused(self, tmp_path: Path) -> None:
        with pytest.raises(CorpusError, match=r"a\.en and .*b\.fr: empty"):
            list(read_pairs(corpus(tmp_path, "", ""), SKIP))
        with pytest.raises(CorpusError, match=r"no usable pair; 2 of 2 pairs left out: 3 empty \(first: .*a\.en:1:"):
            list(read_pairs(corpus(tmp_path, "\n\n", "\nx\n"), SKIP))

    def test_a_missing_file_is_an_error_at_the_call(self, tmp_path: Path) -> None:
        with pytest.raises(CorpusError, match=r"none\.fr: no such file"):
            read_pairs(CorpusConfig(source=write(tmp_path, "a", "x"), target=str(tmp_path / "none.fr")), SKIP)

    def test_the_ratio_leaves_room_for_short_sentences_and_for_chinese(self, tmp_path: Path) -> None:
        source = "好。\n树高遭雷击。\n" + "我" * 30 + "\n" + "x" * 10 + "\n" + "x" * 10 + "\n"
        target = "That sounds good to me.\nThe taller the tree, the more likely it is to be struck by lightning.\n"
        target += "I " * 60 + "\n" + "y" * 110 + "\n" + "y" * 111 + "\n"
        pairs, found = faults_of(corpus(tmp_path, source, target))
        assert [pair.line for pair in pairs] == [1, 2, 3, 4]
        assert found == [("ratio", "a.en", 5)]

    def test_two_files_cannot_be_called_tsv(self, tmp_path: Path) -> None:
        config = corpus(tmp_path, "x\n", "y\n").model_copy(update={"format": "tsv"})
        with pytest.raises(CorpusError, match="give it as `pairs`"):
            read_pairs(config, SKIP)

    @pytest.mark.parametrize("pack", [bytes, gzip.compress])
    def test_memory_does_not_grow_with_the_corpus(self, tmp_path: Path, pack: type[bytes]) -> None:
        config = corpus(tmp_path, pack(b"a sentence of some words\n" * 60_000), pack(b"une phrase\n" * 60_000))
        reader = read_pairs(config, SKIP)
        assert sum(1 for _ in islice(reader, 50_000)) == 50_000
        tracemalloc.start()  # it makes reading slow, so it sees the last pairs only: were they kept, it would show
        try:
            assert sum(1 for _ in reader) == 10_000
            assert tracemalloc.get_traced_memory()[1] < 500_000
        finally:
            tracemalloc.stop()


class TestTsv:
    def test_reads_two_columns_and_ignores_further_ones(self, tmp_path: Path) -> None:
        config = pairs_file(tmp_path, "x.tsv.gz", gzip.compress("\ufeffHi.\tSalut.\tby Tom\r\nYes.\tOui.\t\n".encode()))
        assert texts(list(read_pairs(config, STRICT))) == [(1, "Hi.", "Salut."), (2, "Yes.", "Oui.")]

    def test_faults_have_their_line(self, tmp_path: Path) -> None:
        lines = ["Hi.\tSalut.", "no tab", "one\ttwo\tthree", "\tempty", "a\t\t", "ok\tbien", "", "nul\0\tx"]
        pairs, found = faults_of(pairs_file(tmp_path, "x.tsv", "\n".join(lines)))
        assert [pair.line for pair in pairs] == [1, 6]
        assert found == [
            ("malformed", "x.tsv", 2),
            ("malformed", "x.tsv", 3),
            ("empty", "x.tsv", 4),
            ("malformed", "x.tsv", 5),
            ("malformed", "x.tsv", 7),
            ("nul", "x.tsv", 8),
        ]

    def test_a_missing_tab_under_the_strict_policy(self, tmp_path: Path) -> None:
        with pytest.raises(CorpusError, match=r"x\.tsv:2: no tab between source and target"):
            list(read_pairs(pairs_file(tmp_path, "x.tsv", "a\tb\nc d\n"), STRICT))

    def test_the_side_is_named_where_both_share_a_file(self, tmp_path: Path) -> None:
        with pytest.raises(CorpusError, match=r"x\.tsv:1: the target is empty"):
            list(read_pairs(pairs_file(tmp_path, "x.tsv", "a\t \n"), STRICT))

    def test_an_unknown_ending_asks_for_the_format(self, tmp_path: Path) -> None:
        config = pairs_file(tmp_path, "x.txt", "a\tb\n")
        with pytest.raises(CorpusError, match='cannot tell the format by the name; add format = "tsv"'):
            read_pairs(config, SKIP)
        assert len(list(read_pairs(config.model_copy(update={"format": "tsv"}), SKIP))) == 1
        with pytest.raises(CorpusError, match="two files; give them as `source` and `target`"):
            read_pairs(config.model_copy(update={"format": "text"}), SKIP)


class TestJsonLines:
    def test_both_shapes(self, tmp_path: Path) -> None:
        lines = [
            {"source": "Hi.", "target": "Salut.", "id": 7},
            {"translation": {"fr": "Oui\u2028.", "en": "Yes.", "de": "Ja."}},
        ]
        content = "\r\n".join(json.dumps(line, ensure_ascii=False) for line in lines)
        pairs = list(read_pairs(pairs_file(tmp_path, "x.jsonl", content), STRICT))
        assert texts(pairs) == [(1, "Hi.", "Salut."), (2, "Yes.", "Oui\u2028.")]

    @pytest.mark.parametrize(
        ("line", "cause", "message"),
        [
            ('{"source": "a", ', "malformed", "not JSON: .* at column"),
            ('["a", "b"]', "malformed", "not a JSON object"),
            ("", "malformed", "not JSON"),
            ('{"source": "a"}', "malformed", r'no key "target" \(keys here: "source"\)'),
            ("{}", "malformed", r'no key "source" \(keys here: none\)'),
            ('{"source": "a", "target": 3}', "malformed", '"target" is not a string'),
            ('{"source": null, "target": "b"}', "malformed", '"source" is not a string'),
            ('{"translation": {"en": "a", "de": "b"}}', "malformed", r'no key "fr" \(keys here: "en", "de"\)'),
            ("[" * 50_000, "malformed", "not JSON"),
            ('{"source": ' + "9" * 5000 + "}", "malformed", "x.jsonl:2"),
            ('{"source": "a\\u0000", "target": "b"}', "nul", "the source has a NUL"),
            ('{"source": "a", "target": "b\\nc"}', "line-break", "the target has a line break"),
            ('{"source": "\\ud800", "target": "b"}', "invalid-utf8", "half of a surrogate pair"),
            ('{"source": "a", "target": ""}', "empty", "the target is empty"),
            (b'{"source": "\xff", "target": "b"}', "invalid-utf8", "byte 0xff at byte 13"),
        ],
    )
    def test_faults_have_their_line(self, tmp_path: Path, line: str | bytes, cause: str, message: str) -> None:
        good = b'{"source": "a", "target": "b"}'
        raw = line if isinstance(line, bytes) else line.encode()
        config = pairs_file(tmp_path, "x.jsonl", b"\n".join([good, raw, good]))
        pairs, found = faults_of(config)
        assert [pair.line for pair in pairs] == [1, 3]
        assert found == [(cause, "x.jsonl", 2)]
        with pytest.raises(CorpusError, match=message) as error:
            list(read_pairs(config, STRICT))
        assert ":2: " in str(error.value)


class TestFaults:
    def test_summary_and_json_round_trip(self, tmp_path: Path) -> None:
        faults = Faults(keep=2)
        list(read_pairs(corpus(tmp_path, "x\n" + "\n" * 4, "y\n" * 5), SKIP, faults))
        list(read_pairs(pairs_file(tmp_path, "x.tsv", "a\tb\nbad\n"), SKIP, faults))
        assert (faults.pairs, faults.skipped, faults.counts) == (2, 5, {"malformed": 1, "empty": 4})
        assert str(faults).startswith("5 of 7 pairs left out: 1 malformed, 4 empty (first: ")
        values = json.loads(json.dumps(faults.to_json()))
        assert values["by_file"][str(tmp_path / "a.en")] == {"empty": 4}
        assert [fault["line"] for fault in values["examples"]["empty"]] == [2, 3]
        assert Faults.from_json(values).to_json() == values
        assert bool(faults)
        assert not Faults()
        assert str(Faults()) == "all 0 pairs can be used"


BAD_LINES = st.sampled_from([b"", b"  ", b"\xff\xfe", b"a\0b", b"x" * 500, b"\xc3"])
GOOD_LINES = st.text(st.characters(blacklist_characters="\n\r\0", blacklist_categories=["Cs", "Cc"]), max_size=20).map(
    lambda text: b"v" + text.encode()
)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(GOOD_LINES | BAD_LINES, GOOD_LINES | BAD_LINES, st.sampled_from([b"\n", b"\r\n"]))))
def test_alignment_never_shifts(
    tmp_path_factory: pytest.TempPathFactory, lines: list[tuple[bytes, bytes, bytes]]
) -> None:
    """Whatever stands on other lines, line n of the source comes with line n of the target."""
    folder = tmp_path_factory.mktemp("aligned")
    lines = [(b"first", b"first", b"\n"), *lines]
    numbered = [
        [b"%d " % n + line[side] if line[side][:1] == b"v" else line[side] for n, line in enumerate(lines, 1)]
        for side in (0, 1)
    ]
    ends = [line[2] for line in lines]
    config = corpus(
        folder,
        b"".join(line + end for line, end in zip(numbered[0], ends, strict=True)),
        b"".join(line + b"\n" for line in numbered[1]),
    )
    faults = Faults()
    pairs = list(read_pairs(config, DataConfig(max_characters=400), faults))
    for pair in pairs[1:]:
        assert pair.source.encode() == numbered[0][pair.line - 1]
        assert pair.target.encode() == numbered[1][pair.line - 1]
    good = [n for n, line in enumerate(lines, 1) if n == 1 or (line[0][:1] == b"v" and line[1][:1] == b"v")]
    assert [pair.line for pair in pairs] == good
    assert faults.skipped == len(lines) - len(good)
