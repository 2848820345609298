"""What the operators answer: functions that can be pickled, documented, inspected and bound, as plain ones can."""

from __future__ import annotations

import copy
import inspect
import multiprocessing
import pickle
from functools import partial
from typing import Any

import numpy as np
import pytest

import shiftreset_ad as sr
from shiftreset_ad import checkpoint, custom_vjp, derivative, fuse, grad, grad_closure, jacobian, staged, value_and_grad

X = np.array([0.5, 1.0, 2.0])


def energy(x: Any, power: float = 2.0, *, scale: float = 1.0) -> Any:
    """The sum of powers."""
    return scale * np.sum(x**power)


def squares(x: Any) -> Any:
    return x * x


@checkpoint
def remembered(x: Any) -> Any:
    """A checkpoint."""
    return np.sum(np.sin(x) * x)


@fuse
def fused(x: Any) -> Any:
    return np.sum(np.sin(x) * x)


@staged
def written_down(x: Any) -> Any:
    return np.sum(np.sin(x) * x)


@custom_vjp
def ruled(x: Any) -> Any:
    return np.sum(np.sin(x) * x)


ruled.defvjp(lambda x: (ruled(x), x), lambda x, y_bar: (y_bar * (np.sin(x) + x * np.cos(x)),))


@grad
def slope(x: Any) -> Any:
    return np.sum(np.sin(x) * x)


class Model:
    def __init__(self, weight: float) -> None:
        self.weight = weight

    def __call__(self, x: Any) -> Any:
        return self.weight * np.sum(x**3)

    def loss(self, x: Any) -> Any:
        return self(x)

    slope = grad(loss, argnums=1)
    cheap = checkpoint(loss)


OF_ONE_ARGUMENT = {
    "grad": grad(energy),
    "with options": grad(energy, argnums=(0, 1)),
    "value_and_grad": value_and_grad(energy),
    "hessian": sr.hessian(energy),
    **{
        operator.__name__: operator(squares)
        for operator in (jacobian, sr.jacrev, sr.jacfwd, sr.value_and_jacobian, sr.elementwise_grad)
    },
    "nested": jacobian(grad(energy)),
    "checkpoint": grad(checkpoint(energy)),
    "fuse": grad(fuse(energy)),
    "staged": staged(grad(energy)),
    "of a staged function": grad(staged(energy)),
    "of a partial function": grad(partial(energy, scale=3.0)),
    "of an object": grad(Model(3.0)),
    "of a bound method": grad(Model(3.0).loss),
    "of NumPy's": sr.elementwise_grad(np.sin),
    "decorated": slope,
    **{f"of a decorated function, {f.__name__}": grad(f) for f in (remembered, fused, written_down, ruled)},
}
DERIVATIVES = {**{name: (f, (X, 2.0)[: 1 + (name == "with options")]) for name, f in OF_ONE_ARGUMENT.items()}}
DERIVATIVES["derivative"] = derivative(squares, 2), (3.0,)


def parts(answer: Any) -> list[Any]:
    return [part for each in answer for part in parts(each)] if type(answer) is tuple else [answer]


