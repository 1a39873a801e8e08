"""Whether a pair of sentences can be used: the rules of data.max_characters and data.max_ratio, and those of text."""

from __future__ import annotations

import re

from regard.config import DataConfig
from regard.data.faults import Fault

RATIO_ALLOWANCE = 20
"""Characters that the longer side may always have more: "好" may be "That sounds good to me."."""

_BLANK = "".join(chr(code) for code in range(0x3001) if chr(code).isspace()) + "\u200b\u200c\u200d\u2060\ufeff"
_UNFIT = re.compile("[\0\n\ud800-\udfff]")
_SURROGATE = re.compile("[\ud800-\udfff]")  # JSON can spell half of a character


def is_blank(text: str) -> bool:
    """Whether nothing of a text can be seen: white space of any kind, zero-width characters, or nothing at all."""
    return not text.strip(_BLANK)


class PairCheck:
    """Says what is wrong with the two sides of a pair; `source_file` and `target_file` name them in faults."""

    def __init__(self, source_file: str, target_file: str, data: DataConfig) -> None:
        self._files = (source_file, target_file)
        self._one_file = source_file == target_file
        self._max_characters = data.max_characters
        self._max_ratio = data.max_ratio

    def faults(self, line: int, source: str, target: str) -> list[Fault]:
        """Everything that is wrong with a pair; an empty list for a good one."""
        found = [] if self._is_sound(source) else self._side(line, 0, source)
        if not self._is_sound(target):
            found += self._side(line, 1, target)
        shorter, longer = (len(source), len(target)) if len(source) < len(target) else (len(target), len(source))
        if longer > self._max_ratio * shorter + RATIO_ALLOWANCE and not found:
            detail = f"{len(source):,} characters against {len(target):,} is more than a ratio of {self._max_ratio:g}"
            found.append(Fault("ratio", self._files[0], line, detail))
        return found

    def _is_sound(self, text: str) -> bool:
        """Whether nothing is wrong with a side; quick, since nearly all are sound."""
        return len(text) <= self._max_characters and _UNFIT.search(text) is None and not is_blank(text)

    def fault(self, cause: str, line: int, side: int, detail: str) -> Fault:
        """A fault of one side (0: source, 1: target), which is named where both sides share a file."""
        name = f"the {('source', 'target')[side]}" if self._one_file else "this line"
        return Fault(cause, self._files[side], line, detail.format(name))

    def _side(self, line: int, side: int, text: str) -> list[Fault]:
        if is_blank(text):
            return [self.fault("empty", line, side, "{} is empty")]
        found = []
        if "\0" in text:
            found.append(self.fault("nul", line, side, f"{{}} has a NUL character at column {text.index(chr(0)) + 1}"))
        if "\n" in text:
            found.append(self.fault("line-break", line, side, "{} has a line break in it"))
        if len(text) > self._max_characters:
            detail = f"{{}} has {len(text):,} characters, more than {self._max_characters:,}"
            found.append(self.fault("too-long", line, side, detail))
        if _SURROGATE.search(text):
            found.append(self.fault("invalid-utf8", line, side, "{} has half of a surrogate pair"))
        return found
