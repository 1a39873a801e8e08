"""The command line: one function a command, with no logic of its own; torch is imported only where it is needed."""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Literal

import typer

from regard import console, figures, progress
from regard.commands.picture_app import picture_app
from regard.options import (
    Alpha,
    BatchTokens,
    Beam,
    Compute,
    CoveragePenalty,
    Engine,
    Json,
    LengthPenalty,
    MaxLength,
    MaxRepeats,
    Mbr,
    MinLength,
    Model,
    NoRepeatNgram,
    Output,
    Overrides,
    Samples,
    Sampling,
    SamplingSeed,
    Temperature,
    TopK,
    TopP,
)
from regard.planning import STEPS

app = typer.Typer(
    name="regard",
    help="Train, explain and serve Transformer sequence models on the machine you have.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
data_app = typer.Typer(help="Bring a corpus into plain files.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(data_app, name="data")
app.add_typer(picture_app, name="picture")


def main(arguments: list[str] | None = None) -> None:
    """The command `regard`."""
    console.run(lambda given: app(given, prog_name="regard"), sys.argv[1:] if arguments is None else arguments)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"regard {version('regard')}")
        raise typer.Exit


@app.callback()
def _common(
    _version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    progress.show()


@app.command()
def demo(
    overrides: Overrides = None,
    run: Annotated[Path, typer.Option(metavar="FOLDER", help="Where the model and the page are kept.")] = Path(
        "runs/demo"
    ),
    language: Annotated[
        Literal["fr", "zh"], typer.Option(metavar="CODE", help="Translate English to fr or zh.")
    ] = "fr",
    seed: Annotated[int, typer.Option(metavar="N", help="Another seed gives another corpus and model.", min=0)] = 1,
    json: Json = None,
) -> None:
    """Show the whole path on a built-in corpus, in minutes.

    Trains, measures, translates, and writes a page on which a pronoun finds its noun.
    """
    figures.check_destination(json)
    from regard.demo import run_demo

    figures.publish(run_demo(run, language, seed, overrides=overrides or ()), json)


@data_app.command()
def builtin(
    output: Annotated[Path, typer.Option(metavar="FOLDER", help="Where to write en-fr/ and en-zh/.")] = Path(
        "data/builtin"
    ),
    seed: Annotated[int, typer.Option(metavar="N", help="Another seed gives another choice of sentences.", min=0)] = 1,
) -> None:
    """Write the built-in corpus: English with its French and its Chinese, from a small grammar."""
    from regard.data.builtin import write_builtin

    for language in ("fr", "zh"):
        files = write_builtin(output / f"en-{language}", language, seed)
        print(f"{output / f'en-{language}'}: {', '.join(files)}")


@data_app.command()
def multi30k(output: Output = Path("data")) -> None:
    """Bring Multi30k into multi30k/: 29,000 captions in English, German and French."""
    from regard.data.public import bring_multi30k

    print(bring_multi30k(output))


@data_app.command()
def tatoeba(output: Output = Path("data")) -> None:
    """Bring Tatoeba's everyday sentences into tatoeba-zh-en/ and tatoeba-de-en/."""
    from regard.data.public import bring_tatoeba

    for brought in bring_tatoeba(output):
        print(brought)


@app.command()
def doctor(
    recipe: Annotated[
        Path | None,
        typer.Argument(
            metavar="RECIPE", help="Examine the training text of a recipe, instead of files.", show_default=False
        ),
    ] = None,
    source: Annotated[Path | None, typer.Option(metavar="FILE", help="One side, a sentence a line.")] = None,
    target: Annotated[Path | None, typer.Option(metavar="FILE", help="The other side, aligned by line.")] = None,
    pairs: Annotated[Path | None, typer.Option(metavar="FILE", help="Both sides in one file (.tsv, .jsonl).")] = None,
    against: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="Held-out text that must not be in it; repeatable.")
    ] = None,
    source_language: Annotated[
        str | None, typer.Option(metavar="CODE", help="Such as en.  [default: by the file's name]")
    ] = None,
    target_language: Annotated[
        str | None, typer.Option(metavar="CODE", help="Such as fr.  [default: by the file's name]")
    ] = None,
    examples: Annotated[int, typer.Option(metavar="N", help="Places to name for each finding.")] = 10,
    json: Json = None,
) -> None:
    """Examine a corpus before training on it.

    Names faults, duplicates, leakage and wrong scripts, with file and line.
    """
    figures.check_destination(json)
    from regard.commands.examining import CorpusFiles, examine_files, examine_recipe

    files = CorpusFiles(source, target, pairs, source_language, target_language)
    if recipe is None:
        report = examine_files(files, against or (), examples)
    else:
        report = examine_recipe(recipe, files, against or (), examples)
    figures.publish(report, json)


