"""Functions that call themselves are one record, right in all derivatives, for all depths and all trees."""

import warnings

import numpy as np
import pytest

import shiftreset_ad as sr
from shiftreset_ad import StagingWarning, staged
from tests.staging.control import recursive
from tests.staging.control.recursive import OF_A_DEPTH, of_a_tree, of_states_of_a_tree, random_tree

OPERATORS = {
    "itself": lambda f: f,
    "grad": lambda f: sr.grad(f, argnums=1),
    "jvp": lambda f: lambda n, x: sr.jvp(lambda x: f(n, x), (x,), (1.5,)),
    "grad of grad": lambda f: sr.grad(sr.grad(f, argnums=1), argnums=1),
    "jvp of grad": lambda f: lambda n, x: sr.jvp(lambda x: sr.grad(f, argnums=1)(n, x), (x,), (1.5,))[1],
    "grad of jvp": lambda f: sr.grad(lambda n, x: sr.jvp(lambda x: f(n, x), (x,), (1.5,))[1], argnums=1),
    "hessian": lambda f: lambda n, x: sr.hessian(lambda v: f(n, v[0] * v[1]))(np.stack([x, 1.5])),
    "grad, three times": lambda f: sr.grad(sr.grad(sr.grad(f, argnums=1), argnums=1), argnums=1),
    "taylor": lambda f: lambda n, x: sr.taylor(lambda t: f(n, x + t), 0.5, 3),
}
DEPTHS = [(3, 0.7), (5, -0.4), (2, 1.3), (4, 0.2)]


def agree(f, calls):
    """The function, staged; its answers are those of the function itself."""
    g = staged(f)
    with warnings.catch_warnings():
        warnings.simplefilter("error", StagingWarning)
        for args in [*calls, *calls]:
            np.testing.assert_allclose(g(*args), f(*args), rtol=1e-9, atol=1e-11)
    return g


@pytest.mark.slow_but_every(3)
@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("f", OF_A_DEPTH, ids=lambda f: f.__name__)
def test_one_record_serves_all_depths(f, operator):
    (source,) = agree(OPERATORS[operator](f), DEPTHS).sources
    assert "def f0(" in source


def test_the_record_has_the_function_and_its_way_back():
    g = staged(sr.grad(recursive.nested_sines, argnums=1))
    assert [g(n, 0.7) for n in (0, 0, 1)] == [1.0, 1.0, sr.grad(recursive.nested_sines, argnums=1)(1, 0.7)]
    (source,) = g.sources
    assert source.count("def f") == 2
    assert source.count("f0(") == 3  # the function, the first call, the call inside
    assert source.count("f1(") == 3


def test_the_closed_form_of_a_product():
    """A path of n nodes has the product x ** (n + 1)."""
    g = staged(sr.grad(sr.grad(of_a_tree, argnums=3), argnums=3))
    for n in (1, 4, 2, 7):
        path = np.arange(1, n + 1)
        path[-1] = -1
        assert g(np.full(n, -1), path, np.ones(n), 1.1) == pytest.approx((n + 1) * n * 1.1 ** (n - 1))


ON_TREES = {
    "itself": lambda f: f,
    "grad": lambda f: sr.grad(f, argnums=3),
    "grad of values": lambda f: sr.grad(f, argnums=2),
    "hessian": lambda f: sr.hessian(f, argnums=3),
    "hvp": lambda f: lambda left, right, v, w: sr.hvp(lambda v: f(left, right, v, w), (v,), (v,))[1],
    "jacobian of grad": lambda f: (
        lambda left, right, v, w: sr.jacobian(sr.grad(lambda v: f(left, right, v, w) ** 2))(v)
    ),
}


@pytest.mark.slow_but_every(3)
@pytest.mark.parametrize("operator", ON_TREES)
@pytest.mark.parametrize("f", [of_a_tree, of_states_of_a_tree], ids=lambda f: f.__name__)
def test_one_record_serves_all_trees(f, operator):
    random = np.random.default_rng(0)
    w = 1.1 if f is of_a_tree else random.uniform(-1.0, 1.0, (3, 3))
    calls = [(*random_tree(random, 6), w) for _ in range(4)]
    (source,) = agree(ON_TREES[operator](f), calls).sources
    assert "def f0(" in source


def test_a_depth_that_python_does_not_reach_is_an_error_of_the_function():
    g = staged(recursive.nested_sines)
    assert g(3, 0.7) == g(3, 0.7) == recursive.nested_sines(3, 0.7)
    with pytest.raises(RecursionError):
        g(10**6, 0.7)
    assert g(4, 0.7) == recursive.nested_sines(4, 0.7)


def test_another_answer_to_a_question_in_a_function_is_another_way():
    def f(n):
        def go(n):
            if n < 0:
                raise ValueError("less than nothing")
            return 1.0 if n == 0 else go(n - 1) * 2.0

        return go(n)

    g = staged(f)
    assert [g(n) for n in (3, 3, 5)] == [8.0, 8.0, 32.0]
    with pytest.raises(ValueError, match="less than nothing"):
        g(-1)


def memorising(n, x):
    known = {}

    def go(n):
        if n not in known:
            known[n] = x if n <= 0 else go(n - 1) * x
        return known[n]

    return go(n)


def counting(n, x):
    count = 0

    def go(n):
        nonlocal count
        count = count + 1
        return x if n <= 0 else go(n - 1) * x

    return go(n) * count


def growing(n, x):
    def go(n, v):
        return np.sum(v) if n <= 0 else go(n - 1, np.concatenate([v, v * x]))

    return go(n, np.array([1.0]) * x)


def given_functions(n, x):
    def go(n, then):
        return then(x) if n <= 0 else go(n - 1, lambda y: then(y * x))

    return go(n, lambda y: y)


def differentiating_itself(n, x):
    def go(n, y):
        return y * y * y if n <= 0 else sr.grad(lambda z: go(n - 1, z))(y) * y

    return go(n, x)


@pytest.mark.parametrize("f", [memorising, counting, growing, given_functions, differentiating_itself])
def test_what_is_no_function_of_its_arguments_is_written_call_by_call(f):
    for g in (f, sr.grad(f, argnums=1)):
        assert len(agree(g, [(3, 0.7), (1, 0.4), (2, 1.3)]).sources) == 3
