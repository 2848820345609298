"""What a loop or a branch answers may be an argument itself: then Python has the same object, and so has the record."""

import numpy as np
import pytest

from shiftreset_ad import fori_loop, grad, staged
from tests.staging.front.agreement import ids
from tests.staging.native.natively import needs_native

OUTSIDE = np.array([5.0, 6.0, 7.0])


def loop(x, n):
    for _ in range(n):
        x = x * 0.5
    return x


def loop_with_an_end(x, n):
    for _ in range(n):
        if x[0] < 0.3:
            break
        x = x * 0.5
    return x


def branch(x, n):
    if n > 3:
        x = x * 2.0
    return x


def solver(x, n):
    k = 0
    while k < n and np.max(np.abs(x)) > 0.2:
        g = grad(lambda y: np.sum(y**4))(x)
        x = x - 0.05 * g
        k = k + 1
    return x, k


def beside_a_number(x, n):
    total = 0.0
    for _ in range(n):
        x, total = x * 0.5, total + x[1]
    return {"x": x, "total": total}


def by_a_combinator(x, n):
    return fori_loop(0, n, lambda i, y: y * 0.5 + i, x)


def unchanged_by_rounds(x, n):
    """A new array with the elements of the argument."""
    for _ in range(n):
        x = x * 1.0
    return x


GIVEN = [loop, loop_with_an_end, branch, solver, beside_a_number, by_a_combinator, unchanged_by_rounds]


def view_in_a_branch(x, n):
    return x * 2.0 if n > 3 else x[::-1]


def view_of_what_comes_out(x, n):
    for _ in range(n):
        x = x * 0.5
    return x[:2]


def outside_array(x, n):
    y = OUTSIDE
    for _ in range(n):
        y = y * x
    return y


def one_of_both(x, n):
    y = OUTSIDE
    if n > 3:
        y = x
    elif n > 1:
        y = x * 0.5
    return y


def view_in_rounds(x, n):
    y = x[::-1]
    for _ in range(n):
        y = y * 0.5
    return y


def whole_view_in_a_branch(x, n):
    return x * 2.0 if n > 3 else x[:]


def whole_view_beside_it(x, n):
    y = x
    if n > 3:
        y = x * 2.0
    elif n > 1:
        y = x.reshape(3)
    return y


OTHERS = [whole_view_in_a_branch, whole_view_beside_it]
OTHERS += [view_in_a_branch, view_of_what_comes_out, outside_array, one_of_both, view_in_rounds]


def parts(answer):
    return list(answer.values()) if isinstance(answer, dict) else answer if isinstance(answer, tuple) else [answer]


def require_pythons_answers(f, compiled, x, n):
    for got, expected in zip(parts(compiled(x, n)), parts(f(x, n)), strict=True):
        np.testing.assert_array_equal(got, expected)
        for other in (x, OUTSIDE):
            assert (got is other) == (expected is other)
            assert np.shares_memory(got, other) == np.shares_memory(expected, other)


@needs_native
@pytest.mark.parametrize("f", GIVEN, **ids)
def test_native_code_leaves_the_call_where_the_answer_is_the_argument(f):
    compiled, x = staged(f), np.array([0.9, 2.0, 3.0])
    for n in (3, 2, 5, 4, 3, 0, 0, 3, 1, 0):
        require_pythons_answers(f, compiled, x, n)
    assert len(compiled.sources) == 1
    assert "as native code (it left " in compiled.report()


@pytest.mark.parametrize("f", [*GIVEN, *OTHERS], **ids)
@pytest.mark.parametrize("ns", [(3, 2, 5, 4, 0, 0, 3, 1), (0, 0, 0, 3, 5, 0, 2, 4), (1, 0, 1, 0, 4, 0, 1)])
@pytest.mark.parametrize("x", [np.array([0.9, 2.0, 3.0]), np.arange(6.0)[::2], np.zeros(3), np.array([np.nan, 1, 2])])
def test_answers_are_the_objects_of_python(f, ns, x):
    compiled = staged(f)
    for n in ns:
        require_pythons_answers(f, compiled, x, n)
