"""Our own endpoints: answers with all their parts, events as a translation forms, and the page."""

import json
import math
from collections.abc import Iterator

import httpx
import pytest
from http_world import http, make_service, serving

from regard.search.translator import Translation, Translator
from regard.serve.answers import rich_answer
from regard.serve.explanation_schemas import ExplanationTold
from regard.serve.pool import Pool
from regard.serve.sentences import Document, Sentence, cut
from regard.text.documents import Part, sentences_of, take_apart


@pytest.fixture(scope="module")
def address(plain_translator: Translator) -> Iterator[str]:
    """A server with a real model, which has learned next to nothing."""
    with serving(make_service(plain_translator)) as found:
        yield found


def post(address: str, path: str, **body: object) -> httpx.Response:
    return http.post(f"{address}/api/{path}", json={"source": "en", "target": "fr", **body})


def test_models_and_limits(address: str) -> None:
    told = http.get(f"{address}/api/models").json()
    assert told["models"] == [
        {
            "name": "tiny", "source": "en", "target": "fr", "source_name": "English", "target_name": "French",
            "calibrated": False, "parameters": 1234,
        }
    ]  # fmt: skip
    assert told["limits"] == {
        "body_bytes": 131_072, "characters": 2000, "items": 50, "total_characters": 20_000, "alternatives": 10,
        "explain_characters": 500, "glossary_terms": 50,
    }  # fmt: skip
    assert told["api_key_required"] is False


def test_a_sentence_with_very_many_spans_comes_in_parts(plain_translator: Translator) -> None:
    def sentences(text: str, keep_spans: bool = True) -> list[str]:
        return [piece.text for piece in cut(plain_translator, text, 256, keep_spans) if piece.part is Part.SENTENCE]

    many = " ".join(f"cat {{name{number}}}" for number in range(20))
    parts = sentences(many)
    assert " ".join(parts) == many
    assert len(parts) == 4
    assert all(part.count("{") <= 7 for part in parts)
    for whole in (
        " ".join(["cat {name}"] * 7),
        "{name} " * 20 + "cat",
        "<b>a</b> " * 20 + "{name}",
        "1, 2, " * 10 + "3",
    ):
        assert sentences(whole) == [whole]
    assert sentences(many, keep_spans=False) == [many]


