"""The Translate view in a real browser: what is typed, what forms, what belongs together, what goes wrong."""

import re

import pytest
import stand_in

pytestmark = pytest.mark.slow
REFUSED = "Failed to load resource"


def said(locator):
    return locator.text_content().replace("\u00a0", " ")


def test_a_text_is_streamed_and_then_told_in_full(translate, service):
    tab = translate()
    assert said(tab.locator("#translation")) == "le chat dort."
    assert said(tab.locator("#translation-heard")) == "le chat dort."
    expected = {"text": "The cat sleeps.", "source": "en", "target": "fr", "glossary": [], "keep_spans": True}
    assert service.asked("/api/stream") == [expected]
    assert service.asked("/api/translate") == [expected | {"best": 4, "alignment": True}]
    assert said(tab.locator("#counter")) == "15 of 200 characters"
    tab.locator("#clear").click()
    assert said(tab.locator("#translation")) == "The translation will form here"
    assert tab.locator("#alternatives").is_hidden()


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
    tab.locator("#source-text").fill("The dog sleeps.")
    tab.locator("#alternatives .alternative").first.wait_for()
    service.go_on.set()
    tab.wait_for_timeout(300)
    assert said(tab.locator("#translation")) == "le chien dort."
    assert [body["text"] for body in service.asked("/api/translate")] == ["The dog sleeps."]


def test_a_word_shows_what_it_came_from_and_the_other_way_round(translate):
    tab = translate("The cat sleeps. A dog eats 🙂 an apple!")
    word = tab.locator("#translation .said-word", has_text="pomme")
    word.hover()
    assert tab.locator(".mirror .linked").all_text_contents() == ["apple"]
    assert said(tab.locator(".writing .readout")) == "“pomme” comes from “apple”; the model was 20 % sure of it."
    tab.locator(".mirror span", has_text="cat").evaluate("node => node.scrollIntoView()")
    box = tab.locator(".mirror span", has_text="cat").bounding_box()
    tab.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert tab.locator("#translation .linked").all_text_contents() == ["chat"]
    assert said(tab.locator(".writing .readout")) == "“cat” became “chat”."
    tab.mouse.move(2, 2)
    assert tab.locator(".linked").count() == 0


def test_keys_go_from_word_to_word_on_both_sides(translate):
    tab = translate()
    tab.locator("#source-text").press("Control+Home")
    tab.locator("#source-text").press("Control+ArrowRight")
    assert tab.locator("#translation .linked").all_text_contents() in (["le"], ["chat"])
    tab.locator("#translation .said-word").first.focus()
    tab.keyboard.press("ArrowRight")
    assert tab.locator("#translation .pointed").text_content() == "chat"
    assert tab.locator("#translation [tabindex='0']").count() == 1
    assert tab.locator(".mirror .linked").all_text_contents() == ["cat"]
    assert "the model was" in tab.locator("#translation .pointed").get_attribute("aria-label")


def test_doubt_is_shown_by_more_than_colour(translate):
    tab = translate()
    style = "node => getComputedStyle(node).textDecorationLine + ' ' + getComputedStyle(node).textDecorationStyle"
    kinds = {
        kind: {node.evaluate(style) for node in tab.locator(f".said-word.{kind}").all()}
        for kind in ("sure", "fair", "doubtful")
    }
    assert kinds == {"sure": {"none solid"}, "fair": {"underline dotted"}, "doubtful": {"underline solid"}}
    assert "nobody has calibrated" in said(tab.locator("#confidence"))


def test_another_translation_can_be_taken_and_copied(translate):
    tab = translate(permissions=["clipboard-read", "clipboard-write"])
    assert tab.locator(".alternative").count() == 4
    assert tab.locator(".alternative").nth(1).locator("em").all_text_contents() == ["chats"]
    tab.locator(".alternative").first.focus()
    tab.keyboard.press("ArrowDown")
    assert said(tab.locator("#translation")) == "le chats dort."
    assert tab.locator(".alternative[aria-checked=true]").get_attribute("id") == "alternative-1"
    tab.locator("#copy").click()
    assert tab.evaluate("navigator.clipboard.readText()") == "le chats dort."
    assert said(tab.locator("#copy + input + .copied")) == "Copied."


def test_sentences_are_parted_as_the_target_has_it(translate, monkeypatch):
    made = stand_in._sentence
    monkeypatch.setattr(stand_in, "_sentence", lambda *given: {**made(*given), "target_before": ""})
    tab = translate("The cat sleeps. The dog eats.", permissions=["clipboard-read", "clipboard-write"])
    assert said(tab.locator("#translation")) == "le chat dort.le chien mange."
    tab.locator(".alternative").nth(1).click()
    tab.locator("#copy").click()
    assert tab.evaluate("navigator.clipboard.readText()") == said(tab.locator("#translation"))


def test_languages_can_be_swapped_where_the_other_way_is_served(translate, service):
    tab = translate()
    tab.locator("#swap").click()
    tab.locator("#translation", has_text="le chat dort.").wait_for()
    assert tab.locator("#source-text").input_value() == "le chat dort."
    assert tab.locator("#source-language").input_value() == "fr"
    assert service.asked("/api/translate")[-1]["target"] == "en"
    assert tab.locator("#source-text").get_attribute("lang") == "fr"


def test_without_a_model_for_it_there_is_no_swap(translate, service):
    service.models = service.models[:1]
    tab = translate()
    assert tab.locator("#swap").is_disabled()
    assert tab.locator("#swap").get_attribute("aria-label") == "No model for the other way round is served here"


def test_a_glossary_is_used_and_kept(translate, service):
    tab = translate()
    tab.locator("#glossary-title").click()
    tab.locator("#term-source").fill("cat")
    tab.locator("#add-term").click()
    assert said(tab.locator(".glossary [role=status]")) == "A term needs both sides."
    tab.locator("#term-target").fill("matou")
    tab.keyboard.press("Enter")
    tab.locator("#translation", has_text="le matou dort.").wait_for()
    tab.locator(".term-state", has_text="used").wait_for()
    tab.reload()
    tab.locator(".terms li").wait_for()
    assert said(tab.locator("#glossary-title")) == "Glossary (1)"
    for term in ("a", "b", "c"):
        tab.locator("#term-source").fill(term)
        tab.locator("#term-target").fill(term)
        tab.keyboard.press("Enter")
    assert said(tab.locator(".glossary [role=status]")) == "The service takes 3 terms at the most."
    tab.get_by_role("button", name="Remove “cat”").click()
    assert tab.locator(".terms li").count() == 2


def test_a_busy_service_is_asked_again(show, service):
    service.busy = 1
    tab = show(expected=REFUSED)
    tab.locator("#source-text").fill("The cat sleeps.")
    tab.locator(".status", has_text="Another try in 1 s.").wait_for()
    tab.locator("#translation", has_text="le chat dort.").wait_for()
    assert tab.locator(".status").is_hidden()


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
    assert tab.locator("#counter.over").is_visible()
    assert service.requests == []


def test_no_model_is_said(show, service):
    service.models = []
    service.models.clear()
    tab = show()
    tab.locator(".status", has_text="No model is served here.").wait_for()
