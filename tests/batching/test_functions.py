"""Every function of the coverage table, for all rows of a batch, against a loop over the rows."""

from contextlib import nullcontext
from functools import partial

import numpy as np
import pytest

from shiftreset_ad import StagingWarning, grad, hvp, jvp, staged, vmap
from shiftreset_ad.boundary import trees
from tests.docs import coverage as coverage_command

coverage = coverage_command()
points = coverage.coverage_examples
EXAMPLES = coverage.examples()
pytestmark = [
    pytest.mark.filterwarnings("ignore:.*it runs row by row::"),
    pytest.mark.filterwarnings("ignore:`row_stack` alias::"),
]
SIZES = (1.0, 0.97, 1.01)
# A sample, and the others as slow tests
NAMES = [pytest.param(name, marks=[pytest.mark.slow] if i % 4 else []) for i, name in enumerate(EXAMPLES)]


def rows_for(example):
    """A batch for each argument of an example: points near those of the table."""
    return [np.stack([points.POINTS[name] * size for size in SIZES]) for name in points.points_of(example)]


def total(example, *args):
    """A weighted sum of all that an example returns."""
    found = 0.0
    for i, leaf in enumerate(trees.flatten(example(*args))[0]):
        weights = np.cos(np.arange(np.size(leaf)) + i).reshape(np.shape(leaf))
        found = found + np.sum(np.real(leaf * weights))
    return found


def one_by_one(f, rows):
    """What `f` answers for each row, stacked."""
    answers = [trees.flatten(f(*[x[k] for x in rows])) for k in range(len(SIZES))]
    return trees.unflatten(
        answers[0][1], [np.stack(parts) for parts in zip(*[leaves for leaves, _ in answers], strict=True)]
    )


def require_equal(found, expected, rtol=1e-9):
    found, expected = trees.flatten(found), trees.flatten(expected)
    assert found[1] == expected[1]
    for x, y in zip(found[0], expected[0], strict=True):
        assert (x.shape, x.dtype) == (y.shape, y.dtype)
        np.testing.assert_allclose(x, y, rtol=rtol, atol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_of_rows_values_and_gradients_are_those_of_a_loop(name):
    example = EXAMPLES[name]
    rows = rows_for(example)
    every = tuple(range(len(rows)))
    require_equal(vmap(example)(*rows), one_by_one(example, rows))
    gradient = grad(partial(total, example), argnums=every)
    expected = one_by_one(gradient, rows)
    require_equal(vmap(gradient)(*rows), expected)
    of_all = grad(lambda *rows: np.sum(vmap(partial(total, example))(*rows)), argnums=every)
    require_equal(of_all(*rows), expected)


@pytest.mark.parametrize("name", NAMES)
def test_of_rows_tangents_are_those_of_a_loop(name):
    example = EXAMPLES[name]
    rows = rows_for(example)
    tangents = [np.cos(np.arange(x.size, dtype=float)).reshape(x.shape).astype(x.dtype) for x in rows]

    def along(*pairs):
        return jvp(partial(total, example), pairs[: len(rows)], pairs[len(rows) :])

    expected = one_by_one(along, [*rows, *tangents])
    require_equal(vmap(along)(*rows, *tangents), expected)
    require_equal(jvp(vmap(partial(total, example)), rows, tangents), expected)


# A sample, and the others as slow tests: the products are long to compute
FEW = [pytest.param(name, marks=[pytest.mark.slow] if i % 16 else []) for i, name in enumerate(EXAMPLES)]


@pytest.mark.slow_but_every(3)
@pytest.mark.parametrize("name", FEW)
def test_of_rows_products_with_the_hessian_are_those_of_a_loop(name):
    example = EXAMPLES[name]
    rows = rows_for(example)
    tangents = [np.cos(np.arange(x.size, dtype=float)).reshape(x.shape).astype(x.dtype) for x in rows]

    def along(*pairs):
        return hvp(partial(total, example), pairs[: len(rows)], pairs[len(rows) :])

    expected = one_by_one(along, [*rows, *tangents])
    require_equal(vmap(along)(*rows, *tangents), expected, 1e-7)
    of_all = hvp(lambda *rows: np.sum(vmap(partial(total, example))(*rows)), tuple(rows), tuple(tangents))
    require_equal(of_all, expected, 1e-7)


# SciPy draws random numbers for its logarithm, and looks at the flags of the arrays that it interpolates in
NOT_STAGED = {
    "shiftreset_ad.scipy.linalg.logm": "it uses random numbers",
    "shiftreset_ad.scipy.interpolate.RegularGridInterpolator": "x.flags is not staged",
}


@pytest.mark.parametrize("name", FEW)
def test_rows_of_rows_and_staged_rows_are_those_of_a_loop(name):
    example = EXAMPLES[name]
    rows = rows_for(example)
    f = partial(total, example)
    expected = one_by_one(f, rows)
    pairs = [np.stack([x, x[::-1]]) for x in rows]
    require_equal(vmap(vmap(f))(*pairs), np.stack([expected, expected[::-1]]))
    of_staged = staged(vmap(f))
    reason = NOT_STAGED.get(name)
    with nullcontext() if reason is None else pytest.warns(StagingWarning, match=reason):
        require_equal(vmap(staged(f))(*rows), expected)
        for _ in range(2):
            require_equal(of_staged(*rows), expected)
