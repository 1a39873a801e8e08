"""A run's folder: what may change between two starts, what is refused, and that a refusal changes nothing."""

import errno
import gzip
import os
import shutil
from pathlib import Path

import pytest
import torch
from tiny_world import write_tiny_corpus

from regard import card, locking, pipeline
from regard.config import Config
from regard.errors import ConfigError, CorpusError, RegardError
from regard.locking import FolderLock
from regard.models.folder import CARD
from regard.pipeline import train_run
from regard.recipe import load_config, override_config
from regard.run_folder import FINISHED, check_run


@pytest.fixture(autouse=True)
def without_pictures(monkeypatch):
    monkeypatch.setattr(pipeline, "plot_curves", lambda run, choose_by: None)


@pytest.fixture
def corpus(tmp_path) -> Path:
    return tmp_path / "corpus"


@pytest.fixture
def config(corpus) -> Config:
    return override_config(write_tiny_corpus(corpus), ["train.max_steps=2", "train.validate_every=1"])


@pytest.fixture
def run(config, tmp_path) -> Path:
    train_run(config, tmp_path / "run")
    return tmp_path / "run"


def bytes_of(run: Path) -> dict[str, bytes]:
    return {str(path.relative_to(run)): path.read_bytes() for path in sorted(run.rglob("*")) if path.is_file()}


@pytest.mark.parametrize("name", ["train.en", "train.fr", "validation.en"])
def test_a_run_does_not_go_on_with_other_text(name, config, run, corpus):
    before = bytes_of(run)
    changed = corpus / name
    changed.write_text(changed.read_text().replace("2", "7"))
    with pytest.raises(CorpusError, match=f"{name}: holds other text than when the run in .*run began.*--run"):
        train_run(override_config(config, ["train.max_steps=3"]), run)
    assert bytes_of(run) == before


def test_the_same_text_may_be_touched_and_packed(config, run, corpus):
    os.utime(corpus / "train.en", ns=(1, 1))
    text = (corpus / "validation.fr").read_bytes()
    (corpus / "validation.fr").write_bytes(gzip.compress(text.replace(b"\n", b"\r\n")))
    assert train_run(override_config(config, ["train.max_steps=3"]), run).outcome.steps == 3


@pytest.mark.parametrize("damage", [None, "", "[]", "7", '{"train.en": 7}', '{"train.en": ["x"]}'])
def test_a_run_whose_facts_are_missing_or_damaged_goes_on(damage, config, run):
    (run / "texts.json").unlink()
    if damage is not None:
        (run / "texts.json").write_text(damage)
    assert train_run(override_config(config, ["train.max_steps=3"]), run).outcome.steps == 3
    assert (run / "texts.json").exists()


@pytest.mark.parametrize("side", ["train", "validation"])
def test_a_path_that_is_mended_may_use_the_same_folder(side, config, tmp_path):
    wrong = [{"source": "nowhere.en", "target": "nowhere.fr"}]
    mistaken = config.model_copy(update={"data": config.data.model_validate({**config.data.model_dump(), side: wrong})})
    with pytest.raises(CorpusError, match=r"nowhere\.en: no such file"):
        train_run(mistaken, tmp_path / "run")
    assert train_run(config, tmp_path / "run").outcome.steps == 2


def test_a_folder_in_which_nothing_was_made_holds_no_run(config, tmp_path, monkeypatch):
    monkeypatch.setattr(pipeline, "learn_tokenizers", lambda config: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        train_run(config, tmp_path / "run")
    assert load_config(tmp_path / "run" / "config.toml") == config
    check_run(override_config(config, ["tokenizer.vocabulary_size=300"]), tmp_path / "run")


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ("train.optimiser=muon", "`train.optimiser` = 'adam'"),
        ("train.ema=0.9", "`train.ema` = 0.0"),
        ("train.choose_by=bleu", "`train.choose_by` = 'loss'"),
    ],
)
def test_what_checkpoints_depend_on_is_refused_before_anything_changes(change, key, config, run):
    before = bytes_of(run)
    with pytest.raises(ConfigError, match=f"its checkpoints were made with {key}; go on with that"):
        train_run(override_config(config, [change]), run)
    assert bytes_of(run) == before


