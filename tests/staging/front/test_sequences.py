"""Loops over `zip`, `enumerate` and `reversed` that end with a `break` are written down once."""

import itertools
import re
from itertools import count, pairwise, product

import numpy as np
import pytest

from shiftreset_ad import grad, staged

TABLE, OTHER = [1.0, 2.0, -3.0, 4.0, 0.5], [2.0, 1.0, 1.0, 3.0, 7.0]
PAIRS = [(1.0, 2.0), (3.0, 4.0), (5.0, 6.0)]
MOST = (3.0, 1.0, 100.0, 20.0, -1.0, 0.3)


def zipped(x, most):
    total = 0.0
    for a, b in zip(TABLE, OTHER, strict=True):
        if total > most:
            break
        total = total + a * x[0] + b
    return total


def zipped_with_fewer(x, most):
    total = a = 0.0
    for a, b in zip(TABLE, OTHER[:3], strict=False):
        if total > most:
            break
        total = total + a * x[1] + b
    return total + a


def three_together(x, most):
    total = 0.0
    for a, b, k in zip(TABLE, x, range(10), strict=False):
        if total > most:
            continue
        total = total + a * b + k
    return total


def numbered(x, most):
    total = 0.0
    for i, a in enumerate(x):
        if total > most:
            return i * total
        total = total + a * x[0] + i
    return total


def numbered_pairs(x, most):
    total = 0.0
    for i, (a, b) in enumerate(PAIRS, start=1):
        if total > most:
            break
        total = total + a * x[0] * b + i
    else:
        total = total + 100.0
    return total


def numbered_and_zipped(x, most):
    total = 0.0
    for i, (a, b) in enumerate(zip(TABLE, OTHER, strict=True)):
        if total > most:
            break
        total = total + a * x[0] * b + i
    return total


def numbers(x, most):
    total = 0.0
    for i, a in enumerate([x[0], 2.0 * x[1], x[0] * x[1]]):
        if total > most:
            break
        total = total + a * i
    return total


def from_the_end(x, most):
    total = 0.0
    for a in reversed(TABLE):
        if total > most:
            break
        total = total + a * x[0]
    return total


@pytest.mark.parametrize(
    "f",
    [
        zipped,
        zipped_with_fewer,
        three_together,
        numbered,
        numbered_pairs,
        numbered_and_zipped,
        numbers,
        from_the_end,
    ],
    ids=lambda f: f.__name__,
)
def test_a_loop_is_written_down_once(f):
    for g in (f, grad(f)):
        compiled = staged(g)
        for i, most in enumerate(MOST):
            x = np.array([2.0, 1.0, 0.5, 2.0, -1.0]) * (0.5 + i)
            np.testing.assert_allclose(compiled(x, most), g(x, most), rtol=1e-14)
        assert len(compiled.sources) == 1


def test_plain_loops_beside_a_loop_that_is_written_down():
    def f(x):
        while x < 10.0:
            x = 1.5 * x + 1.0
        for i, (a, b) in enumerate(zip(TABLE, reversed(OTHER), strict=True), 2):
            x = x + a * b**i
        return x

    for g in (f, grad(f)):
        compiled = staged(g)
        for x in (0.5, 3.0, 20.0, 0.1):
            assert compiled(x) == g(x)
        assert len(compiled.sources) == 1


def test_iterators_that_the_program_goes_on_with():
    def f(x, most):
        items, total = iter(TABLE), 0.0
        for a, b in zip(items, items, strict=False):
            if total > most:
                break
            total = total + a * b * x
        return total + sum(items)

    compiled = staged(f)
    for most in MOST:
        assert compiled(2.0, most) == f(2.0, most)


def test_a_list_that_grows():
    def f(x):
        items, total = [1.0, 2.0], 0.0
        for i, a in enumerate(items):
            if i < 4:
                items.append(a + x)
            total = total + a * i
            if total > 9.0:
                break
        return total

    compiled = staged(f)
    for x in (0.5, 2.0, 0.1, 7.0, 0.5):
        assert compiled(x) == f(x)


def unknown_option(x):
    for _, a in enumerate(TABLE, begin=1):
        if x > a:
            break
    return x


def no_items(x):
    for _, a in enumerate(3.0):
        if x > a:
            break
    return x


def no_end(x):
    for a in reversed({1.0}):
        if x > a:
            break
    return x


@pytest.mark.parametrize("f", [unknown_option, no_items, no_end], ids=lambda f: f.__name__)
def test_errors_are_pythons(f):
    with pytest.raises(TypeError) as expected:
        f(2.0)
    compiled = staged(lambda x: x if x > 5.0 else f(x))
    for x in (7.0, 8.0, 2.0, 9.0, 3.0):
        if x > 5.0:
            assert compiled(x) == x
        else:
            with pytest.raises(TypeError) as error:
                compiled(x)
            assert str(error.value) == str(expected.value)


