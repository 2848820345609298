"""Derivatives through operators: finite differences, both modes against each other, and second order."""

from __future__ import annotations

import re

import numpy as np
import pytest

pytest.importorskip("onnx", reason="the package onnx is not installed")

import shiftreset_ad as sr
from shiftreset_ad.onnx import from_onnx
from shiftreset_ad.testing import check_grads
from tests.docs import of_docs
from tests.onnx.models import of_one

coverage = of_docs("onnx_coverage")
RNG = np.random.default_rng(0)
W = RNG.normal(size=(3, 4))
AXIS = np.array([-1])
IMAGE = (1, 2, 5, 5)

# By a name: the operator, the shapes of its inputs, constants after these, and attributes.
SAMPLE = {
    "Mul": ("Mul", [(2, 3), (3,)], [], {}),
    "Div": ("Div", [(2, 3), (3,)], [], {}),
    "Sum": ("Sum", [(2, 3), (3,), (1,)], [], {}),
    "Clip": ("Clip", [(2, 3)], [np.array(-0.5), np.array(0.5)], {}),
    "PRelu": ("PRelu", [(2, 3), (3,)], [], {}),
    "Selu": ("Selu", [(2, 3)], [], {}),
    "Softmax": ("Softmax", [(2, 3)], [], {}),
    "Softmax of version 11": ("Softmax", [(2, 3, 2)], [], {"version": 11}),
    "Gemm": ("Gemm", [(3, 2), (4, 3), (4,)], [], {"transA": 1, "transB": 1, "alpha": 0.5, "beta": 2.0}),
    "Einsum": ("Einsum", [(2, 3), (3, 2)], [], {"equation": "ij,jk->ki"}),
    "Slice": ("Slice", [(4, 5)], [np.array([-1]), np.array([-9]), np.array([1]), np.array([-2])], {}),
    "Pad": (
        "Pad",
        [
            (2, 3),
        ],
        [np.array([1, -1, 0, 2])],
        {},
    ),
    "Gather": ("Gather", [(4, 2)], [np.array([[0, -1], [1, 1]])], {}),
    "GatherElements": ("GatherElements", [(3, 2)], [np.array([[0, 1], [2, 0]])], {"axis": 0}),
    "ScatterND": ("ScatterND", [(4, 2)], [np.array([[0], [2]]), np.ones((2, 2))], {}),
    "TopK": ("TopK", [(2, 5)], [np.array([2])], {}),
    "CumSum": ("CumSum", [(2, 5)], [np.array(1)], {"exclusive": 1, "reverse": 1}),
    "ReduceL2": ("ReduceL2", [(2, 5)], [AXIS], {}),
    "ReduceLogSumExp": ("ReduceLogSumExp", [(2, 5)], [AXIS], {}),
    "ReduceProd": ("ReduceProd", [(2, 3)], [AXIS], {}),
    "Conv": ("Conv", [IMAGE, (2, 1, 3, 3), (2,)], [], {"group": 2, "pads": [1, 0, 2, 1], "strides": [2, 1]}),
    "ConvTranspose": ("ConvTranspose", [(1, 2, 3), (2, 1, 2)], [], {"strides": [2], "output_padding": [1]}),
    "MaxPool": ("MaxPool", [IMAGE], [], {"kernel_shape": [2, 2], "auto_pad": "SAME_UPPER", "strides": [2, 2]}),
    "AveragePool": ("AveragePool", [IMAGE], [], {"kernel_shape": [2, 2], "ceil_mode": 1, "strides": [2, 2]}),
    "Upsample": ("Upsample", [(1, 1, 3)], [np.array([1.0, 1.0, 2.0], np.float32)], {"version": 9}),
    "Resize": ("Resize", [(1, 1, 4)], [None, np.array([1.0, 1.0, 1.5], np.float32)], {"mode": "cubic"}),
    "LRN": ("LRN", [(1, 4, 2)], [], {"size": 3, "alpha": 0.5}),
    "LayerNormalization": ("LayerNormalization", [(2, 4), (4,), (4,)], [], {}),
    "InstanceNormalization": ("InstanceNormalization", [(2, 2, 3), (2,), (2,)], [], {}),
    "RNN": ("RNN", [(3, 1, 2), (1, 2, 2), (1, 2, 2), (1, 4)], [], {"hidden_size": 2}),
    "GRU": ("GRU", [(2, 1, 2), (1, 6, 2), (1, 6, 2), (1, 12)], [], {"hidden_size": 2, "linear_before_reset": 1}),
    "LSTM": ("LSTM", [(2, 1, 2), (2, 8, 2), (2, 8, 2)], [], {"hidden_size": 2, "direction": "bidirectional"}),
    "NegativeLogLikelihoodLoss": ("NegativeLogLikelihoodLoss", [(2, 3)], [np.array([0, 2])], {}),
    "SoftmaxCrossEntropyLoss": ("SoftmaxCrossEntropyLoss", [(2, 3)], [np.array([0, 2])], {"ignore_index": 2}),
}