def test_where_no_checkpoint_was_completed_nothing_depends_on_one(config, run):
    for path in (run / "checkpoints").iterdir():
        path.rename(path.with_name(f".{path.name}.0123abcd.part"))
    (run / FINISHED).unlink()
    assert train_run(override_config(config, ["train.optimiser=muon"]), run).outcome.steps == 2


def test_bleu_of_other_sentences_is_another_score(config, tmp_path):
    by_bleu = override_config(config, ["train.choose_by=bleu"])
    train_run(by_bleu, tmp_path / "run")
    with pytest.raises(ConfigError, match=r"`train\.validation_sentences` = 4; go on"):
        train_run(override_config(by_bleu, ["train.validation_sentences=5"]), tmp_path / "run")
    with pytest.raises(ConfigError, match=r'"bleu"` needs translations'):
        override_config(by_bleu, ["train.validation_sentences=0"])


def test_a_missing_tensorboard_is_said_before_anything_changes(config, run, monkeypatch):
    before = bytes_of(run)

    def missing() -> None:
        raise RegardError("train.tensorboard needs TensorBoard")

    monkeypatch.setattr("regard.run_folder.check_tensorboard", missing)
    with pytest.raises(RegardError, match="needs TensorBoard"):
        train_run(override_config(config, ["train.tensorboard=true"]), run)
    assert bytes_of(run) == before
    assert (run / FINISHED).exists()


def test_the_best_weights_are_kept_whatever_the_recipe_says(config, tmp_path, monkeypatch):
    scores = iter([3.0, 1.0, 2.5, 2.0])
    judge = pipeline.Validator.judge
    validations: dict[str, float] = {}

    def judged(self, model, weights, *guard):
        found = judge(self, model, weights)
        key = str(sum(float(tensor.double().sum()) for tensor in weights.values()))
        validations.setdefault(key, next(scores, 9.0))
        return type(found)(validations[key], found.bleu)

    monkeypatch.setattr(pipeline.Validator, "judge", judged)
    kept = ["train.keep_best=0", "train.keep_last=1", "train.max_steps=4", "train.ema=0"]
    outcome = train_run(override_config(config, kept), tmp_path / "run").outcome
    assert outcome.chosen == "the best validation, at step 2"
    assert outcome.validation is not None
    assert outcome.validation.loss == 1.0


def test_what_people_wrote_into_the_card_stays(config, run):
    path = run / CARD
    edited = path.read_text().replace("state it here before you share the model.", "CC BY 4.0.")
    path.write_text(f"{edited.rstrip()}\n\n## Who made it\nWe did.\n\n{card.TESTED}\n- a test: BLEU 1.00\n")
    before = path.read_text()
    train_run(config, run)
    assert path.read_text() == before
    train_run(override_config(config, ["train.max_steps=3"]), run)
    renewed = path.read_text()
    assert "Trained for 3 steps" in renewed
    assert "CC BY 4.0." in renewed
    assert "## Who made it\nWe did." in renewed
    assert card.TESTED not in renewed


@pytest.mark.parametrize("name", ["mps", "meta", "nothing"])
def test_a_device_that_we_do_not_know_is_refused(name, config, tmp_path):
    with pytest.raises(ConfigError, match="use auto, cpu, cuda or cuda:N"):
        train_run(override_config(config, [f"train.device={name}"]), tmp_path / "run")


