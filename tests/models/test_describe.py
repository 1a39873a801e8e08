"""Parameter counts agree with the models themselves and with Table 3 of "Attention Is All You Need"."""

import pytest

from regard.models import build_model
from regard.models.describe import describe
from regard.recipe import parse_config


@pytest.mark.parametrize("tie", ["three-way", "target", "none"])
def test_counts_are_those_of_the_model(tie):
    config = parse_config({"model": {"tie": tie}, "tokenizer": {"vocabulary_size": 500}})
    description = describe(config)
    model = build_model(config.model, 500, 500)
    assert description.parameters == sum(parameter.numel() for parameter in model.parameters())
    assert sum(part.parameters for part in description.parts) == description.parameters


# Table 3 counts in millions, with "about 37,000" tokens; its rows of width 512 all exceed ours by some 2 million,
# the size of 4,000 more tokens.
TABLE_3 = {
    "base": ((), 65),
    "big": (("model.preset=big",), 213),
    "N=2": (("model.encoder_layers=2", "model.decoder_layers=2"), 36),
    "N=4": (("model.encoder_layers=4", "model.decoder_layers=4"), 50),
    "N=8": (("model.encoder_layers=8", "model.decoder_layers=8"), 80),
    "d_ff=1024": (("model.feed_forward=1024",), 53),
    "d_ff=4096": (("model.feed_forward=4096",), 90),
}


@pytest.mark.parametrize("row", TABLE_3)
def test_parameters_agree_with_the_paper(row):
    overrides, millions = TABLE_3[row]
    config = parse_config({"model": {"preset": "base"}, "tokenizer": {"vocabulary_size": 37000}}, overrides)
    assert describe(config).parameters / 1e6 == pytest.approx(millions, rel=0.07)


def test_operations_are_twice_the_weights_that_a_token_meets():
    config = parse_config({"model": {"preset": "base"}, "tokenizer": {"vocabulary_size": 37000}})
    description = describe(config, length=1)
    matrices = sum(
        part.parameters
        for part in description.parts
        if part.kind in ("Linear", "Embedding")  # the shared table is met once, as the output layer
    )
    assert description.operations.forward == pytest.approx(2 * matrices, rel=0.01)


@pytest.mark.parametrize("score", ["general", "additive"])
def test_scores_with_weights_cost_what_these_weigh(score):
    plain, weighted = (describe(parse_config({"model": {"score": name}}), length=1) for name in ("dot", score))
    more = weighted.operations.forward - plain.operations.forward
    assert more == pytest.approx(2 * (weighted.parameters - plain.parameters), rel=0.02)


def test_a_vocabulary_of_bytes_has_no_more_than_these():
    assert describe(parse_config({"tokenizer": {"kind": "byte"}})).source_vocabulary == 260


def test_figures_for_programs():
    figures = describe(parse_config({})).to_json()
    assert figures["parameters"] == sum(part["parameters"] for part in figures["parts"])
    assert figures["operations_per_token"]["training"] == 3 * figures["operations_per_token"]["forward"]
