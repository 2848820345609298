"""What shares memory: of each function and method, the answer shares that of the argument where NumPy's does.

Each call of the table below stands in a program that then writes to what it was given, or to what it gave. Values,
derivatives, and which arrays share memory are NumPy's, in reverse and forward mode, for many directions at once, and
for series.
"""

from __future__ import annotations

import copy
import itertools
import math
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shiftreset_ad as sr
from shiftreset_ad.testing import check_grads
from tests.sharing_programs import LAYOUTS, MODES, Program, arrays_in, check, check_refused, is_array

DOCS = str(Path(__file__).parent.parent / "docs")
sys.path.insert(0, DOCS)
try:
    from coverage_examples import EXAMPLES, POINTS, points_of
finally:
    sys.path.remove(DOCS)


def both(names: str, *options: str) -> list[str]:
    """The calls of functions, and of the methods of the same names."""
    methods = [f"a.{name}({option})" for name, option in itertools.product(names.split(), options)]
    return functions(names, *options) + methods


def functions(names: str, *options: str) -> list[str]:
    return [f"np.{name}({', '.join(filter(None, ['a', option]))})" for name in names.split() for option in options]


AXES = ("", "axis=0", "axis=-1", "axis=()", "axis=(0, 1)", "keepdims=True", "axis=0, keepdims=True")
UFUNCS = "add subtract multiply divide maximum minimum fmax fmin logaddexp logaddexp2 hypot fmod remainder"
METHODS_OF_UFUNCS = (
    *(f"reduce(a{option and ', ' + option}, keepdims={keep})" for option in AXES[:4] for keep in (False, True)),
    *(f"reduce(a, axis={axis}, initial=0.5)" for axis in ("0", "-1", "()")),
    "reduce(a, axis=0, initial=0.5, where=MASK)",
    "reduce(a, axis=0, initial=None)",
    "reduce(a, axis=0, dtype=float)",
    *(f"accumulate(a, axis={axis})" for axis in (0, -1)),
    "accumulate(a, dtype=float)",
    *(f"reduceat(a, {indices})" for indices in ("[0]", "[0, 1]", "[0], axis=-1", "[]", "[0, 0]")),
    *("outer(a, 2.0)", "outer(2.0, a)", "outer(a, [1.0])"),
)
MODES_OF_PAD = ("constant", "edge", "reflect", "wrap", "linear_ramp", "mean", "maximum", "symmetric")

