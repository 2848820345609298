"""Functions that repeat, pad and move elements, Fourier transforms and lengths, for all rows at once."""

import numpy as np
import pytest

from shiftreset_ad import grad, hvp, staged, vmap

RNG = np.random.default_rng(0)
ROWS = {"x": RNG.normal(size=(5, 6)), "m": RNG.normal(size=(5, 2, 4)), "s": RNG.normal(size=5)}
ONE = RNG.normal(size=4)
FUNCTIONS = {
    "tile": ("x", lambda x: np.tile(x, 2)),
    "tile, more axes": ("x", lambda x: np.tile(x, (2, 1, 3))),
    "tile, fewer counts": ("m", lambda m: np.tile(m, (3,))),
    "tile, scalar": ("s", lambda s: np.tile(s, 3)),
    "repeat": ("x", lambda x: np.repeat(x, 2)),
    "repeat, of a matrix": ("m", lambda m: np.repeat(m, 2)),
    "repeat, first axis": ("m", lambda m: np.repeat(m, 3, axis=0)),
    "repeat, last axis": ("m", lambda m: np.repeat(m, 2, -1)),
    "roll": ("x", lambda x: np.roll(x, 2)),
    "roll, of a matrix": ("m", lambda m: np.roll(m, -3)),
    "roll, along axes": ("m", lambda m: np.roll(m, (1, 2), (0, 1))),
    "pad": ("x", lambda x: np.pad(x, 2)),
    "pad, each axis": ("m", lambda m: np.pad(m, ((1, 0), (0, 2)), mode="edge")),
    "pad, both sides": ("m", lambda m: np.pad(m, (1, 2), constant_values=3.0)),
    "pad, reflect": ("m", lambda m: np.pad(m, ((1, 1), (2, 2)), "reflect")),
    "pad, wrap": ("x", lambda x: np.pad(x, 1, "wrap")),
    "fft2": ("m", lambda m: np.fft.fft2(m)),
    "fft2, other axes": ("m", lambda m: np.fft.fft2(m, axes=(1, 0))),
    "fftn": ("m", lambda m: np.fft.fftn(m)),
    "fftn, sizes": ("m", lambda m: np.fft.fftn(m, (3, 5), (0, 1))),
    "ifft2": ("m", lambda m: np.fft.ifft2(m, norm="ortho")),
    "rfft2": ("m", lambda m: np.fft.rfft2(m)),
    "irfftn": ("m", lambda m: np.fft.irfftn(m)),
    "norm": ("x", lambda x: np.linalg.norm(x)),
    "norm, along an axis": ("m", lambda m: np.linalg.norm(m, axis=-1)),
    "norm, kept": ("m", lambda m: np.linalg.norm(m, axis=0, keepdims=True)),
}
if hasattr(np, "vecdot"):
    FUNCTIONS |= {
        "vecdot": ("m", lambda m: np.vecdot(m, m)),
        "vecdot, shared": ("m", lambda m: np.vecdot(ONE, m)),
        "linalg.vecdot": ("x", lambda x: np.linalg.vecdot(x, np.sin(x))),
    }


def weighted(f):
    def total(x):
        y = f(x)
        weights = np.cos(np.arange(np.size(y))).reshape(np.shape(y))
        return np.sum(np.real(y * weights) ** 2) if np.iscomplexobj(y) else np.sum((y * weights) ** 2)

    return total


def by_loop(f, *rows):
    return np.stack([f(*row) for row in zip(*rows, strict=True)])


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_are_those_of_a_loop(name):
    kind, f = FUNCTIONS[name]
    rows, expected = ROWS[kind], by_loop(f, ROWS[kind])
    for call in (vmap(f), staged(vmap(f))):
        found = call(rows)
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_are_those_of_a_loop(name):
    kind, f = FUNCTIONS[name]
    rows, g = ROWS[kind], weighted(f)
    expected = by_loop(grad(g), rows)
    np.testing.assert_allclose(vmap(grad(g))(rows), expected, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(grad(lambda x: np.sum(vmap(g)(x)))(rows), expected, rtol=1e-9, atol=1e-11)
    of_second = by_loop(lambda x: hvp(g, (x,), (np.cos(x),)), rows)
    found = hvp(lambda x: np.sum(vmap(g)(x)), (rows,), (np.cos(rows),))
    np.testing.assert_allclose(found, of_second, rtol=1e-8, atol=1e-10)


def test_counts_that_differ_from_row_to_row_go_row_by_row():
    counts = np.array([1, 1, 1, 2, 1])
    f = vmap(lambda x, n: np.sum(np.repeat(x, n) ** 2))
    np.testing.assert_allclose(f(ROWS["x"], counts), np.sum(ROWS["x"] ** 2, 1) * counts)
    g = vmap(lambda x, n: np.roll(x, n))
    np.testing.assert_allclose(g(ROWS["x"], counts), by_loop(np.roll, ROWS["x"], counts))
