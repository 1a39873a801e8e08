from dataclasses import replace

import numpy as np
import pytest
import torch

from regard.config import Config, DataConfig, ModelConfig, TokenizerConfig
from regard.data.tokenizer import Tokenizers, train_tokenizer
from regard.errors import InputError
from regard.explain.capture import attention_of
from regard.models import build_model
from regard.models.contract import Memory
from regard.models.ensemble import Ensemble
from regard.models.folder import LoadedModel
from regard.search.alignment import Aligner, _widest_layer
from regard.search.translator import Translator

TEXTS = ["the dog saw a cat", "der Hund sah eine Katze", "狗看见猫"]


def loaded(target_language: str = "de", seed: int = 1) -> LoadedModel:
    torch.manual_seed(3)
    tokenizer = train_tokenizer(TEXTS * 3, TokenizerConfig(kind="bpe", vocabulary_size=300))
    sizes = {"width": 32, "heads": 2, "feed_forward": 32, "encoder_layers": 1, "decoder_layers": 2}
    config = Config(data=DataConfig(source_language="en", target_language=target_language), model=ModelConfig(**sizes))
    model = build_model(config.model, tokenizer.vocabulary_size, tokenizer.vocabulary_size, seed).eval()
    return LoadedModel(model, config, Tokenizers(tokenizer, tokenizer))


def several(members: int) -> LoadedModel:
    models = [loaded(seed=seed) for seed in range(1, members + 1)]
    return models[0] if members == 1 else replace(models[0], model=Ensemble([each.model for each in models]))


@pytest.mark.parametrize("layer", [1, 2])
def test_links_follow_the_attention_of_words(layer: int) -> None:
    """Here no word is joined to a mark, so the words are those that the attention page shows."""
    model = loaded()
    [found] = Translator(model).align([TEXTS[0]], [TEXTS[1]], layer)
    assert (found.source, found.target) == (tuple(TEXTS[0].split()), tuple(TEXTS[1].split()))
    cross = attention_of(model, TEXTS[0], TEXTS[1]).words().cross[layer - 1].mean(axis=0)[:-1, :-1]
    assert found.links == tuple((int(row.argmax()), target) for target, row in enumerate(cross))
    assert str(found) == " ".join(f"{source}-{target}" for source, target in sorted(found.links))


def test_batches_do_not_matter_and_blank_sides_have_no_links() -> None:
    translator = Translator(loaded())
    sources, targets = ["the dog", "", "a cat saw the dog", "a"], ["der Hund", "x", "eine Katze sah", " "]
    together = Aligner(translator, 2).align(sources, targets)
    assert [str(each) for each in together[1::2]] == ["", ""]
    for index in (0, 2):
        assert translator.align([sources[index]], [targets[index]], 2)[0] == together[index]
    assert [target for _, target in together[2].links] == [0, 1, 2]


@pytest.mark.parametrize("members", [1, 2])
def test_a_source_may_have_several_targets(members: int) -> None:
    translator = Translator(several(members))
    sources, targets = ["the dog", "a cat saw", "the dog", "the dog"], ["der Hund", "eine Katze", "Hund", "sah der"]
    together = Aligner(translator, 2).align(sources, targets)
    apart = [translator.align([source], [target], 2)[0] for source, target in zip(sources, targets, strict=True)]
    assert together == apart


@pytest.mark.parametrize("members", [1, 2])
def test_such_a_source_is_encoded_once(members: int, monkeypatch: pytest.MonkeyPatch) -> None:
    translator = Translator(several(members))
    encode, encoded = translator.model.encode, []

    def count(source: torch.Tensor, mask: torch.Tensor) -> Memory:
        encoded.append(len(source))
        return encode(source, mask)

    monkeypatch.setattr(translator.model, "encode", count)
    Aligner(translator, 2).align(["the dog", "a cat saw", "the dog"], ["der Hund", "eine Katze", "Hund"])
    assert encoded == [2]


def test_chinese_is_aligned_by_characters() -> None:
    [found] = Translator(loaded("zh")).align(["the dog, saw"], ["狗看见 cat。"], 1)
    assert found.source == ("the", "dog,", "saw")
    assert found.target == ("狗", "看", "见", "cat", "。")


def test_the_layer_whose_links_reach_most_words_is_chosen() -> None:
    diffuse = np.array([[0.4, 0.3, 0.3], [0.4, 0.3, 0.3]])
    sharp = np.array([[0.1, 0.8, 0.1], [0.1, 0.1, 0.8]])
    assert _widest_layer([np.stack([diffuse, sharp])]) == 2
    assert _widest_layer([np.stack([sharp, diffuse])]) == 1


def test_the_chosen_layer_is_kept() -> None:
    aligner = Aligner(Translator(loaded()))
    aligner.align(TEXTS[:1], TEXTS[1:2])
    assert aligner.layer in (1, 2)


def test_what_cannot_be_aligned_is_refused() -> None:
    translator = Translator(loaded())
    with pytest.raises(InputError, match="no decoder layer 3 to align by: the model has 1 to 2"):
        translator.align(["a"], ["b"], 3)
    with pytest.raises(InputError, match="2 sources and 1 targets"):
        translator.align(["a", "b"], ["c"])
