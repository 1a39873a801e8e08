"""A hundred hostile texts through source, target, tokens, names of languages and the address: they show themselves."""

import re
from urllib.parse import quote

import pytest
import stand_in
from fake_explanation import explanation
from payloads import PAYLOADS
from pictures import wait_for_pictures
from playwright.sync_api import expect

from regard.web import self_contained_page

pytestmark = pytest.mark.slow

FOREIGN = (
    "img, iframe, object, embed, base, video, math, form:not(.question, .add-term), body script, style, "
    + ", ".join(f"[{name}]" for name in ("onerror", "onload", "onfocus", "ontoggle", "srcdoc"))
)


def harmless(tab, own=0):
    """Whether the page holds nothing but its own, now: ask when it has shown what might have done harm."""
    return tab.locator(FOREIGN).count() == own


def of_tokens(payloads):
    """An explanation whose tokens, words, candidates and beam are the payloads themselves."""
    given = explanation(" ".join("word" for _ in payloads), " ".join("mot" for _ in payloads), heads=1, layers=(1, 1))
    for side in ("source", "target"):
        given[side]["text"] = " ".join(payloads)
        given[side]["tokens"][:-1] = payloads
        for word, payload in zip(given[side]["words"], payloads, strict=False):
            word["text"] = payload
    given["target"]["read"][1:] = payloads
    given["model"] |= {"name": payloads[0], "source_language": payloads[1], "target_language": payloads[2]}
    given["attribution"]["method"] = payloads[3]
    given["positions"]["kind"] = payloads[4]
    for index, step in enumerate(given["steps"][:-1]):
        step["token"] = payloads[index]
        step["candidates"][0]["token"] = payloads[index]
    given["alternatives"] = [{"text": payload, "score": -1.0} for payload in payloads]
    for node in given["beam"]["nodes"]:
        node["token"] = payloads[node["step"] % len(payloads)]
    return given


def test_as_source_and_translation(show, monkeypatch):
    monkeypatch.setitem(stand_in.LIMITS, "characters", 100_000)
    tab = show()
    text = "\n".join(payload.replace(".", "·") for payload in PAYLOADS)
    tab.locator("#source-text").fill(text)
    tab.locator("#alternatives .alternative").first.wait_for()
    assert tab.locator("#translation").evaluate("node => node.textContent") == text
    assert tab.locator(".mirror").evaluate("node => node.textContent") == text + "\u200b"
    assert harmless(tab)


def test_as_names_of_languages(show, service):
    model = service.models[0]
    service.models = [model | {"source": f"x{n}", "source_name": text} for n, text in enumerate(PAYLOADS)]
    tab = show()
    expect(tab.locator("#source-language option")).to_have_text(PAYLOADS)
    tab.locator("#view-inside").click()
    expect(tab.locator("#inside-pair option")).to_have_text([f"{payload} to French" for payload in PAYLOADS])
    assert harmless(tab)


def test_as_codes_of_languages_and_names_in_chinese(show, service):
    model = service.models[0]
    service.models = [model | {"source": text, "source_name": text} for text in PAYLOADS]
    tab = show(locale="zh-CN")
    expect(tab.locator("#source-language option")).to_have_text(PAYLOADS)
    assert harmless(tab)


@pytest.mark.parametrize("drawing", ["heat", "lines"])
def test_as_tokens_of_one_file(new_tab, tmp_path, drawing):
    path = tmp_path / "page.html"
    path.write_text(self_contained_page(of_tokens(PAYLOADS)), encoding="utf-8")
    tab = new_tab("file:")
    tab.goto(path.as_uri() + f"#drawing={drawing}")
    tab.locator(f"#attention-figure svg.{drawing}").wait_for()
    titles = tab.locator("#attention-figure svg title").evaluate_all("nodes => nodes.map((node) => node.textContent)")
    assert titles.count(PAYLOADS[0]) == 2
    assert set(PAYLOADS) <= set(titles)
    tab.locator("#attention-figure-table").click()
    expect(tab.locator("#attention-figure thead th")).to_have_text([*PAYLOADS, "</s>"])
    expect(tab.locator(".said")).to_have_text(" ".join(PAYLOADS))
    expect(tab.locator("#others li span:first-child")).to_have_text(PAYLOADS)
    expect(tab.locator(".facts dd").first).to_have_text(PAYLOADS[0])
    expect(tab.locator("#reasons .card p").first).to_contain_text(PAYLOADS[3])
    tab.locator("#beam-table").click()
    tab.locator(".beam-figure table").wait_for()
    told = tab.locator(".beam-figure tbody td:nth-child(2)").evaluate_all(
        "nodes => nodes.map((node) => node.textContent)"
    )
    assert set(PAYLOADS) <= set(told)
    for number in range(1, len(PAYLOADS), 7):
        tab.locator("#step").fill(str(number))
        expect(tab.locator(".candidates .taken .token")).to_have_text(PAYLOADS[number - 1])
    assert harmless(tab, own=3)  # the style, the data and the script of the file itself
    with tab.expect_download() as waiting:
        tab.locator("#attention-figure").get_by_role("button", name="as SVG").click()
    assert not re.search(rb"<(script|img|iframe)", waiting.value.path().read_bytes())


def test_as_address_source_and_given_target(show, service):
    tab = show("#view=inside")
    tab.locator("#inside-source").wait_for()
    for payload in PAYLOADS:
        address = f"#view=inside&source=en&target=fr&text={quote(payload)}&translation={quote(payload)}"
        tab.evaluate("address => { location.hash = address; }", address)
        for side in ("source", "target"):
            expect(tab.locator(f"#inside-{side}")).to_have_value(payload)
    wait_for_pictures(tab)
    assert harmless(tab)
    for number, payload in enumerate(PAYLOADS):
        address = f"#view=inside&translation={number}&part={payload}&text={payload}"
        tab.evaluate("address => { location.hash = address; }", address)
        expect(tab.locator("#inside-target")).to_have_value(str(number))
    wait_for_pictures(tab)
    assert harmless(tab)
    assert service.asked("/api/explain")
