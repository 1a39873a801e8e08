import json
from typing import Any

import pytest

from regard.errors import CorpusError, InputError
from regard.evaluate.evaluation import EvaluationOptions, OtherSystem, evaluate_system, evaluate_texts
from regard.evaluate.metrics import bleu, chrf

SOURCES = ["one two three", "one", "one two three four five six seven", "a b c d e f g h i j k l"] * 5
REFERENCES = ["un deux trois", "un", "un deux trois quatre cinq six sept", "a b c d e f g h i j k l"] * 5
HYPOTHESES = ["un deux trois", "une", "un deux quatre trois cinq six sept", "a b c d e g h i j k l m"] * 5
FEW = EvaluationOptions(samples=50)


class Fake:
    """A translator that says what it is told to."""

    languages = ("en", "zh")
    asked: dict[str, Any]

    def translate(self, sources: list[str], **options: Any) -> list[str]:
        self.asked = options
        return HYPOTHESES[: len(sources)]


def test_the_parts_agree_with_the_metrics() -> None:
    evaluation = evaluate_texts(HYPOTHESES, REFERENCES, sources=SOURCES, options=FEW)
    assert evaluation.bleu == bleu(HYPOTHESES, REFERENCES)
    assert evaluation.chrf == chrf(HYPOTHESES, REFERENCES)
    assert evaluation.exact_match == 25.0
    assert evaluation.bootstrap
    assert evaluation.bootstrap.bleu.low <= evaluation.bleu.value <= evaluation.bootstrap.bleu.high
    assert (evaluation.bootstrap.samples, evaluation.bootstrap.seed) == (50, 12345)


def test_by_length_scores_the_sentences_of_each_bucket() -> None:
    evaluation = evaluate_texts(HYPOTHESES, REFERENCES, sources=SOURCES, options=FEW)
    assert [bucket.label for bucket in evaluation.by_length] == ["0-5", "6-10", "11-15"]
    assert [bucket.sentences for bucket in evaluation.by_length] == [10, 5, 5]
    assert evaluation.by_length[1].bleu == pytest.approx(bleu(HYPOTHESES[2::4], REFERENCES[2::4]).value)
    assert evaluation.by_length[2].chrf == pytest.approx(chrf(HYPOTHESES[3::4], REFERENCES[3::4]).value)
    long = evaluate_texts(["a"], ["a"], sources=["x " * 51], options=FEW)
    assert [bucket.label for bucket in long.by_length] == ["51+"]


def test_length_is_counted_in_characters_where_words_have_no_spaces() -> None:
    options = EvaluationOptions(source_language="zh-CN", samples=0)
    evaluation = evaluate_texts(["a"], ["a"], sources=["那 只猫坐在垫子上。"], options=options)
    assert evaluation.length_unit == "characters"
    assert [bucket.label for bucket in evaluation.by_length] == ["6-10"]


def test_a_comparison_is_in_text_and_figures() -> None:
    other = OtherSystem("other.txt", ["un deux", "un", "un deux", "a b c"] * 5)
    evaluation = evaluate_texts(HYPOTHESES, REFERENCES, against=other, options=FEW)
    figures = evaluation.to_json()["against"]
    assert figures["name"] == "other.txt"
    assert [result["name"] for result in figures["results"]] == ["BLEU", "chrF2"]
    assert figures["results"][0]["difference"] > 0
    assert figures["results"][0]["p_value"] < 0.05
    assert figures["exact_match"] == 25.0
    assert "Against other.txt (paired bootstrap, 50 samples, seed 12345)" in evaluation.to_text()
    assert "better" in evaluation.to_text()


def test_figures_are_json_with_the_main_ones_on_top() -> None:
    figures = evaluate_texts(HYPOTHESES, REFERENCES, sources=SOURCES, options=FEW).to_json()
    again = json.loads(json.dumps(figures))
    assert again == figures
    assert again["bleu"] == bleu(HYPOTHESES, REFERENCES).value
    assert again["bleu_signature"].startswith("nrefs:1|")
    assert again["chrf_signature"].startswith("nrefs:1|")
    assert again["exact_match"] == 25.0
    assert again["by_length"][0]["label"] == "0-5"
    assert "seconds" not in again


def test_text_fits_a_terminal_and_holds_the_signatures() -> None:
    other = OtherSystem("baseline", REFERENCES)
    text = evaluate_texts(HYPOTHESES, REFERENCES, sources=SOURCES, against=other, options=FEW).to_text()
    assert bleu(HYPOTHESES, REFERENCES).signature in text
    assert chrf(HYPOTHESES, REFERENCES).signature in text
    assert max(len(line) for line in text.splitlines()) <= 80


def test_a_system_is_timed_and_its_languages_count() -> None:
    fake = Fake()
    evaluation = evaluate_system(fake, SOURCES, REFERENCES, options=FEW, beam=2)  # type: ignore[arg-type]
    assert evaluation.hypotheses == tuple(HYPOTHESES)
    assert fake.asked["beam"] == 2
    assert "tok:zh" in evaluation.bleu.signature
    assert evaluation.seconds is not None
    assert evaluation.to_json()["sentences_per_second"] == evaluation.sentences / evaluation.seconds
    assert "sentences/s" in evaluation.to_text()


def test_a_mistake_is_said_before_anything_is_translated() -> None:
    fake = Fake()
    with pytest.raises(CorpusError, match="20 sources, but there are 3 references"):
        evaluate_system(fake, SOURCES, REFERENCES[:3])  # type: ignore[arg-type]
    with pytest.raises(InputError, match="13b"):
        evaluate_system(fake, SOURCES, REFERENCES, options=EvaluationOptions(tokenize="13b"))  # type: ignore[arg-type]
    short = OtherSystem("short.txt", ["a", "b"])
    with pytest.raises(CorpusError, match=r"short\.txt has 2 lines, but 20"):
        evaluate_system(fake, SOURCES, REFERENCES, against=short)  # type: ignore[arg-type]
    assert not hasattr(fake, "asked")


def test_numbers_that_do_not_fit_are_stated() -> None:
    with pytest.raises(CorpusError, match="2 sources, but 20 hypotheses"):
        evaluate_texts(HYPOTHESES, REFERENCES, sources=["a", "b"])
    other, options = OtherSystem("x", HYPOTHESES), EvaluationOptions(samples=0)
    with pytest.raises(InputError, match="0 bootstrap samples"):
        evaluate_texts(HYPOTHESES, REFERENCES, against=other, options=options)


def test_remarks_on_tokenized_text_and_empty_translations() -> None:
    references = ["a dog .", "a cat ."]
    remarks = evaluate_texts(["a dog .", ""], references, options=FEW).remarks
    assert len(remarks) == 2
    assert "1 of 2 translations are empty" in remarks[0]
    assert "none" in remarks[1]
    assert not evaluate_texts(references, references, options=EvaluationOptions(tokenize="none", samples=0)).remarks
