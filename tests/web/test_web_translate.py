"""The Translate view in a real browser: what is typed, what forms, what belongs together, what goes wrong."""

import re

import pytest
import stand_in
from browsing import stop_clock
from playwright.sync_api import expect

pytestmark = pytest.mark.slow
REFUSED = "Failed to load resource"
ANSWERED = {"translate": "#alternatives .alternative", "inside": "#steps"}
"""What is there when a view has its answer."""


def copied(tab):
    """Press the button that copies; what it says, it says for four seconds; then what the clipboard holds."""
    note = tab.locator("#copy + input + .copied")
    stop_clock(tab)
    tab.locator("#copy").click()
    expect(note).to_have_text("Copied.")
    tab.clock.run_for(4000)
    expect(note).to_have_text("")
    return tab.evaluate("navigator.clipboard.readText()")


def ask(tab, view):
    """Ask for a translation, or for an explanation; the path that is asked for it first."""
    if view == "inside":
        tab.locator("#view-inside").click()
        tab.locator("#inside-source").fill("The cat sleeps.")
        tab.locator("#look").click()
        return "/api/explain"
    tab.locator("#source-text").fill("The cat sleeps.")
    tab.clock.run_for(1000)
    return "/api/stream"


def test_a_text_is_streamed_and_then_told_in_full(translate, service):
    tab = translate()
    expect(tab.locator("#translation")).to_have_text("le chat dort.")
    expect(tab.locator("#translation-heard")).to_have_text("le chat dort.")
    expected = {"text": "The cat sleeps.", "source": "en", "target": "fr", "glossary": [], "keep_spans": True}
    assert service.asked("/api/stream") == [expected]
    assert service.asked("/api/translate") == [expected | {"best": 4, "alignment": True}]
    expect(tab.locator("#counter")).to_have_text("15 of 200 characters")
    tab.locator("#clear").click()
    expect(tab.locator("#translation")).to_have_text("The translation will form here")
    expect(tab.locator("#alternatives")).to_be_hidden()


def test_it_is_seen_as_it_forms(show, service):
    service.hold = 3
    tab = show()
    tab.locator("#source-text").fill("The cat eats an apple.")
    tab.locator("#translation.forming", has_text=re.compile("^le chat mange$")).wait_for()
    service.go_on.set()
    tab.locator("#translation:not(.forming)", has_text=re.compile("^le chat mange une pomme.$")).wait_for()


def test_newer_text_ends_older_work(show, service):
    service.hold = 1
    tab = show()
    tab.locator("#source-text").fill("The cat sleeps.")
    tab.locator("#translation.forming").wait_for()
    service.hold = None
    with tab.expect_event("requestfailed", lambda request: request.url.endswith("/api/stream")) as given_up:
        tab.locator("#source-text").fill("The dog sleeps.")
    assert given_up.value.post_data_json["text"] == "The cat sleeps."
    tab.locator("#alternatives .alternative").first.wait_for()
    service.go_on.set()
    tab.locator("#source-text").fill("The cat eats.")
    tab.locator("#alternatives .alternative").first.wait_for()
    expect(tab.locator("#translation")).to_have_text("le chat mange.")
    assert [body["text"] for body in service.asked("/api/translate")] == ["The dog sleeps.", "The cat eats."]


def test_a_word_shows_what_it_came_from_and_the_other_way_round(translate):
    tab = translate("The cat sleeps. A dog eats 🙂 an apple!")
    word = tab.locator("#translation .said-word", has_text="pomme")
    word.hover()
    readout = tab.locator(".writing .readout")
    expect(tab.locator(".mirror .linked")).to_have_text(["apple"])
    expect(readout).to_have_text("“pomme” comes from “apple”; the model was 20 % sure of it.")
    tab.locator(".mirror span", has_text="cat").evaluate("node => node.scrollIntoView()")
    box = tab.locator(".mirror span", has_text="cat").bounding_box()
    tab.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    expect(tab.locator("#translation .linked")).to_have_text(["chat"])
    expect(readout).to_have_text("“cat” became “chat”.")
    tab.mouse.move(2, 2)
    expect(tab.locator(".linked")).to_have_count(0)


def test_keys_go_from_word_to_word_on_both_sides(translate):
    tab = translate()
    tab.locator("#source-text").press("Control+Home")
    tab.locator("#source-text").press("Control+ArrowRight")
    expect(tab.locator("#translation .linked")).to_have_text([re.compile("^(le|chat)$")])
    tab.locator("#translation .said-word").first.focus()
    tab.keyboard.press("ArrowRight")
    expect(tab.locator("#translation .pointed")).to_have_text(["chat"])
    expect(tab.locator("#translation [tabindex='0']")).to_have_text(["chat"])
    expect(tab.locator(".mirror .linked")).to_have_text(["cat"])
    expect(tab.locator("#translation .pointed")).to_have_attribute("aria-label", re.compile("the model was"))


