"""Parts of the page by themselves, imported in a real browser: arithmetic, cutting of texts, events, addresses."""

import pytest

pytestmark = pytest.mark.slow


@pytest.fixture
def call(show):
    """Call functions of a module: `call("weights.js", "module.pool(...)")`."""
    tab = show()

    def evaluate(name, expression, argument=None):
        script = f"async (given) => {{ const module = await import('/static/{name}'); return {expression}; }}"
        return tab.evaluate(script, argument)

    return evaluate


def test_texts_are_cut_by_characters_and_nothing_is_lost(call):
    text = "🙂 good 🙂🙂day!"
    words = [{"start": 2, "stop": 6}, {"start": 9, "stop": 12}]
    pieces = call("alignment.js", "module.piecesOf(...given)", [text, words])
    assert [piece["text"] for piece in pieces] == ["🙂 ", "good", " 🙂🙂", "day", "!"]
    assert [piece["word"] for piece in pieces] == [None, 0, None, 1, None]
    assert call("alignment.js", "module.characterCount(given)", text) == 13


def test_ranges_that_lie_are_survived(call):
    words = [{"start": 3, "stop": 9}, {"start": 1, "stop": 2}, {"start": 50, "stop": 60}]
    pieces = call("alignment.js", "module.piecesOf(...given)", ["abcdef", words])
    assert "".join(piece["text"] for piece in pieces) == "abcdef"


def test_a_chosen_translation_is_parted_as_its_language_has_it(call):
    texts = [("你好。", "", "Hello."), ("再见。", " ", "Goodbye.")]
    sentences = [
        {"source": source, "before": "", "target_before": before, "translations": [{"text": text}, {"text": "Bye."}]}
        for source, before, text in texts
    ]
    answer = {"text": "Hello. Goodbye.", "sentences": sentences, "after": "\n"}
    assert call("alignment.js", "module.chosenText(...given)", [answer, {"1": 1}]) == "Hello. Bye.\n"
    assert call("alignment.js", "module.sourcePieces(given, '你好。再见。\\n') !== null", answer)


def test_links_go_both_ways(call):
    both = "((links) => [links.toTarget(1), links.toSource(0), links.toSource(9)])(module.linksOf(given))"
    assert call("alignment.js", both, [[1, 0], [1, 2], [0, 0]]) == [[0, 2], [1, 0], []]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_events_are_read_however_they_are_cut(call, size):
    body = 'event: partial\r\ndata: {"text":\r\ndata: "a"}\r\n\r\n: a comment\n'
    body += "event: done\ndata: 1\n\ndata: 2\n\nevent: lost"
    parts = [body[start : start + size] for start in range(0, len(body), size)]
    read = "((parser) => given.flatMap((part) => parser.push(part)))(module.createEventParser())"
    assert call("events.js", read, parts) == [
        {"event": "partial", "data": '{"text":\n"a"}'},
        {"event": "done", "data": "1"},
        {"event": "message", "data": "2"},
    ]


def test_addresses_come_back(call):
    state = {
        "view": "inside",
        "source": "en",
        "target": "fr",
        "text": "a & b = c #1 + 100 % 漢字 🙂",
        "translation": "<b>",
        "part": "encoder",
        "drawing": "lines",
        "whole": False,
        "layer": None,
        "head": "max",
        "step": 4,
        "attributed": "target",
        "pinned": {"row": 0, "column": 11},
        "compared": {"row": None, "column": 0},
    }
    assert call("address.js", "module.readAddress(module.writeAddress(given))", state) == state
    other = state | {"layer": 2, "head": 0, "pinned": {"row": 7, "column": None}}
    assert call("address.js", "module.readAddress(module.writeAddress(given))", other) == other


@pytest.mark.parametrize("pin", ["", ".", "-.-", "3", "3.2.1", "0.1", "-1.1", "1.x", "3.", "99999.1"])
def test_what_is_no_cell_is_left_out_of_an_address(call, pin):
    assert call("address.js", "module.readAddress(given)", f"#view=inside&pinned={pin}") == {"view": "inside"}


def test_too_long_an_address_is_none_and_is_not_read(call):
    assert call("address.js", "module.writeAddress({ text: given })", "a" * 4001) is None
    assert call("address.js", "module.readAddress(given)", "#text=" + "a" * 4001) == {}


def test_the_pointer_finds_cells_rows_and_columns(call):
    at = "module.pointedAt({ side: 50, top: 40, cell: 10 }, { rows: 3, columns: 2 }, ...given)"
    assert call("heat_map.js", at, [55, 45]) == {"row": 0, "column": 0}
    assert call("heat_map.js", at, [20, 65]) == {"row": 2, "column": None}
    assert call("heat_map.js", at, [74, 30]) == {"row": None, "column": 1}
    assert call("heat_map.js", at, [200, 65]) is None


def test_a_damaged_array_is_refused(call):
    packed = {"shape": [2, 2], "minimum": 0, "maximum": 1, "uint16": "AAAA"}
    refused = "(() => { try { module.unpack(given); } catch (error) { return error.message; } })()"
    assert call("weights.js", refused, packed) == "3 bytes for an array of 4 numbers"


def test_words_that_differ_are_those_the_best_does_not_have(call):
    differ = "module.differingWords(...given.map((text) => text.split(' ').map((word) => ({ text: word }))))"
    assert call("alternatives.js", differ, ["the the cat", "the cat sat"]) == [False, True, False]
