"""The arithmetic of the speed benchmark, on made-up figures: nothing here is timed."""

import io
import json
import sys
from pathlib import Path

import pytest
import torch
from rich.console import Console

from regard.config import PRESETS
from regard.errors import RegardError
from regard.recipe import format_config, load_config
from regard.train.schedule import learning_rate

REPOSITORY = Path(__file__).parent.parent
sys.path.insert(0, str(REPOSITORY / "benchmarks"))

import train_speed  # noqa: E402
from products import ProductsReport, Row, layers  # noqa: E402
from train_systems import eole, gemm, joeynmt, peers, settings  # noqa: E402
from train_systems.flops import flops_per_target_token, products  # noqa: E402
from train_systems.following import CommandError, environment, family, follow, running  # noqa: E402
from train_systems.measuring import Measurement, Task, Window, process_peak_mb  # noqa: E402
from train_systems.regard_system import LogReader  # noqa: E402
from train_systems.results import ShapeResult, SystemResult  # noqa: E402
from train_systems.settings import SHAPES, Shape  # noqa: E402

EASY = Shape("easy", encoder_layers=1, decoder_layers=1, width=10, feed_forward=20, heads=2)


def rounds(*speeds: float, memory: float = 500.0) -> list[Measurement]:
    return [Measurement(tokens=speed * 20, seconds=20.0, steps=9, peak_memory_mb=memory) for speed in speeds]


@pytest.fixture
def result() -> ShapeResult:
    systems = {
        "regard": SystemResult(2, rounds=rounds(9000, 10000, 12000)),
        "marian": SystemResult(2, rounds=rounds(3900, 5000, 4000, memory=1400)),
        "eole": SystemResult(1),
    }
    return ShapeResult(systems, gflops=[300.0, 200.0, 250.0], flops_per_target_token=15e6, unavailable={"eole": "why"})


def test_ratio_is_of_medians(result):
    assert result.ratio == {"marian": 2.5}


def test_gemm_fraction_is_useful_work_over_what_is_possible(result):
    assert result.gemm_fraction == pytest.approx(15e6 * 10000 / 250e9)


def test_the_bound_is_that_of_the_fastest_way_to_share_the_work(monkeypatch, tmp_path):
    facts = {"vocabulary": 50, "batches": 2, "source_tokens": 200, "target_tokens": 240}
    (tmp_path / "facts.json").write_text(json.dumps(facts))
    step = products(EASY, 50, 100, 120)

    def seconds(share, budget):
        assert [product.outer for product in share] == [product.outer for product in step]
        assert budget == 2.0
        workers = step[0].rows // share[0].rows
        tried.append((workers, torch.get_num_threads(), share[-1].rows))
        return {1: 4.0, 2: 1.0}[workers]  # two workers take a quarter of the time of one

    tried: list[tuple[int, int, int]] = []
    monkeypatch.setattr(gemm, "_seconds_of_a_step", seconds)
    before = torch.get_num_threads()
    found = gemm.measure(Task(EASY, tmp_path, threads=2, seconds=6.0))
    torch.set_num_threads(before)
    assert sorted(tried) == [(1, 1, 120), (1, 2, 120), (2, 1, 60), (2, 1, 60)]
    assert found["gflops"] == pytest.approx(3 * sum(product.flops for product in step) / 1e9)


def test_without_regard_there_is_nothing_to_compare(result):
    del result.systems["regard"]
    assert result.ratio == {}
    assert result.gemm_fraction is None
    assert result.to_json()["systems"].keys() == {"marian"}


def test_figures_for_programs(result):
    figures = json.loads(json.dumps(result.to_json()))
    assert figures["ratio"]["marian"] == 2.5
    assert figures["systems"]["marian"]["tokens_per_second"] == [3900, 5000, 4000]
    assert figures["systems"]["marian"]["peak_memory_mb"] == [1400] * 3
    assert figures["systems"]["regard"]["threads"] == 2
    assert figures["unavailable"] == {"eole": "why"}


def test_table_shows_medians_spread_memory_and_ratio(result):
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(result.table("tiny"))
    text = console.export_text()
    row = next(line for line in text.splitlines() if "marian" in line)
    assert [cell.strip() for cell in row.strip("│").split("│")] == [
        "marian",
        "2",
        "4,000",
        "3,900 - 5,000",
        "1,400",
        "2.50",
    ]
    assert "not measured" in text
    assert "250 GFLOP/s" in text
    assert "60%" in text


