"""Brings what the pages quote from the demo up to date: outputs in the READMEs and the tour, and the pictures.

Needs playwright and chromium, and a demo made for the purpose, since its times are quoted:

    rm -r runs/demo
    regard demo > demo.txt
    python docs/refresh.py demo.txt

The pictures of pictures.md alone, which need no browser:

    python docs/refresh.py --pictures
"""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from pathlib import Path

import tour
from PIL import Image
from playwright.sync_api import sync_playwright

import regard
from regard.cli import app

DOCS = Path(__file__).parent
READMES = [DOCS.parent / "README.md", DOCS.parent / "README.zh-CN.md"]
DEMO = Path("runs/demo")
PICTURE = DOCS / "images" / "attention.png"
WIDTH = 1180
QUOTED = re.compile(r"```text\n.*?```\n", re.DOTALL)


def quote(readme: Path, demo_output: str) -> None:
    """Write the demo's output, then the translation of the README's example, into its two blocks of output."""
    page = readme.read_text(encoding="utf-8")
    examples = re.findall(r'^echo "(.+)" \| regard translate runs/demo$', page, re.MULTILINE)
    texts = [demo_output, *regard.load(DEMO).translate(examples)]
    outputs = iter(texts)
    page = QUOTED.sub(lambda _: f"```text\n{next(outputs).rstrip()}\n```\n", page, count=len(texts))
    readme.write_text(page, encoding="utf-8")


def take_picture() -> None:
    """Photograph the demo's page from its two sentences to the end of the first section."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": 900}, color_scheme="light", device_scale_factor=1.5)
        page.goto((DEMO / "attention.html").resolve().as_uri())
        top, bottom = page.evaluate(
            """() => {
                const place = (selector) => document.querySelector(selector).getBoundingClientRect();
                return [place(".cards").top - 24, place(".attention .stage").bottom + 12];
            }"""
        )
        page.screenshot(path=PICTURE, full_page=True, clip={"x": 0, "y": top, "width": WIDTH, "height": bottom - top})
        browser.close()
    squeeze(PICTURE)


def picture_commands(page: str) -> list[list[str]]:
    """The commands of a page that draw into docs/images, as lists of words."""
    lines = re.findall(r"^    (regard .*)$", page.replace("\\\n", ""), re.MULTILINE)
    return [shlex.split(line)[1:] for line in lines if "docs/images/" in line]


def draw_pictures() -> None:
    """Draw every picture of pictures.md by the command above it."""
    for words in picture_commands((DOCS / "pictures.md").read_text(encoding="utf-8")):
        app(words, standalone_mode=False)
        squeeze(Path(words[-1]))


def squeeze(picture: Path) -> None:
    """256 colours are enough for a picture in a page, and take a third of the bytes."""
    Image.open(picture).convert("RGB").quantize(256, dither=Image.Dither.NONE).save(picture, optimize=True)


def main() -> None:
    """Refresh everything."""
    if sys.argv[1:] == ["--pictures"]:
        draw_pictures()
        return
    demo_output = Path(sys.argv[1]).read_text(encoding="utf-8")
    for readme in READMES:
        quote(readme, demo_output)
    page = tour.PAGE.read_text(encoding="utf-8")
    tour.PAGE.write_text(tour.with_outputs(page, tour.run_tour(page, DEMO)), encoding="utf-8")
    take_picture()
    draw_pictures()


if __name__ == "__main__":
    main()
