"""The page in a real browser: drawn without an error, by keyboard too, and with every text shown as itself."""

import pytest
from attention_examples import maps_of
from browsing import browser, new_tab
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


def shown_readouts(tab):
    return [text.replace("\u00a0", " ") for text in tab.locator(".lines .readout").all_text_contents()]


def test_it_opens_on_the_pronoun_and_its_nouns(open_page):
    tab = open_page(pronoun_example())
    assert tab.locator("h1").text_content() == "Which noun does “it” mean?"
    first, second = shown_readouts(tab)
    assert first.startswith("“tired” looks at “animal” 80 %")
    assert second.startswith("“wide” looks at “street” 70 %")
    chain = tab.locator(".chain").first.text_content().replace("\u00a0", " ")
    assert chain == "il looks at 90 %tired looks at 80 %animal"
    assert tab.locator(".thumb[aria-checked=true]").first.get_attribute("aria-label").startswith("layer 2, head 1")


def test_arrow_keys_choose_heads_and_words(open_page):
    tab = open_page(pronoun_example())
    tab.locator(".thumb[aria-checked=true]").first.focus()
    tab.keyboard.press("ArrowRight")
    assert tab.locator(".chosen-head").first.text_content() == "Shown: layer 2, head 2"
    assert "“animal” 9 %" in shown_readouts(tab)[0]
    tab.locator(".asks .word.chosen").first.focus()
    tab.keyboard.press("ArrowUp")
    assert shown_readouts(tab)[1].startswith("“was” looks at")


def test_pointing_isolates_a_word_and_leaving_brings_the_pronoun_back(open_page):
    tab = open_page(pronoun_example())
    tab.locator(".seen .word").nth(1).hover()
    assert shown_readouts(tab)[0].startswith("“animal” is seen by “tired” 80 %")
    tab.mouse.move(5, 5)
    assert shown_readouts(tab)[0].startswith("“tired” looks at")


def test_the_heat_map_is_read_by_arrow_keys(open_page):
    tab = open_page(pronoun_example())
    tab.locator("svg.heat").first.focus()
    tab.keyboard.press("ArrowDown")
    tab.keyboard.press("ArrowRight")
    assert tab.locator(".map .readout").first.text_content().startswith("“qu'” is written while looking at “animal”")


def test_tables_say_the_same(open_page):
    tab = open_page(pronoun_example())
    tab.locator("summary").first.click()
    row = tab.locator("table").first.locator("tbody tr").nth(8)
    assert row.locator("th").text_content() == "tired"
    assert row.locator("td").nth(1).text_content().replace("\u00a0", " ") == "80 %"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_a_phone(open_page, scheme):
    tab = open_page(pronoun_example(), width=390, scheme=scheme)
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
    assert tab.title() == payload
    assert tab.locator("h1").text_content() == payload
    assert tab.locator(".asks .word").first.text_content() == word
    assert tab.locator("svg.heat .name").first.text_content() == word
    tab.locator("summary").first.click()
    assert tab.locator("tbody th").first.text_content() == word
    assert tab.locator("img, script:not([id])").count() == 1
