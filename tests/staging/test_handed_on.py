"""An argument that a function hands on to each call of itself is no argument in the steps."""

import re

import numpy as np
import pytest

from shiftreset_ad import grad, staged


def parameters(f, *calls):
    """How many arguments the functions in the steps have. The answers are those of the function."""
    g = staged(f)
    for args in [*calls, *calls]:
        assert g(*args) == pytest.approx(f(*args))
    (source,) = g.sources
    return [len(re.findall(r"v\d+", head)) for head in re.findall(r"def f\d+\((.*)\):", source)]


def test_what_each_call_hands_on():
    def f(n, x, y):
        return y if n <= 0 else np.sin(f(n - 1, x, y * 0.5) * x)

    assert parameters(f, (3, 0.7, 2.0), (1, 0.2, 3.0)) == [2]  # n and y
    assert len(parameters(grad(f, argnums=1), (3, 0.7, 2.0), (1, 0.2, 3.0))) == 2


def test_what_one_of_the_calls_changes_is_an_argument():
    def f(n, x, y):
        return x * y if n <= 0 else np.sin(f(n - 1, x, y) * x) + f(n - 2, x, y + 0.1)

    assert parameters(f, (3, 0.7, 2.0), (1, 0.2, 3.0)) == [2]

    def exchanged(n, x, y):
        return x if n <= 0 else exchanged(n - 1, y, x) * 0.5

    assert parameters(exchanged, (3, 0.7, 2.0), (4, 0.2, 3.0)) == [3]


def test_what_a_function_in_a_function_hands_on():
    def f(n, x):
        def inner(k, y, z):
            return y * z if k <= 0 else np.cos(inner(k - 1, y, z) * z + y)

        def outer(n, y, w):
            return y * w if n <= 0 else inner(n, w, y) + outer(n - 1, y * 0.3, w)

        return outer(n, x, x * 2.0)

    assert parameters(f, (3, 0.7), (2, 0.4)) == [2, 1]  # n and y, and k
    assert parameters(grad(f, argnums=1), (3, 0.7), (2, 0.4))[:2] == [3, 2]  # with their frames


def test_in_a_loop_each_call_has_its_own():
    def f(n, x):
        def go(k, y):
            return y if k <= 0 else np.sin(go(k - 1, y)) * y

        total = 0.0
        for k in range(n):
            total = total + go(k, x * k)
        return total

    assert parameters(f, (3, 0.7), (4, 0.2)) == [1]
    assert len(parameters(grad(f, argnums=1), (3, 0.7), (4, 0.2))) == 2
