"""Which of a model's pairs of languages is meant."""

from __future__ import annotations

from collections.abc import Sequence

from regard.errors import InputError

LanguagePair = tuple[str, str]


def choose_pair(
    pairs: Sequence[LanguagePair], own: LanguagePair, source: str | None = None, target: str | None = None
) -> LanguagePair:
    """The pair with these languages, where they are given; of several, the model's own, or else there must be one."""
    fitting = [pair for pair in pairs if source in (None, pair[0]) and target in (None, pair[1])]
    if own in fitting:
        return own
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise InputError(f"translates {named(fitting)}: say both languages, --from and --to")
    wrong = [
        f"{side} {wanted}"
        for side, wanted, place in (("from", source, 0), ("to", target, 1))
        if wanted is not None and all(pair[place] != wanted for pair in pairs)
    ]
    asked = wrong[0] if wrong else f"from {source} to {target}"
    raise InputError(f"translates {named(pairs)}, not {asked}; name another model")


def named(pairs: Sequence[LanguagePair]) -> str:
    """Pairs in words: `en to de`, `en to de and en to fr`."""
    words = [" to ".join(pair) for pair in pairs]
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))
