"""Options that belong together reach a command as one object: typer itself knows only one parameter an option."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from functools import wraps
from inspect import Parameter
from typing import Any


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """The same command, with the fields of each parameter that is a dataclass as options in its place."""
    signature = inspect.signature(command, eval_str=True)
    annotations = {name: given.annotation for name, given in signature.parameters.items()}
    groups: dict[str, Any] = {name: kind for name, kind in annotations.items() if is_dataclass(kind)}
    parameters = [
        option
        for name, given in signature.parameters.items()
        for option in (_options(groups[name]) if name in groups else [given.replace(kind=Parameter.KEYWORD_ONLY)])
    ]

    @wraps(command)
    def run(**given: Any) -> None:
        objects = {
            name: group(**{field.name: given.pop(field.name) for field in fields(group)})
            for name, group in groups.items()
        }
        command(**given, **objects)

    run.__dict__["__signature__"] = signature.replace(parameters=parameters)
    run.__annotations__ = {option.name: option.annotation for option in parameters}
    return run


def _options(group: type[Any]) -> list[Parameter]:
    annotations = inspect.get_annotations(group, eval_str=True)
    return [
        Parameter(
            field.name,
            Parameter.KEYWORD_ONLY,
            default=Parameter.empty if field.default is MISSING else field.default,
            annotation=annotations[field.name],
        )
        for field in fields(group)
    ]
