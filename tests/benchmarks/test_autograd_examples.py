"""The changes that take an example of autograd's to this library."""

import math

import numpy as np
import pytest

from benchmarks.autograd_examples import HELPERS, changed, difference
from shiftreset_ad import grad

BEFORE = """
import autograd.numpy as np  # it wraps NumPy
import autograd.numpy.random as npr
import autograd.scipy.stats.norm as norm
from autograd import grad
from autograd.misc.optimizers import adam
from autograd.scipy.special import logsumexp
from autograd.test_util import check_grads
g = grad(f, argnum=(0, 1))
check_grads(f, modes=["rev"])(x)
"""
AFTER = """
import numpy as np
import numpy.random as npr
from shiftreset_ad.scipy.stats import norm as norm
from shiftreset_ad import grad
from helpers import adam
from shiftreset_ad.scipy.special import logsumexp
from shiftreset_ad.testing import check_grads
g = grad(f, argnums=(0, 1))
check_grads(f, (x,), order=1, modes=["rev"])
"""


def test_imports_and_names_are_changed():
    assert changed(BEFORE) == AFTER


def test_the_difference_is_relative():
    assert difference([1.0, 2.0, 5.0], [1.0, 4.0]) == 0.5
    assert math.isnan(difference([], [1.0]))


@pytest.mark.parametrize("name", ["adam", "sgd"])
def test_the_loops_minimise(name):
    helpers = {}
    exec(HELPERS, helpers)
    seen = []
    found = helpers[name](
        grad(lambda x, i: np.sum((x["w"] - 1.0) ** 2)),
        {"w": np.zeros(2)},
        lambda x, i, g: seen.append(i),
        num_iters=400,
        step_size=0.05,
    )
    assert np.allclose(found["w"], 1.0, atol=1e-2)
    assert seen == list(range(400))


def test_the_fixed_point_has_its_derivative():
    helpers = {}
    exec(HELPERS, helpers)
    root = lambda a: helpers["fixed_point"](lambda a: lambda x: 0.5 * (x + a / x), a, 1.0, None, 1e-10)  # noqa: E731
    assert abs(grad(root)(4.0) - 0.25) < 1e-8
