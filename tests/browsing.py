"""A real browser for tests of pages: Chromium by Playwright, and everything that a page complains of."""

import re
import shutil

import pytest


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    playwright.expect.set_options(timeout=30_000)  # as long as everything else waits
    with playwright.sync_playwright() as engine:
        try:
            system = shutil.which("chromium") or shutil.which("google-chrome")
            started = engine.chromium.launch(executable_path=system, args=["--no-sandbox"])
        except playwright.Error as error:
            pytest.skip(f"no Chromium that starts: {str(error).splitlines()[0]}")
        yield started
        started.close()


@pytest.fixture
def new_tab(browser):
    """Make tabs: `new_tab(home, width=…, scheme=…)`; after the test, nothing may have been complained of.

    `home` is the beginning of every address that the page may ask for; `expected` matches messages that belong to
    the test, such as the browser's own about an answer of 503.
    """
    complaints = []
    contexts = []

    def open_tab(home, width=1280, scheme="light", locale="en-GB", expected="(?!)", **options):
        options = {"viewport": {"width": width, "height": 900}, "color_scheme": scheme, "locale": locale} | options
        contexts.append(browser.new_context(**options))
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
