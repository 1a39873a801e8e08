"""`regard describe`: what a recipe would make, or what a model folder holds."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.errors import InputError
from regard.models.describe import Description, Part, describe
from regard.models.folder import load_model
from regard.recipe import load_config

_IN_A_LAYER = re.compile(r"(?P<stack>\w+)\.(?P<layer>\d+)\.(?P<part>.+)")


@dataclass(frozen=True)
class Described:
    """A description for people and for programs."""

    description: Description

    def to_json(self) -> dict[str, Any]:
        return self.description.to_json()

    def to_text(self) -> str:
        made, operations = self.description, self.description.operations
        counts = {"encoder": operations.encoder, "decoder": operations.decoder, "output layer": operations.output}
        return "\n".join(
            [
                f"{made.architecture}, {made.parameters:,} parameters",
                f"vocabulary: {made.source_vocabulary:,} source, {made.target_vocabulary:,} target tokens",
                "",
                *_table([("part", "kind", "shapes", "parameters"), *_rows(made.parts)]),
                "",
                f"operations per token, in sentences of {made.length} tokens (millions):",
                *(f"  {name:12} {count / 1e6:10,.2f}" for name, count in counts.items()),
                f"  {'forward':12} {operations.forward / 1e6:10,.2f}",
                f"  {'training':12} {operations.training / 1e6:10,.2f}",
            ]
        )


def describe_recipe_or_model(path: Path, overrides: Sequence[str] = ()) -> Described:
    """Describe the model that a recipe would make, or the one that a folder holds."""
    if not path.is_dir():
        return Described(describe(load_config(path, overrides)))
    if overrides:
        raise InputError(f"{path}: is a model folder, and a trained model keeps its keys; override those of a recipe")
    loaded = load_model(path)
    source, target = loaded.tokenizers.source, loaded.tokenizers.target
    return Described(describe(loaded.config, source.vocabulary_size, target.vocabulary_size))


def _rows(parts: Sequence[Part]) -> list[tuple[str, ...]]:
    """A row for each part; parts that are alike in all layers of a stack share one."""
    alike: dict[tuple[object, ...], list[Part]] = {}
    for part in parts:
        place = _IN_A_LAYER.fullmatch(part.name)
        name = (place["stack"], place["part"]) if place else (part.name,)
        alike.setdefault((name, part.kind, part.shapes, part.parameters, part.shared_with), []).append(part)
    return [_row(group) for group in alike.values()]


def _row(group: Sequence[Part]) -> tuple[str, ...]:
    first, last = (_IN_A_LAYER.fullmatch(part.name) for part in (group[0], group[-1]))
    name, times = group[0].name, ""
    if first and last and len(group) > 1:
        name, times = f"{first['stack']}.{first['layer']}-{last['layer']}.{first['part']}", f"{len(group)} x "
    shapes = ", ".join(f"{local} [{', '.join(map(str, shape))}]" for local, shape in group[0].shapes)
    size = f"shared with {group[0].shared_with}" if group[0].shared_with else f"{times}{group[0].parameters:,}"
    return name, group[0].kind, shapes, size


def _table(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
