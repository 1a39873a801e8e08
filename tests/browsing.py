"""A real browser for tests of pages: Chromium by Playwright, and everything that a page complains of."""

import re
import shutil

import pytest

PATIENCE = 30_000
"""Milliseconds for which anything is waited for: a look at a page (`expect`), an action, an address."""


def starting(text):
    """A pattern of the texts that start so; a space stands for any white space."""
    return re.compile("^" + r"\s".join(map(re.escape, text.split(" "))))


def stop_clock(tab):
    """Let the time of a page stand still: from now on only `tab.clock.run_for` moves it."""
    tab.clock.install(time=0)
    tab.clock.pause_at(3600)


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    playwright.expect.set_options(timeout=PATIENCE)
    with playwright.sync_playwright() as engine:
        try:
            system = shutil.which("chromium") or shutil.which("google-chrome")
            # Whoever has no Chromium hears so at once; one that starts slowly must not count as none.
            started = engine.chromium.launch(executable_path=system, args=["--no-sandbox"], timeout=4 * PATIENCE)
        except playwright.Error as error:
            pytest.skip(f"no Chromium that starts: {str(error).splitlines()[0]}")
        yield started
        started.close()


@pytest.fixture
def new_tab(browser):
    """Make tabs: `new_tab(home, width=…, scheme=…)`; after the test, nothing may have been complained of.

    `home` is the beginning of every address that the page may ask for; `expected` matches messages that belong to
    the test, such as the browser's own about an answer of 503. Nothing moves by itself on the page: a look at it
    finds the end of a transition, not its middle.
    """
    complaints = []
    contexts = []

    def open_tab(home, width=1280, scheme="light", locale="en-GB", expected="(?!)", **options):
        size = {"width": width, "height": 900}
        looks = {"viewport": size, "color_scheme": scheme, "locale": locale, "reduced_motion": "reduce"}
        contexts.append(browser.new_context(**looks | options))
        contexts[-1].set_default_timeout(PATIENCE)
        tab = contexts[-1].new_page()
        tab.on("console", lambda message: re.search(expected, message.text) or complaints.append(message.text))
        tab.on("pageerror", lambda error: complaints.append(str(error)))
        tab.on("dialog", lambda dialog: (complaints.append("a dialog opened"), dialog.dismiss()))
        own = (home, "data:", "blob:")
        tab.on("request", lambda request: request.url.startswith(own) or complaints.append(request.url))
        return tab

    yield open_tab
    for context in contexts:
        context.close()
    assert not complaints, complaints
