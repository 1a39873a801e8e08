"""Comparing a CTranslate2 folder with the model that it was made from."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from regard.models.folder import LoadedModel
from regard.portability import optional
from regard.portability.ctranslate2_engine import CTranslate2Translator
from regard.portability.ctranslate2_format import vocabulary
from regard.portability.parity import Outputs
from regard.portability.reference import Greedy, our_log_probabilities
from regard.portability.saved_tokenizer import with_saved_tokenizer


def compare_ctranslate2(loaded: LoadedModel, folder: Path, ours: Greedy) -> Outputs:
    """Greedy translations of both, each with its own tokenizer, and the log-probabilities that both give to ours."""
    alone = with_saved_tokenizer(loaded, folder)
    translator = CTranslate2Translator(alone, folder)
    found = [nbest[0] for nbest in translator.translate_nbest(ours.texts, 1, beam=1)]
    library: Any = optional.ctranslate2().Translator(str(folder), device="cpu")
    source, target = vocabulary(loaded.tokenizers.source), vocabulary(loaded.tokenizers.target)
    scores = library.score_batch(_named(ours.source_rows, source), _named(ours.scored, target), max_input_length=0)
    differences = [
        abs(one - other)
        for row, result in zip(our_log_probabilities(loaded, ours), scores, strict=True)
        for one, other in zip(row, result.log_probs, strict=True)
    ]
    return Outputs(
        ours=ours.tokens,
        theirs=[translation.tokens for translation in found],
        our_texts=ours.translations,
        their_texts=[translation.text for translation in found],
        our_sources=ours.source_rows,
        their_sources=alone.tokenizers.source.encode_batch(ours.texts),
        difference=max(differences),
        measured="log-probabilities",
    )


def _named(rows: Sequence[Sequence[int]], names: Sequence[str]) -> list[list[str]]:
    return [[names[token] for token in row] for row in rows]
