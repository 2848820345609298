"""A sum after a branch, or after the rounds of an inner loop, goes into them: other paths add nothing."""

import numpy as np
import pytest

from shiftreset_ad import grad, jvp, staged
from shiftreset_ad.staging.native import machine
from tests.staging.test_in_place import in_loops


def in_a_branch(x, n):
    s = 0.0
    for i in range(n):
        if s < 0.4:
            s = s + x[i % 5] * x[(i + 1) % 5]
        else:
            s = s * 0.5
    return s


def in_both_branches(x, n):
    s = 0.0
    for i in range(n):
        if s < 0.4:
            s = s + x[i % 5] * x[(i + 1) % 5]
        else:
            s = s * x[i % 5]
    return s


def in_a_branch_of_a_branch(x, n):
    s = 1.0
    for i in range(n):
        if s < 2.0:
            if s > 0.5:
                s = s * x[i % 5]
            s = s + x[0]
    return s


def in_an_inner_loop(x, n):
    s = x[0]
    for i in range(n):
        for j in range(i):
            s = s * x[j % 5] + x[i % 5]
    return s


def in_an_inner_loop_of_a_branch(x, n):
    s = x[0]
    for i in range(n):
        if s < 0.5:
            j = 0
            while j < i:
                s = s * x[j % 5] + x[i % 5]
                j = j + 1
        s = s + 0.1
    return s


def of_whole_arrays(x, n):
    s = 0.1
    for i in range(n):
        if s < 0.4:
            s = s + np.sum(x * x)
        else:
            s = s * x[i % 5]
    return s


def before_and_after(x, n):
    """The array is used before the branch, in it and after it."""
    s = x[1]
    for i in range(n):
        s = s * x[i % 5]
        if s < 0.4:
            s = s + x[(i + 1) % 5]
        s = s - 0.1 * x[(i + 2) % 5]
    return s * x[0]


def branches_outside_of_loops(x, n):
    s = x[n % 5] * x[0]
    if s < 0.1:
        s = s + x[n % 5] ** 2
    if x[1] > n:
        s = s * x[2]
    return s * x[3]


PROGRAMS = [
    *(in_a_branch, in_both_branches, in_a_branch_of_a_branch, in_an_inner_loop, in_an_inner_loop_of_a_branch),
    *(of_whole_arrays, before_and_after, branches_outside_of_loops),
]
MODES = {
    "reverse": grad,
    "reverse in reverse": lambda f: grad(lambda x, n: np.sum(grad(f)(x, n) ** 2)),
    "forward in reverse": lambda f: grad(lambda x, n: jvp(lambda x: f(x, n), (x,), (np.cos(x),))[1]),
}
X = [np.array([0.3, -0.7, 1.2, 0.5, -0.4]), np.array([0.9, 0.4, -0.2, 0.1, 0.6]), np.full(5, 0.8)]


@pytest.mark.parametrize("switched_off", [False, True])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("program", PROGRAMS)
def test_derivatives_are_those_of_the_function(program, mode, switched_off, monkeypatch):
    if switched_off:
        monkeypatch.setattr(machine, "unfit", lambda: "it is switched off")
    f = MODES[mode](program)
    g = staged(f)
    for _ in range(3):
        for n in (3, 0, 4, 2):
            for x in X:
                np.testing.assert_allclose(g(x, n), f(x, n), rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("program", [in_a_branch, in_both_branches, in_a_branch_of_a_branch, in_an_inner_loop])
def test_a_round_adds_to_single_elements(program, monkeypatch):
    monkeypatch.setattr(machine, "unfit", lambda: "it is switched off")
    g = staged(grad(program))
    for x in X:
        for n in (3, 4):
            g(x, n)
    (source,) = g.sources
    back = source[source.index("reversed") :]
    lines = in_loops("for x in y:\n" + back[back.index("\n") + 1 :])
    assert any("with_added(" in line for line in lines)
    assert not [line for line in lines if any(name in line for name in ("scatter(", "zeros", "copy("))]


def test_an_answer_is_no_argument_and_no_constant():
    """In the branch that adds nothing, the sum is an array of its own, as it is in the function."""

    def of_an_argument(x, n):
        y = np.zeros(5) if n > 2 else x * 0.5
        return x + y

    def of_one_element(x, n):  # the derivative in `x` is a constant where no branch is taken
        s = n * 1.0
        if n > 2:
            s = s + x[n % 5]
        if s > 4.0:
            s = s * x[0]
        return s

    def two_answers(x, n):
        y = x * 1.0
        return y, y + (np.zeros(5) if n > 2 else x * 0.5)

    for f in (of_an_argument, grad(of_one_element), two_answers):
        g = staged(f)
        for _ in range(4):
            for n in (1, 3, 4):
                x = X[0].copy()
                one, other = (np.stack(trees) for trees in (g(x, n), f(x, n)))
                np.testing.assert_allclose(one, other)
                found = g(x, n)
                arrays = found if type(found) is tuple else (found,)
                for array in arrays:
                    array += 1.0  # nobody else sees it
                assert len(arrays) == 1 or not np.shares_memory(*arrays)
                np.testing.assert_array_equal(x, X[0])
        assert len(g.sources) == 1


def test_a_sum_that_is_written_to_stays():
    def f(x, n):
        s = x[0] * 1.0
        for i in range(n):
            y = x * s
            z = y + (x * x if s > 0.5 else np.zeros(5))
            z[i % 5] = s
            s = np.sum(z * z)
        return s

    def of_what_is_carried(x, n):
        s, w = x[0] * 1.0, x * 1.0
        y = w
        for i in range(n):
            y = y + (x * x if s > 0.5 else np.zeros(5))
            y[i % 5] = s * 2.0
            s = s + 0.1
        return np.sum(w) + np.sum(y * y)

    for program in (f, of_what_is_carried):
        g = staged(program)
        for _ in range(3):
            for x in X:
                for n in (3, 1, 0):
                    np.testing.assert_allclose(g(x, n), program(x, n), rtol=1e-10)
