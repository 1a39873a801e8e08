"""Commands that make a model, or tell what a recipe would make."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from regard import figures
from regard.cli.app import app
from regard.cli.groups import grouped
from regard.options import Average, Json, Overrides, SearchFlags
from regard.planning import STEPS


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
        bool, typer.Option("--resume", help="Refuse to begin anew: there must be a checkpoint to go on from.")
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
@grouped
def distill(
    teachers: Annotated[
        list[str],
        typer.Argument(
            metavar="TEACHER",
            help="Model folders, several are an ensemble; keys that override the recipe's.",
            show_default=False,
        ),
    ],
    recipe: Annotated[Path, typer.Option(metavar="RECIPE", help="What the student is, and the text it learns from.")],
    run: Annotated[Path, typer.Option(metavar="FOLDER", help="Where the student's run is kept.")],
    back: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="MODEL",
            help="A model of the other direction: what it makes of the targets is learned as sources, too.",
            show_default=False,
        ),
    ] = None,
    choose: Annotated[
        Literal["likeliest", "closest"],
        typer.Option(metavar="NAME", help="Of the beam, the likeliest, or the closest to the reference (by chrF)."),
    ] = "likeliest",
    original: Annotated[
        float, typer.Option(metavar="X", help="Weight of the original pairs beside the translations; 0: none.", min=0)
    ] = 0.0,
    words: Annotated[
        float,
        typer.Option(
            metavar="SHARE",
            help="The share of the target that is what the teachers say of each token; 0: none.",
            min=0,
            max=1,
        ),
    ] = 0.0,
    average: Average = "probabilities",
    tokenize: Annotated[
        str | None, typer.Option(metavar="NAME", help="BLEU's tokenization at the end.  [default: by the language]")
    ] = None,
    json: Json = None,
    *,
    search: SearchFlags,
) -> None:
    """Train a student on what a teacher says.

    The teacher translates the recipe's training text, the student learns that, and both are measured. What was
    interrupted goes on where it was.
    """
    figures.check_destination(json)
    from regard.recipe import load_config

    folders = [word for word in teachers if "=" not in word or Path(word).is_dir()]
    config = load_config(recipe, [word for word in teachers if word not in folders])
    if not folders:
        raise typer.BadParameter("name a teacher: the folder of a trained model")
    from regard.distillation.run import distill_run

    distilled = distill_run(
        folders,
        config,
        run,
        back=back or (),
        choice=choose,
        original=original,
        words=words,
        average=average,
        tokenize=tokenize,
        **vars(search),
    )
    figures.publish(distilled, json)
