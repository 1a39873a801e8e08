"""LibreTranslate's API: its public clients work unchanged, and errors are in its words and with its codes."""

import asyncio
from collections.abc import Iterator
from urllib.error import HTTPError

import pytest
from http_world import http, make_service, obedient, serving
from libretranslate_aio import AsyncLibreTranslate, BadRequestError, ForbiddenError, LibreTranslate
from libretranslatepy import LibreTranslateAPI

from regard.search.translator import Translator


@pytest.fixture(scope="module")
def address(plain_translator: Translator) -> Iterator[str]:
    with serving(make_service(obedient(plain_translator))) as found:
        yield found


def test_libretranslatepy(address: str) -> None:
    client = LibreTranslateAPI(address)
    assert client.translate("The cat sleeps.", "en", "fr") == "THE CAT SLEEPS."
    assert (
        client.translate("One thing. Another thing!\n\n- a list", "en", "fr") == "ONE THING. ANOTHER THING!\n\n- A LIST"
    )
    assert client.languages() == [
        {"code": "en", "name": "English", "targets": ["fr"]},
        {"code": "fr", "name": "French", "targets": []},
    ]
    found = client.detect("le chat mange des pommes")
    assert found[0]["language"] == "fr"
    assert 50 < found[0]["confidence"] <= 100
    with pytest.raises(HTTPError) as refused:
        client.translate("The cat sleeps.", "en", "zz")
    assert refused.value.code == 400


def test_libretranslate_aio(address: str) -> None:
    async def play() -> None:
        async with AsyncLibreTranslate(address) as client:
            assert await client.health()
            found = await client.translate("The cat sleeps.", "auto", "fr", alternatives=2)
            assert found.translated_text == "THE CAT SLEEPS."
            assert found.alternatives == []
            assert found.detected_language.language == "en"
            both = await client.translate(["One cat.", "Two dogs."], "en", "fr")
            assert both.translated_text == ["ONE CAT.", "TWO DOGS."]
            assert both.detected_language is both.alternatives is None
            [likeliest, *_] = await client.detect("the dog sees what my friend likes")
            assert likeliest.language == "en"
            assert [each.code for each in await client.languages()] == ["en", "fr"]
            settings = await client.frontend_settings()
            assert (settings.char_limit, settings.key_required, settings.language.target.name) == (
                2000,
                False,
                "French",
            )
            with pytest.raises(BadRequestError, match="zz is not supported"):
                await client.translate("x", "en", "zz")
            with pytest.raises(ForbiddenError, match="disabled"):
                await client.suggest("a", "b", "en", "fr")

    asyncio.run(play())
    with LibreTranslate(address) as client:
        assert client.translate("The cat sleeps.", "en", "fr").translated_text == "THE CAT SLEEPS."


def test_lists_answer_with_lists(address: str) -> None:
    body = {"q": ["the cat", "", "  \n", "😀"], "source": "auto", "target": "fr", "alternatives": 1}
    told = http.post(f"{address}/translate", json=body).json()
    assert told["translatedText"] == ["THE CAT", "", "  \n", "😀"]
    assert told["alternatives"] == [[], [], [], []]
    assert [each["language"] for each in told["detectedLanguage"]] == ["en"] * 4
    one = http.post(f"{address}/translate", json={"q": ["the cat"], "source": "en", "target": "fr"}).json()
    assert one == {"translatedText": ["THE CAT"]}


def test_texts_of_a_list_are_taken_for_one_language(address: str) -> None:
    body = {"q": ["le chat", "the dog sees what my friend likes"], "source": "auto", "target": "fr"}
    told = http.post(f"{address}/translate", json=body).json()
    assert [each["language"] for each in told["detectedLanguage"]] == ["en", "en"]


def test_fields_that_it_does_not_know_are_not_looked_at(address: str) -> None:
    body = {"q": "the cat", "source": "en", "target": "fr", "secret": "x", "model": {"a": [1]}, "files": None}
    assert http.post(f"{address}/translate", json=body).json() == {"translatedText": "THE CAT"}
    form = {"q": "the cat", "source": "en", "target": "fr", "secret": "x", "lang": ["en", "fr"]}
    assert http.post(f"{address}/translate", data=form).json() == {"translatedText": "THE CAT"}
    assert http.post(f"{address}/detect", json={"q": "the cat", "secret": 7}).status_code == 200
    spec = http.get(f"{address}/spec").json()["components"]["schemas"]
    assert "additionalProperties" not in spec["TranslateGiven"]
    assert spec["RichTranslateGiven"]["additionalProperties"] is False


def test_text_in_the_target_language_comes_back(address: str) -> None:
    body = {"q": "le chat mange des pommes", "source": "auto", "target": "fr"}
    told = http.post(f"{address}/translate", json=body).json()
    assert told["translatedText"] == body["q"]
    assert told["detectedLanguage"]["language"] == "fr"


def test_forms_of_both_kinds_and_the_address(address: str) -> None:
    fields = {"q": "été\r\nthe cat", "source": "en", "target": "fr"}
    for sent in ({"data": fields}, {"files": {name: (None, value) for name, value in fields.items()}}):
        assert http.post(f"{address}/translate", **sent).json() == {"translatedText": "ÉTÉ\nTHE CAT"}
    told = http.post(f"{address}/translate", params=fields)
    assert told.json() == {"translatedText": "ÉTÉ\nTHE CAT"}
    text, languages = fields.pop("q"), fields
    for sent in ({"data": {"q": text}}, {"files": {"q": (None, text)}}):
        told = http.post(f"{address}/translate", params=languages, **sent)
        assert told.json() == {"translatedText": "ÉTÉ\nTHE CAT"}


