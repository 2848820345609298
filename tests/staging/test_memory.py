"""Memory that values have in common: what is a view in the function, and only that, is one in its steps."""

import contextlib
import time

import numpy as np
import pytest

from shiftreset_ad import StagingWarning, grad, hvp, jvp, staged, zeros
from shiftreset_ad.staging.steps.trace import Trace, UnstageableError
from shiftreset_ad.staging.steps.values import Staged

V = np.array([1.0, 2.0, 3.0])
READ_ONLY = np.array([4.0, 5.0, 6.0])
READ_ONLY.flags.writeable = False


def shared(answers, args):
    """Which answers lie in the memory of an argument or of another answer."""
    return [np.shares_memory(x, y) for i, x in enumerate(answers) for y in (*args, *answers[:i])]


@pytest.mark.parametrize(
    "f",
    [
        lambda x: (np.copy(np.real(x)),),  # numpy.real of a real array is the very same
        lambda x: (np.copy(np.atleast_1d(x)),),
        lambda x: (np.copy(np.real(2.0 * x)),),
        lambda x: (np.copy(np.broadcast_arrays(x, READ_ONLY)[1]), 2.0 * x),
        lambda x: [y := 2.0 * x, np.copy(np.real(y))],
        lambda x: [y := 2.0 * x, np.real(y), np.copy(np.atleast_1d(y))],
        lambda x: [y := 2.0 * x, np.copy(y[:])],
        lambda x: [1.0 * x, 1.0 * x],
        lambda x: [np.broadcast_to(1.0 + x, (2, 3)), np.broadcast_to(1.0 + x, (2, 3))],
    ],
)
def test_what_is_the_users_shares_no_other_memory_than_that_of_the_function(f):
    g = staged(f)
    for x in (V, V + 1.0, V - 1.0):
        expected, answers = f(x), g(x)
        np.testing.assert_array_equal(answers, expected)
        assert shared(answers, [x]) == shared(expected, [x])
        assert [y.flags.writeable for y in answers] == [y.flags.writeable for y in expected]
    assert len(g.sources) == 1


def all_zeros(x):
    y = zeros(3)
    return [y, y, 2.0 * x]


def plain_zeros(x):
    y = np.zeros(3)
    return [y, y, 2.0 * x]


@pytest.mark.parametrize("f", [all_zeros, plain_zeros])
def test_a_constant_that_is_returned_twice_is_one_array(f):
    g = staged(f)
    for _ in range(4):
        one, same, _ = g(V)
        assert one is same
        np.testing.assert_array_equal(one, np.zeros(3))
        one[0] = 5.0  # the next call gives another one
    assert len(g.sources) == 1


@pytest.mark.parametrize("make", [zeros, np.zeros])
def test_a_constant_and_a_view_of_it_share_memory(make):
    g = staged(lambda x: [y := make(3), y[1:], y[::-1], 2.0 * x])
    for _ in range(4):
        one, view, reverse, _ = g(V)
        np.testing.assert_array_equal(reverse, np.zeros(3))
        one[2] = 5.0  # the next call gives others
        assert view[1] == reverse[0] == 5.0
        assert reverse.strides == (-8,)
    assert len(g.sources) == 1


def test_a_copy_of_what_only_it_looks_at_is_not_made():
    g = staged(lambda x: np.copy(np.exp(x)))
    for _ in range(3):
        g(V)
    assert "copy" not in g.sources[0]


def read_by_asarray(x):
    y = np.zeros_like(x)
    seen = np.asarray(y)  # the very same, with zeros in it whatever the argument is
    y[0] = x[0]
    return seen[0] + x[1]


def test_what_has_been_looked_at_as_an_array_is_not_written_to():
    g = staged(read_by_asarray)
    with pytest.warns(
        StagingWarning, match=r"x\[i\] = v writes to an array that has been looked at, as by numpy\.asarray"
    ):
        g(np.array([0.0, 2.0]))
    assert g(np.array([0.0, 2.0])) == 2.0
    assert g(np.array([5.0, 2.0])) == 7.0


@pytest.mark.parametrize("look", [lambda y: np.array(y, copy=True), lambda y: np.asarray(y, np.float32)])
def test_what_has_been_copied_as_an_array_may_be_written_to(look):
    if np.lib.NumpyVersion(np.__version__) < "2.0.0" and look(V).dtype == V.dtype:
        pytest.skip("NumPy 1 does not say whether it wants a copy")

    def f(x):
        y = np.zeros_like(x)
        seen = look(y)
        y[0] = x[0]
        return seen[0] + y[0]

    g = staged(f)
    for x in (V, V, V + 1.0):
        assert g(x) == f(x)
    assert len(g.sources) == 1