def errors_in_place(x, most):
    total = 0.0
    for a, _ in zip(TABLE, OTHER[:2], strict=True):
        total = total + a * x
        if total > most:
            break
    return total


def test_lengths_that_differ():
    compiled = staged(errors_in_place)
    for most in (0.5, 100.0, 2.0, 100.0):
        if most < 100.0:
            assert compiled(2.0, most) == errors_in_place(2.0, most)
        else:
            with pytest.raises(ValueError, match=r"zip\(\) argument 2 is shorter"):
                compiled(2.0, most)


def test_names_that_mean_something_else():
    def f(x, zip):  # noqa: A002 (the name is the test)
        total = 0.0
        for a in zip(x):
            if total > 3.0:
                break
            total = total + a
        return total

    compiled = staged(f)
    for x in (1.0, 5.0, 2.0):
        assert compiled(x, lambda x: [x, 2.0 * x, x]) == f(x, lambda x: [x, 2.0 * x, x])


def pairwise_of_an_argument(x, most):
    total = 0.0
    for i, (a, b) in enumerate(itertools.pairwise(x)):
        if total > most:
            break
        total = total + a * b + i
    return total


def pairwise_of_a_tuple(x, most):
    total = 0.0
    for a, b in pairwise((1.0, -2.0, 3.0, 0.5)):
        if total > most:
            continue
        total = total + a * x[0] - b
    return total


def product_of_ranges(x, most):
    total = 0.0
    for i, j in itertools.product(range(3), range(2, 5)):
        if total > most:
            break
        total = total + x[0] * i + j
    return total


def product_of_several(x, most):
    total = 0.0
    for (i, v), j in zip(product(range(2), (1.0, 2.0, 4.0)), itertools.count(1), strict=False):
        total = total + x[0] * i * v + j
    for i, v, w in product(reversed(range(2)), (1.0, 3.0), x):
        if total > most + w:
            return total * i
        total = total + v * w
    return total


def counted(x, most):
    total = 0.0
    for i in itertools.count(1):
        total = total * 0.5 + x[0] * i
        if total > most or i > 20:
            break
    return total * i


def counted_downwards(x, most):
    total = 0.0
    for i in count(5, -2):
        total = total * 0.5 + x[0] * i
        if total < most - 20.0:
            return total * i
        if i < -20:
            break
    return total


def counted_beside_others(x, most):
    total = 0.0
    for i, (k, v) in zip(count(step=3), enumerate(x), strict=False):
        if total > most:
            break
        total = total + i * v + k
    return total


@pytest.mark.parametrize("mode", [lambda f: f, grad], ids=["plain", "grad"])
@pytest.mark.parametrize(
    "f",
    [
        *(pairwise_of_an_argument, pairwise_of_a_tuple, product_of_ranges),
        *(counted, counted_downwards, counted_beside_others),
    ],
    ids=lambda f: f.__name__,
)
def test_functions_of_itertools_are_written_down_once(f, mode):
    compiled = staged(mode(f))
    for most in MOST:
        x = np.array([0.7, 1.2, -0.4, 2.0]) + most / 100
        np.testing.assert_allclose(compiled(x, most), mode(f)(x, most), rtol=1e-12)
    assert len(compiled.sources) == 1
    assert "while " in compiled.sources[0] or f in (pairwise_of_a_tuple, product_of_ranges)


def counted_by_floats(x, most):
    total = 0.0
    for v in count(0.5):
        total = total + v * x[0]
        if total > most or v > 9.0:
            break
    return total


def counted_by_nothing(x, most):
    for v in count(1, 0):
        x = x * 0.5 + v
        if x[0] < most or x[0] < 1.9999:
            break
    return x[0]


@pytest.mark.parametrize("f", [counted_by_floats, counted_by_nothing], ids=lambda f: f.__name__)
def test_other_counts_are_gone_over_by_python(f):
    compiled = staged(f)
    for most in MOST:
        x = np.array([0.7, 1.2]) + most / 100
        assert compiled(x, most) == pytest.approx(f(x, most), rel=1e-12)


def test_a_wrong_count_raises_the_error_of_python():
    def f(x):
        for i in count("a") if x > 1.0 else count(1.5):
            if x > 0.0:
                return i * x
        return x

    compiled = staged(f)
    for _ in range(3):
        assert compiled(0.5) == 0.75
        with pytest.raises(TypeError, match="a number is required"):
            compiled(2.0)


