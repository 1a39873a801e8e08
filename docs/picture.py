"""Takes the picture of the README, a part of the page that `regard demo` writes; needs playwright and chromium."""

from __future__ import annotations

import shutil
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

DEMO_PAGE = Path("runs/demo/attention.html")
PICTURE = Path(__file__).parent / "images" / "attention.png"
WIDTH = 1180


def main() -> None:
    """Photograph the page from the two sentences to the end of the lines between their words."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": 900}, color_scheme="light", device_scale_factor=1.5)
        page.goto(DEMO_PAGE.resolve().as_uri())
        top, bottom = page.evaluate(
            """() => {
                const place = (selector) => document.querySelector(selector).getBoundingClientRect();
                return [place(".cards").top - 24, place(".attention .stage").bottom + 12];
            }"""
        )
        page.screenshot(path=PICTURE, full_page=True, clip={"x": 0, "y": top, "width": WIDTH, "height": bottom - top})
        browser.close()
    Image.open(PICTURE).quantize(256, dither=Image.Dither.NONE).save(PICTURE, optimize=True)  # a third of the bytes


if __name__ == "__main__":
    main()
