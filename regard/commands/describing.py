"""`regard describe`: what a recipe would make, or what a model folder holds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from regard.errors import InputError
from regard.models.describe import Description, describe
from regard.models.folder import load_model
from regard.recipe import load_config


def describe_recipe_or_model(path: Path, overrides: Sequence[str] = ()) -> Description:
    """Describe the model that a recipe would make, or the one that a folder holds."""
    if not path.is_dir():
        return describe(load_config(path, overrides))
    if overrides:
        raise InputError(f"{path}: is a model folder, and a trained model keeps its keys; override those of a recipe")
    loaded = load_model(path)
    source, target = loaded.tokenizers.source, loaded.tokenizers.target
    return describe(loaded.config, source.vocabulary_size, target.vocabulary_size)
