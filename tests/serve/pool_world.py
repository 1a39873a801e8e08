"""A pool for a test: started, used, stopped; and a translator that does as it is told."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import Any

from regard.search.translator import Translation, Translator
from regard.serve.jobs import Pair, PoolSettings
from regard.serve.pool import Pool
from regard.serve.routing import Served

PAIR = Pair("en", "fr")
TEXTS = [
    "the cat eats 3 apples.",
    "a man sees 11 apples.",
    "my friend likes",
    "the dog",
    "zebra ☃ 🦓 quartz",
    "the dog takes 5 apples. the cat finds 7 apples. a man likes 9 apples.",
    "",
    "apples apples apples apples",
]


def use(translator: Translator, scenario: Callable[[Pool], Awaitable[Any]], **settings: Any) -> Any:
    """What a scenario gives, played with a pool for one translator."""

    async def play() -> Any:
        served = Served("model", PAIR, translator, 1)
        pool = Pool({PAIR: served}, PoolSettings(**{"workers": 2, **settings}))
        await pool.start()
        try:
            return await asyncio.wait_for(scenario(pool), 60)
        finally:
            await pool.stop(1.0)

    return asyncio.run(play())


async def until(holds: Callable[[], bool]) -> None:
    """Wait for what other threads bring about; a test that waits for ever ends by its time limit."""
    while not holds():
        await asyncio.sleep(0.001)


class Obedient(Translator):
    """Translates a text to itself in capitals, when its gate is open; notes the batches that it was given."""

    def __init__(self, real: Translator) -> None:
        self.__dict__.update(real.__dict__)
        self.gate = threading.Event()
        self.gate.set()
        self.batches: list[list[str]] = []

    def _packed(self, *_: object) -> None:
        return None

    def translate_nbest(self, texts: Any, best: Any = None, **_: Any) -> list[list[Translation]]:
        self.batches.append(list(texts))
        self.gate.wait(30)
        if "bad" in texts:
            raise ZeroDivisionError("bad luck")
        if "worse" in texts:
            raise SystemError("worse luck")
        return [[Translation(text.upper(), 0.0, 0.0, [5], ["x"], True, [0.0, 0.0])] for text in texts]
