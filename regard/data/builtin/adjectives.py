"""Adjectives of the built-in lexicon: those that qualify nouns, and those that give reasons."""

from __future__ import annotations

from regard.data.builtin import french
from regard.data.builtin.words import Adjective

# Irregular feminines, and the masculine forms that stand before a vowel sound.
FEMININES = {
    "vieux": "vieille",
    "nouveau": "nouvelle",
    "beau": "belle",
    "bon": "bonne",
    "gros": "grosse",
    "long": "longue",
    "blanc": "blanche",
    "cher": "chère",
    "amer": "amère",
    "fier": "fière",
    "sec": "sèche",
    "épais": "épaisse",
}
BEFORE_VOWEL = {"vieux": "vieil", "nouveau": "nouvel", "beau": "bel"}


def _adjective(words: str, chinese: str, tags: str = "", group: str = "", before: bool = False) -> Adjective:
    """An adjective from `english/french`; Chinese as `bare` or `bare attributive`, where the two differ."""
    one, masculine = words.split("/")
    feminine = FEMININES.get(masculine) or french.feminine_of(masculine)
    bare, _, attributive = chinese.partition(" ")
    vowel = BEFORE_VOWEL.get(masculine, masculine)
    kinds = frozenset(tags.split())
    return Adjective(
        one, masculine, feminine, bare, attributive or bare, kinds, group or one, before, vowel, False, False
    )


def _colour(words: str, chinese: str, tags: str) -> Adjective:
    one, masculine = words.split("/")
    invariable = masculine == "marron"  # a noun (chestnut) used as a colour does not agree
    feminine = masculine if invariable else FEMININES.get(masculine) or french.feminine_of(masculine)
    kinds, attributive = frozenset(tags.split()), f"{chinese}的"
    return Adjective(
        one, masculine, feminine, chinese, attributive, kinds, "colour", False, masculine, invariable, True
    )


# Before the noun in French (beauty, age, goodness, size); `old` is 年老的 of people, 老 of animals and buildings,
# 旧 of objects.
QUALITIES = (
    _adjective("big/grand", "大", "animal object building", "size", before=True),
    _adjective("small/petit", "小", "animal object building child", "size", before=True),
    _adjective("old/vieux", "老", "animal building", "age", before=True),
    _adjective("old/vieux", "老 年老的", "adult", "age", before=True),
    _adjective("old/vieux", "旧", "object", "age", before=True),
    _adjective("new/nouveau", "新", "object building", "age", before=True),
    _adjective("young/jeune", "年轻 年轻的", "adult", "age", before=True),
    _adjective("beautiful/beau", "漂亮 漂亮的", "object building lady", "beauty", before=True),
    _adjective("good/bon", "好", "good", "beauty", before=True),
    _colour("red/rouge", "红色", "coloured"),
    _colour("blue/bleu", "蓝色", "coloured"),
    _colour("green/vert", "绿色", "coloured"),
    _colour("yellow/jaune", "黄色", "coloured"),
    _colour("white/blanc", "白色", "coloured animal"),
    _colour("black/noir", "黑色", "coloured animal"),
    _colour("grey/gris", "灰色", "coloured animal"),
    _colour("brown/marron", "棕色", "coloured animal"),
    _adjective("expensive/cher", "贵 昂贵的", "object", "price"),
    _adjective("heavy/lourd", "重 沉重的", "heavy"),
    _adjective("ugly/laid", "难看 难看的", "object", "beauty"),
    _adjective("strange/étrange", "奇怪 奇怪的", "animal object building"),
    _adjective("comfortable/confortable", "舒服 舒服的", "furniture"),
    _adjective("interesting/intéressant", "吸引人 有趣的", "reading", "interest"),
    _adjective("boring/ennuyeux", "无聊 无聊的", "reading", "interest"),
    _adjective("quiet/calme", "安静 安静的", "quiet child"),
    _adjective("rich/riche", "富有 富有的", "adult"),
    _adjective("famous/célèbre", "出名 著名的", "fame"),
    _adjective("intelligent/intelligent", "聪明 聪明的", "person animal"),
    _adjective("tired/fatigué", "累 疲惫的", "person animal"),
)

# Heard only as reasons: too tired, too wide.
REASONS = (
    _adjective("weak/faible", "虚弱"),
    _adjective("slow/lent", "慢"),
    _adjective("lazy/paresseux", "懒"),
    _adjective("timid/timide", "胆小"),
    _adjective("scared/effrayé", "害怕"),
    _adjective("nervous/nerveux", "紧张"),
    _adjective("fat/gros", "胖"),
    _adjective("clumsy/maladroit", "笨拙"),
    _adjective("cautious/prudent", "谨慎"),
    _adjective("proud/fier", "骄傲"),
    _adjective("sad/triste", "伤心"),
    _adjective("busy/occupé", "忙"),
    _adjective("poor/pauvre", "穷"),
    _adjective("stingy/avare", "小气"),
    _adjective("wide/large", "宽"),
    _adjective("long/long", "长"),
    _adjective("dangerous/dangereux", "危险"),
    _adjective("deep/profond", "深"),
    _adjective("dark/sombre", "暗"),
    _adjective("noisy/bruyant", "吵"),
    _adjective("slippery/glissant", "滑"),
    _adjective("narrow/étroit", "窄"),
    _adjective("muddy/boueux", "泥泞"),
    _adjective("hot/chaud", "烫"),
    _adjective("cold/froid", "凉"),
    _adjective("salty/salé", "咸"),
    _adjective("sweet/sucré", "甜"),
    _adjective("bitter/amer", "苦"),
    _adjective("sour/acide", "酸"),
    _adjective("hard/dur", "硬"),
    _adjective("dry/sec", "干"),
    _adjective("high/haut", "高"),
    _adjective("steep/raide", "陡"),
    _adjective("fast/rapide", "快"),
    _adjective("sly/rusé", "狡猾"),
    _adjective("agile/agile", "敏捷"),
    _adjective("strong/fort", "强壮"),
    _adjective("dirty/sale", "脏"),
    _adjective("wet/mouillé", "湿"),
    _adjective("difficult/difficile", "难"),
    _adjective("full/plein", "满"),
    _adjective("fragile/fragile", "脆弱"),
    _adjective("thin/mince", "薄"),
)

# Of the words for `old`, the name finds the first, that of animals.
BY_NAME = {adjective.english: adjective for adjective in reversed(QUALITIES + REASONS)}
