"""A corpus that a computer makes up, a run of about a second on it, and how a command ended."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from regard.config import Config
from regard.recipe import parse_config

TINY_RUN = {
    "data": {"source_language": "en", "target_language": "fr"},
    "tokenizer": {"kind": "bpe", "vocabulary_size": 320},
    "model": {"width": 16, "feed_forward": 32, "heads": 2, "encoder_layers": 1, "decoder_layers": 1, "dropout": 0.0},
    "train": {
        "max_steps": 20,
        "batch_tokens": 512,
        "warmup_steps": 5,
        "validate_every": 10,
        "validation_sentences": 4,
        "log_every": 5,
        "threads": 1,
    },
    "search": {"beam": 2, "max_length_factor": 1.0, "max_length_extra": 5},
}
"""A run of about a second; tests change what they look at."""


def write_tiny_corpus(folder: Path) -> Config:
    """Two hundred pairs that a computer can make up, and the configuration of a run on them."""
    subjects = {"the cat": "le chat", "the dog": "le chien", "a man": "un homme", "my friend": "mon ami"}
    verbs = {"eats": "mange", "sees": "voit", "takes": "prend", "likes": "aime", "finds": "trouve"}
    objects = {f"{number} apples": f"{number} pommes" for number in range(2, 12)}
    pairs = [
        (f"{subject} {verb} {thing}.", f"{subjects[subject]} {verbs[verb]} {objects[thing]}.")
        for subject in subjects
        for verb in verbs
        for thing in objects
    ]
    folder.mkdir(parents=True, exist_ok=True)
    for name, part in {"train": pairs, "validation": pairs[::20]}.items():
        for side, language in enumerate(("en", "fr")):
            lines = "".join(f"{pair[side]}\n" for pair in part)
            (folder / f"{name}.{language}").write_text(lines, encoding="utf-8")
    files = {
        name: [{"source": str(folder / f"{name}.en"), "target": str(folder / f"{name}.fr")}]
        for name in ("train", "validation")
    }
    return parse_config({**TINY_RUN, "data": {**TINY_RUN["data"], **files}})


@dataclass(frozen=True)
class Finished:
    """How a command ended, and what it said."""

    code: int
    output: str
    errors: str


Command = Callable[..., Finished]
