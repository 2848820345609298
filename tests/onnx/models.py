"""Small models for the tests, in the text of the format."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("onnx", reason="the package onnx is not installed")


def parsed(text, version=18):
    """The model of a graph in the text of the format."""
    from onnx.parser import parse_model

    return parse_model(f'<ir_version: 8, opset_import: ["" : {version}]> {text}')


def of_one(op, shapes, version=18, given=(), outputs=1, **attributes):
    """A model of one node: floating inputs of `shapes`, and constants `given` after them; and its first output."""
    from onnx import TensorProto, helper, numpy_helper

    names = [f"x{i}" for i in range(len(shapes))]
    constants = [None if array is None else np.asarray(array) for array in given]
    others = ["" if array is None else f"c{i}" for i, array in enumerate(constants)]
    results = [f"y{i}" for i in range(outputs)]
    node = helper.make_node(op, names + others, results, **attributes)
    graph = helper.make_graph(
        [node],
        "one",
        [helper.make_tensor_value_info(n, TensorProto.DOUBLE, s) for n, s in zip(names, shapes, strict=True)],
        [helper.make_tensor_value_info(results[0], TensorProto.DOUBLE, None)],
        [numpy_helper.from_array(array, f"c{i}") for i, array in enumerate(constants) if array is not None],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)], ir_version=10)
