"""The page in a real browser: drawn without an error, by keyboard too, and with every text shown as itself."""

import pytest
from attention_examples import maps_of
from browsing import browser, new_tab, starting
from playwright.sync_api import expect
from test_page import pronoun_example

from regard.explain.page import AttentionPage, CellBar, Note, Section, SentenceView, ShareBar, Text, write_page

pytestmark = pytest.mark.slow
__all__ = ["browser", "new_tab"]

PAYLOADS = ["<img src=x onerror=alert(1)>", "</script><script>alert(1)</script>", "&lt;b&gt;", "javascript:alert(1)"]


@pytest.fixture
def open_page(new_tab, tmp_path):
    """Open a page from the disk; after the test, nothing may have been complained of."""

    def open_it(page, **options):
        path = write_page(page, tmp_path / "page.html")
        tab = new_tab("file:", **options)
        tab.goto(path.as_uri())
        return tab

    return open_it


def readout(tab, view):
    """The sentence under the lines of the first or the second sentence."""
    return tab.locator(".lines .readout").nth(view)


def test_it_opens_on_the_pronoun_and_its_nouns(open_page):
    tab = open_page(pronoun_example())
    expect(tab.locator("h1")).to_have_text("Which noun does “it” mean?")
    expect(tab.locator(".lines .readout")).to_have_text(
        [starting("“tired” looks at “animal” 80 %"), starting("“wide” looks at “street” 70 %")]
    )
    expect(tab.locator(".chain").first).to_have_text("il looks at 90 %tired looks at 80 %animal")
    chosen = tab.locator(".thumb[aria-checked=true]").first
    expect(chosen).to_have_attribute("aria-label", starting("layer 2, head 1"))


def test_arrow_keys_choose_heads_and_words(open_page):
    tab = open_page(pronoun_example())
    tab.locator(".thumb[aria-checked=true]").first.focus()
    tab.keyboard.press("ArrowRight")
    expect(tab.locator(".chosen-head").first).to_have_text("Shown: layer 2, head 2")
    expect(readout(tab, 0)).to_contain_text("“animal” 9 %")
    tab.locator(".asks .word.chosen").first.focus()
    tab.keyboard.press("ArrowUp")
    expect(readout(tab, 1)).to_have_text(starting("“was” looks at"))


def test_pointing_isolates_a_word_and_leaving_brings_the_pronoun_back(open_page):
    tab = open_page(pronoun_example())
    tab.locator(".seen .word").nth(1).hover()
    expect(readout(tab, 0)).to_have_text(starting("“animal” is seen by “tired” 80 %"))
    tab.mouse.move(5, 5)
    expect(readout(tab, 0)).to_have_text(starting("“tired” looks at"))


def test_the_heat_map_is_read_by_arrow_keys(open_page):
    tab = open_page(pronoun_example())
    tab.locator("svg.heat").first.focus()
    tab.keyboard.press("ArrowDown")
    tab.keyboard.press("ArrowRight")
    expect(tab.locator(".map .readout").first).to_have_text(starting("“qu'” is written while looking at “animal”"))


def test_tables_say_the_same(open_page):
    tab = open_page(pronoun_example())
    tab.locator("summary").first.click()
    row = tab.locator("table").first.locator("tbody tr").nth(8)
    expect(row.locator("th")).to_have_text("tired")
    expect(row.locator("td").nth(1)).to_have_text("80 %")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_a_phone(open_page, scheme):
    tab = open_page(pronoun_example(), width=390, scheme=scheme)
    expect(tab.locator(".thumb[aria-checked=true]")).to_have_count(2)
    assert tab.evaluate("document.documentElement.scrollWidth") == 390


@pytest.mark.parametrize("payload", PAYLOADS)
def test_hostile_text_is_shown_as_itself(open_page, payload):
    word = payload.replace(" ", "_")
    maps = maps_of(f"{word} b </s>", f"{word} </s>")
    view = SentenceView(
        payload, f"{word} b", word, maps, {0: "a"}, {0: "a"}, {0: "a"}, 0, [ShareBar(word, "a", 0.5, 0.1)]
    )
    bar = CellBar(payload, 0, 0, "a")
    sections = [Section("encoder", "lines", payload, payload, bars=[bar]), Section("cross", "heat", payload, payload)]
    page = AttentionPage(
        payload,
        payload,
        ("en", "fr"),
        [[Text(payload, "a")]],
        [view],
        sections,
        [Note(payload, payload)],
        [(payload, payload)],
    )
    tab = open_page(page)
    expect(tab).to_have_title(payload)
    expect(tab.locator("h1")).to_have_text(payload)
    expect(tab.locator(".asks .word").first).to_have_text(word)
    expect(tab.locator("svg.heat .name").first).to_have_text(word)
    tab.locator("summary").first.click()
    expect(tab.locator("tbody th").first).to_have_text(word)
    assert tab.locator("img, script:not([id])").count() == 1