# Expressions of an array `a`, and of a `MASK` of its shape. NumPy takes each for some of the shapes below.
CALLS = [
    # Reductions
    *both("sum prod mean var std max min", *AXES),
    *functions("amax amin ptp nansum nanprod nanmean nanvar nanstd nanmax nanmin median nanmedian average", *AXES),
    *both("sum prod mean var std", "axis=0, where=MASK", "axis=(), where=MASK", "axis=0, where=True"),
    *both("sum prod max min", "axis=0, initial=0.5", "axis=(), initial=0.5", "axis=0, initial=0.5, where=MASK"),
    *functions("nansum nanprod nanmax nanmin", "axis=0, initial=0.5", "axis=0, where=MASK, initial=0.5"),
    *both("sum mean cumsum", "axis=0, dtype=float", "axis=0, dtype=complex"),
    *both("cumsum cumprod", "", "axis=0", "axis=-1"),
    *functions("nancumsum nancumprod cumulative_sum cumulative_prod", "axis=0", "axis=-1"),
    *functions("cumulative_sum cumulative_prod", "axis=0, include_initial=True"),
    *(f"np.{ufunc}.{method}" for ufunc in UFUNCS.split() for method in METHODS_OF_UFUNCS),
    *(f"np.{ufunc}.reduce(a, axis=(0, 1))" for ufunc in ("add", "maximum", "logaddexp", "hypot")),
    *functions("quantile nanquantile", "0.3", "0.0", "0.5, axis=0", "[0.5], axis=0", "0.5, axis=0, method='nearest'"),
    *("np.percentile(a, 30.0)", "np.histogram_bin_edges(a, 2)", "np.bincount([0, 1, 1], weights=a)"),
    # Other shapes
    *both("reshape", "(3, 2)", "-1", "(-1,)", "a.shape", "a.shape[::-1]", "(3, 2), order='F'", "-1, order='F'"),
    *both("reshape", "(1, *a.shape)", "a.shape, copy=True", "(-1,), copy=True", "(-1,), copy=None", "()"),
    *("np.reshape(a, a.shape, copy=False)", "a.reshape(a.shape, copy=False)", "a.reshape(3, 2)", "a.reshape(*a.shape)"),
    *both("ravel", "", "'F'", "'C'", "order='F'"),
    *("a.flatten()", "a.flatten('F')"),
    *both("squeeze", "", "axis=0", "axis=-1", "axis=()", "axis=(0, 1)"),
    *functions("expand_dims", "0", "-1", "(0, 2)", "()"),
    *functions("atleast_1d atleast_2d atleast_3d", ""),
    *("np.atleast_1d(a, a)", "np.atleast_2d(a, 2.0 * a)"),
    *both("transpose", "", "(1, 0)", "(0, 1)", "None", "(0,)", "()"),
    *("a.transpose(1, 0)", "a.T", "a.mT", "np.permute_dims(a, (0, 1))", "np.permute_dims(a)"),
    *functions("matrix_transpose linalg.matrix_transpose", ""),
    *both("swapaxes", "0, 1", "0, 0", "0, -1"),
    *("np.moveaxis(a, 0, 1)", "np.moveaxis(a, 0, 0)", "np.moveaxis(a, [0, 1], [1, 0])", "np.moveaxis(a, [], [])"),
    *functions("rollaxis", "1", "0", "1, 2", "0, 1"),
    *functions("flip", "", "0", "-1", "()", "(0, 1)"),
    *functions("fliplr flipud", ""),
    *functions("rot90", *map(str, range(-1, 6))),
    *functions("broadcast_to", "(4, *a.shape)", "a.shape", "(2, 3)"),
    *("np.broadcast_arrays(a)", "np.broadcast_arrays(a, a)"),
    *both("diagonal", "", "1", "-1", "0, 1, 0", "offset=5"),
    *("np.diag(a)", "np.diag(a, -1)", "np.diag(a[0])", "np.linalg.diagonal(a)", "np.diagflat(a)"),
    *("np.trace(a)", "a.trace()", "np.linalg.trace(a)"),
    *functions("split", "1", "2", "[1]", "[]", "[0]", "[1], axis=1", "[1, 1]", "[5]"),
    *functions("array_split", "1", "2", "3", "[1, 1]", "2, axis=1"),
    *("np.hsplit(a, 1)", "np.hsplit(a, [1])", "np.vsplit(a, 1)", "np.vsplit(a, [1])", "np.dsplit(a[:, :, None], 1)"),
    *("np.unstack(a)", "np.unstack(a, axis=1)", "np.unstack(a, axis=-1)"),
    # Elements and parts
    *("a[1]", "a[0]", "a[-1:]", "a[...]", "a[()]", "a[None]", "a[..., 0]", "a[0, 0]", "a[..., None, ::-1]", "a[:, 0]"),
    *("a[0:0]", "a[[0]]", "a[MASK]", "a[True]", "a[[]]", "a[:, [0]]", "a[..., [0]]", "a[np.array(0)]", "a[0, ...]"),
    *("list(a)", "[*a]", "list(iter(a))", "a.item(0)", "a.item()", "a.tolist()"),
    *("np.ix_(a)", "np.ix_(a, a)", "np.ix_(a[0], a[0])", "np.meshgrid(a)", "np.meshgrid(a, a)", "np.meshgrid(a[0])"),
    *("np.meshgrid(a, copy=False)", "np.meshgrid(a, [1.0], sparse=True, copy=False)"),
    *("np.trim_zeros(a)", "np.trim_zeros(a, 'f')", "np.trim_zeros(a[0])"),
    *both("take", "0", "[0]", "[0], axis=0", "0, axis=0", "[], axis=0", "0, axis=-1", "0, mode='clip'"),
    *both("repeat", "1", "1, axis=0", "2", "0", "[1], axis=0", "1, axis=-1"),
    *("np.compress([True], a)", "np.compress([True], a, axis=0)", "np.compress([], a, axis=0)", "a.compress([True])"),
    *("np.compress([True, True], a, axis=0)", "a.compress([True, True], 0)", "a.compress([], axis=0)"),
    *("np.take_along_axis(a, np.argsort(a, 0), 0)", "np.extract(MASK, a)", "np.extract(True, a)"),
    *("np.choose(0, [a])", "np.choose(0, [a, a])", "np.choose(np.zeros(a.shape, int), [a, a])"),
    *("np.select([MASK], [a])", "np.select([MASK], [a], a)", "np.select([True], [a])"),
    *("np.piecewise(a, [MASK], [lambda x: x])", "np.piecewise(a, [MASK], [lambda x: x, lambda x: x])"),
    *("np.where(MASK, a, a)", "np.where(True, a, a)", "np.where(True, a, 0.0)"),
    *functions("lib.stride_tricks.sliding_window_view", "1", "1, axis=0", "(1, 1)", "2, axis=-1", "2", "(2, 2)"),
    # Parts of complex numbers
    *functions("real imag real_if_close conjugate conj angle", ""),
    *("a.real", "a.imag", "a.conj()", "a.conjugate()", "np.real(a * 1j)", "np.conj(a * 1j)", "(a * 1j).conj()"),
    # The same elements
    *("np.copy(a)", "np.copy(a, 'F')", "a.copy()", "a.copy('F')", "a.copy('K')", "copy.copy(a)", "copy.deepcopy(a)"),
    *("+a", "np.positive(a)", "abs(a)", "a * 1", "a + 0", "a ** 1", "a ** 1.0", "a / 1", "a - 0.0", "1 * a"),
    *(f"a.astype(float, order={order!r}, copy={copied})" for order in "KACF" for copied in (False, True)),
    *("a.astype(float)", "a.astype('>f8', copy=False)", "a.astype(complex, copy=False)", "np.astype(a, float)"),
    *("np.astype(a, float, copy=False)", "np.astype(a, complex, copy=False)"),
    *("np.delete(a, [], axis=0)", "np.delete(a, 0, axis=0)", "np.delete(a, [])", "np.delete(a, slice(0, 0), axis=0)"),
    *("np.insert(a, [], 1.0, axis=0)", "np.insert(a, 0, 1.0, axis=0)", "np.insert(a, 0, 1.0)"),
    *("np.append(a, [])", "np.append([], a)", "np.append(a, a, axis=0)", "np.append(a, a)"),
    *functions("tile", "1", "()", "(1, 1)", "(2, 1)", "0", "(1, 1, 1)"),
    *functions("roll", "0", "1", "0, axis=0", "1, axis=0", "(0, 0), axis=(0, 1)"),
    *functions("resize", "a.shape", "(2, 3)", "1", "()", "0"),
    *functions("pad", *(f"{width}, {mode!r}" for width in (0, 1) for mode in MODES_OF_PAD), "0, 'empty'"),
    *(f"np.{name}([a])" for name in ["concatenate", "stack", "hstack", "vstack", "dstack", "column_stack", "block"]),
    *(f"np.{name}(a)" for name in ["concatenate", "stack", "hstack", "vstack", "dstack", "column_stack", "block"]),
    *("np.concatenate([a], axis=None)", "np.concatenate([a, a[:0]])", "np.concatenate([a[:0], a])", "np.block([[a]])"),
    *("np.tril(a)", "np.triu(a)", "np.tril(a, 5)", "np.triu(a, -5)"),
    *(
        "np.full_like(a, a)",
        "np.full_like(a, 1.0)",
        "np.zeros_like(a)",
        "np.ones_like(a)",
        "np.add(a, 1.0, out=np.empty_like(a))",
    ),
    *("np.linspace(a, a, 1)", "np.linspace(0.0, a, 1)", "np.linspace(a, 2.0, 2)", "np.logspace(a, a, 1)"),
    *("np.geomspace(1 + a, 2 + a, 1)", "np.vander(a, 1)", "np.vander(a, 2)"),
    *("np.apply_along_axis(lambda row: row, 0, a)", "np.apply_along_axis(np.sum, 0, a)"),
    *(f"np.apply_over_axes(np.sum, a, {axes})" for axes in ("[0]", "[]", "[0, 1]")),
    *both("clip", "0.2, 0.8", "-9.0, 9.0", "None, 0.5", "-np.inf, np.inf", "min=0.4", "0.3, 0.6, out=a"),
    *both("round", "0", "2"),
    *("np.nan_to_num(a)", "np.nan_to_num(a, copy=False)", "np.nan_to_num(a, False, 1.0)", "np.unwrap(a)"),
    *("np.sort(a)", "np.sort(a, axis=None)", "np.sort(a, axis=0)", "np.partition(a, 0)", "np.sort_complex(a)"),
    *("np.diff(a)", "np.diff(a, n=0)", "np.diff(a, axis=0)", "np.ediff1d(a)", "np.gradient(a)", "np.trapezoid(a)"),
    *("np.interp(a, [0.0, 1.0], [0.0, 2.0])", "np.convolve(a, [1.0])", "np.convolve([1.0], a)", "np.cross(a, a)"),
    *("np.unique(a)", "np.unique_values(a)", "np.unique(a, axis=0)", "np.unique(a, return_index=True)"),
    *("np.union1d(a, [])", "np.intersect1d(a, a)", "np.setdiff1d(a, [])", "np.setdiff1d(a, [], assume_unique=True)"),
    *("np.setxor1d(a, [])", "np.setxor1d(a, [], assume_unique=True)"),
    *("np.polyadd(a, [0.0])", "np.polyadd(a, [])", "np.polysub(a, [0.0])", "np.polyder(a, 0)", "np.polyint(a, 0)"),
    *(
        "np.polydiv(a, [1.0])",
        "np.polydiv(a, [1.0, 2.0, 3.0, 4.0, 5.0])",
        "np.polyval(a, 2.0)",
        "np.polyval([1, 0], a)",
    ),
    *("np.divmod(a, 1e9)", "np.modf(a)", "np.frexp(a)", "np.fmod(a, 1e9)", "np.copysign(a, 1.0)", "np.ldexp(a, 0)"),
    # Products
    *("np.dot(a, 1.0)", "a.dot(1.0)", "np.dot(a, a.T)", "a.dot(a.T)", "a @ a.T", "np.inner(a, a)", "np.outer(a, 1.0)"),
    *("np.vdot(a, a)", "np.vecdot(a, a)", "np.matvec(a, a[0])", "np.vecmat(a[0], a.T)", "np.tensordot(a, 1.0, 0)"),
    *("np.kron(a, [1.0])", "np.einsum('...', a)", "np.einsum('ij', a)", "np.einsum('ij->ji', a)", "np.einsum('i', a)"),
    *("np.einsum('ij->i', a)", "np.einsum('ii', a)", "np.einsum('...i->i...', a)", "np.einsum(a, [0, 1], [1, 0])"),
    *(
        "np.einsum('ij,->ij', a, 1.0)",
        "np.einsum('ij->ij', a, optimize=True)",
        "np.einsum('', a)",
        "np.einsum('i->', a)",
    ),
    *(f"np.linalg.matrix_power(a, {power})" for power in (1, 0, 2, -1)),
    *("np.linalg.inv(a)", "np.linalg.det(a)", "np.linalg.multi_dot([a, a.T])", "np.linalg.pinv(a)", "np.linalg.qr(a)"),
    *("np.linalg.norm(a)", "np.linalg.norm(a, axis=0)", "np.linalg.norm(a, keepdims=True)", "np.linalg.solve(a, a)"),
    *("np.linalg.vector_norm(a, axis=0)", "np.linalg.norm(a, 1, axis=0)", "np.linalg.tensorinv(a, 1)"),
    *(f"np.fft.{name}(a)" for name in ["fft", "ifft", "rfft", "hfft", "fftn", "rfftn", "fftshift", "ifftshift"]),
    *("np.fft.fftn(a, axes=())", "np.fft.fftshift(a, axes=())"),
    # Writes
    *("np.copyto(a, a)", "np.copyto(a, a[::-1])", "np.copyto(a, 2.0 * a, where=MASK * 1)", "np.put(a, 0, 5.0)"),
    *("np.place(a, MASK, [5.0])", "np.putmask(a, MASK, 5.0)", "a.fill(2.0)", "a.put(0, 1.0)", "a.sort()", "a.sort(0)"),
    *("a.partition(0)", "np.fill_diagonal(a, 2.0)", "np.add(a, 1.0, out=a)", "np.add(a, a, out=a, where=MASK)"),
    *("np.cumsum(a, 0, out=a)", "np.sum(a[None], 0, out=a)", "np.take(a, [0], axis=0, out=a[:1])"),
]

