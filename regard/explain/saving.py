"""An explanation as a file: a page, a picture or data; or as a frame in a notebook."""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import Literal

from regard.atomic import write_file
from regard.errors import InputError
from regard.explain.canvas import PICTURES, picture_bytes
from regard.explain.explained import Explanation

FRAME_HEIGHT = 760


def save_explanation(explanation: Explanation, path: Path, language: Literal["en", "zh"] = "en") -> Path:
    """Write an explanation in the form that the ending of the name asks for."""
    ending = path.suffix.lower()
    if ending in (".html", ".htm"):
        content = explanation.to_page(language).encode("utf-8")
    elif ending == ".json":
        content = (json.dumps(explanation.to_json(), ensure_ascii=False, allow_nan=False) + "\n").encode("utf-8")
    elif ending in PICTURES:
        content = picture_bytes(explanation.figure(), ending)
    else:
        raise InputError(f"{path}: end the name with .html for a page, {', '.join(PICTURES)} for a figure, or .json")
    write_file(path, content)
    return path


def framed(page: str) -> str:
    """A page as a frame for a notebook; it may run its own script, save files, and nothing else."""
    return (
        f'<iframe srcdoc="{html.escape(page)}" sandbox="allow-scripts allow-downloads" '
        f'style="width: 100%; height: {FRAME_HEIGHT}px; border: 0" title="regard: look inside"></iframe>'
    )
