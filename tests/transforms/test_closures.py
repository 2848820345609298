"""The sensitivities of a function's free variables, and the function with others put in."""

from __future__ import annotations

import functools
import gc
import threading
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from shiftreset_ad import ControlError, EscapedNumberError, grad, jvp, value
from shiftreset_ad.boundary.closed_over import Environment
from shiftreset_ad.transforms.closures import grad_closure, value_and_grad_closure

X = np.array([1.0, 2.0, 3.0])
GLOBAL = 2.0


def test_numbers_arrays_and_what_has_no_derivative() -> None:
    w, b, times, name = X.copy(), 0.5, 3, "linear"

    def f(x):
        assert name == "linear"
        return np.sum(w * x) * times + b

    assert f(2.0) == 36.5
    sensitivity = grad_closure(f)(2.0)
    assert list(sensitivity) == ["b", "name", "times", "w"]  # as in f.__code__.co_freevars
    assert sensitivity["b"] == 1.0
    assert sensitivity["name"] is None
    assert sensitivity["times"] is None
    np.testing.assert_array_equal(sensitivity["w"], [6.0, 6.0, 6.0])
    assert type(sensitivity["b"]) is float
    found, again = value_and_grad_closure(f)(2.0)
    assert found == 36.5
    np.testing.assert_array_equal(again["w"], sensitivity["w"])


def test_every_function_agrees_with_the_same_function_of_an_argument() -> None:
    def of(w):
        return lambda x: np.sum(np.sin(w["a"] * x) * w["b"][0]) + w["b"][1] ** 2

    w = {"a": X, "b": (2.0, np.float32(3.0))}
    expected = grad(lambda w: of(w)(1.5))(w)
    found = grad_closure(of(w))(1.5)["w"]
    np.testing.assert_array_equal(found["a"], expected["a"])
    assert found["b"] == expected["b"]
    assert type(found["b"][1]) is np.float32


@dataclass
class Layer:
    weight: Any
    name: str = "layer"


def test_structures_of_numbers_and_functions() -> None:
    scale = 3.0
    layers = [lambda x: x * scale, Layer(2.0)]

    def f(x):
        return layers[0](x) * layers[1].weight

    assert grad_closure(f)(5.0) == {"layers": [{"scale": 10.0}, Layer(15.0, None)]}


def test_functions_in_functions() -> None:
    a, b = 2.0, 3.0

    def inner(x):
        return a * x

    def middle(x):
        return inner(x) ** b

    assert grad_closure(lambda x: middle(x))(1.0) == {"middle": {"b": 8.0 * np.log(2.0), "inner": {"a": 12.0}}}


def test_a_chain_of_many_functions() -> None:
    def composed(g, w):
        return lambda x: g(x) * w

    f = lambda x: x  # noqa: E731
    for _ in range(100):
        f = composed(f, 1.0)
    sensitivity = grad_closure(f)(3.0)
    for _ in range(100):
        assert sensitivity["w"] == 3.0
        sensitivity = sensitivity["g"]
    assert sensitivity is None  # a function without free variables


def test_a_shared_variable_is_one_variable() -> None:
    w = 3.0

    def g(x):
        return w * x

    def h(x):
        return w + x

    assert grad_closure(lambda x: g(x) * h(x))(2.0) == {"g": {"w": 2.0 * 5.0 + 6.0}, "h": {"w": 16.0}}
    same = [X, X]  # one array, and two elements: each has its own
    first, second = grad_closure(lambda: np.sum(same[0] * 2.0 + same[1]))()["same"]
    np.testing.assert_array_equal(first, 2.0 + 0.0 * X)
    np.testing.assert_array_equal(second, 1.0 + 0.0 * X)


def test_recursion() -> None:
    w = 2.0

    def power(n):
        return 1.0 if n == 0 else w * power(n - 1)

    assert grad_closure(power)(5) == {"power": None, "w": 80.0}

    def even(n):
        return 1.0 if n == 0 else w * odd(n - 1)

    def odd(n):
        return 0.0 if n == 0 else w * even(n - 1)

    assert grad_closure(even)(4) == {"odd": {"even": None, "w": 32.0}, "w": 32.0}
    # The functions themselves are as they were.
    assert even.__closure__[0].cell_contents is odd
    assert w == 2.0
    assert power(3) == 8.0


