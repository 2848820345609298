"""The node tests of the package onnx: `docs/onnx.md` says what they give, and no value is wrong."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("onnx", reason="the package onnx is not installed")

from tests.docs import DOCS, of_docs

coverage = of_docs("onnx_coverage")


class Case:
    name, rtol, atol = "a case", 1e-3, 1e-7


def test_a_wrong_value_is_found():
    coverage.compare(Case, (np.ones(2),), (np.ones(2),))
    for found in (np.array([1.0, 1.1]), np.ones(2, np.float32), np.ones((2, 1))):
        with pytest.raises(AssertionError):
            coverage.compare(Case, (found,), (np.ones(2),))


@pytest.mark.slow
def test_the_page_says_what_the_node_tests_give():
    import onnx

    page = (DOCS / "onnx.md").read_text()
    if f"onnx {onnx.__version__}:" not in page:
        pytest.skip("docs/onnx.md was written with another version of the package onnx")
    assert coverage.page() == page
