"""An exported ONNX model as an engine for our searches: greedy and beam search run over it as over a model of ours."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from regard.config import ModelConfig
from regard.models.contract import Memory, State
from regard.portability import optional
from regard.portability.onnx_format import DECODER, ENCODER


@dataclass
class OnnxMemory(Memory):
    """What the encoder gives: keys and values for each decoder layer; `states` is empty."""

    offered: dict[str, Tensor] = field(default_factory=dict)


class OnnxEngine:
    """Runs `encoder.onnx` and `decoder.onnx` of a folder with onnxruntime, on the CPU."""

    def __init__(self, folder: Path, config: ModelConfig) -> None:
        runtime = optional.onnxruntime()
        options = runtime.SessionOptions()
        options.intra_op_num_threads = torch.get_num_threads()
        options.log_severity_level = 3
        providers = ["CPUExecutionProvider"]
        self._encoder = runtime.InferenceSession(str(folder / ENCODER), options, providers=providers)
        self._decoder = runtime.InferenceSession(str(folder / DECODER), options, providers=providers)
        self._layers, self._heads = config.decoder_layers, config.heads
        self._head_width = config.width // config.heads

    def encode(self, source: Tensor, source_mask: Tensor) -> OnnxMemory:
        """Encode `source` [B, S]; `source_mask` [B, S] is True on real tokens."""
        offered = _run(self._encoder, {"source": source, "source_mask": source_mask})
        return OnnxMemory(torch.empty(0), source_mask, offered)

    def start(self, memory: Memory) -> State:
        """The state before the first token, one hypothesis a sentence."""
        assert isinstance(memory, OnnxMemory)
        empty = torch.zeros(len(memory.mask), self._heads, 0, self._head_width)
        past = {f"past_{kind}_{number}": empty for number in range(self._layers) for kind in ("key", "value")}
        return State({"source_mask": memory.mask, **memory.offered}, past)

    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        """Take one token for each hypothesis, `tokens` [R]; give logits [R, V] of the next, and the new state."""
        given = _run(self._decoder, {"tokens": tokens, **state.fixed, **state.moving})
        logits = given.pop("logits")
        return logits, State(state.fixed, {name.replace("present", "past"): value for name, value in given.items()})


def _run(session: Any, inputs: dict[str, Tensor]) -> dict[str, Tensor]:
    names = [output.name for output in session.get_outputs()]
    values = session.run(names, {name: tensor.contiguous().numpy() for name, tensor in inputs.items()})
    return {name: torch.from_numpy(value) for name, value in zip(names, values, strict=True)}
