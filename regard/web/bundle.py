"""The Look inside view as one file: modules joined into one script, style and data beside it, under a strict policy."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Literal

from regard.web.files import text_of

ENTRY = "file.js"
STYLES = ("base.css", "inside.css")
IMPORT = re.compile(r'^import \{[^}]+\} from "\./([\w.]+)";\n', re.MULTILINE)
EXPORT = re.compile(r"^export (?=(?:async )?(?:const|function|class)\b)", re.MULTILINE)
DECLARED = re.compile(r"^(?:async )?(?:(?:const|let|class) |function\*? )(\[[^\]]+\]|\{[^}]+\}|\w+)", re.MULTILINE)
TITLE_CHARACTERS = 80
HTML_LANGUAGES = {"en": "en", "zh": "zh-CN"}


def self_contained_page(explanation: Mapping[str, Any], language: Literal["en", "zh"] = "en") -> str:
    """One HTML text that shows an explanation: it needs no server and asks for nothing outside itself."""
    style = "\n".join(text_of(name) for name in STYLES)
    script = join_modules(ENTRY)
    title = f"regard: {explanation['source']['text']}"[:TITLE_CHARACTERS]
    parts = {
        "language": HTML_LANGUAGES[language],
        "policy": html.escape(content_policy(style, script)),
        "title": html.escape(title).encode(errors="replace").decode(),
        "style": style,
        "script": script,
        "data": json_for_html({"language": language, "explanation": explanation}),
    }
    # One pass, so that braces inside a part are never taken for a place to fill.
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], text_of("file.html"))


@cache
def join_modules(entry: str, read: Callable[[str], str] = text_of) -> str:
    """The text of a module and of all that it imports, each once, after what it needs, as one script.

    Imports and the word `export` are taken out; what remains shares one scope, so no name may be declared twice.
    """
    texts = _in_order(entry, read, {}, ())
    declared: dict[str, str] = {}
    for name, text in texts.items():
        for word in declared_names(text):
            if word in declared:
                raise ValueError(f"{word} is declared in {declared[word]} and in {name}: joined, they would clash")
            declared[word] = name
    return "\n".join(texts.values())


def declared_names(text: str) -> list[str]:
    """The names that a module without imports and exports declares at its top, in column one."""
    return [word for found in DECLARED.findall(text) for word in re.findall(r"\w+", found)]


def _in_order(entry: str, read: Callable[[str], str], done: dict[str, str], path: tuple[str, ...]) -> dict[str, str]:
    if entry in path:
        raise ValueError(f"modules import one another in a circle: {' -> '.join((*path, entry))}")
    if entry in done:
        return done
    text = read(entry)
    for needed in IMPORT.findall(text):
        _in_order(needed, read, done, (*path, entry))
    body = EXPORT.sub("", IMPORT.sub("", text))
    left = re.search(r"^(?:import|export)\b.*$", body, re.MULTILINE)
    if left:
        raise ValueError(f'{entry}: write imports as `import {{ name }} from "./module.js";` (found: {left[0]})')
    done[entry] = body
    return done


def content_policy(style: str, script: str, images: str = "data: blob:") -> str:
    """The policy of a page in one file: this style and this script, and nothing else."""
    directives = {
        "default-src": "'none'",
        "style-src": _hash(style),
        "script-src": _hash(script),
        "img-src": images,
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    return "; ".join(f"{name} {value}" for name, value in directives.items())


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def json_for_html(value: Any) -> str:
    """JSON that cannot end its script element or open a comment: plain ASCII, without `<`, `>` and `&`."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
