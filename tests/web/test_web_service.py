"""The page on the real service with a tiny model: it translates, looks inside, and complains of nothing."""

import re
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

pytest.importorskip("uvicorn", reason="needs the extra `serve`")
pytestmark = pytest.mark.slow
REPOSITORY = Path(__file__).parent.parent.parent


@contextmanager
def served(model):
    """`regard serve` as a process of its own, at a port that is free: its address."""
    command = [sys.executable, "-m", "regard", "serve", str(model), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=REPOSITORY) as process:
        try:
            line = process.stdout.readline()
            yield re.search(r"http://\S+", line)[0] + "/"
        finally:
            process.terminate()
            process.stdout.read()


@pytest.fixture(scope="module")
def address(tiny_run):
    with served(tiny_run) as found:
        yield found


def test_it_translates_and_looks_inside(new_tab, address):
    tab = new_tab(address)
    tab.goto(address)
    tab.locator("#source-text").fill("the cat eats 3 apples. my friend sees 5 apples.")
    tab.locator("#open-inside").wait_for()
    tab.locator("#translation .said-word").last.hover()
    assert tab.locator("#translation .said-word").count() >= 2
    assert tab.locator("#translation-heard").text_content()
    tab.locator("#open-inside").click()
    tab.locator("#attention-figure svg").wait_for()
    assert tab.locator(".thumb").count() == (2 + 2) + 2
    tab.locator("svg.beam").wait_for()
    tab.locator("#inside-target").fill("le chat mange 3 pommes.")
    tab.keyboard.press("Enter")
    tab.locator(".beam-figure").wait_for(state="detached")
    assert tab.locator("#attention-figure svg").is_visible()
    tab.locator("#attention-figure-table").click()
    rows = tab.locator("#attention-figure tbody th").evaluate_all("nodes => nodes.map((node) => node.textContent)")
    assert rows == ["le", "chat", "mange", "3", "pommes", ".", "</s>"]


def test_a_glossary_is_kept_to(new_tab, address):
    tab = new_tab(address)
    tab.goto(address)
    tab.locator("#glossary-title").click()
    tab.locator("#term-source").fill("cat")
    tab.locator("#term-target").fill("matou")
    tab.keyboard.press("Enter")
    tab.locator("#source-text").fill("the cat eats 3 apples.")
    tab.locator("#translation", has_text="matou").wait_for()
    tab.locator(".term-state", has_text="used").wait_for()
