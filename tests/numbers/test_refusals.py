"""What a program is told to write instead of what would lose a derivative; and that it works."""

from __future__ import annotations

import functools
import logging
import math
import re
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import shiftreset_ad as sr
from shiftreset_ad import grad, value

X = np.array([0.62, 0.28, 0.47])
C = np.array([1.0, 2.0, 3.0])
M = np.eye(3)
LOST = "would turn a number that is being differentiated into a constant"
METHOD = ", as a method of a plain array cannot take a number"
DRAWN = "x + s * rng.normal(size=n) for rng.normal(x, s)"


def written(cells: Any, index: Any, x: Any) -> Any:
    cells[index] = x
    return np.sum(cells)


def increased(cells: Any, x: Any) -> Any:
    cells[0] += x
    return np.sum(cells)


class Holder:
    def __init__(self, cells: Any) -> None:
        self.cells = cells

    @property
    def broken(self) -> Any:
        raise RuntimeError("broken")


def written_to_attribute(holder: Any, x: Any) -> Any:
    holder.cells[0][1] = x
    return np.sum(holder.cells)


MAKE = "or make it an array that takes numbers, inside the function: "
CELLS = MAKE + "cells = shiftreset_ad.zeros(cells.shape) + cells"
AT_MODULE_LEVEL = sr.zeros(3)
G = np.vectorize(lambda v: v * v)
LOSSES: dict[str, tuple[Callable[[Any], Any], str]] = {
    "dot": (lambda x: C.dot(x), f"C.dot(x) {LOST}*Use numpy.dot(a, x){METHOD}"),
    "dot of a part": (lambda x: M[0].dot(x), f"M[0].dot(x) {LOST}*Use numpy.dot(a, x){METHOD}"),
    "put": (lambda x: np.zeros(3).put(0, x[0]), "*Use numpy.put(a, i, x) of an array a that takes numbers, "),
    "fill": (lambda x: np.zeros(3).fill(x[0]), f"*Use numpy.full(a.shape, x){METHOD}"),
    "choose": (lambda x: np.array([0, 1, 0]).choose([x, C]), f"*Use numpy.choose(a, [x, y]){METHOD}"),
    "searchsorted": (lambda x: C.searchsorted(x) * x[0], f"*Use numpy.searchsorted(a, x){METHOD}"),
    "%": (lambda x: len("%.3f" % x[0]) * x[0], "*Use f'{x:.3f}', or shiftreset_ad.value(x)"),  # noqa: UP031
    "% of two": (lambda x: len("%f %s" % (x[0], 2)) * x[0], "*Use f'{x:.3f}', or"),  # noqa: UP031
    "%d": (lambda x: len("%d" % x[0]) * x[0], "%d format: a real number is required*Use f'{x:.3f}', or"),  # noqa: UP031
    "not a format": (lambda x: math.sin(x[0] % 2), "math.sin(x[0] % 2) *Use numpy.sin for math.sin"),
    "np.full": (lambda x: written(np.full(3, 2.0), 0, x[0]), f"cells[index] = x, *into a plain array, *{CELLS}"),
    "np.eye": (lambda x: written(np.eye(3), 0, x), f"*into a plain array, *{CELLS}"),
    "integers": (lambda x: written(np.arange(3), 0, x[0]), f"*into a plain array of integers, *{CELLS}"),
    "zeros_like": (lambda x: written(np.zeros_like(C), slice(2), x[:2]), f"*{CELLS}"),
    "zeros at module level": (lambda x: written(AT_MODULE_LEVEL, 0, x[0]), f"*{CELLS}"),
    "an element +=": (lambda x: increased(np.zeros(3), x[0]), f"cells[0] = x, *{CELLS}"),
    "an attribute": (
        lambda x: written_to_attribute(Holder(np.zeros((2, 2))), x[0]),
        f"*{MAKE}holder.cells = shiftreset_ad.zeros(holder.cells.shape) + holder.cells",
    ),
    "int": (lambda x: C[int(x[0])] * x[0], "int(x[0]) *or int(shiftreset_ad.value(x)) for a count"),
    "nditer": (lambda x: sum(a for a in np.nditer(x)), "*numpy.nditer *Use x[i] for each i in numpy.ndindex(x.shape)"),
    "ndenumerate": (lambda x: sum(a for i, a in np.ndenumerate(x)), "*Use x[i] for each i in numpy.ndindex(x.shape)"),
    "r_": (lambda x: np.sum(np.r_[x[0] : 3.0 : 5j]), "np.r_[x[0] *Use numpy.concatenate, and numpy.linspace"),
    "vectorize": (lambda x: np.sum(np.vectorize(lambda v: v)(x)), "*Use shiftreset_ad.array([f(v) for v in x])"),
    "vectorized before": (lambda x: np.sum(G(x)), "*Use shiftreset_ad.array([f(v) for v in x])"),
    "a Generator in place": (lambda x: np.random.default_rng(0).normal(x), f"*{DRAWN}"),
    "a property that fails": (lambda x: math.sin(getattr(Holder(x), "broken", x[0])), "broken"),
}  # fmt: skip