def test_window_leaves_out_the_first_steps_and_closes_after_its_time():
    window = Window(seconds=10, uncounted=2)
    assert not window.add(1, 100, 50.0)
    assert not window.add(2, 200, 60.0)
    assert not window.add(3, 500, 65.0)
    assert window.add(4, 800, 72.0)
    measurement = window.measurement(peak_memory_mb=1.0)
    assert (measurement.steps, measurement.tokens, measurement.seconds) == (2, 600, 12.0)
    assert measurement.tokens_per_second == 50.0


def test_window_without_a_step_has_no_measurement():
    window = Window(seconds=1, uncounted=1)
    window.add(1, 100, 0.0)
    with pytest.raises(RuntimeError, match="no step"):
        window.measurement(0.0)


def test_flops_are_those_of_the_formula():
    source, target, vocabulary = 30, 40, 50
    encoder, decoder = 4 * 10 * 10 + 2 * 10 * 20, 6 * 10 * 10 + 2 * 10 * 20
    expected = 6 * (source * (encoder + 2 * 10 * 10) + target * (decoder + 10 * vocabulary)) / target
    assert flops_per_target_token(EASY, vocabulary, source, target) == pytest.approx(expected)
    assert all(product.rows in (source, target) for product in products(EASY, vocabulary, source, target))


@pytest.mark.parametrize("name", ["tiny", "small"])
def test_shapes_are_regards_presets(name):
    preset, shape = PRESETS[name], SHAPES[name]
    assert all(getattr(shape, key) == value for key, value in preset.items() if key != "dropout")


@pytest.mark.parametrize("name", ["tiny", "small"])
def test_recipe_asks_for_what_the_others_are_given(name, tmp_path):
    from train_systems.prepare import recipe

    path = tmp_path / "recipe.toml"
    path.write_text(format_config(recipe(SHAPES[name], tmp_path)))
    config = load_config(path)
    assert (config.model.dropout, config.model.attention_dropout, config.model.activation_dropout) == (0.1, 0.0, 0.0)
    assert (config.train.batch_tokens, config.train.label_smoothing, config.train.clip_norm) == (4096, 0.1, 0.0)
    assert config.model.width == SHAPES[name].width
    for step in (1, 700, 2000, 9000):
        rate = learning_rate(step, config.train, config.model.width)
        assert rate == pytest.approx(settings.LEARNING_RATE * settings.rate_factor(step))


def test_torch_nn_has_regards_parameters_and_two_norms_more():
    from train_systems.torch_nn import TorchTransformer

    from regard.config import ModelConfig
    from regard.models import build_model

    theirs = TorchTransformer(SHAPES["tiny"], 500)
    ours = build_model(ModelConfig(preset="tiny"), 500, 500, 1)
    count, expected = (sum(parameter.numel() for parameter in model.parameters()) for model in (theirs, ours))
    assert count == expected + 2 * 2 * 128
    dropouts = {module.dropout for module in theirs.modules() if type(module).__name__ == "MultiheadAttention"}
    assert dropouts == {0.0}


def test_joeynmts_log_is_understood():
    log = joeynmt.Log(Window(seconds=4, uncounted=1))
    line = (
        "Epoch   1, Step: {:8d}, Batch Loss:     9.121212, Batch Acc: 0.000000, Tokens per Sec: {:8.0f}, Lr: 0.000001"
    )
    assert not log.line("2026-01-01 - INFO - joeynmt.model - Total params: 2605056", 0.0)
    assert not log.line(line.format(1, 900.0), 10.0)
    assert not log.line(line.format(2, 1000.0), 12.0)
    assert log.line(line.format(3, 500.0), 14.0)
    assert log.parameters == 2605056
    assert log._window.measurement(0.0).tokens == 2 * 1000 + 2 * 500


def test_eoles_log_is_understood():
    log = eole.Log(Window(seconds=3, uncounted=1))
    line = (
        "[2026-01-01 INFO] Step {:2d}/1000000; acc: 0.1; ppl: 9.9; xent: 9.2; aux: 0.000; mtp: 0.000; attn_ent: 0.000; "
        "lr: 5.00e-07; sents:     241; bsz: 3701/{:4.0f}/241; 1200/1300 tok/s;      3 sec;"
    )
    assert not log.line("[INFO] * number of parameters: 2,605,056", 0.0)
    assert not log.line(line.format(1, 3000), 10.0)
    assert log.line(line.format(2, 3500), 13.0)
    assert log.parameters == 2605056
    assert log._window.measurement(0.0).tokens == 3500


