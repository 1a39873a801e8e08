"""The doctor: each finding with its line and exact count, leakage, scripts, statistics, and the report's two forms."""

from __future__ import annotations

import json
import os
from itertools import combinations, pairwise
from pathlib import Path

import pytest

from regard.config import CorpusConfig, DataConfig
from regard.data.diagnosis import MEANINGS, Report
from regard.data.doctor import examine
from regard.data.scripts import RANGES, is_wrong_script, main_script, scripts_of
from regard.data.sentences import normalized
from regard.data.splits import split_by_sentence
from regard.errors import CorpusError

SHARED = Path(os.environ.get("REGARD_DATA") or Path(__file__).parents[2] / "../shared/data")


def write(folder: Path, name: str, lines: list[str | bytes]) -> str:
    path = folder / name
    path.write_bytes(b"".join((line if isinstance(line, bytes) else line.encode()) + b"\n" for line in lines))
    return str(path)


def corpus(folder: Path, source: list[str | bytes], target: list[str | bytes]) -> CorpusConfig:
    return CorpusConfig(source=write(folder, "train.en", source), target=write(folder, "train.fr", target))


def places(report: Report) -> dict[str, list[tuple[str, int]]]:
    return {
        finding.cause: [(Path(fault.file).name, fault.line) for fault in finding.examples]
        for finding in report.findings
    }


def counts(report: Report) -> dict[str, int]:
    return {finding.cause: finding.count for finding in report.findings}


SOURCE: list[str | bytes] = [
    "A dog runs in the park.",  # 1
    "",  # 2 empty
    "A cat sleeps on the mat.",  # 3
    b"caf\xe9",  # 4 invalid UTF-8
    "A dog runs in the park.",  # 5 duplicate of 1
    "A cat sleeps on the mat.",  # 6 the source of 3 with another target
    "Paris, London, New York",  # 7 copy
    "Эта строка написана по-русски.",  # 8 wrong script
    "one\0two",  # 9 NUL
    "x" * 300,  # 10 too long
    "Short.",  # 11 ratio
    "The sun is shining.",  # 12 leak
    "A bird sings.",  # 13 leak on the target
]
TARGET: list[str | bytes] = [
    "Un chien court dans le parc.",
    "Une phrase.",
    "Un chat dort sur le tapis.",
    "Un café.",
    "Un chien court dans le parc.",
    "Le chat dort.",
    "Paris, London, New York",
    "Cette ligne est en russe.",
    "un deux",
    "Trop long.",
    "Une phrase bien plus longue que celle qui lui répond, sans aucune raison que l'on puisse deviner.",
    "Le soleil brille.",
    "Un oiseau chante.",
]


