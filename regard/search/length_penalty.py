"""Length penalties: what a log-probability is divided by, so that short outputs are not preferred for being short."""

from __future__ import annotations

from collections.abc import Callable

from regard.config import SearchConfig


def paper(length: int, alpha: float) -> float:
    """lp(n) = ((5 + n) / 6)^alpha, of GNMT (Wu et al., 2016), which "Attention Is All You Need" uses."""
    return float(((5 + length) / 6) ** alpha)


def mean(length: int, alpha: float) -> float:
    """lp(n) = n^alpha; with alpha 1, the score is the mean log-probability of a token."""
    return float(length**alpha)


def none(length: int, alpha: float) -> float:  # noqa: ARG001 - the signature of its kind
    """lp(n) = 1: the score is the log-probability itself."""
    return 1.0


PENALTIES: dict[str, Callable[[int, float], float]] = {"paper": paper, "mean": mean, "none": none}


def length_penalty(length: int, config: SearchConfig) -> float:
    """The penalty lp(n) of an output of n tokens, its end mark included.

    Whatever the kind, it is at least 1 and never falls as n grows; the early end of a beam rests on that.
    """
    return PENALTIES[config.length_penalty](length, config.alpha)


def score_with_forced(
    log_probability: float, forced: float, length: int, typical_length: int, config: SearchConfig
) -> float:
    """The score (log P - f) / lp(n) + f / lp(m) of an output whose forced tokens have the log-probability f.

    Forced tokens are very unlikely: were they divided by the penalty of the output's own length n, any padding would
    pay. So it is that of a typical length m, the same for all outputs of a sentence.
    """
    return (log_probability - forced) / length_penalty(length, config) + forced / length_penalty(typical_length, config)
