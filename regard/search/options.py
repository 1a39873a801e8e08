"""What may be asked of a search for one call, checked as a recipe's `[search]` is."""

from __future__ import annotations

from typing import Literal, TypedDict

from regard.config import SearchConfig
from regard.errors import InputError
from regard.recipe import parse_config


class SearchOptions(TypedDict, total=False):
    """What may be asked for one call; the rest, or None, is as the model's configuration says (`[search]`)."""

    beam: int | None
    length_penalty: Literal["paper", "mean", "none"] | None
    alpha: float | None
    coverage_penalty: float | None
    max_length_factor: float | None
    max_length_extra: int | None
    max_length: int | None
    min_length: int | None
    no_repeat_ngram: int | None
    max_repeats: int | None
    sampling: bool | None
    samples: int | None
    temperature: float | None
    top_k: int | None
    top_p: float | None
    sampling_seed: int | None
    mbr: bool | None
    batch_tokens: int | None
    compute: Literal["float32", "int8"] | None


def plain_search(search: SearchConfig) -> SearchConfig:
    """Greedy search with a model's own limits, whatever else its recipe asks for: for comparing and for validation."""
    kept = ("max_length_factor", "max_length_extra", "max_length", "batch_tokens")
    return SearchConfig(beam=1, **{name: getattr(search, name) for name in kept})


OF_SAMPLING = ("samples", "temperature", "top_k", "top_p", "sampling_seed")


def search_config(base: SearchConfig, options: SearchOptions) -> SearchConfig:
    """The model's own search settings with those of this call over them; what would have no effect is refused."""
    given = {name: value for name, value in options.items() if value is not None}
    config = parse_config({"search": {**base.model_dump(), **given}}, where="the search options").search
    idle = next((name for name in OF_SAMPLING if name in given), None)
    if idle is not None and not config.sampling:
        raise InputError(f"`{idle}` has a meaning for sampling alone: ask for that too (`sampling`), or leave it out")
    if "beam" in given and config.sampling:
        raise InputError("sampling keeps no beam: leave `beam` out; `samples` says how many outputs are drawn")
    if given.get("alpha") and config.length_penalty == "none":
        raise InputError("`alpha` is the strength of a length penalty, and there is none: leave it out")
    if config.compute != "float32" and config.coverage_penalty:
        raise InputError(
            "a coverage penalty needs the model's own attention, in float32: leave out `compute` or `coverage_penalty`"
        )
    return config