def test_numbers_alone_cut_no_sentence(plain_translator: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plain_translator.tokenizers.source, "encode", lambda text: [5] * (len(text) // 9))
    numbers = "word 1, " * 100 + "word"
    for text, whole in ((numbers, True), ("word {a}, " * 100 + "word", False)):
        pieces = cut(plain_translator, text, 256)
        assert "".join(piece.text for piece in pieces) == text
        assert (len(sentences_of(pieces)) == 1) is whole


def test_translation_with_everything(address: str, plain_translator: Translator) -> None:
    text = "  The cat eats 3 apples. A man sees 11 apples.\n\nthe dog "
    told = post(address, "translate", text=text, best=2, alignment=True).json()
    sentences = told["sentences"]
    assert [each["source"] for each in sentences] == ["The cat eats 3 apples.", "A man sees 11 apples.", "the dog"]
    assert [each["before"] for each in sentences] == ["  ", " ", "\n\n"]
    assert [each["target_before"] for each in sentences] == ["  ", " ", "\n\n"]
    assert told["after"] == " "
    expected = plain_translator.translate_nbest([each["source"] for each in sentences], 2)
    for sentence, own in zip(sentences, expected, strict=True):
        assert [each["text"] for each in sentence["translations"]] == [each.text for each in own]
        assert [each["score"] for each in sentence["translations"]] == pytest.approx([each.score for each in own])
        assert all(
            sentence["source"][word["start"] : word["stop"]] == word["text"] for word in sentence["source_words"]
        )
        for translation in sentence["translations"]:
            words = translation["words"]
            assert all(translation["text"][word["start"] : word["stop"]] == word["text"] for word in words)
            assert all(0 <= word["probability"] <= 1 for word in words)
            for source, target in translation["alignment"]:
                assert 0 <= source < len(sentence["source_words"])
                assert 0 <= target < len(words)
    best = [each["translations"][0]["text"].strip() for each in sentences]
    assert told["text"] == f"  {best[0]} {best[1]}\n\n{best[2]} "
    several = post(address, "translate", texts=["the dog", "the cat"]).json()["results"]
    assert [each["sentences"][0]["source"] for each in several] == ["the dog", "the cat"]


@pytest.mark.parametrize(
    ("languages", "sources", "targets", "gaps"),
    [
        (("zh", "en"), "你好。再见。\n好。", ["Hello.", "Goodbye.", "Good."], (["", "", "\n"], ["", " ", "\n"])),
        (("en", "zh"), "Hello. Goodbye.\nGood.", ["你好。", "再见。", "好。"], (["", " ", "\n"], ["", "", "\n"])),
    ],
)
def test_sentences_are_parted_as_each_language_has_it(
    plain_translator: Translator,
    languages: tuple[str, str],
    sources: str,
    targets: list[str],
    gaps: tuple[list[str], list[str]],
) -> None:
    pieces = take_apart(sources, languages[0])
    sentences = [
        Sentence(source, [Translation(target, 0.0, 0.0, [], [], True, [])])
        for source, target in zip(sentences_of(pieces), targets, strict=True)
    ]
    told = rich_answer(plain_translator, Document(pieces, sentences, languages))
    assert ([each.before for each in told.sentences], [each.target_before for each in told.sentences]) == gaps
    assert "".join(each.target_before + each.translations[0].text for each in told.sentences) == told.text
    assert "".join(each.before + each.source for each in told.sentences) == sources


def test_words_are_as_likely_as_their_tokens(address: str, plain_translator: Translator) -> None:
    told = post(address, "translate", text="the cat eats 3 apples.").json()
    [sentence] = told["sentences"]
    [[own]] = plain_translator.translate_nbest(["the cat eats 3 apples."], 1)
    product = 1.0
    for word in sentence["translations"][0]["words"]:
        product *= word["probability"]
    tokens = own.token_log_probabilities[: len(own.tokens)]
    assert product == pytest.approx(math.exp(sum(tokens)), rel=0.05)


def test_tokens_are_as_likely_as_the_model_finds_them(address: str, plain_translator: Translator) -> None:
    [sentence] = post(address, "translate", text="the cat eats 3 apples.").json()["sentences"]
    [[own]] = plain_translator.translate_nbest(["the cat eats 3 apples."], 1)
    tokens = sentence["translations"][0]["tokens"]
    assert [token["text"] for token in tokens] == [*own.pieces, "</s>"][: len(own.token_log_probabilities)]
    likelihoods = [math.exp(log) for log in own.token_log_probabilities]
    assert [token["probability"] for token in tokens] == pytest.approx(likelihoods, rel=1e-4)


def test_glossary_and_spans(address: str) -> None:
    told = post(
        address, "translate", text="the cat sees {name}.", glossary=[{"source": "cat", "target": "matou"}]
    ).json()
    assert "matou" in told["text"]
    assert "{name}" in told["text"]
    assert told["sentences"][0]["constraints"] == [{"term": "cat", "wanted": "matou", "met": True}]


def test_a_sentence_cannot_ask_for_too_many_terms(address: str) -> None:
    terms = [{"source": "cat", "target": "matou " * 30}]
    for path in ("translate", "stream"):
        assert "more than 300" in post(address, path, text="cat cat cat", glossary=terms).text


def events(response: httpx.Response) -> list[tuple[str, dict[str, object]]]:
    found = []
    for block in response.text.split("\n\n"):
        if block:
            name, data = block.split("\n")
            found.append((name.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
    return found


def test_stream_ends_with_the_answer(address: str) -> None:
    response = post(address, "stream", text="the cat eats 3 apples. the dog")
    assert response.headers["content-type"].startswith("text/event-stream")
    *partial, (last, told) = events(response)
    assert last == "done"
    assert {name for name, _ in partial} <= {"partial"}
    assert told == post(address, "translate", text="the cat eats 3 apples. the dog").json()


MIXED = ["The cat eats 3 apples.", "See http://a.b/c now.", "The dog takes 5 apples."]


def test_a_span_in_one_sentence_changes_nothing_for_the_others(plain_translator: Translator) -> None:
    """Only a sentence with a span goes the slower way, watched or not."""
    with serving(make_service(plain_translator, pool_type=Pool)) as address:
        *partial, (last, told) = events(post(address, "stream", text=" ".join(MIXED)))
        whole = post(address, "translate", text=" ".join(MIXED)).json()
        alone = [post(address, "translate", text=sentence).json()["text"] for sentence in MIXED]
    assert last == "done"
    assert told["text"] == whole["text"]
    assert partial, "sentences without a span are told as they grow"
    assert [sentence["translations"][0]["text"] for sentence in told["sentences"]] == alone
    assert "http://a.b/c" in alone[1]


def test_a_stream_that_takes_too_long_to_begin_is_refused_as_others_are(plain_translator: Translator) -> None:
    with serving(make_service(plain_translator, pool={"seconds": 0.0}, pool_type=Pool)) as address:
        response = post(address, "stream", text="the cat eats 3 apples.")
    assert response.status_code == 503
    assert "retry-after" not in response.headers
    assert response.json()["error"].startswith("Took too long")


def test_explanations_are_passed_on(address: str) -> None:
    told = post(address, "explain", text=" the \n cat", translation="le chat", beam=3).json()
    assert told["source"]["text"] == "the cat"
    assert told["target"] == {"text": "le chat", "forced": True}
    assert told["beam"] == 3
    assert told["model"]["name"] == "tiny"


def test_a_real_explanation(plain_translator: Translator) -> None:
    with serving(make_service(plain_translator, pool_type=Pool)) as address:
        told = post(address, "explain", text="the cat eats 3 apples.").json()
        assert (told["format"], told["model"]["name"]) == ("regard-explanation", "tiny")
        assert told["source"]["text"] == "the cat eats 3 apples."
        assert len(told["steps"]) == len(told["target"]["tokens"])
        ExplanationTold.model_validate(told)
        ExplanationTold.model_validate(post(address, "explain", text="the cat", translation="le chat").json())


def test_events_are_described(address: str) -> None:
    spec = http.get(f"{address}/spec").json()
    answer = spec["paths"]["/api/stream"]["post"]["responses"]["200"]["content"]["text/event-stream"]["schema"]
    names = {event: reference["$ref"].rpartition("/")[2] for event, reference in answer["x-events"].items()}
    assert names == {"partial": "PartialTold", "done": "RichTold", "error": "ErrorTold"}
    assert spec["components"]["schemas"]["PartialTold"]["properties"].keys() == {"text"}
    assert "texts" not in spec["components"]["schemas"]["StreamGiven"]["properties"]


REFUSED = {
    "neither": ("translate", {}),
    "both": ("translate", {"text": "x", "texts": ["x"]}),
    "best": ("translate", {"text": "x", "best": 12}),
    "no best": ("translate", {"text": "x", "best": 0}),
    "best as text": ("translate", {"text": "x", "best": "2"}),
    "unknown": ("translate", {"text": "x", "secret-word": 1}),
    "wordless term": ("translate", {"text": "x", "glossary": [{"source": " ", "target": "y"}]}),
    "term twice": ("translate", {"text": "x", "glossary": [{"source": "a", "target": "y"}] * 2}),
    "terms": (
        "translate",
        {"text": "x", "glossary": [{"source": f"a{n}", "target": "y"} for n in range(51)]},
    ),
    "stream of texts": ("stream", {"texts": ["x"]}),
    "best of a stream": ("stream", {"text": "x", "best": 2}),
    "long": ("explain", {"text": "x" * 501}),
    "long target": ("explain", {"text": "x", "translation": "y" * 501}),
    "blank": ("explain", {"text": "  "}),
    "same": ("explain", {"text": "x", "source": "fr"}),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(address: str, name: str) -> None:
    path, body = REFUSED[name]
    told = post(address, path, **body)
    assert told.status_code == 400
    assert list(told.json()) == ["error"]
    assert "secret-word" not in told.text


def test_our_own_endpoints_take_json_alone(address: str) -> None:
    told = http.post(f"{address}/api/translate", data={"text": "x", "source": "en", "target": "fr"})
    assert told.status_code == 415


def test_page_and_its_parts(address: str) -> None:
    page = http.get(address)
    assert page.text == "<!doctype html><title>page</title>"
    part = http.get(f"{address}/static/app.js")
    assert part.headers["content-type"] == "text/javascript; charset=utf-8"
    again = http.get(f"{address}/static/app.js", headers={"If-None-Match": part.headers["etag"]})
    assert again.status_code == 304
    for path in ("/static/../pyproject.toml", "/static/nothing", "/static/%2e%2e/%2e%2e/etc/passwd"):
        assert http.get(address + path).status_code == 404