def test_an_empty_cell() -> None:
    w = 2.0

    def f(x):
        return later if x < 0 else w * x

    assert grad_closure(f)(3.0) == {"later": None, "w": 3.0}
    with pytest.raises(NameError, match="later"):
        grad_closure(f)(-1.0)
    later = 1.0
    assert grad_closure(f)(-1.0) == {"later": 1.0, "w": 0.0}


def test_what_is_assigned_by_nonlocal_is_kept() -> None:
    w, calls, last = 2.0, 0, None

    def f(x):
        nonlocal calls, last
        calls += 1
        last = w * x
        return last * w

    assert grad_closure(f)(3.0) == {"calls": None, "last": None, "w": 12.0}
    assert (calls, last) == (1, 6.0)
    assert type(last) is float
    assert grad_closure(f)(3.0)["last"] == 0.0  # as it is overwritten
    assert calls == 2

    def deletes(x):
        nonlocal last
        y = w * x * last
        del last
        return y

    assert grad_closure(deletes)(3.0)["last"] == 6.0
    with pytest.raises(NameError):
        last  # noqa: B018


def test_a_variable_of_an_inner_function_that_is_assigned() -> None:
    total = 0.0

    def add(x):
        nonlocal total
        total = total + x

    w = 3.0

    def f(x):
        add(w * x)
        add(w * w)
        return total

    assert grad_closure(f)(2.0) == {"add": {"total": 1.0}, "total": 1.0, "w": 8.0}
    assert total == 15.0


def test_if_the_function_raises_its_variables_are_as_before() -> None:
    w, calls = 2.0, 0

    def f(x):
        nonlocal calls
        calls += 1
        raise ValueError(w * x > 5.0)

    with pytest.raises(ValueError, match="True") as caught:
        grad_closure(f)(3.0)
    assert calls == 0
    assert caught.traceback[-1].name == "f"
    assert grad(lambda x: x * w)(3.0) == 2.0


def test_lists_changed_in_place() -> None:
    w, log = [2.0], []

    def f(x):
        log.append("called")
        return w[0] * x

    assert grad_closure(f)(3.0) == {"log": [], "w": [3.0]}
    assert log == ["called"]  # it has no numbers in it, and so was not copied

    def g(x):
        w.append(0.0)
        return w[0] * x

    with pytest.raises(ControlError, match=r"grad_closure\(g\): w of .*g has been changed in place"):
        grad_closure(g)(3.0)
    assert w == [2.0]


def test_partials_and_methods() -> None:
    def multiply(x, w, *, c):
        return x * w * c

    g = functools.partial(multiply, w=2.0, c=3.0)
    assert grad_closure(lambda x: g(x))(5.0) == {"g": {"func": None, "args": (), "keywords": {"w": 15.0, "c": 10.0}}}
    layer = Layer(4.0)
    h = functools.partial(Linear(layer.weight).apply, 5.0)
    assert grad_closure(lambda: h())() == {
        "h": {"func": {"__func__": None, "__self__": Linear(5.0)}, "args": (4.0,), "keywords": {}}
    }


@dataclass
class Linear:
    weight: Any

    def apply(self, x):
        return self.weight * x


def test_defaults_and_globals_are_no_free_variables() -> None:
    w = 3.0

    def f(x, scale=2.0, *, shift=1.0):
        return w * x * scale * GLOBAL + shift

    assert grad_closure(f)(5.0) == {"w": 20.0}
    assert grad_closure(f)(5.0, 1.0, shift=0.0) == {"w": 10.0}
    with pytest.raises(TypeError, match=r"grad_closure\(g\): the function closes over no float"):
        grad_closure(g)(1.0)


def g(x, w=2.0):
    return x * w * GLOBAL


