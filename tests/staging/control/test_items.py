"""Items of plain lists, tuples and arrays at an index that depends on the arguments: the steps choose the item."""

import warnings

import numpy as np
import pytest

from shiftreset_ad import array, grad, staged
from shiftreset_ad.staging.steps.trace import identical
from tests.staging.native.natively import needs_native

TABLE = [1.0, 2.5, -3.0, 4.0] * 3
PAIRS = [(1.0, 2), (-0.5, 3), (4.0, 1)] * 4
ROWS = [[1.0, 2.0], [3.0, -4.0], [0.5, 7.0]] * 4
GRID = np.arange(24.0).reshape(12, 2) * 0.3
ARRAYS = [np.array([1.0, 2.0]), np.array([-3.0, 4.0]), np.array([0.5, 6.0])] * 4
COUNTS = np.array([3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8])


def over_a_range(item):
    def f(x, n):
        total = 0.0
        for k in range(n):
            total = total + item(x, k)
        return total

    return f


def over_a_sum(item):
    def f(x, n):
        total, k = 0.0, 0
        while total < n and k < 11:
            total, k = total + abs(item(x, k)), k + 1
        return total

    return f


ITEMS = {
    "a list": lambda x, k: TABLE[k] * x,
    "the end of a list": lambda x, k: TABLE[-1 - k] * x,
    "a tuple": lambda x, k: (1.0, 2.0, x)[k % 3] * x,
    "a list of numbers": lambda x, k: [x, x * x, 0.5 * x][k % 3] * x,
    "integers": lambda x, k: [1, 2, 3][k % 3] * x,
    "truths": lambda x, k: x if [True, False, True][k % 3] else 2.0 * x,
    "pairs": lambda x, k: PAIRS[k][0] * x ** PAIRS[k][1],
    "rows": lambda x, k: ROWS[k][k % 2] * x,
    "an array": lambda x, k: GRID[k, 1] * x,
    "a row of an array": lambda x, k: (GRID[k] * x).sum(),
    "a column of a row": lambda x, k: GRID[k][0] * x,
    "arrays": lambda x, k: (ARRAYS[k] * x).sum(),
    "an index from an array": lambda x, k: TABLE[COUNTS[k]] * x,
    "quotient and remainder": lambda x, k: ROWS[divmod(k, 2)[0]][divmod(k, 2)[1]] * x,
}


@needs_native
@pytest.mark.parametrize("loop", [over_a_range, over_a_sum])
@pytest.mark.parametrize("item", ITEMS.values(), ids=ITEMS)
def test_a_loop_is_written_down_once(item, loop):
    f = loop(item)
    for g in (f, grad(f)):
        compiled = staged(g)
        for x, n in ((0.5, 3), (0.7, 7), (0.2, 11), (1.3, 1), (0.5, 6), (0.4, 0)):
            found, expected = compiled(x, n), g(x, n)
            assert type(found) is type(expected)
            assert found == pytest.approx(expected, rel=1e-14)
        assert len(compiled.sources) == 1
        assert "as native code" in compiled.report()


@pytest.mark.parametrize("item", ITEMS.values(), ids=ITEMS)
def test_second_derivatives(item):
    second = grad(grad(over_a_range(lambda x, k: item(x, k) * x)))
    compiled = staged(second)
    for n in (2, 5, 3, 7):
        assert compiled(0.7, n) == pytest.approx(second(0.7, n), rel=1e-12)
    assert len(compiled.sources) == 1


def test_what_is_read_is_looked_at_in_each_call():
    table, rows, grid = [1.0, 2.0, 3.0], [[1.0], [2.0], [3.0]], np.array([1.0, 2.0, 3.0])
    for holder, write in (
        (table, lambda: table.__setitem__(1, 7.0)),
        (rows, lambda: rows[1].__setitem__(0, 7.0)),
        (rows, lambda: rows.__setitem__(1, [8.0])),
        (grid, lambda: grid.__setitem__(1, 7.0)),
    ):
        compiled = staged(lambda x, k, holder=holder: np.sum(holder[k]) * x)
        for k in (0, 1, 2):
            assert compiled(2.0, k) == np.sum(holder[k]) * 2.0
        write()
        for k in (0, 1, 2):
            assert compiled(2.0, k) == np.sum(holder[k]) * 2.0


