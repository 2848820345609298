"""Any structure to any structure, Fig. 16."""

from dataclasses import dataclass

import numpy as np
import pytest

import shiftreset_ad
from shiftreset_ad.formulations.krawiec.structured import grad, jacobian, vjp
from shiftreset_ad.formulations.language import parse
from shiftreset_ad.formulations.language.values import Left, Right


@dataclass
class Polar:
    radius: float
    angle: float


def cartesian(p):
    return {"x": p.radius * np.cos(p.angle), "y": p.radius * np.sin(p.angle)}


POINT = Polar(2.0, 0.3)


def test_pullback():
    y, pullback = vjp(cartesian)(POINT)
    assert y == cartesian(POINT)
    assert isinstance(y["x"], float)
    x_bar = pullback({"x": 10.0, "y": 1.0})
    assert x_bar.radius == pytest.approx(10.0 * np.cos(0.3) + np.sin(0.3))
    assert x_bar.angle == pytest.approx(-20.0 * np.sin(0.3) + 2.0 * np.cos(0.3))


def test_a_pullback_can_be_used_again():
    _, pullback = vjp(cartesian)(POINT)
    assert pullback({"x": 1.0, "y": 2.0}) == pullback({"x": 1.0, "y": 2.0})
    assert pullback({"x": 0.0, "y": 0.0}) == Polar(0.0, 0.0)


def test_the_function_runs_once():
    calls = []

    def f(x):
        calls.append(x)
        return [x * x, x, 1.0]

    assert jacobian(f)(3.0) == [6.0, 1.0, 0.0]
    assert len(calls) == 1


def test_jacobian():
    rows = jacobian(cartesian)(POINT)
    assert rows["x"].radius == pytest.approx(np.cos(0.3))
    assert rows["x"].angle == pytest.approx(-2.0 * np.sin(0.3))
    assert rows["y"].radius == pytest.approx(np.sin(0.3))
    assert rows["y"].angle == pytest.approx(2.0 * np.cos(0.3))


def test_hessian_as_the_jacobian_of_the_gradient():
    def f(x):
        return np.sin(x[0] * x[1]) / x[1]

    x = (0.7, 1.3)
    expected = shiftreset_ad.hessian(f)(x)
    np.testing.assert_allclose(jacobian(grad(f))(x), expected, rtol=1e-12)


def test_sums_and_pairs_of_the_core_language():
    y, pullback = vjp(parse("fun x -> case x of a -> inr (a * a, 1.0) | b -> inl b"))(Left(3.0))
    assert y == Right((9.0, 1.0))
    assert pullback(Right((10.0, 5.0))) == Left(60.0)
    y, pullback = vjp(parse("fun x -> case x of a -> inr (a * a, 1.0) | b -> inl b"))(Right(3.0))
    assert (y, pullback(Left(7.0))) == (Left(3.0), Right(7.0))


@pytest.mark.parametrize("y_bar", [1.0, (1.0,), {"x": 1.0}, {"x": 1.0, "z": 2.0}, {"x": 1.0, "y": 2}, None])
def test_cotangent_of_another_structure(y_bar):
    with pytest.raises(TypeError, match="vjp: the cotangent has to have the structure of the result"):
        vjp(cartesian)(POINT)[1](y_bar)


def test_parts_that_are_no_numbers():
    y, pullback = vjp(lambda x: (x["x"] * 2.0, x["name"]))({"x": 3.0, "name": "x"})
    assert y == (6.0, "x")
    assert pullback((1.0, None)) == {"x": 2.0, "name": None}


def test_result_without_numbers():
    y, pullback = vjp(lambda x: ())(3.0)
    assert y == ()
    assert pullback(()) == 0.0
    assert jacobian(lambda x: ())(3.0) == ()


def test_cotangents_of_another_derivative():
    """d/dt of <(t, t**2), J> for y = (x**2, x**3) at x = 2: 4 t + 12 t**2."""

    def f(t):
        _, pullback = vjp(lambda x: (x * x, x * x * x))(2.0)
        return pullback((t, t * t))

    assert grad(f)(5.0) == 4.0 + 24.0 * 5.0
