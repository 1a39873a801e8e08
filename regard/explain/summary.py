"""An explanation for a terminal: each token with its probability, and the words that it hangs on most."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from regard.explain.canvas import plain
from regard.explain.words import Word

if TYPE_CHECKING:
    from regard.explain.explained import Explanation

HEADING = ("token", "prob.", "rank", "looked most at", "gradients point to", "prefix", "instead")


def summary(explanation: Explanation) -> str:
    """The pair, and a table of its steps: a row for each token of the target and for its end mark."""
    looked = explanation.cross.mean(axis=(0, 1))
    rows = [HEADING]
    for place, step in enumerate(explanation.steps):
        other = next((each for each in step.candidates if each.token != step.token), None)
        rows.append(
            (
                step.token,
                f"{step.probability:.3f}",
                str(step.rank),
                _strongest(looked[place], explanation.source_words),
                _strongest(explanation.source_shares[place], explanation.source_words),
                f"{explanation.target_shares[place].sum():.2f}",
                f"{other.token} {other.probability:.3f}" if other else "",
            )
        )
    what = "given" if explanation.forced else "translation"
    width = max(len("source"), len(what))
    lines = [
        f"{'source':{width}}  {explanation.source_text}",
        f"{what:{width}}  {explanation.target_text}",
        f"log-probability {explanation.log_probability:.3f}, {len(explanation.steps)} tokens",
        "",
        *_table(rows),
    ]
    if not explanation.finished:
        lines += ["", "The model did not end this: the limit of its length did, or the guard against loops."]
    if explanation.alternatives:
        heading = "the model's own" if explanation.forced else "others it found"
        lines += ["", f"{heading}:"]
        lines += [f"  {each.score:8.3f}  {each.text}" for each in explanation.alternatives[:5]]
    return "\n".join(plain(line) for line in lines)  # whatever a text holds, a terminal obeys nothing of it


def _strongest(shares: NDArray[np.floating], words: Sequence[Word]) -> str:
    """The word with the greatest share, those of its tokens added up."""
    by_word = [float(shares[word.start : word.stop].sum()) for word in words]
    best = int(np.argmax(by_word))
    return f"{words[best].text} {by_word[best]:.2f}"


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(_columns(row[place]) for row in rows) for place in range(len(rows[0]))]
    return [
        "  ".join(cell + " " * (width - _columns(cell)) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def _columns(text: str) -> int:
    """How many columns of a terminal a text takes: two for each wide character, none for an accent by itself."""
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)
    return len(text) + wide - sum(unicodedata.combining(letter) > 0 for letter in text)
