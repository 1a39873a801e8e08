"""Languages are told apart by profiles that a model's own text gives, and by scripts where there are none."""

import json
from pathlib import Path

import pytest

from regard.data.builtin import generate
from regard.data.lines import read_lines
from regard.errors import ModelFolderError
from regard.recipe import load_config
from regard.text.detection import Detector
from regard.text.profiles import LARGEST_FILE, PROFILES, Profile, load_profiles, profiles_of, save_profiles


def learn(texts: list[str]) -> Profile:
    profile = Profile.learn(texts)
    assert profile is not None
    return profile


def accuracy(detector: Detector, texts: dict[str, list[str]], least: int) -> float:
    judged = [
        detector.detect(text)[0].language == code for code, some in texts.items() for text in some if len(text) >= least
    ]
    assert len(judged) > 100
    return sum(judged) / len(judged)


@pytest.fixture(scope="module")
def builtin() -> tuple[Detector, dict[str, list[str]]]:
    french = generate("fr")
    learned = {
        "en": [pair.source for pair in french.train[:1000]],
        "fr": [pair.target for pair in french.train[:1000]],
    }
    held_out = {
        "en": [pair.source for pair in french.novel],
        "fr": [pair.target for pair in french.novel],
    }
    return Detector(learned, {code: learn(texts) for code, texts in learned.items()}), held_out


def test_the_builtin_languages(builtin: tuple[Detector, dict[str, list[str]]]) -> None:
    detector, texts = builtin
    assert accuracy(detector, texts, 5) > 0.999
    longer = [text for some in texts.values() for text in some[:50] if len(text) > 30]
    assert all(detector.detect(text)[0].confidence > 0.9 for text in longer)


def test_other_text_is_told_apart_with_less_confidence(builtin: tuple[Detector, dict[str, list[str]]]) -> None:
    detector, _ = builtin
    spanish = detector.detect("¿Dónde está la biblioteca del pueblo?")[0]
    english = detector.detect("Where do you keep the keys of the library?")[0]
    assert english.language == "en"
    assert english.confidence > spanish.confidence
    assert detector.detect("Где находится библиотека?")[0].confidence == 0
    assert detector.detect("12 34 !")[0].confidence == 0
    assert detector.detect("")[0].confidence == 0


def test_it_is_the_same_every_time(builtin: tuple[Detector, dict[str, list[str]]]) -> None:
    detector, texts = builtin
    for text in texts["fr"][:20]:
        assert detector.detect(text) == detector.detect(text)
        assert sum(each.confidence for each in detector.detect(text)) <= 1 + 1e-9
    assert Profile.learn(texts["en"]) == Profile.learn(list(texts["en"]))


def test_several_texts_have_one_language(builtin: tuple[Detector, dict[str, list[str]]]) -> None:
    detector, texts = builtin
    assert detector.detect_together([*texts["en"][:3], texts["fr"][0]])[0].language == "en"


@pytest.mark.slow
def test_chinese(builtin: tuple[Detector, dict[str, list[str]]]) -> None:
    known, texts = builtin
    chinese = generate("zh")
    profiles = {**known.profiles, "zh": learn([pair.target for pair in chinese.train[:1000]])}
    detector = Detector(profiles, profiles)
    assert accuracy(detector, {**texts, "zh": [pair.target for pair in chinese.novel]}, 5) > 0.999


@pytest.mark.slow
def test_multi30k(data_folder: Path) -> None:
    def lines(name: str, code: str) -> list[str]:
        return list(read_lines(data_folder / "multi30k" / "raw" / f"{name}.{code}.gz"))

    codes = ("en", "de", "fr")
    detector = Detector(codes, {code: learn(lines("train", code)[:2000]) for code in codes})
    held_out = {code: lines("test_2016_flickr", code) for code in codes}
    assert accuracy(detector, held_out, 40) > 0.97


def test_without_profiles_scripts_tell_and_confidence_is_low() -> None:
    detector = Detector(["en", "de", "zh", "ru"], {})
    russian, *others = detector.detect("Где находится библиотека?")
    assert (russian.language, others) == ("ru", [])
    assert russian.confidence == pytest.approx(0.5)
    latin = detector.detect("Wo ist die Bibliothek?")
    assert {each.language for each in latin} == {"en", "de"}
    assert latin[0].confidence == pytest.approx(1 / 3)


def test_a_profile_beside_a_language_without_one(builtin: tuple[Detector, dict[str, list[str]]]) -> None:
    known, texts = builtin
    detector = Detector(["en", "de"], {"en": known.profiles["en"]})
    assert detector.detect(texts["en"][0])[0].language == "en"
    assert detector.detect("Das Tier überquerte die Straße nicht, weil es zu müde war.")[0].language == "de"


def test_a_run_writes_what_its_languages_look_like(tiny_run: Path, tiny_model: Path) -> None:
    profiles = load_profiles(tiny_run)
    assert set(profiles) == {"en", "fr"}
    assert Detector(profiles, profiles).detect("le chien prend 3 pommes")[0].language == "fr"
    data = load_config(tiny_run / "config.toml").data
    assert profiles_of(tiny_model, data) == {}
    prepared = tiny_model / "prepared"
    prepared.symlink_to(tiny_run / "prepared")
    assert profiles_of(tiny_model, data) == profiles
    save_profiles(tiny_model, profiles)
    assert load_profiles(tiny_model) == profiles


@pytest.mark.parametrize(
    "change",
    [
        {"version": 2},
        {"languages": []},
        {"languages": {"en": {}}},
        {"languages": {"en": {"typical": -1, "floors": [-1, -1, -1, -1], "shares": {"a": 1}}}},
        {"languages": {"en": {"typical": -1, "floors": [-1, -1, -1, -1], "shares": {"a": True}}}},
        {"languages": {"en": {"typical": -1, "floors": [-1, -1], "shares": {}}}},
        {"languages": {"en": {"typical": "x", "floors": [-1, -1, -1, -1], "shares": {}}}},
        {"languages": {"en": {"typical": -1, "floors": [-1, -1, -1, -1], "shares": {"abcde": -1}}}},
        {"languages": {str(number): {} for number in range(17)}},
    ],
)
def test_damaged_profiles_are_refused(tmp_path: Path, change: dict[str, object]) -> None:
    document = {"format": "regard-languages", "version": 1, "languages": {}, **change}
    (tmp_path / PROFILES).write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(ModelFolderError, match=PROFILES):
        load_profiles(tmp_path)


def test_large_and_broken_files_are_refused(tmp_path: Path) -> None:
    for content in ("[" * 100_000, "{", "[]", '{"a": NaN}', " " * (LARGEST_FILE + 1)):
        (tmp_path / PROFILES).write_text(content, encoding="utf-8")
        with pytest.raises(ModelFolderError, match=PROFILES):
            load_profiles(tmp_path)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("我在Google工作", "zh"),
        ("Tom爱Mary。", "zh"),
        ("我用iPhone和MacBook", "zh"),
        ("你好", "zh"),
        ("The word 爱 means love in Chinese.", "en"),
        ("I work at Google.", "en"),
    ],
)
def test_names_in_another_script_do_not_change_a_language(
    builtin: tuple[Detector, dict[str, list[str]]], text: str, language: str
) -> None:
    known, _ = builtin
    chinese = ["我在北京工作。", "汤姆爱玛丽。", "你好，我用手机和电脑。", "他们在学校学习中文和英文。"]
    profiles = {**known.profiles, "zh": learn(chinese)}
    found = Detector(profiles, profiles).detect(text)[0]
    assert found.language == language
    assert found.confidence > 0.1