def test_html_keeps_its_tags(address: str) -> None:
    html = '<p class="a">the <b>cat</b> eats.</p><script>if (a < b) {}</script><p translate="no">the dog</p>'
    told = http.post(f"{address}/translate", json={"q": html, "source": "en", "target": "fr", "format": "html"}).json()
    text = told["translatedText"]
    assert text.startswith('<p class="a">')
    assert text.endswith('</p><script>if (a < b) {}</script><p translate="no">the dog</p>')
    assert text.count("<b>") == text.count("</b>") == 1
    assert text.replace("<b>", "").replace("</b>", "").startswith('<p class="a">THE CAT EATS.</p>')


ERRORS = {
    "no q": ({"source": "en", "target": "fr"}, "Invalid request: missing q parameter"),
    "empty list": ({"q": [], "source": "en", "target": "fr"}, "Invalid request: missing q parameter"),
    "no source": ({"q": "x", "target": "fr"}, "Invalid request: missing source parameter"),
    "no target": ({"q": "x", "source": "en"}, "Invalid request: missing target parameter"),
    "source": ({"q": "x", "source": "zz", "target": "fr"}, "zz is not supported"),
    "target": ({"q": "x", "source": "en", "target": "zz"}, "zz is not supported"),
    "odd target": ({"q": "x", "source": "en", "target": "<b>"}, "that language is not supported"),
    "wrong way": (
        {"q": "x", "source": "fr", "target": "en"},
        "English (en) is not available as a target language from French (fr)",
    ),
    "format": ({"q": "x", "source": "en", "target": "fr", "format": "xml"}, "xml format is not supported"),
    "alternatives": (
        {"q": "x", "source": "en", "target": "fr", "alternatives": "abc"},
        "Invalid request: alternatives parameter is not a number",
    ),
    "many alternatives": (
        {"q": "x", "source": "en", "target": "fr", "alternatives": 11},
        "Invalid request: alternatives parameter must be <= 10",
    ),
    "too long": (
        {"q": "x" * 2001, "source": "en", "target": "fr"},
        "Invalid request: request (2001) exceeds text limit (2000)",
    ),
    "too many": (
        {"q": ["x"] * 51, "source": "en", "target": "fr"},
        "Invalid request: request (51) exceeds text limit (50)",
    ),
    "types": ({"q": [1], "source": "en", "target": "fr"}, "Invalid request: q parameter is not a list of texts"),
    "more types": ({"q": "x", "source": ["en"], "target": "fr"}, "Invalid request: source parameter is not a text"),
    "list as body": (["x"], "Invalid JSON format"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_are_its_own(address: str, name: str) -> None:
    body, sentence = ERRORS[name]
    told = http.post(f"{address}/translate", json=body)
    assert told.status_code == 400
    assert told.json() == {"error": sentence}


def test_head_is_get_without_a_body(address: str) -> None:
    paths = (
        "/", "/static/app.js", "/languages", "/health", "/frontend/settings", "/spec", "/openapi.json", "/docs",
        "/docs/style.css", "/api/models",
    )  # fmt: skip
    for path in paths:
        got, headed = http.get(address + path), http.head(address + path)
        assert (headed.status_code, headed.content) == (200, b"")
        assert headed.headers["content-length"] == str(len(got.content))
        assert headed.headers["content-type"] == got.headers["content-type"]
    assert http.head(f"{address}/metrics").status_code == 200
    assert http.head(f"{address}/nowhere").status_code == 404
    assert http.head(f"{address}/translate").status_code == 405
    assert http.head(f"{address}/translate").headers["allow"] == "POST"
    assert http.delete(f"{address}/health").headers["allow"] == "GET, HEAD"
    assert not any("head" in operations for operations in http.get(f"{address}/spec").json()["paths"].values())


def test_every_error_has_the_same_form(address: str) -> None:
    for method, path, status in (
        ("GET", "/nowhere", 404),
        ("GET", "/translate", 405),
        ("DELETE", "/", 405),
        ("POST", "/translate_file", 403),
    ):
        told = http.request(method, address + path)
        assert told.status_code == status
        assert list(told.json()) == ["error"]


def test_detect_refuses_what_is_no_text(address: str) -> None:
    for body in ({}, {"q": ""}, {"q": 7}, {"q": ["x"]}, {"q": "x", "api_key": ["x"]}):
        assert http.post(f"{address}/detect", json=body).status_code == 400
    assert http.post(f"{address}/detect", json={"q": "12 34"}).json()[0]["confidence"] == 0


def test_the_description_and_its_page(address: str) -> None:
    spec = http.get(f"{address}/spec").json()
    assert spec["openapi"].startswith("3.")
    assert {"/translate", "/detect", "/languages", "/api/translate", "/api/stream", "/api/explain"} <= set(
        spec["paths"]
    )
    names = {name for path in spec["paths"].values() for each in path.values() for name in _references(each)}
    assert names <= spec["components"]["schemas"].keys()
    page = http.get(f"{address}/docs")
    assert "<script" not in page.text
    assert "style=" not in page.text
    assert "/api/stream" in page.text
    assert http.get(f"{address}/docs/style.css").headers["content-type"].startswith("text/css")


def _references(value: object) -> set[str]:
    if isinstance(value, dict):
        own = {value["$ref"].rsplit("/", 1)[-1]} if "$ref" in value else set()
        return own.union(*(_references(inner) for inner in value.values()))
    return set().union(*(_references(inner) for inner in value)) if isinstance(value, list) else set()
