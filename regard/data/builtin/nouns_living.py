"""Animals and people of the built-in lexicon.

Tags of animals: walker, climber, jumper, predator, prey, carrier (what they may do in a scene), little (they fit
under a bed).
Tags of people: adult, child, lady, fame (which adjectives fit), gendered (English shows their gender: he or she).
"""

from __future__ import annotations

from regard.data.builtin import english, french
from regard.data.builtin.words import Gender, Name, Noun


def noun(words: str, gender: Gender, chinese: str, measure: str, tags: str) -> Noun:
    """A noun from `english/french` and its tags; plurals are formed by rule."""
    one, other = words.split("/")
    kinds = frozenset(tags.split())
    return Noun(one, other, gender, chinese, measure, kinds, english.plural_of(one), french.plural_of(other))


ANIMALS = (
    noun("animal/animal", "m", "动物", "只", "animal walker climber jumper"),
    noun("dog/chien", "m", "狗", "条", "animal little walker climber jumper predator carrier"),
    noun("cat/chat", "m", "猫", "只", "animal little walker climber jumper predator"),
    noun("horse/cheval", "m", "马", "匹", "animal walker jumper carrier"),
    noun("cow/vache", "f", "奶牛", "头", "animal walker"),
    noun("donkey/âne", "m", "驴", "头", "animal walker climber jumper carrier"),
    noun("mule/mule", "f", "骡子", "头", "animal walker climber jumper carrier"),
    noun("goat/chèvre", "f", "山羊", "只", "animal walker climber jumper carrier"),
    noun("pig/cochon", "m", "猪", "头", "animal walker"),
    noun("rabbit/lapin", "m", "兔子", "只", "animal little walker climber jumper prey"),
    noun("mouse/souris", "f", "老鼠", "只", "animal little walker climber prey"),
    noun("fox/renard", "m", "狐狸", "只", "animal walker climber jumper predator"),
    noun("wolf/loup", "m", "狼", "只", "animal walker climber jumper predator"),
    noun("bear/ours", "m", "熊", "头", "animal walker climber predator"),
    noun("lion/lion", "m", "狮子", "头", "animal walker climber jumper predator"),
    noun("tiger/tigre", "m", "老虎", "只", "animal walker climber jumper predator"),
    noun("panther/panthère", "f", "豹子", "只", "animal walker climber jumper predator"),
    noun("weasel/belette", "f", "黄鼠狼", "只", "animal little walker climber jumper predator"),
    noun("elephant/éléphant", "m", "大象", "头", "animal walker carrier"),
    noun("giraffe/girafe", "f", "长颈鹿", "只", "animal walker"),
    noun("camel/chameau", "m", "骆驼", "头", "animal walker climber carrier"),
    noun("monkey/singe", "m", "猴子", "只", "animal walker climber jumper"),
    noun("gazelle/gazelle", "f", "羚羊", "只", "animal walker climber jumper prey"),
    noun("squirrel/écureuil", "m", "松鼠", "只", "animal little walker climber jumper prey"),
    noun("turtle/tortue", "f", "乌龟", "只", "animal little walker climber"),
    noun("frog/grenouille", "f", "青蛙", "只", "animal little walker climber jumper prey"),
    noun("snake/serpent", "m", "蛇", "条", "animal little walker climber predator"),
    noun("hen/poule", "f", "母鸡", "只", "animal little walker prey"),
    noun("duck/canard", "m", "鸭子", "只", "animal little walker prey"),
    noun("goose/oie", "f", "鹅", "只", "animal walker prey"),
    noun("hedgehog/hérisson", "m", "刺猬", "只", "animal little walker climber"),
    noun("hamster/hamster", "m", "仓鼠", "只", "animal little walker climber prey"),
    noun("owl/hibou", "m", "猫头鹰", "只", "animal little predator"),
    noun("spider/araignée", "f", "蜘蛛", "只", "animal little walker climber"),
    noun("ant/fourmi", "f", "蚂蚁", "只", "animal little walker climber"),
)

PEOPLE = (
    noun("man/homme", "m", "男人", "个", "person adult gendered"),
    noun("woman/femme", "f", "女人", "个", "person adult lady gendered"),
    noun("boy/garçon", "m", "男孩", "个", "person child gendered"),
    noun("girl/fille", "f", "女孩", "个", "person child lady gendered"),
    noun("king/roi", "m", "国王", "位", "person adult gendered"),
    noun("queen/reine", "f", "王后", "位", "person adult lady gendered"),
    noun("prince/prince", "m", "王子", "位", "person adult gendered"),
    noun("princess/princesse", "f", "公主", "位", "person adult lady gendered"),
    noun("actor/acteur", "m", "男演员", "位", "person adult fame gendered"),
    noun("actress/actrice", "f", "女演员", "位", "person adult lady fame gendered"),
    noun("hero/héros", "m", "英雄", "位", "person fame gendered"),
    noun("heroine/héroïne", "f", "女英雄", "位", "person fame gendered"),
    noun("waiter/serveur", "m", "男服务员", "位", "person adult gendered"),
    noun("waitress/serveuse", "f", "女服务员", "位", "person adult lady gendered"),
    noun("teacher/professeur", "m", "老师", "位", "person adult fame"),
    noun("doctor/médecin", "m", "医生", "位", "person adult fame"),
    noun("lawyer/avocat", "m", "律师", "位", "person adult fame"),
    noun("child/enfant", "m", "孩子", "个", "person child"),
)

NAMES = (
    Name("Marie", "玛丽", "f"),
    Name("Anna", "安娜", "f"),
    Name("Alice", "爱丽丝", "f"),
    Name("Julie", "朱莉", "f"),
    Name("Emma", "艾玛", "f"),
    Name("Paul", "保罗", "m"),
    Name("Louis", "路易", "m"),
    Name("Thomas", "托马斯", "m"),
    Name("Antoine", "安托万", "m"),
    Name("Lucas", "卢卡斯", "m"),
)