def test_an_index_that_is_too_large_is_the_error_of_python():
    for f, text in (
        (lambda x, k: TABLE[k] * x, "list index out of range"),
        (lambda x, k: PAIRS[k][0] * x, "list index out of range"),
        (lambda x, k: (1.0, 2.0)[k] * x, "tuple index out of range"),
        (lambda x, k: GRID[k, 0] * x, "index 12 is out of bounds for axis 0 with size 12"),
    ):
        compiled = staged(f)
        assert [compiled(2.0, k) for k in (0, 1, -1)] == [f(2.0, k) for k in (0, 1, -1)]
        for _ in range(2):
            with pytest.raises(IndexError, match=text):
                compiled(2.0, 12)
        assert compiled(3.0, 1) == f(3.0, 1)


def test_masks_and_slices_and_arrays_as_indices():
    for f in (
        lambda x, k: GRID[k * x < GRID] * x,
        lambda x, k: GRID[:k] * x,
        lambda x, k: GRID[array([0, k, 1])] * x,
        lambda x, k: GRID[k, ::-1] * x,
        lambda x, k: TABLE[:k] + TABLE[k:] + [x],
    ):
        compiled = staged(f)
        for k in (0, 1, 5, 1, 2, 5):
            np.testing.assert_array_equal(compiled(2.0, k), f(2.0, k))


# A row may have another name. What is written to by one name is seen by the others, or the index is asked.


def row_is_written_to(x, k):
    rows = [np.array([1.0, 2.0]), np.array([3.0, 4.0])]
    row = rows[k]
    row[0] = 9.0
    return x * rows[0][0] + rows[1][0] + row[1]


def row_of_numbers_is_written_to(x, k):
    rows = [x * np.array([1.0, 2.0]), x * np.array([3.0, 4.0])]
    row = rows[k]
    row[0] = 9.0 * x
    return rows[0][0] + x * rows[1][0] + row[1]


def row_of_an_array_is_written_to(x, k):
    grid = np.arange(6.0).reshape(3, 2)
    row = grid[k]
    row[0] = 9.0
    return x * grid[0, 0] + grid[1, 0] + row[1]


def array_is_written_to(x, k):
    grid = np.arange(6.0).reshape(3, 2)
    row = grid[k]
    grid[0] = 9.0
    return x * row[1]


def one_of_the_arrays_is_written_to(x, k):
    rows = [x * np.array([1.0, 2.0]), x * np.array([3.0, 4.0])]
    row = rows[k]
    rows[0][1] = 3.0
    return x * row[1]


def one_of_the_plain_arrays_is_written_to(x, k):
    rows = [np.array([1.0, 2.0]), np.array([3.0, 4.0])]
    row = rows[k]
    rows[0][1] = 3.0
    return x * row[1]


def list_is_written_to(x, k):
    rows = [[1.0, 2.0], [3.0, 4.0]]
    rows[k][0] = 5.0
    return x * rows[0][0] + rows[1][0]


def list_grows(x, k):
    rows = [[1.0, 2.0], [3.0, 4.0]]
    rows[k].append(x)
    return x * len(rows[0]) + rows[1][-1]


def another_name_of_the_list(x, k):
    rows = [[1.0, 2.0], [3.0, 4.0]]
    row = rows[k]
    rows[1][0] = 5.0
    return x * row[0]


def rows_in_a_loop(x, k):
    grid = np.arange(6.0).reshape(3, 2)
    last, total = grid[0], 0.0
    for row in grid:
        if total > k:
            break
        last, total = row, total + row[1] * x
    grid[:] = 1.0
    return total + last[1]


