"""Who gets a place in the beam of a constrained search: dynamic beam allocation (Post and Vilar, 2018)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def share_places(
    log_probabilities: NDArray[np.float64], needed: NDArray[np.int64], places: int, most: int
) -> NDArray[np.int64]:
    """Which candidates get a place, by their numbers; a bank holds those that need equally many tokens, `most` or less.

    The bank that needs the fewest always has a place, so that the constraints are met in the end. Then each bank has
    its equal share of the places, the one with the likeliest candidate first; the likeliest of all get what is left.
    """
    if not len(needed):
        return np.empty(0, dtype=np.int64)
    ranked = np.argsort(-log_probabilities, kind="stable")
    by_bank = np.argsort(needed[ranked], kind="stable")
    banks = needed[ranked][by_bank]
    starts = np.flatnonzero(np.concatenate([[True], banks[1:] != banks[:-1]]))
    bank = np.repeat(np.arange(len(starts)), np.diff([*starts, len(banks)]))
    likeliest = by_bank[starts]  # the rank of the likeliest of each bank
    likeliest[0] = -1
    in_share = np.arange(len(banks)) - starts[bank] < max(1, places // (most + 1))
    shared = by_bank[in_share][np.argsort(likeliest[bank[in_share]], kind="stable")][:places]
    left = np.ones(len(ranked), dtype=bool)
    left[shared] = False
    chosen: NDArray[np.int64] = ranked[np.concatenate([shared, np.flatnonzero(left)[: places - len(shared)]])]
    return chosen
