"""regard trains, explains and serves Transformer sequence models on the machine you have.

import regard

regard.train("recipes/own-text.toml", run="runs/mine")
regard.load("runs/mine").translate(["A sentence."])
regard.load("runs/mine").explain("A sentence.").save("why.html")
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from regard.config import Config
from regard.errors import RegardError
from regard.planning import STEPS

if TYPE_CHECKING:
    from regard.distillation.run import Distilled
    from regard.explain.translator import ExplainingTranslator
    from regard.pipeline import TrainResult
    from regard.planning.plan import Plan

__all__ = ["Config", "RegardError", "__version__", "distill", "load", "plan", "train"]
__version__ = "0.1.0"


def load(
    folder: str | Path, *others: str | Path, average: Literal["probabilities", "log-probabilities"] = "probabilities"
) -> ExplainingTranslator:
    """A trained model from its folder, ready to translate, to score and to explain what it says.

    With the folders of others, of one vocabulary, an ensemble: it averages what they say.
    """
    from regard.explain.translator import ExplainingTranslator

    return ExplainingTranslator.load(folder, *others, average=average)


def distill(
    teachers: Sequence[str | Path],
    recipe: str | Path | Config,
    run: str | Path,
    overrides: Sequence[str] = (),
    **options: Any,
) -> Distilled:
    """Train what a recipe describes on its training text as teachers translate it; several are an ensemble.

    `options` are those of `regard.distillation.run.distill_run`: `back`, `choice`, `original`, `words`, `beam` and
    others.
    """
    from regard.distillation.run import distill_run
    from regard.recipe import load_config, override_config

    config = override_config(recipe, overrides) if isinstance(recipe, Config) else load_config(recipe, overrides)
    return distill_run(teachers, config, run, **options)


def plan(
    recipe: str | Path | Config, run: str | Path | None = None, overrides: Sequence[str] = (), steps: int = STEPS
) -> Plan:
    """What a recipe's run will take on this machine, from `steps` real steps in a process of its own.

    If there is a run in the folder `run`, its vocabulary is used; its disk is the one that is looked at.
    """
    from regard.planning.plan import plan_run
    from regard.recipe import load_config, override_config

    config = override_config(recipe, overrides) if isinstance(recipe, Config) else load_config(recipe, overrides)
    name = "plan" if isinstance(recipe, Config) else Path(recipe).stem
    return plan_run(config, run or Path("runs") / name, steps)


def train(
    recipe: str | Path | Config, run: str | Path, overrides: Sequence[str] = (), must_resume: bool = False
) -> TrainResult:
    """Train what a recipe (a TOML file, with `key=value` overrides, or a `Config`) describes, in the folder `run`.

    A run that was interrupted goes on where it stood; with `must_resume` there has to be a checkpoint of one.
    """
    from regard.pipeline import train_run
    from regard.recipe import load_config, override_config

    config = override_config(recipe, overrides) if isinstance(recipe, Config) else load_config(recipe, overrides)
    return train_run(config, run, must_resume)
