"""The built-in corpus as a whole: its parts, its determinism, what is novel, and sentences checked by hand."""

from __future__ import annotations

import hashlib
import re
from functools import cache
from itertools import product
from pathlib import Path

import pytest

from regard.data.builtin import (
    SHOWCASE,
    BuiltinCorpus,
    BuiltinPair,
    generate,
    pronoun_is_right,
    translate_showcase,
    write_builtin,
)
from regard.data.builtin.adjectives import QUALITIES, REASONS
from regard.data.builtin.corpus import PATTERNS, TargetLanguage
from regard.data.builtin.phrases import NOUNS
from regard.data.builtin.words import Chooser
from regard.errors import InputError, RegardError

PARTS = ("train", "validation", "test", "novel")
# When the grammar or the lexicon changes, so do these, and other sentences are drawn for builtin_sentences.tsv.
DIGESTS = {
    "fr": "686acf6dea1f3227abff0505e1165c793b32e4133a8939cd1a15ce590fc5a622",
    "zh": "3441b6fe98aa7a8863578de6b5be498190ca446a26e938bf924c004a1667563b",
}


@cache
def corpus_of(language: TargetLanguage) -> BuiltinCorpus:
    return generate(language)


@pytest.fixture(params=["fr", "zh"])
def corpus(request: pytest.FixtureRequest) -> BuiltinCorpus:
    return corpus_of(request.param)


def everything(corpus: BuiltinCorpus) -> list[BuiltinPair]:
    return [pair for part in PARTS for pair in getattr(corpus, part)]


def test_sizes(corpus: BuiltinCorpus) -> None:
    assert len(corpus.train) >= 30_000
    assert len(corpus.validation) == len(corpus.test) == len(corpus.novel) == 1_000


def test_no_sentence_is_there_twice_on_either_side(corpus: BuiltinCorpus) -> None:
    pairs = everything(corpus)
    assert len({pair.source for pair in pairs}) == len({pair.target for pair in pairs}) == len(pairs)


def test_sentences_are_short_and_the_vocabulary_is_moderate(corpus: BuiltinCorpus) -> None:
    lengths = [len(pair.source.split()) for pair in corpus.train]
    assert min(lengths) >= 3
    assert max(lengths) <= 17
    assert 300 <= len({word for pair in corpus.train for word in words_of(pair)}) <= 700


@pytest.mark.parametrize("language", ["fr", "zh"])
def test_the_text_of_a_seed_never_changes(language: TargetLanguage) -> None:
    text = "".join(f"{pair.source}\t{pair.target}\n" for pair in everything(corpus_of(language)))
    assert hashlib.sha256(text.encode()).hexdigest() == DIGESTS[language]


def test_another_seed_gives_other_sentences() -> None:
    other = {pair.source for pair in generate("fr", seed=2).train}
    assert len(other - {pair.source for pair in corpus_of("fr").train}) > 10_000


def test_each_source_has_one_translation() -> None:
    chooser = Chooser(21)
    known: dict[str, tuple[str, str]] = {}
    for draw, share in PATTERNS:
        for _ in range(150 * share):
            one = draw(chooser)
            assert known.setdefault(one.english, (one.french, one.chinese)) == (one.french, one.chinese)
    assert len(known) > 10_000


WORDS = {noun.english: noun.english for noun in NOUNS} | {noun.english_plural: noun.english for noun in NOUNS}
ADJECTIVES = {one.english for one in QUALITIES + REASONS}
COMPARATIVES = {"bigger": "big", "smaller": "small", "faster": "fast", "slower": "slow", "stronger": "strong"} | {
    "heavier": "heavy",
    "uglier": "ugly",
    "older": "old",
    "noisier": "noisy",
    "higher": "high",
}


def words_of(pair: BuiltinPair) -> list[str]:
    return re.findall(r"[\w']+", pair.source.lower())


def combinations_of(pair: BuiltinPair) -> set[tuple[str, str]]:
    """Two nouns, or a noun and an adjective, of one sentence: read off its text, not from the grammar."""
    words = words_of(pair)
    nouns = sorted({WORDS[word] for word in words if word in WORDS})
    adjectives = {COMPARATIVES.get(word, word) for word in words} & ADJECTIVES
    return {(one, other) for one, other in product(nouns, nouns) if one < other} | set(product(nouns, adjectives))


def test_novel_sentences_combine_words_that_training_never_combines(corpus: BuiltinCorpus) -> None:
    seen = {combination for pair in corpus.train for combination in combinations_of(pair)}
    words = {word for pair in corpus.train for word in words_of(pair)}
    for pair in corpus.novel:
        assert combinations_of(pair) - seen, f"every combination of {pair.source!r} is in the training part"
        assert set(words_of(pair)) <= words, f"{pair.source!r} has a word that is nowhere in the training part"


def test_validation_and_test_keep_to_known_words(corpus: BuiltinCorpus) -> None:
    words = {word for pair in corpus.train for word in words_of(pair)}
    assert all(set(words_of(pair)) <= words for pair in (*corpus.validation, *corpus.test))


