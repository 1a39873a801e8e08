"""An ensemble keeps the contract of its members, and says the mean of what they say."""

import math
from pathlib import Path

import pytest
import torch

import regard
from regard.config import Config, ModelConfig, SearchConfig, TokenizerConfig
from regard.data.tokenizer import Tokenizer, Tokenizers, train_tokenizer
from regard.data.vocabulary import BOS_ID
from regard.errors import InputError
from regard.models import build_model
from regard.models.contract import SequenceToSequence
from regard.models.ensemble import Ensemble, load_ensemble
from regard.models.folder import save_model
from regard.search.engine import EnsembleEngine, engine_for

TEXTS = ["a cat sat", "the dog", "two dogs and a cat ran over the hill", "a"]
SIZES = {"width": 32, "heads": 2, "feed_forward": 32, "encoder_layers": 1, "decoder_layers": 2, "dropout": 0.0}
OTHER_SIZES = {**SIZES, "width": 16, "decoder_layers": 1, "positions": "rotary"}


def member(seed: int, size: int = 60, sizes: dict[str, object] = SIZES) -> SequenceToSequence:
    model = build_model(ModelConfig(**sizes), size, size, seed=seed).eval()
    generator = torch.Generator().manual_seed(seed)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3, generator=generator)
    return model


def source_batch() -> tuple[torch.Tensor, torch.Tensor]:
    source = torch.randint(4, 60, (3, 7), generator=torch.Generator().manual_seed(0))
    return source, torch.arange(7) < torch.tensor([7, 4, 2])[:, None]


@pytest.mark.parametrize("average", ["probabilities", "log-probabilities"])
@torch.inference_mode()
def test_it_says_the_mean(average: str) -> None:
    members = [member(1), member(2, sizes=OTHER_SIZES)]
    source, mask = source_batch()
    target = torch.randint(4, 60, (3, 5), generator=torch.Generator().manual_seed(1))
    target[:, 0] = BOS_ID
    got = Ensemble(members, average)(source, mask, target).log_softmax(dim=-1)  # type: ignore[arg-type]
    each = [model(source, mask, target).log_softmax(dim=-1) for model in members]
    if average == "probabilities":
        expected = torch.stack([one.exp() for one in each]).mean(dim=0).log()
    else:
        expected = torch.stack(each).mean(dim=0).log_softmax(dim=-1)
    torch.testing.assert_close(got, expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("native", [False, True])
@torch.inference_mode()
def test_steps_equal_the_teacher_forced_pass(native: bool) -> None:
    ensemble = Ensemble([member(1), member(2, sizes=OTHER_SIZES)])
    engine = engine_for(ensemble) if native else ensemble
    source, mask = source_batch()
    target = torch.randint(4, 60, (3, 6), generator=torch.Generator().manual_seed(1))
    expected = ensemble(source, mask, target)
    state = engine.start(engine.encode(source, mask))
    for position in range(6):
        logits, state = engine.step(target[:, position], state)
        torch.testing.assert_close(logits, expected[:, position], atol=2e-4, rtol=1e-4)
        state = state.reorder(torch.arange(3))
    logits, _ = engine.step(target[2:, 0], state.keep(torch.tensor([2]), torch.tensor([2])))
    assert logits.shape == (1, 60)


@torch.inference_mode()
def test_attention_of_all_members_is_recorded() -> None:
    ensemble = Ensemble([member(1), member(2)])
    source, mask = source_batch()
    names: list[str] = []
    state = ensemble.start(ensemble.encode(source, mask))
    ensemble.step(torch.tensor([BOS_ID] * 3), state, lambda name, weights: names.append(name))
    assert sorted(names) == [f"{part}.{number}" for part in ("cross", "decoder") for number in range(4)]


def test_members_in_c_are_stepped_in_c() -> None:
    assert isinstance(engine_for(Ensemble([member(1), member(2)])), EnsembleEngine)


def save(folder: Path, tokenizer: Tokenizer, seed: int, config: Config) -> Path:
    model = member(seed, tokenizer.vocabulary_size, config.model.model_dump())
    save_model(folder, model, config, Tokenizers(tokenizer, tokenizer), "a card")
    return folder


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return train_tokenizer(TEXTS * 3, TokenizerConfig(vocabulary_size=320))


CONFIG = Config(model=ModelConfig(**SIZES), search=SearchConfig(beam=2, max_length_factor=1.0, max_length_extra=4))


def test_folders_are_loaded_as_one(tokenizer: Tokenizer, tmp_path: Path) -> None:
    folders = [save(tmp_path / str(seed), tokenizer, seed, CONFIG) for seed in (1, 2)]
    one, other = (regard.load(folder) for folder in folders)
    both, itself = regard.load(*folders), regard.load(folders[0], folders[0], average="log-probabilities")
    assert itself.translate(TEXTS) == one.translate(TEXTS)
    assert both.translate(TEXTS) not in (one.translate(TEXTS), other.translate(TEXTS))
    scores = [translator.score(TEXTS, TEXTS)[0].per_token[0] for translator in (one, other, both)]
    assert math.exp(scores[2]) == pytest.approx((math.exp(scores[0]) + math.exp(scores[1])) / 2, rel=1e-3)
    for text, [found, *_] in zip(TEXTS, both.translate_nbest(TEXTS, coverage_penalty=0.1), strict=True):
        assert found.text
        if found.finished and found.text == tokenizer.decode(tokenizer.encode(found.text)):
            assert both.score([text], [found.text])


def test_other_vocabularies_and_languages_are_refused_by_name(tokenizer: Tokenizer, tmp_path: Path) -> None:
    first = save(tmp_path / "first", tokenizer, 1, CONFIG)
    words = train_tokenizer(["other words"] * 9, TokenizerConfig(vocabulary_size=310))
    second = save(tmp_path / "second", words, 2, CONFIG)
    with pytest.raises(InputError, match=r"second: its source vocabulary is not that of .*first"):
        regard.load(first, second)
    german = CONFIG.model_copy(update={"data": CONFIG.data.model_copy(update={"target_language": "de"})})
    third = save(tmp_path / "third", tokenizer, 3, german)
    with pytest.raises(InputError, match=r"third: translates en to de, but .*first en to fr"):
        regard.load(first, third)
    with pytest.raises(InputError, match="averages `probabilities` or `log-probabilities`, not `mean`"):
        regard.load(first, first, average="mean")  # type: ignore[arg-type]


def test_the_fewest_positions_of_all_are_the_limit(tokenizer: Tokenizer, tmp_path: Path) -> None:
    learned = ModelConfig(**{**SIZES, "positions": "learned", "max_positions": 12})
    first = save(tmp_path / "first", tokenizer, 1, CONFIG)
    second = save(tmp_path / "second", tokenizer, 2, CONFIG.model_copy(update={"model": learned}))
    assert load_ensemble([first, second]).config.model.max_positions == 12
    with pytest.warns(UserWarning, match="more than the 11"):
        regard.load(first, second).translate(["z" * 40])
