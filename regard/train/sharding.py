"""Processes of which each keeps a part of every weight, gradient and optimiser state: torch's FSDP2."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor, distribute_tensor

from regard.models.contract import SequenceToSequence
from regard.train.team import TorchTeam


class ShardedTeam(TorchTeam):
    """Several processes that hold one model together; a layer is whole only while it is computed."""

    shards = True

    def share(
        self,
        module: nn.Module,
        narrow: torch.dtype | None = None,
        costs: Mapping[Tensor, float] | None = None,  # noqa: ARG002 - the signature of its kind
    ) -> nn.Module:
        """Keep this process's part of the module, which has been on the CPU so far.

        The layers of its stacks are gathered one at a time. What is outside of them - embeddings and the output layer,
        which the objective reads - is gathered for the whole pass. On a GPU layers are gathered in the precision that
        they are computed in; a copy that autocast made of a whole layer would outlive it.
        """
        mesh = init_device_mesh(self.device.type, (self.size,))
        policy = MixedPrecisionPolicy()
        if narrow is not None and self.device.type == "cuda":
            policy = MixedPrecisionPolicy(narrow, reduce_dtype=torch.float32, cast_forward_inputs=False)
        for stack in [part for part in module.modules() if isinstance(part, nn.ModuleList)]:
            for layer in stack:
                fully_shard(layer, mesh=mesh, mp_policy=policy)
        fully_shard(module, mesh=mesh)
        return module

    @contextmanager
    def apart(self, module: nn.Module) -> Iterator[None]:  # noqa: ARG002 - the signature of its kind
        """Gradients are added up and shared out after every batch: nobody has room for whole ones."""
        yield

    def judged(self, model: SequenceToSequence) -> SequenceToSequence:
        """A hollow copy, without weights of its own, for the whole ones that validation puts in."""
        memo = {id(weight): nn.Parameter(weight.new_empty(0, device=self.device)) for weight in model.parameters()}
        return copy.deepcopy(model, memo)

    def whole(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        found: dict[str, Tensor] = {}
        for name, tensor in sorted(tensors.items()):
            full = tensor.full_tensor() if isinstance(tensor, DTensor) else tensor
            if self.leads:
                found[name] = full.detach().cpu()
        return found

    def kept(self, whole: Tensor, like: Tensor) -> Tensor:
        if isinstance(like, DTensor) and like.shape == whole.shape:
            return distribute_tensor(whole.to(like.device), like.device_mesh, like.placements)
        return whole

    def norm(self, gradients: Sequence[Tensor]) -> float:
        norm = torch.nn.utils.get_total_norm(gradients)
        return float(norm.full_tensor() if isinstance(norm, DTensor) else norm)
