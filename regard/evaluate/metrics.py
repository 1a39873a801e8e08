"""BLEU and chrF over sacrebleu, always with the signature that makes a number comparable; and exact match."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from sacrebleu.metrics.base import Metric
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from regard.errors import CorpusError, InputError
from regard.text.languages import main_language

References = Sequence[str] | Sequence[Sequence[str]]
"""One list of references, or several lists, each aligned with the hypotheses."""

TOKENIZE = ("13a", "intl", "zh", "char", "none", "ja-mecab", "ko-mecab")
"""sacrebleu's tokenizations that need no download; the last two need its extras."""

_EXTRAS = {"ja-mecab": ("MeCab", "ja"), "ko-mecab": ("mecab_ko", "ko")}
_BY_LANGUAGE = {"zh": "zh", "cmn": "zh", "yue": "zh", "ja": "ja-mecab"} | dict.fromkeys(
    ("th", "lo", "km", "my"), "char"
)


@dataclass(frozen=True)
class MetricScore:
    """A score from 0 to 100, and how it was computed."""

    name: str
    value: float
    signature: str
    detail: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.name} {self.value:.2f} ({self.signature})"


class Measurement:
    """A metric over hypotheses and references, kept by sentence, so that any part of them can be scored at once."""

    def __init__(self, metric: Metric, hypotheses: Sequence[str], references: References) -> None:
        lists = reference_lists(hypotheses, references)
        self._metric = metric
        # sacrebleu has no public way to a sentence's statistics, on which resampling and parts rest; its own
        # significance tests use these. A test holds that the sum gives sacrebleu's corpus_score.
        statistics = metric._extract_corpus_statistics(list(hypotheses), lists)
        self._statistics: NDArray[np.int64] = np.array(statistics, dtype=np.int64)

    def __len__(self) -> int:
        return len(self._statistics)

    @cached_property
    def score(self) -> MetricScore:
        """The score of all."""
        total = self._total(np.ones(len(self), dtype=np.int64))
        return MetricScore(total.name, float(total.score), str(self._metric.get_signature().format()), _detail(total))

    def value(self, counts: NDArray[np.int64]) -> float:
        """The score where the sentence i is taken counts[i] times."""
        return float(self._total(counts).score)

    def _total(self, counts: NDArray[np.int64]) -> Any:
        return self._metric._compute_score_from_stats((counts @ self._statistics).tolist())


def bleu_metric(language: str = "", tokenize: str | None = None, lowercase: bool = False) -> Metric:
    """BLEU as sacrebleu computes it; the tokenization is by default the target language's."""
    tokenize = default_tokenize(language) if tokenize is None else tokenize
    if tokenize not in TOKENIZE:
        raise InputError(f"unknown tokenization {tokenize!r} for BLEU; there are: {', '.join(TOKENIZE)}")
    if not _is_installed(tokenize):
        raise InputError(
            f'BLEU with tokenization {tokenize} needs a package that is not installed: pip install "sacrebleu'
            f'[{_EXTRAS[tokenize][1]}]"; or choose the tokenization "char"'
        )
    # `force` silences only a log message about text that looks tokenized; our report has a remark of its own.
    return cast(Metric, BLEU(tokenize=tokenize, lowercase=lowercase, force=True))


def chrf_metric(words: int = 0, lowercase: bool = False) -> Metric:
    """The metric chrF2, on characters; with n-grams of up to 2 words too, it is chrF++."""
    return cast(Metric, CHRF(word_order=words, lowercase=lowercase))


def bleu(
    hypotheses: Sequence[str],
    references: References,
    language: str = "",
    *,
    tokenize: str | None = None,
    lowercase: bool = False,
) -> MetricScore:
    """Corpus BLEU; `language` is the target's code, by which the tokenization is chosen where none is given."""
    return Measurement(bleu_metric(language, tokenize, lowercase), hypotheses, references).score


def chrf(hypotheses: Sequence[str], references: References, *, words: int = 0, lowercase: bool = False) -> MetricScore:
    """Corpus chrF; `words=2` makes it chrF++."""
    return Measurement(chrf_metric(words, lowercase), hypotheses, references).score


class SentenceBleu:
    """BLEU of single sentences, smoothed; n-grams longer than a sentence do not count."""

    def __init__(self, tokenize: str) -> None:
        self._metric = BLEU(tokenize=tokenize, effective_order=True, force=True)

    def __call__(self, hypothesis: str, reference: str) -> float:
        """From 0 to 100."""
        return float(self._metric.sentence_score(hypothesis, [reference]).score)


def exact_match(hypotheses: Sequence[str], references: References) -> float:
    """The percentage of hypotheses that are, character by character, one of their references."""
    lists = reference_lists(hypotheses, references)
    return 100.0 * sum(text in others for text, *others in zip(hypotheses, *lists, strict=True)) / len(hypotheses)


def default_tokenize(language: str) -> str:
    """The tokenization of BLEU that suits a language: by words where it has them, else by characters."""
    return _BY_LANGUAGE.get(main_language(language), "13a")


def available_tokenize(language: str) -> str:
    """The same, but by characters where the language's own needs a package that is not installed."""
    tokenize = default_tokenize(language)
    return tokenize if _is_installed(tokenize) else "char"


def reference_lists(hypotheses: Sequence[str], references: References, called: str = "hypotheses") -> list[list[str]]:
    """The references as lists, each as long as the hypotheses (or whatever they are `called`)."""
    one_list = not references or isinstance(references[0], str)
    lists = cast("list[list[str]]", [list(each) for each in ([references] if one_list else references)])
    for number, reference in enumerate(lists, start=1):
        if len(reference) != len(hypotheses):
            which = f"reference list {number} has" if len(lists) > 1 else "there are"
            raise CorpusError(
                f"{len(hypotheses)} {called}, but {which} {len(reference)} references: each line needs its own"
            )
    if not hypotheses:
        raise CorpusError(f"there is nothing to measure: no {called} and no references")
    return lists


def _is_installed(tokenize: str) -> bool:
    return tokenize not in _EXTRAS or importlib.util.find_spec(_EXTRAS[tokenize][0]) is not None


def _detail(score: Any) -> dict[str, Any]:
    if not hasattr(score, "precisions"):
        return {}
    return {
        "precisions": [float(precision) for precision in score.precisions],
        "brevity_penalty": float(score.bp),
        "hypothesis_tokens": int(score.sys_len),
        "reference_tokens": int(score.ref_len),
    }
