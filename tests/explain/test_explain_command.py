"""`regard explain`, and what an explanation writes."""

import json
import warnings

import pytest
from PIL import Image

import regard as package
from regard.explain.explained import Explanation
from regard.explain.figure import most_telling_heads, telling
from regard.explain.packing import unpack

SENTENCE = "the cat eats 3 apples."


@pytest.fixture(scope="module")
def explanation(tiny_run) -> Explanation:
    return package.load(tiny_run).explain(SENTENCE, "le chat mange 3 pommes.")


def test_it_prints_a_table_of_the_target(regard, tiny_run):
    done = regard("explain", tiny_run, SENTENCE, "--target", "le chat mange 3 pommes.")
    assert done.code == 0, done.errors
    assert SENTENCE in done.output
    assert "given   le chat mange 3 pommes." in done.output
    heading = next(line for line in done.output.splitlines() if line.startswith("token"))
    assert "looked most at" in heading
    assert "the model's own:" in done.output
    assert "not proof" in done.output


def test_it_prints_the_models_own_translation(regard, tiny_run):
    translation = regard("translate", tiny_run, "--beam", "3", input=f"{SENTENCE}\n".encode()).output.strip("\n")
    done = regard("explain", tiny_run, SENTENCE, "--beam", "3")
    assert f"translation  {translation}" in done.output
    assert "others it found:" in done.output


def test_it_writes_page_figure_and_data(regard, tiny_run, tmp_path):
    page, figure, data = tmp_path / "why.html", tmp_path / "why.png", tmp_path / "why.json"
    done = regard("explain", tiny_run, SENTENCE, "--output", page, "--png", figure, "--json", data)
    assert done.code == 0, done.errors
    assert str(page) in done.output
    assert str(figure) in done.output
    assert page.read_text(encoding="utf-8").lstrip().lower().startswith("<!doctype html>")
    assert Image.open(figure).size[0] > 400
    found = json.loads(data.read_text(encoding="utf-8"))
    assert found["source"]["text"] == SENTENCE
    assert unpack(found["attention"]["cross"]).ndim == 4


def test_bare_json_stands_alone(regard, tiny_run):
    done = regard("explain", tiny_run, SENTENCE, "--json")
    assert json.loads(done.output)["format"] == "regard-explanation"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([""], "source is empty"),
        ([SENTENCE, "--target", " "], "target is empty"),
        (["x " * 300], "more than the 256"),
        ([SENTENCE, "--output", "why.txt"], "ends with .html"),
        ([SENTENCE, "--png", "why.bmp"], "end the name of --png"),
        ([SENTENCE, "--output", "nowhere/why.html"], "no folder nowhere"),
        ([SENTENCE, "--beam", "0"], "beam"),
    ],
)
def test_mistakes_are_said_in_a_sentence(regard, tiny_run, arguments, words):
    done = regard("explain", tiny_run, *arguments)
    assert done.code == 2
    assert words in done.errors
    assert "Traceback" not in done.errors


def test_a_folder_that_is_no_model_is_refused(regard, tmp_path):
    assert regard("explain", tmp_path / "none", SENTENCE).code == 2


# What an explanation writes


@pytest.mark.parametrize(("ending", "magic"), [(".json", b"{"), (".html", b"<!doctype html>")])
def test_save_goes_by_the_ending(explanation, tmp_path, ending, magic):
    path = explanation.save(tmp_path / f"why{ending.upper()}")
    assert path.read_bytes().lstrip()[:20].lower().startswith(magic.lower())


def test_save_refuses_other_endings(explanation, tmp_path):
    with pytest.raises(package.RegardError, match="end the name"):
        explanation.save(tmp_path / "why.docx")


def test_a_notebook_gets_a_frame_that_reaches_nothing(explanation):
    html = explanation._repr_html_()
    assert html.startswith("<iframe srcdoc=")
    assert 'sandbox="allow-scripts allow-downloads"' in html
    assert html.count("<") == 2  # all of the page is inside of the attribute


def test_the_figure_has_four_maps_with_the_tokens(explanation):
    axes = [each for each in explanation.figure().axes if each.get_title(loc="left")]
    assert len(axes) == 4
    for each in axes:
        assert [label.get_text() for label in each.get_yticklabels()] == list(explanation.target_tokens)
        assert [label.get_text() for label in each.get_xticklabels()] == list(explanation.source_tokens)


def test_labels_are_never_read_as_formulae(tiny_run, tmp_path):
    strange = package.load(tiny_run).explain(r"$\frac{1$ 猫", "$$")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a machine may have no Chinese font, and is told so
        strange.save(tmp_path / "strange.png")


def test_telling_heads_are_sharp_and_look_at_different_places():
    import numpy as np

    diagonal, even, one_place = np.eye(4), np.full((4, 4), 0.25), np.eye(4)[[3, 3, 3, 3]]
    assert telling(diagonal) == pytest.approx(2.0)
    assert telling(even) == pytest.approx(0.0)
    assert telling(one_place) == pytest.approx(0.0)
    assert most_telling_heads(np.array([[even, one_place], [diagonal, even]]), 1) == [(1, 0)]
