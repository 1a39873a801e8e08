"""API keys: made here, shown once, kept only as hashes, and compared in constant time."""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import tomllib
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field, ValidationError

from regard.atomic import write_file
from regard.config import Section
from regard.errors import ConfigError

PREFIX = "regard_"
LONGEST = 128
_HEAD = "# API keys of `regard serve --keys`; `regard api-key` adds to them. Remove an entry to take a key back.\n"


class Key(Section):
    """One key, as a file of keys has it."""

    name: str = Field(min_length=1, max_length=64, description="whose it is, for people and for figures")
    sha256: str = Field(pattern="^[0-9a-f]{64}$")
    rate: int | None = Field(None, ge=0, description="requests a minute; 0: any")


class _KeyFile(Section):
    key: tuple[Key, ...] = Field((), strict=False)


@dataclass(frozen=True)
class KeyRing:
    """The keys that open the service."""

    keys: tuple[Key, ...]

    @classmethod
    def load(cls, path: Path) -> KeyRing:
        """Read a file of keys; every error names the file."""
        try:
            document = _KeyFile.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
        except FileNotFoundError:
            raise ConfigError(f"{path}: no such file of keys; `regard api-key {path} --name NAME` makes one") from None
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"{path}: cannot be read as keys ({error})") from None
        except ValidationError as error:
            detail = error.errors()[0]
            place = ".".join(str(part) for part in detail["loc"])
            raise ConfigError(f"{path}: `{place}`: {detail['msg'][0].lower()}{detail['msg'][1:]}") from None
        except (ValueError, RecursionError) as error:
            raise ConfigError(f"{path}: not valid TOML: {error}") from None
        return cls(document.key)

    def find(self, key: str) -> Key | None:
        """The entry of a key; which one it is, or whether there is one, does not show in the time that this takes."""
        given = _hash(key[:LONGEST])
        found = None
        for entry in self.keys:
            if hmac.compare_digest(entry.sha256, given):
                found = entry
        return found


def add_key(path: Path, name: str, rate: int | None = None) -> str:
    """Make a key, put its hash into a file that only its owner can read, and give the key: nobody can find it again."""
    known = KeyRing.load(path).keys if path.exists() else ()
    if any(entry.name == name for entry in known):
        raise ConfigError(f"{path}: has a key of the name {name!r} already; remove its entry, or choose another name")
    key = PREFIX + secrets.token_urlsafe(32)
    try:
        entry = Key(name=name, sha256=_hash(key), rate=rate)
    except ValidationError as error:
        detail = error.errors()[0]
        raise ConfigError(f"--{detail['loc'][0]}: {detail['msg'][0].lower()}{detail['msg'][1:]}") from None
    write_file(path, (_HEAD + "".join(_toml(each) for each in (*known, entry))).encode())
    path.chmod(0o600)
    return key


def _toml(entry: Key) -> str:
    rate = "" if entry.rate is None else f"rate = {entry.rate}\n"
    name = json.dumps(entry.name, ensure_ascii=False).replace("\x7f", "\\u007f")
    return f'\n[[key]]\nname = {name}\nsha256 = "{entry.sha256}"\n{rate}'


def _hash(key: str) -> str:
    """SHA-256 is enough: a key is 256 random bits, and no list of likely ones can be tried."""
    return hashlib.sha256(key.encode()).hexdigest()
