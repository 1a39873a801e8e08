"""`regard export`: a model folder into the form of another engine, kept only if it says the same there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

from regard.atomic import explained, new_folder, remove_folder
from regard.errors import InputError
from regard.models.folder import LoadedModel, load_model
from regard.portability import parity
from regard.portability.parity import Outputs, Parity
from regard.portability.reference import Greedy, greedy, with_plain_search
from regard.portability.saved_tokenizer import tokenizer_notes
from regard.portability.sentences import choose_sentences
from regard.progress import task

Format = Literal["ctranslate2", "huggingface", "onnx"]
Quantization = Literal["float32", "int8"]
Report = TypeVar("Report")


@dataclass(frozen=True)
class Kind:
    """One format: how it is called, written and compared; `write` gives remarks for the report."""

    title: str
    write: Callable[[LoadedModel, Path, str, Path], tuple[str, ...]]
    compare: Callable[[LoadedModel, Path, Greedy], Outputs]
    quantizations: tuple[str, ...] = ("float32",)
    longest: int | None = None
    """Tokens that it can read and write, where that is less than we can."""


@dataclass(frozen=True)
class Export:
    """What was written, and how it compares with its original."""

    output: Path
    files: dict[str, int]
    """Bytes by name."""
    parity: Parity

    def to_text(self) -> str:
        size = sum(self.files.values()) / 1e6
        return f"{self.parity.to_text()}\n\nWritten: {self.output} ({len(self.files)} files, {size:.1f} MB)"

    def to_json(self) -> dict[str, Any]:
        return {"output": self.output, "files": self.files, "parity": self.parity.to_json()}


def export_model(
    folder: str | Path,
    to: Format,
    output: str | Path,
    *,
    quantization: Quantization = "float32",
    sentences: Path | None = None,
    references: Path | None = None,
    force: bool = False,
) -> Export:
    """Write a model in another format; a ParityError, and nothing left behind, where it says something else there.

    It is compared on `sentences`, a file with one a line (and, aligned with it, right translations in `references`).
    """
    folder, output = Path(folder), Path(output)
    kind = _kind(to)
    if quantization not in kind.quantizations:
        raise InputError(f"--quantization {quantization}: {kind.title} is written in {' or '.join(kind.quantizations)}")
    check_output(output, folder, force)
    loaded = load_model(folder)
    if loaded.config.data.tags:
        raise InputError(
            f"{folder}: puts a tag of the target language before every source, which {kind.title} would not; "
            "a model of one pair, without `data.tags`, can be exported"
        )
    chosen = choose_sentences(loaded.config, loaded.tokenizers.source, sentences, references)
    name = f"{kind.title} ({quantization})"

    def fill(aside: Path) -> Parity:
        with task(f"writing {kind.title}"):
            notes = kind.write(loaded, aside, quantization, folder) + tokenizer_notes(loaded.tokenizers.source)
        original = with_plain_search(loaded)
        ours = greedy(original, chosen.sources, kind.longest)
        with task(f"translating with {kind.title}"):
            outputs = kind.compare(original, aside, ours)
        bound = parity.INT8 if quantization == "int8" else parity.FLOAT32
        report = parity.measure(name, outputs, loaded.config, chosen.only(ours.numbers), bound, notes)
        parity.require(report)
        return report

    report = write_aside(output, force, fill)
    return Export(output, _sizes(output), report)


def check_output(output: Path, original: Path, force: bool) -> None:
    """Refuse a place that holds something, and, even with force, one that holds the original or has no own name."""
    if output.exists() and not output.is_dir():
        raise InputError(f"{output}: is a file; name a folder")
    if output.exists() and original.resolve().is_relative_to(output.resolve()):
        raise InputError(f"{output}: holds the model itself; name another folder")
    if output.name in ("", ".."):
        raise InputError(f"{output}: is no name of a folder of its own; name a new one, such as {output / 'model'}")
    if output.is_dir() and any(output.iterdir()) and not force:
        raise InputError(f"{output}: is not empty; name another folder, or replace it with --force")


def write_aside(output: Path, force: bool, fill: Callable[[Path], Report]) -> Report:
    """Fill a folder aside; it becomes `output` when that ends well, and only then does what was there go."""
    if not (force and output.is_dir() and any(output.iterdir())):
        with new_folder(output) as aside:
            return fill(aside)
    fresh = output.with_name(f"{output.name}.new")
    with new_folder(fresh) as aside:
        report = fill(aside)
    remove_folder(output)
    with explained(output):
        fresh.rename(output)
    return report


def _sizes(folder: Path) -> dict[str, int]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.stat().st_size for path in files}


def _kind(to: Format) -> Kind:
    """The format of that name; what it needs is imported here, and not before."""
    if to == "ctranslate2":
        from regard.portability.ctranslate2_format import QUANTIZATIONS, write_ctranslate2
        from regard.portability.ctranslate2_parity import compare_ctranslate2

        return Kind("CTranslate2", write_ctranslate2, compare_ctranslate2, QUANTIZATIONS)
    if to == "huggingface":
        from regard.portability.huggingface_format import LONGEST, write_huggingface
        from regard.portability.huggingface_parity import compare_huggingface

        return Kind("Hugging Face", write_huggingface, compare_huggingface, longest=LONGEST)
    from regard.portability.onnx_format import write_onnx
    from regard.portability.onnx_parity import compare_onnx

    return Kind("ONNX", write_onnx, compare_onnx)
