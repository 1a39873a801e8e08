"""Pictures: their numbers against formulae, their files, and what cannot be drawn."""

import json
import math
import re
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

import regard as package
from regard.errors import InputError
from regard.explain.fonts import families_for
from regard.explain.pictures.embeddings import principal_plane
from regard.explain.pictures.heads import heads_picture
from regard.explain.pictures.learning import CurvesPicture, Run, curves_picture
from regard.explain.pictures.masks import masks_picture
from regard.explain.pictures.positions import model_positions_picture, positions_picture
from regard.explain.pictures.schedules import schedule_picture
from regard.models.folder import load_model

DOCS = Path(__file__).parents[2] / "docs"
MAGIC = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}


def test_positions_are_those_of_the_formula():
    table = positions_picture().table
    assert table.shape == (50, 128)
    assert table[7, 10] == pytest.approx(math.sin(7 / 10000 ** (10 / 128)))
    assert table[49, 127] == pytest.approx(math.cos(49 / 10000 ** (126 / 128)))
    likeness = positions_picture().likeness
    np.testing.assert_allclose(np.diagonal(likeness), 1)
    # The angle between two positions depends on their distance alone.
    np.testing.assert_allclose(np.diagonal(likeness, 5), likeness[0, 5])


def test_schedules_have_their_peak_at_the_warm_up():
    picture = schedule_picture()
    assert [curve.label for curve in picture.curves] == [
        "width 512, warm-up 4,000", "width 512, warm-up 8,000", "width 256, warm-up 4,000",
    ]  # fmt: skip
    data = picture.to_json()
    for curve, (width, warmup) in zip(data["curves"], ((512, 4000), (512, 8000), (256, 4000)), strict=True):
        rates = dict(zip(data["steps"], curve["rates"], strict=True))
        assert max(rates, key=rates.get) == warmup
        assert rates[warmup] == pytest.approx((width * warmup) ** -0.5)
        assert rates[20000] == pytest.approx((width * 20000) ** -0.5)


def test_masks_are_those_of_attention():
    picture = masks_picture(5, 2)
    padded, past, both = picture.masks.values()
    assert (padded == np.array([True, True, True, False, False])).all()
    assert (past == np.tril(np.ones((5, 5), dtype=bool))).all()
    assert (both == (padded & past)).all()
    assert masks_picture(4, 0).masks["Both"].sum() == 10


def test_the_plane_is_that_of_principal_components():
    vectors = np.random.default_rng(0).normal(size=(40, 6)) * [9, 5, 1, 1, 1, 1] + 3
    points, variance = principal_plane(vectors)
    _, sizes, directions = torch.pca_lowrank(torch.tensor(vectors), q=6, niter=20)
    expected = (vectors - vectors.mean(axis=0)) @ directions[:, :2].numpy()
    np.testing.assert_allclose(np.abs(points), np.abs(expected), atol=1e-6)
    shares = (sizes**2 / (sizes**2).sum()).numpy()
    assert variance == pytest.approx((shares[0], shares[1]))