def pattern(said: str) -> str:
    """The regular expression for a text with a star for what is left out."""
    return (
        "^"
        + ".*".join(map(re.escape, said.split("*Use")[0].split("*")))
        + (".*Use" + ".*".join(map(re.escape, said.split("*Use")[1].split("*"))) if "*Use" in said else "")
    )


@pytest.mark.parametrize("name", LOSSES)
def test_what_to_write_instead(name: str) -> None:
    f, said = LOSSES[name]
    for g in (f, lambda x: np.sum(grad(f)(x))):
        with pytest.raises((TypeError, RuntimeError), match=pattern(said)) as caught:
            grad(g)(X)
        assert str(caught.value).count("Use ") <= 1


def test_what_is_to_be_written_instead_works() -> None:
    def f(x: Any) -> Any:
        cells = np.arange(3)
        cells = sr.zeros(cells.shape) + cells
        cells[0] = x[0] * x[1]
        cells[1:] += x[1:]
        np.put(cells, 2, x[0])
        return np.dot(C, cells) + np.sum(np.full(C.shape, x[2])) + np.sum(np.choose(np.array([0, 1, 0]), [x, C]))

    np.testing.assert_allclose(grad(f)(X), [1.0 * X[1] + 3.0 + 1.0, X[0] + 2.0, 3.0 + 1.0])


def test_clip_of_a_plain_array() -> None:
    np.testing.assert_allclose(grad(lambda x: np.sum(C.clip(0.0, x * 3.0)))(X), [0.0, 3.0, 3.0])
    np.testing.assert_allclose(grad(lambda x: np.sum(np.zeros(3).clip(x) ** 2))(X), 2.0 * X)
    with pytest.raises(TypeError, match=r"numpy\.clip: .* is a plain array, which cannot hold them"):
        grad(lambda x: np.sum(C.clip(0.0, x, out=np.zeros(3))))(X)


def test_an_operator_that_writes_into_a_plain_array() -> None:
    def f(cells: Any) -> Callable[[Any], Any]:
        def added(x: Any) -> Any:
            y = cells
            y += x
            return np.sum(y)

        return added

    make = re.escape("inside the function: y = shiftreset_ad.zeros(y.shape) + y")
    with pytest.raises(TypeError, match=r"is a plain array, .*" + make):
        grad(f(np.zeros(3)))(X)
    with pytest.raises(TypeError, match=r"is a plain array of integers, .*" + make):
        grad(f(np.arange(3)))(X)
    for write in (lambda y, x: np.put(y, 0, x), lambda y, x: np.add.at(y, [0, 0], x)):
        with pytest.raises(TypeError, match=make):
            grad(lambda x: write(np.zeros(3), x[0]))(X)  # noqa: B023


OF_SCIPY = {
    "special.logsumexp": lambda scipy, x: scipy.special.logsumexp(x),
    "special.softmax": lambda scipy, x: scipy.special.softmax(x),
    "special.comb": lambda scipy, x: scipy.special.comb(x[0], 2.0),
    "linalg.expm": lambda scipy, x: scipy.linalg.expm(np.outer(x, x)),
    "linalg.solve_triangular": lambda scipy, x: scipy.linalg.solve_triangular(M, x),
    "linalg.cho_solve": lambda scipy, x: scipy.linalg.cho_solve((M, True), x),
    "linalg.block_diag": lambda scipy, x: scipy.linalg.block_diag(x, x),
    "signal.convolve": lambda scipy, x: scipy.signal.convolve(x, C),
    "stats.norm": lambda scipy, x: scipy.stats.norm.logpdf(C, x),
    "stats.gamma": lambda scipy, x: scipy.stats.gamma(x[0]).logpdf(C),
}


@pytest.mark.parametrize("name", OF_SCIPY)
def test_functions_of_scipy_that_ours_are_for(name: str) -> None:
    scipy = pytest.importorskip("scipy")
    f = OF_SCIPY[name]
    f(scipy, X)
    with pytest.raises(TypeError, match=rf"Use shiftreset_ad\.scipy\.{name} for scipy\.{name}"):
        grad(lambda x: np.sum(f(scipy, x)))(X)
    library, function = name.split(".")
    assert hasattr(getattr(pytest.importorskip("shiftreset_ad.scipy"), library, None) or ours(library), function)