def test_regards_log_is_read_as_it_grows(tmp_path):
    path = tmp_path / "log.jsonl"
    reader, window = LogReader(path), Window(seconds=1.0, uncounted=1)
    assert not reader.read_into(window)
    lines = [
        json.dumps({"step": step, "kind": "train", "tokens": 100 * step, "seconds": step / 2}) + "\n"
        for step in (1, 2, 3)
    ]
    path.write_text(lines[0] + lines[1][:9])
    assert not reader.read_into(window)
    path.write_text("".join(lines[:2]) + json.dumps({"step": 2, "kind": "validation"}) + "\n")
    assert not reader.read_into(window)
    path.write_text(path.read_text() + lines[2])
    assert reader.read_into(window)
    measurement = window.measurement(0.0)
    assert (measurement.tokens, measurement.seconds) == (200, 1.0)


@pytest.mark.parametrize("peer", [joeynmt, eole])
def test_peers_are_given_the_shape_and_the_data(peer, tmp_path):
    task = Task(SHAPES["small"], tmp_path, threads=1, seconds=1.0)
    text = json.dumps(peer.configuration(task, tmp_path / "run"))
    for expected in ("256", "1024", "4096", "vocabulary.txt", str(tmp_path / "train")):
        assert expected in text


def test_options_have_the_defaults_of_the_real_run():
    options = train_speed.parse([])
    assert (options.shape, options.rounds, options.seconds, options.threads) == (["tiny", "small"], 3, 20.0, None)
    assert options.systems == ["regard", "marian", "torch_nn", "joeynmt", "eole", "gemm"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["--rounds", "0"],
        ["--seconds", "-1"],
        ["--seconds", "soon"],
        ["--shape", "huge"],
        ["--systems", "fairseq"],
        ["--threads", "-1"],
        ["--rouds", "3"],
    ],
)
def test_wrong_options_are_refused(arguments, capsys):
    with pytest.raises(SystemExit) as left:
        train_speed.parse(arguments)
    assert left.value.code == 2
    assert arguments[0] in capsys.readouterr().err


def test_missing_corpus_is_named_with_what_to_do(tmp_path, monkeypatch, capsys):
    with pytest.raises(RegardError, match="regard data multi30k"):
        train_speed.corpus_folder(tmp_path)
    monkeypatch.setenv("REGARD_DATA", str(tmp_path))
    assert train_speed.main(["--rounds", "1"]) == 1
    assert "train.en.gz: no such file" in capsys.readouterr().err


def test_thread_choices(monkeypatch):
    monkeypatch.setattr(train_speed, "available_cores", lambda: 2)
    assert train_speed.thread_choices("marian") == [1, 2]
    assert train_speed.thread_choices("regard") == [0, 1, 2]
    assert train_speed.thread_choices("gemm") == []


def comparison(monkeypatch, tmp_path, speed, *arguments):
    """A comparison whose measurements are made up: `speed` is a function of the system and its threads."""

    def measure(name, shape, threads, seconds, work):
        asked.append((name, threads))
        if name == "gemm":
            return {"gflops": 200.0, "flops_per_target_token": 10e6}
        return {"tokens": speed(name, threads), "seconds": 1.0, "steps": 3, "peak_memory_mb": 7.0, "parameters": 5}

    asked: list[tuple[str, int]] = []
    monkeypatch.setattr(train_speed, "available_cores", lambda: 2)
    monkeypatch.setattr(train_speed, "measure_in_child", measure)
    options = train_speed.parse(["--shape", "tiny", "--systems", "regard", "torch_nn", "gemm", *arguments])
    return train_speed.Comparison(options, tmp_path), asked


