"""The text of a recipe in which models make one side of a corpus: made before a run begins."""

from __future__ import annotations

from pathlib import Path

from regard.config import Config
from regard.data.identity import check_files, keep_files
from regard.translated.corpus import PAIRS
from regard.translated.makers import Makers, made_corpus, note_replaced

FOLDER = "translated"
"""Where in a run what models make of its text is kept, a folder for each corpus of `data.train` by its number."""


def made_text(config: Config, run: Path, begun: bool) -> Config:
    """The same configuration with what models make of its text in the text's place, made as far as it is not there.

    A run that has begun goes on with what it made, and needs the models no more.
    """
    loaded: dict[tuple[tuple[str, ...], bool], Makers] = {}
    corpora, files = [], []
    for number, corpus in enumerate(config.data.train):
        folder = run / FOLDER / str(number)
        if not corpus.made_by:
            corpora.append(corpus)
            continue
        if not (begun and (folder / PAIRS).exists()):
            folders, back = who = corpus.made_by, bool(corpus.source_by)
            makers = loaded[who] = loaded.get(who) or Makers.load(folders, back=back)
            note_replaced([makers.make(corpus, config, folder)])
        corpora.append(made_corpus(corpus, folder))
        files.append(folder / PAIRS)
    check_files(files, run)
    keep_files(files, run)
    return config.model_copy(update={"data": config.data.model_copy(update={"train": tuple(corpora)})})