class TestFindings:
    def test_each_fault_is_named_with_its_line(self, tmp_path: Path) -> None:
        held_out = [write(tmp_path, "test.en", ["Something else.", "the SUN is shining"]), tmp_path / "test.fr"]
        write(tmp_path, "test.fr", ["Rien.", "Rien.", "Un oiseau chante !"])
        data = DataConfig(max_characters=200)
        report = examine(corpus(tmp_path, SOURCE, TARGET), data, held_out)
        assert places(report) == {
            "empty": [("train.en", 2)],
            "invalid-utf8": [("train.en", 4)],
            "nul": [("train.en", 9)],
            "too-long": [("train.en", 10)],
            "ratio": [("train.en", 11)],
            "duplicate": [("train.en", 5)],
            "same-source": [("train.en", 6)],
            "copy": [("train.en", 7)],
            "wrong-script": [("train.en", 8)],
            "leak": [("train.en", 12), ("train.fr", 13)],
        }
        assert (report.pairs, report.usable_pairs, report.usable) == (13, 8, True)
        details = {finding.cause: finding.examples[0].detail for finding in report.findings}
        assert details["duplicate"] == "the same pair as line 1"
        assert details["same-source"] == "the same source as line 3, with another target"
        assert details["leak"].endswith("test.en:2")
        assert details["wrong-script"].startswith("mostly Cyrillic, where en is written in Latin: Эта")
        assert [(leakage.sentences, leakage.seen) for leakage in report.leakage] == [(2, 1), (3, 1)]

    def test_unequal_lines_are_a_finding_with_both_counts(self, tmp_path: Path) -> None:
        report = examine(corpus(tmp_path, ["one", "", "three"], ["un"]))
        assert places(report) == {"unequal-lines": [("train.fr", 2)]}
        assert "has 3 lines" in report.findings[0].examples[0].detail
        assert (report.corpora[0].source_lines, report.corpora[0].target_lines) == (3, 1)
        assert not report.usable
        assert "not aligned" in report.verdict

    def test_counts_are_exact_where_examples_are_few(self, tmp_path: Path) -> None:
        lines: list[str | bytes] = ["", *["the same"] * 50, ""]
        report = examine(corpus(tmp_path, lines, ["la même", *["la même"] * 50, "rien"]), examples=3)
        assert counts(report) == {"empty": 2, "duplicate": 49}
        assert places(report)["duplicate"] == [("train.en", 3), ("train.en", 4), ("train.en", 5)]
        assert "… and 46 more" in report.to_text()

    def test_several_corpora_are_one_text(self, tmp_path: Path) -> None:
        first = corpus(tmp_path, ["", "Hello there.", "Good night."], ["x", "Bonjour.", "Bonne nuit."])
        second = CorpusConfig(pairs=write(tmp_path, "more.tsv", ["Thanks.\tMerci.", "Hello there.\tBonjour."]))
        report = examine([first, second], source_language="en", target_language="fr")
        finding = next(finding for finding in report.findings if finding.cause == "duplicate")
        assert places(report)["duplicate"] == [("more.tsv", 2)]
        assert finding.examples[0].detail.endswith("train.en:2")
        assert (report.pairs, report.usable_pairs) == (5, 4)

    def test_clean_text_is_said_to_be_clean(self, tmp_path: Path) -> None:
        report = examine(corpus(tmp_path, ["Hello.", "Thanks."], ["Bonjour.", "Merci."]))
        assert report.findings == []
        assert report.verdict == "can be trained on; nothing to complain about."

    def test_the_strict_policy_makes_bad_lines_grave(self, tmp_path: Path) -> None:
        text = corpus(tmp_path, ["Hello.", ""], ["Bonjour.", "Merci."])
        assert examine(text).usable
        strict = examine(text, DataConfig(on_bad_line="error"))
        assert not strict.usable
        assert "training would stop here" in strict.to_text()

    def test_files_without_a_usable_pair(self, tmp_path: Path) -> None:
        for lines in ([], ["", ""]):
            report = examine(corpus(tmp_path, list(lines), list(lines)))
            assert (report.usable, report.verdict) == (False, "cannot be trained on: there is no usable pair.")
            report.to_text()

    def test_a_missing_file_is_an_error(self, tmp_path: Path) -> None:
        with pytest.raises(CorpusError, match="no such file"):
            examine(CorpusConfig(source=str(tmp_path / "none"), target=str(tmp_path / "none2")))
        with pytest.raises(CorpusError, match=r"empty\.en: empty, nothing to compare with"):
            examine(corpus(tmp_path, ["a"], ["b"]), against=[write(tmp_path, "empty.en", [])])


