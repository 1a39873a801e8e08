"""The run of the demonstration, from the built-in corpus to the page of its attention."""

from __future__ import annotations

import re
import time
import tomllib
from collections.abc import Sequence
from importlib import resources
from pathlib import Path

from regard.config import Config
from regard.data.builtin import TargetLanguage, generate, write_builtin
from regard.data.builtin.showcase import SENTENCES
from regard.data.builtin.writing import is_written
from regard.demo.measure import SetScore, Shown, Trial, measure, show, try_trail
from regard.demo.result import DemoResult, trial_sentence
from regard.explain.capture import attention_of
from regard.explain.page import write_page
from regard.explain.pronoun_page import PronounExample, Story, pronoun_page
from regard.explain.pronoun_words import plain_text
from regard.explain.reference import Reference, clearest_trail
from regard.models.folder import LoadedModel, load_model
from regard.pipeline import TrainResult, train_run
from regard.progress import duration, task
from regard.recipe import parse_config
from regard.run_folder import check_run
from regard.search.translator import Translator

LANGUAGE_NAMES = {"fr": "French", "zh": "Chinese"}
PAGE = "attention.html"
ON_PAGE = 2
"""The first sentences of the showcase, which differ in their last word: the animal and the street."""
TRIED_SENTENCES = 200


def run_demo(
    run: str | Path = Path("runs/demo"),
    target_language: TargetLanguage = "fr",
    seed: int = 1,
    overrides: Sequence[str] = (),
    sentences: int | None = None,
) -> DemoResult:
    """Train on the built-in corpus in the folder `run`, measure, translate, and write a page of the attention.

    `overrides` are keys of the recipe (`train.max_steps=100`); `sentences` limits how many of each set are measured.
    """
    started = time.monotonic()
    run = Path(run)
    config = demo_config(run / "corpus", target_language, seed, overrides)
    check_run(config, run)
    with task("making the built-in corpus"):
        corpus = generate(target_language, seed)
        if not is_written(run / "corpus", target_language, seed):
            write_builtin(run / "corpus", target_language, seed)
    training = train_run(config, run)
    loaded = load_model(run)
    translator = Translator(loaded)
    test = measure(translator, "test", corpus.test[:sentences])
    novel = measure(translator, "novel", corpus.novel[:sentences])
    shown = show(translator, target_language)
    examples = [_example(loaded, one, target_language, index) for index, one in enumerate(shown[:ON_PAGE])]
    trail = clearest_trail([example.case for example in examples])
    trial = try_trail(loaded, trail, corpus.test[:sentences], TRIED_SENTENCES)
    story = _story(LANGUAGE_NAMES[target_language], (test, novel), training, trial)
    page = pronoun_page(examples, trail, ("en", target_language), story)
    return DemoResult(
        training=training,
        test=test,
        novel=novel,
        shown=shown,
        trail=trail,
        trial=trial,
        finding=tuple(plain_text(paragraph) for paragraph in page.finding),
        page=write_page(page, run / PAGE),
        seconds=time.monotonic() - started,
    )


def demo_config(corpus: Path, target_language: TargetLanguage, seed: int, overrides: Sequence[str] = ()) -> Config:
    """The recipe of the demonstration, for a corpus written to this folder."""
    recipe = tomllib.loads(resources.files("regard.demo").joinpath("recipe.toml").read_text(encoding="utf-8"))
    recipe["seed"] = seed
    recipe["data"] = {"target_language": target_language} | {
        part: [{"source": str(corpus / f"{part}.en"), "target": str(corpus / f"{part}.{target_language}")}]
        for part in ("train", "validation")
    }
    return parse_config(recipe, overrides, where="the recipe of the demonstration")


def _example(loaded: LoadedModel, shown: Shown, target_language: TargetLanguage, index: int) -> PronounExample:
    """A sentence of the showcase with the attention of its words, while the model writes its own translation.

    Where the model wrote no pronoun, it is made to write the right translation, and that is shown.
    """
    sentence = SENTENCES[index]
    case = sentence.french_pronoun if target_language == "fr" else sentence.chinese_pronoun
    assert case is not None, "the showcase is about pronouns"
    own = re.search(case.pattern, shown.translation, re.IGNORECASE)
    target = shown.translation if own else shown.reference
    return PronounExample(
        source=shown.source,
        target=target,
        maps=attention_of(loaded, shown.source, target).words(),
        reference=Reference(
            pronoun=case.english,
            written=own[1] if own else case.right,
            noun=case.antecedent,
            other=next(noun for noun in sentence.nouns if noun != case.antecedent),
        ),
    )


def _story(language: str, scores: tuple[SetScore, SetScore], training: TrainResult, trial: Trial) -> Story:
    test, novel = scores
    taken = duration(training.outcome.seconds)
    return Story(
        lead=(
            f"A small Transformer learned to translate English into {language} from {training.pairs:,} sentences, in "
            f"{taken}. It never met these two, which differ only in their last word: in what “it” stands for."
        ),
        figures=[
            ("BLEU, test set", f"{test.bleu:.1f}"),
            ("pronoun right", f"{test.pronoun_accuracy:.1f}\u00a0%"),
            ("pronoun right, novel combinations", f"{novel.pronoun_accuracy:.1f}\u00a0%"),
            ("parameters", f"{training.parameters:,}"),
            ("time to train", taken),
        ],
        trial=trial_sentence(trial),
        foot=f"Written by regard demo. BLEU: {test.signature}.",
    )
