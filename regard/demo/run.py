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
from regard.demo.measure import HeadTrial, SetScore, Shown, measure, show, try_head
from regard.demo.result import DemoResult, trial_sentence
from regard.explain.capture import attention_of
from regard.explain.page import AttentionPage, write_page
from regard.explain.pronoun_page import PronounExample, plain_text, pronoun_page
from regard.explain.reference import HeadChoice, Reference, clearest_head
from regard.models.folder import LoadedModel, load_model
from regard.pipeline import TrainResult, train_run
from regard.progress import duration, task
from regard.recipe import parse_config
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
    with task("making the built-in corpus"):
        corpus = generate(target_language, seed)
        if not (run / "corpus" / "README.txt").exists():
            write_builtin(run / "corpus", target_language, seed)
    training = train_run(config, run)
    loaded = load_model(run)
    translator = Translator(loaded)
    test = measure(translator, "test", corpus.test[:sentences])
    novel = measure(translator, "novel", corpus.novel[:sentences])
    shown = show(translator, target_language)
    examples = [_example(loaded, one, target_language, index) for index, one in enumerate(shown[:ON_PAGE])]
    head = clearest_head([(example.maps, example.reference) for example in examples])
    trial = try_head(loaded, head, corpus.test[:sentences], TRIED_SENTENCES)
    page = _page(examples, head, target_language, (test, novel), training, trial)
    return DemoResult(
        training=training,
        test=test,
        novel=novel,
        shown=shown,
        head=head,
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
    """A sentence of the showcase with the attention of its words, while the model writes its own translation."""
    sentence = SENTENCES[index]
    case = sentence.french_pronoun if target_language == "fr" else sentence.chinese_pronoun
    assert case is not None, "the showcase is about pronouns"
    other = next(noun for noun in sentence.nouns if noun != case.antecedent)
    written = re.search(case.pattern, shown.translation, re.IGNORECASE)
    return PronounExample(
        source=shown.source,
        target=shown.translation,
        maps=attention_of(loaded, shown.source, shown.translation).words(),
        reference=Reference(case.english, case.antecedent, other),
        target_pronoun=written[1] if written else None,
    )


def _page(
    examples: Sequence[PronounExample],
    head: HeadChoice,
    target_language: TargetLanguage,
    scores: tuple[SetScore, SetScore],
    training: TrainResult,
    trial: HeadTrial,
) -> AttentionPage:
    test, novel = scores
    name, taken = LANGUAGE_NAMES[target_language], duration(training.outcome.seconds)
    return pronoun_page(
        examples,
        head,
        ("en", target_language),
        lead=(
            f"A small Transformer learned to translate English into {name} from {training.pairs:,} sentences, in "
            f"{taken}. It never met these two, which differ only in their last word: in what “it” stands for."
        ),
        facts=[
            ("BLEU, test set", f"{test.bleu:.1f}"),
            ("pronoun right", f"{test.pronoun_accuracy:.1f}\u00a0%"),
            ("pronoun right, novel combinations", f"{novel.pronoun_accuracy:.1f}\u00a0%"),
            ("parameters", f"{training.parameters:,}"),
            ("time to train", taken),
        ],
        trial=trial_sentence(trial).split(". ")[0] + ".",
        foot=f"Written by regard demo. BLEU: {test.signature}.",
    )
