"""The pictures of the Look inside view: when they are there, and the tables that say the same."""

from playwright.sync_api import expect

PICTURES = ("#attention-figure svg", "#attribution svg", "#attention-beside svg", "#positions svg.positions")


def wait_for_pictures(tab):
    """Wait for all that is drawn as wide as there is room: it comes a moment after the words around it."""
    for picture in PICTURES:
        tab.locator(picture).wait_for()


def open_tables(tab):
    """Open every table that says the same as a picture, and wait for all: a fold is filled after it has opened."""
    folds = tab.locator(".fold summary").all()
    for fold in folds:
        fold.click()
    expect(tab.locator(".fold table")).to_have_count(len(folds))


def table_of(tab, figure):
    """The rows of a figure's table, each a list of texts; the table is closed again."""
    summary, table = tab.locator(f"{figure} .fold summary"), tab.locator(f"{figure} table")
    summary.click()
    table.wait_for()
    read = "rows => rows.map((row) => [...row.children].map((cell) => cell.textContent))"
    rows = table.locator("tbody tr").evaluate_all(read)
    summary.click()
    expect(table).to_have_count(0)
    return rows
