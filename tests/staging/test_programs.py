"""Random programs, with derivatives in them, staged in derivatives of every kind, at several points."""

import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import shiftreset_ad as sr
from shiftreset_ad import StagingWarning, grad, jvp, staged
from shiftreset_ad.boundary import trees
from tests.random_programs import STATEMENTS, Program, programs

V = (0.75, np.array([0.5, -1.0, 0.25]))

OPERATORS = {
    "itself": lambda f: f,
    "grad": lambda f: sr.grad(f, argnums=(0, 1)),
    "value_and_grad": lambda f: sr.value_and_grad(f, argnums=(0, 1)),
    "jvp": lambda f: lambda s, a: sr.jvp(f, (s, a), V),
    "vjp": lambda f: lambda s, a: sr.vjp(f, s, a)[1](2.0),
    "hvp": lambda f: lambda s, a: sr.hvp(f, (s, a), V),
    "hessian": lambda f: lambda s, a: sr.hessian(f, argnums=(0, 1))(s, a),
    "taylor": lambda f: lambda s, a: sr.taylor(lambda t: f(s + t, a * t), 0.5, 3),
    "derivative": lambda f: lambda s, a: sr.derivative(lambda t: f(t, a * t), 2)(s),
}


def assert_close(found, expected):
    """The same to rounding, and of the same types."""
    leaves, spec = trees.flatten(found)
    wanted, spec_wanted = trees.flatten(expected)
    assert spec == spec_wanted
    for x, y in zip(leaves, wanted, strict=True):
        assert type(x) is type(y)
        np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-12 * (1.0 + float(np.max(np.abs(y), initial=0.0))))


def check_staged(operator, program, seed):
    f = OPERATORS[operator](program)
    g = staged(f)
    generator = np.random.default_rng(seed)
    points = [(generator.uniform(-1, 1), generator.uniform(-1, 1, 3)) for _ in range(3)]
    with warnings.catch_warnings():
        # Some programs add in place, and some ask for the truth of too much; but what they answer is known.
        warnings.filterwarnings("ignore", ".*(in place|has taken another way)", StagingWarning)
        for s, a in points + points:
            found, expected = g(s, a), f(s, a)
            assert_close(found, expected)
    return g


def examples(count):
    return settings(
        max_examples=count, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
    )


@pytest.mark.slow_but_every(4)
@pytest.mark.parametrize("statement", STATEMENTS, ids=lambda statement: statement.__name__)
def test_each_statement_in_each_operator(statement):
    for k, operator in enumerate(OPERATORS):
        g = check_staged(operator, Program([(statement, 0, 1, k), (statement, 2, 3, k + 3)]), seed=k)
        assert g.sources or statement.__name__ in ("in_place", "until"), operator


@pytest.mark.slow
@given(program=programs, operator=st.sampled_from(list(OPERATORS)), seed=st.integers(0, 99))
@examples(40)
def test_random_programs(program, operator, seed):
    check_staged(operator, program, seed)


@pytest.mark.slow
@given(program=programs, operator=st.sampled_from(list(OPERATORS)), seed=st.integers(0, 99))
@examples(120)
def test_many_random_programs(program, operator, seed):
    check_staged(operator, program, seed)


@pytest.mark.parametrize("mode", [grad, lambda f: grad(grad(f)), lambda f: lambda x: jvp(f, (x,), (1.0,))])
@pytest.mark.parametrize("f", [lambda x: np.where(x > 0.0, np.sqrt(x), 0.0), lambda x: np.maximum(x, 1.0) * x])
def test_choices_of_scalars(f, mode):
    g = staged(mode(f))
    for x in (0.0, 2.0, 3.0, 1.0, 0.5, 0.0):
        with np.errstate(all="ignore"):
            assert repr(g(x)) == repr(mode(f)(x))
    assert g.sources


def test_an_infinite_slope_of_what_is_not_chosen_does_not_count():
    f = grad(lambda x: np.sum(np.where(x > 0.0, np.sqrt(x), 0.0) * x[::-1]))
    g = staged(f)
    for x in ([1.0, 4.0, 9.0], [0.0, 4.0, 0.0], [0.0, 0.0, 1.0]):
        assert_close(g(np.array(x)), f(np.array(x)))
        assert np.isfinite(g(np.array(x))).all()
    assert len(g.sources) == 1