@pytest.mark.slow_but_every(3)
@pytest.mark.parametrize("name", SAMPLE)
def test_derivatives_of_both_orders_are_those_of_finite_differences(name):
    op, shapes, given, options = SAMPLE[name]
    f, parameters = from_onnx(of_one(op, shapes, given=given, **options))
    xs = tuple(0.7 * np.random.default_rng(1).normal(size=shape) + 0.05 for shape in shapes)

    def weighed(*xs):
        y = f(parameters, *xs)
        return np.sum(y * np.cos(np.arange(float(np.size(sr.value(y)))).reshape(np.shape(y))))

    check_grads(weighed, xs, order=2)


HALF = re.compile("float16|fp16|FLOAT16|softmax_precision", re.IGNORECASE)


def weighed(f, parameters, inputs, places):
    """A function of the inputs at places: the sum of all floating outputs, each with its weights."""

    def function(*xs):
        args = list(inputs)
        for place, x in zip(places, xs, strict=True):
            args[place] = x
        outputs = f(parameters, *args)
        rng, total = np.random.default_rng(1), 0.0
        for output in outputs if type(outputs) is tuple else (outputs,):
            if hasattr(output, "dtype") and output.dtype.kind == "f":
                total = total + np.sum(rng.normal(size=np.shape(output)) * output)
        return total

    return function


def contradictions(case):
    """What is wrong with the derivatives of a node test, in the precision of the machine."""
    f, parameters = from_onnx(case.model)
    inputs = [coverage.plain(value) for value in case.data_sets[0][0]]
    places = [i for i, x in enumerate(inputs) if isinstance(x, np.ndarray) and x.dtype.kind == "f" and x.size]
    if not places or HALF.search(case.name):
        return
    rng = np.random.default_rng(0)
    inputs = [x.astype(float) if i in places else x for i, x in enumerate(inputs)]
    xs = [inputs[i] + 1e-3 * rng.normal(size=inputs[i].shape) for i in places]
    ds = [rng.normal(size=x.shape) for x in xs]
    function = weighed(f, parameters, inputs, places)

    def slope(h):
        there, back = ([x + s * h * d for x, d in zip(xs, ds, strict=True)] for s in (1.0, -1.0))
        return (function(*there) - function(*back)) / (2.0 * h)

    if not np.isfinite(slope(1e-6)):
        return
    try:
        gradient = sr.grad(function, argnums=tuple(range(len(xs))))(*xs)
    except TypeError as error:
        if "is a size, an axis or an index, and cannot be differentiated" in str(error):
            return
        raise
    backward = sum(np.sum(g * d) for g, d in zip(gradient, ds, strict=True))
    _, forward = sr.jvp(function, tuple(xs), tuple(ds))
    if not np.isclose(forward, backward, rtol=1e-5, atol=1e-6):
        yield f"{case.name}: {forward} by forward mode, and {backward} by reverse mode"
    # A model that converts to single precision needs a larger step.
    if not any(np.isclose(slope(h), backward, rtol=r, atol=r) for h, r in ((1e-6, 1e-4), (1e-3, 2e-2))):
        yield f"{case.name}: {slope(1e-6)} by finite differences, and {backward} by reverse mode"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_the_gradient_of_each_node_test_is_that_of_finite_differences():
    supported = [case for case in coverage.cases() if not coverage.outcome(case)]
    assert len(supported) > 1000
    assert [words for case in supported for words in contradictions(case)] == []
