"""`regard split`: every pair in one part, no sentence in two, the same choice every time, nothing half done."""

from __future__ import annotations

import gzip
import json
import os
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from tiny_world import Command

from regard.config import CorpusConfig
from regard.data import division
from regard.data.division import Division, divide
from regard.data.sentences import normalized
from regard.data.splits import LARGEST_HELD_OUT_GROUP, assign, linked
from regard.errors import CorpusError, InputError, RegardError

Texts = list[tuple[str, str]]


def sentences(count: int) -> Texts:
    return [(f"Sentence number {number}.", f"Phrase numéro {number}.") for number in range(count)]


def write(folder: Path, pairs: Texts, names: tuple[str, str] = ("mine.en", "mine.fr")) -> CorpusConfig:
    for side, name in enumerate(names):
        (folder / name).write_text("".join(f"{pair[side]}\n" for pair in pairs), encoding="utf-8")
    return CorpusConfig(source=str(folder / names[0]), target=str(folder / names[1]))


def read(done: Division) -> dict[str, Texts]:
    def lines(path: str) -> list[str]:
        return Path(path).read_text(encoding="utf-8").split("\n")[:-1]

    return {part.name: list(zip(lines(part.source), lines(part.target), strict=True)) for part in done.parts}


class TestParts:
    def test_every_pair_is_in_one_part_and_in_its_order(self, tmp_path: Path) -> None:
        pairs = sentences(400)
        parts = read(divide(write(tmp_path, pairs), tmp_path / "parts", validation=30, test=50))
        assert {name: len(part) for name, part in parts.items()} == {"train": 320, "validation": 30, "test": 50}
        assert sorted(pair for part in parts.values() for pair in part) == sorted(pairs)
        assert all(part == sorted(part, key=pairs.index) for part in parts.values())

    def test_no_sentence_is_in_two_parts(self, tmp_path: Path) -> None:
        pairs = [(f"A {number // 3}!", f"B {number // 2}") for number in range(60)] + sentences(300)
        pairs += [(source.upper(), f"other {target}") for source, target in sentences(300)[::7]]
        parts = read(divide(write(tmp_path, pairs), tmp_path / "parts", validation=40, test=40))
        for side in (0, 1):
            heard = [{normalized(pair[side]) for pair in part} for part in parts.values()]
            assert sum(map(len, heard)) == len(set.union(*heard))
        assert sum(map(len, parts.values())) == len(set(pairs))

    def test_a_sentence_that_stands_everywhere_is_trained_on(self, tmp_path: Path) -> None:
        often = [("Yes.", f"Oui {number}.") for number in range(LARGEST_HELD_OUT_GROUP + 1)]
        parts = read(divide(write(tmp_path, often + sentences(50)), tmp_path / "parts", validation=25, test=2))
        assert set(often) <= set(parts["train"])

    def test_silent_lines_share_nothing(self, tmp_path: Path) -> None:
        pairs = [(f"Sentence {number}", "…" if number % 2 else "?!") for number in range(40)]
        assert len(read(divide(write(tmp_path, pairs), tmp_path / "parts", validation=5, test=5))["test"]) == 5

    def test_repeated_pairs_are_taken_once_and_bad_lines_left_out(self, tmp_path: Path) -> None:
        pairs = [*sentences(100), ("", "Rien."), ("Sentence number 3. ", " Phrase numéro 3.")]
        done = divide(write(tmp_path, pairs), tmp_path / "parts")
        assert (done.repeated, done.faults.counts) == (1, {"empty": 1})
        assert {part.name: part.pairs for part in done.parts} == {"train": 90, "validation": 5, "test": 5}
        assert "1 of 102 pairs left out: 1 empty" in done.to_text()
        assert "repeated pairs, taken once: 1 left out" in done.to_text()

    def test_the_choice_depends_on_the_text_and_the_seed_alone(self, tmp_path: Path) -> None:
        pairs = sentences(200)
        first = read(divide(write(tmp_path, pairs), tmp_path / "one"))
        turned = read(divide(write(tmp_path, pairs[::-1]), tmp_path / "two"))
        other = read(divide(write(tmp_path, pairs), tmp_path / "three", seed=2))
        assert {name: set(part) for name, part in first.items()} == {name: set(part) for name, part in turned.items()}
        assert set(first["test"]) != set(other["test"])

    def test_parts_that_nobody_wants_are_not_written(self, tmp_path: Path) -> None:
        done = divide(write(tmp_path, sentences(60)), tmp_path / "parts", validation=6, test=0)
        assert sorted(path.name for path in (tmp_path / "parts").iterdir()) == [
            *("train.en", "train.fr", "validation.en", "validation.fr")
        ]
        assert "/test." not in done.to_text()