def test_doubt_is_shown_by_more_than_colour(translate):
    tab = translate()
    style = "node => getComputedStyle(node).textDecorationLine + ' ' + getComputedStyle(node).textDecorationStyle"
    kinds = {
        kind: {node.evaluate(style) for node in tab.locator(f".said-word.{kind}").all()}
        for kind in ("sure", "fair", "doubtful")
    }
    assert kinds == {"sure": {"none solid"}, "fair": {"underline dotted"}, "doubtful": {"underline solid"}}
    expect(tab.locator("#confidence")).to_contain_text("nobody has calibrated")


def test_what_nobody_knows_is_not_shown_as_sure(translate):
    tab = translate()
    legend, words = tab.locator(".sureness li:visible"), tab.locator("#translation .said-word")
    expect(legend).to_have_text(["sure", "under 60 %", "under 30 %"])
    tab.locator("#source-text").fill("The cat sleeps. The {dog} eats.")
    tab.locator("#alternatives .alternative", has_text="le chat").first.wait_for()
    expect(legend).to_have_text(["sure", "under 60 %", "under 30 %", "not known"])
    expect(tab.locator("#translation .said-word.unknown")).to_have_text(["le", "{", "chien", "}", "mange", "."])
    dog, told = words.nth(6), "“chien” comes from “dog”; how sure the model was of it is not known."
    expect(dog).to_have_css("text-decoration-style", "dashed")
    expect(dog).to_have_attribute("aria-label", told)
    dog.hover()
    expect(tab.locator(".writing .readout")).to_have_text(told)
    tab.locator("#source-text").fill("The cat sleeps.")
    expect(legend).to_have_text(["sure", "under 60 %", "under 30 %"])


def test_another_translation_can_be_taken_and_copied(translate):
    tab = translate(permissions=["clipboard-read", "clipboard-write"])
    expect(tab.locator(".alternative")).to_have_count(4)
    expect(tab.locator(".alternative").nth(1).locator("em")).to_have_text(["chats"])
    tab.locator(".alternative").first.focus()
    tab.keyboard.press("ArrowDown")
    expect(tab.locator("#translation")).to_have_text("le chats dort.")
    expect(tab.locator(".alternative[aria-checked=true]")).to_have_id("alternative-1")
    assert copied(tab) == "le chats dort."


@pytest.mark.parametrize(("most", "best"), [(0, 1), (1, 2), (10, 4)])
def test_as_many_translations_are_asked_for_as_the_service_allows(show, service, monkeypatch, most, best):
    monkeypatch.setitem(stand_in.LIMITS, "alternatives", most)
    tab = show()
    tab.locator("#source-text").fill("The cat sleeps.")
    expect(tab.locator("#translation-heard")).to_have_text("le chat dort.")
    assert [body["best"] for body in service.asked("/api/translate")] == [best]
    expect(tab.locator(".alternative")).to_have_count(best if best > 1 else 0)


def test_sentences_are_parted_as_the_target_has_it(translate, monkeypatch):
    made = stand_in._sentence
    monkeypatch.setattr(stand_in, "_sentence", lambda *given: {**made(*given), "target_before": ""})
    tab = translate("The cat sleeps. The dog eats.", permissions=["clipboard-read", "clipboard-write"])
    expect(tab.locator("#translation")).to_have_text("le chat dort.le chien mange.")
    tab.locator(".alternative").nth(1).click()
    expect(tab.locator("#translation")).to_have_text("le chats dort.le chien mange.")
    assert copied(tab) == "le chats dort.le chien mange."


def test_languages_can_be_swapped_where_the_other_way_is_served(translate, service):
    tab = translate()
    tab.locator("#swap").click()
    expect(tab.locator("#source-language")).to_have_value("fr")
    expect(tab.locator("#source-text")).to_have_value("le chat dort.")
    expect(tab.locator("#source-text")).to_have_attribute("lang", "fr")
    tab.locator("#alternatives .alternative").first.wait_for()
    expect(tab.locator("#translation")).to_have_text("le chat dort.")
    assert [body["target"] for body in service.asked("/api/translate")] == ["fr", "en"]


def test_without_a_model_for_it_there_is_no_swap(translate, service):
    service.models = service.models[:1]
    tab = translate()
    expect(tab.locator("#swap")).to_be_disabled()
    expect(tab.locator("#swap")).to_have_attribute("aria-label", "No model for the other way round is served here")


