import json

import numpy as np
import pytest
import torch

import regard
from regard.data.vocabulary import EOS_ID
from regard.errors import InputError
from regard.explain.explanation import explain_pair
from regard.explain.packing import unpack
from regard.explain.translator import ExplainingTranslator
from regard.models.ensemble import Ensemble
from regard.models.folder import LoadedModel
from regard.search.translator import Translator

SENTENCE, FORCED = "the cat eats 3 apples.", "le chien voit 3 pommes."


@pytest.fixture(scope="module")
def translator(tiny_run):
    return regard.load(tiny_run)


@pytest.fixture(scope="module")
def own(translator):
    return translator.explain(SENTENCE, beam=3)


@pytest.fixture(scope="module")
def forced(translator):
    return translator.explain(SENTENCE, FORCED)


def with_search(translator, **keys):
    search = translator.config.search.model_copy(update=keys)
    config = translator.config.model_copy(update={"search": search})
    return ExplainingTranslator(LoadedModel(translator.model, config, translator.tokenizers))


# Arrays


def test_shapes_are_those_of_the_tokens(translator, forced):
    source, target = len(forced.source_tokens), len(forced.target_tokens)
    sizes = translator.config.model
    assert forced.encoder.shape == (sizes.encoder_layers, sizes.heads, source, source)
    assert forced.decoder.shape == (sizes.decoder_layers, sizes.heads, target, target)
    assert forced.cross.shape == (sizes.decoder_layers, sizes.heads, target, source)
    assert forced.source_shares.shape == (target, source)
    assert forced.target_shares.shape == (target, target)
    assert forced.positions.shape == (50, sizes.width)
    assert len(forced.steps) == target
    assert forced.source_tokens[-1] == forced.target_tokens[-1] == "</s>"
    assert forced.maps.target_input == ("<s>", *forced.target_tokens[:-1])


def test_rows_add_up_to_one(own, forced):
    for explanation in (own, forced):
        for weights in (explanation.encoder, explanation.decoder, explanation.cross):
            np.testing.assert_allclose(weights.sum(axis=-1), 1, atol=1e-5)
        both = np.concatenate([explanation.source_shares, explanation.target_shares], axis=1)
        np.testing.assert_allclose(both.sum(axis=1), 1, atol=1e-5)


def test_words_part_the_tokens(own, forced):
    for explanation in (own, forced):
        for words, tokens in (
            (explanation.source_words, explanation.source_tokens),
            (explanation.target_words, explanation.target_tokens),
        ):
            covered = [place for word in words for place in range(word.start, word.stop)]
            assert covered == list(range(len(tokens)))


# Steps


def test_steps_have_the_log_probabilities_of_scoring(translator, own, forced):
    for explanation, target in ((own, own.target_text), (forced, FORCED)):
        score = translator.score([SENTENCE], [target])[0]
        if [step.token for step in explanation.steps] != score.pieces:
            assert not explanation.forced  # a search may spell a text in tokens that no tokenizer would
            continue
        np.testing.assert_allclose([step.log_probability for step in explanation.steps], score.per_token, atol=1e-4)
    assert forced.log_probability == pytest.approx(translator.score([SENTENCE], [FORCED])[0].log_probability, abs=1e-3)


def test_candidates_are_the_likeliest_and_ranks_count_from_one(translator, forced):
    ids = translator.tokenizers.target.encode(FORCED)
    source = torch.tensor([[*translator.tokenizers.source.encode(SENTENCE), EOS_ID]])
    with torch.no_grad():
        logits = translator.model(source, torch.ones_like(source, dtype=torch.bool), torch.tensor([[1, *ids]]))[0]
    probabilities = logits.double().softmax(-1)
    for step, row, token in zip(forced.steps, probabilities, [*ids, EOS_ID], strict=True):
        allowed = row.clone()
        allowed[[0, 1, 3]] = 0
        assert step.probability == pytest.approx(float(row[token]), rel=1e-3)
        assert step.entropy == pytest.approx(float(-(row * row.log()).sum()), abs=1e-4)
        assert step.rank == 1 + int((allowed > row[token] * (1 + 1e-6)).sum())
        shown = [candidate.probability for candidate in step.candidates]
        np.testing.assert_allclose(shown, allowed.topk(10).values, rtol=1e-3)


# The search


def test_the_translation_is_what_translate_gives(translator):
    for sentence in (SENTENCE, "a man finds 11 apples.", "my friend", "2 2 2", "Zebra ☃ 猫"):
        for beam in (1, 2, 4):
            best = translator.translate_nbest([sentence], beam=beam)[0]
            explanation = translator.explain(sentence, beam=beam)
            assert explanation.target_text == best[0].text
            assert explanation.finished == best[0].finished
            assert [each.text for each in explanation.alternatives] == [each.text for each in best[1:]]
            assert [each.score for each in explanation.alternatives] == pytest.approx([each.score for each in best[1:]])


def test_other_settings_of_the_search_hold(translator):
    for keys in (
        {"no_repeat_ngram": 2},
        {"min_length": 8},
        {"coverage_penalty": 0.2},
        {"max_repeats": 2},
        {"length_penalty": "mean", "alpha": 1.0},
        {"max_length": 3},
    ):
        one = with_search(translator, **keys)
        explanation = one.explain(SENTENCE)
        assert explanation.target_text == one.translate([SENTENCE])[0], keys
        assert explanation.beam is not None


def test_a_recipe_that_samples_is_explained_by_its_beam(translator):
    one = with_search(translator, sampling=True, samples=4)
    assert one.explain(SENTENCE).target_text == translator.translate([SENTENCE])[0]