SHAPES = [(1, 1), (2, 3), (1,), (), (3,), (0, 3), (2, 2), (2, 1), (1, 3), (0,), (1, 1, 1)]
LAYOUTS_OF_ALL = {(): ["element"], (2, 3): ["C", "F", "part", "reversed"], (1, 3): ["C", "F"]}
QUICK = 3  # shapes for each call, in the tests that are always run

# What NumPy lets a program write to, and we do not: the error says so, and docs/edges.md.
READ_ONLY = [
    "np.broadcast_arrays(a, np.ones((4, 1, 1)))[0]",
    "np.meshgrid(a, a, copy=False)",
    "np.einsum('ii->i', a)",
]

# What NumPy makes an array of if it is given a scalar, and we a scalar; and what it does not write to.
OF_SCALARS = [
    "np.apply_over_axes(np.sum, a, [])",
    "np.polyint(a, 0)",
    "np.fft.fftn(a)",
    "np.fft.fftn(a, axes=())",
    "a.fill(2.0)",
]


def function_of(call: str, shape: tuple[int, ...]) -> Callable[[Any], Any]:
    mask = np.reshape(np.arange(math.prod(shape)) % 2 == 0, shape)
    return eval(f"lambda a: {call}", {"np": np, "copy": copy, "MASK": mask})  # type: ignore[no-any-return]