def test_a_write_that_fails_in_the_middle():
    def f(x):
        y, z = 2.0 * x, 2.0 * x
        with contextlib.suppress(IndexError):
            np.put(y, [0, 99], 7.0)  # the first is written before the second raises
        return 10.0 * np.sum(y) + np.sum(z)

    g = staged(f)
    for x in (V, V, V + 1.0):
        assert g(x) == f(x)
    assert len(g.sources) == 1


def test_what_is_a_constant_of_the_steps_is_not_written_to():
    def f(x):
        zeros = np.zeros(3)
        _, same = np.broadcast_arrays(x, zeros)
        with contextlib.suppress(ValueError):
            same[0] = x[0]
        return same + zeros

    g = staged(f)
    with pytest.warns(StagingWarning, match="is a constant"):
        g(V)
    np.testing.assert_array_equal(g(V), f(V))


def test_strides_that_depend_on_values():
    def f(x, step):
        y = x[:: step.astype(int)[0]]
        return x * y.strides[0]

    g = staged(f)
    for step in (1.0, 1.0, -1.0, -1.0, 1.0):
        np.testing.assert_array_equal(g(V, np.array([step])), f(V, np.array([step])))
    assert len(g.sources) == 2


def test_a_ufunc_writes_to_a_number():
    def f(x):
        return grad(lambda w: np.sum(np.multiply(x, x, out=np.zeros_like(w)) * w))(x)

    g = staged(f)
    for x in (V, V, V + 1.0):
        np.testing.assert_array_equal(g(x), x * x)
    assert len(g.sources) == 1


@pytest.mark.parametrize(
    "derivative", [grad, lambda h: lambda x: hvp(h, (x,), (x,)), lambda h: lambda x: jvp(h, (x,), (x,))]
)
def test_an_element_at_a_place_that_depends_on_values_is_written_in_a_derivative(derivative):
    def at(x):
        def h(w):
            y, z = np.copy(w), np.outer(w, w)
            y[np.argmax(x)] = w[0] * w[1]
            z[np.argmax(x), np.argmin(x)] = 5.0 * w[0]
            z[np.argmin(x), 1] = w[2]
            return np.sum(y * y) + np.sum(z * z)

        return derivative(h)(x)

    g = staged(at)
    for x in (V, V, V[::-1].copy(), np.array([1.0, 5.0, -2.0])):
        np.testing.assert_allclose(g(x), at(x), rtol=1e-14)
    assert len(g.sources) == 1


STATEMENTS = {
    r"x\[i\] = v": lambda x: x.__setitem__(0, 1.0),
    r"x \+= v": lambda x: x.__iadd__(1.0),
    r"x \*\*= v": lambda x: x.__ipow__(1.0),
    r"x\.sort": lambda x: x.sort(),
    r"x\.fill": lambda x: x.fill(1.0),
    r"numpy\.add\.at": lambda x: np.add.at(x, [0], 1.0),
    r"numpy\.add\(\.\.\., out=x\)": lambda x: np.add(x, 1.0, out=x),
    r"x\.cumsum\(\.\.\., out=x\)": lambda x: x.cumsum(out=x),
    r"numpy\.copyto writes": lambda x: np.copyto(x, 2.0),
    r"numpy\.copyto\(dst=\.\.\.\)": lambda x: np.copyto(dst=np.zeros_like(x), src=x),
}


@pytest.mark.parametrize("statement", STATEMENTS)
def test_a_warning_names_the_statement_as_the_user_has_written_it(statement):
    trace = Trace()
    with pytest.raises(UnstageableError, match=f"^{statement}"):
        STATEMENTS[statement](Staged(trace, trace.place_for(V.copy())))


@pytest.mark.slow
@pytest.mark.usefixtures("only_what_is_new_is_looked_at")  # a collection of all that tests hold takes longer
def test_many_writes_take_time_in_proportion():
    def seconds(count):
        def f(x):
            y = np.zeros_like(x)
            for i in range(count):
                y[:2] = x[:2] * np.array([1.0, i])  # each a constant of its own
            return y

        start, g = time.process_time(), staged(f)
        g(V)
        assert g.llvm  # which is written now
        return time.process_time() - start

    assert min(seconds(4000) for _ in range(2)) < 40.0 * min(seconds(250) for _ in range(4))
