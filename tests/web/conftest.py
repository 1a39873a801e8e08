"""What tests of the page share: a stand-in for the service, and tabs of a real browser that show it."""

import pytest
from browsing import browser, new_tab
from pictures import wait_for_pictures
from stand_in import StandIn

__all__ = ["browser", "new_tab"]


@pytest.fixture
def service():
    with StandIn() as started:
        yield started


@pytest.fixture
def show(service, new_tab):
    """Open the page of the stand-in: `show("#view=inside", width=…)`."""

    def open_it(fragment="", **options):
        tab = new_tab(service.address, **options)
        tab.goto(service.address + fragment)
        return tab

    return open_it


@pytest.fixture
def translate(show):
    """Open the page and translate a text; the tab, when the whole answer is there."""

    def open_it(text="The cat sleeps.", **options):
        tab = show(**options)
        tab.locator("#source-text").fill(text)
        tab.locator("#alternatives .alternative").first.wait_for()
        return tab

    return open_it


@pytest.fixture
def look(show):
    """Open the Look inside view of a sentence; the tab, when all its pictures are drawn."""

    def open_it(text="The animal was tired.", fragment="", **options):
        tab = show(f"#view=inside&source=en&target=fr&text={text.replace(' ', '+')}{fragment}", **options)
        wait_for_pictures(tab)
        return tab

    return open_it