class TestLeakage:
    def test_a_corpus_is_compared_side_by_side(self, tmp_path: Path) -> None:
        training = corpus(tmp_path, ["Taxi!", "Hello.", "Stop."], ["Taxi !", "Bonjour.", "Hello."])
        held_out = CorpusConfig(pairs=write(tmp_path, "test.tsv", ["Taxi\tun taxi", "Hello\tSalut", "Good\tTaxi"]))
        report = examine(training, against=[held_out])
        assert counts(report)["leak"] == 2  # not line 3: its «Hello.» is French here
        assert [fault.line for fault in report.findings[-1].examples] == [1, 2]
        seen = [(leakage.side, leakage.sentences, leakage.seen) for leakage in report.leakage]
        assert seen == [("source", 3, 2), ("target", 3, 1)]
        assert "its target also" in report.findings[-1].examples[0].detail

    def test_a_plain_file_is_compared_with_either_side_and_repeats_count(self, tmp_path: Path) -> None:
        training = corpus(tmp_path, ["Yes.", "No."], ["Oui.", "Non."])
        held_out = write(tmp_path, "test.txt", ["NON", "maybe", "yes", "…", "non !"])
        report = examine(training, against=[held_out])
        assert counts(report) == {"leak": 2}
        assert [(leakage.side, leakage.sentences, leakage.seen) for leakage in report.leakage] == [(None, 5, 3)]
        assert "3 of 5 sentences occur in training (60.0%)" in report.to_text()

    def test_lines_without_letters_do_not_leak(self, tmp_path: Path) -> None:
        training = corpus(tmp_path, ["...", "?!"], ["…", "."])
        assert counts(examine(training, against=[write(tmp_path, "test.en", ["!", "", "—"])])) == {}

    def test_more_pairs_than_one_look_up_holds(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("regard.data.doctor.CHUNK", 4)
        lines: list[str | bytes] = [f"sentence {number}" for number in range(1, 31)]
        report = examine(corpus(tmp_path, lines, lines[::-1]), against=[write(tmp_path, "t", ["Sentence 6", "7"])])
        assert counts(report)["leak"] == 2
        assert places(report)["leak"] == [("train.en", 6), ("train.fr", 25)]

    @pytest.mark.parametrize(
        ("one", "other", "same"),
        [
            ("It 's  a DOG !", "It's a dog.", True),
            ("Ｈｅｌｌｏ", "hello", True),
            ("你好，世界！", "你好 世界", True),
            ("café", "cafe\u0301", True),
            ("की", "का", False),
            ("5 $", "5 €", False),
            ("a dog", "a cat", False),
        ],
    )
    def test_normal_form(self, one: str, other: str, same: bool) -> None:
        assert (normalized(one) == normalized(other)) is same


class TestScripts:
    @pytest.mark.parametrize(
        ("language", "text", "wrong"),
        [
            ("en", "Привет, мир", True),
            ("en", "naïve café", False),
            ("en", "The word мир means peace.", False),
            ("en", "123 !!!", False),
            ("ru", "Hello there", True),
            ("ru", "Привет, Tom", False),
            ("ru", "C++", False),
            ("zh", "Tom爱Mary。", False),
            ("zh", "Tom loves Mary.", True),
            ("zh-CN", "我们有3个苹果。", False),
            ("zh", "ありがとうございます", True),
            ("ja", "漢字とかな", False),
            ("ja", "안녕하세요", True),
            ("ko", "안녕하세요", False),
            ("hi", "नमस्ते दुनिया", False),
            ("hi", "Hello world", True),
            ("ar", "مرحبا بالعالم", False),
            ("th", "สวัสดีครับ", False),
            ("el", "Καλημέρα", False),
            ("el", "Kalimera", True),
            ("sr", "Добар дан", False),
            ("sr", "Dobar dan", False),
            ("sr-Latn", "Добар дан", True),
            ("zho_Hans", "你好", False),
            ("vi", "Tiếng Việt rất đẹp", False),
            ("tlh", "Привет", False),  # not known: not checked
        ],
    )
    def test_by_language(self, language: str, text: str, wrong: bool) -> None:
        assert is_wrong_script(text, scripts_of(language)) is wrong

    def test_names(self) -> None:
        assert main_script("Hello мир") == "Latin"
        assert main_script("你好") == "Han"
        assert main_script("123") == "no known script"
        assert scripts_of(None) == scripts_of("") == scripts_of("xx") == ()

    def test_no_letter_belongs_to_two_scripts(self) -> None:
        spans = sorted(span for spans in RANGES.values() for span in spans)
        assert all(one[1] < other[0] for one, other in pairwise(spans))

    def test_the_language_is_guessed_from_the_file_name(self, tmp_path: Path) -> None:
        report = examine(corpus(tmp_path, ["Hello."], ["Привет всем"]))
        assert [side.language for side in report.sides] == ["en", "fr"]
        assert counts(report) == {"wrong-script": 1}
        unknown = CorpusConfig(source=write(tmp_path, "a.txt", ["Hello."]), target=write(tmp_path, "b.txt", ["Привет"]))
        assert [side.language for side in examine(unknown).sides] == [None, None]
        assert "script is not checked" in examine(unknown).to_text()
        assert counts(examine(unknown, target_language="fr")) == {"wrong-script": 1}


class TestReport:
    def test_statistics(self, tmp_path: Path) -> None:
        lines: list[str | bytes] = ["a" * length for length in range(1, 101)]
        chinese: list[str | bytes] = ["好" * length for length in range(1, 101)]
        files = CorpusConfig(source=write(tmp_path, "a.en", lines), target=write(tmp_path, "a.zh", chinese))
        source, target = examine(files).sides
        assert (source.characters, source.words, target.words) == (5050, 100, None)
        assert source.lengths == {"min": 1, "25%": 25, "median": 50, "75%": 75, "95%": 95, "99%": 99, "max": 100}

    def test_json_says_what_the_text_says(self, tmp_path: Path) -> None:
        report = examine(corpus(tmp_path, SOURCE, TARGET), against=[write(tmp_path, "test.en", ["A bird sings"])])
        values = json.loads(json.dumps(report.to_json()))
        text = report.to_text()
        assert values["verdict"] in text
        assert [finding["cause"] for finding in values["findings"]] == [
            cause for cause in MEANINGS if cause in counts(report)
        ]
        for finding in values["findings"]:
            assert f"{finding['cause']}: {finding['count']} - " in text
            for example in finding["examples"]:
                assert f"{example['file']}:{example['line']}: {example['detail']}" in text
        assert values["leakage"][0]["seen"] == 1
        assert values["source"]["language"] == "en"

    def test_text_cannot_disturb_the_terminal(self, tmp_path: Path) -> None:
        report = examine(corpus(tmp_path, ["\x1b[2J same\x07"], ["\x1b[2J same\x07"]))
        assert "copy" in counts(report)
        assert "\x1b" not in report.to_text()


class TestSplits:
    def test_no_sentence_crosses_the_parts(self) -> None:
        pairs = [(f"Satz {number // 3}{'.!?'[number % 3]}", f"sentence {number}") for number in range(600)]
        parts = split_by_sentence(pairs, 50)
        assert sorted(pair for part in parts.values() for pair in part) == sorted(pairs)
        assert {name: len(part) for name, part in parts.items()} == {"train": 504, "valid": 48, "test": 48}
        for side in (0, 1):
            for one, other in combinations(parts.values(), 2):
                assert not {normalized(pair[side]) for pair in one} & {normalized(pair[side]) for pair in other}

    def test_links_through_other_pairs_hold(self) -> None:
        chain = [("a", "1"), ("b", "1"), ("b", "2"), ("A!", "3")]
        others = [(f"x{number}", f"y{number}") for number in range(200)]
        for held_out in range(0, 200, 9):
            parts = split_by_sentence(chain + others, held_out)
            assert len({name for name, part in parts.items() for pair in part if pair in chain}) == 1
            assert len(parts["test"]) == min(held_out, 204) or len(parts["test"]) >= held_out - 4

    def test_the_order_of_the_input_does_not_matter_and_sizes_hold(self) -> None:
        pairs = [(f"x{number}", f"y{number}") for number in range(500)]
        parts = split_by_sentence(pairs, 40)
        assert parts == split_by_sentence(reversed(pairs * 2), 40)
        assert {name: len(part) for name, part in parts.items()} == {"train": 420, "valid": 40, "test": 40}

    def test_a_large_group_stays_in_training(self) -> None:
        hub = [("hallo", f"hello {number}") for number in range(10)]
        parts = split_by_sentence([*hub, ("ja", "yes"), ("nein", "no")], 12)
        assert set(hub) <= set(parts["train"])
        assert {*parts["valid"], *parts["test"]} == {("ja", "yes"), ("nein", "no")}


@pytest.mark.skipif(not (SHARED / "multi30k").is_dir(), reason="the public corpora are not here (REGARD_DATA)")
def test_multi30k_has_two_lines_without_a_translation() -> None:
    folder = SHARED / "multi30k" / "raw"
    report = examine(CorpusConfig(source=f"{folder}/train.en.gz", target=f"{folder}/train.de.gz"))
    assert places(report)["ratio"] == [("train.en.gz", 16510), ("train.en.gz", 16664)]
    assert (report.pairs, counts(report)["duplicate"]) == (29_000, 3)


def test_a_held_out_set_that_cannot_be_read_is_no_clean_one(tmp_path: Path) -> None:
    training = CorpusConfig(pairs=write(tmp_path, "train.tsv", ["A dog.\tEin Hund.", "A cat.\tEine Katze."]))
    held_out = write(tmp_path, "test.jsonl", ['{"translation": {"de": "Ein Hund.", "en": "A dog."}}'])
    with pytest.raises(CorpusError, match=r"test\.jsonl:1: .*no line can be read"):
        examine(training, against=[held_out])
    assert counts(examine(training, DataConfig(target_language="de"), against=[held_out]))["leak"] == 1


def several_pairs(tmp_path: Path) -> DataConfig:
    there = {"source": write(tmp_path, "t.en", ["A dog runs."]), "target": write(tmp_path, "t.de", ["Ein Hund rennt."])}
    back = {"source": write(tmp_path, "m.de", ["Eine Katze."]), "target": write(tmp_path, "m.en", ["A cat."])}
    corpora = [there, {**back, "languages": ["de", "en"]}]
    held_out = [{"source": back["target"], "target": back["source"]}]
    values = {"target_language": "de", "tags": True, "train": corpora, "validation": held_out}
    return DataConfig.model_validate(values)


def test_a_leak_is_found_on_the_other_side_of_a_corpus_the_other_way_round(tmp_path: Path) -> None:
    data = several_pairs(tmp_path)
    report = examine(data.train, data, against=data.validation)
    assert [leakage.seen for leakage in report.leakage] == [1, 1]


def test_scripts_are_those_of_each_corpus(tmp_path: Path) -> None:
    data = several_pairs(tmp_path)
    write(tmp_path, "m.en", ["Кошка спит."])
    assert places(examine(data.train, data))["wrong-script"] == [("m.en", 1)]


def test_a_corpus_without_a_usable_pair_cannot_be_trained_on_beside_a_good_one(tmp_path: Path) -> None:
    good = corpus(tmp_path, ["A dog."], ["Un chien."])
    empty = CorpusConfig(source=write(tmp_path, "b.en", [""]), target=write(tmp_path, "b.fr", ["Un chat."]))
    report = examine([good, empty])
    assert not report.usable
    assert report.verdict == f"cannot be trained on: there is no usable pair in {empty.source}."


def test_a_stray_tab_in_the_first_line_costs_that_line_alone(tmp_path: Path) -> None:
    lines = ["a\tb\tc", *(f"source {n}\ttarget {n}" for n in range(5))]
    report = examine(CorpusConfig(pairs=write(tmp_path, "train.tsv", lines)))
    assert report.usable_pairs == 5
    assert places(report)["malformed"] == [("train.tsv", 1)]
