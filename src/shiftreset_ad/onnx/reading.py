"""From a model of the format to a function and its parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from shiftreset_ad.onnx.graph import Graph, Node, Reader
from shiftreset_ad.onnx.loading import loaded

# The operators enter themselves.
from shiftreset_ad.onnx.operators import (  # noqa: F401
    activations,
    constants,
    control,
    elementwise,
    indexing,
    losses,
    normalization,
    products,
    recurrent,
    reductions,
    resizing,
    sequences,
    shapes,
    windows,
)
from shiftreset_ad.onnx.signature import Signature


def from_onnx(model: Any, parameters: Iterable[str] | None = None) -> tuple[Callable[..., Any], dict[str, Any]]:
    """The function of an ONNX model, `f(parameters, *inputs)`, and its parameters, a dict of arrays by name.

    `model` is a path or an `onnx.ModelProto`. The function takes the inputs of the model in their order, and returns
    its output, or a tuple of several. All floating-point initializers are parameters, but those that are sizes; with
    `parameters`, those of these names are, and the others are constants. Names of values that the model computes from
    constants may be among them. Raises ImportError without the package onnx, FileNotFoundError or ValueError for a file
    that is no model, and NotImplementedError, which lists all operators that are not supported.

    >>> import numpy as np
    >>> from onnx.parser import parse_model
    >>> from shiftreset_ad import grad
    >>> model = parse_model('''<ir_version: 8, opset_import: ["" : 17]>
    ... doubled (float[N] x) => (float[N] y) <float[1] w = {2.0}> { y = Mul(x, w) }''')
    >>> f, parameters = from_onnx(model)
    >>> grad(lambda p: np.sum(f(p, np.ones(3))))(parameters)
    {'w': array([3.], dtype=float32)}
    """
    proto, version = loaded(model)
    reader = Reader(version)
    graph = reader.graph(proto.graph)
    if reader.problems:
        every = "; ".join(dict.fromkeys(reader.problems))
        raise NotImplementedError(
            f"onnx.from_onnx: the model has what is not supported: {every}. Export the model without these, or with "
            "another version of the operator set"
        )
    names = _default_names(graph) if parameters is None else list(parameters)
    graph, found = _taken_out(graph, names)
    signature = Signature(proto.graph, graph.inputs, found)

    def function(parameters: dict[str, Any], *inputs: Any) -> Any:
        values = signature.bound(parameters, inputs)
        outputs = graph.run(values)
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    function.__doc__ = f"The ONNX model {proto.graph.name!r}: f(parameters, {', '.join(graph.inputs)})."
    return function, found


def _default_names(graph: Graph) -> list[str]:
    """The floating-point initializers that some node reads as more than a size."""
    read = {name for node in graph.nodes for place, name in enumerate(node.inputs) if not node.constant[place]}
    read |= {name for node in graph.nodes for inner in node.graphs.values() for name in inner.reads}
    read |= set(graph.outputs)
    return [name for name, array in graph.constants.items() if array.dtype.kind == "f" and name in read]


def _taken_out(graph: Graph, names: list[str]) -> tuple[Graph, dict[str, Any]]:
    """The graph without the constants of these names, and the constants."""
    makers = {name: node for node in graph.nodes for name in node.outputs}
    values = dict(graph.constants)

    def compute(name: str, wanted: str) -> Any:
        if name not in values:
            if name not in makers:
                raise ValueError(
                    f"onnx.from_onnx: parameters has {wanted!r}, which the model does not compute from constants; give "
                    f"names among its initializers, such as {sorted(graph.constants)[:3]}"
                )
            for read in sorted(makers[name].reads):
                compute(read, wanted)
            makers[name].run(values)
        return values[name]

    found = {name: compute(name, name) for name in names}
    for name, array in found.items():
        if np.asarray(array).dtype.kind not in "fc":
            raise ValueError(f"onnx.from_onnx: parameters has {name!r}, of the dtype {array.dtype}; give floating ones")
    kept = [i for i, node in enumerate(graph.nodes) if not node.outputs or not set(node.outputs) <= found.keys()]
    nodes = tuple(_without_outputs(graph.nodes[i], found) for i in kept)
    dropped = tuple(graph.dropped[i] for i in kept)
    rest = {name: array for name, array in graph.constants.items() if name not in found}
    for array in rest.values():
        array.flags.writeable = False  # so that no operation has to copy it for the way back
    return Graph(graph.inputs, graph.outputs, nodes, rest, dropped), found


def _without_outputs(node: Node, names: Iterable[str]) -> Node:
    return node._replace(outputs=tuple("" if name in names else name for name in node.outputs))
