"""Links to what is looked at in the Look inside view: another tab opens the same."""

import pytest
from browsing import starting, stop_clock
from fake_explanation import explanation
from pictures import wait_for_pictures
from playwright.sync_api import expect

pytestmark = pytest.mark.slow
FIGURES = ("attention-figure", "attribution", "attention-beside")
SENTENCE, OWN = "The animal was tired.", "le animal était tired."


def copied_link(tab):
    """Press the button that copies a link to the view: the link."""
    stop_clock(tab)
    tab.locator("#copy-link").click()
    tab.locator(".tools .copied", has_text="Copied.").wait_for()
    return tab.evaluate("navigator.clipboard.readText()")


def test_a_link_reopens_the_view(look, show, service):
    tab = look(permissions=["clipboard-read", "clipboard-write"])
    tab.locator("#inside-target").fill("une autre & <b>phrase</b> + 100 %")
    tab.keyboard.press("Enter")
    expect(tab.locator("#steps > .tell")).to_contain_text("The translation was given")
    for name in ("#part-decoder", "#drawing-lines", "#tokens-subwords", "#head-7"):
        tab.locator(name).click()
        expect(tab.locator(name)).to_have_attribute("aria-checked", "true")
    tab.locator("#step").fill("4")
    expect(tab.locator("#steps .counter")).to_have_text(starting("Step 4 "))
    other = show(copied_link(tab).removeprefix(service.address))
    other.locator("svg.lines").wait_for()
    expect(other.locator("#inside-target")).to_have_value("une autre & <b>phrase</b> + 100 %")
    expect(other.locator(".shown")).to_have_text("Shown: layer 2, head 2")
    for name in ("#part-decoder", "#drawing-lines", "#tokens-subwords"):
        expect(other.locator(name)).to_have_attribute("aria-checked", "true")
    expect(other.locator("#steps .counter")).to_have_text(starting("Step 4 "))


def pinned_readouts(tab):
    """What the figures of attention, attribution, and attention beside it say of the cells that are kept."""
    return [tab.locator(f"#{figure} .readout").text_content() for figure in FIGURES]


def test_a_link_keeps_the_side_of_the_attribution_and_what_is_singled_out(look, show, service):
    tab = look(permissions=["clipboard-read", "clipboard-write"])
    tab.locator("#attributed-target").click()
    for picture, keys in (("#attention-figure", "Down Down Right"), ("#attribution", "Down Down Down")):
        tab.locator(f"{picture} svg").focus()
        for key in keys.split():
            tab.keyboard.press(f"Arrow{key}")
    told = pinned_readouts(tab)
    assert told[0].startswith("“animal” looks at “animal”")
    assert told[1].startswith("“<s>” has")
    other = show(copied_link(tab).removeprefix(service.address))
    wait_for_pictures(other)
    expect(other.locator("#attributed-target")).to_have_attribute("aria-checked", "true")
    assert pinned_readouts(other) == told
    expect(other.locator("#attention-figure .veil")).to_have_count(4)
    other.locator("#theme-switch").click()
    wait_for_pictures(other)
    assert pinned_readouts(other) == told
    other.locator("#inside-source").fill("The dog sleeps.")
    other.locator("#look").click()
    expect(other.locator("#inside-target")).to_have_value("le chien dort.")
    assert set(pinned_readouts(other)) == {"Point at a cell or a word to single it out; click to keep it."}


def test_a_word_that_is_kept_in_the_lines_is_in_the_link(look, show, service):
    tab = look(fragment="&drawing=lines", permissions=["clipboard-read", "clipboard-write"])
    tab.get_by_role("button", name="était", exact=True).click()
    other = show(copied_link(tab).removeprefix(service.address))
    expect(other.get_by_role("button", name="était", exact=True)).to_have_attribute("aria-pressed", "true")


def test_a_link_followed_in_the_same_tab_keeps_what_it_names(look):
    tab = look(fragment="&part=decoder&pinned=2.1")
    expect(tab.locator("#attention-figure .readout")).to_have_text(starting("“animal” looks at “<s>”"))
    link = "#view=inside&source=en&target=fr&text=The+dog+sleeps.&part=cross&pinned=-.2"
    tab.evaluate("address => { location.hash = address; }", link)
    expect(tab.locator("#attention-figure .readout")).to_have_text(starting("“dog” is looked at by"))


def test_a_link_that_names_what_is_not_there_shows_the_beginning(look):
    tab = look(fragment="&layer=9&head=99&part=nonsense&step=4000&attributed=nonsense&pinned=1.99&compared=99.-")
    assert set(pinned_readouts(tab)) == {"Point at a cell or a word to single it out; click to keep it."}
    expect(tab.locator("#attributed-source")).to_have_attribute("aria-checked", "true")
    expect(tab.locator(".shown")).to_have_text("Shown: all layers, mean of the heads")
    expect(tab.locator("#part-cross")).to_have_attribute("aria-checked", "true")
    total = len(explanation(SENTENCE, OWN)["steps"])
    expect(tab.locator("#steps .counter")).to_have_text(f"Step {total} of {total}")
