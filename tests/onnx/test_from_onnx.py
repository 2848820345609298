"""Models of ONNX as functions: what is a parameter, what is an input, and what the errors say."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import shiftreset_ad as sr
from shiftreset_ad import nn
from shiftreset_ad.testing import check_grads
from tests.onnx.models import of_one, parsed

onnx = pytest.importorskip("onnx", reason="the package onnx is not installed")

from shiftreset_ad.onnx import from_onnx  # noqa: E402

NETWORK = """
network (float[2, 1, 4, 4] x) => (float[2, 3] y)
<float[2, 1, 3, 3] k = {1, 2, 0, -1, 1, 0, 2, 1, -1, 1, 0, 3, -1, 1, 2, 0, 1, 1}, float[3, 2] w = {1, 2, 3, -1, 0, 1},
 float[3] b = {0.5, 0, 1}, int64[2] shape = {0, -1}>
{
  c = Conv <pads = [1, 1, 1, 1]> (x, k)
  r = Tanh (c)
  m = GlobalAveragePool (r)
  f = Reshape (m, shape)
  g = Gemm <transB = 1> (f, w, b)
  y = LogSoftmax (g)
}
"""


def network():
    """The function and its parameters, in double precision, and an input."""
    f, parameters = from_onnx(parsed(NETWORK))
    parameters = {name: array.astype(float) for name, array in parameters.items()}
    return f, parameters, np.random.default_rng(0).normal(size=(2, 1, 4, 4))


def test_a_network_is_the_function_that_nn_makes():
    f, p, x = network()
    assert set(p) == {"k", "w", "b"}
    hidden = nn.global_average_pool(np.tanh(nn.conv(x, p["k"], padding=1))).reshape(2, 2)
    np.testing.assert_allclose(f(p, x), nn.log_softmax(nn.linear(hidden, p["w"], p["b"])))


def test_the_gradient_in_parameters_and_inputs_is_that_of_finite_differences():
    f, p, x = network()
    check_grads(lambda p, x: np.sum(f(p, x) * np.arange(6.0).reshape(2, 3)), (p, x), order=2)


def test_every_operator_of_the_library_takes_the_function():
    f, p, x = network()

    def loss(p):
        return -np.sum(f(p, x)[:, 1])

    gradient = sr.grad(loss)(p)
    direction = {name: np.ones_like(array) for name, array in p.items()}
    slope = sum(np.sum(array) for array in gradient.values())
    np.testing.assert_allclose(sr.jvp(loss, (p,), (direction,))[1], slope)
    staged = sr.staged(sr.grad(loss))
    for _ in range(3):
        again = staged(p)
        assert all(np.allclose(again[name], gradient[name]) for name in p)
    curved = sr.hvp(loss, (p,), (direction,))
    ahead = sr.grad(loss)({name: array + 1e-5 for name, array in p.items()})
    back = sr.grad(loss)({name: array - 1e-5 for name, array in p.items()})
    for name in p:
        np.testing.assert_allclose(curved[name], (ahead[name] - back[name]) / 2e-5, atol=1e-6)


def test_a_step_makes_the_loss_smaller():
    f, p, x = network()

    def loss(p):
        return -np.mean(f(p, x)[:, 1])

    value, gradient = sr.value_and_grad(loss)(p)
    assert loss({name: p[name] - 0.1 * gradient[name] for name in p}) < value


def test_a_path_is_read(tmp_path):
    onnx.save(parsed(NETWORK), tmp_path / "network.onnx")
    for path in (tmp_path / "network.onnx", str(tmp_path / "network.onnx")):
        assert set(from_onnx(path)[1]) == {"k", "w", "b"}


def test_only_the_named_values_are_parameters():
    f, p = from_onnx(parsed(NETWORK), parameters=["w"])
    assert list(p) == ["w"]
    assert f(p, np.ones((2, 1, 4, 4), np.float32)).shape == (2, 3)


def test_a_value_that_is_computed_from_constants_can_be_a_parameter():
    text = "g (float[N] x) => (float[N] y) <int64[1] n = {1}> { w = ConstantOfShape (n)  e = Exp (w)  y = Mul (x, e) }"
    f, p = from_onnx(parsed(text), parameters=["e"])
    assert p["e"].tolist() == [1.0]
    assert sr.grad(lambda p: np.sum(f(p, np.ones(3))))(p)["e"].tolist() == [3.0]
    with pytest.raises(ValueError, match="parameters has 'y', which the model does not compute from constants"):
        from_onnx(parsed(text), parameters=["y"])
    with pytest.raises(ValueError, match="parameters has 'n', of the dtype int64; give floating ones"):
        from_onnx(parsed(text), parameters=["n"])


def test_sizes_are_no_parameters():
    model = of_one("Upsample", [(1, 1, 2)], 9, [np.array([1.0, 1.0, 2.0], np.float32)])
    f, p = from_onnx(model)
    assert p == {}
    assert f(p, np.array([[[1.0, 2.0]]])).tolist() == [[[1.0, 1.0, 2.0, 2.0]]]


def test_a_branch_and_a_loop_are_differentiated():
    text = """g (float[N] x, int64 n) => (float[N] y) <float w = {2.0}, bool yes = {1}>
    { y = Loop (n, yes, x) <body = b (int64 i, bool c, float[N] z) => (bool c2, float[N] z2)
      { c2 = Identity (c)  z2 = Mul (z, w) }> }"""
    f, _ = from_onnx(parsed(text))
    gradient = sr.grad(lambda p: np.sum(f(p, np.ones(1), np.array(3))))({"w": np.array(2.0)})
    assert float(gradient["w"]) == 12.0


def test_all_missing_operators_are_listed_with_their_nodes():
    text = "g (float[N] x) => (float[N] y) { a = Foo (x)  b = Relu (a)  y = my.Bar (b) }"
    with pytest.raises(NotImplementedError, match=r"Foo, version 18 \(node of a \(Foo\)\); my\.Bar"):
        from_onnx(parsed(text))


def test_missing_attributes_and_outputs_are_listed():
    with pytest.raises(NotImplementedError, match=r"Relu with the attribute wrong \(node of y0 \(Relu\)\)"):
        from_onnx(of_one("Relu", [(2,)], wrong=1))
    with pytest.raises(NotImplementedError, match="MaxPool with 2 outputs"):
        from_onnx(of_one("MaxPool", [(1, 1, 4)], outputs=2, kernel_shape=[2]))
    with pytest.raises(NotImplementedError, match="Concat without the attribute axis"):
        from_onnx(of_one("Concat", [(2,)]))


def test_what_does_not_fit_is_an_error(tmp_path):
    f, p, x = network()
    with pytest.raises(TypeError, match="the model takes 1 inputs, x, and was given 0; call f"):
        f(p)
    with pytest.raises(TypeError, match="parameters is ndarray; give the dict"):
        f(x, p)
    with pytest.raises(ValueError, match=r"parameters lacks \['b', 'k'\] and has too much \['v'\]"):
        f({"w": p["w"], "v": 1.0}, x)
    with pytest.raises(ValueError, match=r"the parameter 'b' has the shape \(4,\); give \(3,\)"):
        f({**p, "b": np.ones(4)}, x)
    with pytest.raises(ValueError, match=r"the input 'x' has the shape \(1, 4, 4\); give \(2, 1, 4, 4\)"):
        f(p, x[0])
    with pytest.raises(TypeError, match="the input 'x' has the dtype int64; give floating-point numbers"):
        f(p, np.ones((2, 1, 4, 4), int))
    with pytest.raises(TypeError, match="model is int; give a path"):
        from_onnx(3)
    with pytest.raises(FileNotFoundError, match=r"there is no file '.*none\.onnx'"):
        from_onnx(tmp_path / "none.onnx")
    (tmp_path / "text.onnx").write_text("no model")
    with pytest.raises(ValueError, match="is no ONNX model"):
        from_onnx(tmp_path / "text.onnx")
    with pytest.raises(ValueError, match="model has an empty graph"):
        from_onnx(onnx.ModelProto())


def test_an_error_names_the_node():
    f, p = from_onnx(of_one("MatMul", [("n", "m"), ("k", "l")]))
    with pytest.raises(ValueError, match="matmul") as error:
        f(p, np.ones((2, 3)), np.ones((2, 3)))
    assert error.value.__notes__ == ["This is in node of y0 (MatMul) of the ONNX model."]


def test_a_size_that_is_differentiated_is_an_error():
    f, p = from_onnx(of_one("Upsample", [(1, 1, 2), (3,)], 9))
    with pytest.raises(TypeError, match="input 'x1' of node of y0 \\(Upsample\\) is a size, an axis or an index"):
        sr.grad(lambda s: np.sum(f(p, np.ones((1, 1, 2)), s)))(np.array([1.0, 1.0, 2.0]))


def test_without_the_package_an_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx.inliner", None)
    with pytest.raises(ImportError, match="the package onnx is needed; pip install onnx"):
        from_onnx("network.onnx")


def test_a_parameter_is_not_made_again_by_its_node():
    text = """g (float[2] x) => (float[2] y) <float[2] w = {1, 2}, int64[2] n = {1, 1}>
    { a, b = Split <axis = 0> (w, n)  c = Mul (x, a)  y = Add (c, b) }"""
    f, p = from_onnx(parsed(text, 13), parameters=["a"])
    assert f({"a": 10.0 * p["a"]}, np.ones(2)).tolist() == [12.0, 12.0]


def test_constants_are_kept_as_they_are():
    f, p = from_onnx(parsed("g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add (w, x) }"), parameters=[])
    assert p == {}
    assert sr.grad(lambda x: np.sum(f(p, x) ** 2))(np.zeros(2)).tolist() == [2.0, 4.0]