@app.command()
def describe(
    recipe_or_model: Annotated[
        Path | None, typer.Argument(metavar="RECIPE_OR_MODEL", help="A recipe, or a model folder.", show_default=False)
    ] = None,
    overrides: Overrides = None,
    keys: Annotated[bool, typer.Option("--keys", help="List every key of a recipe instead.")] = False,
    json: Json = None,
) -> None:
    """Describe what a recipe makes, or a trained model.

    Prints its parts, shapes, parameters, and operations per token.
    """
    figures.check_destination(json)
    if keys:
        from regard.keys import KeyList

        figures.publish(KeyList(), json)
        return
    if recipe_or_model is None:
        raise typer.BadParameter("name a recipe or a model folder, or ask for --keys")
    from regard.commands.describing import describe_recipe_or_model

    figures.publish(describe_recipe_or_model(recipe_or_model, overrides or ()), json)


@app.command()
def plan(
    recipe: Annotated[Path, typer.Argument(metavar="RECIPE", help="A TOML file, such as recipes/own-text.toml.")],
    overrides: Overrides = None,
    run: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Where the run will be kept: its disk counts, and its vocabulary, if there is one.  "
            "[default: runs/ and the recipe's name]",
        ),
    ] = None,
    steps: Annotated[int, typer.Option(metavar="N", help="Steps to measure.", min=1)] = STEPS,
    json: Json = None,
) -> None:
    """Tell what a run will take, from a few real steps.

    Prints parameters, memory, speed, time and disk, proposes a batch that fits, and says when a run is hopeless.
    Leaves with 0 if the run fits, 3 if it needs a change, 4 if it is hopeless.
    """
    figures.check_destination(json)
    from regard.recipe import load_config

    config = load_config(recipe, overrides or ())
    from regard.planning.plan import plan_run

    made = plan_run(config, run or Path("runs") / recipe.stem, steps)
    figures.publish(made, json)
    raise typer.Exit(made.exit_code)


@app.command()
def train(
    recipe: Annotated[Path, typer.Argument(metavar="RECIPE", help="A TOML file, such as recipes/own-text.toml.")],
    overrides: Overrides = None,
    run: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="Where the run is kept.  [default: runs/ and the recipe's name]", envvar="REGARD_RUN"
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Refuse to begin anew: there must be a run to go on with.")
    ] = False,
    json: Json = None,
) -> None:
    """Run a recipe: from text to a model folder.

    A run that was interrupted goes on where it was.
    """
    figures.check_destination(json)
    from regard.recipe import load_config

    config = load_config(recipe, overrides or ())
    from regard.pipeline import train_run

    result = train_run(config, run or Path("runs") / recipe.stem, must_resume=resume)
    if result.leads:
        figures.publish(result, json)


