"""Sizes and times for people."""

from __future__ import annotations

from regard.progress import duration

_DAY = 86_400


def gigabytes(size: float) -> str:
    """`312 MB`, `4.1 GB`, `1,204 GB`."""
    if size < 0.9995e9:
        return f"{size / 1e6:,.0f} MB"
    return f"{size / 1e9:,.1f} GB" if size < 99.95e9 else f"{size / 1e9:,.0f} GB"


def long_duration(seconds: float) -> str:
    """`40 s`, `2 h 05 min`, `3 days 4 h`, `14 months`."""
    if seconds < 2 * _DAY:
        return duration(seconds)
    days, rest = divmod(round(seconds / 3600), 24)
    if days < 14:
        return f"{days} days {rest} h"
    if days < 90:
        return f"{days} days"
    return f"{round(days / 30.4):,} months" if days < 1100 else f"{days / 365.25:,.0f} years"


def short(seconds: float) -> str:
    """A short time with its fractions: `0.084 s`, `2.1 s`, `75 s`."""
    digits = 0 if seconds >= 10 else 1 if seconds >= 1 else 3
    return f"{seconds:.{digits}f} s"


def counted(number: int, thing: str) -> str:
    """`1 step`, `1,000 steps`."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"
