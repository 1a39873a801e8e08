"""Low precision for matrix products: weights, sums and losses stay float32, and fp16's gradients are scaled."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor

from regard.config import ModelConfig
from regard.native.attention import MAX_WIDTH
from regard.native.forms import products_in_bf16, takes_bf16
from regard.native.library import LANES

NARROW = {"bf16": torch.bfloat16, "fp16": torch.float16}
NAMES = ("fp32", *NARROW)
FIRST_SCALE = 2.0**16
"""What the loss of a token is multiplied by at first, where gradients are float16."""


class Precision:
    """How exactly a step is computed.

    float16 has no room for small gradients. So the loss is scaled up, and the gradients down again; torch's
    GradScaler halves the scale whenever a gradient has overflowed, and doubles it when none has for 2,000 steps.
    """

    def __init__(
        self, name: str = "fp32", device: torch.device | str = "cpu", batch_tokens: int = 1, own: bool = False
    ) -> None:
        self.name, self.own = name, own
        """`own`: bf16 is made by products of our own, on a CPU; what these do not take, torch multiplies in float32."""
        self.dtype = NARROW.get(name)
        self._device = torch.device(device).type
        # The loss is a sum over the tokens of a batch: it is `batch_tokens` times as large as that of a token.
        self._least = 1 / (1 << (batch_tokens - 1).bit_length())
        self._scaler = torch.amp.GradScaler(
            self._device, init_scale=FIRST_SCALE * self._least, enabled=self.dtype is torch.float16
        )

    def autocast(self) -> AbstractContextManager[Any]:
        """Inside, matrix products are of this precision."""
        if self.own:
            return products_in_bf16()
        return nullcontext() if self.dtype is None else torch.autocast(self._device, dtype=self.dtype)

    def stepping(self) -> AbstractContextManager[Any]:
        """Inside, the optimiser's products are of this precision where they are our own; torch's stay wide."""
        return products_in_bf16() if self.own else nullcontext()

    def backward(self, loss: Tensor) -> None:
        """Add the gradients of a loss, scaled, to those of the parameters."""
        torch.autograd.backward(self._scaler.scale(loss))

    def unscale(self, optimiser: torch.optim.Optimizer) -> None:
        """Scale the gradients of a step down again."""
        self._scaler.unscale_(optimiser)

    def adapt(self) -> bool:
        """Choose the scale of the next step; True where this one has overflowed for no reason but its scale."""
        if not self._scaler.is_enabled():
            return False
        before = self._scaler.get_scale()
        self._scaler.update()
        return self._scaler.get_scale() < before > self._least

    @property
    def scale(self) -> float:
        return self._scaler.get_scale()

    def state(self) -> dict[str, float]:
        """All that a checkpoint must keep, as JSON values."""
        return dict(self._scaler.state_dict())

    def restore(self, state: dict[str, float]) -> None:
        """Go on from a state that a checkpoint kept; one that was saved in another precision is of no use here."""
        if state and self._scaler.is_enabled():
            self._scaler.load_state_dict(state)


def has_own_products(name: str, device: torch.device, model: ModelConfig) -> bool:
    """Whether products of our own make the linear layers of such a model in this precision here: see nn/sublayers.py.

    They are for models as in the paper. Attention between more than 64 tokens is left to torch, in float32.
    """
    plain = model.activation == "relu" and model.score in ("scaled-dot", "dot")
    plain = plain and not (model.attention_dropout or model.activation_dropout)
    head = model.width // model.heads
    suits = plain and head <= MAX_WIDTH and not any(size % LANES for size in (head, model.feed_forward))
    return name == "bf16" and device.type == "cpu" and suits and takes_bf16()


def choose_precision(wanted: str, device: torch.device, tried: Callable[[str], str]) -> str:
    """The precision for a device: `tried` gives what a wanted one comes to on a CPU, where it may be slow or fail."""
    if device.type == "cuda":
        if wanted == "auto":
            return "bf16" if torch.cuda.is_bf16_supported(including_emulation=False) else "fp16"
        return wanted
    return tried(wanted) if wanted in NARROW else "fp32"