def test_the_copy_is_a_function_like_the_original() -> None:
    w = 2.0

    def f(x: float, y: float = 1.0, *, z: float = 0.0) -> float:
        """Docstring."""
        return w * x * y + z

    f.note = "kept"
    (copy,) = Environment({"f": f}).with_leaves(Environment({"f": f}).leaves).roots
    assert copy is not f
    for name in ("__name__", "__qualname__", "__module__", "__doc__", "__annotations__", "__dict__", "__code__"):
        assert getattr(copy, name) == getattr(f, name)
    assert copy.__defaults__ == (1.0,)
    assert copy.__kwdefaults__ == {"z": 0.0}
    assert copy(3.0, z=1.0) == 7.0


def test_zero_argument_super() -> None:
    class Base:
        def f(self, x):
            return 2.0 * x

    class Derived(Base):
        def f(self, x):
            return super().f(x) * w

    w = 3.0
    call = Derived().f
    assert grad_closure(lambda x: call(x))(5.0)["call"]["__func__"] == {"__class__": None, "w": 10.0}


def test_nested_in_other_derivatives() -> None:
    def slope(a):
        return grad_closure(lambda x: np.sin(a * x) * x)(2.0)["a"]  # 4 cos(2 a)

    assert slope(0.5) == pytest.approx(4 * np.cos(1.0), rel=1e-14)
    assert grad(slope)(0.5) == pytest.approx(-8 * np.sin(1.0), rel=1e-14)
    assert grad(grad(slope))(0.5) == pytest.approx(-16 * np.cos(1.0), rel=1e-14)
    assert jvp(slope, (0.5,), (1.0,))[1] == pytest.approx(-8 * np.sin(1.0), rel=1e-14)

    w = 0.5

    def f(x):
        return np.sin(w * x)

    def gradient(x):
        return grad_closure(f)(x)["w"]

    assert grad(gradient)(2.0) == pytest.approx(np.cos(1.0) - np.sin(1.0), rel=1e-14)
    # With respect to its own free variable: gradient closes over f, and f over w.
    assert grad_closure(gradient)(2.0) == {"f": {"w": pytest.approx(-4 * np.sin(1.0), rel=1e-14)}}
    # The sensitivity of a function under a derivative in x
    assert grad_closure(lambda x: grad(f)(x))(2.0)["f"]["w"] == pytest.approx(np.cos(1.0) - np.sin(1.0), rel=1e-14)


def test_an_outer_number_goes_on_through_a_variable_that_is_assigned() -> None:
    def outer(a):
        w, last = 2.0, 0.0

        def f(x):
            nonlocal last
            last = a * x
            return w * last

        grad_closure(f)(3.0)
        return last * last

    assert grad(outer)(5.0) == 2 * 9.0 * 5.0


def test_errors() -> None:
    w = 2.0
    with pytest.raises(TypeError, match=r"a Python function has free variables, and this is functools\.partial"):
        grad_closure(functools.partial(lambda x: w * x, 1.0))
    with pytest.raises(TypeError, match="write grad_closure\\(lambda x: f\\(x\\)\\)"):
        grad_closure(np.sin)
    with pytest.raises(TypeError, match="which cannot be called"):
        grad_closure(3.0)
    with pytest.raises(TypeError, match=r"grad_closure\(<lambda>\): the function returned an array of shape \(3,\)"):
        grad_closure(lambda: w * X)()
    with pytest.raises(TypeError, match="closes over no float"):
        grad_closure(lambda x: x)(1.0)
    kept = []

    def keeps(x):
        kept.append(w * x)
        return kept[0]

    grad_closure(keeps)(1.0)
    assert value(kept[0]) == 2.0
    with pytest.raises(EscapedNumberError):
        kept[0] * 2.0


@pytest.mark.slow
def test_what_it_has_used_is_free_at_once() -> None:
    """And not only when the garbage collector finds a cycle."""

    def of(w):
        def f():
            return np.sum(np.sin(w) * inner())

        def inner():
            return np.sum(w)

        return f

    gc.collect()
    gc.disable()
    try:
        f = of(X)
        grad_closure(f)()
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_in_threads() -> None:
    def of(w):
        def f(x):
            total = 0.0
            for _ in range(200):
                total = total + w * x
            return total

        return f

    f, found = of(2.0), {}

    def work(i):
        found[i] = [grad_closure(f)(float(i))["w"] for _ in range(5)]

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {i: [200.0 * i] * 5 for i in range(4)}