def test_curves_are_those_of_the_log(tiny_run, tmp_path):
    other = tmp_path / "run"
    other.mkdir()
    lines = [
        {"step": 1, "kind": "train", "seconds": 2.0, "loss": 9.0, "perplexity": math.e**3},
        {"step": 2, "kind": "validation", "seconds": 4.5, "loss": 2.5, "bleu": None},
        {"step": 3, "kind": "train", "seconds": 5.0, "loss": None, "perplexity": None},
    ]
    (other / "log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    picture = curves_picture([tiny_run, other], by="seconds")
    assert picture.runs[1].training == [(2.0, pytest.approx(3.0))]
    assert picture.runs[1].validation == [(4.5, 2.5)]
    assert picture.runs[1].bleu == []
    assert len({run.name for run in picture.runs}) == 2
    assert len(picture.runs[0].validation) == 2
    picture.save(tmp_path / "both.png")
    assert curves_picture([other], by="minutes").runs[0].validation == [(4.5 / 60, 2.5)]


COMMANDS = {
    "positions": [],
    "schedule": ["--curve", "512:100", "--steps", "1000"],
    "attention": [],
    "curves": ["RUN"],
    "embeddings": ["RUN", "--tokens", "40"],
}


def test_curves_that_differ_by_little_fill_their_panels():
    losses, scores = [(500, 1.5), (1000, 1.4)], [(500, 40.0), (1000, 42.0)]
    begun = [(step, 9.0 - step) for step in range(1, 8)] + [(step, 1.6) for step in range(8, 101)]
    left, right = CurvesPicture((Run("one", begun, losses, scores),)).figure().axes
    assert (*left.get_ylim(), *right.get_ylim()) == pytest.approx((1.384, 1.616, 39.84, 42.16))
    flat = CurvesPicture((Run("one", [], losses[:1], [(500, 0.0)]),)).figure().axes
    assert [axes.get_ylim() for axes in flat] == [(1.0, 2.0), (0.0, 0.5)]


@pytest.mark.parametrize(
    ("name", "ending"), [*((name, ".png") for name in COMMANDS), ("positions", ".svg"), ("curves", ".pdf")]
)
def test_every_picture_is_drawn_in_every_form(regard, tiny_run, tmp_path, name, ending):
    arguments = [str(tiny_run) if word == "RUN" else word for word in COMMANDS[name]]
    output, data = tmp_path / f"{name}{ending}", tmp_path / "numbers.json"
    done = regard("picture", name, *arguments, "--output", output, "--json", data)
    assert done.code == 0, done.errors
    assert done.output.rstrip().endswith(str(output))
    assert output.read_bytes().startswith(MAGIC[ending])
    assert json.loads(data.read_text(encoding="utf-8"))
    if ending == ".png":
        image = Image.open(output).convert("RGB")
        assert len(image.getcolors(1 << 24)) > 10
        assert image.getpixel((0, 0)) == (255, 255, 255)


def test_the_attention_of_a_sentence_is_drawn(regard, tiny_run, tmp_path):
    output, data = tmp_path / "heads.png", tmp_path / "heads.json"
    arguments = [tiny_run, "the cat eats 3 apples.", "--target", "le chat", "--part", "decoder"]
    done = regard("picture", "attention", *arguments, "--output", output, "--json", data)
    assert done.code == 0, done.errors
    found = json.loads(data.read_text(encoding="utf-8"))
    assert found["rows"] == ["le", "chat", "</s>"]
    assert found["columns"] == ["<s>", "le", "chat"]
    assert output.read_bytes().startswith(MAGIC[".png"])


def test_rows_and_columns_belong_to_the_part(tiny_run):
    explanation = package.load(tiny_run).explain("the cat eats 3 apples.", "le chat")
    for part in ("encoder", "decoder", "cross"):
        found = heads_picture(explanation, part).to_json()
        weights = np.array(found["weights"])
        assert weights.shape[2:] == (len(found["rows"]), len(found["columns"]))
        np.testing.assert_allclose(weights.sum(axis=-1), 1, atol=1e-4)


def test_a_models_positions_are_its_own(tiny_run):
    picture = model_positions_picture(load_model(tiny_run), 5, "run")
    np.testing.assert_allclose(picture.table, positions_picture(5, 16).table, atol=1e-6)
    assert "of run" in picture.to_text()


def test_a_recipes_schedule_is_drawn(regard, tmp_path):
    arguments = ["--recipe", DOCS.parent / "recipes" / "base.toml", "--output", tmp_path / "schedule.png"]
    done = regard("picture", "schedule", *arguments)
    assert done.code == 0, done.errors
    assert done.output.startswith("base: ")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["positions", "--output", "positions.jpg"], ".png, .svg or .pdf"),
        (["positions", "--output", "nowhere/p.png"], "no folder nowhere"),
        (["positions", "--width", "7"], "even width"),
        (["positions", "--length", "0"], "take 1 to"),
        (["positions", "no/model"], "no such model folder"),
        (["schedule", "--curve", "512"], "512:4000"),
        (["schedule", "--curve", "-1:5"], "512:4000"),
        (["schedule", "--steps", "1"], "take 2 to"),
        (["attention", "RUN"], "MODEL and SENTENCE"),
        (["attention", "--target", "x"], "--target belongs"),
        (["attention", "--padding", "10"], "fewer of padding"),
        (["curves", "nowhere"], "no such log"),
        (["embeddings", "RUN", "--tokens", "2"], "take 3 to"),
        (["embeddings", "RUN", "--source", "no.txt"], "no.txt"),
    ],
)
def test_what_cannot_be_drawn_is_said(regard, tiny_run, tmp_path, monkeypatch, arguments, words):
    given = [str(tiny_run.resolve()) if word == "RUN" else word for word in arguments]
    monkeypatch.chdir(tmp_path)
    done = regard("picture", *given)
    assert done.code == 2
    assert words in done.errors
    assert not list(tmp_path.glob("*.png"))


def test_training_text_that_is_not_here_is_said(regard, tiny_model, tmp_path):
    config = tiny_model / "config.toml"
    config.write_text(config.read_text().replace("train.en", "gone.en"))
    done = regard("picture", "embeddings", tiny_model, "--output", tmp_path / "e.png")
    assert done.code == 2
    assert "name some text with --source or --target" in done.errors
    text = tmp_path / "some.en"
    text.write_text("the cat eats 3 apples.\na man sees my friend.\n")
    done = regard("picture", "embeddings", tiny_model, "--source", text, "--output", tmp_path / "e.png")
    assert done.code == 0, done.errors


def test_without_matplotlib_the_remedy_is_said(regard, monkeypatch, tmp_path, tiny_run):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for command in (
        ("picture", "positions", "--output", tmp_path / "p.png"),
        ("explain", tiny_run, "the cat", "--png", tmp_path / "p.png"),
    ):
        done = regard(*command)
        assert done.code == 2
        assert "pip install -e '.[plot]'" in done.errors
    assert regard("explain", tiny_run, "the cat").code == 0


def test_letters_without_a_font_are_said_once():
    assert families_for(["plain text é ▁"]) == ["DejaVu Sans"]
    with pytest.warns(UserWarning, match="no font"):
        families_for(["\U000f1234"])


def test_nonsense_is_refused_in_python():
    for make in (lambda: positions_picture(0), lambda: masks_picture(3, 3), lambda: schedule_picture([])):
        with pytest.raises(InputError):
            make()


# The page of pictures


def test_every_picture_of_the_page_is_small_and_made_by_a_command_in_it():
    page = (DOCS / "pictures.md").read_text(encoding="utf-8")
    shown = re.findall(r"!\[[^\]]+\]\(images/([\w-]+\.png)\)", page)
    commands = page.replace("\\\n", "")
    assert len(shown) == 7
    for name in shown:
        assert re.search(
            rf"^    regard (picture|explain) .*--(output|png) docs/images/{re.escape(name)}$", commands, re.M
        )
        assert (DOCS / "images" / name).stat().st_size < 150_000
