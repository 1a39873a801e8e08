"""The page about finished runs: its figures are those of `regard evaluate`, and a test set is translated once."""

import json
import shutil
import sys
from pathlib import Path

import pytest
from tiny_world import write_tiny_corpus

from regard import card, pipeline
from regard.errors import RegardError
from regard.evaluate.evaluation import EvaluationOptions, evaluate_texts
from regard.pipeline import train_run
from regard.recipe import format_config, load_config, override_config
from regard.run_folder import FINISHED
from regard.train.log import read_log

sys.path.insert(0, str(Path(__file__).parent.parent / "benchmarks"))

import report
from report_parts import held_out as held_out_module
from report_parts.found import Published, Spread
from report_parts.held_out import HeldOut
from report_parts.markdown import link, plain, quoted, table
from report_parts.runs import read_run, train_command
from report_parts.samples import choose_samples, ordinal

RECIPES = Path(__file__).parent.parent / "recipes"


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Two runs of one recipe, never to be written to."""
    folder = tmp_path_factory.mktemp("report")
    config = override_config(write_tiny_corpus(folder / "corpus"), ["train.processes=1"])
    (folder / "recipe.toml").write_text(format_config(config), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pipeline, "plot_curves", lambda run, choose_by: None)
        for seed in (1, 2):
            train_run(override_config(config, [f"seed={seed}"]), folder / f"run-{seed}")
    return folder


@pytest.fixture
def runs(world, tmp_path):
    """Copies to be changed at will."""
    for name in ("run-1", "run-2"):
        shutil.copytree(world / name, tmp_path / name, ignore=shutil.ignore_patterns("checkpoints", "prepared*"))
    return [tmp_path / "run-1", tmp_path / "run-2"]


def arguments(world, runs, output, *more):
    corpus = world / "corpus"
    files = ["--source", corpus / "validation.en", "--reference", corpus / "validation.fr"]
    return [*map(str, ["--name", "Tiny", "--runs", *runs, *files, "--output", output, *more])]


@pytest.fixture(scope="module")
def reported(world, tmp_path_factory):
    """A whole report."""
    folder = tmp_path_factory.mktemp("page")
    runs = [Path(shutil.copytree(world / name, folder / name)) for name in ("run-1", "run-2")]
    more = ["--recipe", world / "recipe.toml", "--tokenize", "none", "--published", "Others (2021)=41.02"]
    more += ["--also", "ensemble", "mbr", f"student={runs[1]}", "--json", folder / "out.json"]
    given = arguments(world, runs, folder / "pages" / "tiny", *more)
    report.run(given)
    return folder, given


@pytest.mark.slow
def test_figures_are_those_of_the_command(reported, world, regard, tmp_path):
    folder, _ = reported
    figures = json.loads((folder / "out.json").read_text(encoding="utf-8"))
    assert figures == json.loads((folder / "pages" / "tiny" / "figures.json").read_text(encoding="utf-8"))
    corpus, scores = world / "corpus", []
    files = ["--source", corpus / "validation.en", "--reference", corpus / "validation.fr", "--tokenize", "none"]
    for number, run in enumerate(("run-1", "run-2")):
        assert regard("evaluate", folder / run, *files, "--json", tmp_path / "own.json").code == 0
        own = json.loads((tmp_path / "own.json").read_text(encoding="utf-8"))
        found = figures["single"]["systems"][number]
        for key in ("bleu", "chrf", "bleu_signature", "chrf_signature", "exact_match", "bootstrap"):
            assert found[key] == own[key], key
        scores.append(own["bleu"])
        finished = json.loads((folder / run / FINISHED).read_text(encoding="utf-8"))
        assert figures["runs"][number]["minutes"] == finished["seconds"] / 60
        assert figures["runs"][number]["processes"] == 1
    assert figures["single"]["bleu"]["mean"] == pytest.approx(sum(scores) / 2)
    assert figures["single"]["bleu"]["deviation"] == pytest.approx(abs(scores[0] - scores[1]) / 2**0.5)
    ensemble, mbr, student = figures["also"]
    assert regard("evaluate", folder / "run-1", folder / "run-2", *files, "--json", tmp_path / "own.json").code == 0
    assert ensemble["bleu"]["mean"] == json.loads((tmp_path / "own.json").read_text(encoding="utf-8"))["bleu"]
    assert [system["search"]["mbr"] for system in mbr["systems"]] == [True, True]
    assert student["bleu"]["mean"] == scores[1]


@pytest.mark.slow
def test_the_page_has_everything(reported):
    folder, _ = reported
    page = (folder / "pages" / "tiny.md").read_text(encoding="utf-8")
    figures = json.loads((folder / "out.json").read_text(encoding="utf-8"))
    for number, system in enumerate(figures["single"]["systems"], start=1):
        low, high = (system["bootstrap"]["bleu"][end] for end in ("low", "high"))
        assert f"| {number} | {system['bleu']:.2f} | {low:.2f} to {high:.2f} |" in page
        assert f"`{system['bleu_signature']}`" in page
    assert f"| Others (2021) | 41.02 | {figures['single']['bleu']['mean'] - 41.02:+.2f} |" in page
    assert "| ensemble of the runs | 2 together | beam 2, length penalty paper 0.6 |" in page
    assert "| single model, minimum Bayes risk | each of 2 |" in page
    assert "beam 10, length penalty paper 0.6, minimum Bayes risk by chrF" in page
    assert "in ways not shown here" not in page
    assert f"--run {folder / 'run-2'} seed=2" in page
    assert page.count("<br>") == 2 * (10 + 5 + 5)
    for picture in ("curves", "attention-2", "attention-6", "attention-9"):
        assert f"](tiny/{picture}.png)" in page
        assert (folder / "pages" / "tiny" / f"{picture}.png").read_bytes().startswith(b"\x89PNG")
    assert "> # en to fr, trained with regard" in page
    lines = (folder / "pages" / "tiny" / "translations-1.txt").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 10
    cards = [(folder / run / "README.md").read_text(encoding="utf-8") for run in ("run-1", "run-2")]
    for text, system in zip(cards, figures["single"]["systems"], strict=True):
        assert f"- Tiny, `validation.en`, beam 2, length penalty paper 0.6: BLEU {system['bleu']:.2f} (95 %: " in text


def test_a_test_set_is_translated_once_for_the_same_weights(world, runs, monkeypatch, tmp_path):
    given = report.parse(arguments(world, runs, tmp_path / "page"))
    before = report.make_report(given, "").to_json()
    translated = held_out_module._translated
    asked = []
    monkeypatch.setattr(
        held_out_module, "_translated", lambda system, text: asked.append(system) or translated(system, text)
    )
    again = report.make_report(given, "").to_json()
    assert asked == []
    assert again["single"] == before["single"]
    shutil.copy(runs[1] / "model.safetensors", runs[0] / "model.safetensors")
    changed = report.make_report(given, "")
    assert [system.folders for system in asked] == [(runs[0],)]
    first, second = changed.single.measured
    assert first.evaluation.bleu == second.evaluation.bleu
    assert (first.translated.earlier, second.translated.earlier) == (1, 0)


def test_a_search_that_was_tried_on_a_test_set_is_told(world, runs, tmp_path):
    report.run(arguments(world, runs, tmp_path / "page"))
    for run in runs:
        change(run, search__alpha=1.0)
    report.run(arguments(world, runs, tmp_path / "page"))
    page = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert "run-1` was also given it with the same weights in ways not shown here (" in page


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--published", "Others"], "Name \\(authors, year\\)=41.02"),
        (["--published", "=41"], "Name \\(authors, year\\)=41.02"),
        (["--also", "committee"], "use greedy, mbr, ensemble, ensemble-mbr"),
        (["--also", "student=runs/nowhere"], "runs/nowhere: no such model folder"),
        (["--reference", "nowhere.fr"], "nowhere.fr"),
        (["--tokenize", "words"], "unknown tokenization 'words'"),
        (["--to", "xx"], "translates en to fr, not en to xx"),
        (["--recipe", str(RECIPES / "own-text.toml")], "is no run of"),
        (["--recipe", "nowhere.toml"], "no such recipe"),
    ],
)
def test_mistakes_are_said_before_the_test_set_is_looked_at(world, runs, monkeypatch, tmp_path, more, message):
    monkeypatch.setattr(held_out_module, "_translated", lambda *_: pytest.fail("translated"))
    with pytest.raises(RegardError, match=message):
        report.run(arguments(world, runs, tmp_path / "page", *more))


def change(run, **keys):
    overrides = [f"{name.replace('__', '.')}={value}" for name, value in keys.items()]
    config = override_config(load_config(run / "config.toml"), overrides)
    (run / "config.toml").write_text(format_config(config), encoding="utf-8")


def test_runs_must_be_finished_and_of_one_recipe(world, runs, monkeypatch, tmp_path, capsys):
    given = arguments(world, runs, tmp_path / "page")

    def refused(message):
        with pytest.raises(RegardError, match=message):
            report.run(given)

    change(runs[1], train__processes=2)
    assert [run.processes for run in report.read_runs(runs)] == [1, 1], "as they were when it was trained"
    change(runs[1], train__max_steps=30)
    refused(r"run-2: has another `train.max_steps` than .*run-1")
    change(runs[1], train__max_steps=20, seed=1)
    refused("run-2: has the seed of .*run-1, 1")
    finished = json.loads((runs[1] / FINISHED).read_text(encoding="utf-8"))
    (runs[1] / FINISHED).write_text(json.dumps({**finished, "steps": 10}), encoding="utf-8")
    refused("run-2/log.jsonl: is not the log of the run")
    (runs[1] / FINISHED).write_text("{}", encoding="utf-8")
    refused("finished.json: has no chosen")
    (runs[1] / FINISHED).unlink()
    refused("run-2: is not finished, for it has no finished.json")
    shutil.rmtree(runs[1])
    monkeypatch.setattr(sys, "argv", ["report.py", *given])
    with pytest.raises(SystemExit) as left:
        report.main()
    assert left.value.code == 2
    assert capsys.readouterr().err == f"{runs[1]}: no such run; `regard train` makes it\n"
    report.progress.show(False)


def test_students_may_lie_each_in_its_own_folder(runs):
    for run in runs:
        finished = json.loads((run / FINISHED).read_text(encoding="utf-8"))
        (run / FINISHED).write_text(json.dumps({**finished, "run": str(run)}), encoding="utf-8")
        change(run, data__train=f'[{{pairs="{run}/distilled/0/pairs.tsv.gz"}}]')
    assert [run.seed for run in report.read_runs(runs)] == [1, 2]


def test_the_command_of_a_run_has_what_differs_from_the_recipe(world, runs):
    change(runs[1], train__label_smoothing=0.2, model__norm="pre", search__mbr="true")
    command = train_command(read_run(runs[1]), world / "recipe.toml")
    keys = "seed=2 model.norm=pre train.label_smoothing=0.2 search.mbr=true"
    assert command == f"regard train {world / 'recipe.toml'} --run {runs[1]} {keys}"
    assert load_config(world / "recipe.toml", keys.split()) == load_config(runs[1] / "config.toml")


def test_one_run_has_no_spread_and_no_ensemble(world, runs, tmp_path):
    assert Spread.of([3.0]) == Spread(3.0, None, 1)
    assert Spread.of([3.0]).words() == "3.00"
    assert Spread.of([3.0, 5.0]).words(".1f") == "4.0 ± 1.4"
    with pytest.raises(RegardError, match="needs several runs"):
        report.run(arguments(world, runs[:1], tmp_path / "page", "--also", "ensemble"))


def write_lines(path, lines):
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def test_samples_are_picked_by_the_rule(tmp_path):
    source = write_lines(tmp_path / "a", (f"line {number}" for number in range(1, 1001)))
    right = write_lines(tmp_path / "b", (f"zeile {number:04d}" for number in range(1, 1001)))
    outputs = [f"zeile {number:04d}" for number in range(1, 1001)]
    for number in (7, 70, 700):
        outputs[number - 1] = ""
    samples = choose_samples(HeldOut(source, (right,)), outputs)
    assert [sample.line for sample in samples.picked] == list(range(50, 1001, 50))
    assert samples.rule == "Every 50th line of the test set, 20 in all"
    assert [sample.line for sample in samples.drawn] == [200, 550, 850]
    assert [sample.line for sample in samples.worst[:3]] == [7, 70, 700]
    assert [sample.line for sample in samples.best] == [1, 2, 3, 4, 5]
    assert samples.best[0].chrf == 100
    assert [ordinal(number) for number in (1, 2, 3, 4, 11, 22)] == ["1st", "2nd", "3rd", "4th", "11th", "22nd"]
    few = choose_samples(HeldOut(write_lines(tmp_path / "c", "ab"), (write_lines(tmp_path / "d", "ab"),)), ["a", "x"])
    assert (few.rule, len(few.picked), len(few.drawn)) == ("The first 2 lines of the test set", 2, 2)


def test_texts_stay_as_they_are_in_markdown(tmp_path):
    assert plain("a | <b> *c* &quot;") == "a &#124; &#60;b&#62; &#42;c&#42; &#38;quot;"
    assert list(table(["a", "b"], [["1", "2"]])) == ["| a | b |", "| --- | --- |", "| 1 | 2 |"]
    card = "---\nx: 1\n---\n# A\n\nb --- c\n"
    assert list(quoted(card)) == ["> ```yaml", "> x: 1", "> ```", ">", "> # A", ">", "> b --- c"]
    assert link(tmp_path / "a" / "b.png", tmp_path) == "a/b.png"
    assert Published.parse("A = B (2020)=41.5") == Published("A = B (2020)", 41.5)


def test_a_card_keeps_what_was_written_by_hand():
    evaluation = evaluate_texts(["le chat dort ."], ["le chat dort ."], options=EvaluationOptions(samples=10))
    once = card.with_test("# A model\n\nThe licence is CC-BY.\n", "News", evaluation)
    assert once.startswith("# A model\n\nThe licence is CC-BY.\n\n## On test data\n- News: BLEU 100.00 (95 %: ")
    both = card.with_test(once + "\n## Thanks\nto all\n", "Talks", evaluation)
    again = card.with_test(both, "News", evaluation)
    assert again.count("- News: ") == again.count("- Talks: ") == again.count("## On test data") == 1
    assert again.endswith("\n\n## Thanks\nto all\n")


def test_a_run_that_goes_on_counts_on_and_has_no_figures_meanwhile(tmp_path, monkeypatch):
    monkeypatch.setattr(pipeline, "plot_curves", lambda run, choose_by: None)
    config = override_config(write_tiny_corpus(tmp_path / "corpus"), ["train.processes=1", "train.max_steps=10"])
    run = tmp_path / "run"
    first = train_run(config, run)
    assert json.loads((run / FINISHED).read_text(encoding="utf-8")) == json.loads(json.dumps(first.to_json()))
    seen = []
    learn = pipeline.learn_profiles
    monkeypatch.setattr(
        pipeline, "learn_profiles", lambda *given: seen.append((run / FINISHED).exists()) or learn(*given)
    )
    second = train_run(override_config(config, ["train.max_steps=20"]), run)
    assert seen == [False]
    lines = read_log(run / "log.jsonl")
    seconds = [line["seconds"] for line in lines]
    assert seconds == sorted(seconds)
    assert lines[-1]["step"] == second.outcome.steps == 20
    after = next(line["seconds"] for line in lines if line["step"] > 10)
    assert first.outcome.seconds > next(line["seconds"] for line in lines if line["kind"] == "validation")
    assert after > first.outcome.seconds, "the validation before the interruption counts"
    assert second.outcome.seconds > seconds[-1], "so does the last"


def test_recipes_that_mirror_others():
    names = ("en-de-rdrop", "en-de-quick", "en-de-raw", "en-fr-rdrop", "en-de-fr", "en-de-both")
    best, quick, raw, french, two, both = (load_config(RECIPES / f"multi30k-{name}.toml") for name in names)
    seldom = {"train": quick.train.model_copy(update={"validate_every": 500})}
    assert raw == quick.model_copy(update={"data": raw.data, **seldom})
    assert raw.data.model_dump_json() == quick.data.model_dump_json().replace("/tok/", "/raw/")
    assert french.model_copy(update={"data": best.data, "search": best.search}) == best
    assert french.search.model_copy(update={"alpha": best.search.alpha}) == best.search
    longer = seldom["train"].model_copy(update={"max_steps": 5000, "dropout_warmup": 5000})
    assert both == quick.model_copy(update={"data": both.data, "train": longer})
    assert two == both.model_copy(update={"data": two.data, "tokenizer": two.tokenizer})
    names = ("en-de-taught", "en-de-hour", "en-de-teacher", "en-de-peers", "en-fr-teacher", "en-fr")
    taught, hour, teacher, peers, french_teacher, french_main = (
        load_config(RECIPES / f"multi30k-{name}.toml") for name in names
    )
    shorter = {name: getattr(hour.train, name) for name in ("max_steps", "precision", "teacher_recipe")}
    shorter["teachers"] = taught.train.teachers[:3]
    fewer = {"train": taught.train.model_copy(update=shorter), "data": quick.data}
    assert hour == taught.model_copy(update=fewer)
    for small, large in ((hour, peers), (peers, french_main)):
        others = {name: getattr(large.train, name) for name in ("teachers", "teacher_recipe")}
        languages = {"data": large.data, "search": large.search, "train": small.train.model_copy(update=others)}
        assert large == small.model_copy(update=languages)
    assert peers.data == quick.data
    assert peers.search.model_copy(update={"alpha": quick.search.alpha}) == quick.search == teacher.search
    assert french_main.data == french.data
    assert french_main.search == french.search
    for pupil, recipe in ((peers, teacher), (french_main, french_teacher)):
        untaught = ("teachers", "teacher_recipe", "distillation", "teacher_tokens", "precision", "dropout_warmup")
        alone = {name: getattr(recipe.train, name) for name in untaught}
        more_dropout = pupil.model.model_copy(update={"dropout": 0.3})
        train = pupil.train.model_copy(update=alone)
        assert recipe == pupil.model_copy(update={"model": more_dropout, "train": train, "search": recipe.search})
    assert not teacher.train.teachers
    main = load_config(RECIPES / "multi30k-en-de.toml")
    longer = {name: getattr(main.train, name) for name in ("max_steps", "dropout_warmup")}
    less_dropout = hour.model.model_copy(update={"dropout": main.model.dropout})
    train = hour.train.model_copy(update=longer)
    assert main == hour.model_copy(update={"data": main.data, "model": less_dropout, "train": train})
    assert main.data.validation == quick.data.validation
    for corpus in main.data.train:
        assert corpus.model_copy(update={"target_by": (), "source_by": ()}) == quick.data.train[0]
    there, back = (load_config(RECIPES / f"tatoeba-{name}.toml") for name in ("zh-en", "en-zh"))
    assert back.model_copy(update={"data": there.data}) == there
    for ours, theirs in zip(
        (*back.data.train, *back.data.validation), (*there.data.train, *there.data.validation), strict=True
    ):
        assert (ours.source, ours.target) == (theirs.target, theirs.source)
