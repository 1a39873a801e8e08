import pytest
import sacrebleu
from sacrebleu.metrics import BLEU, CHRF

from regard.errors import CorpusError, InputError
from regard.evaluate import metrics
from regard.evaluate.metrics import available_tokenize, bleu, chrf, default_tokenize, exact_match

HYPOTHESES = [
    "Ein Mann geht mit seinem Hund am Strand.",
    "Zwei Kinder spielen im Park mit einem Ball.",
    "Eine Frau liest ein Buch, während sie wartet.",
    "Der Zug fährt langsam in den Bahnhof.",
]
REFERENCES = [
    "Ein Mann geht mit seinem Hund am Strand spazieren.",
    "Zwei Kinder spielen im Park Ball.",
    "Eine Frau liest beim Warten ein Buch.",
    "Der Zug fährt langsam in den Bahnhof.",
]
OTHERS = [
    "Ein Mann führt seinen Hund am Strand aus.",
    "Zwei Kinder spielen mit einem Ball.",
    "Eine Frau liest ein Buch, während sie wartet.",
    "Langsam kommt der Zug in den Bahnhof.",
]
VERSION = sacrebleu.__version__


@pytest.mark.parametrize("tokenize", ["13a", "intl", "zh", "char", "none"])
@pytest.mark.parametrize("lowercase", [False, True])
@pytest.mark.parametrize("references", [[REFERENCES], [REFERENCES, OTHERS]])
def test_bleu_is_sacrebleus(tokenize: str, lowercase: bool, references: list[list[str]]) -> None:
    metric = BLEU(tokenize=tokenize, lowercase=lowercase)
    expected = metric.corpus_score(HYPOTHESES, references)
    score = bleu(HYPOTHESES, references, tokenize=tokenize, lowercase=lowercase)
    assert score.value == expected.score
    assert score.signature == metric.get_signature().format()
    assert score.detail["precisions"] == expected.precisions
    assert score.detail["brevity_penalty"] == expected.bp
    assert (score.detail["hypothesis_tokens"], score.detail["reference_tokens"]) == (expected.sys_len, expected.ref_len)


@pytest.mark.parametrize("words", [0, 2])
@pytest.mark.parametrize("references", [[REFERENCES], [REFERENCES, OTHERS]])
def test_chrf_is_sacrebleus(words: int, references: list[list[str]]) -> None:
    metric = CHRF(word_order=words)
    score = chrf(HYPOTHESES, references, words=words)
    assert score.value == pytest.approx(metric.corpus_score(HYPOTHESES, references).score, abs=1e-12)
    assert score.signature == metric.get_signature().format()
    assert score.name == ("chrF2++" if words else "chrF2")


def test_signatures() -> None:
    score = bleu(HYPOTHESES, REFERENCES, tokenize="none")
    assert score.signature == f"nrefs:1|case:mixed|eff:no|tok:none|smooth:exp|version:{VERSION}"
    assert "nrefs:2|case:lc|" in bleu(HYPOTHESES, [REFERENCES, OTHERS], lowercase=True).signature
    assert str(score) == f"BLEU {score.value:.2f} ({score.signature})"


def test_the_bounds_of_the_scale() -> None:
    assert bleu(REFERENCES, REFERENCES).value == pytest.approx(100.0)
    assert chrf(REFERENCES, REFERENCES).value == pytest.approx(100.0)
    assert bleu(["x y z"] * 4, REFERENCES).value == 0.0
    assert bleu([""] * 4, REFERENCES).value == chrf([""] * 4, REFERENCES).value == 0.0


@pytest.mark.parametrize(
    ("language", "tokenize"),
    [("de", "13a"), ("", "13a"), ("zh", "zh"), ("zh-CN", "zh"), ("ZH_Hans", "zh"), ("ja", "ja-mecab"), ("th", "char")],
)
def test_the_tokenization_suits_the_target_language(language: str, tokenize: str) -> None:
    assert default_tokenize(language) == tokenize


def test_chinese_is_cut_into_characters_by_default() -> None:
    hypotheses, references = ["那只猫坐在垫子上。"], ["那只猫坐在一张垫子上。"]
    assert "tok:zh" in bleu(hypotheses, references, "zh").signature
    assert bleu(hypotheses, references, "zh").value > 30
    assert bleu(hypotheses, references, "de").value < 1e-6


def test_japanese_without_its_package_is_a_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r'pip install "sacrebleu\[ja\]".*"char"'):
        bleu(["猫"], ["犬"], "ja")
    assert available_tokenize("ja") == "char"
    assert available_tokenize("de") == "13a"


def test_an_unknown_tokenization_is_named_with_the_known_ones() -> None:
    with pytest.raises(InputError, match=r"'13b'.*13a, intl"):
        bleu(HYPOTHESES, REFERENCES, tokenize="13b")


def test_unequal_numbers_are_both_stated() -> None:
    with pytest.raises(CorpusError, match="4 hypotheses, but there are 3 references"):
        bleu(HYPOTHESES, REFERENCES[:3])
    with pytest.raises(CorpusError, match="4 hypotheses, but reference list 2 has 1 references"):
        chrf(HYPOTHESES, [REFERENCES, OTHERS[:1]])
    with pytest.raises(CorpusError, match="nothing to measure"):
        bleu([], [])
    with pytest.raises(CorpusError, match="1 hypotheses, but there are 0"):
        exact_match(["a"], [])


def test_exact_match_is_a_percentage_over_all_references() -> None:
    assert exact_match(HYPOTHESES, REFERENCES) == 25.0
    assert exact_match(HYPOTHESES, [REFERENCES, OTHERS]) == 50.0
    assert exact_match(["a "], ["a"]) == 0.0
