"""Whatever is thrown at the service, it answers, in time, and never with a fault of its own; `fuzz.py` throws more."""

import pytest
from fuzz import Tally, fuzz, throw_by_hand
from http_world import make_service, serving

from regard.search.translator import Translator


def test_some_requests_by_hand(plain_translator: Translator) -> None:
    tally = Tally()
    with serving(make_service(plain_translator, body_seconds=1.0, header_seconds=1.0)) as address:
        throw_by_hand(address, 150, 7, tally)
    assert tally.faults == []
    assert tally.count == 150
    assert len(tally.answers) >= 4


@pytest.mark.slow
def test_many_requests(plain_translator: Translator) -> None:
    with serving(make_service(plain_translator, body_seconds=1.0, header_seconds=1.0)) as address:
        tally = fuzz(address, 1000, seed=2)
    assert tally.faults == []
    assert tally.count >= 1000


def test_the_tally_would_notice() -> None:
    tally = Tally()
    tally.add("a", 500, b'{"error": "x"}', "")
    tally.add("b", 400, b"plain", "")
    tally.add("c", 400, b'{"error": ""}', "")
    tally.hung("d")
    assert len(tally.faults) == 4
    tally.add("e", 503, b'{"error": "busy"}', "")
    tally.add("f", 200, b"", "")
    assert len(tally.faults) == 4
