"""Bad input as a new user would try it: one helpful sentence and exit code 2 each, and never a traceback."""

import gzip
import os
import pickle
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tiny_world import Command

from regard.recipe import format_config, load_config

BAD_RECIPES = {
    "binary.toml": b"\x00\xff\xfe\x80" * 20,
    "broken.toml": b"[train\nmax_steps = 5\n",
    "section.toml": b"[trian]\nmax_steps = 5\n",
    "misspelt.toml": b"[train]\nmax_step = 5\n",
    "type.toml": b'[train]\nmax_steps = "five"\n',
    "range.toml": b"[model]\ndropout = 1.5\n",
    "twice.toml": b"seed = 1\nseed = 2\n",
    "scalar.toml": b"train = 5\n",
    "nothing.toml": b"",
}

CORPORA = {
    "empty.txt": b"",
    "blank.txt": b"\n \n\n",
    "short.fr": b"un\ndeux\n",
    "latin1.fr": "un\ndeux\ncaf\xe9\n".encode("latin-1"),
    "damaged.gz": gzip.compress(b"one\ntwo\nthree\n" * 100)[:-20],
    "three.en": b"one\ntwo\nthree\n",
    "three.fr": b"un\ndeux\ntrois\n",
    "bad.tsv": b"no tab here\nnor here\n",
    "bad.jsonl": b'{"source": "a", "target": "b"}\n{"source": \n',
    "xz.txt": b"\xfd7zXZ\x00rest",
}


