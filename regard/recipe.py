"""Recipes: reading a configuration from TOML and `key=value` overrides, and writing the resolved one."""

from __future__ import annotations

import copy
import difflib
import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from regard.config import PRESETS, Config
from regard.errors import ConfigError


def load_config(path: str | Path, overrides: Iterable[str] = ()) -> Config:
    """Read a TOML recipe, lay the overrides (`train.max_steps=600`) over it, and check every key and value."""
    return parse_config(_read_toml(Path(path)), overrides, where=str(path))


def parse_config(values: Mapping[str, Any], overrides: Iterable[str] = (), where: str = "the configuration") -> Config:
    """Check nested values, with overrides laid over them; `where` names their origin in errors."""
    merged: dict[str, Any] = copy.deepcopy(dict(values))
    for override in overrides:
        _apply_override(merged, override)
    try:
        return Config.model_validate(merged)
    except ValidationError as error:
        raise ConfigError("\n".join(_explain(detail, where) for detail in error.errors())) from None


def override_config(config: Config, overrides: Iterable[str]) -> Config:
    """The same configuration with overrides laid over it; another preset brings its sizes, where the old one's are."""
    overrides = list(overrides)
    values = config.model_dump(exclude_none=True)
    if any(override.partition("=")[0].strip() == "model.preset" for override in overrides):
        sizes = PRESETS[config.model.preset]
        values["model"] = {key: value for key, value in values["model"].items() if sizes.get(key, ...) != value}
    return parse_config(values, overrides)


def format_config(config: Config) -> str:
    """The resolved configuration as TOML that `load_config` reads back to an equal one."""
    lines: list[str] = []
    values = config.model_dump(exclude_none=True)
    lines += [f"{key} = {_toml_value(value)}" for key, value in values.items() if not isinstance(value, dict)]
    for section, fields in values.items():
        if isinstance(fields, dict):
            lines += ["", f"[{section}]"]
            lines += [f"{key} = {_toml_value(value)}" for key, value in fields.items()]
    return "\n".join(lines) + "\n"


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such recipe; recipes/ holds some to start from") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read as a recipe ({error})") from None
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: not valid TOML: {error}") from None


def _apply_override(values: dict[str, Any], override: str) -> None:
    key, equals, text = override.partition("=")
    if not equals or not key.strip():
        raise ConfigError(f"override {override!r}: write it as key=value, for example train.max_steps=600")
    *sections, name = key.strip().split(".")
    for section in sections:
        values = values.setdefault(section, {})
        if not isinstance(values, dict):
            raise ConfigError(f"override {override!r}: `{section}` is a value, not a section")
    values[name] = _override_value(text.strip())


def _override_value(text: str) -> Any:
    """A TOML value; a bare word that is none is taken as a string."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (ValueError, RecursionError):
        return text


def _explain(detail: ErrorDetails, where: str) -> str:
    keys = [str(part) for part in detail["loc"]]
    name = ".".join(keys)
    if detail["type"] == "extra_forbidden":
        return f"{where}: unknown key `{name}`{_nearest(keys)}"
    message = detail["msg"].removeprefix("Value error, ")
    if detail["type"] == "value_error":
        return f"{where}: {'`' + name + '`: ' if name else ''}{message}"
    return f"{where}: `{name}` is {detail['input']!r}: {message[0].lower()}{message[1:]}"


def _nearest(keys: list[str]) -> str:
    """The right name that a misspelt key most resembles: in its own section, or the same name in another."""
    *section, last = keys
    close = [
        ".".join([*section, name]) for name in difflib.get_close_matches(last, _names_beside(keys), n=1, cutoff=0.6)
    ]
    if not close:
        same_name = [known for known in all_keys() if known.rsplit(".", 1)[-1] == last]
        close = same_name or difflib.get_close_matches(".".join(keys), list(all_keys()), n=1, cutoff=0.5)
    return f"; did you mean `{close[0]}`?" if close else "; `regard describe --keys` lists every key"


def _names_beside(keys: list[str]) -> list[str]:
    section: type[BaseModel] = Config
    for key in keys[:-1]:
        if key.isdigit():
            continue
        field = section.model_fields.get(key)
        if field is None:
            return []
        section = _section_type(field.annotation)
    return list(section.model_fields)


def _section_type(annotation: Any) -> type[BaseModel]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((_section_type(part) for part in get_args(annotation) if part is not Ellipsis), BaseModel)


def all_keys() -> Iterator[str]:
    """Every key of a configuration, in order: `seed`, `data.source_language`, …"""
    for name, field in Config.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from (f"{name}.{inner}" for inner in field.annotation.model_fields)
        else:
            yield name


def _toml_value(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_toml_value(inner)}" for key, inner in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_toml_value(inner) for inner in value) + "]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value)
