"""Every key of a configuration, with its values, default and meaning: for `regard describe --keys` and the docs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from regard.config import PRESETS, Config, CorpusConfig

PAGE = "docs/configuration.md"


@dataclass(frozen=True)
class Key:
    """One key: its full name, what it may hold, what it holds if nothing is said, and what it means."""

    name: str
    values: str
    default: str
    meaning: str


def section_types() -> dict[str, type[BaseModel]]:
    """The sections of a recipe, in their order; the nameless one holds the keys at the top."""
    return {"": Config} | {
        name: field.annotation
        for name, field in Config.model_fields.items()
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel)
    }


def keys_of(section: str, model: type[BaseModel]) -> Iterator[Key]:
    """The keys of one section; those of `Config` itself that are sections are left to their own."""
    sections = section_types()
    for name, field in model.model_fields.items():
        if model is Config and name in sections:
            continue
        full_name = f"{section}.{name}" if section else name
        yield Key(full_name, _values(field), _default(field), field.description or "")


class KeyList:
    """Every key, for people and for programs."""

    def __init__(self) -> None:
        self.keys = [key for section, model in section_types().items() for key in keys_of(section, model)]
        self.keys += keys_of("data.train[]", CorpusConfig)

    def to_text(self) -> str:
        width = max(len(key.name) for key in self.keys)
        return "\n".join(
            f"{key.name:<{width}}  {key.meaning or key.values}{_aside(key)}  [{key.default}]" for key in self.keys
        )

    def to_json(self) -> dict[str, Any]:
        return {key.name: {"values": key.values, "default": key.default, "meaning": key.meaning} for key in self.keys}


def _aside(key: Key) -> str:
    choices = " | " in key.values and key.values != "true | false"
    return f" ({key.values})" if key.meaning and choices else ""


def configuration_page() -> str:
    """The page docs/configuration.md."""
    parts = [_INTRODUCTION]
    for section, model in section_types().items():
        heading = f"`[{section}]`" if section else "At the top"
        parts.append(f"## {heading}\n\n{'' if model is Config else _lead(model)}{_table(keys_of(section, model))}")
        if section == "data":
            parts.append(f"### Each of `data.train` and `data.validation`\n\n{_lead(CorpusConfig)}" + _corpus_table())
        if section == "model":
            parts.append("### Presets\n\n" + _presets_table())
    return "\n\n".join(parts) + "\n"


_INTRODUCTION = """\
# Configuration

<!-- Made from regard/config: .venv/bin/python -m regard.keys > docs/configuration.md -->

One TOML file, a *recipe*, describes a whole run: see [recipes/](../recipes). Whatever a recipe leaves out has the
default below. On the command line `key=value` overrides the recipe:

    regard train recipes/own-text.toml train.max_steps=600 model.preset=small

Names of files in a recipe are as seen from the folder in which the command is run, not from the recipe's.

A key that does not exist, or a value of the wrong type, is refused, with the nearest right name. The configuration
that a run came to is saved with its model, in `config.toml`. `regard describe --keys` prints this list.

[Processes](processes.md) says more of `train.processes` and `train.shard`, [precision](precision.md) of
`train.precision`, [schedules](schedules.md) of `train.schedule`, and [levers](levers.md) of all that may make a model
better."""


def _lead(model: type[BaseModel]) -> str:
    return f"{(model.__doc__ or '').strip()}\n\n"


def _table(keys: Iterator[Key]) -> str:
    rows = [
        f"| `{key.name}` | {_cell(key.values)} | {_cell(key.default, code=True)} | {_cell(key.meaning)} |"
        for key in keys
    ]
    return "\n".join(["| key | values | default | meaning |", "|---|---|---|---|", *rows])


def _corpus_table() -> str:
    return _table(keys_of("", CorpusConfig))


def _presets_table() -> str:
    names = list(next(iter(PRESETS.values())))
    rows = [
        f"| `{preset}` | " + " | ".join(str(sizes[name]) for name in names) + " |" for preset, sizes in PRESETS.items()
    ]
    return "\n".join(
        ["| preset | " + " | ".join(f"`{name}`" for name in names) + " |", "|---" * (len(names) + 1) + "|", *rows]
    )


def _cell(text: str, code: bool = False) -> str:
    escaped = text.replace("|", "\\|")
    return f"`{escaped}`" if code and escaped and escaped != "none" else escaped


def _default(field: FieldInfo) -> str:
    default = field.get_default(call_default_factory=True)
    if default is None:
        return "none"
    if isinstance(default, bool):
        return str(default).lower()
    if isinstance(default, tuple):
        return "[]"
    return f'"{default}"' if isinstance(default, str) else str(default)


def _values(field: FieldInfo) -> str:
    """What a key may hold: its choices, or its type with its bounds."""
    return _type_name(field.annotation) + _bounds(field)


def _type_name(annotation: Any) -> str:
    origin = get_origin(annotation)
    if origin is Literal:
        return " | ".join(str(choice) for choice in get_args(annotation))
    if origin in (Union, UnionType):
        return " | ".join(_type_name(part) for part in get_args(annotation) if part is not type(None))
    if origin is tuple:
        each, *others = get_args(annotation)
        if Ellipsis not in others:
            return "list of two texts"
        return "list of texts" if each is str else "list of corpora"
    return {int: "whole number", float: "number", str: "text", bool: "true | false"}.get(annotation, str(annotation))


def _bounds(field: FieldInfo) -> str:
    signs = {"ge": "≥", "gt": ">", "le": "≤", "lt": "<"}
    bounds = [
        f"{sign} {getattr(rule, name)}"
        for name, sign in signs.items()
        for rule in field.metadata
        if getattr(rule, name, None) is not None
    ]
    return ", " + ", ".join(bounds) if bounds else ""


if __name__ == "__main__":
    print(configuration_page(), end="")
