"""`regard serve` and `regard api-key`: settings and models into a running service, and keys to it."""

from __future__ import annotations

import gc
import sys
import warnings
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.errors import ConfigError, RegardError, how_to_install
from regard.progress import note
from regard.recipe import load_config

if TYPE_CHECKING:
    from regard.serve.service import Service
    from regard.serve.settings import ServeSettings

SWITCH_SECONDS = 1e-4
"""How long the event loop may keep a search waiting that has something to hand over."""


def serve_models(models: Sequence[Path], config: Path | None, flags: Mapping[str, Any], others: Sequence[str]) -> None:
    """Serve models until somebody asks to stop; `others` are settings as `name=value`."""
    _check_extra()
    from regard.serve.app import make_app
    from regard.serve.server import address_of, listen, make_server, run_server
    from regard.serve.settings import load_settings, setting
    from regard.web import assets

    given = {**dict(map(setting, others)), **{name: value for name, value in flags.items() if value is not None}}
    if models:
        given["models"] = tuple(str(model) for model in models)
    settings = load_settings(config, given)
    if not settings.models:
        raise ConfigError("there is no model to serve: name a model folder, such as runs/demo")
    service = make_service(settings)
    if not settings.log_text:
        warnings.filterwarnings("ignore", category=UserWarning)  # of a translator: they may show what it reads
    app = make_app(service, assets() if settings.page else {})
    gc.collect()
    gc.freeze()  # models and modules stay; looking for garbage among them takes as long as a translation
    sys.setswitchinterval(SWITCH_SECONDS)
    with listen(settings) as listening:
        ready = partial(print, greeting(service, address_of(listening)), flush=True)
        run_server(make_server(app, settings, ready), settings, listening)


def make_service(settings: ServeSettings) -> Service:
    """Load what the settings name: models, keys, and what the languages look like."""
    from regard.models.folder import CONFIG
    from regard.native.library import why_not
    from regard.serve.jobs import PoolSettings
    from regard.serve.keys import KeyRing
    from regard.serve.languages import Languages
    from regard.serve.pool import Pool
    from regard.serve.routing import load_models
    from regard.serve.service import Service
    from regard.text.profiles import Profile, profiles_of

    keys = KeyRing.load(Path(settings.keys)) if settings.keys is not None else None
    if keys is not None and not keys.keys:
        note(f"{settings.keys}: holds no key, so nobody can have anything translated")
    folders = [Path(model) for model in settings.models]
    models = load_models(folders)
    if reason := why_not():
        note(f"translating without the kernels in C, which is slower: {reason} (docs/kernels.md)")
    profiles: dict[str, Profile] = {}
    for folder in folders:
        found = profiles_of(folder, load_config(folder / CONFIG).data)
        if not found:
            note(f"{folder}: has no languages.json, so `auto` tells its languages by their scripts alone")
        for code, profile in found.items():
            # Of two, the one from the more varied text.
            profiles[code] = min(profiles.get(code, profile), profile, key=lambda each: each.typical)
    pool_settings = PoolSettings(
        workers=settings.workers,
        queue_sentences=settings.queue_sentences,
        queue_characters=settings.queue_characters,
        batch_tokens=settings.batch_tokens,
        seconds=settings.seconds,
    )
    return Service(Pool(models, pool_settings), Languages(list(models), profiles), settings, keys)


def greeting(service: Service, address: str) -> str:
    """What the server says when it is ready."""
    settings = service.settings
    models = [
        f"  {pair.source} to {pair.target}: {served.name} ({served.parameters:,} parameters)"
        for pair, served in service.pool.served.items()
    ]
    rate = settings.key_rate if service.keys is not None else settings.address_rate
    access = "open to anybody who reaches it" if service.keys is None else f"{len(service.keys.keys)} API keys"
    return "\n".join(
        [
            f"Serving at {address} (API: {address}/docs)",
            *models,
            f"  limits: {settings.characters:,} characters a text, {settings.items:,} texts and "
            f"{settings.body_bytes:,} bytes a request, {settings.seconds:g} s; {settings.queue_sentences:,} sentences "
            "in the queue",
            f"  access: {access}; {f'{rate:,} requests a minute each' if rate else 'no limit of rate'}",
        ]
    )


def make_key(path: Path, name: str, rate: int | None) -> str:
    """Add a key to a file; what is to be printed."""
    from regard.serve.keys import add_key

    key = add_key(path, name, rate)
    note(f"kept in {path} as a hash; this is the only time that the key is shown")
    return key


def _check_extra() -> None:
    try:
        import fastapi  # noqa: F401
        import httptools  # noqa: F401
        import prometheus_client  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise RegardError(f"`regard serve` needs the package {error.name}: {how_to_install('serve')}") from None
