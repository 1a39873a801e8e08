"""Comparing an ONNX folder with the model that it was made from."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor

from regard.models.folder import LoadedModel
from regard.portability.onnx_engine import OnnxEngine
from regard.portability.parity import Outputs
from regard.portability.reference import Greedy, largest_difference
from regard.portability.saved_tokenizer import with_saved_tokenizer
from regard.search.translator import Translator


class OnnxTranslator(Translator):
    """A model of ours whose steps onnxruntime computes."""

    def __init__(self, loaded: LoadedModel, folder: Path) -> None:
        super().__init__(loaded)
        self._engines = {"float32": OnnxEngine(folder, loaded.config.model)}


def compare_onnx(loaded: LoadedModel, folder: Path, ours: Greedy) -> Outputs:
    """Greedy translations and logits of both; the decoder's logits come step by step, with its past."""
    alone = with_saved_tokenizer(loaded, folder)
    translator = OnnxTranslator(alone, folder)
    found = [nbest[0] for nbest in translator.translate_nbest(ours.texts, 1, beam=1)]
    engine = OnnxEngine(folder, loaded.config.model)

    def logits(source: Tensor, mask: Tensor, target: Tensor) -> Tensor:
        state = engine.start(engine.encode(source, mask))
        steps = []
        for column in target.t():
            step, state = engine.step(column, state)
            steps.append(step)
        return torch.stack(steps, dim=1)

    return Outputs(
        ours=ours.tokens,
        theirs=[translation.tokens for translation in found],
        our_texts=ours.translations,
        their_texts=[translation.text for translation in found],
        our_sources=ours.source_rows,
        their_sources=alone.tokenizers.source.encode_batch(ours.texts),
        difference=largest_difference(loaded, ours, logits),
    )
