"""A sample stands for its corpora: in proportion, and with an estimate of the whole."""

import gzip
import itertools

import pytest

from regard.config import CorpusConfig, DataConfig
from regard.data.corpus import read_pairs
from regard.errors import CorpusError
from regard.planning import sample
from regard.planning.sample import count_lines, draw, take_sample

DATA = DataConfig()


def corpus(folder, name: str, lines: int, weight: float = 1.0, pack: bool = False) -> CorpusConfig:
    paths = []
    for side in ("en", "fr"):
        path = folder / f"{name}.{side}"
        text = "".join(f"{name} sentence {number} in {side}\n" for number in range(lines)).encode()
        path.write_bytes(gzip.compress(text) if pack else text)
        paths.append(str(path))
    return CorpusConfig(source=paths[0], target=paths[1], weight=weight)


def test_a_small_corpus_is_taken_whole(tmp_path):
    taken = take_sample([corpus(tmp_path, "a", 50)], DATA, tmp_path)
    assert (taken.pairs, taken.total, taken.whole) == (50, 50, True)
    (small,) = taken.corpora
    assert len({pair.source for pair in read_pairs(small, DATA)}) == 50


def test_corpora_are_sampled_in_proportion_and_keep_their_weights(tmp_path):
    corpora = [corpus(tmp_path, "a", 300, weight=2.0), corpus(tmp_path, "b", 100)]
    taken = take_sample(corpora, DATA, tmp_path, most=40)
    assert [len(list(read_pairs(part, DATA))) for part in taken.corpora] == [30, 10]
    assert [part.weight for part in taken.corpora] == [2.0, 1.0]
    assert (taken.pairs, taken.total, taken.whole) == (40, 400, False)


def test_a_sample_knows_its_languages(tmp_path):
    (tmp_path / "a.tsv").write_text("one\tun\n")
    back = CorpusConfig(pairs=str(tmp_path / "a.tsv"), languages=("fr", "en"))
    assert take_sample([back], DataConfig(), tmp_path).corpora[0].languages == ("fr", "en")


@pytest.mark.parametrize("pack", [False, True])
def test_when_time_is_up_the_rest_is_estimated(tmp_path, monkeypatch, pack):
    long = corpus(tmp_path, "a", 5000, pack=pack)
    clock = itertools.count()
    monkeypatch.setattr(sample.time, "monotonic", lambda: float(next(clock)))
    drawn = draw(long, DATA, most=100, seed=1, seconds=2.5)
    assert not drawn.complete
    assert drawn.total == pytest.approx(5000, rel=0.01)
    assert len(drawn.pairs) == 100


def test_lines_are_counted_or_estimated_by_the_part_that_was_read(tmp_path, monkeypatch):
    path = tmp_path / "long"
    path.write_bytes(b"a line of text\n" * 300_000)
    assert count_lines(path, seconds=60) == 300_000
    assert count_lines(path, seconds=-1.0) == pytest.approx(300_000, rel=0.01)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(CorpusError, match=r"nowhere\.en"):
        take_sample([CorpusConfig(source=str(tmp_path / "nowhere.en"), target="x")], DATA, tmp_path)
