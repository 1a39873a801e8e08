import pytest

from regard.config import SearchConfig
from regard.search.length_penalty import PENALTIES, length_penalty


def test_the_formulae() -> None:
    assert length_penalty(7, SearchConfig(length_penalty="paper", alpha=0.6)) == pytest.approx(2.0**0.6)
    assert length_penalty(8, SearchConfig(length_penalty="mean", alpha=1.0)) == 8.0
    assert length_penalty(8, SearchConfig(length_penalty="none", alpha=1.0)) == 1.0


@pytest.mark.parametrize("kind", PENALTIES)
@pytest.mark.parametrize("alpha", [0.0, 0.6, 3.0])
def test_a_penalty_never_falls(kind: str, alpha: float) -> None:
    config = SearchConfig(length_penalty=kind, alpha=alpha)
    values = [length_penalty(length, config) for length in range(1, 200)]
    assert values == sorted(values)
    assert values[0] == pytest.approx(1.0)


def test_every_penalty_of_the_configuration_is_there() -> None:
    assert set(PENALTIES) == {"paper", "mean", "none"}
