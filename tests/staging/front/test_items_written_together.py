"""A statement that writes to several items, such as `x[i], x[j] = x[j], x[i]`, is written down as Python does it."""

import warnings

import numpy as np
import pytest

from shiftreset_ad import grad, hessian, jvp, staged

POINTS = [np.array(x) for x in ([0.5, -1.0, 2.0, 0.25], [2.0, 1.5, -0.5, -1.0], [-1.0, 0.0, 1.0, 2.0])]
MODES = {
    "value": lambda f: f,
    "reverse": grad,
    "forward": lambda f: lambda x: jvp(f, (x,), (np.array([1.0, -0.5, 0.25, 2.0]),)),
    "second": hessian,
}
WEIGHTS = np.array([1.0, 2.0, 4.0, 8.0])


def sorts(x):
    a, swapped = x.copy(), True
    while swapped:
        swapped = False
        for j in range(3):
            if a[j] > a[j + 1]:
                a[j], a[j + 1] = a[j + 1], a[j]
                swapped = True
    return np.sum(a * a * WEIGHTS)


def pivots(x):
    m, d = np.outer(x, np.cos(x)) + np.diag(x + 2.5), 1.0
    for k in range(4):
        p = k + int(np.argmax(np.abs(m[k:, k])))
        if p != k:
            m[k], m[p] = m[p].copy(), m[k].copy()
            d = -d
        for i in range(k + 1, 4):
            m[i] = m[i] - m[i, k] / m[k, k] * m[k]
        d = d * m[k, k]
    return d


def binds_the_index_before_the_item(x):
    a, i = x.copy(), 0
    while i < 3 and x[i] < 1.0:
        i, a[i] = i + 1, a[i] * a[i + 1]
    return np.sum(a * a * WEIGHTS)


def takes_an_inner_tuple_apart(x):
    a, b, c = x.copy(), x * x, 0.0
    for k in range(3):
        if a[k] > b[k + 1]:
            a[k], (b[k + 1], c) = b[k] * 0.5, (a[k], c + a[k + 1])
    return np.sum(a * b) + c


def keeps_the_rest(x):
    a, rest = x.copy(), [x[0], x[1]]
    if a[0] > 0.0:
        a[1], *rest = a[2], a[1] * 2.0, a[0]
    return np.sum(a * a) + rest[0] * rest[1]


def assigns_twice(x):
    a, b, s = x.copy(), x + 1.0, 0.0
    for k in range(3):
        if a[k] > 0.0:
            a[k] = a[k + 1] = s = a[k] * 0.5 + s
            a[k], b[k] = b[k + 1], a[k + 1] = a[k + 1], b[k]
    return np.sum(a * b * WEIGHTS) + s


def writes_beside_others(x):
    a, found = x.copy(), {"k": 1.0}
    for k in range(3):
        if a[k] > found["k"]:
            found["k"], a[k] = a[k], found["k"] * 0.5
    return np.sum(a * a) + found["k"]


class Pair:
    def __init__(self, x):
        self.a, self.b = x.copy(), x * x


def swaps_items_of_attributes(x):
    o, k = Pair(x), 0
    while k < 3 and o.a[k] < 2.0:
        o.a[k], o.a[k + 1] = o.a[k + 1] * 1.5, o.a[k] + 0.5
        o.a[k], o.b[k + 1] = o.b[k], o.a[k + 1]
        k += 1
    return np.sum(o.a * o.b * WEIGHTS)


def writes_to_attributes_and_variables(x):
    o, c, s = Pair(x), x + 1.0, 0.0
    for k in range(3):
        if c[k] > 0.5:
            o.a[k], c[k + 1], s = c[k] * 0.5, o.b[k], s + o.a[k]
            o.b[k] = c[k] = o.a[k + 1] = s * 0.25
    return np.sum(o.a * o.b * c * WEIGHTS) + s


