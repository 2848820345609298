"""A file of the format as a model whose operators are as simple as can be."""

from __future__ import annotations

import os
from typing import Any

from shiftreset_ad.onnx.graph import DOMAINS
from shiftreset_ad.onnx.table import found


def loaded(model: Any) -> tuple[Any, int]:
    """The model with the bodies of its functions in place of their calls, and its version of the operator set."""
    try:
        import onnx.inliner
        import onnx.shape_inference
    except ImportError:
        raise ImportError("onnx.from_onnx: the package onnx is needed; pip install onnx") from None
    if isinstance(model, str | os.PathLike):
        model = _from_file(os.fspath(model))
    elif not isinstance(model, onnx.ModelProto):
        raise TypeError(f"onnx.from_onnx: model is {type(model).__name__}; give a path, or an onnx.ModelProto")
    versions = [entry.version for entry in model.opset_import if entry.domain in DOMAINS]
    if not model.graph.node and not model.graph.output:
        raise ValueError("onnx.from_onnx: model has an empty graph; give the file of a whole model")
    version = versions[0] if versions else 1
    if model.functions:
        model = onnx.inliner.inline_local_functions(model)
    return _decomposed(model, version), version


def _decomposed(model: Any, version: int) -> Any:
    """The model with the standard's own definition in place of each operator that is not in the table."""
    import onnx

    if not any(_is_composed(node, version) for node in _nodes(model.graph)):
        return model
    typed = onnx.shape_inference.infer_shapes(model)  # a copy
    names = set()
    for node in _nodes(typed.graph):
        if _is_composed(node, version):
            names.add(node.op_type)
            given = {attribute.name for attribute in node.attribute}
            attributes = onnx.defs.get_schema(node.op_type, version).attributes
            defaults = [a.default_value for name, a in attributes.items() if name not in given and a.default_value.name]
            node.attribute.extend(defaults)
    try:
        identifiers = [("", name) for name in sorted(names)]
        return onnx.inliner.inline_selected_functions(typed, identifiers, inline_schema_functions=True)
    except RuntimeError:  # the package fails where an optional input is left out
        return model


def _from_file(path: str) -> Any:
    import onnx
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped, unused-ignore]

    try:
        return onnx.load(path)
    except FileNotFoundError:
        raise FileNotFoundError(
            f"onnx.from_onnx: there is no file {path!r}, or it keeps its arrays in a file that is not there; give the "
            "path of an .onnx file, with its data beside it"
        ) from None
    except DecodeError as error:
        raise ValueError(
            f"onnx.from_onnx: {path!r} is no ONNX model ({error}); give a file in the binary format"
        ) from None


def _nodes(graph: Any) -> Any:
    """All nodes, also those of graphs within nodes."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from _nodes(attribute.g)


def _is_composed(node: Any, version: int) -> bool:
    """Whether an operator is not in the table, and the standard says how it is made of others."""
    import onnx

    if node.domain not in DOMAINS or found(node.op_type, version) is not None:
        return False
    try:
        schema = onnx.defs.get_schema(node.op_type, version)
    except onnx.defs.SchemaError:
        return False
    return any(getattr(schema, kind) for kind in ("has_function", "has_context_dependent_function"))
