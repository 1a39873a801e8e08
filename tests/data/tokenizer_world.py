"""Text for tests of tokenizers: a small corpus that a computer makes up, and texts as odd as any."""

import random

SOURCES = ["the animal", "a tired dog", "two children", "every street", "the old houses", "nobody"]
VERBS = ["did not cross", "was seeing", "has counted", "likes", "waited for"]
TARGETS = [
    "l'animal n'a pas traversé la rue",
    "那只动物没有过马路",
    "它太累了，所以睡着了。",
    "où est-ce que l'élève va ?",
]


def corpus() -> list[str]:
    generator = random.Random(3)
    choose = generator.choice
    english = [f"{choose(SOURCES)} {choose(VERBS)} {choose(SOURCES)} , {choose(range(99))} ." for _ in range(300)]
    return english + [generator.choice(TARGETS) for _ in range(200)]


ODD_TEXTS = [
    "",
    " ",
    "   ",
    "a  b",
    " a",
    "a ",
    "\ta\t\tb\t",
    "a\u00a0b",
    "全角\u3000空格",
    "a\u2028b\u2029c\u0085d",
    "zero\u200bwidth\u200c\u200d\ufeff",
    "line\r\nbreak\n",
    "NUL \0 inside",
    "▁",
    "▁the ▁▁ a▁b",
    "<pad><s></s><unk>",
    " </s>",
    "the </s> <unk> animal",
    "<0xE4><0x0A> 0xE4",
    "## ##x ### #x x##",
    "那只动物没有过马路，因为它太累了。",
    "龘靐齉 𠀀𪚥",
    "👨‍👩‍👧‍👦 🏳️‍🌈 👍🏽 🇨🇭",
    "e\u0301 vs é, \u0301leading, a\u0301\u0323\u0308",
    "नमस्ते สวัสดี שָׁלוֹם مرحبا",
    "ﬁ ＡＢ ① ½ İ ß ǅ",
    "x" * 500,
    "龘" * 300,
    "a" + "\u0301" * 200,
    "\U0010ffff\ue000\ufffd",
]