def test_a_glossary_is_used_and_kept(translate, service):
    tab = translate()
    tab.locator("#glossary-title").click()
    tab.locator("#term-source").fill("cat")
    tab.locator("#add-term").click()
    note, terms = tab.locator(".glossary [role=status]"), tab.locator(".terms li")
    expect(note).to_have_text("A term needs both sides.")
    tab.locator("#term-target").fill("matou")
    tab.keyboard.press("Enter")
    tab.locator("#translation", has_text="le matou dort.").wait_for()
    tab.locator(".term-state", has_text="used").wait_for()
    tab.reload()
    expect(terms).to_have_count(1)
    expect(tab.locator("#glossary-title")).to_have_text("Glossary (1)")
    for term, count in (("a", 2), ("b", 3), ("c", 3)):
        tab.locator("#term-source").fill(term)
        tab.locator("#term-target").fill(term)
        tab.keyboard.press("Enter")
        expect(terms).to_have_count(count)
    expect(note).to_have_text("The service takes 3 terms at the most.")
    tab.get_by_role("button", name="Remove “cat”").click()
    expect(terms).to_have_count(2)


def test_a_busy_service_is_asked_again(show, service):
    service.busy = True
    tab = show(expected=REFUSED)
    tab.locator("#source-text").fill("The cat sleeps.")
    tab.locator(".status", has_text="Another try in 1 s.").wait_for()
    service.busy = False
    tab.locator("#translation", has_text="le chat dort.").wait_for()
    expect(tab.locator(".status")).to_be_hidden()


@pytest.mark.parametrize("view", ["translate", "inside"])
def test_a_service_that_stays_busy_is_not_asked_for_ever(show, service, view):
    service.busy = True
    tab = show(expected=REFUSED)
    stop_clock(tab)
    path = ask(tab, view)
    for asked in range(1, 5):
        tab.locator(".status", has_text="Another try in 1 s.").wait_for()
        assert len(service.asked(path)) == asked
        with tab.expect_response("**" + path):
            tab.clock.run_for(1000)
    tab.locator(".status", has_text="had its hands full at every try").wait_for()
    tab.clock.run_for(3_600_000)
    assert len(service.asked(path)) == 5
    service.busy = False
    tab.locator(f"#{view}-retry").click()
    tab.locator(ANSWERED[view]).first.wait_for()
    expect(tab.locator(".status")).to_be_hidden()
    assert len(service.asked(path)) == 6


@pytest.mark.parametrize("view", ["translate", "inside"])
def test_what_took_too_long_is_told_and_not_asked_again(show, service, view):
    service.late = True
    tab = show(expected=REFUSED)
    stop_clock(tab)
    path = ask(tab, view)
    tab.locator(".status", has_text="The service gave up: Took too long: not done within 30 s").wait_for()
    tab.clock.run_for(3_600_000)
    assert len(service.asked(path)) == 1
    service.late = False
    tab.locator(f"#{view}-retry").click()
    tab.locator(ANSWERED[view]).first.wait_for()
    expect(tab.locator(".status")).to_be_hidden()
    assert len(service.asked(path)) == 2


def test_a_service_that_is_busy_from_the_beginning_is_asked_again(show):
    tab = show(expected=REFUSED)
    tab.route("**/api/models", lambda route: route.fulfill(status=503, headers={"Retry-After": "1"}, body="{}"))
    tab.reload()
    tab.locator(".status", has_text="Another try in 1 s.").wait_for()
    tab.unroute("**/api/models")
    tab.locator("#source-text").wait_for()


def test_a_lost_connection_is_said_and_mended(translate):
    tab = translate(expected=REFUSED)
    tab.context.set_offline(True)
    tab.locator("#source-text").fill("The dog sleeps.")
    tab.locator(".status", has_text="You are offline.").wait_for()
    tab.context.set_offline(False)
    tab.locator("#translation", has_text="le chien dort.").wait_for()


def test_a_key_is_asked_for_and_sent(show, service):
    service.key = "secret"
    tab = show(expected=REFUSED)
    tab.locator("#source-text").fill("The cat sleeps.")
    tab.locator(".status", has_text="does not know this API key").wait_for()
    tab.locator("#api-key").fill("secret")
    tab.keyboard.press("Tab")
    tab.locator("#translation", has_text="le chat dort.").wait_for()
    assert service.requests[-1][1]["api_key"] == "secret"


def test_too_long_a_text_is_not_sent(show, service):
    tab = show()
    tab.locator("#source-text").fill("a" * 201)
    tab.locator(".status", has_text="longer than the service takes").wait_for()
    expect(tab.locator("#counter.over")).to_be_visible()
    assert service.requests == []


def test_no_model_is_said(show, service):
    service.models = []
    service.models.clear()
    tab = show()
    tab.locator(".status", has_text="No model is served here.").wait_for()
