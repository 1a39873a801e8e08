"""The files of the page and the one-file view: what they hold, and that their policy names the very script."""

import re

import pytest
from fake_explanation import explanation
from one_file import NASTY, check_hostile_text, check_nothing_outside, check_policy, data_of

from regard.web import assets, self_contained_page
from regard.web.bundle import declared_names, join_modules
from regard.web.files import text_of

DATA = "explanation-data"
MODULES = sorted(name for name in assets() if name.endswith(".js"))


def reader(**modules):
    return lambda name: modules[name.removesuffix(".js")]


def test_the_service_gets_every_file_with_its_type_and_a_validator_of_its_content():
    files = assets()
    assert {"index.html", "app.js", "base.css"} <= set(files)
    assert "file.html" not in files
    for name, asset in files.items():
        assert asset.name == name
        assert asset.content_type.endswith("; charset=utf-8")
        assert re.fullmatch(r'"[0-9a-f]{20}"', asset.etag)
    assert files["app.js"].content_type.startswith("text/javascript")
    assert len({asset.etag for asset in files.values()}) == len(files)


def test_the_page_names_only_files_that_are_there():
    named = re.findall(r'(?:src|href)="static/([^"]+)"', text_of("index.html"))
    assert named
    assert set(named) <= set(assets())
    for name in MODULES:
        assert set(re.findall(r'from "\./([^"]+)"', text_of(name))) <= set(MODULES), name


@pytest.mark.parametrize("name", MODULES)
def test_modules_are_small_and_set_text_as_text(name):
    text = text_of(name)
    assert text.startswith("// ")
    assert len(text.splitlines()) <= 250
    assert max(map(len, text.splitlines())) <= 120 or name.startswith("messages_")
    forbidden = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function|setAttribute\(\"style"
    assert not re.search(forbidden, text)
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text)


@pytest.mark.parametrize("entry", ["app.js", "file.js"])
def test_the_modules_join_without_a_clash(entry):
    script = join_modules(entry)
    assert not re.search(r"^(import|export)\b", script, re.MULTILINE)
    assert "</script" not in script.lower()
    assert "<!--" not in script
    names = declared_names(script)
    assert {"element", "insideView", "unpack", "ENGLISH"} <= set(names)
    assert len(names) == len(set(names))


def test_what_is_needed_comes_first_and_once():
    modules = reader(
        a='import { b } from "./b.js";\nimport { c } from "./c.js";\nb(c);\n',
        b='import { c } from "./c.js";\nexport const b = () => c;\n',
        c="export const c = 1;\n",
    )
    assert join_modules("a.js", modules) == "const c = 1;\n\nconst b = () => c;\n\nb(c);\n"


@pytest.mark.parametrize(
    ("modules", "message"),
    [
        (
            {"a": 'import { b } from "./b.js";\nconst x = 1;\n', "b": "export function x() {}\n"},
            "x is declared in b.js",
        ),
        ({"a": 'import { b } from "./b.js";\n', "b": 'import { a } from "./a.js";\n'}, "a.js -> b.js -> a.js"),
        ({"a": 'import b from "./b.js";\n'}, "a.js: write imports as"),
        ({"a": "export default 1;\n"}, "a.js: write imports as"),
    ],
)
def test_what_cannot_be_joined_is_named(modules, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        join_modules("a.js", reader(**modules))


def test_the_policy_names_the_very_style_and_script_of_the_file():
    check_policy(self_contained_page(explanation()), script='<script type="module">')


def test_the_file_asks_for_nothing_outside_itself():
    check_nothing_outside(self_contained_page(explanation()))


def test_the_file_holds_the_data_and_speaks_the_language():
    given = explanation()
    assert data_of(self_contained_page(given), DATA) == {"language": "en", "explanation": given}
    chinese = self_contained_page(given, "zh")
    assert '<html lang="zh-CN">' in chinese
    assert data_of(chinese, DATA)["language"] == "zh"


def test_hostile_text_stays_text():
    given = explanation(NASTY, NASTY)
    page = self_contained_page(given)
    check_hostile_text(page)
    assert "<title>regard: &lt;/script&gt;" in page
    assert data_of(page, DATA)["explanation"] == given