@pytest.fixture
def place(tiny_run: Path, tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a good recipe, a good model (`model`) and all sorts of bad files, made the working folder."""
    for name, content in {**BAD_RECIPES, **CORPORA}.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "folder").mkdir()
    config = load_config(tiny_run / "config.toml")
    (tmp_path / "good.toml").write_text(format_config(config), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def train_on(*corpora: str) -> str:
    return f"train good.toml --run new {shlex.quote('data.train=[' + ', '.join(corpora) + ']')}"


CASES = {
    # The command itself
    "no command": ("", "usage"),
    "unknown command": ("trian good.toml", "trian"),
    "unknown option": ("--colour", "colour"),
    "unknown option of a command": ("translate model --beem 3", "beem"),
    "two models": ("score model model --source three.en --target three.fr", "unexpected extra argument"),
    # Recipes
    "no recipe": ("train", "recipe"),
    "missing recipe": ("train missing.toml", "missing.toml: no such recipe"),
    "recipe is a folder": ("train folder", "folder: cannot be read"),
    "recipe is binary": ("train binary.toml", "binary.toml: cannot be read as a recipe"),
    "recipe is not TOML": ("train broken.toml", "not valid TOML"),
    "key given twice": ("train twice.toml", "not valid TOML"),
    "unknown section": ("train section.toml", "did you mean `train`"),
    "misspelt key": ("train misspelt.toml", "did you mean `train.max_steps`"),
    "wrong type": ("train type.toml", "`train.max_steps` is 'five'"),
    "out of range": ("train range.toml", "`model.dropout` is 1.5"),
    "value for a section": ("train scalar.toml", "`train` is 5"),
    "recipe without text": ("train nothing.toml --run new", "data.train"),
    "model folder as recipe": ("train model", "model"),
    # Plans
    "plan without a recipe": ("plan", "recipe"),
    "plan of a missing recipe": ("plan missing.toml", "missing.toml: no such recipe"),
    "plan of a misspelt key": ("plan good.toml train.max_stps=5", "did you mean `train.max_steps`"),
    "plan without text": ("plan nothing.toml", "data.train"),
    "plan of missing text": (
        """plan good.toml 'data.train=[{source="none.en", target="none.fr"}]'""",
        "none.en",
    ),
    "plan of no steps": ("plan good.toml --steps 0", "steps"),
    # Overrides
    "override without =": ("train good.toml train.max_steps", "key=value"),
    "override without key": ("train good.toml =5", "key=value"),
    "override of an unknown key": ("train good.toml train.max_stps=5", "did you mean `train.max_steps`"),
    "override below a value": ("train good.toml train.max_steps.x=5", "max_steps"),
    "override with zero": ("train good.toml train.max_steps=0", "train.max_steps"),
    "override with a negative": ("train good.toml train.max_steps=-5", "train.max_steps"),
    "override with NaN": ("train good.toml train.learning_rate=nan", "train.learning_rate"),
    "override with a word": ("train good.toml train.max_steps=many", "`train.max_steps` is 'many'"),
    "override with a fraction": ("train good.toml train.max_steps=1.5", "train.max_steps"),
    "unknown preset": ("train good.toml model.preset=huge", "model.preset"),
    "heads that do not divide": ("train good.toml model.width=30 model.heads=4", "multiple of `heads`"),
    "parts that disagree": ("train good.toml tokenizer.shared=false", "three-way"),
    "unknown device": ("train good.toml --run new train.device=gpu", "train.device"),
    # Text to train on
    "missing corpus": (train_on('{source="no.en", target="no.fr"}'), "no.en: no such file"),
    "public corpus not brought": (train_on('{pairs="data/multi30k/x.tsv"}'), "regard data multi30k"),
    "corpus is a folder": (train_on('{source="folder", target="three.fr"}'), "folder: is a folder"),
    "empty corpus": (train_on('{source="empty.txt", target="empty.txt"}'), "empty.txt"),
    "blank corpus": (train_on('{source="blank.txt", target="blank.txt"}'), "blank.txt"),
    "unequal lines": (train_on('{source="three.en", target="short.fr"}'), "3"),
    "source without target": (train_on('{source="three.en"}'), "either `source` and `target`"),
    "pairs and source": (train_on('{pairs="bad.tsv", source="three.en"}'), "either `source` and `target`"),
    "damaged gzip": (train_on('{source="damaged.gz", target="three.fr"}'), "damaged.gz"),
    "xz, not gzip": (train_on('{source="xz.txt", target="three.fr"}'), "xz"),
    "no tab in TSV": (train_on('{pairs="bad.tsv"}'), "bad.tsv"),
    "broken JSON line": (train_on('{pairs="bad.jsonl"}') + " data.on_bad_line=error", "bad.jsonl:2"),
    "not UTF-8": (train_on('{source="three.en", target="latin1.fr"}') + " data.on_bad_line=error", "latin1.fr:3"),
    "weight of zero": (train_on('{pairs="bad.tsv", weight=0}'), "weight"),
    "missing validation": (
        'train good.toml --run new \'data.validation=[{source="no.en", target="no.fr"}]\'',
        "no.en: no such file",
    ),
    # Runs
    "run is a file": ("train good.toml --run three.en", "three.en: is a file"),
    "run below a file": ("train good.toml --run three.en/run", "three.en"),
    "run of another model": ("train good.toml --run model model.width=32", "model.width"),
    "nothing to resume": ("train good.toml --run new --resume", "no run to resume"),
    # Figures
    "figures into no folder": ("train good.toml --json no/figures.json", "no folder no"),
    "figures into a folder": ("train good.toml --json folder", "folder: is a folder"),
    # Options of search
    "beam 0": ("translate model --beam 0", "search.beam"),
    "beam -1": ("translate model --beam -1", "search.beam"),
    "beam abc": ("translate model --beam abc", "--beam"),
    "beam too large": ("translate model --beam 1000", "search.beam"),
    "n-best larger than the beam": ("translate model --beam 2 --nbest 3", "beam"),
    "n-best 0": ("translate model --nbest 0", "best"),
    "alpha negative": ("translate model --alpha -1", "search.alpha"),
    "alpha NaN": ("translate model --alpha nan", "search.alpha"),
    "unknown length penalty": ("translate model --length-penalty long", "long"),
    "empty batches": ("translate model --batch-tokens 0", "search.batch_tokens"),
    "other source language": ("translate model --from de", "translates en to fr"),
    "other target language": ("translate model --to xx", "translates en to fr"),
    # Input and output
    "missing input": ("translate model --input no.txt", "no.txt: no such file"),
    "input is a folder": ("translate model --input folder", "folder: is a folder"),
    "input is damaged": ("translate model --input damaged.gz", "damaged.gz"),
    "input is not UTF-8": ("translate model --input latin1.fr", "latin1.fr:3"),
    "output is a folder": ("translate model --output folder", "folder: is a folder"),
    "output into no folder": ("translate model --output no/out.txt", "no/out.txt: cannot be written"),
    "output is the input": ("translate model --input three.en --output three.en", "is the input too"),
    # Control of the search
    "temperature without sampling": ("translate model --temperature 0.5", "`temperature` has a meaning for sampling"),
    "temperature 0": ("translate model --sampling --temperature 0", "search.temperature"),
    "share above 1": ("translate model --sampling --top-p 1.5", "search.top_p"),
    "beam and sampling": ("translate model --sampling --beam 4", "sampling keeps no beam"),
    "more than the samples": ("translate model --sampling --samples 2 --nbest 3", "2 samples cannot give the 3 best"),
    "minimum Bayes risk of one": ("translate model --mbr --beam 1", "`mbr` chooses among several"),
    "lengths that cross": ("translate model --min-length 9 --max-length 4", "`min_length` (9) must be below"),
    "one repeat": ("translate model --max-repeats 1", "`max_repeats` of 1"),
    "negative coverage": ("translate model --coverage-penalty -1", "search.coverage_penalty"),
    "missing prefixes": ("translate model --prefix no.fr", "no.fr: no such file"),
    "too few prefixes": ("translate model --input three.en --prefix short.fr", "short.fr: ends with line 2"),
    "too many prefixes": ("translate model --input short.fr --prefix three.fr", "three.fr: goes on after line 2"),
    "prefix of a blank line": (
        "translate model --input blank.txt --prefix three.fr",
        "line 1 is blank, but has a prefix",
    ),
    "output is the prefixes": ("translate model --prefix three.fr --output three.fr", "is the input too"),
    "missing second model": ("translate model no-model", "no-model: no such model folder"),
    "unknown average": ("translate model model --average median", "median"),
    # Evaluation
    "no reference": ("evaluate model --source three.en", "--reference"),
    "no source": ("evaluate model --reference three.fr", "--source"),
    "neither model nor translations": ("evaluate --source three.en --reference three.fr", "--hypothesis"),
    "model and translations": ("evaluate model --hypothesis three.fr --reference three.fr", "either"),
    "unequal source and reference": ("evaluate model --source three.en --reference short.fr", "3 lines"),
    "unequal translations": ("evaluate --hypothesis short.fr --reference three.fr", "2 lines"),
    "unequal other system": (
        "evaluate --hypothesis three.fr --reference three.fr --against short.fr",
        "short.fr has 2",
    ),
    "empty files": ("evaluate model --source empty.txt --reference empty.txt", "empty.txt: is empty"),
    "missing reference": ("evaluate model --source three.en --reference no.fr", "no.fr: no such file"),
    "unknown tokenization": (
        "evaluate --hypothesis three.fr --reference three.fr --tokenize moses",
        "unknown tokenization 'moses'",
    ),
    "negative samples": ("evaluate --hypothesis three.fr --reference three.fr --bootstrap -1", "samples"),
    "a search of what is there": (
        "evaluate --hypothesis three.fr --reference three.fr --beam 2",
        "--beam is for a model",
    ),
    "output that is the reference": (
        "evaluate model --source three.en --reference three.fr --output three.fr",
        "three.fr: is read by this command too; name another file for --output",
    ),
    "output in no folder": (
        "evaluate model --source three.en --reference three.fr --output none/out.fr",
        "there is no folder none",
    ),
    "output of given translations": (
        "evaluate --hypothesis three.fr --reference three.fr --output out.fr",
        "--output is for what a model says",
    ),
    "figures over a target": ("score model --source three.en --target three.fr --json three.fr", "is read by this"),
    "figures over a corpus": ("doctor --source three.en --target three.fr --json three.fr", "is read by this command"),
    "plot in a folder": ("calibrate model three.en three.fr --plot folder", "folder: is a folder; --plot wants"),
    "plot of another kind": ("calibrate model three.en three.fr --plot curve.pdf", "ends in .png"),
    "alpha without a penalty": (
        "translate model --input three.en --length-penalty none --alpha 2",
        "`alpha` is the strength of a length penalty, and there is none",
    ),
    "alpha beyond measure": ("translate model --input three.en --alpha 1000", "search.alpha"),
    "length beyond measure": ("translate model --input three.en --max-length 99999999999999999999", "max_length"),
    "temperature of nothing": ("translate model --input three.en --sampling --temperature 1e-310", "temperature"),
    "lengths of no source": ("evaluate --hypothesis three.fr --reference three.fr --by-length", "--source"),
    # Scores
    "unequal pairs to score": ("score model --source three.en --target short.fr", "3 lines"),
    "no target to score": ("score model --source three.en", "--target"),
    # Doctor
    "nothing to examine": ("doctor", "name what to examine"),
    "half a corpus to examine": ("doctor --source three.en", "either `source` and `target`"),
    "missing file to examine": ("doctor --source no.en --target three.fr", "no.en: no such file"),
    "recipe and files to examine": ("doctor good.toml --source three.en --target three.fr", "not both"),
    "missing held-out text": ("doctor --source three.en --target three.fr --against no.en", "no.en: no such file"),
    "nothing to divide": ("split --output parts", "name what to divide"),
    "half a corpus to divide": ("split --source three.en --output parts", "either `source` and `target`"),
    "nowhere to put the parts": ("split --source three.en --target three.fr", "output"),
    "parts over what is there": ("split --source three.en --target three.fr --output .", "not empty"),
    "more held out than there is": (
        "split --source three.en --target three.fr --output parts --test 2 --validation 0",
        "3 pairs that differ cannot spare 0 for validation and 2 for test",
    ),
    "unequal files to divide": ("split --source three.en --target short.fr --output parts", "has 3 lines but short.fr"),
    "negative examples": ("doctor --source three.en --target three.fr --examples -1", "--examples"),
    # Description
    "nothing to describe": ("describe", "--keys"),
    "missing recipe to describe": ("describe no.toml", "no.toml: no such recipe"),
    "overrides of a trained model": ("describe model model.width=32", "model folder"),
    "folder that is no model": ("describe folder", "folder: not a finished model folder"),
    # Corpora and the demonstration
    "unknown public corpus": ("data wikipedia", "wikipedia"),
    "corpus into a file": ("data builtin --output three.en", "three.en"),
    "seed that is a word": ("data builtin --seed abc", "--seed"),
    "demonstration in an unknown language": ("demo --language tlh", "tlh"),
    "demonstration with an unknown key": ("demo --run new train.max_stps=5", "did you mean `train.max_steps`"),
}


def test_there_are_at_least_fifty_kinds() -> None:
    assert len(CASES) >= 50


@pytest.mark.parametrize(("command", "word"), CASES.values(), ids=CASES)
def test_bad_input_gets_a_sentence(command: str, word: str, place: Path, regard: Command) -> None:
    finished = regard(*shlex.split(command), input=b"a cat\n")
    assert finished.code == 2, finished
    assert "Traceback" not in finished.errors + finished.output
    assert word.lower() in finished.errors.lower()


def remove(name: str) -> Callable[[Path], None]:
    return lambda model: (model / name).unlink()


def write(name: str, content: bytes) -> Callable[[Path], None]:
    return lambda model: (model / name).write_bytes(content) and None


def truncate(model: Path) -> None:
    content = (model / "model.safetensors").read_bytes()
    (model / "model.safetensors").write_bytes(content[: len(content) // 2])


def exchange(old: str, new: str) -> Callable[[Path], None]:
    def change(model: Path) -> None:
        text = (model / "config.toml").read_text(encoding="utf-8")
        assert old in text
        (model / "config.toml").write_text(text.replace(old, new), encoding="utf-8")

    return change


DAMAGES = {
    "no weights": (remove("model.safetensors"), "model.safetensors"),
    "no configuration": (remove("config.toml"), "config.toml"),
    "no tokenizer": (remove("tokenizer.json"), "tokenizer"),
    "weights cut short": (truncate, "model.safetensors"),
    "weights empty": (write("model.safetensors", b""), "model.safetensors"),
    "weights pickled": (write("model.safetensors", pickle.dumps({"a": [1.0]})), "model.safetensors"),
    "configuration broken": (write("config.toml", b"[model\n"), "config.toml"),
    "configuration binary": (write("config.toml", b"\xff\x00"), "config.toml"),
    "other architecture": (exchange('"transformer"', '"mamba"'), "model.architecture"),
    "key of the future": (exchange("[model]", "[model]\nteleport = true"), "model.teleport"),
    "other width": (exchange("width = 16", "width = 32"), "shape"),
    "other depth": (exchange("encoder_layers = 1", "encoder_layers = 2"), "tensor"),
    "tokenizer broken": (write("tokenizer.json", b"{"), "tokenizer.json"),
    "tokenizer of another kind of file": (write("tokenizer.json", b'{"version": "1.0"}'), "tokenizer.json"),
    "tokenizer binary": (write("tokenizer.json", b"\xff\x00\x01"), "tokenizer.json"),
}


@pytest.mark.parametrize(("damage", "word"), DAMAGES.values(), ids=DAMAGES)
def test_damaged_model_is_named(damage: Callable[[Path], None], word: str, tiny_model: Path, regard: Command) -> None:
    damage(tiny_model)
    finished = regard("translate", tiny_model, input=b"a cat\n")
    assert finished.code == 2, finished
    assert finished.output == ""
    assert "Traceback" not in finished.errors
    assert word in finished.errors
    assert str(tiny_model) in finished.errors


@pytest.mark.parametrize("folder", ["missing", "folder", "three.en"])
def test_folder_that_is_no_model_is_named(folder: str, place: Path, regard: Command) -> None:
    for command in (["translate", folder], ["score", folder, "--source", "three.en", "--target", "three.fr"]):
        finished = regard(*command)
        assert finished.code == 2, finished
        assert f"{folder}: " in finished.errors


@pytest.mark.parametrize(
    ("text", "word"),
    [
        (b"good\nbad \xff\n", "line 2: byte 0xff"),
        (b"good\n\ngo\0od\n", "line 3: holds a NUL"),
        ("good".encode("utf-16"), "line 1: byte 0xff"),
        ("good".encode("utf-16-le"), "UTF-16"),
        (b"half \xe4\xb8", "line 1"),
    ],
)
def test_input_that_is_no_text_is_named_by_its_line(text: bytes, word: str, tiny_model: Path, regard: Command) -> None:
    finished = regard("translate", tiny_model, "--beam", "1", input=text)
    assert finished.code == 2
    assert word in finished.errors


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read and write everything")
@pytest.mark.parametrize(
    ("mode", "command"),
    [(0o000, "translate model --input three.en"), (0o444, "translate model --output three.en")],
)
def test_forbidden_file_is_named(mode: int, command: str, place: Path, regard: Command) -> None:
    (place / "three.en").chmod(mode)
    finished = regard(*shlex.split(command))
    assert finished.code == 2
    assert "three.en: " in finished.errors


def in_a_process(*arguments: str, **settings: object) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    environment.pop("REGARD_TRACEBACK", None)
    command = [sys.executable, "-m", "regard", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False, **settings)


def test_process_leaves_with_code_2_and_one_line(place: Path) -> None:
    finished = in_a_process("train", "missing.toml")
    assert finished.returncode == 2
    assert finished.stdout == ""
    assert finished.stderr == "regard: error: missing.toml: no such recipe; recipes/ holds some to start from\n"


def test_full_disk_is_one_sentence(place: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    with open("/dev/full", "wb") as full:
        command = [sys.executable, "-m", "regard", "describe", "--keys"]
        finished = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert finished.returncode == 2
    assert finished.stderr == "regard: error: the disk is full; make room, then run the command again\n"


def test_reader_that_leaves_early_is_no_error(place: Path) -> None:
    finished = subprocess.run(
        f"{shlex.quote(sys.executable)} -m regard describe --keys | head -n 1",
        shell=True,
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.stderr == ""
    assert finished.stdout.count("\n") == 1