@app.command()
def translate(
    models: Annotated[
        list[Path],
        typer.Argument(
            metavar="MODEL...", help="A model folder, such as runs/demo; several are an ensemble.", show_default=False
        ),
    ],
    source: Annotated[
        Path | None, typer.Option("--input", metavar="FILE", help="Read this.  [default: standard input]")
    ] = None,
    output: Annotated[Path | None, typer.Option(metavar="FILE", help="Write this.  [default: standard output]")] = None,
    beam: Beam = None,
    nbest: Annotated[
        int | None, typer.Option(metavar="N", help="Write the N best of each line: its number, score, text.")
    ] = None,
    from_language: Annotated[
        str | None, typer.Option("--from", metavar="CODE", help="Refuse another source language.")
    ] = None,
    to_language: Annotated[
        str | None, typer.Option("--to", metavar="CODE", help="Refuse another target language.")
    ] = None,
    length_penalty: LengthPenalty = None,
    alpha: Alpha = None,
    coverage_penalty: CoveragePenalty = None,
    min_length: MinLength = None,
    max_length: MaxLength = None,
    no_repeat_ngram: NoRepeatNgram = None,
    max_repeats: MaxRepeats = None,
    prefix: Annotated[
        Path | None, typer.Option(metavar="FILE", help="What each output begins with, aligned by line.")
    ] = None,
    sampling: Sampling = None,
    samples: Samples = None,
    temperature: Temperature = None,
    top_k: TopK = None,
    top_p: TopP = None,
    sampling_seed: SamplingSeed = None,
    mbr: Mbr = None,
    average: Annotated[
        Literal["probabilities", "log-probabilities"],
        typer.Option(metavar="NAME", help="What an ensemble averages: probabilities or log-probabilities."),
    ] = "probabilities",
    batch_tokens: BatchTokens = None,
    compute: Compute = None,
    engine: Engine = "regard",
    glossary: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Terms that must be used: source TAB target on each line.")
    ] = None,
    keep: Annotated[
        str | None,
        typer.Option(metavar="KINDS", help="Keep urls,emails,tags,placeholders,numbers as they are; or all."),
    ] = None,
    keep_file: Annotated[Path | None, typer.Option(metavar="FILE", help="Strings to keep, one a line.")] = None,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write as JSON what became of terms and spans.")
    ] = None,
    alignment: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write which words belong together, as 0-0 1-2.")
    ] = None,
    alignment_layer: Annotated[
        int | None, typer.Option(metavar="N", help="The decoder layer to align by.  [default: by a rule]")
    ] = None,
    confidence: Annotated[
        bool, typer.Option("--confidence", help="The chance that a line is good in front of it, with a TAB.")
    ] = False,
    document: Annotated[
        bool, typer.Option("--document", help="The input is running text: split it, and keep its form.")
    ] = False,
) -> None:
    """Translate line for line, in order."""
    from regard.commands.controlling import ControlFlags, translate_controlled
    from regard.commands.translating import Languages, TranslationFiles, translate_lines
    from regard.search.options import SearchOptions

    search: SearchOptions = {
        "beam": beam,
        "length_penalty": length_penalty,
        "alpha": alpha,
        "coverage_penalty": coverage_penalty,
        "min_length": min_length,
        "max_length": max_length,
        "no_repeat_ngram": no_repeat_ngram,
        "max_repeats": max_repeats,
        "sampling": sampling,
        "samples": samples,
        "temperature": temperature,
        "top_k": top_k,
        "top_p": top_p,
        "sampling_seed": sampling_seed,
        "mbr": mbr,
        "batch_tokens": batch_tokens,
        "compute": compute,
    }
    flags = ControlFlags(glossary, keep, keep_file, report, alignment, alignment_layer, confidence, document)
    if flags.given:
        translate_controlled(
            models, TranslationFiles(source, output, prefix), Languages(from_language, to_language), flags, nbest,
            average, engine, **search,
        )  # fmt: skip
        return
    translate_lines(
        models, TranslationFiles(source, output, prefix), Languages(from_language, to_language), nbest, average, engine,
        **search,
    )  # fmt: skip


@app.command()
def calibrate(
    model: Model,
    source: Annotated[Path, typer.Argument(metavar="SOURCE", help="Sentences, one a line.", show_default=False)],
    reference: Annotated[
        Path, typer.Argument(metavar="REFERENCE", help="Right translations, aligned by line.", show_default=False)
    ],
    threshold: Annotated[
        float, typer.Option(metavar="X", help="A translation is good from this sentence chrF on.", min=0, max=100)
    ] = 50.0,
    plot: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw the reliability as a PNG.")] = None,
    beam: Beam = None,
    length_penalty: LengthPenalty = None,
    alpha: Alpha = None,
    batch_tokens: BatchTokens = None,
    json: Json = None,
) -> None:
    """Learn how far a model's probabilities can be trusted.

    Keeps calibration.json in the model folder, which `regard translate --confidence` uses.
    """
    figures.check_destination(json)
    from regard.commands.calibrating import calibrate_model, check_plot

    check_plot(plot)
    report = calibrate_model(
        model,
        source,
        reference,
        threshold,
        plot,
        beam=beam,
        length_penalty=length_penalty,
        alpha=alpha,
        batch_tokens=batch_tokens,
    )
    figures.publish(report, json)


