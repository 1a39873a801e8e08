"""The list of keys covers the configuration, and the page of the docs is up to date."""

from pathlib import Path

from regard.keys import PAGE, KeyList, configuration_page, keys_of, section_types
from regard.recipe import all_keys


def test_every_key_is_listed_once() -> None:
    listed = [key.name for section, model in section_types().items() for key in keys_of(section, model)]
    assert sorted(listed) == sorted(all_keys())


def test_choices_bounds_and_defaults_are_shown() -> None:
    keys = {key.name: key for section, model in section_types().items() for key in keys_of(section, model)}
    assert keys["model.norm"].values == "post | pre"
    assert keys["search.beam"].values == "whole number, ≥ 1, ≤ 100"
    assert keys["search.beam"].default == "5"
    assert keys["tokenizer.shared"].default == "true"
    assert keys["train.max_epochs"].default == "none"


def test_text_for_the_terminal_has_a_line_for_each_key() -> None:
    names = [line.split()[0] for line in KeyList().to_text().splitlines()]
    assert set(all_keys()) <= set(names)


def test_page_of_the_docs_is_up_to_date() -> None:
    page = Path(__file__).parent.parent / PAGE
    remedy = f"run: .venv/bin/python -m regard.keys > {PAGE}"
    assert page.read_text(encoding="utf-8") == configuration_page(), remedy