def takes(f: Callable[[Any], Any], x: Any) -> bool:
    """Whether NumPy takes this array, and its installed version has the function."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            f(x.copy())
        except (ArithmeticError, AttributeError, IndexError, TypeError, ValueError, np.linalg.LinAlgError):
            return False
    return True


def differs(call: str, shape: tuple[int, ...]) -> bool:
    """Whether NumPy takes what we do not: an axis of an array that has none, and deviations of nothing."""
    return ("axis" in call and not shape) or ("std(" in call and 0 in shape)


def cases(call: str, dtype: type = float) -> Iterator[tuple[Callable[[Any], Any], Any, tuple[int, ...]]]:
    """The function, the array that it is called with, and the shape for which that stands."""
    for shape in SHAPES:
        generator = np.random.default_rng(1)
        x: Any = generator.uniform(0.1, 0.9, shape or (1,))
        x = x + 1j * generator.uniform(0.1, 0.9, x.shape) if dtype is complex else x
        f = function_of(call, shape)
        if not differs(call, shape) and takes(f, x if shape else x[0, ...]):
            yield f, x, shape


def check_all(f: Callable[..., Any], xs: list[Any], layouts: list[str]) -> None:
    for layout, written in itertools.product(layouts, ("arguments", "results")):
        try:
            check(f, xs, layout, written)
        except Exception as error:
            error.add_note(f"of shapes {[np.shape(x) for x in xs]}, {layout}, written to the {written}")
            raise


@pytest.mark.slow_but_every(3)
@pytest.mark.parametrize("call", CALLS)
def test_what_shares_memory_is_what_shares_it_in_numpy(call: str) -> None:
    for f, x, shape in itertools.islice(cases(call), QUICK):
        check_all(f, [x], ["C"] if shape else ["element"])


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [float, complex])
@pytest.mark.parametrize("call", CALLS)
def test_the_same_of_all_shapes_in_all_layouts(call: str, dtype: type) -> None:
    if dtype is complex and any(name in call for name in ("unique", "float", ".quantile", "sort")):
        return  # an order of complex numbers, or a real part alone
    for f, x, shape in cases(call, dtype):
        try:
            check_all(f, [x], LAYOUTS_OF_ALL.get(shape, ["C"]))
        except TypeError as error:
            if dtype is float or not ("no order" in str(error) or "imaginary part" in str(error)):
                raise


@pytest.mark.parametrize("call", CALLS)
def test_what_is_made_of_a_scalar_is_an_array_where_it_is_one_in_numpy(call: str) -> None:
    f, x = function_of(call, ()), np.array([0.6])
    if not differs(call, ()) and call not in OF_SCALARS and takes(f, x[0]):
        check_all(f, [x], ["scalar"])


@pytest.mark.slow_but_every(2)
@pytest.mark.parametrize("layout", [layout for layout in LAYOUTS if layout not in ("element", "scalar")])
def test_the_examples_of_all_functions(layout: str) -> None:
    for name, f in EXAMPLES.items():
        if name == "numpy.broadcast_arrays" or not is_in_numpy(name.replace("numpy", "np", 1)):  # it is tested below
            continue
        try:
            for written in ("arguments", "results"):
                if (name, written) != ("numpy.imag", "results"):
                    check(f, [POINTS[point] for point in points_of(f)], layout, written)
        except Exception as error:
            error.add_note(f"{name}, written to the {written}")
            raise


def test_calls_are_of_both_kinds() -> None:
    """The table would be of no use if it had only views, or only copies; and each call is one for some shape."""
    shared = []
    for call in CALLS:
        found = [(f, x if shape else x[0, ...]) for f, x, shape in cases(call) if x.size]
        assert found or not is_in_numpy(call), call
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            shared += [any(np.shares_memory(x, y) for y in arrays_in(f(x)) if is_array(y)) for f, x in found[:1]]
    assert sum(shared) > 150
    assert len(shared) - sum(shared) > 500


def is_in_numpy(call: str) -> bool:
    """Whether the installed version has the function; methods are there in all."""
    return not call.startswith("np.") or hasattr(np, call[3:].partition("(")[0].partition(".")[0])


@pytest.mark.parametrize("call", READ_ONLY)
def test_what_cannot_be_written_to_here_says_so(call: str) -> None:
    x = np.arange(1.0, 5.0).reshape(2, 2)
    program = Program(function_of(call, x.shape), [False], "C", "results")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program(x)  # NumPy does it
    for mode in MODES.values():
        with pytest.raises(ValueError, match="assignment destination is read-only"):
            mode(program, [x], [x])
    check(function_of(call, x.shape), [x], "C", "arguments")


def test_what_numpy_does_not_write_to_is_not_written_to() -> None:
    x = np.ones((2, 2))
    for f in (np.diagonal, lambda a: np.broadcast_to(a, (3, 2, 2))):
        program = Program(f, [False], "C", "results")
        with pytest.raises(ValueError, match="read-only"):
            program(x)
        check_refused(program, [x], [x])


# Second derivatives, of functions that give views


@pytest.mark.parametrize(
    "view",
    [
        lambda a: np.lib.stride_tricks.sliding_window_view(a, 2),
        lambda a: np.lib.stride_tricks.sliding_window_view(np.reshape(a, (2, 2), order="F"), (1, 2)),
        lambda a: np.lib.stride_tricks.sliding_window_view(a[::-1], 3, axis=0),
        lambda a: a.conj(),
        lambda a: np.subtract.reduce(a[None]),
        lambda a: np.nan_to_num(a, copy=False),
    ],
)
def test_a_write_to_the_source_after_that_to_second_order(view: Any) -> None:
    def f(x: Any) -> Any:
        y = x * x
        z = view(y)
        y[1:] *= y[0] * x[2]
        return np.sum(np.sin(z) * np.cos(np.reshape(np.arange(float(z.size)), z.shape)))

    x = np.array([0.7, -0.4, 1.2, 0.5])
    check_grads(f, (x,), order=2)
    np.testing.assert_allclose(sr.hessian(f)(x), sr.jacrev(sr.grad(f))(x), rtol=1e-12)
    np.testing.assert_allclose(sr.jacfwd(sr.jacfwd(f))(x), sr.jacrev(sr.jacrev(f))(x), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(sr.jacfwd(lambda x: f(x) * x)(x), sr.jacrev(lambda x: f(x) * x)(x), rtol=1e-12)


# Arrays without dimensions, of which NumPy makes arrays of objects


@pytest.mark.parametrize("make", [np.array, np.sum, np.maximum.reduce, lambda parts: np.asarray(parts[0])])
def test_an_array_of_objects_has_no_elements_that_are_written_to_later(make: Any) -> None:
    def f(x: Any, writes: bool) -> Any:
        y = x * 1.0
        z = make([y[..., 0]]) * 1.0
        if writes:
            y[0] = 5.0
        return np.sum(z)

    np.testing.assert_allclose(sr.grad(lambda x: f(x, False))(np.array([2.0, 3.0])), [1.0, 0.0])
    for derivative in (sr.grad, lambda f: lambda x: sr.jvp(f, (x,), (x,))):
        with pytest.raises(TypeError, match=r"in an array of objects, which numpy\.array made"):
            derivative(lambda x: f(x, True))(np.array([2.0, 3.0]))