@app.command()
def evaluate(
    reference: Annotated[list[Path], typer.Option(metavar="FILE", help="Right translations; repeatable.")],
    model: Annotated[
        Path | None, typer.Argument(metavar="MODEL", help="A model folder, such as runs/demo.", show_default=False)
    ] = None,
    source: Annotated[Path | None, typer.Option(metavar="FILE", help="The sentences to translate.")] = None,
    hypothesis: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Translations to measure, instead of a model's.")
    ] = None,
    against: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Another system's translations, to compare with.")
    ] = None,
    output: Annotated[Path | None, typer.Option(metavar="FILE", help="Keep the model's translations there.")] = None,
    tokenize: Annotated[
        str | None, typer.Option(metavar="NAME", help="BLEU's tokenization.  [default: by the language]")
    ] = None,
    lowercase: Annotated[bool, typer.Option("--lowercase", help="Let case not matter.")] = False,
    by_length: Annotated[bool, typer.Option("--by-length", help="Also by the length of the source.")] = False,
    samples: Annotated[int, typer.Option(metavar="N", help="Of the bootstrap; 0: none.")] = 1000,
    beam: Beam = None,
    length_penalty: LengthPenalty = None,
    alpha: Alpha = None,
    batch_tokens: BatchTokens = None,
    json: Json = None,
) -> None:
    """Measure a model's or given translations.

    Prints BLEU and chrF with their signatures, and compares with another system.
    """
    figures.check_destination(json)
    from regard.commands.evaluating import EvaluationFiles, evaluate_files
    from regard.evaluate.evaluation import EvaluationOptions

    evaluation = evaluate_files(
        model,
        EvaluationFiles(reference, source, hypothesis, against, output),
        EvaluationOptions(tokenize=tokenize, lowercase=lowercase, samples=samples),
        by_length,
        beam=beam,
        length_penalty=length_penalty,
        alpha=alpha,
        batch_tokens=batch_tokens,
    )
    figures.publish(evaluation, json)


@app.command()
def score(
    model: Model,
    source: Annotated[Path, typer.Option(metavar="FILE", help="Sentences, one a line.")],
    target: Annotated[Path, typer.Option(metavar="FILE", help="Their translations, aligned by line.")],
    by_token: Annotated[bool, typer.Option("--by-token", help="The mean of the tokens, not their sum.")] = False,
    json: Json = None,
) -> None:
    """Print the log-probability of given pairs."""
    figures.check_destination(json)
    from regard.commands.scoring import score_files

    figures.publish(score_files(model, source, target, by_token), json)


@app.command()
def explain(
    model: Model,
    sentence: Annotated[str, typer.Argument(metavar="SENTENCE", help="What to translate.", show_default=False)],
    target: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Make the model write this.  [default: its translation]")
    ] = None,
    output: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a page to look inside (.html).")] = None,
    png: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw a figure (.png, .svg, .pdf).")] = None,
    beam: Beam = None,
    language: Annotated[
        Literal["en", "zh"], typer.Option(metavar="CODE", help="The language of the page: en or zh.")
    ] = "en",
    json: Json = None,
) -> None:
    """Show why a model translates a sentence as it does.

    Prints each token with its probability and what the model looked at; writes all of it as one page.
    """
    figures.check_destination(json)
    from regard.commands.explaining import ExplanationFiles, explain_sentence

    files = ExplanationFiles(output, png)
    figures.publish(explain_sentence(model, sentence, target, files, language, beam), json)