def with_staged_ends(x, n):
    total = 0.0
    for k, v in zip(range(n), reversed(range(1, n + 1)), strict=False):
        total = total + x[0] * k * v
    for k, v in enumerate(range(2, n, 2)):
        total = total - x[1] * k * v
    return total + sum(x[2] * k for k in reversed(range(n)))


def test_ranges_with_staged_ends():
    x = np.array([0.7, 1.2, -0.4])
    for mode in (lambda f: f, grad):
        compiled = staged(mode(with_staged_ends))
        for n in (3, 0, 5, 1, 9, 2):
            np.testing.assert_allclose(compiled(x, n), mode(with_staged_ends)(x, n), rtol=1e-12)
        assert len(compiled.sources) == 1


def strictly(x, n):
    total = 0.0
    for k, v in zip(range(n), (1.0, 2.0, 3.0), strict=True):
        total = total + x * k * v
    return total


def test_strict_lengths_are_asked():
    compiled = staged(strictly)
    for n in (3, 2, 3, 4, 3, 0):
        if n == 3:
            assert compiled(1.5, n) == strictly(1.5, n)
        else:
            with pytest.raises(ValueError, match=r"zip\(\) argument 2 is"):
                compiled(1.5, n)


def lists_of_one_length(x, n):
    a, b = [], []
    for i in range(n):
        a.append(x * i)
        b.append(x + i)
    total = 0.0
    for u, v in zip(a, b, strict=True):
        total += u * v
    for u, k in zip(a, range(n), strict=True):
        if total > 20.0:
            break
        total += u * k
    return total


@pytest.mark.parametrize("mode", [lambda f: f, grad], ids=["plain", "grad"])
def test_staged_lengths_that_are_the_same_are_written_down_once(mode):
    compiled, f = staged(mode(lists_of_one_length)), mode(lists_of_one_length)
    for x, n in ((0.5, 3), (1.5, 4), (0.5, 7), (0.7, 2), (0.7, 1), (2.5, 9)):
        assert compiled(x, n) == pytest.approx(f(x, n), rel=1e-12)
    assert len(compiled.sources) == 1


def lengths_in_a_block(x, n):
    total = x
    while total < 3.0:
        for k, v in zip(range(n), (1.0, 2.0, 3.0), strict=True):
            total = total + k * v + 0.1
            if total > 2.0:
                break
        total += 1.0
    return total


def test_staged_lengths_in_a_block_raise_the_error_of_python():
    compiled = staged(lengths_in_a_block)
    for x, n in ((0.5, 3), (1.5, 3), (0.5, 4), (1.9, 2), (1.0, 3), (0.1, 1), (5.0, 1), (0.1, 2)):
        try:
            expected = lengths_in_a_block(x, n)
        except ValueError as error:
            with pytest.raises(ValueError, match=re.escape(f"{error}")):
                compiled(x, n)
        else:
            assert compiled(x, n) == pytest.approx(expected, rel=1e-12)


def written_between(x, most):
    """`pairwise` has read an item before it is written to, and `product` has read all."""
    y, total = x * 1.0, 0.0
    for i, (a, b) in enumerate(pairwise(y)):
        if total > most:
            break
        y[i + 1] = most * 0.5
        total = total + a * b
    items = [x[0], 2.0, x[1]]
    for i, (a, b) in enumerate(itertools.product(items, items)):
        if total > most:
            break
        items[i % 3] = total
        total = total + a * b
    for a, b in pairwise(items):
        items[1] = most
        total = total + a - b
    return total


@pytest.mark.filterwarnings("ignore::shiftreset_ad.staging.StagingWarning")
@pytest.mark.parametrize("f", [written_between, product_of_several], ids=lambda f: f.__name__)
def test_what_may_change_is_gone_over_by_python(f):
    compiled = staged(f)
    for most in (*MOST, *MOST):
        x = np.array([0.7, 1.2, -0.4, 2.0]) + most / 100
        np.testing.assert_allclose(compiled(x, most), f(x, most), rtol=1e-12)
    assert compiled.report().startswith(f"staged({f.__name__}) runs in steps")


class Kit:
    """Functions that are called like those of Python's, and an attribute that counts how often it is read."""

    read = 0

    @property
    def product(self):
        self.read += 1
        return lambda *parts: [max(part) for part in parts]


def test_functions_of_the_same_names_are_called_as_they_are():
    def f(x, n):
        total, kit = x, Kit()
        for v in kit.product(range(1, n), range(2, n)):
            if total > 3.0:
                break
            total = total * v + 0.1
        return total + kit.read

    compiled = staged(f)
    for x in (0.5, 5.0, 0.7):
        assert compiled(x, 4) == f(x, 4)
    assert compiled.report().splitlines()[0].endswith("runs in steps, in 1 way.")
