"""The Look inside view in a real browser: every picture, by pointer and by keys, its tables, files and links."""

import json
import re
from xml.etree import ElementTree

import numpy as np
import pytest
from fake_explanation import explanation

from regard.explain.words import Word, merge_keys, merge_queries
from regard.web import self_contained_page

pytestmark = pytest.mark.slow
SENTENCE, OWN = "The animal was tired.", "le animal était tired."


def said(locator):
    return locator.text_content().replace("\u00a0", " ")


def unpacked(packed):
    import base64

    numbers = np.frombuffer(base64.b64decode(packed["uint16"]), "<u2").reshape(packed["shape"]) / 65535
    return packed["minimum"] + numbers * (packed["maximum"] - packed["minimum"])


def table_of(tab, figure):
    tab.locator(f"{figure} .fold summary").click()
    tab.locator(f"{figure} table").wait_for()
    read = "rows => rows.map((row) => [...row.children].map((cell) => cell.textContent))"
    return tab.locator(f"{figure} tbody tr").evaluate_all(read)


def number(cell):
    """What a percentage stands for, to within half of one."""
    return {"<1": 0.25, ">99": 99.75}.get(cell.rstrip("\u00a0%")) or float(cell.rstrip("\u00a0%"))


def test_a_translated_sentence_is_looked_into(translate, service):
    tab = translate(SENTENCE)
    tab.locator("#open-inside").click()
    tab.locator("#attention-figure svg").wait_for()
    assert service.asked("/api/explain") == [{"text": SENTENCE, "source": "en", "target": "fr", "translation": None}]
    assert tab.locator("#inside-source").input_value() == SENTENCE
    assert tab.locator("#inside-target").input_value() == OWN
    assert tab.locator(".thumb").count() == 2 * (4 + 2) + 2
    tab.go_back()
    assert said(tab.locator("#translation")) == OWN


def test_the_target_can_be_edited_and_the_model_made_to_write_it(look, service):
    tab = look()
    assert "The model’s own translation" in said(tab.locator("#inside-target-note"))
    tab.locator("#inside-target").fill("la bête était lasse")
    tab.keyboard.press("Enter")
    tab.locator(".beam-figure").wait_for(state="detached")
    assert service.asked("/api/explain")[-1]["translation"] == "la bête était lasse"
    assert "The translation was given" in said(tab.locator("#steps .tell"))
    tab.locator("#inside-own").click()
    tab.locator(".beam-figure").wait_for()
    assert service.asked("/api/explain")[-1]["translation"] is None
    assert tab.locator("#inside-target").input_value() == OWN


def test_an_emptied_sentence_ends_the_wait_for_its_explanation(look, service):
    tab = look()
    service.hold = 1
    tab.locator("#inside-source").fill("The dog sleeps.")
    tab.locator("#look").click()
    tab.locator(".result[aria-busy=true]").wait_for()
    tab.locator("#inside-source").fill("")
    tab.locator("#look").click()
    tab.locator(".result[aria-busy=false]").wait_for()
    assert tab.locator(".look .status").is_hidden()
    service.go_on.set()


@pytest.mark.parametrize(("part", "sides"), [("cross", ("target", "source")), ("decoder", ("target", "read"))])
def test_words_are_merged_as_in_python(look, part, sides):
    tab = look(fragment=f"&part={part}&layer=2&head=3")
    given = explanation(SENTENCE, OWN)
    weights = unpacked(given["attention"][part])[1, 2]
    groups = {side: [Word(**word) for word in given[side]["words"]] for side in ("source", "target")}
    shifted = [Word(word.text, word.start + 1, word.stop + 1) for word in groups["target"][:-1]]
    groups["read"] = [Word("<s>", 0, 1), *shifted]
    merged = merge_keys(merge_queries(weights, groups[sides[0]]), groups[sides[1]])
    rows = table_of(tab, "#attention-figure")
    assert [row[0] for row in rows] == [word.text for word in groups[sides[0]]]
    shown = [[number(cell) for cell in row[1:]] for row in rows]
    assert np.abs(np.array(shown) - 100 * merged).max() <= 0.5 + 1e-3


def test_mean_and_maximum_are_those_of_all_heads(look):
    tab = look(fragment="&tokens=subwords")
    weights = unpacked(explanation(SENTENCE, OWN)["attention"]["cross"]).reshape(8, 7, -1)
    for name, expected in (("mean", weights.mean(axis=0)), ("maximum", weights.max(axis=0))):
        tab.get_by_role("radio", name=f"all layers, {name} of the heads").click()
        shown = [[number(cell) for cell in row[1:]] for row in table_of(tab, "#attention-figure")]
        assert np.abs(np.array(shown) - 100 * expected).max() <= 0.5 + 1e-3
        tab.locator("#attention-figure .fold summary").click()