class TestFiles:
    def test_one_packed_file_with_both_sides(self, tmp_path: Path) -> None:
        lines = [json.dumps({"translation": {"de": f"Satz {n}", "en": f"Sentence {n}"}}) for n in range(60)]
        (tmp_path / "mine.jsonl.gz").write_bytes(gzip.compress("\n".join(lines).encode()))
        corpus = CorpusConfig(pairs=str(tmp_path / "mine.jsonl.gz"))
        done = divide(corpus, tmp_path / "parts", languages=("de", "en"))
        assert ("Satz 1", "Sentence 1") in {pair for part in read(done).values() for pair in part}
        assert done.parts[0].source.endswith("train.de")

    def test_languages_that_nobody_named(self, tmp_path: Path) -> None:
        done = divide(write(tmp_path, sentences(60), ("one.txt", "other.txt")), tmp_path / "parts")
        assert done.parts[0].source.endswith("train.source")
        assert 'source_language = "?"     # name it' in done.to_text()

    def test_odd_line_breaks_stay_inside_their_line(self, tmp_path: Path) -> None:
        pairs = [(f"One\u2028two {number}", f"Un\x0cdeux {number}") for number in range(40)]
        parts = read(divide(write(tmp_path, pairs), tmp_path / "parts"))
        assert sorted(pair for part in parts.values() for pair in part) == sorted(pairs)

    def test_what_fails_leaves_nothing_behind(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        corpus = write(tmp_path, sentences(60))
        before = set(tmp_path.iterdir())
        with pytest.raises(InputError, match="cannot spare 40 for validation and 3 for test"):
            divide(corpus, tmp_path / "parts", validation=40)
        write(tmp_path, [("Yes.", f"Oui {number}.") for number in range(60)])
        with pytest.raises(CorpusError, match="no pair can be held out for validation"):
            divide(corpus, tmp_path / "parts")
        write(tmp_path, sentences(60))
        chosen = division._choose

        def change_meanwhile(*arguments: object) -> object:
            answer = chosen(*arguments)  # type: ignore[arg-type]
            write(tmp_path, sentences(61))
            return answer

        monkeypatch.setattr(division, "_choose", change_meanwhile)
        with pytest.raises(CorpusError, match="changed while it was read"):
            divide(corpus, tmp_path / "parts")
        assert set(tmp_path.iterdir()) == before

    def test_text_that_cannot_be_read_twice_is_refused(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe.en")
        corpus = CorpusConfig(source=str(tmp_path / "pipe.en"), target=write(tmp_path, sentences(60)).target)
        with pytest.raises(CorpusError, match="must be read twice"):
            divide(corpus, tmp_path / "parts")

    def test_a_handful_is_not_held_out_from_in_silence(self, tmp_path: Path) -> None:
        corpus = write(tmp_path, sentences(12))
        with pytest.raises(InputError, match="12 pairs that differ are too few"):
            divide(corpus, tmp_path / "parts", test=2)
        done = divide(corpus, tmp_path / "parts", validation=0, test=2)
        assert [part.pairs for part in done.parts] == [10, 2]

    def test_a_folder_with_something_in_it_is_left_alone(self, tmp_path: Path) -> None:
        corpus = write(tmp_path, sentences(60))
        divide(corpus, tmp_path / "parts")
        with pytest.raises(RegardError, match="not empty"):
            divide(corpus, tmp_path / "parts")


def test_memory_is_what_the_page_says(tmp_path: Path) -> None:
    corpus = write(tmp_path, sentences(20_000))
    tracemalloc.start()
    try:
        divide(corpus, tmp_path / "parts")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 20_000 * 200 + 4_000_000, "docs/commands/split.md tells of about 130 bytes a pair"


def test_groups_are_found_through_others() -> None:
    sources = np.array([1, 2, 3, 4, 5, 0, 0])
    targets = np.array([9, 8, 9, 8, 7, 6, 5])
    assert linked([sources, targets]).tolist() == [0, 1, 0, 1, 4, 5, 6]
    chain = np.arange(1, 200) // 2 + 1, (np.arange(1, 200) + 1) // 2 + 1000
    assert set(linked(list(chain)).tolist()) == {0}


def test_a_group_that_does_not_fit_goes_to_the_next_part() -> None:
    groups = np.array([0, 0, 0, 3, 4, 4, 6])
    parts = assign(groups, np.arange(7), (2, 3))
    assert parts.tolist() == [2, 2, 2, 1, 0, 0, 1]


def test_the_command_prints_what_a_recipe_needs(tmp_path: Path, regard: Command) -> None:
    write(tmp_path, sentences(100))
    figures = tmp_path / "figures.json"
    arguments = f"split --source {tmp_path}/mine.en --target {tmp_path}/mine.fr --output {tmp_path}/parts"
    output = regard(*f"{arguments} --test 7 --json {figures}".split()).output
    assert f'validation = [{{ source = "{tmp_path}/parts/validation.en"' in output
    assert json.loads(figures.read_text())["parts"]["test"]["pairs"] == 7
