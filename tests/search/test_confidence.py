import json
import math
import random
from pathlib import Path

import pytest

from regard.errors import InputError, ModelFolderError
from regard.search.confidence import (
    CALIBRATION,
    Calibration,
    calibration_error,
    fingerprint,
    fit_logistic,
    logistic,
    reliability,
)
from regard.search.translator import Translator


def test_a_logistic_curve_is_found_again() -> None:
    generator = random.Random(1)
    features = [generator.uniform(-3, 0) for _ in range(20_000)]
    good = [generator.random() < logistic(3 * feature + 4) for feature in features]
    slope, intercept = fit_logistic(features, good)
    assert slope == pytest.approx(3, abs=0.15)
    assert intercept == pytest.approx(4, abs=0.2)
    confidences = [logistic(slope * feature + intercept) for feature in features]
    assert calibration_error(reliability(confidences, good)) < 0.02


def test_confidence_never_falls_with_probability() -> None:
    slope, intercept = fit_logistic([-1.0, -2.0, -3.0, -4.0], [False, False, True, True])
    assert slope == 0.0
    assert logistic(intercept) == pytest.approx(0.5)


def test_what_can_be_told_apart_exactly_has_a_curve() -> None:
    slope, intercept = fit_logistic([-4.0, -3.0, -1.0, -0.5], [False, False, True, True])
    assert 0 < slope < 100
    assert logistic(intercept - 4 * slope) < 0.5 < logistic(intercept - 0.5 * slope)


def test_one_kind_alone_is_refused() -> None:
    with pytest.raises(InputError, match="none of the 2 translations to fit to are good; choose another --threshold"):
        fit_logistic([-1.0, -2.0], [False, False])
    with pytest.raises(InputError, match="all of the 1"):
        fit_logistic([-1.0], [True])


def test_the_table_and_the_error() -> None:
    table = reliability([0.05, 0.15, 0.15, 1.0], [False, True, False, True])
    assert [(each.sentences, each.good) for each in table] == [(1, 0.0), (2, 0.5), (1, 1.0)]
    assert calibration_error(table) == pytest.approx((0.05 + 2 * 0.35) / 4)
    assert calibration_error([]) == 0.0
    assert logistic(-1e9) == 0.0
    assert logistic(1e9) == 1.0


def test_a_calibration_is_kept_in_the_model_folder(tiny_model: Path) -> None:
    assert Translator.load(tiny_model).translate_nbest(["the cat"], 1)[0][0].confidence is None
    calibration = Calibration(2.0, 1.0, 50.0, 10, 0.1, fingerprint(tiny_model))
    calibration.save(tiny_model)
    translator = Translator.load(tiny_model)
    assert translator.calibration == calibration
    [[found]] = translator.translate_nbest(["the cat"], 1)
    assert found.confidence == pytest.approx(1 / (1 + math.exp(-(2.0 * found.mean_log_probability + 1.0))))


def test_a_calibration_of_other_weights_is_not_used(tiny_model: Path) -> None:
    Calibration(2.0, 1.0, 50.0, 10, 0.1, "0" * 64).save(tiny_model)
    with pytest.warns(UserWarning, match="other weights"):
        assert Translator.load(tiny_model).calibration is None


@pytest.mark.parametrize(
    "content", ["{", "[]", '{"version": 2}', '{"version": 1, "slope": 1}', '{"version": 1, "slope": "x"}']
)
def test_a_damaged_calibration_is_named(tiny_model: Path, content: str) -> None:
    (tiny_model / CALIBRATION).write_text(content, encoding="utf-8")
    with pytest.raises(ModelFolderError, match=r"calibration\.json: damaged"):
        Translator.load(tiny_model)


def test_impossible_numbers_are_refused(tiny_model: Path) -> None:
    Calibration(-1.0, 1.0, 50.0, 10, 0.1, fingerprint(tiny_model)).save(tiny_model)
    assert json.loads((tiny_model / CALIBRATION).read_text())["slope"] == -1.0
    with pytest.raises(ModelFolderError, match="make no calibration"):
        Translator.load(tiny_model)