def test_arrow_keys_choose_heads(look):
    tab = look()
    tab.locator(".thumb[aria-checked=true]").focus()
    assert said(tab.locator(".shown")) == "Shown: all layers, mean of the heads"
    tab.keyboard.press("Home")
    assert said(tab.locator(".shown")) == "Shown: layer 1, head 1"
    tab.keyboard.press("ArrowDown")
    tab.keyboard.press("ArrowRight")
    assert said(tab.locator(".shown")) == "Shown: layer 2, head 2"
    assert tab.locator(".thumb[tabindex='0']").count() == 1


def test_kinds_and_drawings_are_chosen_by_keys_and_keep_the_focus(look):
    tab = look()
    tab.locator("#part-cross").focus()
    tab.keyboard.press("ArrowRight")
    assert tab.evaluate("document.activeElement.id") == "part-decoder"
    assert "Decoder self-attention" in said(tab.locator("#attention .tell"))
    tab.keyboard.press("Tab")
    tab.keyboard.press("ArrowRight")
    assert tab.evaluate("document.activeElement.id") == "drawing-lines"
    tab.locator("#attention-figure svg.lines").wait_for()


def test_a_token_is_isolated_both_ways_in_lines(look):
    tab = look(fragment="&drawing=lines")
    asking = tab.get_by_role("button", name="était")
    asking.hover()
    readout = tab.locator("#attention-figure .readout")
    assert said(readout).startswith("“était” looks at “")
    strong = "nodes => nodes.filter((node) => Number(node.getAttribute('stroke-opacity')) > 0.11).length"
    assert 0 < tab.locator(".wire").evaluate_all(strong) <= 5
    tab.get_by_role("button", name="animal").nth(1).hover()
    assert said(readout).startswith("“animal” is looked at by “")
    tab.mouse.move(2, 2)
    assert said(readout).startswith("Point at a cell")
    asking.focus()
    tab.keyboard.press("ArrowDown")
    assert said(readout).startswith("“tired.” looks at")
    assert tab.locator(".line-word[aria-pressed=true]").count() == 1
    tab.keyboard.press("Escape")
    assert said(readout).startswith("Point at a cell")


def test_the_heat_map_is_read_by_pointer_and_by_keys(look):
    tab = look()
    picture = tab.locator("#attention-figure svg.heat")
    readout = tab.locator("#attention-figure .readout")
    picture.focus()
    tab.keyboard.press("ArrowDown")
    tab.keyboard.press("ArrowRight")
    assert re.fullmatch(r"“le” looks at “animal”: \d+ %\.", said(readout))
    assert picture.locator(".veil").count() == 2
    tab.keyboard.press("Escape")
    assert picture.locator(".veil").count() == 0
    label = picture.locator("text", has_text="animal").last.bounding_box()
    tab.mouse.move(label["x"] + label["width"] / 2, label["y"] + label["height"] / 2)
    assert said(readout).startswith("“animal” looks at “")


def test_the_slider_replays_the_steps(look):
    tab = look()
    steps = explanation(SENTENCE, OWN)["steps"]
    assert said(tab.locator("#steps .counter")) == f"Step 1 of {len(steps)}"
    tab.locator("#step").focus()
    tab.keyboard.press("ArrowRight")
    assert said(tab.locator("#steps mark")) == "anima"
    taken = tab.locator(".candidates .taken")
    share = f"{round(100 * steps[1]['candidates'][0]['probability'])} %"
    assert said(taken.locator(".share")).startswith(share)
    assert tab.locator(".candidates li").count() == 6
    assert float(tab.locator(".beam .band").get_attribute("x")) > 0
    tab.keyboard.press("End")
    assert said(tab.locator("#steps mark")) == "</s>"
    assert said(tab.locator("#steps .written")) == f"{OWN}</s>"


def test_it_plays_by_itself(look):
    tab = look()
    tab.clock.install()
    tab.locator("#play").click()
    tab.clock.run_for(2000)
    assert said(tab.locator("#steps .counter")).startswith("Step 3 ")
    tab.locator("#play").click()
    tab.clock.run_for(5000)
    assert said(tab.locator("#steps .counter")).startswith("Step 3 ")


def test_the_beam_is_a_tree_with_its_table(look):
    tab = look()
    nodes = explanation(SENTENCE, OWN)["beam"]["nodes"]
    tree = tab.locator("svg.beam")
    assert tree.locator(".leaf.best").count() == sum(node["best"] for node in nodes)
    assert tree.locator(".leaf").count() < len(nodes)
    tab.locator("#beam-dropped").check()
    assert tree.locator(".leaf").count() == len(nodes)
    assert tree.locator(".leaf.dropped").count() > 0
    tree.focus()
    tab.keyboard.press("ArrowRight")
    tab.keyboard.press("ArrowRight")
    assert said(tab.locator(".beam-figure .readout")).startswith("Step 1, “▁le”: ")
    assert len(table_of(tab, ".beam-figure")) == len(nodes)


