"""What the page says: the same in both languages, every message that the code asks for, and legible."""

import json
import re

import pytest

from regard.web import assets
from regard.web.files import text_of

MODULES = [name for name in assets() if name.endswith(".js") and not name.startswith("messages_")]
CODE = "".join(text_of(name) for name in MODULES)


def messages(language):
    lines = re.findall(r'^  "([^"]+)": (".*"),$', text_of(f"messages_{language}.js"), re.MULTILINE)
    assert len(dict(lines)) == len(lines), "a key stands twice"
    return {key: json.loads(text) for key, text in lines}


ENGLISH, CHINESE = messages("en"), messages("zh")


def test_both_languages_say_the_same_things():
    assert list(ENGLISH) == list(CHINESE)
    for key, text in ENGLISH.items():
        assert sorted(re.findall(r"\{\w+\}", text)) == sorted(re.findall(r"\{\w+\}", CHINESE[key])), key


def test_chinese_is_chinese():
    plain = {"quoted", "list.item", "fact.layers.value"}
    for key, text in CHINESE.items():
        assert key in plain or re.search(r"[\u3001\u4e00-\u9fff]", text), key


def test_every_message_asked_for_is_there_and_every_one_is_asked_for():
    asked = set(re.findall(r"""say\(\s*"([\w.-]+)\"""", CODE))
    asked |= {word for branches in re.findall(r'say\([^()"]*\? ("[^)]*)', CODE) for word in re.findall(r'"([\w.-]+)"', branches)}
    assert asked <= set(ENGLISH)
    patterns = [re.sub(r"\$\{[^}]*(?:\{[^}]*\}[^}]*)*\}", "@", text) for text in re.findall(r"say\(`([^`]+)`", CODE)]
    made = [re.compile(re.escape(pattern).replace("@", r"[\w-]+")) for pattern in patterns]
    unasked = [key for key in ENGLISH if key not in asked and not any(pattern.fullmatch(key) for pattern in made)]
    assert unasked == []


def palette(theme):
    found = re.findall(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)", text_of("base.css"))
    return {name: (light, dark)[theme == "dark"] for name, light, dark in found}


def luminance(colour):
    channels = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


TEXTS = [
    (ink, ground)
    for ink, grounds in {
        "ink": ("paper", "sheet", "ground", "wash", "doubt-wash"),
        "soft": ("paper", "sheet", "ground"),
        "paper": ("ink",),
        "on-accent": ("accent",),
        "doubt": ("sheet",),
    }.items()
    for ground in grounds
]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(("ink", "ground"), TEXTS)
def test_text_can_be_read_on_its_ground(theme, ink, ground):
    colours = palette(theme)
    assert contrast(colours[ink], colours[ground]) >= 4.5


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("line", ["edge", "focus", "accent", "doubt"])
def test_what_is_not_text_can_be_seen(theme, line):
    colours = palette(theme)
    assert min(contrast(colours[line], colours[ground]) for ground in ("paper", "sheet")) >= 3


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_scale_of_shares_goes_one_way_from_the_ground(theme):
    stops = re.findall(r'"(#\w{6})"', re.search(rf"SHARES = {{.*?{theme}: \[(.*?)\]", text_of("colour.js"), re.DOTALL)[1])
    assert stops[0] == palette(theme)["ground"]
    values = [luminance(stop) for stop in stops]
    assert values == sorted(values, reverse=theme == "light")
    assert contrast(stops[0], stops[-1]) >= 7
