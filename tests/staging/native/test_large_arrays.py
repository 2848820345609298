"""Arrays of millions of elements, and the ways for them with small arrays; loops go in the order of memory."""

import sys

import numpy as np
import pytest

from shiftreset_ad import grad, staged
from shiftreset_ad.numbers.plain_arrays import is_read_only
from shiftreset_ad.staging.native import llvm, moves, pages, scattering
from shiftreset_ad.staging.steps.copies import frozen_copy
from tests.staging.native.natively import check, check_control, native, needs_native

pytestmark = needs_native
RNG = np.random.default_rng(0)
M, V, T = RNG.normal(size=(6, 8)), RNG.normal(size=8), RNG.normal(size=(4, 5, 6))
AT = np.array([3, 0, 7, 3])

PROGRAMS = {
    "elementwise": (grad(lambda x: np.sum(np.tanh(x * x + 0.5) * x)), V),
    "a choice": (grad(lambda x: np.sum(np.where(x > 0, x * x, np.exp(x)))), M),
    "a stencil": (grad(lambda x: np.sum((x[2:] - 2.0 * x[1:-1] + x[:-2]) ** 2)), V),
    "a stencil in two directions": (
        grad(lambda m: np.sum((m[2:, 1:-1] + m[:-2, 1:-1] + m[1:-1, 2:] + m[1:-1, :-2] - 4.0 * m[1:-1, 1:-1]) ** 2)),
        M,
    ),
    "rows": (grad(lambda m: np.sum(np.log(np.sum(np.exp(m - np.max(m, axis=1, keepdims=True)), axis=1)))), M),
    "columns": (grad(lambda m: np.sum((m - np.mean(m, axis=0)) ** 2)), M),
    "products": (grad(lambda v: np.sum((M @ v - 1.0) ** 2)), V),
    "parts that do not overlap": (grad(lambda x: np.sum(x[::2] * 2.0) + np.sum(x[1::2] * x[1::2])), V),
    "many parts": (grad(lambda x: sum(x[i] * x[i] for i in range(8)) + np.sum(x[2:5])), V),
    "joined arrays": (grad(lambda x: np.sum(np.concatenate([x[:3], x[5:]]) ** 2) + np.sum(np.stack([x, x]) ** 2)), V),
    "positions": (grad(lambda x: np.sum(x[AT] ** 2)), V),
    "writes": (lambda x: written(x), V),
    "views": (grad(lambda m: np.sum(m.T.reshape(-1)[3:] * 2.0) + np.sum(m.reshape(8, 6)[::-1] ** 2)), M),
}


def written(x):
    y = np.zeros_like(x)
    y[1:7:2] = x[:3]
    y[0] += x[1]
    y[2:] += x[2:] * x[:-2]
    return y * x


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_ways_for_large_arrays_have_the_bits_of_the_function(name, monkeypatch):
    f, x = PROGRAMS[name]
    for module in (moves, scattering):
        monkeypatch.setattr(module, "MOST_OFFSETS", 1)
    check(f, (x,), (x * 0.5,), (-x,))


def test_overlaps_of_a_large_array_are_found_two_by_two(monkeypatch):
    whole = np.zeros(40)
    views = [whole[:10], whole[10:20:2], whole[11:20:2], whole[30:]]
    for most in (2**20, 1):
        monkeypatch.setattr(scattering, "MOST_OFFSETS", most)
        assert not scattering.do_overlap(whole, views)
        assert not scattering.do_overlap(whole, views[:1])
        assert scattering.do_overlap(whole, [*views, whole[19:21]])
    assert not scattering.do_overlap(whole, [whole[i : i + 1] for i in range(scattering.MOST_VIEWS)])
    assert scattering.do_overlap(whole, [whole[i : i + 1] for i in range(scattering.MOST_VIEWS + 1)])
    monkeypatch.setattr(scattering, "HARDEST", 1)
    x = np.zeros((20, 20, 20))
    assert scattering.do_overlap(x, [x[::3, ::7, ::2], x[1::5, 1::2, 1::3]])


@pytest.mark.parametrize("n", [2**20 + 3, 3_000_001])
def test_large_arrays_have_native_code(n):
    x = np.sin(np.arange(float(n)))
    check_control(grad(lambda x: np.sum(np.where(x > 0.0, x * x, np.exp(x))[1:] * x[:-1])), (x,), (-x,))


def test_arrays_without_native_code_run_by_steps(monkeypatch):
    monkeypatch.setattr(llvm, "LARGEST", 4)
    f = staged(lambda x: x * x)
    for _ in range(4):
        np.testing.assert_array_equal(f(V), V * V)
    assert "no native code" in f.llvm[0]


