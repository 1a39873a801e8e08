"""The Look inside view in a real browser: every picture, by pointer and by keys, its tables and files."""

import json
import re
from xml.etree import ElementTree

import numpy as np
import pytest
from browsing import starting, stop_clock
from fake_explanation import explanation
from pictures import table_of, wait_for_pictures
from playwright.sync_api import expect

from regard.explain.words import Word, merge_keys, merge_queries
from regard.web import self_contained_page

pytestmark = pytest.mark.slow
SENTENCE, OWN = "The animal was tired.", "le animal était tired."


def unpacked(packed):
    import base64

    numbers = np.frombuffer(base64.b64decode(packed["uint16"]), "<u2").reshape(packed["shape"]) / 65535
    return packed["minimum"] + numbers * (packed["maximum"] - packed["minimum"])


def number(cell):
    """What a percentage stands for, to within half of one."""
    return {"<1": 0.25, ">99": 99.75}.get(cell.rstrip("\u00a0%")) or float(cell.rstrip("\u00a0%"))


def test_a_translated_sentence_is_looked_into(translate, service):
    tab = translate(SENTENCE)
    tab.locator("#open-inside").click()
    wait_for_pictures(tab)
    assert service.asked("/api/explain") == [{"text": SENTENCE, "source": "en", "target": "fr", "translation": None}]
    expect(tab.locator("#inside-source")).to_have_value(SENTENCE)
    expect(tab.locator("#inside-target")).to_have_value(OWN)
    expect(tab.locator(".thumb")).to_have_count(2 * (4 + 2) + 2)
    tab.go_back()
    expect(tab.locator("#translation")).to_have_text(OWN)


def test_the_target_can_be_edited_and_the_model_made_to_write_it(look, service):
    tab = look()
    expect(tab.locator("#inside-target-note")).to_contain_text("The model’s own translation")
    tab.locator("#inside-target").fill("la bête était lasse")
    tab.keyboard.press("Enter")
    expect(tab.locator("#steps > .tell")).to_contain_text("The translation was given")
    expect(tab.locator(".beam-figure")).to_have_count(0)
    assert service.asked("/api/explain")[-1]["translation"] == "la bête était lasse"
    tab.locator("#inside-own").click()
    tab.locator(".beam-figure").wait_for()
    assert service.asked("/api/explain")[-1]["translation"] is None
    expect(tab.locator("#inside-target")).to_have_value(OWN)


def test_the_other_translations_can_be_looked_into(look, service):
    tab = look()
    others = tab.locator("#others .other")
    expect(tab.locator("#others h3")).to_have_text("Other translations")
    expect(others).to_have_text([f"{OWN} (2)−0.20", f"{OWN} (3)−0.30"])
    tab.locator("#inside-source").fill("something else, not asked for")
    others.nth(1).focus()
    tab.keyboard.press("Enter")
    expect(tab.locator("#steps > .tell")).to_contain_text("The translation was given")
    expect(tab.locator("#inside-source")).to_have_value(SENTENCE)
    expect(tab.locator("#inside-target")).to_have_value(f"{OWN} (3)")
    expect(tab.locator("#inside-target")).to_be_focused()
    assert service.asked("/api/explain")[-1]["translation"] == f"{OWN} (3)"
    expect(tab.locator("#others h3")).to_have_text("What it would have written itself")
    expect(others).to_have_text([f"{OWN}−0.20", f"{OWN} (2)−0.30"])
    others.first.click()
    tab.locator(".beam-figure").wait_for()
    assert service.asked("/api/explain")[-1]["translation"] is None
    expect(tab.locator("#inside-target")).to_have_value(OWN)


def test_where_the_search_found_nothing_else_there_is_no_list(new_tab, tmp_path):
    path = tmp_path / "page.html"
    path.write_text(self_contained_page(explanation() | {"alternatives": []}), encoding="utf-8")
    tab = new_tab("file:")
    tab.goto(path.as_uri())
    wait_for_pictures(tab)
    expect(tab.locator("#others")).to_have_count(0)


def test_an_emptied_sentence_ends_the_wait_for_its_explanation(look, service):
    tab = look()
    service.hold = 1
    tab.locator("#inside-source").fill("The dog sleeps.")
    tab.locator("#look").click()
    tab.locator(".result[aria-busy=true]").wait_for()
    tab.locator("#inside-source").fill("")
    tab.locator("#look").click()
    tab.locator(".result[aria-busy=false]").wait_for()
    expect(tab.locator(".look .status")).to_be_hidden()
    service.go_on.set()


