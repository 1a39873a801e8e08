"""The page of a report, as Markdown."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from regard.config import SearchConfig
from regard.evaluate.metrics import available_tokenize
from report_parts.found import Measured, Report
from report_parts.markdown import between, interval, link, plain, quoted, speed, table
from report_parts.pictures import Drawn
from report_parts.runs import shown
from report_parts.samples import EXTREMES, Sample


def write_page(
    report: Report, place: Path, translations: Sequence[Path], curves: Path, attention: Sequence[Drawn], card: str
) -> str:
    """The whole page, which will lie at `place`; pictures and translations are there already."""
    beside = place.parent
    parts = [
        *_opening(report),
        *_training(report),
        *_quality(report, translations),
        *_published(report),
        *_others(report),
        *_curves(report, link(curves, beside)),
        *_samples(report),
        *_attention(attention, beside),
        *_card(report, card),
    ]
    return "\n".join(parts).rstrip("\n") + "\n"


def _opening(report: Report) -> Iterator[str]:
    machine = report.machine
    yield f"# {report.name}"
    yield ""
    if report.note:
        yield from (report.note, "")
    yield "This page and the files in its folder were written by"
    yield ""
    yield from (f"    {line}" for line in report.command.split("\n"))
    yield ""
    where = _cores(machine["cores"], machine["cpu"])
    yield f"on {machine['date'][:10]}, on {where}, torch {machine['torch']}."
    yield "`benchmarks/README.md` says how; `figures.json` in the folder has every figure in full."
    yield ""


def _training(report: Report) -> Iterator[str]:
    yield "## Training"
    yield ""
    if report.trained_by:
        yield from (f"    {command}" for command in report.trained_by)
        yield ""
    rows = []
    for run in report.runs:
        validation = run.figures.get("validation")
        figures = [f"{run.figures['steps']:,}", f"{run.minutes:.1f}", str(run.processes or "not noted")]
        loss = f"{validation['loss']:.4f}" if validation else ""
        rows.append([str(run.seed), f"`{shown(run.folder)}`", *figures, run.figures["chosen"], loss])
    yield from table(["seed", "run", "steps", "minutes", "processes", "final weights", "validation loss"], rows)
    yield ""
    first, minutes = report.runs[0].figures, [run.minutes for run in report.runs]
    sizes = f"{first['parameters']:,} parameters, {first['pairs']:,} training pairs"
    yield f"{sizes}; {between(minutes, '.1f')} minutes{_where(report)}."
    yield "These count training with its validations and checkpoints, and asking teachers where there are any, over all"
    yield "sessions of a run; learning the vocabulary and having models make text before, and choosing the weights"
    yield "after, are not in them."
    yield ""


def _where(report: Report) -> str:
    """The machines that the runs were trained on, as far as they noted them."""
    machines = {
        (run.figures["cores"], run.figures["processor"]): None for run in report.runs if "processor" in run.figures
    }
    return "".join(f", on {_cores(*machine)}" for machine in machines)


def _cores(cores: int, processor: str) -> str:
    return f"{cores} core{'s' * (cores != 1)} of {processor}"


def _quality(report: Report, translations: Sequence[Path]) -> Iterator[str]:
    first = report.single.measured[0]
    test = " ".join(f"--reference {shown(path)}" for path in report.held_out.references)
    tokenize, given = _asked(report), report.tokenize or report.held_out.languages.target
    language = "" if given else f" --to {report.runs[0].config.data.target_language}"  # it chooses the tokenization
    yield "## On the test set"
    yield ""
    for run in report.runs:
        source = f"--source {shown(report.held_out.source)}"
        yield f"    regard evaluate {shown(run.folder)} {source} {test}{tokenize}"
    yield ""
    name = first.evaluation.chrf.name
    rows = [
        [str(run.seed), *_scores(each), speed(each.translated.sentences_per_second)]
        for run, each in zip(report.runs, report.single.measured, strict=True)
    ]
    if len(rows) > 1:
        exact = report.single.spread(lambda each: each.evaluation.exact_match).words(".1f")
        means = [report.single.bleu.words(), "", report.single.chrf.words(), "", f"{exact} %"]
        rows.append([f"**{text}**" if text else "" for text in ("mean", *means, "")])
    yield from table(["seed", "BLEU", "95 %", name, "95 %", "exact match", "sentences/s"], rows)
    yield ""
    yield f"{len(report.held_out.lines):,} sentences, {search_words(first.system.search)}. BLEU:"
    yield f"`{first.evaluation.bleu.signature}`, {name}: `{first.evaluation.chrf.signature}`. 95 %: the middle of the"
    spread = "±: the standard deviation over the seeds." if len(report.runs) > 1 else "One seed."
    yield f"scores on {first.evaluation.bootstrap.samples:,} resamplings of the test set. {spread}"
    yield from _used(report)
    yield "The translations are in this page's folder, so that the same figures can be had without a model:"
    yield ""
    for path in translations:
        yield f"    regard evaluate --hypothesis {shown(path)} {test}{tokenize}{language}"
    yield ""
    for remark in first.evaluation.remarks:
        yield from (remark, "")


def _used(report: Report) -> Iterator[str]:
    """How often the test set was looked at."""
    on_this_page = {each.translated.key for several in (report.single, *report.also) for each in several.measured}
    yield "Each model translated the test set once by each search shown here; that is kept beside it, and all"
    yield "figures are made from it."
    for each in report.single.measured:
        folder, found = shown(each.system.folders[0]), each.translated
        if found.earlier:
            yield f"`{folder}` had been given this test set before, with other weights ({found.earlier})."
        if others := set(found.other_searches) - on_this_page:
            yield f"`{folder}` was also given it with the same weights in ways not shown here ({len(others)})."


def _published(report: Report) -> Iterator[str]:
    if not report.published:
        return
    ours, seeds = report.single.bleu, len(report.runs)
    yield "## Beside published figures"
    yield ""
    rows = [[plain(each.name), f"{each.bleu:.2f}", f"{ours.mean - each.bleu:+.2f}"] for each in report.published]
    rows.append([f"**this, {'mean of ' * (seeds > 1)}{seeds} seed{'s' * (seeds > 1)}**", f"**{ours.words()}**", ""])
    yield from table(["system", "BLEU", "this less that"], rows)
    yield ""
    yield "Their figures are quoted, not measured here."
    yield ""


def _others(report: Report) -> Iterator[str]:
    if not report.also:
        return
    yield "## Other systems on the same test set"
    yield ""
    rows = []
    for several in (report.single, *report.also):
        first, times = several.measured[0].system, len(several.measured)
        alone = f"each of {times}" if times > 1 else "1"
        models = f"{len(first.folders)} together" if len(first.folders) > 1 else alone
        speeds = [each.translated.sentences_per_second for each in several.measured]
        scores = [several.bleu.words(), several.chrf.words(), between(speeds, ",.0f")]
        rows.append([plain(several.name), models, search_words(first.search), *scores])
    name = report.single.measured[0].evaluation.chrf.name
    yield from table(["system", "models", "search", "BLEU", name, "sentences/s"], rows)
    yield ""
    yield "±: the standard deviation over those measured. Sentences a second: all of the test set in one call, after a"
    yield "first one that is not counted."
    yield ""


def _curves(report: Report, picture: str) -> Iterator[str]:
    config = report.runs[0].config
    target = config.data.target_language
    yield "## Learning curves"
    yield ""
    yield f"![Loss and BLEU on validation data, over steps and over minutes]({picture})"
    yield ""
    if config.train.validation_sentences:
        pairs = " of each pair of languages, their mean" if config.data.tags else ""
        sentences = f"the first {config.train.validation_sentences:,} validation sentences{pairs}"
        yield f"BLEU here is greedy, on {sentences}, with the tokenization"
        yield f"`{available_tokenize(target)}`: good to choose by, not comparable with that of the test set."
        yield ""


def _samples(report: Report) -> Iterator[str]:
    samples, seed = report.samples, report.runs[0].seed
    yield "## Translations, good and bad"
    yield ""
    yield f"{samples.rule}, as they come: the source, the <i>reference</i> and the <b>output</b> of seed {seed},"
    yield "with the chrF of that sentence."
    yield ""
    yield from _sample_table(samples.picked)
    yield ""
    for title, chosen in (("best", samples.best), ("worst", samples.worst)):
        yield f"## The {title} {EXTREMES} of all, by chrF"
        yield ""
        yield from _sample_table(chosen)
        yield ""


def _sample_table(samples: Sequence[Sample]) -> Iterator[str]:
    rows = []
    for sample in samples:
        right = "<br>".join(f"<i>{plain(text)}</i>" for text in sample.references)
        text = f"{plain(sample.source)}<br>{right}<br><b>{plain(sample.output) or '(nothing)'}</b>"
        rows.append([str(sample.line), text, f"{sample.chrf:.1f}"])
    return table(["line", "", "chrF"], rows)


def _attention(attention: Sequence[Drawn], beside: Path) -> Iterator[str]:
    yield "## Attention"
    yield ""
    lines = [str(drawn.sample.line) for drawn in attention]
    yield f"Lines {', '.join(lines)}: of {len(lines)} equal parts of the regular samples above, the middle ones. The"
    yield "pictures are those of `regard explain`: rows are tokens of the output, columns those of the source. The mean"
    yield "over all layers and heads hides what single heads do; the two shown tell the rows apart best. Attention is"
    yield "not proof of cause."
    yield ""
    for drawn in attention:
        if drawn.path is None:
            yield f"Line {drawn.sample.line} cannot be drawn: {plain(drawn.reason)}"
        else:
            yield f"![Attention of line {drawn.sample.line}]({link(drawn.path, beside)})"
        yield ""


def _card(report: Report, card: str) -> Iterator[str]:
    yield "## The model card"
    yield ""
    yield f"That of seed {report.runs[0].seed}, the `README.md` of its folder; the others differ in their figures."
    yield ""
    yield from quoted(card)


def search_words(search: SearchConfig) -> str:
    """How a system searches, in words."""
    found = f"beam {search.beam}" if search.beam > 1 else "greedy"
    words = f"{search.samples} samples" if search.sampling else found
    if search.beam > 1 and not search.sampling:
        penalty = f"length penalty {search.length_penalty} {search.alpha:g}"
        words += ", no length penalty" if search.length_penalty == "none" else f", {penalty}"
    words += ", minimum Bayes risk by chrF" if search.mbr else ""
    return words + (", int8" if search.compute == "int8" else "")


def _asked(report: Report) -> str:
    """What the command was told of the measure and the languages, for other commands."""
    tokenize = f" --tokenize {shlex.quote(report.tokenize)}" if report.tokenize else ""
    source, target = report.held_out.languages.source, report.held_out.languages.target
    return tokenize + (f" --from {source}" if source else "") + (f" --to {target}" if target else "")


def _scores(measured: Measured) -> list[str]:
    evaluation, intervals = measured.evaluation, measured.evaluation.bootstrap
    return [
        f"{evaluation.bleu.value:.2f}",
        interval(intervals.bleu),
        f"{evaluation.chrf.value:.2f}",
        interval(intervals.chrf),
        f"{evaluation.exact_match:.1f} %",
    ]