# Loops in the order of memory


ORDERS = {
    "C": np.ascontiguousarray,
    "Fortran": np.asfortranarray,
    "another": lambda x: np.ascontiguousarray(np.moveaxis(x, 0, 1)).swapaxes(0, 1),
    "gaps": lambda x: np.repeat(x, 2, axis=0)[::2],
}
OF_ELEMENTS = {
    "a product": lambda x: x * 2.0,
    "several": lambda x: np.where(x > 0.0, x * x, x + 1.0) * x,
    "a function": np.exp,
    "of two arrays": lambda x: x * T + np.sin(x),
    "transposed": lambda x: np.exp(x.T) * x.T,
    "sums": lambda x: np.sum(x * x, axis=0) * np.sum(np.exp(x), axis=(1, 2))[0],
    "a sum": lambda x: np.sum(np.exp(x) * x),
    "a row": lambda x: x + x[0] * V[:6],
    "a gradient": grad(lambda x: np.sum(np.exp(x.T) * x.T)),
    "a mean": grad(lambda x: np.sum((x - np.mean(x, axis=1, keepdims=True)) ** 2)),
}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", OF_ELEMENTS)
def test_any_order_has_the_bits_of_the_function(name, order):
    x = ORDERS[order](T)
    np.testing.assert_array_equal(x, T)
    check(OF_ELEMENTS[name], (x,), (ORDERS[order](-T),))


@pytest.mark.parametrize("name", ["a product", "several", "transposed"])
def test_an_array_in_another_order_has_as_few_loops(name):
    expected = native(OF_ELEMENTS[name], T).text.count("_loop:")
    assert native(OF_ELEMENTS[name], np.asfortranarray(T)).text.count("_loop:") == expected


def test_elements_that_are_stored_twice_are_stored_in_their_order():
    """The sums of a column are added row by row."""
    for m in (M, np.asfortranarray(M)):
        check(lambda m: np.cumsum(m.T, axis=0), (m,))
    check(grad(lambda x: np.sum(x[np.array([[0, 1], [0, 2]])] ** 3)), (V,))


# Large pages


@pytest.mark.skipif(sys.platform != "linux", reason="Linux has this function")
def test_large_blocks_lie_in_large_pages(monkeypatch):
    def f(x):
        return np.sum(np.cumsum(np.exp(x)) * x)

    small, large = np.zeros(1000), np.zeros(pages.LARGE // 8 * 2)
    assert "call i32 @madvise" not in native(f, small).text
    assert pages.addresses()
    assert "call i32 @madvise" in native(f, large).text
    monkeypatch.setattr(pages, "addresses", dict)
    text = native(f, large)
    assert "call i32 @madvise" not in text.text
    assert text.entry()(large) == [f(large)]


# Constants that repeat their elements


@pytest.mark.parametrize(
    "x",
    [
        np.broadcast_to(1.0, (3, 4)),
        np.broadcast_to(np.arange(4.0), (3, 4)),
        np.broadcast_to(np.arange(3.0)[:, None], (3, 4)),
        np.broadcast_to(np.asfortranarray(T)[:, :1], T.shape),
        np.broadcast_to(np.arange(2.0)[:, None, None], (2, 1, 5)),
        np.zeros((0, 3)),
        np.array(2.0),
        M[:, ::-1],
    ],
)
def test_a_frozen_copy_repeats_elements_where_the_array_does(x):
    copy = frozen_copy(x)
    np.testing.assert_array_equal(copy, x)
    assert copy.dtype == x.dtype
    assert is_read_only(copy)
    assert not np.shares_memory(copy, x)
    repeats = [stride == 0 for length, stride in zip(x.shape, x.strides, strict=True) if length > 1]
    assert [stride == 0 for length, stride in zip(copy.shape, copy.strides, strict=True) if length > 1] == repeats


def test_the_cotangent_of_a_sum_takes_no_memory_in_a_record():
    """Multiplied by ones, an array in another order stays in its order."""
    big = np.asfortranarray(RNG.normal(size=(80, 90)))
    for f in (lambda m: np.sum(np.exp(m) * m), lambda m: np.sum(np.where(m > 0.0, m * m, m))):
        g = staged(grad(f))
        for _ in range(4):
            np.testing.assert_array_equal(g(big), grad(f)(big))
        constants = [
            x for x in g._calls.ways[0].take.steps.__globals__.values() if isinstance(x, np.ndarray) and x.ndim
        ]
        assert all(x.strides == (0, 0) for x in constants)
    assert " * c" not in staged_source(lambda m: np.sum(np.exp(m.T) * m.T), big)


def staged_source(f, x):
    g = staged(grad(f))
    g(x)
    return g.sources[0]
