"""The light models of the package onnx: SqueezeNet, ResNet50 and others, with weights that are one constant."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="the package onnx is not installed")

import shiftreset_ad as sr  # noqa: E402
from shiftreset_ad.onnx import from_onnx  # noqa: E402

FOLDER = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
NAMES = ("bvlc_alexnet", "densenet121", "inception_v1", "inception_v2", "resnet50", "shufflenet", "squeezenet")


def model_of(name):
    """The model and its input: ascending numbers, as in the tests of the package."""
    from onnx.backend.test.runner import Runner

    model = onnx.load(FOLDER / f"light_{name}.onnx")
    constants = {tensor.name for tensor in model.graph.initializer}
    (data,) = [value for value in model.graph.input if value.name not in constants]
    return model, Runner.generate_dummy_data(data)


def weights_of(model):
    """The names of the weights: some lie in the file, and most are made of their shapes and a constant."""
    made = [name for node in model.graph.node if node.op_type == "ConstantOfShape" for name in node.output]
    return [*made, *from_onnx(model)[1]]


def check_value(name):
    model, x = model_of(name)
    f, parameters = from_onnx(model, parameters=weights_of(model))
    # In double precision: scores of 1e9 differ by the order of sums in single precision, and so does their softmax.
    x, parameters = x.astype(float), {name: array.astype(float) for name, array in parameters.items()}
    expected = onnx.numpy_helper.to_array(onnx.load_tensor(FOLDER / f"light_{name}_output_0.pb"))
    np.testing.assert_allclose(f(parameters, x), expected, rtol=1e-3, atol=1e-7)


def check_step(name):
    """A step of gradient descent, from random weights in place of the constant ones, makes the loss smaller."""
    model, x = model_of(name)
    f, weights = from_onnx(model, parameters=weights_of(model))
    rng = np.random.default_rng(0)
    x = rng.normal(size=x.shape).astype(np.float32)
    kernels = [name for name, array in weights.items() if array.ndim > 1]
    for name in kernels:
        deviation = np.sqrt(2.0 / np.prod(weights[name].shape[1:]))
        weights[name] = (deviation * rng.normal(size=weights[name].shape)).astype(np.float32)

    def loss(kernels):
        return -np.log(np.reshape(f({**weights, **kernels}, x), -1)[3])

    trained = {name: weights[name] for name in kernels}
    value, gradient = sr.value_and_grad(loss)(trained)
    size = np.sqrt(sum(np.sum(np.square(array)) for array in gradient.values()))
    assert 0.0 < size < np.inf
    assert all(array.dtype == np.float32 for array in gradient.values())
    assert loss({name: trained[name] - 0.01 / size * gradient[name] for name in kernels}) < value


def test_squeezenet_runs_and_takes_a_step():
    check_value("squeezenet")
    check_step("squeezenet")


@pytest.mark.slow
def test_resnet50_takes_a_step():
    check_step("resnet50")


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_light_models_give_their_values(name):
    check_value(name)