@pytest.mark.parametrize(("part", "least"), [("train", 0.025), ("validation", 0.01), ("test", 0.01), ("novel", 0.01)])
def test_pronouns_of_each_kind_are_common(part: str, least: float) -> None:
    # The rarest are about 3 %; a part of 1,000 may by chance have half of that.
    pairs = getattr(corpus_of("fr"), part)
    rights = [pair.pronoun.right for pair in pairs if pair.pronoun is not None]
    shares = {word: rights.count(word) / len(pairs) for word in ("il", "elle", "ils", "elles", "le", "la", "les")}
    assert min(shares.values()) > least, shares


def test_both_genders_stand_on_both_sides_of_the_ambiguity() -> None:
    genders = {noun.english: noun.gender for noun in NOUNS}
    counts: dict[tuple[str, str, int], int] = {}
    for pair in corpus_of("fr").train:
        nouns = [word for word in words_of(pair) if word in genders]
        if pair.pronoun and pair.pronoun.english == "it" and " because it was too " in pair.source and len(nouns) == 2:
            key = genders[nouns[0]], genders[nouns[1]], nouns.index(pair.pronoun.antecedent)
            counts[key] = counts.get(key, 0) + 1
    assert set(counts) == set(product("mf", "mf", (0, 1)))
    assert min(counts.values()) > 300


def test_every_reference_has_its_own_pronoun_right(corpus: BuiltinCorpus) -> None:
    assert all(pronoun_is_right(pair, pair.target) for pair in everything(corpus))


def test_the_other_gender_is_wrong() -> None:
    other = {"il": "elle", "elle": "il", "ils": "elles", "elles": "ils", "le": "la", "la": "le"}
    judged = 0
    for pair in corpus_of("fr").test:
        if pair.pronoun is not None and pair.pronoun.right in other:
            right = pair.pronoun.right
            changed = re.sub(rf"(qu'|même si |même s'|et |ne ){right} ", rf"\g<1>{other[right]} ", pair.target)
            assert changed != pair.target
            assert not pronoun_is_right(pair, changed)
            judged += 1
    assert judged > 300


def test_showcase_is_of_the_language_and_never_in_training(corpus: BuiltinCorpus) -> None:
    assert "The animal didn't cross the street because it was too tired." in SHOWCASE
    assert "The animal didn't cross the street because it was too wide." in SHOWCASE
    assert set(SHOWCASE) <= {pair.source for pair in corpus.novel}
    assert not any({"animal", "street"} <= set(words_of(pair)) for pair in corpus.train)
    language: TargetLanguage = "fr" if corpus is corpus_of("fr") else "zh"
    references = dict(zip(SHOWCASE, translate_showcase(language), strict=True))
    assert all(references[pair.source] == pair.target for pair in corpus.novel if pair.source in references)


def test_chinese_is_written_as_chinese() -> None:
    for pair in everything(corpus_of("zh")):
        assert re.fullmatch("[\u4e00-\u9fff，]+[。？]", pair.target), pair.target
        assert not re.search("二[^十]{0,1}(个|只|本|条|把)", pair.target.replace("第二", "").replace("十二", "")), (
            pair.target
        )


def test_french_is_elided_and_contracted_throughout() -> None:
    vowel = "[aeiouâéèêîôœ]"
    little = rf"\b(le|la|de|que|ne|je|ce|ma|sa|beau|nouveau) {vowel}|\bun vieux ({vowel}|h[oô])|\b(si ils?|ce homme) "
    wrong = re.compile(rf"{little}|\b(à|de) les? ", re.IGNORECASE)
    for pair in everything(corpus_of("fr")):
        assert not wrong.search(pair.target), pair.target


@pytest.mark.parametrize("language", ["fr", "zh"])
def test_plain_files_are_written(tmp_path: Path, language: TargetLanguage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.data.builtin.writing.generate", lambda language, seed: corpus_of(language))
    files = write_builtin(tmp_path / "en", language)
    assert sorted(path.name for path in (tmp_path / "en").iterdir()) == sorted(files)
    assert set(files) == {f"{part}.{side}" for part in PARTS for side in ("en", language)} | {"README.txt"}
    for part in PARTS:
        pairs = getattr(corpus_of(language), part)
        assert files[f"{part}.en"].read_bytes().decode() == "".join(f"{pair.source}\n" for pair in pairs)
        assert files[f"{part}.{language}"].read_bytes().decode() == "".join(f"{pair.target}\n" for pair in pairs)
    assert "seed 1" in files["README.txt"].read_text(encoding="utf-8")


def test_an_unknown_language_is_refused() -> None:
    with pytest.raises(InputError, match=r"'de'.*fr.*zh"):
        generate("de")  # type: ignore[arg-type]


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.data.builtin.writing.generate", lambda language, seed: corpus_of(language))
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(RegardError, match="file"):
        write_builtin(tmp_path / "file", "fr")


HAND_CHECKED = (Path(__file__).parent / "builtin_sentences.tsv").read_text(encoding="utf-8").splitlines()


@cache
def translations(language: TargetLanguage) -> dict[str, str]:
    return {pair.source: pair.target for pair in everything(corpus_of(language))}


@pytest.mark.parametrize("line", HAND_CHECKED)
def test_sentence_checked_by_hand(line: str) -> None:
    in_english, in_french, in_chinese = line.split("\t")
    assert (translations("fr")[in_english], translations("zh")[in_english]) == (in_french, in_chinese)
