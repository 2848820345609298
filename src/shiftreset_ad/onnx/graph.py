"""A graph of the format as nodes that are called in turn, each with the values of the names that it reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from shiftreset_ad.numbers.number import Number
from shiftreset_ad.onnx.dtypes import numpy_dtype
from shiftreset_ad.onnx.table import found

DOMAINS = ("", "ai.onnx")


class Node(NamedTuple):
    """One node: what computes it, the names that it reads and writes, and its attributes."""

    label: str
    function: Callable[..., Any]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: dict[str, Any]
    graphs: dict[str, Graph]
    constant: tuple[bool, ...]  # which inputs stay plain arrays
    reads: frozenset[str]  # also by its graphs

    def run(self, values: dict[str, Any]) -> None:
        """Read the inputs in `values`, and write the outputs there."""
        try:
            answer = self.function(
                *[self._input(i, values) for i in range(len(self.inputs))],
                **self.attributes,
                **{name: graph.bound(values) for name, graph in self.graphs.items()},
            )
        except Exception as error:
            error.add_note(f"This is in {self.label} of the ONNX model.")
            raise
        answers = answer if type(answer) is tuple else (answer,)
        values.update(zip(self.outputs, answers, strict=False))  # an output that the node leaves out has the name ""

    def _input(self, place: int, values: dict[str, Any]) -> Any:
        name = self.inputs[place]
        if not name:
            return None
        value = values[name]
        if self.constant[place] and isinstance(value, Number):
            raise TypeError(
                f"onnx.from_onnx: input {name!r} of {self.label} is a size, an axis or an index, and cannot be "
                "differentiated; leave it out of what is differentiated"
            )
        return value


class Graph(NamedTuple):
    """The nodes in their order, with the constants among their values."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    nodes: tuple[Node, ...]
    constants: dict[str, Any]
    dropped: tuple[tuple[str, ...], ...]  # after each node, the values that no other node reads

    @property
    def reads(self) -> set[str]:
        """The names that come from outside, among others."""
        return {name for node in self.nodes for name in node.reads} | set(self.outputs)

    def run(self, values: dict[str, Any]) -> list[Any]:
        """The outputs, from a dict of all values around, which is written to."""
        values.update(self.constants)
        for node, dropped in zip(self.nodes, self.dropped, strict=True):
            node.run(values)
            for name in dropped:
                values.pop(name, None)
        return [values[name] for name in self.outputs]

    def bound(self, around: dict[str, Any]) -> Callable[..., list[Any]]:
        """A function of the inputs, for a graph within a node whose names are `around`."""
        return lambda *inputs: self.run({**around, **dict(zip(self.inputs, inputs, strict=True))})


class Reader:
    """Reads graphs, and collects what is not supported instead of stopping at the first."""

    def __init__(self, version: int) -> None:
        self.version = version
        self.problems: list[str] = []

    def graph(self, proto: Any) -> Graph:
        """The graph as it can be run; what is missing is in `problems`."""
        constants = {tensor.name: self.array(tensor) for tensor in proto.initializer}
        for sparse in proto.sparse_initializer:
            self.problems.append(f"the sparse initializer {sparse.values.name!r}")
        nodes = tuple(node for node in map(self.node, proto.node) if node is not None)
        outputs = tuple(value.name for value in proto.output)
        inputs = tuple(value.name for value in proto.input if value.name not in constants)
        return Graph(inputs, outputs, nodes, constants, _last_reads(nodes, outputs))

    def node(self, proto: Any) -> Node | None:
        """A node, or None if its operator, an attribute or an output is not supported."""
        name = repr(proto.name) if proto.name else f"of {', '.join(proto.output)}"
        label = f"node {name} ({proto.op_type})"
        entry = found(proto.op_type, self.version) if proto.domain in DOMAINS else None
        graphs, attributes = self._attributes(proto)
        if entry is None:
            domain = "" if proto.domain in DOMAINS else f"{proto.domain}."
            self.problems.append(f"{domain}{proto.op_type}, version {self.version} ({label})")
            return None
        unknown = sorted((attributes.keys() | graphs.keys()) - entry.attributes())
        outputs = tuple(proto.output)
        while outputs and not outputs[-1]:
            outputs = outputs[:-1]
        if unknown:
            self.problems.append(f"{proto.op_type} with the attribute {', '.join(unknown)} ({label})")
        absent = sorted(entry.required() - attributes.keys() - graphs.keys())
        if absent:
            self.problems.append(f"{proto.op_type} without the attribute {', '.join(absent)} ({label})")
        if entry.outputs is not None and len(outputs) > entry.outputs:
            self.problems.append(f"{proto.op_type} with {len(outputs)} outputs ({label})")
        if entry.counts_outputs():
            attributes["outputs"] = len(outputs)
        inputs = tuple(proto.input)
        reads = set(inputs) - {""}
        for graph in graphs.values():
            reads |= graph.reads
        constant = tuple(entry.constant_places(len(inputs)))
        return Node(label, entry.function, inputs, outputs, attributes, graphs, constant, frozenset(reads))

    def array(self, tensor: Any) -> Any:
        """A tensor of the file as an array of NumPy's own dtypes."""
        from onnx import numpy_helper

        try:
            numpy_dtype(f"the tensor {tensor.name!r}", tensor.data_type)
        except NotImplementedError as error:
            self.problems.append(str(error).removeprefix("onnx.from_onnx: "))
            return np.zeros(0)
        return numpy_helper.to_array(tensor)

    def _attributes(self, proto: Any) -> tuple[dict[str, Graph], dict[str, Any]]:
        """The graphs among the attributes of a node, and the others as values of Python."""
        from onnx import AttributeProto, helper

        graphs, attributes = {}, {}
        for attribute in proto.attribute:
            if attribute.type == AttributeProto.GRAPH:
                graphs[attribute.name] = self.graph(attribute.g)
            elif attribute.type == AttributeProto.TENSOR:
                attributes[attribute.name] = self.array(attribute.t)
            else:
                attributes[attribute.name] = _decoded(helper.get_attribute_value(attribute))
        return graphs, attributes


def _decoded(value: Any) -> Any:
    """An attribute with text in place of bytes."""
    if isinstance(value, bytes):
        return value.decode()
    return [_decoded(item) for item in value] if isinstance(value, list) else value


def _last_reads(nodes: Iterable[Node], outputs: Iterable[str]) -> tuple[tuple[str, ...], ...]:
    """For each node, the names that nothing reads after it, so that their arrays are freed."""
    needed, dropped = set(outputs), []
    for node in reversed(list(nodes)):
        names = (node.reads | set(node.outputs)) - needed
        dropped.append(tuple(sorted(names - {""})))
        needed |= names
    return tuple(dropped[::-1])