def ours(library: str) -> Any:
    return pytest.importorskip(f"shiftreset_ad.scipy.{library}")


def test_other_functions_of_scipy() -> None:
    scipy = pytest.importorskip("scipy")
    with pytest.raises(TypeError, match=r"Use shiftreset_ad\.scipy\.special\.logsumexp for"):
        grad(lambda x: scipy.special.logsumexp([x[0], x[1]]))(X)  # an array of objects
    with pytest.raises(TypeError, match=r"Use numpy\.linalg\.solve for scipy\.linalg\.solve"):
        grad(lambda x: np.sum(scipy.linalg.solve(M, x)))(X)
    with pytest.raises(TypeError, match=r"Use shiftreset_ad\.scipy\.stats\.expon for scipy\.stats\.expon"):
        grad(lambda x: scipy.stats.expon.logpdf(x[0]))(X)
    for f in (lambda x: scipy.stats.gengamma.logpdf(x[0], 1.0, 1.0), lambda x: scipy.linalg.sinm(np.outer(x, x))):
        with pytest.raises(TypeError, match=r"Use functions that have a derivative rule"):
            grad(lambda x: np.sum(f(x)))(X)  # noqa: B023


def test_logging(capsys: pytest.CaptureFixture[str]) -> None:
    log = logging.Logger("of the test")
    log.addHandler(logging.StreamHandler())

    def f(x: Any) -> Any:
        log.warning("%.3f", x[0])
        return np.sum(x)

    assert grad(f)(X).tolist() == [1.0, 1.0, 1.0]
    assert 'log.warning("%.3f", x[0]) would' in (said := capsys.readouterr().err)
    assert "Use f'{x:.3f}', or shiftreset_ad.value(x)" in said


def test_frompyfunc() -> None:
    with pytest.raises(NotImplementedError, match=r"shiftreset_ad\.array\(\[f\(v\) for v in x\]\)"):
        grad(lambda x: np.sum(np.frompyfunc(lambda v: v * v, 1, 1)(x)))(X)
    np.testing.assert_allclose(grad(lambda x: np.sum(sr.array([v * v for v in x])))(X), 2.0 * X)


def test_attributes() -> None:
    def reshaped(x: Any) -> Any:
        y = x * 2.0
        y.shape = (3, 1)
        return np.sum(y)

    with pytest.raises(AttributeError, match=r"Write x = x\.reshape\(shape\)"):
        grad(reshaped)(X)
    with pytest.raises(AttributeError, match=r"x\.ravel\(\) has the same elements"):
        grad(lambda x: sum(x.flat))(X)
    for name in ("view", "strides", "flags", "base"):
        with pytest.raises(AttributeError, match=r"shiftreset_ad\.value\(x\) gives the plain one$"):
            grad(lambda x: getattr(x, name))(X)  # noqa: B023


def test_an_error_that_is_replaced_is_not_shown() -> None:
    def f(x: Any) -> Any:
        cells = np.zeros(3)
        cells[0] = x[0]  # the line
        return np.sum(cells)

    for g in (f, lambda x: np.sum(np.tanh(np.array([x[0], 1.0])))):  # the line
        with pytest.raises(TypeError) as caught:
            grad(g)(X)
        shown = "".join(traceback.format_exception(caught.value))
        assert shown.count("Traceback") == 1
        assert "the line" in shown
        assert "setting an array element" not in shown


# Numbers as keys


def test_a_cache_does_not_hand_back_another_numbers_result() -> None:
    @functools.lru_cache
    def g(x: Any) -> Any:
        return x * 1.0

    memo: dict[Any, Any] = {}

    def h(x: Any) -> Any:
        if x not in memo:
            memo[x] = x * 1.0
        return memo[x]

    for cached in (g, h):
        for _ in range(2):
            assert grad(lambda x, y: cached(x) + 3 * cached(y), (0, 1))(1.5, 1.5) == (3 - 2, 3)  # noqa: B023
    assert grad(lambda x: g(x) * g(x))(3.0) == 6.0


def test_numbers_compare_by_value_and_hash_by_identity() -> None:
    def f(x: Any) -> Any:
        y = x + 0.0
        assert x == y == value(x)
        assert hash(x) != hash(y)
        assert x in {x}
        assert y not in {x, value(x)}
        return x

    assert grad(f)(1.7) == 1.0


# Methods that take what NumPy's take


def test_compress() -> None:
    chosen = np.array([True, False, True])
    assert grad(lambda x: np.sum(x.compress(chosen) ** 2))(X).tolist() == [2 * X[0], 0.0, 2 * X[2]]
    outer = np.outer(X, C)
    for axis in (None, 0, 1):

        def f(x: Any, axis: Any = axis) -> Any:
            found = x.compress(chosen, axis)
            np.testing.assert_array_equal(value(found), outer.compress(chosen, axis))
            return np.sum(found**2)

        expected = np.zeros(9)
        expected[np.arange(9).reshape(3, 3).compress(chosen, axis)] = 1.0
        np.testing.assert_allclose(grad(f)(outer), 2.0 * outer * expected.reshape(3, 3))


