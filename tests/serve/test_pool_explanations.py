"""Explanations are made one at a time, for a few who wait, and never hang."""

import asyncio
import threading
from typing import Any

import pytest
from pool_world import PAIR, until

from regard.errors import InputError
from regard.search.translator import Translator
from regard.serve.explanations import Explanations
from regard.serve.jobs import Busy, TookTooLong, WorkerFailed
from regard.serve.routing import Served


class Explainer:
    """Explains when its gate is open."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.asked: list[str] = []

    def __call__(self, served: Served, source: str, target: str | None, beam: int | None) -> dict[str, Any]:
        self.asked.append(source)
        self.gate.wait(30)
        if source == "bad":
            raise ZeroDivisionError
        if source == "long":
            raise InputError("too long")
        return {"source": source, "target": target, "beam": beam}


@pytest.fixture
def served(plain_translator: Translator) -> Served:
    return Served("model", PAIR, plain_translator, 1)


def test_a_few_wait_and_more_are_refused(served: Served) -> None:
    async def scene() -> None:
        explainer = Explainer()
        explanations = Explanations(3, 30.0, explainer)
        tasks = [asyncio.create_task(explanations.explain(served, f"t{n}", None, 2)) for n in range(3)]
        await until(lambda: explainer.asked == ["t0"])
        with pytest.raises(Busy) as refused:
            await explanations.explain(served, "more", None, None)
        assert refused.value.retry_after >= 1
        tasks[1].cancel()
        await until(lambda: explanations.count == 2)
        explainer.gate.set()
        assert await tasks[0] == {"source": "t0", "target": None, "beam": 2}
        assert (await tasks[2])["source"] == "t2"
        assert explainer.asked == ["t0", "t2"]
        await until(lambda: explanations.count == 0)
        explanations.close()

    asyncio.run(scene())


def test_what_goes_wrong_is_said(served: Served) -> None:
    async def scene() -> None:
        explainer = Explainer()
        explainer.gate.set()
        explanations = Explanations(3, 30.0, explainer)
        with pytest.raises(InputError, match="too long"):
            await explanations.explain(served, "long", None, None)
        with pytest.raises(WorkerFailed):
            await explanations.explain(served, "bad", None, None)
        assert (await explanations.explain(served, "good", "ziel", None))["target"] == "ziel"
        explanations.close()

    asyncio.run(scene())


def test_time_is_limited_and_a_stop_ends_the_waiting(served: Served) -> None:
    async def scene() -> None:
        explainer = Explainer()
        explanations = Explanations(3, 0.05, explainer)
        with pytest.raises(TookTooLong):
            await explanations.explain(served, "slow", None, None)
        waiting = asyncio.create_task(explanations.explain(served, "waiting", None, None))
        await asyncio.sleep(0)
        explanations.close()
        with pytest.raises((Busy, TookTooLong)):
            await waiting
        with pytest.raises(Busy):
            await explanations.explain(served, "after", None, None)
        explainer.gate.set()

    asyncio.run(scene())