def test_the_tree_grows_by_steps_and_keeps_no_more_than_its_places(own):
    tree = own.beam
    assert tree.size == 3
    assert (tree.nodes[0].parent, tree.nodes[0].step, tree.names[0]) == (-1, 0, "<s>")
    finished = 0
    for step in range(1, tree.nodes[-1].step + 1):
        nodes = [node for node in tree.nodes if node.step == step]
        assert len(nodes) <= 2 * tree.size
        assert sum(node.kept for node in nodes) <= tree.size - finished
        assert [node.log_probability for node in nodes] == sorted(
            (each.log_probability for each in nodes), reverse=True
        )
        for node in nodes:
            parent = tree.nodes[node.parent]
            assert parent.step == step - 1
            assert parent.kept
            assert not parent.finished
            assert node.log_probability <= parent.log_probability
            assert not node.finished or (node.kept and node.token == EOS_ID)
        least_kept = min((node.log_probability for node in nodes if node.kept), default=-np.inf)
        assert all(node.log_probability <= least_kept for node in nodes if not node.kept)
        finished += sum(node.finished for node in nodes)


def test_the_tree_leads_to_the_n_best(translator, own):
    best = translator.translate_nbest([SENTENCE], beam=3)[0]
    outputs = own.beam.outputs()
    assert all(tuple(each.tokens) in outputs for each in best if each.finished)
    path = [node for node in own.beam.nodes if node.best]
    tokens = [node.token for node in path[1:]]
    assert tokens == [*best[0].tokens, *([EOS_ID] if best[0].finished else [])]
    assert path[-1].log_probability == pytest.approx(best[0].log_probability, abs=1e-6)
    assert [each.parent for each in path[1:]] == [own.beam.nodes.index(each) for each in path[:-1]]


# Forced targets


def test_a_given_target_is_kept_and_has_no_tree(translator, forced):
    assert forced.forced
    assert forced.finished
    assert forced.target_text == FORCED
    assert forced.beam is None
    best = translator.translate_nbest([SENTENCE])[0]
    assert [each.text for each in forced.alternatives] == [each.text for each in best]


# JSON


def test_json_has_the_whole_and_packs_arrays(own, forced):
    for explanation in (own, forced):
        data = json.loads(json.dumps(explanation.to_json(), allow_nan=False))
        assert (data["format"], data["version"]) == ("regard-explanation", 1)
        assert data["model"]["name"] == "run"
        assert data["source"]["tokens"] == list(explanation.source_tokens)
        assert data["target"]["read"][0] == "<s>"
        for part in ("encoder", "decoder", "cross"):
            packed = data["attention"][part]
            assert (packed["minimum"], packed["maximum"]) == (0, 1)
            np.testing.assert_allclose(unpack(packed), getattr(explanation, part), atol=1e-5)
        np.testing.assert_allclose(unpack(data["attribution"]["source"]), explanation.source_shares, atol=1e-5)
        np.testing.assert_allclose(unpack(data["positions"]), explanation.positions, atol=1e-4)
        assert data["positions"]["kind"] == "sinusoidal"
        assert [step["token"] for step in data["steps"]] == data["target"]["tokens"]
        assert (data["beam"] is None) == data["target"]["forced"]


def test_texts_are_only_texts(translator):
    for text in (
        "<script>alert(1)</script>",
        '$x^2$ & "quotes" \'',
        "</s> <s> <0xE4>",
        "\u202eabc\u2066 \u200b",
        "a" * 60,
    ):
        explanation = translator.explain(text, text)
        data = json.loads(json.dumps(explanation.to_json()))
        assert data["source"]["text"] == data["target"]["text"] == text


def test_a_model_without_added_positions_has_none_to_show(translator):
    from regard.models import build_model

    config = translator.config.model_copy(
        update={"model": translator.config.model.model_copy(update={"positions": "rotary", "heads": 2})}
    )
    size = translator.tokenizers.source.vocabulary_size
    loaded = LoadedModel(build_model(config.model, size, size).eval(), config, translator.tokenizers)
    explanation = ExplainingTranslator(loaded).explain(SENTENCE, FORCED)
    assert explanation.positions is None
    assert explanation.to_json()["positions"] is None


# Mistakes


@pytest.mark.parametrize(
    ("source", "target", "words"),
    [
        ("", None, "source is empty"),
        (" \t", None, "source is empty"),
        (SENTENCE, "", "leave it out"),
        (SENTENCE, "\u3000", "target is empty"),
        ("a\nb", None, "line break"),
        (SENTENCE, "a\nb", "line break"),
        ("\ud800", None, "surrogate"),
        ("2 " * 300, None, "more than the 256"),
        (SENTENCE, "2 " * 300, "more than the 256"),
        (7, None, "not a text"),
    ],
)
def test_what_cannot_be_explained_is_refused(translator, source, target, words):
    with pytest.raises(InputError, match=words):
        translator.explain(source, target)


def test_limits_are_parameters(translator):
    with pytest.raises(InputError, match="the 2 that are explained"):
        explain_pair(translator, SENTENCE, most_source_tokens=2)
    with pytest.raises(InputError, match="translation has"):
        explain_pair(with_search(translator, min_length=6), SENTENCE, most_target_tokens=5)


def test_an_ensemble_is_refused(tiny_run):
    ensemble = regard.load(tiny_run, tiny_run)
    assert isinstance(ensemble.model, Ensemble)
    with pytest.raises(InputError, match="one by one"):
        ensemble.explain(SENTENCE)


def test_a_model_in_training_is_given_back_in_training(tiny_run):
    plain = Translator.load(tiny_run)
    plain.model.train()
    explain_pair(plain, SENTENCE)
    assert plain.model.training