def test_attribution_and_attention_are_read_side_by_side(look):
    tab = look()
    tab.locator("#attribution svg").focus()
    tab.keyboard.press("ArrowDown")
    assert re.match(r"“The” has .* of the influence on “le”", said(tab.locator("#attribution .readout")))
    assert said(tab.locator("#attention-beside .readout")).startswith("“le” looks at “The”")
    tab.locator("#attributed-target").click()
    assert table_of(tab, "#attribution")[0][0] == "le"
    assert said(tab.locator("#attribution thead th").first) == "<s>"


def test_positions_are_a_picture_and_a_table(look):
    tab = look()
    tab.locator("svg.positions").focus()
    tab.keyboard.press("ArrowRight")
    tab.keyboard.press("ArrowRight")
    assert said(tab.locator("#positions .readout")) == "Position 0, number 1 of the vector: 1.00."
    assert len(table_of(tab, "#positions")) == 50


@pytest.mark.parametrize("figure", ["#attention-figure", ".beam-figure", "#positions"])
def test_pictures_are_saved(look, figure, tmp_path):
    tab = look()
    for kind in ("SVG", "PNG"):
        with tab.expect_download() as waiting:
            tab.locator(figure).get_by_role("button", name=f"Save this picture as {kind}").click()
        waiting.value.save_as(tmp_path / kind)
    root = ElementTree.parse(tmp_path / "SVG").getroot()
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    drawn = list(root.iter())
    assert not any("class" in node.attrib or "style" in node.attrib for node in drawn)
    assert any(node.get("fill", "").startswith("rgb") for node in drawn)
    picture = (tmp_path / "PNG").read_bytes()
    assert picture.startswith(b"\x89PNG")
    width = int.from_bytes(picture[16:20], "big")
    assert width == pytest.approx(2 * float(root.get("width")), abs=1)
    assert len(picture) > 2000


def test_the_data_is_saved(look, tmp_path):
    tab = look()
    with tab.expect_download() as waiting:
        tab.locator("#save-json").click()
    waiting.value.save_as(tmp_path / "data.json")
    assert json.loads((tmp_path / "data.json").read_text()) == explanation(SENTENCE, OWN)


def test_a_link_reopens_the_view(look, show, service):
    tab = look(permissions=["clipboard-read", "clipboard-write"])
    tab.locator("#inside-target").fill("une autre & <b>phrase</b> + 100 %")
    tab.keyboard.press("Enter")
    tab.locator(".beam-figure").wait_for(state="detached")
    for name in ("#part-decoder", "#drawing-lines", "#tokens-subwords", "#head-7"):
        tab.locator(name).click()
    tab.locator("#step").fill("4")
    tab.locator("#copy-link").click()
    tab.locator(".tools .copied", has_text="Copied.").wait_for()
    link = tab.evaluate("navigator.clipboard.readText()")
    assert link.startswith(service.address)
    other = show(link.removeprefix(service.address))
    other.locator("svg.lines").wait_for()
    assert other.locator("#inside-target").input_value() == "une autre & <b>phrase</b> + 100 %"
    assert said(other.locator(".shown")) == "Shown: layer 2, head 2"
    for name in ("#part-decoder", "#drawing-lines", "#tokens-subwords"):
        assert other.locator(name).get_attribute("aria-checked") == "true"
    assert said(other.locator("#steps .counter")).startswith("Step 4 ")


def test_a_link_that_names_what_is_not_there_shows_the_beginning(look):
    tab = look(fragment="&layer=9&head=99&part=nonsense&step=4000")
    assert said(tab.locator(".shown")) == "Shown: all layers, mean of the heads"
    assert tab.locator("#part-cross").get_attribute("aria-checked") == "true"
    total = len(explanation(SENTENCE, OWN)["steps"])
    assert said(tab.locator("#steps .counter")) == f"Step {total} of {total}"


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_same_view_is_one_file_that_opens_from_the_disk(new_tab, tmp_path, language):
    path = tmp_path / "page.html"
    path.write_text(self_contained_page(explanation(), language), encoding="utf-8")
    tab = new_tab("file:")
    tab.goto(path.as_uri() + "#drawing=lines&layer=1&head=2")
    tab.locator("svg.lines").wait_for()
    assert said(tab.locator(".said")) == explanation()["source"]["text"]
    assert tab.evaluate("document.documentElement.lang") == {"en": "en", "zh": "zh-CN"}[language]
    assert tab.locator(".thumb[aria-checked=true]").get_attribute("id") == "head-1"
    tab.locator("#language-switch").click()
    tab.locator("#theme-switch").click()
    assert tab.evaluate("document.documentElement.lang") == {"en": "zh-CN", "zh": "en"}[language]
    assert tab.evaluate("document.activeElement.id") == "theme-switch"
    with tab.expect_download():
        tab.locator("#attention-figure .saving button").first.click()
