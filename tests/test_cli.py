"""The commands, as a user gives them, on a tiny model."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tiny_world import Command, write_tiny_corpus

from regard import __version__
from regard.recipe import format_config, load_config


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.toml"
    path.write_text(format_config(write_tiny_corpus(tmp_path / "corpus")), encoding="utf-8")
    return path


@pytest.fixture
def corpus(tiny_run: Path) -> tuple[Path, Path]:
    """The validation text of the tiny run."""
    folder = tiny_run.parent / "corpus"
    return folder / "validation.en", folder / "validation.fr"


def test_version(regard: Command) -> None:
    finished = regard("--version")
    assert (finished.code, finished.errors) == (0, "")
    assert finished.output == f"regard {__version__}\n"


@pytest.mark.parametrize(
    "command",
    [
        [],
        ["data"],
        ["demo"],
        ["doctor"],
        ["describe"],
        ["train"],
        ["translate"],
        ["calibrate"],
        ["evaluate"],
        ["score"],
    ],
)
@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help_of_every_command(command: list[str], option: str, regard: Command) -> None:
    finished = regard(*command, option)
    assert finished.code == 0
    assert finished.output.startswith(f"Usage: regard {' '.join(command)}".rstrip())


@pytest.mark.parametrize(
    "arguments", [["--help"], ["train", "--help"], ["train", "missing.toml"], ["describe", "--keys"]]
)
def test_torch_is_not_imported_where_it_is_not_needed(arguments: list[str]) -> None:
    program = (
        "import sys\nfrom regard.cli import main\n"
        f"try:\n    main({arguments!r})\nexcept SystemExit:\n    pass\n"
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, check=False).returncode == 0


def test_the_environment_may_name_the_folder_of_a_run(
    recipe: Path, tmp_path: Path, regard: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REGARD_RUN", str(tmp_path / "there"))
    assert regard("train", recipe, "train.max_steps=1", "train.validation_sentences=0").code == 0
    assert (tmp_path / "there/model.safetensors").is_file()


class TestTranslate:
    def test_line_for_line_with_an_empty_one_between(self, tiny_run: Path, regard: Command) -> None:
        finished = regard("translate", tiny_run, input=b"A man.\n\nTwo dogs.\n")
        assert finished.code == 0
        lines = finished.output.split("\n")
        assert len(lines) == 4
        assert lines[1] == lines[3] == ""

    def test_nothing_in_nothing_out(self, tiny_run: Path, regard: Command) -> None:
        assert regard("translate", tiny_run).output == ""

    def test_order_is_kept_and_blocks_do_not_matter(
        self, tiny_run: Path, regard: Command, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        text = b"".join(b"the cat eats %d apples%s\n" % (number, b" and more" * (number % 5)) for number in range(30))
        whole = regard("translate", tiny_run, "--beam", "1", input=text)
        monkeypatch.setattr("regard.streams.BLOCK_BYTES", 100)
        pieces = regard("translate", tiny_run, "--beam", "1", input=text)
        assert whole.output == pieces.output
        assert whole.output.count("\n") == 30

    def test_marks_and_line_ends_of_windows_do_not_matter(self, tiny_run: Path, regard: Command) -> None:
        plain = regard("translate", tiny_run, input=b"the cat\nthe dog\n")
        windows = regard("translate", tiny_run, input=b"\xef\xbb\xbfthe cat\r\nthe dog")
        assert windows.output == plain.output

    def test_other_line_separators_are_text(self, tiny_run: Path, regard: Command) -> None:
        finished = regard("translate", tiny_run, input="a\u2028b\x85c\x0bd\n".encode())
        assert finished.output.count("\n") == 1

    def test_files(self, tiny_run: Path, corpus: tuple[Path, Path], tmp_path: Path, regard: Command) -> None:
        source, output = corpus[0], tmp_path / "out.fr"
        finished = regard("translate", tiny_run, "--input", source, "--output", output)
        assert (finished.code, finished.output) == (0, "")
        assert output.read_text(encoding="utf-8") == regard("translate", tiny_run, input=source.read_bytes()).output

    def test_n_best_is_a_table(self, tiny_run: Path, regard: Command) -> None:
        finished = regard("translate", tiny_run, "--beam", "3", "--nbest", "2", input=b"the cat\nthe dog\n")
        rows = [line.split("\t") for line in finished.output.splitlines()]
        assert [row[0] for row in rows] == ["1", "1", "2", "2"]
        assert float(rows[0][1]) >= float(rows[1][1])
        best = regard("translate", tiny_run, "--beam", "3", input=b"the cat\nthe dog\n")
        assert [row[2] for row in rows[::2]] == best.output.splitlines()

    def test_samples_come_by_their_seed(self, tiny_run: Path, regard: Command) -> None:
        def drawn(*options: str) -> str:
            arguments = ("--sampling", "--samples", "4", "--nbest", "4", "--top-p", "0.9", *options)
            finished = regard("translate", tiny_run, *arguments, input=b"the cat\nthe dog\n")
            assert finished.code == 0
            return finished.output

        assert drawn().count("\n") == 8
        assert drawn() == drawn() != drawn("--sampling-seed", "2")

    def test_prefixes_come_from_a_file(self, tiny_run: Path, tmp_path: Path, regard: Command) -> None:
        (tmp_path / "prefix.fr").write_text("le chien\n\nmon\n", encoding="utf-8")
        finished = regard("translate", tiny_run, "--prefix", tmp_path / "prefix.fr", input=b"the cat\n\na man\n")
        lines = finished.output.splitlines()
        assert lines[0].startswith("le chien")
        assert lines[1] == ""
        assert lines[2].startswith("mon")

    def test_several_models_are_an_ensemble(self, tiny_run: Path, regard: Command) -> None:
        alone = regard("translate", tiny_run, input=b"the cat\n")
        for average in ("probabilities", "log-probabilities"):
            twice = regard("translate", tiny_run, tiny_run, "--average", average, input=b"the cat\n")
            assert (twice.code, twice.output) == (0, alone.output)

    def test_all_controls_at_once(self, tiny_run: Path, regard: Command) -> None:
        rules = ("--min-length", "2", "--max-length", "9", "--no-repeat-ngram", "2", "--max-repeats", "3")
        for search in (("--beam", "4", "--coverage-penalty", "0.2"), ("--sampling", "--samples", "4")):
            arguments = (*rules, *search, "--mbr", "--nbest", "2")
            finished = regard("translate", tiny_run, *arguments, input=b"the cat\nthe dog\n")
            rows = [line.split("\t") for line in finished.output.splitlines()]
            assert [row[0] for row in rows] == ["1", "1", "2", "2"]
            assert all(0 <= float(row[1]) <= 100 for row in rows)

    def test_languages_may_be_stated(self, tiny_run: Path, regard: Command) -> None:
        assert regard("translate", tiny_run, "--from", "en", "--to", "fr", input=b"a\n").code == 0

    def test_huge_line_is_shortened_with_a_warning(self, tiny_run: Path, regard: Command) -> None:
        arguments = ("--beam", "1")
        finished = regard("translate", tiny_run, *arguments, input=b"the cat eats " * 20_000 + b"\nthe dog\n")
        assert finished.code == 0
        assert finished.output.count("\n") == 2
        assert "regard: warning: line 1: " in finished.errors

    def test_answer_comes_while_the_input_is_open(self, tiny_run: Path) -> None:
        command = [sys.executable, "-m", "regard", "translate", str(tiny_run), "--beam", "1"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            for _ in range(2):
                process.stdin.write(b"the cat\n")
                process.stdin.flush()
                assert process.stdout.readline().endswith(b"\n")
            process.stdin.close()
            assert process.stdout.read() == b""
        assert process.returncode == 0

    def test_interruption_is_quiet(self, tiny_run: Path) -> None:
        command = [sys.executable, "-m", "regard", "translate", str(tiny_run), "--beam", "1"]
        pipe = subprocess.PIPE

        def listen() -> None:  # a shell's background job, which these tests may be, does not hear Ctrl-C
            signal.signal(signal.SIGINT, signal.SIG_DFL)

        with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, preexec_fn=listen) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(b"the cat\n")
            process.stdin.flush()
            process.stdout.readline()
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate()
        assert process.returncode == 130
        assert b"Traceback" not in errors


class TestEvaluate:
    def test_model(self, tiny_run: Path, corpus: tuple[Path, Path], tmp_path: Path, regard: Command) -> None:
        source, reference = corpus
        kept, figures = tmp_path / "kept.fr", tmp_path / "figures.json"
        files = ("--source", source, "--reference", reference)
        finished = regard("evaluate", tiny_run, *files, "--output", kept, "--json", figures, "--tokenize", "none")
        assert finished.code == 0
        values = json.loads(figures.read_text())
        assert values["sentences"] == 10
        assert "tok:none" in values["bleu_signature"]
        assert values["bleu_signature"] in finished.output
        assert values["chrf_signature"] in finished.output
        assert values["by_length"] == []
        again = regard("evaluate", "--hypothesis", kept, "--reference", reference, "--tokenize", "none", "--json")
        assert json.loads(again.output)["bleu"] == values["bleu"]

    def test_perfect_translation_against_a_bad_one(
        self, corpus: tuple[Path, Path], tmp_path: Path, regard: Command
    ) -> None:
        source, reference = corpus
        bad = tmp_path / "bad.fr"
        bad.write_text("rien du tout\n" * 10)
        files = ("--hypothesis", reference, "--reference", reference, "--against", bad, "--source", source)
        values = json.loads(regard("evaluate", *files, "--by-length", "--bootstrap", "100", "--json").output)
        assert values["bleu"] == pytest.approx(100)
        assert values["exact_match"] == 100
        assert values["by_length"]
        assert values["against"]["results"][0]["p_value"] < 0.05

    def test_bare_json_may_stand_anywhere(self, corpus: tuple[Path, Path], regard: Command) -> None:
        finished = regard("evaluate", "--json", "--hypothesis", corpus[1], "--reference", corpus[1])
        assert json.loads(finished.output)["sentences"] == 10

    def test_several_references(self, corpus: tuple[Path, Path], regard: Command) -> None:
        source, reference = corpus
        files = ("--hypothesis", reference, "--reference", source, "--reference", reference)
        values = json.loads(regard("evaluate", *files, "--json").output)
        assert values["exact_match"] == 100
        assert "nrefs:2" in values["bleu_signature"]


def test_score(tiny_run: Path, corpus: tuple[Path, Path], regard: Command) -> None:
    arguments = ("score", tiny_run, "--source", corpus[0], "--target", corpus[1])
    numbers = [float(line) for line in regard(*arguments).output.splitlines()]
    values = json.loads(regard(*arguments, "--json").output)
    assert [pair["log_probability"] for pair in values["scores"]] == pytest.approx(numbers, abs=1e-4)
    assert values["log_probability"] == pytest.approx(sum(numbers), abs=1e-2)
    means = [float(line) for line in regard(*arguments, "--by-token").output.splitlines()]
    assert means == pytest.approx([pair["log_probability"] / pair["tokens"] for pair in values["scores"]], abs=1e-4)


class TestDescribe:
    def test_recipe_and_the_model_it_made(self, tiny_run: Path, regard: Command) -> None:
        model = json.loads(regard("describe", tiny_run, "--json").output)
        planned = json.loads(regard("describe", tiny_run / "config.toml", "--json").output)
        assert model["parameters"] == planned["parameters"]

    def test_override(self, recipe: Path, regard: Command) -> None:
        small = json.loads(regard("describe", recipe, "--json").output)
        large = json.loads(regard("describe", recipe, "model.width=64", "--json").output)
        assert large["parameters"] > small["parameters"]

    def test_text_says_what_the_figures_say(self, recipe: Path, regard: Command) -> None:
        finished = regard("describe", recipe)
        parameters = json.loads(regard("describe", recipe, "--json").output)["parameters"]
        assert f"{parameters:,}" in finished.output

    def test_keys(self, regard: Command) -> None:
        assert "train.max_steps" in regard("describe", "--keys").output
        assert json.loads(regard("describe", "--keys", "--json").output)["search.beam"]["default"] == "5"


class TestDoctor:
    def test_faults_are_named_with_their_lines(self, tmp_path: Path, regard: Command) -> None:
        source, target = tmp_path / "a.en", tmp_path / "b.fr"
        source.write_bytes(b"one\n\nthr\xffee\nfour\none\nsix\n")
        target.write_bytes(b"un\ndeux\ntrois\nqua\0tre\nun\nsix\n")
        figures = json.loads(regard("doctor", "--source", source, "--target", target, "--json").output)
        lines = {finding["cause"]: finding["examples"][0]["line"] for finding in figures["findings"]}
        assert figures["usable_pairs"] == 3
        assert {2, 3, 4, 5} <= set(lines.values())

    def test_recipe(self, recipe: Path, regard: Command) -> None:
        figures = json.loads(regard("doctor", recipe, "--json").output)
        assert figures["usable_pairs"] == 200
        assert [file["seen"] for file in figures["leakage"]] == [10, 10]


class TestTrain:
    def test_run_leaves_a_model_and_its_figures(self, recipe: Path, tmp_path: Path, regard: Command) -> None:
        run, figures = tmp_path / "run", tmp_path / "figures.json"
        finished = regard("train", recipe, "--run", run, "train.max_steps=12", "--json", figures)
        assert finished.code == 0
        assert str(run) in finished.output
        assert json.loads(figures.read_text())["steps"] == 12
        assert load_config(run / "config.toml").train.max_steps == 12
        assert regard("translate", run, input=b"the cat\n").output.count("\n") == 1

    def test_longer_run_goes_on_from_the_shorter_one(self, recipe: Path, tmp_path: Path, regard: Command) -> None:
        once, twice = tmp_path / "once", tmp_path / "twice"
        assert regard("train", recipe, "--run", twice, "train.max_steps=10").code == 0
        assert regard("train", recipe, "--run", twice, "--resume", "train.max_steps=20").code == 0
        assert regard("train", recipe, "--run", once, "train.max_steps=20").code == 0
        weights = [(run / "model.safetensors").read_bytes() for run in (once, twice)]
        assert weights[0] == weights[1]

    def test_run_is_named_after_the_recipe(
        self, recipe: Path, tmp_path: Path, regard: Command, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        assert regard("train", recipe, "train.max_steps=2").code == 0
        assert (tmp_path / "runs" / "tiny" / "model.safetensors").is_file()


class TestData:
    @pytest.mark.slow
    def test_builtin(self, tmp_path: Path, regard: Command) -> None:
        assert regard("data", "builtin", "--output", tmp_path).code == 0
        for language in ("fr", "zh"):
            lines = [
                (tmp_path / f"en-{language}" / f"train.{code}").read_text().count("\n") for code in ("en", language)
            ]
            assert lines[0] == lines[1] >= 25_000

    def test_multi30k_from_a_folder(
        self, data_folder: Path, tmp_path: Path, regard: Command, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("REGARD_DATA", os.fspath(data_folder))
        finished = regard("data", "multi30k", "--output", tmp_path)
        assert finished.code == 0
        assert (tmp_path / "multi30k" / "tok" / "train.en.gz").is_file()
