"""Following a beam search: it changes nothing, and what is seen is what was done."""

import pytest
import torch

from regard.config import ModelConfig, SearchConfig
from regard.data.vocabulary import EOS_ID
from regard.models import build_model
from regard.search.beam import beam_search
from regard.search.token_rules import rules_for


def small_model(seed, vocabulary=20):
    sizes = dict(width=16, feed_forward=16, heads=2, encoder_layers=1, decoder_layers=1, dropout=0.0)
    return build_model(ModelConfig(**sizes), vocabulary, vocabulary, seed).eval()


def search(model, config, follow=None):
    source = torch.tensor([[5, 6, 7, EOS_ID]])
    mask = torch.ones_like(source, dtype=torch.bool)
    return beam_search(model, source, mask, config, config.beam, rules=rules_for(config), follow=follow)


@pytest.mark.parametrize("beam", [1, 3, 12, 40])
@pytest.mark.parametrize("keys", [{}, {"no_repeat_ngram": 1}, {"min_length": 4}], ids=str)
def test_following_changes_nothing(beam, keys):
    config = SearchConfig(beam=beam, max_length=9, **keys)
    for seed in range(4):
        model, steps = small_model(seed), []
        plain, followed = search(model, config), search(model, config, steps.append)
        assert plain[0] == followed[0]
        assert [step.length for step in steps] == list(range(1, len(steps) + 1))
        for step in steps:
            assert len(step.taken) <= beam
            assert len(step.taken) + len(step.left_out) <= 2 * beam
            seen = [each[:2] for each in (*step.taken, *step.left_out)]
            assert len(seen) == len(set(seen))


def test_the_search_for_several_sentences_cannot_be_followed():
    source = torch.full((2, 3), EOS_ID)
    mask = torch.ones_like(source, dtype=torch.bool)
    with pytest.raises(ValueError, match="one sentence"):
        beam_search(small_model(1), source, mask, SearchConfig(beam=2), follow=lambda step: None)