def test_each_system_keeps_the_threads_it_likes_best_and_takes_turns(monkeypatch, tmp_path):
    speeds = {("regard", 0): 10.0, ("regard", 1): 20.0, ("regard", 2): 15.0, ("torch_nn", 1): 3.0, ("torch_nn", 2): 5.0}
    compared, asked = comparison(monkeypatch, tmp_path, lambda *key: speeds[key])
    figures = compared.run()["tiny"].to_json()
    assert (figures["systems"]["regard"]["threads"], figures["systems"]["torch_nn"]["threads"]) == (1, 2)
    assert figures["ratio"] == {"torch_nn": 4.0}
    assert figures["gemm_fraction"] == pytest.approx(10e6 * 20 / 200e9)
    turns = [name for name, _ in asked[5:]]
    assert turns == ["regard", "torch_nn", "gemm", "torch_nn", "gemm", "regard", "gemm", "regard", "torch_nn"]


def test_fixed_threads_need_no_calibration_and_figures_are_written(monkeypatch, tmp_path):
    path = tmp_path / "out.json"
    arguments = ("--threads", "1", "--rounds", "1", "--json", str(path))
    compared, asked = comparison(monkeypatch, tmp_path, lambda *_: 8.0, *arguments)
    compared.run()
    assert asked == [("regard", 1), ("torch_nn", 1), ("gemm", 2)]
    figures = json.loads(path.read_text())
    assert figures.keys() == {"tiny", "machine"}
    assert figures["machine"].keys() >= {"cpu", "cores", "torch", "date"}
    assert figures["tiny"]["systems"]["regard"]["tokens_per_second"] == [8.0]


def test_a_system_that_fails_is_left_out_with_the_reason(monkeypatch, tmp_path):
    def speed(name, threads):
        if name == "torch_nn":
            raise train_speed.MeasurementError("no such device")
        return 8.0

    compared, asked = comparison(monkeypatch, tmp_path, speed)
    figures = compared.run()["tiny"].to_json()
    assert figures["unavailable"] == {"torch_nn": "no such device"}
    assert figures["ratio"] == {}
    assert [name for name, _ in asked].count("torch_nn") == 1


def test_a_peer_that_is_not_installed_says_how_to_get_it(monkeypatch, tmp_path):
    monkeypatch.setattr(peers, "ENVIRONMENTS", tmp_path)
    assert "peers.sh" in peers.why_not("eole")
    (tmp_path / "eole").mkdir()
    (tmp_path / "eole" / ".installed").touch()
    assert peers.why_not("eole") is None
    assert peers.why_not("regard") is None


def test_threads_reach_the_children_through_the_environment(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    assert environment(2)["OMP_NUM_THREADS"] == "2"
    assert "OMP_NUM_THREADS" not in environment(0)


def test_a_command_is_followed_and_stopped_with_its_children(tmp_path):
    script = "import subprocess, sys, time; subprocess.Popen(['sleep', '60']); print('go'); time.sleep(60)"
    with running([sys.executable, "-c", script], tmp_path, threads=1) as command:
        follow(command, lambda line: line == "go\n")
        members = family(command.process.pid)
        assert command.sample_memory() > 1.0
    assert command.process.poll() is not None
    if Path("/proc").is_dir():
        assert len(members) == 2
        assert all(process_peak_mb(member) is None for member in members)


def test_a_command_that_ends_early_shows_its_last_words(tmp_path):
    script = "print('my last words'); raise SystemExit(3)"
    with (
        pytest.raises(CommandError, match=r"code 3(.|\n)*my last words"),
        running([sys.executable, "-c", script], tmp_path, threads=1) as command,
    ):
        follow(command, lambda line: False)


def test_products_are_named_and_compared():
    rows = [Row("tiny: output", "forward", 90.0, 60.0, 180.0), Row("tiny: output", "back", 80.0, 80.0, None)]
    report = ProductsReport(rows, None)
    assert "tiny: output" in report.to_text()
    assert "median of the ratios: 1.25" in report.to_text()
    assert "median of bf16 to fp32, both ours: 2.00" in report.to_text()
    assert "both ours" not in ProductsReport(rows[1:], None).to_text()
    assert report.to_json()["rows"][0]["ratio"] == 1.5
    assert "no products of our own here: no compiler" in ProductsReport(report.rows, "no compiler").to_text()


def test_every_size_of_product_is_measured_once():
    sizes = [(layer.inner, layer.outer) for layer in layers().values()]
    assert len(sizes) == len(set(sizes))
    assert {(128, 384), (256, 128), (1024, 256), (256, settings.VOCABULARY)} <= set(sizes)
