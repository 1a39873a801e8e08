"""The settings of the service: flags before environment before file before defaults, each checked in one place."""

from __future__ import annotations

import difflib
import ipaddress
import os
import re
import socket
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, Self, get_origin

from pydantic import Field, ValidationError, field_validator, model_validator
from pydantic_core import ErrorDetails

from regard.config import Section
from regard.errors import ConfigError

ENVIRONMENT = "REGARD_SERVE_"
LOOPBACK = frozenset(("127.0.0.1", "::1", "localhost"))
_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://([a-z0-9._-]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})?")
_HOST = re.compile(r"[a-z0-9._-]+")
_OWN_PORTS = {"http": ":80", "https": ":443"}


class ServeSettings(Section):
    """Everything that can be set about `regard serve`."""

    models: tuple[str, ...] = Field((), strict=False, description="model folders, one for each direction")
    host: str = Field("127.0.0.1", min_length=1, max_length=255, description="the address to listen on")
    port: int = Field(5000, ge=0, le=65535, description="the port to listen on; 0: any that is free")
    hosts: tuple[str, ...] = Field(
        (),
        strict=False,
        description="names by which requests may call the server (`Host`); none: any, or on a loopback address those "
        "of this machine",
    )
    proxies: tuple[str, ...] = Field(
        (), strict=False, description="addresses of proxies whose X-Forwarded-For is believed"
    )
    cors: tuple[str, ...] = Field(
        (), strict=False, description='origins whose pages may use the API, or "*"; none: only our own page'
    )
    page: bool = Field(True, description="serve the web page at /")
    metrics: bool = Field(True, description="serve figures for Prometheus at /metrics")
    keys: str | None = Field(None, description="a file of API keys; then each request for work needs one")
    log_level: Literal["warning", "info", "debug"] = Field("info", description="how much is logged")
    log_text: bool = Field(False, description="also log the texts of users")

    body_bytes: int = Field(131_072, ge=256, description="largest body of a request")
    characters: int = Field(2000, ge=1, description="longest text, in characters")
    items: int = Field(50, ge=1, description="most texts of one request")
    total_characters: int = Field(20_000, ge=1, description="all texts of one request together, in characters")
    alternatives: int = Field(10, ge=0, le=99, description="most alternatives of a translation")
    explain_characters: int = Field(500, ge=1, description="longest text to explain, in characters")
    glossary_terms: int = Field(50, ge=0, description="most terms of a glossary")
    glossary_characters: int = Field(
        300, ge=0, description="characters of all terms together that one sentence has to use"
    )
    sentence_tokens: int = Field(256, ge=2, description="tokens of a sentence; a longer one is cut at clause marks")
    seconds: float = Field(30.0, gt=0, le=3600, description="time for the work of one request, its waiting included")
    body_seconds: float = Field(10.0, gt=0, description="time in which a body must arrive")
    header_bytes: int = Field(16_384, ge=512, description="most bytes of a request's headers")
    header_seconds: float = Field(10.0, gt=0, description="time in which headers must arrive")
    keep_alive_seconds: int = Field(5, ge=1, description="after which a connection with nothing to do is closed")
    connections: int = Field(1000, ge=1, description="most connections at once")
    key_rate: int = Field(600, ge=0, description="requests a minute for each key, if it has no rate of its own; 0: any")
    address_rate: int = Field(
        0, ge=0, description="requests a minute for each address, where there are no keys; 0: any"
    )
    shutdown_seconds: int = Field(30, ge=0, description="time to finish what was begun when asked to stop")

    workers: int = Field(0, ge=0, le=512, description="threads that translate; 0: one for each core")
    queue_sentences: int = Field(2048, ge=1, description="sentences that may wait or be under way")
    queue_characters: int = Field(1_000_000, ge=1, description="their characters together")
    batch_tokens: int = Field(4096, ge=1, description="source tokens that are taken up at once")

    @field_validator("cors")
    @classmethod
    def _are_origins(cls, origins: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(origin if origin == "*" else _origin(origin) for origin in origins)

    @field_validator("hosts")
    @classmethod
    def _are_hosts(cls, hosts: tuple[str, ...]) -> tuple[str, ...]:
        for host in hosts:
            if not _HOST.fullmatch(host.lower()) and not _is_address(host):
                raise ValueError(
                    f"{host!r} is no name of a host: write it alone, such as translate.example.org, without "
                    "https:// before it and without a port or a path after it"
                )
        return hosts

    @model_validator(mode="after")
    def _limits_agree(self) -> Self:
        if self.characters > self.total_characters:
            raise ValueError(
                f"`characters` ({self.characters:,}) must not be more than `total_characters` "
                f"({self.total_characters:,})"
            )
        if self.total_characters > self.queue_characters:
            raise ValueError(
                f"`total_characters` ({self.total_characters:,}) must not be more than `queue_characters` "
                f"({self.queue_characters:,}), or a request could never be taken on"
            )
        if "*" in self.cors and len(self.cors) > 1:
            raise ValueError('`cors` is "*" or a list of origins, not both')
        return self

    @property
    def allowed_hosts(self) -> frozenset[str] | None:
        """Names that a request may call the server by; None: any."""
        own = LOOPBACK | {self.host.lower()} if is_loopback(self.host) else LOOPBACK
        if self.hosts:
            return own | {name.lower() for name in self.hosts}
        return own if is_loopback(self.host) else None


def _origin(text: str) -> str:
    """An origin as browsers write it; nothing else can ever be equal to theirs."""
    origin = text.lower()
    scheme = origin.partition(":")[0]
    if not _ORIGIN.fullmatch(origin):
        raise ValueError(
            f"{text!r} is no origin: write scheme://host or scheme://host:port, such as https://example.org, without "
            'a slash or a path after it, or "*" for all'
        )
    return origin.removesuffix(_OWN_PORTS.get(scheme, ""))


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def is_loopback(host: str) -> bool:
    """Whether an address to listen on is this machine's own: localhost, ::1, or any of 127.0.0.0/8."""
    with suppress(OSError):
        return socket.inet_aton(host)[0] == 127  # which also reads 127.1, as the system does
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host.lower() == "localhost" or host.lower().endswith(".localhost")


def load_settings(
    path: Path | None, flags: Mapping[str, Any], environment: Mapping[str, str] | None = None
) -> ServeSettings:
    """Settings from a TOML file, under those of the environment, under flags; a flag that is None was not given."""
    environment = os.environ if environment is None else environment
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for where, given in (
        (str(path), _read_toml(path) if path is not None else {}),
        ("the environment", _from_environment(environment)),
        ("the command line", {name: value for name, value in flags.items() if value is not None}),
    ):
        values |= given
        origins |= dict.fromkeys(given, where)
    try:
        return ServeSettings.model_validate(values)
    except ValidationError as error:
        raise ConfigError("\n".join(_explain(detail, origins) for detail in error.errors())) from None


def setting(override: str) -> tuple[str, Any]:
    """The name and the value of `name=value`, as on the command line."""
    name, equals, text = override.partition("=")
    if not equals or not name.strip():
        raise ConfigError(f"--set {override!r}: write it as name=value, for example --set items=20")
    return name.strip(), _value(name.strip(), text.strip())


def _from_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    found = {}
    for variable, text in sorted(environment.items()):
        if variable.startswith(ENVIRONMENT) and variable != f"{ENVIRONMENT}CONFIG":
            name = variable.removeprefix(ENVIRONMENT).lower()
            found[name] = _value(name, text)
    return found


def _value(name: str, text: str) -> Any:
    """A value that was written as text: a list has commas between its parts, all else is as in TOML, or a string."""
    field = ServeSettings.model_fields.get(name)
    if field is not None and get_origin(field.annotation) is tuple:
        return tuple(part.strip() for part in text.split(",") if part.strip())
    if field is not None and field.annotation in (str, str | None):
        return text
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (ValueError, RecursionError):
        return text


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such file of settings; docs/service.md shows one") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read as settings ({error})") from None
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: not valid TOML: {error}") from None


def _explain(detail: ErrorDetails, origins: Mapping[str, str]) -> str:
    name = str(detail["loc"][0]) if detail["loc"] else ""
    where = origins.get(name, "the settings")
    message = detail["msg"].removeprefix("Value error, ")
    if detail["type"] == "extra_forbidden":
        close = difflib.get_close_matches(name, ServeSettings.model_fields, n=1)
        hint = f"did you mean `{close[0]}`?" if close else "docs/service.md lists them all"
        return f"{where}: there is no setting `{name}`; {hint}"
    if not name:
        return f"{where}: {message}"
    return f"{where}: `{name}` is {detail['input']!r}: {message[0].lower()}{message[1:]}"