def writes_to_items_of_lists(x):
    rows, k = [x.copy(), x * 2.0, x + 1.0], 0
    while k < 3 and rows[0][k] < 2.5:
        rows[0][k], rows[2][k] = rows[1][k + 1], rows[0][k + 1] * rows[2][k]
        k += 1
    return np.sum(rows[0] * rows[1] * rows[2])


def one_array_has_two_attributes(x):
    o, k = Pair(x), 0
    o.b = o.a
    while k < 3 and x[k] < 1.5:
        o.a[k], o.b[k + 1] = o.b[k + 1] * 2.0, o.a[k] + 1.0
        k += 1
    return np.sum(o.a * o.b * WEIGHTS)


def rebinds_the_attribute_by_the_way(x):
    o = Pair(x)

    def other():
        o.a = o.a * 0.5
        return o.a[1]

    for k in range(2):
        if x[k] > 0.0:
            o.a[k], o.b[k] = other(), o.a[k + 1]
    return np.sum(o.a * o.b * WEIGHTS)


def binds_the_object_too(x):
    o, p = Pair(x), Pair(x + 1.0)
    for k in range(3):
        if x[k] > 0.1:
            o, o.a[k] = p, o.a[k + 1]
            p = Pair(o.b)
    return np.sum(o.a * p.b * WEIGHTS)


def binds_the_attribute_too(x):
    o = Pair(x)
    for k in range(3):
        if x[k] > 0.1:
            o.a, o.a[k], o.b[k] = o.b * 2.0, o.a[k + 1], o.a[k]
    return np.sum(o.a * o.b * WEIGHTS)


def calls_to_find_the_array(x):
    o, calls = Pair(x), [0.0]

    def found():
        calls[0] = calls[0] + 1.0
        return o

    for k in range(3):
        if x[k] > 0.1:
            found().a[k], o.b[k] = o.b[k + 1], o.a[k]
    return np.sum(o.a * o.b * WEIGHTS) + x[0] * calls[0]


def writes_what_it_reads_by_a_view(x):
    """The second row is written to the first one before the first one is read."""
    m = np.outer(x, x) + x
    if x[0] > 0.0:
        m[0], m[1] = m[1], m[0]
    return np.sum(m * m * WEIGHTS)


def binds_the_array_too(x):
    a, b = x.copy(), x * 2.0
    for k in range(3):
        if a[k] > 0.1:
            a, a[k] = b, a[k + 1]
            b = b * 1.0
    return np.sum(a * b * WEIGHTS)


def takes_too_many_apart(x):
    a = x.copy()
    if a[0] > 0.0:
        a[0], a[1] = a
    return np.sum(a * a)


WRITTEN_DOWN = [
    sorts,
    pivots,
    binds_the_index_before_the_item,
    takes_an_inner_tuple_apart,
    keeps_the_rest,
    assigns_twice,
    writes_beside_others,
    swaps_items_of_attributes,
    writes_to_attributes_and_variables,
    writes_to_items_of_lists,
    one_array_has_two_attributes,
]
OTHERS = [
    rebinds_the_attribute_by_the_way,
    binds_the_object_too,
    binds_the_attribute_too,
    calls_to_find_the_array,
    writes_what_it_reads_by_a_view,
    binds_the_array_too,
    takes_too_many_apart,
]


def outcome(f, x):
    try:
        return f(x.copy())
    except ValueError as error:
        return repr(error)


def require_agreement(f, g):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for x in [*POINTS, POINTS[0], POINTS[0], *POINTS]:
            found, expected = outcome(g, x), outcome(f, x)
            if isinstance(expected, str):
                assert found == expected
            else:
                np.testing.assert_allclose(found, expected, 1e-12, 1e-12)


@pytest.mark.slow_but_every(3)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("program", WRITTEN_DOWN)
def test_one_record_serves_all_points(program, mode):
    f = MODES[mode](program)
    g = staged(f)
    require_agreement(f, g)
    assert len(g.sources) == 1


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("program", OTHERS)
def test_what_cannot_be_written_down_is_right(program, mode):
    f = MODES[mode](program)
    g = staged(f)
    require_agreement(f, g)
    assert "it answers something else" not in g.report()