@app.command()
def export(
    model: Model,
    to: Annotated[
        Literal["ctranslate2", "huggingface", "onnx"],
        typer.Option(metavar="FORMAT", help="ctranslate2, huggingface or onnx."),
    ],
    output: Annotated[Path, typer.Option(metavar="FOLDER", help="Where to write it.")],
    quantization: Annotated[
        Literal["float32", "int8"], typer.Option(metavar="NAME", help="float32, or (for ctranslate2) int8.")
    ] = "float32",
    sentences: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Compare on these.  [default: validation data, or built-in sentences]"),
    ] = None,
    references: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Right translations of the sentences, aligned by line.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a folder that is not empty.")] = False,
    json: Json = None,
) -> None:
    """Write a model in the form of another engine.

    Compares what it says there with what it says here, and keeps it only if that is the same.
    """
    figures.check_destination(json)
    from regard.portability.export import export_model

    exported = export_model(
        model, to, output, quantization=quantization, sentences=sentences, references=references, force=force
    )
    figures.publish(exported, json)


@app.command("import")
def import_(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A Hugging Face model.", show_default=False)],
    output: Annotated[Path, typer.Option(metavar="MODEL", help="The model folder to write.")],
    source_language: Annotated[str, typer.Option(metavar="CODE", help="What the model translates from.")] = "en",
    target_language: Annotated[str, typer.Option(metavar="CODE", help="What the model translates to.")] = "de",
    sentences: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Compare on these.  [default: built-in sentences]")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a folder that is not empty.")] = False,
    json: Json = None,
) -> None:
    """Read a Hugging Face model (Marian, M2M100, Pegasus) into a model folder.

    Compares the two where transformers is installed. Nothing of the folder is ever run or unpickled.
    """
    figures.check_destination(json)
    from regard.portability.importing import import_model

    imported = import_model(
        folder, output, languages=(source_language, target_language), sentences=sentences, force=force
    )
    figures.publish(imported, json)


@app.command()
def serve(
    models: Annotated[
        list[Path] | None,
        typer.Argument(metavar="MODEL...", help="Model folders, one for each direction.", show_default=False),
    ] = None,
    config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Settings in TOML.", envvar="REGARD_SERVE_CONFIG")
    ] = None,
    host: Annotated[str | None, typer.Option(metavar="ADDRESS", help="Listen here.  [default: 127.0.0.1]")] = None,
    port: Annotated[
        int | None, typer.Option(metavar="N", help="The port; 0: any that is free.  [default: 5000]")
    ] = None,
    keys: Annotated[
        str | None, typer.Option(metavar="FILE", help="API keys, made by `regard api-key`; each request needs one.")
    ] = None,
    characters: Annotated[
        int | None, typer.Option(metavar="N", help="Longest text, in characters.  [default: 2000]")
    ] = None,
    cors: Annotated[
        list[str] | None, typer.Option(metavar="ORIGIN", help="Let pages of this origin use the API; repeatable.")
    ] = None,
    log_text: Annotated[
        bool | None, typer.Option("--log-text/--no-log-text", help="Also log the texts of users.", show_default=False)
    ] = None,
    others: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Any other setting; repeatable.")
    ] = None,
) -> None:
    """Serve models over HTTP: LibreTranslate's API, and more.

    A flag goes before the environment (REGARD_SERVE_PORT), and that before the file. Ctrl-C ends it well.
    """
    from regard.commands.serving import serve_models

    flags = {
        "host": host,
        "port": port,
        "keys": keys,
        "characters": characters,
        "cors": tuple(cors) if cors else None,
        "log_text": log_text,
    }
    serve_models(models or (), config, flags, others or ())


@app.command("api-key")
def api_key(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file of keys, or one to be.", show_default=False)],
    name: Annotated[str, typer.Option(metavar="NAME", help="Whose key it is.")],
    rate: Annotated[
        int | None, typer.Option(metavar="N", help="Requests a minute; 0: any.  [default: the server's]", min=0)
    ] = None,
) -> None:
    """Make an API key for `regard serve --keys`, and print it."""
    from regard.commands.serving import make_key

    print(make_key(file, name, rate))