def lists_in_a_loop(x, k):
    rows = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
    last, total = rows[0], 0.0
    for row in rows:
        if total > k:
            break
        last, total = row, total + row[1] * x
    rows[1][1] = rows[0][1] = 10.0
    return total + last[1]


def row_is_written_to_in_a_loop(x, k):
    rows = [x * np.array([1.0, 2.0]), x * np.array([3.0, 4.0])]
    row = rows[int(k > 0.0)]
    while k > 2.0:
        row[0] = 9.0 * x
        k = k - 1.0
    return rows[0][0] + x * rows[1][0] + row[1]


def row_of_another_kind(x, k):
    rows = [(1.0, 2.0), [3.0, 4.0]]
    row = rows[k]
    return isinstance(row, list), row[0] * x


def error_is_caught(x, k):
    try:
        return x * [1.0, 2.0][k]
    except IndexError as error:
        return len(str(error))


@pytest.mark.parametrize("f", [row_is_written_to_in_a_loop, row_of_another_kind, error_is_caught])
def test_what_only_a_later_call_shows(f):
    compiled = staged(f)
    for x, k in ((2.0, 1), (3.0, 1), (0.5, 0), (0.5, 1), (2.0, 2), (1.5, 3), (1.0, 0)):
        if f is not row_of_another_kind or k < 2:
            assert compiled(x, k) == f(x, k)


def test_other_loops_are_written_down_where_an_index_is_asked():
    def f(x, k):
        while x < 10.0:
            x = 1.5 * x + 1.0
        grid = np.arange(6.0).reshape(3, 2)
        row = grid[k]
        grid[0] = 9.0
        return x * row[1]

    compiled = staged(f)
    for x in (0.5, 3.0, 20.0, 0.1):
        for k in (0, 1):
            assert compiled(x, k) == f(x, k)
    assert len(compiled.sources) == 2


@pytest.mark.parametrize(
    "f",
    [
        row_is_written_to,
        row_of_numbers_is_written_to,
        row_of_an_array_is_written_to,
        array_is_written_to,
        one_of_the_arrays_is_written_to,
        one_of_the_plain_arrays_is_written_to,
        list_is_written_to,
        list_grows,
        another_name_of_the_list,
        rows_in_a_loop,
        lists_in_a_loop,
    ],
    ids=lambda f: f.__name__,
)
def test_a_row_with_another_name(f):
    compiled = staged(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for x, k in ((2.0, 0), (3.0, 1), (0.5, 1), (1.5, 0), (30.0, 1)):
            assert identical(compiled(x, k), f(x, k))


@needs_native
def test_pairs_are_gone_over_until_a_break():
    def f(x, most):
        total = 0.0
        for a, b in PAIRS:
            if total > most:
                break
            total = total + a * x**b
        return total

    for g in (f, grad(f)):
        compiled = staged(g)
        for x, most in ((2.0, 3.0), (0.5, 1.0), (1.5, 100.0), (3.0, 20.0), (2.0, -1.0)):
            assert compiled(x, most) == pytest.approx(g(x, most), rel=1e-14)
        assert len(compiled.sources) == 1


def test_a_stack_in_a_round_has_a_way_back():
    """Which of the parts counts depends on the round."""
    f = over_a_range(lambda x, k: np.stack([x, 2.0 * x, x * x])[k % 3] * x)
    compiled = staged(grad(f))
    for n in (1, 2, 5, 7):
        assert compiled(0.7, n) == pytest.approx(grad(f)(0.7, n), rel=1e-14)
    assert len(compiled.sources) == 1


def test_what_has_no_number_is_asked_for():
    """Items of different kinds, and keys of a dict that are no integers: there is a record for each index."""
    for f in (lambda x, k: [x, np.float32(2.0), 3][k] * x, lambda x, k: {0: 1.0, 1: 2.0, 2.0: 5.0}[k] * x):
        compiled = staged(f)
        for k in (0, 1, 2, 1):
            found, expected = compiled(2.0, k), f(2.0, k)
            assert found == expected
            assert type(found) is type(expected)
        assert len(compiled.sources) == 3
