"""Writes in place in loops and branches that are written down: right in all modes, or refused with a reason."""

import warnings

import numpy as np
import pytest

from shiftreset_ad import derivative, grad, jacfwd, jvp, staged, zeros

POINTS = [(0.7, 2), (1.3, 1), (0.7, 0), (2.5, 2), (0.4, 3)]


def an_element(x, n):
    b, i = zeros(4), 0
    while i < n:
        b[i % 4] = x * (i + 1)
        b[(i + 1) % 4] += b[i % 4] * x
        i = i + 1
    return np.sum(b * b)


def in_branches_of_a_for(x, n):
    v = x * np.arange(1.0, 4.0)
    s = 0.0
    for i in range(n):
        if v[i % 3] > 0.9:
            v[i % 3] = v[(i + 1) % 3] * 0.5
        else:
            v[1:] *= 1.5
        s = s + v[0]
    return s + np.sum(v * v)


def in_a_branch(x, n):
    b = x * np.ones(3)
    if x > 1.0:
        b[n % 3] = x * x
        b -= 0.5
    return np.sum(b * b)


def by_other_names_before_and_after(x, n):
    """Whoever holds the array, or a view of it, sees the elements after the loop."""
    b = x * np.ones(3)
    same, view, i = b, b[1:], 0
    while i < n:
        b[i % 3] = x * i
        i = i + 1
    return np.sum(b * same) + view[0] * 10 + np.sum(same)


def through_a_view(x, n):
    b = x * np.ones(3)
    view, i = b[1:], 0
    while i < n:
        view[i % 2] = x * i
        i = i + 1
    return np.sum(b * b) + b[1]


def a_loop_in_a_loop(x, n):
    b = x * np.ones(3)
    same, i = b, 0
    while i < n:
        j = 0
        while j <= i:
            if b[j % 3] < 2.0:
                b[j % 3] += x
            j += 1
        b *= 0.9
        i = i + 1
    return np.sum(b * same) + same[0]


def seen_by_an_inner_function(x, n):
    b, i = x * np.ones(3), 0

    def get(k):
        return b[k] * 2.0

    while i < n:
        b[i % 3] = get((i + 1) % 3) + 1.0
        i = i + 1
    return np.sum(b * b)


def until_a_break(x, n):
    b = zeros(4)
    for i in range(4):
        b[i] = x * i
        if b[i] > 1.0:
            break
        b[i] += 1.0
    return np.sum(b * b)


def rows_and_columns(x, n):
    a, i = x * np.ones((3, 2)), 0
    while i < n:
        a[i % 3] = a[(i + 1) % 3] * x + i
        a[:, 0] -= 0.25 * a[i % 3, 1]
        a[i % 3, 1] *= 1.5
        i = i + 1
    return np.sum(a * a)


def its_own_elements(x, n):
    b, i = x * np.arange(4.0), 0
    while i < n:
        b[1:] = b[:-1]
        b[0] += 1.0
        i += 1
    return np.sum(b * np.arange(4.0) * x)


def an_array_of_each_round(x, n):
    b, i, s = x * np.ones(3), 0, 0.0
    while i < n:
        w = b * 2.0
        j = 0
        while j < i:
            w[j % 3] = x * j
            j += 1
        s += np.sum(w)
        b = w
        i += 1
    return s + b[0]


def bound_before_it_is_written(x, n):
    b, i = x * np.ones(3), 0
    same = b
    while i < n:
        b = b * 2.0
        b[0] = 5.0 * x + i
        i = i + 1
    return np.sum(b) + same[0]


def ended_by_its_elements(x, n):
    b, i = x * np.ones(3), 0
    while np.max(b) < 5.0 and i < 20:
        b[n % 3] += 0.7 * b[(n + 1) % 3]
        i = i + 1
    return np.sum(b) * i


def read_by_another_name(x, n):
    b, i = x * np.ones(3), 0
    same = b
    while i < n:
        b[i % 3] = x * i + same[0]
        i = i + 1
    return np.sum(b) + same[1] * 10


def read_in_a_list(x, n):
    b, i, s = x * np.ones(3), 0, 0.0
    arrays = [b]
    while i < n:
        b[0] = 5.0 * x + i
        s = s + arrays[0][0]
        i = i + 1
    return s