@pytest.mark.parametrize("text", ["", "a" * 161], ids=["none", "too long"])
def test_pictures_of_another_sentence_than_the_one_above_them_are_faint(look, text):
    tab = look()
    result = tab.locator(".result")
    expect(result).to_have_css("opacity", "1")
    tab.locator("#inside-source").fill(text)
    tab.locator("#look").click()
    expect(result).to_have_class("result stale")
    expect(result).to_have_css("opacity", "0.55")
    tab.locator("#inside-source").fill("The dog sleeps.")
    tab.locator("#look").click()
    expect(tab.locator("#inside-target")).to_have_value("le chien dort.")
    expect(result).to_have_css("opacity", "1")


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
        expect(tab.locator(".shown")).to_have_text(f"Shown: all layers, {name} of the heads")
        shown = [[number(cell) for cell in row[1:]] for row in table_of(tab, "#attention-figure")]
        assert np.abs(np.array(shown) - 100 * expected).max() <= 0.5 + 1e-3


def test_arrow_keys_choose_heads(look):
    tab = look()
    tab.locator(".thumb[aria-checked=true]").focus()
    expect(tab.locator(".shown")).to_have_text("Shown: all layers, mean of the heads")
    tab.keyboard.press("Home")
    expect(tab.locator(".shown")).to_have_text("Shown: layer 1, head 1")
    tab.keyboard.press("ArrowDown")
    tab.keyboard.press("ArrowRight")
    expect(tab.locator(".shown")).to_have_text("Shown: layer 2, head 2")
    expect(tab.locator(".thumb[tabindex='0']")).to_have_count(1)


def test_kinds_and_drawings_are_chosen_by_keys_and_keep_the_focus(look):
    tab = look()
    tab.locator("#part-cross").focus()
    tab.keyboard.press("ArrowRight")
    expect(tab.locator("#part-decoder")).to_be_focused()
    expect(tab.locator("#attention .tell")).to_contain_text("Decoder self-attention")
    tab.keyboard.press("Tab")
    tab.keyboard.press("ArrowRight")
    expect(tab.locator("#drawing-lines")).to_be_focused()
    tab.locator("#attention-figure svg.lines").wait_for()


def test_a_token_is_isolated_both_ways_in_lines(look):
    tab = look(fragment="&drawing=lines")
    asking = tab.get_by_role("button", name="était", exact=True)
    asking.hover()
    readout = tab.locator("#attention-figure .readout")
    expect(readout).to_have_text(starting("“était” looks at “"))
    strong = "nodes => nodes.filter((node) => Number(node.getAttribute('stroke-opacity')) > 0.11).length"
    assert 0 < tab.locator(".wire").evaluate_all(strong) <= 5
    tab.get_by_role("button", name="animal", exact=True).nth(1).hover()
    expect(readout).to_have_text(starting("“animal” is looked at by “"))
    tab.mouse.move(2, 2)
    expect(readout).to_have_text(starting("Point at a cell"))
    asking.focus()
    tab.keyboard.press("ArrowDown")
    expect(readout).to_have_text(starting("“tired.” looks at"))
    expect(tab.locator(".line-word[aria-pressed=true]")).to_have_count(1)
    tab.keyboard.press("Escape")
    expect(readout).to_have_text(starting("Point at a cell"))


def test_the_heat_map_is_read_by_pointer_and_by_keys(look):
    tab = look()
    picture = tab.locator("#attention-figure svg.heat")
    readout = tab.locator("#attention-figure .readout")
    picture.focus()
    tab.keyboard.press("ArrowDown")
    tab.keyboard.press("ArrowRight")
    expect(readout).to_have_text(re.compile(r"^“le” looks at “animal”: \d+\s%\.$"))
    expect(picture.locator(".veil")).to_have_count(2)
    tab.keyboard.press("Escape")
    expect(picture.locator(".veil")).to_have_count(0)
    label = picture.locator("text", has_text="animal").last.bounding_box()
    tab.mouse.move(label["x"] + label["width"] / 2, label["y"] + label["height"] / 2)
    expect(readout).to_have_text(starting("“animal” looks at “"))


def test_the_slider_replays_the_steps(look):
    tab = look()
    steps = explanation(SENTENCE, OWN)["steps"]
    counter = tab.locator("#steps .counter")
    expect(counter).to_have_text(f"Step 1 of {len(steps)}")
    tab.locator("#step").focus()
    tab.keyboard.press("ArrowRight")
    expect(counter).to_have_text(f"Step 2 of {len(steps)}")
    expect(tab.locator("#steps mark")).to_have_text("anima")
    share = f"{round(100 * steps[1]['candidates'][0]['probability'])} %"
    expect(tab.locator(".candidates .taken .share")).to_have_text(starting(share))
    expect(tab.locator(".candidates li")).to_have_count(6)
    assert float(tab.locator(".beam .band").get_attribute("x")) > 0
    tab.keyboard.press("End")
    expect(tab.locator("#steps mark")).to_have_text("</s>")
    expect(tab.locator("#steps .written")).to_have_text(f"{OWN}</s>")


