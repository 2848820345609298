"""Functions that write in place, called in loops and branches that are written down."""

import numpy as np
import pytest

import shiftreset_ad as sr
from shiftreset_ad import grad, staged, zeros
from shiftreset_ad.staging.native import machine
from tests.staging.native.natively import needs_native

X = np.array([0.4, -0.7, 1.1, 0.2])


def rotated(u):
    """A new array, to whose elements the function writes."""
    v = zeros(u.shape)
    v[0] = u[-1] * 0.9
    v[1:] = np.sin(u[:-1])
    return v


def heated(u, rate):
    v = u.copy()
    v[1:-1] += rate * (u[2:] - 2.0 * u[1:-1] + u[:-2])
    v *= 0.99
    return v


def overwritten(u):
    """The array itself, with other elements."""
    u[0] = u[1] * u[2]
    return u


def written_under_a_test(u):
    v = u * 1.0
    if u[0] > 0.3:
        v[1] = u[0] * u[3]
    else:
        v[2] = u[0] - 1.0
    return v


def summed_up(u, m):
    v, i = u * 1.0, 0
    while i < m:
        v[i % 4] += 0.5 * v[(i + 1) % 4]
        i = i + 1
    return v * 0.5


def in_a_list(u):
    parts = [u * 1.0, u * 2.0]
    first, second = parts
    first[0] = second[1]
    return first + 0.1 * second


def put(u, value):
    u[2] = value


def by_rotation(x, n):
    for _ in range(n):
        x = rotated(x)
    return np.sum(x * x)


def by_heat(x, n):
    i = 0
    while i < n:
        x = heated(x, 0.1 * x[0])
        i = i + 1
    return np.sum(x * x)


def by_a_test(x, n):
    for _ in range(n):
        x = written_under_a_test(x)
    return np.sum(x * x)


def by_a_loop(x, n):
    for _ in range(n):
        x = summed_up(x, n)
    return np.sum(x * x)


def by_a_list(x, n):
    for _ in range(n):
        x = in_a_list(x)
    return np.sum(x * x)


def of_functions_in_functions(x, n):
    def step(u):
        def half(v):
            w = v * 0.5
            w[0] += 1.0
            return w

        v = half(u)
        v[3] = half(v)[0] * u[1]
        return v

    for _ in range(n):
        x = step(x)
    return np.sum(x * x)


def in_a_branch(x, n):
    y = x * 2.0
    if n > 2:
        y = overwritten(rotated(y))
    return np.sum(y * y)


WRITTEN_DOWN = [
    by_rotation,
    by_heat,
    by_a_test,
    by_a_loop,
    by_a_list,
    of_functions_in_functions,
    in_a_branch,
]


def by_overwriting(x, n):
    y, i = x * 1.0, 0
    while i < n:
        y = overwritten(y)
        y = y * 1.1
        i = i + 1
    return np.sum(y * x)


def by_overwriting_what_is_carried(x, n):
    y, i = x * 1.0, 0
    while i < n:
        y = overwritten(y)
        i = i + 1
    return np.sum(y * x)


def for_its_effect(x, n):
    y, i = x * 1.0, 0
    while i < n:
        put(y, x[0] * i)
        i = i + 1
    return np.sum(y * y)


def with_an_older_name(x, n):
    y, i = x * 1.0, 0
    while i < n:
        z = overwritten(y)
        y = y + z
        i = i + 1
    return np.sum(y)


def with_a_view(x, n):
    y, i = x * 1.0, 0
    while i < n:
        tail = y[1:]
        y = overwritten(y)
        y = y + np.sum(tail) * 0.1
        i = i + 1
    return np.sum(y)


def twice_the_same(x, n):
    def both(a, b):
        a[0] = b[1] * 2.0
        b[1] = a[0] + 1.0
        return a * b

    y, i = x * 1.0, 0
    while i < n:
        y = both(y, y) * 0.1 + x
        i = i + 1
    return np.sum(y)


def of_a_variable_outside(x, n):
    y = x * 1.0

    def write(i):
        y[0] = y[1] * i
        return y[0]

    total, i = 0.0, 0
    while i < n:
        total = total + write(i)
        i = i + 1
    return total + np.sum(y)


def kept_elsewhere(x, n):
    kept, i = [], 0
    while i < n:
        u = x * 1.0
        kept.append(u)
        u = overwritten(u)
        i = i + 1
    return sum(np.sum(u) for u in kept) + np.sum(x)


def in_one_of_two_branches(x, n):
    y = x * 1.0
    z = overwritten(y) if n > 2 else x
    return np.sum(y * z)


def into_a_row(x, n):
    table, i = np.stack([x, x * 2.0]), 0
    while i < n:
        row = overwritten(table[0])
        table = table * 0.9 + row
        i = i + 1
    return np.sum(table)


RIGHT = [
    by_overwriting,
    by_overwriting_what_is_carried,
    for_its_effect,
    with_an_older_name,
    with_a_view,
    twice_the_same,
    of_a_variable_outside,
    kept_elsewhere,
    in_one_of_two_branches,
    into_a_row,
]
MODES = {
    "value": lambda f: lambda x, n: f(x, n),
    "reverse": grad,
    "forward": lambda f: lambda x, n: sr.jvp(lambda x: f(x, n), (x,), (np.cos(x),))[1],
    "forward in reverse": lambda f: lambda x, n: sr.hvp(lambda x: f(x, n), (x,), (np.cos(x),)),
    "reverse in reverse": lambda f: grad(lambda x, n: np.sum(np.sin(grad(f)(x, n)))),
}
ROUNDS = (3, 1, 4, 2, 0)


def check(program, mode):
    f = MODES[mode](program)
    g = staged(f)
    for n in (*ROUNDS, *ROUNDS):
        x = X.copy()
        np.testing.assert_allclose(g(x, n), f(X.copy(), n), rtol=1e-11, atol=1e-13, err_msg=str(n))
        np.testing.assert_array_equal(x, X)
    return g


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("program", WRITTEN_DOWN)
def test_functions_that_write_are_written_down(program, mode):
    assert len(check(program, mode).sources) == 1


@needs_native
@pytest.mark.parametrize("program", WRITTEN_DOWN)
def test_steps_by_numpy(program, monkeypatch):
    monkeypatch.setattr(machine, "unfit", lambda: "it is switched off")
    assert "no native code" in check(program, "reverse").llvm[0]


@pytest.mark.slow_but_every(3)
@pytest.mark.filterwarnings("ignore::shiftreset_ad.staging.records.StagingWarning")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("program", RIGHT)
def test_a_write_that_others_see_is_right(program, mode):
    check(program, mode)
