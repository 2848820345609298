"""Random programs of loops and branches, staged in derivatives of every kind, against the programs as they are."""

import warnings

import numpy as np
import pytest

import shiftreset_ad as sr
from shiftreset_ad import StagingWarning, staged
from shiftreset_ad.boundary import trees
from tests.staging.control.programs import Programs

V = (0.75, np.array([0.5, -1.0, 0.25]))
POINTS = [(0.6, [0.9, -0.3, 0.4]), (-0.8, [0.1, 0.7, -0.6]), (1.7, [-1.2, 0.3, 0.8]), (0.3, [0.2, -0.9, 1.1])]


def along(gradient):
    """A scalar of a gradient."""
    return gradient[0] * 1.3 + np.sum(gradient[1] * V[1])


OPERATORS = {
    "itself": lambda f: f,
    "grad": lambda f: sr.grad(f, argnums=(0, 1)),
    "jvp": lambda f: lambda x, u: sr.jvp(f, (x, u), V),
    "vjp": lambda f: lambda x, u: [sr.vjp(f, x, u)[1](c) for c in (2.0, 3.0)],
    "linearize": lambda f: lambda x, u: sr.linearize(f, x, u)[1](*V),
    "hvp": lambda f: lambda x, u: sr.hvp(f, (x, u), V),
    "grad of grad": lambda f: sr.grad(lambda x, u: along(sr.grad(f, argnums=(0, 1))(x, u)), argnums=(0, 1)),
    "grad of jvp": lambda f: sr.grad(lambda x, u: sr.jvp(f, (x, u), V)[1], argnums=(0, 1)),
    "grad, three times": lambda f: sr.grad(sr.grad(sr.grad(f))),
    "hessian": lambda f: sr.hessian(f, argnums=(0, 1)),
    "jacrev": lambda f: sr.jacrev(lambda x, u: np.stack([f(x, u), f(x * u[0], u)]), argnums=(0, 1)),
    "jacfwd": lambda f: sr.jacfwd(lambda x, u: np.stack([f(x, u), f(x * u[0], u)]), argnums=(0, 1)),
    "taylor": lambda f: lambda x, u: sr.taylor(lambda t: f(x + t, u * t), 0.5, 3),
    "grad of derivative": lambda f: sr.grad(lambda x, u: sr.derivative(lambda t: f(x * t, u * t), 2)(0.7)),
}


def check(operator, seed):
    """The function, staged; its answers are those of the function itself."""
    f = OPERATORS[operator](Programs(seed).program())
    g = staged(f)
    for x, u in POINTS + POINTS:
        found, expected = trees.flatten(g(x, np.array(u))), trees.flatten(f(x, np.array(u)))
        assert found[1] == expected[1]
        for a, b in zip(found[0], expected[0], strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11)
    return g


@pytest.mark.slow_but_every(3)
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("operator", OPERATORS)
def test_control_is_recorded_once_and_right(operator, seed):
    with warnings.catch_warnings():
        warnings.simplefilter("error", StagingWarning)
        assert len(check(operator, seed).sources) == 1


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 7))
@pytest.mark.parametrize("operator", OPERATORS)
def test_control_is_right(operator, seed):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StagingWarning)
        check(operator, seed)