def written_by_two_names(x, n):
    b, i = x * np.ones(3), 0
    same = b
    while i < n:
        b[0] = x * i
        same[1] = b[0] + 1.0
        i = i + 1
    return np.sum(b * b) + same[0]


WRITTEN_DOWN = [
    *(an_element, in_branches_of_a_for, in_a_branch, by_other_names_before_and_after, through_a_view),
    *(a_loop_in_a_loop, seen_by_an_inner_function, until_a_break, rows_and_columns, its_own_elements),
    *(an_array_of_each_round, bound_before_it_is_written, ended_by_its_elements),
    *(read_by_another_name, read_in_a_list, written_by_two_names),
]


def read_through_a_view(x, n):
    b, i, s = x * np.ones(3), 0, 0.0
    while i < n:
        view = b[1:]
        b[1] = x * i
        s = s + view[0]
        i = i + 1
    return s


def written_through_a_view_too(x, n):
    b, i = x * np.ones(4), 0
    view = b.reshape(2, 2)
    while i < n:
        view[i % 2, 0] = x * i
        b[3] += view[0, 0]
        i += 1
    return np.sum(b * b) + view[1, 1]


def with_two_names_after_a_round(x, n):
    b, same, i = x * np.ones(3), x * np.zeros(3), 0
    while i < n:
        b[i % 3] = x * i + same[0]
        same = b
        i = i + 1
    return np.sum(b * b) + same[0]


def with_another_name_in_one_branch(x, n):
    b, other, i, s = x * np.ones(3), x * np.zeros(3), 0, 0.0
    while i < n:
        perhaps = b if x > 0.5 + i else other
        b[0] = 5.0 * x + i
        s = s + perhaps[0]
        i = i + 1
    return s


def handed_on_by_one_branch(x, n):
    b, other = x * np.ones(3), x * np.zeros(3)
    perhaps = other
    if x > 0.5:
        b[0] = 5.0 * x
        perhaps = b if x > 1.0 else other
    b[1] = 7.0 * x
    return np.sum(perhaps * b)


def bound_after_it_is_written(x, n):
    b, i = x * np.ones(3), 0
    same = b
    while i < n:
        b[0] = 5.0 * x + i
        b = b * 2.0
        i = i + 1
    return np.sum(b) + same[0]


def bound_in_the_other_branch(x, n):
    b = x * np.ones(3)
    same = b
    if x > 1.0:
        b[0] = 5.0
    else:
        b = b * 2.0
    return np.sum(b) + same[0]


REFUSED = [
    written_through_a_view_too,
    *(read_through_a_view, with_two_names_after_a_round),
    *(with_another_name_in_one_branch, handed_on_by_one_branch, bound_after_it_is_written, bound_in_the_other_branch),
]
MODES = {
    "value": lambda f: f,
    "reverse": grad,
    "reverse in reverse": lambda f: grad(grad(f)),
    "forward": lambda f: lambda x, n: jvp(lambda x: f(x, n), (x,), (1.0,)),
    "forward in reverse": lambda f: grad(lambda x, n: jvp(lambda x: f(x, n), (x,), (1.0,))[1]),
    "series": lambda f: lambda x, n: derivative(lambda x: f(x, n), 3)(x),
    "a stack": lambda f: lambda x, n: jacfwd(lambda u: f(u[0], n) * u)(np.stack([x, 0.5])),
}


def require_agreement(f, g):
    for _ in range(2):
        for x, n in POINTS:
            np.testing.assert_allclose(g(x, n), f(x, n), rtol=1e-10, atol=1e-12)


@pytest.mark.slow_but_every(3)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("program", WRITTEN_DOWN)
def test_one_record_serves_all_rounds(program, mode):
    f = MODES[mode](program)
    g = staged(f)
    require_agreement(f, g)
    assert len(g.sources) == 1


@pytest.mark.parametrize("mode", ["value", "reverse"])
@pytest.mark.parametrize("program", REFUSED)
def test_what_would_be_seen_by_another_name_is_not_written_down(program, mode):
    f = MODES[mode](program)
    g = staged(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        require_agreement(f, g)
    assert len(g.sources) > 1


def test_a_write_of_another_dtype_or_shape_raises_what_python_raises():
    def f(x, n):
        b, i = x * np.ones(3), 0
        while i < n:
            b += np.ones((2, 3))
            i = i + 1
        return np.sum(b)

    with pytest.raises(ValueError, match="broadcast"):
        staged(f)(1.0, 2)
