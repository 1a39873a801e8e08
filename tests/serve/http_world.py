"""A real server for a test: uvicorn on a loopback port, in a thread of its own, and a model that obeys."""

import dataclasses
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
from pool_world import Obedient

from regard.search.translator import Translator
from regard.serve.app import make_app
from regard.serve.jobs import Pair, PoolSettings
from regard.serve.keys import KeyRing
from regard.serve.languages import Languages
from regard.serve.pool import Pool
from regard.serve.routing import Served
from regard.serve.server import address_of, listen, make_server
from regard.serve.service import Service
from regard.serve.settings import ServeSettings
from regard.text.profiles import Profile
from regard.web import Asset

http = httpx.Client(verify=False, trust_env=False, limits=httpx.Limits(max_keepalive_connections=0), timeout=60)
"""One for all tests: to make one takes longer than what it is made for."""
SECRET = "Geheimnis"
"""What nobody may repeat."""
ENGLISH = ["the cat eats apples and the dog sees what my friend likes", "a man finds the thing that you want there"]
FRENCH = ["le chat mange des pommes et le chien voit ce que mon ami aime", "un homme trouve la chose que vous voulez"]
STAND_IN = {
    name: Asset(name, content, f"{kind}; charset=utf-8", f'"{name}"')
    for name, content, kind in (
        ("index.html", b"<!doctype html><title>page</title>", "text/html"),
        ("app.js", b"export {}", "text/javascript"),
    )
}


class FakePool(Pool):
    """A pool whose explanations are made up."""

    async def explain(
        self, pair: Pair, source: str, target: str | None = None, beam: int | None = None
    ) -> dict[str, Any]:
        return {
            "format": "regard-explanation",
            "version": 1,
            "model": {"name": str(pair)},
            "source": {"text": source},
            "target": {"text": target or "x", "forced": target is not None},
            "beam": beam,
        }


def make_service(
    translator: Translator,
    *,
    keys: KeyRing | None = None,
    pool: dict[str, Any] | None = None,
    pool_type: type[Pool] = FakePool,
    **settings: Any,
) -> Service:
    """A service of one model, from English to French."""
    chosen = ServeSettings(**{"port": 0, "shutdown_seconds": 5, **settings})
    pair = Pair("en", "fr")
    served = Served("tiny", pair, translator, 1234)
    profiles = {"en": Profile.learn(ENGLISH), "fr": Profile.learn(FRENCH)}
    known = {code: profile for code, profile in profiles.items() if profile is not None}
    pool_settings = dataclasses.replace(PoolSettings(workers=1, seconds=chosen.seconds), **(pool or {}))
    return Service(pool_type({pair: served}, pool_settings), Languages([pair], known), chosen, keys)


def obedient(translator: Translator) -> Obedient:
    """A translator that says everything in capitals."""
    return Obedient(translator)


@contextmanager
def serving(service: Service) -> Iterator[str]:
    """The address of a running server."""
    ready = threading.Event()
    app = make_app(service, STAND_IN)
    with listen(service.settings) as listening:
        server = make_server(app, service.settings, ready.set)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        assert ready.wait(60)
        try:
            yield address_of(listening)
        finally:
            server.should_exit = True
            thread.join(60)
            assert not thread.is_alive()
