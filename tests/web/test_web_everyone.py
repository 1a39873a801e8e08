"""The page for everyone: keys only, a phone, the dark, Chinese, names for whoever listens, colours that can be read."""

from itertools import pairwise

import pytest
from browsing import starting
from pictures import open_tables, wait_for_pictures
from playwright.sync_api import expect

pytestmark = pytest.mark.slow

NAMELESS = """() => {
  const controls = "a[href], button, input, select, textarea, summary, [tabindex='0'], [role=button], [role=radio]";
  const text = (id) => document.getElementById(id)?.textContent ?? "";
  const name = (node) => node.getAttribute("aria-label") || text(node.getAttribute("aria-labelledby"))
    || (node.labels?.[0]?.textContent ?? "") || (node.tagName === "INPUT" ? "" : node.textContent);
  return [...document.querySelectorAll(controls)].filter((node) => !name(node).trim()).map((node) => node.outerHTML);
}"""

UNREADABLE = """() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const painted = (colours) => {
    canvas.clearRect(0, 0, 1, 1);
    for (const colour of colours) { canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1); }
    return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const luminance = (rgb) => rgb.map((v) => v / 255).map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode.parentElement;
    const aside = node.closest("svg, [aria-hidden], .mirror, .unseen, :disabled");
    if (!walker.currentNode.data.trim() || !node.checkVisibility() || aside) continue;
    const grounds = [];
    for (let at = node; at; at = at.parentElement) grounds.unshift(getComputedStyle(at).backgroundColor);
    const ground = painted(grounds);
    const ink = painted([`rgb(${ground})`, getComputedStyle(node).color]);
    const [light, dark] = [luminance(ground), luminance(ink)].sort((a, b) => b - a);
    const contrast = (light + 0.05) / (dark + 0.05);
    if (contrast < 4.5) found.push(`${contrast.toFixed(2)} ${node.className} ${walker.currentNode.data.slice(0, 30)}`);
  }
  return found;
}"""


def overflow(tab):
    return tab.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")


def tab_to(tab, name, most=80):
    """Press Tab until the element of this id has the focus; the way there."""
    seen = []
    for _ in range(most):
        tab.keyboard.press("Tab")
        seen.append(tab.evaluate("document.activeElement.id"))
        if seen[-1] == name:
            return seen
    raise AssertionError(f"Tab never came to {name}: {seen}")


def test_everything_is_done_by_keys(show):
    tab = show()
    tab.locator("#source-text").wait_for()
    tab.keyboard.press("Tab")
    expect(tab.locator("#skip")).to_be_focused()
    tab.keyboard.press("Enter")
    expect(tab.locator("#main")).to_be_focused()
    tab_to(tab, "source-text")
    tab.keyboard.type("The animal was tired.")
    tab.locator("#alternatives .alternative").first.wait_for()
    tab_to(tab, "open-inside")
    tab.keyboard.press("Enter")
    wait_for_pictures(tab)
    expect(tab.locator("#main")).to_be_focused()
    way = tab_to(tab, "step")
    assert way.index("inside-target") < way.index("copy-link") < way.index("part-cross")
    tab.keyboard.press("ArrowRight")
    expect(tab.locator("#step")).to_have_value("2")
    tab_to(tab, "positions-table")
    tab.keyboard.press("Enter")
    tab.locator("#positions table").wait_for()


def test_the_focus_can_be_seen(translate):
    tab = translate()
    for name in ("copy", "swap", "source-language", "alternative-1"):
        tab.locator(f"#{name}").focus()
        tab.keyboard.press("Shift")
        expect(tab.locator(f"#{name}")).to_have_css("outline-style", "solid")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("locale", ["en-GB", "zh-CN"])
def test_everything_has_a_name_and_can_be_read(translate, scheme, locale):
    tab = translate(scheme=scheme, locale=locale)
    tab.locator("#glossary-title").click()
    tab.locator("#add-term").wait_for()
    assert tab.evaluate(NAMELESS) == []
    assert tab.evaluate(UNREADABLE) == []
    tab.locator("#open-inside").click()
    wait_for_pictures(tab)
    open_tables(tab)
    assert tab.evaluate(NAMELESS) == []
    assert tab.evaluate(UNREADABLE) == []
    twice = "() => [...document.querySelectorAll('[id]')].map((n) => n.id).filter((id, i, all) => all.indexOf(id) < i)"
    assert tab.evaluate(twice) == []
    assert tab.locator("main, header, nav, footer").count() == 4
    levels = tab.locator("h1, h2, h3").evaluate_all("nodes => nodes.map((node) => Number(node.tagName[1]))")
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))


@pytest.mark.parametrize("width", [360, 768])
@pytest.mark.parametrize(("scheme", "locale"), [("light", "en-GB"), ("dark", "zh-CN")])
def test_it_fits_a_phone(translate, width, scheme, locale):
    sentence = "The animal was tired because the antidisestablishmentarianism was incomprehensibilities itself."
    tab = translate(sentence, width=width, scheme=scheme, locale=locale, has_touch=True)
    tab.locator("#glossary-title").click()
    tab.locator("#add-term").wait_for()
    assert overflow(tab) <= 0
    tab.locator("#open-inside").click()
    wait_for_pictures(tab)
    tab.locator("#beam-dropped").check()
    tab.locator(".leaf.dropped").first.wait_for()
    assert overflow(tab) <= 0
    tab.locator("#drawing-lines").click()
    tab.locator("#attention-figure svg.lines").wait_for()
    tab.locator("#tokens-subwords").click()
    expect(tab.locator("#tokens-subwords")).to_have_attribute("aria-checked", "true")
    open_tables(tab)
    assert overflow(tab) <= 0


def test_a_tap_keeps_a_word(look):
    tab = look(width=390, has_touch=True, fragment="&drawing=lines")
    tab.get_by_role("button", name="était", exact=True).tap()
    expect(tab.locator("#attention-figure .readout")).to_have_text(starting("“était” looks at"))


def test_light_and_dark_follow_the_system_until_somebody_chooses(look):
    tab = look()
    paper, cell = tab.locator("html"), tab.locator("#attention-figure .cells").first

    def is_light():
        expect(paper).to_have_css("background-color", light[0])
        expect(cell).to_have_attribute("fill", light[1])

    light = [paper.evaluate("node => getComputedStyle(node).backgroundColor"), cell.get_attribute("fill")]
    tab.emulate_media(color_scheme="dark")
    expect(paper).not_to_have_css("background-color", light[0])
    expect(cell).not_to_have_attribute("fill", light[1])
    tab.locator("#theme-switch").click()
    is_light()
    expect(tab.locator("#theme-switch")).to_be_focused()
    tab.reload()
    wait_for_pictures(tab)
    is_light()


def test_the_language_is_the_browsers_until_somebody_chooses(translate):
    tab = translate(locale="zh-CN")
    expect(tab.locator("html")).to_have_attribute("lang", "zh-CN")
    expect(tab).to_have_title("regard: 翻译")
    expect(tab.locator("#source-language option").first).to_have_text("英语")
    tab.locator("#language-switch").click()
    expect(tab.locator("html")).to_have_attribute("lang", "en")
    expect(tab.locator("#translation")).to_have_text("le chat dort.")
    tab.reload()
    expect(tab.locator("#view-translate")).to_have_text("Translate")