def require_same(found: Any, expected: Any) -> None:
    for a, b in zip(parts(found), parts(expected), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", DERIVATIVES)
@pytest.mark.parametrize("protocol", [2, pickle.HIGHEST_PROTOCOL])
def test_a_derivative_is_pickled_where_its_function_is(name: str, protocol: int) -> None:
    f, args = DERIVATIVES[name]
    for twin in (pickle.loads(pickle.dumps(f, protocol)), copy.copy(f), copy.deepcopy(f)):
        require_same(twin(*args), f(*args))


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_a_pool_of_processes_maps_derivatives(start: str) -> None:
    xs = [X, 2.0 * X, 3.0 * X]
    with multiprocessing.get_context(start).Pool(2) as pool:
        for f in (grad(energy), sr.hessian(energy), grad(remembered), slope, grad(ruled), checkpoint(energy)):
            require_same(tuple(pool.map_async(f, xs).get(timeout=120)), tuple(map(f, xs)))


@pytest.mark.parametrize("f", [remembered, fused, written_down, ruled, slope])
def test_a_decorated_function_is_pickled_by_its_name_as_a_plain_one_is(f: Any) -> None:
    for twin in (pickle.loads(pickle.dumps(f)), copy.copy(f), copy.deepcopy(f)):
        assert twin is f


@pytest.mark.parametrize("operator", [grad, jacobian, checkpoint, fuse, staged])
def test_of_a_function_that_cannot_be_pickled_it_cannot(operator: Any) -> None:
    with pytest.raises((pickle.PicklingError, AttributeError), match=r"lambda"):
        pickle.dumps(operator(lambda x: x))


def test_the_docstring_says_what_it_is_and_what_the_function_says() -> None:
    assert grad(energy, (0, 1)).__doc__ == (
        "grad(energy), argnums=(0, 1), has_aux=False, holomorphic=False: The gradient of a function. It takes the "
        "arguments of the function.\n\nThe sum of powers."
    )
    said = inspect.getdoc(derivative(squares, 2))
    assert said is not None
    assert said.startswith("derivative(squares), n=2: The n-th derivative of a function.")
    assert checkpoint(energy).__doc__ == "The sum of powers."
    assert inspect.getdoc(type(grad(energy)))
    for f, _ in DERIVATIVES.values():
        assert f.__doc__


def test_the_signature_is_that_of_the_function() -> None:
    for operator in (grad, value_and_grad, jacobian, sr.hessian, derivative, checkpoint, fuse, staged):
        assert inspect.signature(operator(energy)) == inspect.signature(energy)
        assert inspect.unwrap(operator(energy)) is energy


def test_the_name_is_that_of_the_operator_and_the_function() -> None:
    f = grad(grad(energy))
    assert f.__name__ == f.__qualname__ == "grad(grad(energy))"
    assert repr(f) == "<grad(grad(energy))>"
    assert f.__module__ == __name__
    assert checkpoint(energy).__name__ == "energy"
    assert repr(checkpoint(energy)) == "<checkpoint(energy)>"


def test_a_derivative_equals_itself_alone() -> None:
    f, other = grad(energy), grad(energy)
    assert f == f
    assert f != other
    assert len({f, f, other}) == 2


def test_a_derivative_in_a_class_is_a_method() -> None:
    model = Model(2.0)
    np.testing.assert_array_equal(model.slope(X), 6.0 * X**2)
    np.testing.assert_array_equal(grad(model.cheap)(X), 6.0 * X**2)
    np.testing.assert_array_equal(grad(pickle.loads(pickle.dumps(model.cheap)))(X), 6.0 * X**2)
    np.testing.assert_array_equal(Model.slope(model, X), 6.0 * X**2)


def test_arguments_by_names_that_the_operators_use_themselves() -> None:
    def f(x: Any, **names: Any) -> Any:
        return x * x * sum(names.values())

    names = dict.fromkeys(("name", "f", "argnums", "has_aux", "holomorphic", "rule", "cls", "self"), 1.0)
    for operator in (grad, sr.jacrev, sr.jacfwd, jacobian, sr.hessian, sr.elementwise_grad, derivative):
        assert operator(f)(3.0, **names) == operator(lambda x: 8.0 * x * x)(3.0)
    assert grad(checkpoint(f))(3.0, **names) == 48.0


def test_what_a_derivative_that_is_closed_over_closes_over() -> None:
    def of(w: Any) -> Any:
        return grad(lambda x: w * np.sin(x))

    expected = {"f": {"w": np.cos(2.0)}}
    assert grad_closure(of(3.0))(2.0) == expected
    inner = of(3.0)
    assert grad_closure(lambda x: inner(x))(2.0) == {"inner": expected}
    kept = checkpoint(of(3.0))
    assert grad_closure(lambda x: kept(x))(2.0) == {"kept": {"f": expected}}
    assert grad(lambda w: checkpoint(of(w))(2.0))(3.0) == np.cos(2.0)
    assert grad(lambda w: checkpoint(lambda x: of(w)(x))(2.0))(3.0) == np.cos(2.0)