@pytest.mark.parametrize("finished", [True, False])
def test_a_translation_that_was_cut_off_says_so(new_tab, tmp_path, finished):
    given = explanation(SENTENCE, OWN, finished=finished)
    path = tmp_path / "page.html"
    path.write_text(self_contained_page(given), encoding="utf-8")
    tab = new_tab("file:")
    tab.goto(path.as_uri() + f"#step={len(given['steps'])}")
    wait_for_pictures(tab)
    expect(tab.locator(".inside > .status")).to_have_count(0 if finished else 1)
    expect(tab.locator("#steps mark")).to_have_text("</s>" if finished else "cut off")
    expect(tab.locator("#step")).to_have_attribute("aria-valuetext", re.compile("</s>$" if finished else "cut off$"))
    expect(tab.locator(".candidates .taken")).to_have_count(1 if finished else 0)
    expect(tab.locator(".candidates li")).to_have_count(6)
    expect(tab.locator(".step-stage .small")).to_contain_text("Rank 1" if finished else "</s> had rank 1")
    tab.locator("#step").press("ArrowLeft")
    expect(tab.locator(".candidates .taken")).to_have_count(1)


def test_it_plays_by_itself(look):
    tab = look()
    stop_clock(tab)
    counter, play = tab.locator("#steps .counter"), tab.locator("#play")
    play.click()
    expect(play).to_have_text("Stop")
    tab.clock.run_for(2000)
    expect(counter).to_have_text(starting("Step 3 "))
    play.click()
    expect(play).to_have_text("Play")
    tab.clock.run_for(5000)
    expect(counter).to_have_text(starting("Step 3 "))


def test_the_beam_is_a_tree_with_its_table(look):
    tab = look()
    nodes = explanation(SENTENCE, OWN)["beam"]["nodes"]
    tree = tab.locator("svg.beam")
    expect(tree.locator(".leaf.best")).to_have_count(sum(node["best"] for node in nodes))
    assert tree.locator(".leaf").count() < len(nodes)
    tab.locator("#beam-dropped").check()
    expect(tree.locator(".leaf")).to_have_count(len(nodes))
    assert tree.locator(".leaf.dropped").count() > 0
    tree.focus()
    tab.keyboard.press("ArrowRight")
    tab.keyboard.press("ArrowRight")
    expect(tab.locator(".beam-figure .readout")).to_have_text(starting("Step 1, “▁le”: "))
    assert len(table_of(tab, ".beam-figure")) == len(nodes)


def test_attribution_and_attention_are_read_side_by_side(look):
    tab = look()
    tab.locator("#attribution svg").focus()
    tab.keyboard.press("ArrowDown")
    expect(tab.locator("#attribution .readout")).to_have_text(re.compile(r"^“The” has .* of the influence on “le”"))
    expect(tab.locator("#attention-beside .readout")).to_have_text(starting("“le” looks at “The”"))
    tab.locator("#attributed-target").click()
    expect(tab.locator("#attributed-target")).to_have_attribute("aria-checked", "true")
    tab.locator("#attribution .fold summary").click()
    expect(tab.locator("#attribution tbody th").first).to_have_text("le")
    expect(tab.locator("#attribution thead th").first).to_have_text("<s>")


def test_positions_are_a_picture_and_a_table(look):
    tab = look()
    tab.locator("svg.positions").focus()
    tab.keyboard.press("ArrowRight")
    tab.keyboard.press("ArrowRight")
    expect(tab.locator("#positions .readout")).to_have_text("Position 0, number 1 of the vector: 1.00.")
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


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_same_view_is_one_file_that_opens_from_the_disk(new_tab, tmp_path, language):
    path = tmp_path / "page.html"
    path.write_text(self_contained_page(explanation(), language), encoding="utf-8")
    tab = new_tab("file:")
    tab.goto(path.as_uri() + "#drawing=lines&layer=1&head=2")
    tab.locator("svg.lines").wait_for()
    expect(tab.locator(".said")).to_have_text(explanation()["source"]["text"])
    expect(tab.locator("html")).to_have_attribute("lang", {"en": "en", "zh": "zh-CN"}[language])
    expect(tab.locator(".thumb[aria-checked=true]")).to_have_id("head-1")
    expect(tab.locator("#others li")).to_have_text([starting(each["text"]) for each in explanation()["alternatives"]])
    expect(tab.locator("#others button")).to_have_count(0)
    tab.locator("#language-switch").click()
    expect(tab.locator("html")).to_have_attribute("lang", {"en": "zh-CN", "zh": "en"}[language])
    tab.locator("#theme-switch").click()
    expect(tab.locator("html")).to_have_attribute("data-theme", "dark")
    expect(tab.locator("#theme-switch")).to_be_focused()
    wait_for_pictures(tab)
    with tab.expect_download():
        tab.locator("#attention-figure .saving button").first.click()