@pytest.mark.parametrize("must_resume", [True, False])
def test_a_finished_model_without_checkpoints_is_not_trained_over(config, run, must_resume):
    shutil.rmtree(run / "checkpoints")
    before = bytes_of(run)
    with pytest.raises(RegardError, match="no checkpoint"):
        train_run(override_config(config, ["train.max_steps=3"]), run, must_resume)
    assert bytes_of(run) == before
    (run / FINISHED).unlink()
    with pytest.raises(RegardError, match="no run to resume"):
        train_run(config, run, must_resume=True)
    assert train_run(config, run).outcome.steps == 2


def test_two_commands_do_not_train_in_one_folder(config, run):
    before = bytes_of(run)
    with FolderLock(run, wait=False), pytest.raises(RegardError, match=r"another command is training there.*--run"):
        train_run(override_config(config, ["train.max_steps=3"]), run)
    assert bytes_of(run) == before
    assert train_run(override_config(config, ["train.max_steps=3"]), run).outcome.steps == 3


def test_what_is_refused_lets_the_folder_go(config, run, corpus):
    text = (corpus / "train.en").read_text()
    (corpus / "train.en").write_text(text.replace("2", "7"))
    with pytest.raises(CorpusError, match="holds other text") as refused:
        train_run(override_config(config, ["train.max_steps=3"]), run)
    (corpus / "train.en").write_text(text)
    assert train_run(override_config(config, ["train.max_steps=3"]), run).outcome.steps == 3
    assert refused.tb is not None, "it holds the frames of the first command"


def test_figures_of_the_end_stay_until_there_is_something_new(config, run, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(pipeline, "build_validator", interrupted)
    with pytest.raises(KeyboardInterrupt):
        train_run(override_config(config, ["train.max_steps=3"]), run)
    assert (run / FINISHED).exists()


def test_a_folder_that_cannot_be_locked_is_open_to_all(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(locking.fcntl, "flock", refuse)
    with FolderLock(tmp_path, wait=False), FolderLock(tmp_path, wait=True):
        pass


def test_learned_positions_must_suffice_for_the_text(config, corpus, tmp_path):
    learned = override_config(config, ["model.positions=learned", "model.max_positions=16"])
    with pytest.raises(ConfigError, match=r"`data\.max_tokens` is 256.*to 15 or less"):
        train_run(learned, tmp_path / "run")
    short = override_config(learned, ["data.max_tokens=15"])
    assert train_run(short, tmp_path / "run").outcome.steps == 2
    (corpus / "validation.en").write_text("the cat " * 20 + "\n")
    (corpus / "validation.fr").write_text("le chat " * 20 + "\n")
    with pytest.raises(ConfigError, match=r"`data\.validation` has a sentence of \d+ tokens.*suffice for 15"):
        train_run(short, tmp_path / "long")
    mended = override_config(short, ["data.max_characters=100", "data.on_bad_line=skip"])
    with pytest.raises(CorpusError, match="no usable pair"):
        train_run(mended, tmp_path / "long")
    write_tiny_corpus(corpus)
    assert train_run(mended, tmp_path / "long").outcome.steps == 2


def test_vectors_are_read_when_a_run_begins_and_not_when_it_goes_on(config, tmp_path):
    vectors = tmp_path / "some.vec"
    numbers = " ".join(["0.5"] * config.model.width)
    vectors.write_text("".join(f"{word} {numbers}\n" for word in ("the", "a", "e", "m", "t")))
    with_vectors = override_config(config, [f"model.source_vectors={vectors}"])
    train_run(with_vectors, tmp_path / "new")
    vectors.unlink()
    assert train_run(override_config(with_vectors, ["train.max_steps=3"]), tmp_path / "new").outcome.steps == 3
    with pytest.raises(ConfigError, match="brings embeddings of its own"):
        train_run(override_config(with_vectors, [f"model.start={tmp_path}/new"]), tmp_path / "other")


def test_torch_has_its_threads_back_after_a_run(config, tmp_path):
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        train_run(override_config(config, ["train.threads=1", "train.processes=1"]), tmp_path / "run")
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
