"""A test set, and what systems say of it: each system translates it once, and that is kept beside its model."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from train_systems.machine import machine

from regard import progress
from regard.atomic import write_file
from regard.commands.files import aligned_lines
from regard.commands.translating import Languages
from regard.config import SearchConfig
from regard.errors import RegardError
from regard.evaluate.evaluation import EvaluationOptions, evaluate_texts
from regard.evaluate.report import Evaluation
from regard.figures import json_text
from regard.models.folder import CONFIG, WEIGHTS
from regard.recipe import load_config
from regard.search.options import SearchOptions, search_config
from regard.search.translator import Translator
from report_parts.runs import digest

KEPT = "tested"
"""The folder beside a model that holds its translations of test sets."""
WARM_UP = 8
"""Sentences translated before the clock starts: what is done but once is no part of a speed."""


@dataclass(frozen=True)
class HeldOut:
    """A test set: aligned lines, and the languages that are asked for."""

    source: Path
    references: tuple[Path, ...]
    languages: Languages = field(default_factory=Languages)
    lines: list[str] = field(init=False)
    right: list[list[str]] = field(init=False)

    def __post_init__(self) -> None:
        lines, *right = aligned_lines(self.source, *self.references)
        object.__setattr__(self, "lines", lines)
        object.__setattr__(self, "right", right)

    @property
    def sha256(self) -> str:
        """Of the sentences, as text; how the file is packed does not matter."""
        return hashlib.sha256("\n".join(self.lines).encode()).hexdigest()


@dataclass(frozen=True)
class System:
    """A model, or an ensemble of several, and how it searches."""

    folders: tuple[Path, ...]
    options: SearchOptions = field(default_factory=SearchOptions)

    @property
    def search(self) -> SearchConfig:
        """The settings of its search: the model's own, with those asked for over them."""
        return search_config(load_config(self.folders[0] / CONFIG).search, self.options)

    def check(self, pair: tuple[str, str]) -> None:
        """Refuse what is no model of these languages, before a test set is looked at."""
        for folder in self.folders:
            if not all((folder / name).is_file() for name in (CONFIG, WEIGHTS)):
                raise RegardError(f"{folder}: no such model folder; `regard train` makes one")
            known = load_config(folder / CONFIG).data.pairs
            if pair not in known:
                does = " and ".join(" to ".join(each) for each in known)
                raise RegardError(f"{folder}: translates {does}, not {' to '.join(pair)}")
        _ = self.search


@dataclass(frozen=True)
class Translated:
    """What a system made of a test set."""

    hypotheses: list[str]
    seconds: float
    machine: dict[str, Any]
    key: str = ""
    """Names the weights, the search and the text."""
    earlier: int = 0
    """How often the same folder's model was given this test set with other weights."""
    other_searches: tuple[str, ...] = ()
    """Keys of what the same weights made of this test set by another search, alone or in an ensemble."""

    @property
    def sentences_per_second(self) -> float:
        return len(self.hypotheses) / self.seconds


def translate_once(system: System, held_out: HeldOut) -> Translated:
    """The translations of a test set: those that are kept, as long as weights, search and text are the same."""
    asked = {
        "weights": [digest(folder / WEIGHTS) for folder in system.folders],
        "search": system.search.model_dump(mode="json"),
        "source": held_out.sha256,
        "languages": asdict(held_out.languages),
    }
    key = hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:12]
    kept = system.folders[0] / KEPT
    path = kept / f"{held_out.source.name.split('.')[0]}-{key}.json"
    others = {
        other.stem.rpartition("-")[2]: json.loads(other.read_text(encoding="utf-8"))["asked"]
        for other in sorted(kept.glob("*.json"))
        if other != path
    }
    others = {name: each for name, each in others.items() if each["source"] == asked["source"]}
    same = tuple(name for name, each in others.items() if set(each["weights"]) & set(asked["weights"]))
    earlier = {tuple(each["weights"]) for name, each in others.items() if name not in same}
    if path.exists():
        found = json.loads(path.read_text(encoding="utf-8"))["found"]
    else:
        found = _translated(system, held_out)
        write_file(path, json_text({"asked": asked, "found": found}).encode())
    return Translated(**found, key=key, earlier=len(earlier), other_searches=same)


def _translated(system: System, held_out: HeldOut) -> dict[str, Any]:
    translator = held_out.languages.chosen(system.folders[0], Translator.load(*system.folders))
    translator.translate(held_out.lines[:WARM_UP], **system.options)
    name = " and ".join(str(folder) for folder in system.folders)
    progress.note(f"{name}: translating {held_out.source}")
    with progress.task("translating", len(held_out.lines)) as work:
        started = time.perf_counter()
        hypotheses = translator.translate(held_out.lines, progress=work, **system.options)
        seconds = time.perf_counter() - started
    return {"hypotheses": hypotheses, "seconds": seconds, "machine": machine()}


def measure(hypotheses: Sequence[str], held_out: HeldOut, pair: tuple[str, str], tokenize: str | None) -> Evaluation:
    """BLEU and chrF with signatures and intervals, by the code of `regard evaluate`."""
    options = EvaluationOptions(source_language=pair[0], target_language=pair[1], tokenize=tokenize)
    return evaluate_texts(hypotheses, held_out.right, options=options)
