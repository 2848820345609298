"""Random programs on arrays, with derivatives: native code and NumPy's steps have the same bits and layouts."""

import random
import warnings

import numpy as np
import pytest

from shiftreset_ad import grad, hvp
from shiftreset_ad.boundary import trees
from shiftreset_ad.staging.native.compiled import Native, _are_same
from shiftreset_ad.staging.native.llvm import NoNativeFormError
from shiftreset_ad.staging.python.elimination import Eliminated
from shiftreset_ad.staging.python.generation import generated
from shiftreset_ad.staging.steps.trace import Trace
from shiftreset_ad.staging.steps.values import Staged
from tests.staging.native.natively import needs_native

pytestmark = needs_native

N = 4
CONSTANT = np.random.default_rng(1).normal(size=(N, N))
# Functions from a matrix of N rows and columns to another one.
OF_ONE = (
    lambda x: x.T,
    lambda x: x[::-1],
    lambda x: np.tanh(x),
    lambda x: np.exp(-x * x),
    lambda x: x**2 + 1.0,
    lambda x: abs(x) ** 0.5,
    lambda x: np.sin(x)[:, ::-1],
    lambda x: np.exp(-abs(x.T))[1:2] * x,
    lambda x: x.reshape(2, -1).reshape(N, N),
    lambda x: x.T.ravel().reshape(N, N),
    lambda x: x - np.mean(x, axis=0),
    lambda x: x / (1.0 + np.sum(x * x, axis=1, keepdims=True)),
    lambda x: x * x[0] + x[:, 1][:, None],
    lambda x: x * x[1, 2] + x[3, 0] / 3,
    lambda x: np.where(x > 0.1, x, 0.5 * x),
    lambda x: np.concatenate([x[2:], x[:2] * 2.0]),
    lambda x: np.stack([x[1], x[0], x[3] * x[2], x[1]]),
    lambda x: x[[1, 0, 3, 3]],
    lambda x: x @ CONSTANT,
    lambda x: CONSTANT.T @ x + CONSTANT,
    lambda x: np.roll(x, 1, axis=1),
    lambda x: (x @ x[0])[:, None] * x,
    lambda x: x * np.arange(N),
    lambda x: np.broadcast_to(x[0], (N, N)) * 1.5,
)
OF_TWO = (
    lambda x, y: x + y,
    lambda x, y: x - y * 0.5,
    lambda x, y: x * y,
    lambda x, y: x / (2.0 + y * y),
    lambda x, y: x @ y,
    lambda x, y: np.maximum(x, y),
    lambda x, y: np.arctan2(x, y),
    lambda x, y: np.where(x > y, x, -y),
    lambda x, y: x * y.T,
    lambda x, y: np.concatenate([x[:2], y[2:]]),
)


def program(chooser):
    plan = [
        (chooser.choice(OF_ONE), chooser.randrange(100), None)
        if chooser.random() < 0.6
        else (chooser.choice(OF_TWO), chooser.randrange(100), chooser.randrange(100))
        for _ in range(chooser.randrange(1, 12))
    ]

    def f(x):
        values = [x, x * 0.5]
        for function, i, j in plan:
            values.append(function(*[values[k % len(values)] for k in (i, j) if k is not None]))
        return values[-1] + 0.25 * values[-2]

    return f


def agree_everywhere(f, points):
    """How often native code answered; it must have the bits of the steps each time."""
    trace = Trace()
    outputs, _ = trees.flatten(f(Staged(trace, trace.place_for(points[0]))))
    steps, _, _ = generated(trace, outputs)
    try:
        entry = Native(trace, outputs, Eliminated(trace, outputs)).entry()
    except NoNativeFormError:
        return 0
    answered = 0
    for x in points:
        found = entry(x)
        if found is not None:
            assert _are_same(found, steps([x]))
            answered += 1
    return answered


@pytest.mark.parametrize("seed", range(25))
def test_a_random_program_on_arrays(seed):
    chooser, rng = random.Random(seed), np.random.default_rng(seed)
    plain = program(chooser)

    def total(x):
        return np.sum(plain(x) * CONSTANT)

    points = [rng.normal(size=(N, N)) for _ in range(4)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for f in (plain, total, grad(total), lambda x: hvp(total, (x,), (CONSTANT,))):
            agree_everywhere(f, points)


def test_most_random_programs_have_native_code():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        points = [CONSTANT, CONSTANT * 0.5]
        answered = [agree_everywhere(program(random.Random(seed)), points) for seed in range(30)]
    assert sum(answered) > 40
