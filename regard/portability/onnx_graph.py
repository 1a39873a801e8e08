"""A graph of ONNX operations, written one call at a time, with the few layers that a Transformer needs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor, nn

from regard.portability import optional

OPSET, IR_VERSION = 17, 8
"""Old enough for any runtime of the last years; opset 17 is the first with LayerNormalization."""
_TOO_LARGE = 1_900_000_000
"""One file may hold 2 GiB; beyond, weights go into a second file beside it."""

Shape = Sequence[str | int]


class Graph:
    """Operations in order; every method gives the name of what it computes."""

    def __init__(self, name: str) -> None:
        self._onnx = optional.onnx()
        self._name = name
        self._nodes: list[Any] = []
        self._constants: dict[str, Any] = {}
        self._known: dict[int, tuple[Any, str]] = {}
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []
        self._bytes = 0

    def input(self, name: str, kind: str, shape: Shape) -> str:
        """Something that the caller gives: kind INT64, BOOL or FLOAT, sizes by number or by name."""
        self._inputs.append(self._value(name, kind, shape))
        return name

    def output(self, name: str, value: str, kind: str, shape: Shape) -> None:
        """Something that the caller gets."""
        self._nodes.append(self._onnx.helper.make_node("Identity", [value], [name]))
        self._outputs.append(self._value(name, kind, shape))

    def constant(self, value: Tensor | Sequence[int] | int | float, name: str = "constant") -> str:
        """A tensor, one and the same only once; whole numbers are INT64."""
        if isinstance(value, Tensor):
            if id(value) in self._known:
                return self._known[id(value)][1]
            array = value.detach().float().cpu().contiguous().numpy()
        elif isinstance(value, float):
            array = np.array(value, dtype=np.float32)
        else:
            array = np.array(value, dtype=np.int64)
        unique = f"{name}_{len(self._constants)}"
        self._constants[unique] = self._onnx.numpy_helper.from_array(array, unique)
        self._bytes += array.nbytes
        if isinstance(value, Tensor):
            self._known[id(value)] = (value, unique)  # the tensor is kept, so that its id stays its own
        return unique

    def op(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """One operation with one result."""
        result = f"{kind.lower()}_{len(self._nodes)}"
        self._nodes.append(self._onnx.helper.make_node(kind, list(inputs), [result], **attributes))
        return result

    def linear(self, x: str, weight: Tensor, bias: Tensor | None) -> str:
        """From x [..., I] to x Wᵀ + b [..., O]."""
        product = self.op("MatMul", x, self.constant(weight.detach().t().contiguous(), "weight"))
        return product if bias is None else self.op("Add", product, self.constant(bias, "bias"))

    def norm(self, x: str, layer: nn.LayerNorm) -> str:
        weight, bias = self.constant(layer.weight, "norm"), self.constant(layer.bias, "norm")
        return self.op("LayerNormalization", x, weight, bias, axis=-1, epsilon=layer.eps)

    def size(self, x: str, axis: int) -> str:
        """The size of an axis, as a vector [1]."""
        return self.op("Shape", x, start=axis, end=axis + 1)

    def rows(self, table: Tensor, start: str, end: str) -> str:
        """The rows start … end - 1 (vectors [1]) of a constant table."""
        return self.op("Slice", self.constant(table, "table"), start, end, self.constant([0]))

    def reshape(self, x: str, *shape: int | str) -> str:
        """Another shape; a size is a number (-1: the rest, 0: as it was) or a vector [1] that was computed."""
        parts = [self.constant([size]) if isinstance(size, int) else size for size in shape]
        return self.op("Reshape", x, self.op("Concat", *parts, axis=0))

    def activation(self, x: str, name: str) -> str:
        if name == "relu":
            return self.op("Relu", x)
        if name in ("swiglu", "swish"):
            return self.op("Mul", x, self.op("Sigmoid", x))
        # GELU: x · (1 + erf(x / √2)) / 2
        spread = self.op("Erf", self.op("Div", x, self.constant(2.0**0.5)))
        return self.op("Mul", self.op("Mul", x, self.constant(0.5)), self.op("Add", spread, self.constant(1.0)))

    def save(self, path: Path) -> None:
        """Write the graph, after the library has checked it."""
        helper = self._onnx.helper
        graph = helper.make_graph(
            self._nodes, self._name, self._inputs, self._outputs, initializer=list(self._constants.values())
        )
        opsets = [helper.make_opsetid("", OPSET)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="regard")
        large = self._bytes > _TOO_LARGE
        if not large:
            self._onnx.checker.check_model(model)
        self._onnx.save_model(
            model, str(path), save_as_external_data=large, all_tensors_to_one_file=True, location=f"{path.name}.data"
        )

    def _value(self, name: str, kind: str, shape: Shape) -> Any:
        element = getattr(self._onnx.TensorProto, kind)
        return self._onnx.helper.make_tensor_value_info(name, element, list(shape))
