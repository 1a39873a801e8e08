"""What every picture is: numbers, a figure of them, and a word on what one sees."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.explain.canvas import check_picture, save_picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Picture(ABC):
    """Numbers that can be drawn."""

    @abstractmethod
    def figure(self) -> Figure:
        """A matplotlib figure."""

    @abstractmethod
    def to_text(self) -> str:
        """What one sees, in a sentence or two."""

    @abstractmethod
    def to_json(self) -> Mapping[str, Any]:
        """The numbers."""

    def save(self, path: str | Path) -> Path:
        """Write the figure as .png, .svg or .pdf."""
        check_picture(Path(path))
        return save_picture(self.figure(), Path(path))