def test_astype_with_options() -> None:
    def f(x: Any) -> Any:
        assert x.astype(float, copy=False) is x
        assert x.astype(float) is not x
        assert value(np.outer(x, x).astype(float, order="F")).flags.f_contiguous
        assert value(x).astype(int, casting="unsafe").tolist() == x.astype(int, casting="unsafe").tolist()
        return np.sum(x.astype(float, order="C", casting="safe", copy=False) ** 2)

    np.testing.assert_allclose(grad(f)(X), 2.0 * X)
    for dtype in (np.float32, int):
        with pytest.raises(TypeError, match="according to the rule 'safe'"):
            grad(lambda x: np.sum(x.astype(dtype, casting="safe")))(X)  # noqa: B023


POSITIONAL: dict[str, Callable[[Any], Any]] = {
    "mean": lambda y: y.mean(1, None, None, True),
    "np.mean": lambda y: np.mean(y, 1, None, None, True),
    "sum": lambda y: y.sum(0, None, None, True, 2.0),
    "max": lambda y: y.max(0, None, True),
    "std": lambda y: y.std(1, None, None, 1, True),
    "cumsum": lambda y: y.cumsum(0, None, None),
    "clip": lambda y: y.clip(0.1, 0.2, None),
    "take": lambda y: y.take([0, 7], None, None, "wrap"),
    "trace": lambda y: y.trace(0, 0, 1, None, None),
    "dot": lambda y: y.dot(M, None),
    "round": lambda y: y.round(1, None),
    "argmax": lambda y: y.argmax(0, None) * y,
}


@pytest.mark.parametrize("name", POSITIONAL)
def test_out_may_be_none_without_its_name(name: str) -> None:
    f = POSITIONAL[name]
    x = np.outer(X, X + 0.1)
    seen = []
    gradient = grad(lambda x: np.sum(seen.append(y := f(x)) or y))(x)
    np.testing.assert_array_equal(value(seen[0]), f(x))
    direction = np.cos(np.arange(9.0)).reshape(3, 3)
    slope = (np.sum(f(x + 1e-6 * direction)) - np.sum(f(x - 1e-6 * direction))) / 2e-6
    np.testing.assert_allclose(np.sum(gradient * direction), slope, rtol=1e-6, atol=1e-8)


def test_out_without_its_name_is_written_to() -> None:
    def f(x: Any) -> Any:
        y = np.zeros_like(x)
        assert np.cumsum(x * x, 0, None, y) is y
        return np.sum(y)

    np.testing.assert_allclose(grad(f)(X), 2.0 * X * [3.0, 2.0, 1.0])
    with pytest.raises(TypeError, match="which cannot hold them"):
        grad(lambda x: np.sum(x.cumsum(0, None, np.zeros(3))))(X)
    with pytest.raises(TypeError, match=r"numpy\.cumsum: too many positional arguments"):
        grad(lambda x: np.sum(x.cumsum(0, None, None, 1)))(X)
    with pytest.raises(TypeError, match=r"numpy\.mean: multiple values for argument 'keepdims'"):
        grad(lambda x: np.sum(x.mean(0, None, None, True, keepdims=False)))(X)


def test_shuffle_says_what_to_write_and_does_so_before_anything_is_swapped() -> None:
    rows = np.arange(6.0).reshape(3, 2)
    remedy = r"Use x = x\[rng\.permutation\(len\(x\)\)\] for rng\.shuffle\(x\)"
    rng = np.random.default_rng(1)

    def shuffled(x: Any, swap: Callable[[Any], None]) -> Any:
        y = x * 1.0
        with pytest.raises(TypeError, match=remedy):
            swap(y)
        np.testing.assert_array_equal(y, rows)
        return np.sum(y * rows)

    for swap in (
        lambda y: rng.shuffle(y),
        lambda y: np.random.default_rng(1).shuffle(y),
        lambda y: np.random.RandomState(1).shuffle(y),
        lambda y: np.random.shuffle(y),  # noqa: NPY002
    ):
        np.testing.assert_array_equal(grad(shuffled)(rows, swap), rows)


def test_a_conversion_to_a_complex_number_names_functions() -> None:
    with pytest.raises(TypeError, match=r"numpy\.exp\(x\) for cmath\.exp\(x\), numpy\.stack to build an array"):
        grad(lambda x: np.real(np.sum(np.sort_complex(np.array([x[0], 1.0])))))(X)
