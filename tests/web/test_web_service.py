"""The page on the real service with a tiny model: it translates, looks inside, and complains of nothing."""

import re
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from pictures import wait_for_pictures
from playwright.sync_api import expect

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
    tab.locator("#alternatives .alternative").first.wait_for()
    tab.locator("#translation .said-word").last.hover()
    expect(tab.locator(".writing .readout")).to_contain_text("sure of it")
    expect(tab.locator("#translation-heard")).to_have_text(tab.locator("#translation").text_content())
    tab.locator("#open-inside").click()
    wait_for_pictures(tab)
    expect(tab.locator(".thumb")).to_have_count((2 + 2) + 2)
    tab.locator("svg.beam").wait_for()
    tab.locator("#inside-target").fill("le chat mange 3 pommes.")
    tab.keyboard.press("Enter")
    expect(tab.locator("#steps > .tell")).to_contain_text("The translation was given")
    expect(tab.locator(".beam-figure")).to_have_count(0)
    wait_for_pictures(tab)
    tab.locator("#attention-figure-table").click()
    written = ["le", "chat", "mange", "3", "pommes", ".", "</s>"]
    expect(tab.locator("#attention-figure tbody th")).to_have_text(written)


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
