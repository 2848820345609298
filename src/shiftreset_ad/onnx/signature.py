"""What a function of a model takes: names, dtypes and shapes, and the errors for what does not fit."""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftreset_ad.nn.calling import as_array
from shiftreset_ad.onnx.dtypes import numpy_dtype
from shiftreset_ad.rules.broadcasting import dtype_of, shape_of

_KINDS = {"f": "floating-point numbers", "i": "integers", "u": "integers", "b": "booleans", "c": "complex numbers"}


class Signature:
    """The parameters and the inputs of a model, which each call is compared with."""

    def __init__(self, graph: Any, inputs: tuple[str, ...], parameters: dict[str, Any]) -> None:
        self.inputs = inputs
        self.shapes = {name: np.shape(array) for name, array in parameters.items()}
        self.types = {value.name: value.type for value in graph.input}

    def bound(self, parameters: Any, inputs: tuple[Any, ...]) -> dict[str, Any]:
        """The values by name; TypeError or ValueError for what does not fit."""
        if not isinstance(parameters, dict):
            raise TypeError(
                f"onnx.from_onnx: parameters is {type(parameters).__name__}; give the dict that from_onnx returned, or "
                "one with other arrays, as the first argument"
            )
        if parameters.keys() != self.shapes.keys():
            missing, extra = self.shapes.keys() - parameters.keys(), parameters.keys() - self.shapes.keys()
            raise ValueError(
                f"onnx.from_onnx: parameters lacks {sorted(missing)} and has too much {sorted(extra, key=str)}; give "
                "the names that from_onnx returned, {**parameters, name: array}"
            )
        if len(inputs) != len(self.inputs):
            raise TypeError(
                f"onnx.from_onnx: the model takes {len(self.inputs)} inputs, {', '.join(self.inputs)}, and was given "
                f"{len(inputs)}; call f(parameters, {', '.join(self.inputs)})"
            )
        values = {}
        for name, array in parameters.items():
            values[name] = as_array(array)
            if shape_of(values[name]) != self.shapes[name]:
                raise ValueError(
                    f"onnx.from_onnx: the parameter {name!r} has the shape {shape_of(values[name])}; give "
                    f"{self.shapes[name]}"
                )
        for name, given in zip(self.inputs, inputs, strict=True):
            values[name] = self._input(name, given)
        return values

    def _input(self, name: str, given: Any) -> Any:
        kind = self.types[name]
        if not kind.HasField("tensor_type"):
            return tuple(map(as_array, given)) if isinstance(given, list | tuple) else given
        tensor, x = kind.tensor_type, as_array(given)
        wanted = numpy_dtype(f"the input {name!r}", tensor.elem_type)
        words = _KINDS.get(wanted.kind, str(wanted))
        if _KINDS.get(dtype_of(x).kind, str(wanted)) != words:
            raise TypeError(f"onnx.from_onnx: the input {name!r} has the dtype {dtype_of(x)}; give {words}")
        if tensor.HasField("shape"):
            sizes = [d.dim_value if d.HasField("dim_value") else None for d in tensor.shape.dim]
            shape = shape_of(x)
            if len(shape) != len(sizes) or any(
                size is not None and size != n for size, n in zip(sizes, shape, strict=True)
            ):
                words = ", ".join("any" if size is None else str(size) for size in sizes)
                raise ValueError(f"onnx.from_onnx: the input {name!r} has the shape {shape}; give ({words})")
        return x
