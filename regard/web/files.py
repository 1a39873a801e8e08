"""The files of the page as the service hands them out."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from types import MappingProxyType

CONTENT_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
}
TEMPLATES = ("file.html",)
"""What is filled in before anybody sees it, and so is not served."""


@dataclass(frozen=True)
class Asset:
    """A file of the page: its name below `/static/` (`index.html` is the page itself), its bytes and what they are."""

    name: str
    content: bytes
    content_type: str
    etag: str
    """A strong validator in quotes, as the header wants it: another content has another one."""


def text_of(name: str) -> str:
    """The text of a file of the page."""
    return resources.files("regard.web").joinpath("static", name).read_text(encoding="utf-8")


@cache
def assets() -> Mapping[str, Asset]:
    """Every file that the service hands out, by name."""
    folder = resources.files("regard.web").joinpath("static")
    names = sorted(entry.name for entry in folder.iterdir() if entry.name not in TEMPLATES)
    return MappingProxyType({name: _asset(name) for name in names if _suffix(name) in CONTENT_TYPES})


def _asset(name: str) -> Asset:
    content = text_of(name).encode()
    return Asset(name, content, CONTENT_TYPES[_suffix(name)], f'"{hashlib.sha256(content).hexdigest()[:20]}"')


def _suffix(name: str) -> str:
    return name[name.rfind(".") :]
