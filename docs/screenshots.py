"""Photographs the web page for the docs, on the real service and the demo's model.

Needs playwright and chromium, and `regard demo` to have been run:

    python docs/screenshots.py
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from PIL import Image
from playwright.sync_api import Page, sync_playwright

IMAGES = Path(__file__).parent / "images"
DEMO = Path("runs/demo")
TIRED = "The animal didn't cross the street because it was too tired."
WIDE = "The animal didn't cross the street because it was too wide."


@contextmanager
def served() -> Iterator[str]:
    """`regard serve` on the demo, at a port that is free: its address."""
    command = [sys.executable, "-m", "regard", "serve", str(DEMO), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            found = re.search(r"http://\S+", process.stdout.readline())
            assert found is not None, "the service did not start"
            yield found[0] + "/"
        finally:
            process.terminate()
            process.stdout.read()


def translate(page: Page, text: str) -> None:
    page.locator("#source-text").fill(text)
    page.locator("#alternatives .alternative").first.wait_for()


def show_translation(page: Page, address: str) -> None:
    """Two sentences, and what the pronoun came from."""
    page.goto(address)
    translate(page, f"{TIRED}\n{WIDE}")
    page.locator("#translation .said-word", has_text=re.compile("^elle$")).last.hover()


def look_inside(page: Page, address: str, view: str) -> None:
    page.goto(f"{address}#view=inside&source=en&target=fr&text={quote(TIRED)}&{view}")
    page.locator("#attention-figure svg").wait_for()


def show_inside(page: Page, address: str) -> None:
    """Cross-attention as a heat map, with the pronoun's row singled out."""
    look_inside(page, address, "part=cross")
    label = page.locator("#attention-figure svg text", has_text=re.compile("^il")).last.bounding_box()
    assert label is not None
    page.mouse.move(label["x"] + label["width"] / 2, label["y"] + label["height"] / 2)


def show_dark(page: Page, address: str) -> None:
    """The steps and the beam, in the dark."""
    look_inside(page, address, "step=9")
    page.locator("#steps").evaluate("node => window.scrollTo(0, node.getBoundingClientRect().top + scrollY - 24)")


PICTURES: dict[str, tuple[Callable[[Page, str], None], int, int, str]] = {
    "page-translate": (show_translation, 1180, 800, "light"),
    "page-inside": (show_inside, 1180, 1320, "light"),
    "page-phone": (show_translation, 390, 844, "light"),
    "page-dark": (show_dark, 1180, 1120, "dark"),
}
"""What is shown, width, height and appearance of each picture."""


def main() -> None:
    """Take all pictures."""
    with served() as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for name, (show, width, height, scheme) in PICTURES.items():
            page = browser.new_page(
                viewport={"width": width, "height": height},
                color_scheme="dark" if scheme == "dark" else "light",
                device_scale_factor=2 if width < 500 else 1.5,
                locale="en-GB",
            )
            show(page, address)
            path = IMAGES / f"{name}.png"
            page.wait_for_timeout(400)  # transitions end
            page.screenshot(path=path)
            page.close()
            Image.open(path).quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)
            print(f"{path}: {path.stat().st_size:,} bytes")
        browser.close()


if __name__ == "__main__":
    main()
