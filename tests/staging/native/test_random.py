"""Random programs on numbers, with branches and derivatives: native code, NumPy's steps and the function agree."""

import random
import warnings

import numpy as np
import pytest

from shiftreset_ad import grad
from shiftreset_ad.boundary import trees
from shiftreset_ad.staging.native.compiled import Native
from shiftreset_ad.staging.native.llvm import NoNativeFormError
from shiftreset_ad.staging.python.elimination import Eliminated
from shiftreset_ad.staging.python.generation import generated
from shiftreset_ad.staging.steps.trace import Trace
from shiftreset_ad.staging.steps.values import Staged
from tests.staging.native.natively import needs_native, same

pytestmark = needs_native

OF_TWO = (
    lambda x, y: x + y,
    lambda x, y: x - y,
    lambda x, y: x * y,
    lambda x, y: x / y,
    lambda x, y: x / (1.0 + y * y),
    lambda x, y: np.where(x > y, x, y) * 1.0,
    lambda x, y: np.arctan2(x, y),
    lambda x, y: x if x > y else y,
    lambda x, y: np.maximum(x, y),
    lambda x, y: abs(x) ** 1.5 if y < 0.5 else y**2,
)
OF_ONE = (
    lambda x: -x,
    lambda x: abs(x),
    lambda x: x**3,
    lambda x: 0.5 * x,
    lambda x: x + 3,
    np.sin,
    np.cos,
    np.tanh,
    lambda x: np.exp(-abs(x)),
    lambda x: np.log(1.0 + x * x),
    lambda x: np.sqrt(abs(x)),
    lambda x: x * 2 if x > 0 else x / 3,
)


def program(chooser):
    plan = [
        (chooser.choice(OF_ONE), chooser.randrange(100), None)
        if chooser.random() < 0.4
        else (chooser.choice(OF_TWO), chooser.randrange(100), chooser.randrange(100))
        for _ in range(chooser.randrange(1, 25))
    ]

    def f(x, y, n):
        values = [x, y, n, x * n]
        for function, i, j in plan:
            args = [values[k % len(values)] for k in (i, j) if k is not None]
            values.append(function(*args))
        return values[-1] + 0.25 * values[-2]

    return f


@pytest.mark.parametrize("seed", range(40))
def test_a_random_program(seed):
    chooser = random.Random(seed)
    plain = program(chooser)
    for f in (plain, grad(lambda x, y, n: plain(x, y, n) * 1.0)):
        for kind in (float, np.float64):
            points = [
                (kind(chooser.choice((0.0, 1.0, chooser.gauss(0, 1), chooser.gauss(0, 30)))), chooser.gauss(0, 1), n)
                for n in (3, 0, -2, 3, 3)
            ]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                agree_everywhere(f, points)


def agree_everywhere(f, points):
    """That native code that is made at the first point does what the NumPy steps do, at all points."""
    trace = Trace()
    try:
        outputs, _ = trees.flatten(f(*[Staged(trace, trace.place_for(arg)) for arg in points[0]]))
    except ArithmeticError:
        return
    steps, _, questions = generated(trace, outputs)
    try:
        code = Native(trace, outputs, Eliminated(trace, outputs))
    except NoNativeFormError as error:
        assert "integers" in str(error) or "x ** y of arrays" in str(error) or "int64" in str(error)  # noqa: PT017
        return
    assert [question.expected for question in code.questions] == [question.expected for question in questions]
    entry = code.entry()
    for args in points:
        found = entry(*args)
        if found is None:
            continue
        by_numpy = steps(list(args))
        if type(found) is int:
            assert found == by_numpy
            continue
        assert all(map(same, found, by_numpy)), (args, found, by_numpy)
        assert found == trees.flatten(f(*args))[0] or found[0] != found[0]
