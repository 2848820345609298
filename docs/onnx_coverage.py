"""Write `docs/onnx.md`: which operators of ONNX `from_onnx` reads, by the node tests of the package onnx.

    python docs/onnx_coverage.py

Each node test is a model of one operator with inputs and outputs. The command reads each, runs it, and compares. It
fails if a value is wrong, or if a model ends in an error that does not say that something is not supported.
"""

from __future__ import annotations

import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from shiftreset_ad.onnx import from_onnx

HERE = Path(__file__).parent
PREFIX = "onnx.from_onnx: "
HEAD = """# Operators of ONNX

`python docs/onnx_coverage.py` writes this page. It runs the node tests of the package onnx {version}: {total} models
of one operator, or of the operators that another is made of. {passed} give the values of the package, {refused} are
refused by an error that says why, and none is wrong. [The page for the task](how_to/onnx.md) shows the use.

| operator | equal | refused | why |
|---|---|---|---|
"""


def cases() -> list[Any]:
    """The node tests, each with its model and its data."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the package makes the data now, overflows included
        from onnx.backend.test.loader import load_model_tests

        return list(load_model_tests(kind="node"))


def operator_of(case: Any) -> str:
    """The operator that a case tests, by the nodes of its model; those made of others stand in a row of their own."""
    if "_expanded" in case.name:
        return "made of others"
    names = [f"{node.domain}.{node.op_type}".lstrip(".") for node in case.model.graph.node]
    return next((name for name in names if name != "Constant"), "Constant")


def outcome(case: Any) -> str:
    """Nothing if all values are those of the case, or why the case is refused; AssertionError for a wrong value."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # some cases are about NaN and infinity
            f, parameters = from_onnx(case.model)
            for inputs, outputs in case.data_sets:
                found = f(parameters, *map(plain, inputs))
                several = len(case.model.graph.output) > 1
                compare(case, found if several else (found,), tuple(map(plain, outputs)))
    except NotImplementedError as error:
        return reason(str(error))
    return ""


def plain(value: Any) -> Any:
    """A tensor of the format as an array; anything else as it is."""
    from onnx import TensorProto, numpy_helper

    return numpy_helper.to_array(value) if isinstance(value, TensorProto) else value


def compare(case: Any, found: Any, expected: Any) -> None:
    """AssertionError unless both are equal, with their dtypes and shapes, within the tolerance of the case."""
    if isinstance(expected, list | tuple):
        assert len(found) == len(expected), case.name
        for one, other in zip(found, expected, strict=True):
            compare(case, one, other)
    elif expected is not None:
        found, expected = np.asarray(found), np.asarray(expected)
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape), case.name
        if expected.dtype.kind in "fc":
            np.testing.assert_allclose(found, expected, case.rtol, case.atol, err_msg=case.name)
        else:
            np.testing.assert_array_equal(found, expected, err_msg=case.name)


def reason(error: str) -> str:
    """Why a model is refused, without the names of nodes and inputs."""
    words = error.removeprefix(PREFIX)
    if "the element type" in words:
        return "element types that NumPy does not have"
    if "not supported: " not in words:
        return words.partition("; ")[0].partition(": ")[2]
    missing = words.partition("not supported: ")[2].partition(". Export")[0].split("; ")
    names = sorted({name.partition(" (node")[0].partition(", version")[0] for name in missing})
    return "no " + ", ".join(f"`{name}`" if name[0].isupper() and " " not in name else name for name in names)


def rows(outcomes: dict[str, list[str]]) -> Iterator[str]:
    """A row for each operator, from the outcomes of its cases."""
    for name, found in sorted(outcomes.items()):
        reasons = Counter(filter(None, found))
        title = name if " " in name else f"`{name}`"
        yield f"| {title} | {found.count('')} | {sum(reasons.values())} | {'; '.join(sorted(reasons))} |"


def page() -> str:
    """The text of the page."""
    import onnx

    outcomes = defaultdict(list)
    for case in cases():
        outcomes[operator_of(case)].append(outcome(case))
    every = [found for group in outcomes.values() for found in group]
    passed = every.count("")
    head = HEAD.format(version=onnx.__version__, total=len(every), passed=passed, refused=len(every) - passed)
    return head + "\n".join(rows(outcomes)) + "\n"


if __name__ == "__main__":
    (HERE / "onnx.md").write_text(page())
