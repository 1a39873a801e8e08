"""Which model translates which pair of languages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from regard.errors import InputError
from regard.search.translator import Translator
from regard.serve.jobs import Pair


@dataclass(frozen=True)
class Served:
    """One loaded model, for one of its pairs of languages."""

    name: str
    """The name of its folder, for people."""
    languages: Pair
    translator: Translator
    parameters: int

    @property
    def calibrated(self) -> bool:
        return self.translator.calibration is not None


def load_models(folders: Sequence[Path]) -> dict[Pair, Served]:
    """The models of folders, each for every pair of languages that it has."""
    if not folders:
        raise InputError("there is no model to serve: name the folder of at least one")
    models: dict[Pair, Served] = {}
    places: dict[Pair, Path] = {}
    for folder in folders:
        translator = Translator.load(folder)
        parameters = sum(parameter.numel() for parameter in translator.model.parameters())
        for languages in translator.pairs:
            pair = Pair(*languages)
            if pair in models:
                raise InputError(
                    f"{places[pair]} and {folder} both translate from {pair.source!r} to {pair.target!r}, and a "
                    "request could mean either: serve one of them, or each on a port of its own"
                )
            models[pair] = Served(folder.resolve().name, pair, translator.between(*languages), parameters)
            places[pair] = folder
    return models
