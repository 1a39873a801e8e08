"""The search for a batch of sentences, whichever the configuration asks for, with the same result in every batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from regard.config import SearchConfig
from regard.models.contract import SequenceToSequence
from regard.search.batching import pad
from regard.search.beam import beam_search
from regard.search.coverage import CoverageEngine
from regard.search.doubts import Doubts
from regard.search.engine import Engine, is_invariant
from regard.search.following import Follow
from regard.search.greedy import greedy_search
from regard.search.hypotheses import Hypothesis, Watch
from regard.search.sampling import sample_search
from regard.search.token_rules import rules_for


def is_plain(config: SearchConfig, beginnings: Sequence[Sequence[int]] = ()) -> bool:
    """Whether a search is greedy or beam search and no more: no rule for tokens, no sampling, no coverage penalty."""
    return not (config.sampling or config.coverage_penalty or rules_for(config, beginnings))


@dataclass(frozen=True)
class Searching:
    """How sentences are searched: with which model, for how many outputs, of at most how many tokens."""

    model: SequenceToSequence
    engine: Engine
    config: SearchConfig
    best: int = 1
    longest: int | None = None
    watch: Watch | None = None
    """Hears of every step, but for sampling and for a search that is repeated."""
    follow: Follow | None = None
    """Is told of every step of a beam search for one sentence."""

    def search(
        self, sources: Sequence[Sequence[int]], beginnings: Sequence[Sequence[int]] = ()
    ) -> list[list[Hypothesis]]:
        """The best hypotheses for each source, which ends with its end mark; outputs begin as `beginnings` say.

        Where an engine's last bits depend on the batch, sentences for which a choice was too close to call are searched
        again, each alone.
        """
        certain = len(sources) == 1 or (is_invariant(self.engine) and not self.config.coverage_penalty)
        doubts = None if certain else Doubts(len(sources))
        found = self._batch(sources, beginnings, doubts, self.watch)
        for index in doubts.sentences() if doubts is not None else ():
            own = slice(index, index + 1)
            found[own] = self._batch(sources[own], beginnings[own], None, None)
        return found

    def _batch(
        self,
        sources: Sequence[Sequence[int]],
        beginnings: Sequence[Sequence[int]],
        doubts: Doubts | None,
        watch: Watch | None,
    ) -> list[list[Hypothesis]]:
        config, best, longest = self.config, self.best, self.longest
        source, source_mask = pad(sources, self.model.device)
        rules = rules_for(config, beginnings)
        engine = CoverageEngine(self.model) if config.coverage_penalty else self.engine
        if config.sampling:
            return sample_search(engine, source, source_mask, config, best, longest, rules, doubts)
        if config.beam == best == 1 and is_plain(config, beginnings) and self.follow is None:
            return greedy_search(engine, source, source_mask, config, longest, doubts, watch)
        return beam_search(engine, source, source_mask, config, best, longest, rules, doubts, watch, self.follow)
