"""Operators, attributes and methods of a number give the values and types that the plain ones give, and derivatives."""

from __future__ import annotations

import cmath
import copy
import functools
import math
import operator
import random
import statistics
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import shiftreset_ad as sr
from shiftreset_ad import EscapedNumberError, NumR, grad, jvp, value, value_and_grad

X = np.array([0.5, 1.0, 2.0])
SCALARS = {"float": 1.7, "float64": np.float64(1.7), "float32": np.float32(1.7)}
ARRAYS = {
    "array": np.array([1.7, 2.3, 0.45]),
    "array32": np.array([1.7, 2.3, 0.45], np.float32),
    "0d": np.array(1.7),
    "matrix": np.array([[1.7, 2.3, 0.45], [0.6, 1.2, 3.1]]),
}
INPUTS = SCALARS | ARRAYS
OTHERS = {
    "int": 2,
    "float": 2.5,
    "bool": True,
    "float64": np.float64(2.5),
    "float32": np.float32(2.5),
    "int64": np.int64(2),
    "bool_": np.bool_(True),
    "array": np.array([0.5, 2.0, 3.0]),
    "array32": np.array([0.5, 2.0, 3.0], np.float32),
    "ints": np.array([1, 2, 3]),
    "column": np.array([[0.5], [2.0]]),
}
BINARY = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "%": operator.mod,
    "**": operator.pow,
    "//": operator.floordiv,
    "divmod": divmod,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
UNDEFINED = {("-", "bool_"), ("//", "bool_")}


def total(y: Any) -> Any:
    """A scalar that depends on everything in the answer `y`, with unequal weights."""
    if isinstance(y, tuple | list):
        return sum((i + 1.0) * total(part) for i, part in enumerate(y))
    if np.shape(y) == ():
        return 1.0 * y
    weights = np.cos(np.arange(np.size(y))).reshape(np.shape(y))
    return np.sum(weights * y)


def numerical(f: Any, x: Any, step: float = 1e-6) -> Any:
    """The gradient of `f` at `x` by central differences, in double precision."""
    x = np.array(x, float)
    gradient = np.empty(x.shape)
    for place in np.ndindex(x.shape):
        there = [x.copy(), x.copy()]
        there[0][place] += step
        there[1][place] -= step
        high, low = (float(f(at if at.ndim else at.item())) for at in there)
        gradient[place] = (high - low) / (2 * step)
    return gradient


def assert_same(found: Any, expected: Any) -> None:
    """The same value, of the same type, dtype and shape."""
    found = found if isinstance(found, tuple | list) else value(found)
    assert type(found) is type(expected)
    if isinstance(expected, tuple | list):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert_same(one, other)
        return
    if isinstance(expected, np.ndarray | np.generic):
        assert found.dtype == expected.dtype
        assert found.shape == expected.shape
    np.testing.assert_array_equal(found, expected)


def double(x: Any) -> Any:
    return x.astype(np.float64) if isinstance(x, np.ndarray | np.generic) and x.dtype == np.float32 else x


def tolerance(*xs: Any) -> dict[str, float]:
    low = any(isinstance(x, np.ndarray | np.generic) and x.dtype in (np.float32, np.complex64) for x in xs)
    return {"rtol": 1e-3, "atol": 1e-4} if low else {"rtol": 1e-5, "atol": 1e-6}


def check(f: Any, *xs: Any) -> None:
    """`f` of a number is what it is of the plain value, at two levels, and the derivatives of both levels are right.

    The first of `xs` is differentiated, the others are constants.
    """
    x, constants = xs[0], xs[1:]
    expected = f(*xs)
    answers = []

    def observed(x: Any) -> Any:
        answers.append(f(x, *constants))
        return total(answers[-1])

    def reference(x: Any) -> Any:
        return total(f(x, *map(double, constants)))

    gradient = grad(observed)(x)
    assert_same(answers[0], expected)
    assert type(gradient) is type(x)
    assert np.shape(gradient) == np.shape(x)
    np.testing.assert_allclose(gradient, numerical(reference, x), **tolerance(*xs))

    direction = np.sin(1.0 + np.arange(np.size(x))).reshape(np.shape(x))
    second = grad(lambda x: np.sum(direction * grad(observed)(x)))(x)
    assert_same(answers[1], expected)
    np.testing.assert_allclose(second, numerical(lambda x: np.sum(direction * grad(reference)(x)), x), **tolerance(*xs))


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("x", INPUTS)
@pytest.mark.parametrize("symbol", BINARY)
def test_binary_operators_with_constants_on_both_sides(symbol: str, x: str, other: str) -> None:
    f, a, b = BINARY[symbol], INPUTS[x], OTHERS[other]
    check(f, a, b)
    check(lambda a, b: f(b, a), a, b)


@pytest.mark.parametrize("other", INPUTS)
@pytest.mark.parametrize("x", INPUTS)
@pytest.mark.parametrize("symbol", BINARY)
def test_binary_operators_of_two_numbers(symbol: str, x: str, other: str) -> None:
    f, a, b = BINARY[symbol], INPUTS[x], 1.3 * INPUTS[other]
    assert_same(value_of_two(f, a, b), f(a, b))
    found = grad(lambda a, b: total(f(a, b)), (0, 1))(a, b)
    by_a = numerical(lambda a: total(f(a, double(b))), a)
    by_b = numerical(lambda b: total(f(double(a), b)), b)
    for one, reference in zip(found, (by_a, by_b), strict=True):
        np.testing.assert_allclose(one, reference, **tolerance(a, b))


def value_of_two(f: Any, a: Any, b: Any) -> Any:
    answers = []

    def observed(a: Any, b: Any) -> float:
        answers.append(f(a, b))
        return 0.0

    grad(observed, (0, 1))(a, b)
    (answer,) = answers
    return tuple(map(value, answer)) if isinstance(answer, tuple) else value(answer)


COMPLEX = {
    "complex": 2.5 - 1j,
    "complex128": np.complex128(2.5 - 1j),
    "complex64": np.complex64(2.5 - 1j),
    "array": np.array([0.5j, 2.0, 3.0 - 1j]),
    "array64": np.array([0.5j, 2.0, 3.0 - 1j], np.complex64),
}


@pytest.mark.parametrize("symbol", ["+", "-", "*", "/", "**", "==", "!="])
@pytest.mark.parametrize("other", COMPLEX)
@pytest.mark.parametrize("x", INPUTS)
def test_complex_numbers_beside_real_ones(x: str, other: str, symbol: str) -> None:
    f, a, z = BINARY[symbol], INPUTS[x], COMPLEX[other]
    for operate, operands in ((f, (a, z)), (f, (z, a)), (lambda a, z: f(z, a), (a, z))):
        assert_same(value_of_two(operate, *operands), operate(*operands))
    if symbol in ("==", "!="):
        return
    gradient = grad(lambda a: total(np.real(f(a, z)) + np.imag(f(z, a))))(a)
    assert type(gradient) is type(a)
    assert np.asarray(gradient).dtype == np.asarray(a).dtype
    exact = z.astype(complex) if isinstance(z, np.ndarray | np.generic) else z
    reference = numerical(lambda a: total(np.real(f(a, exact)) + np.imag(f(exact, a))), a)
    np.testing.assert_allclose(gradient, reference, **tolerance(a, z))


@pytest.mark.parametrize("x", INPUTS)
@pytest.mark.parametrize("f", [operator.neg, operator.pos, operator.abs], ids=lambda f: f.__name__)
def test_unary_operators(f: Any, x: str) -> None:
    check(f, INPUTS[x])
    check(f, -INPUTS[x])


@pytest.mark.parametrize("symbol", BINARY)
def test_fractions_on_both_sides(symbol: str) -> None:
    f, half = BINARY[symbol], Fraction(5, 2)
    check(lambda x: f(x, half), 1.7)
    check(lambda x: f(half, x), 1.7)


@pytest.mark.parametrize("symbol", ["+", "-", "*", "/", "%", "**"])
def test_lists_beside_an_array(symbol: str) -> None:
    f, x = BINARY[symbol], np.array([1.7, 2.3, 0.45])
    check(lambda x: f(x, [0.5, 2.0, 3.0]), x)
    check(lambda x: f([0.5, 2.0, 3.0], x), x)
    check(lambda x: f(x, (1, 2, 3)), x)


def test_lists_beside_a_matrix_product() -> None:
    x = np.array([1.7, 2.3, 0.45])
    check(lambda x: [0.5, 2.0, 3.0] @ x, x)
    check(lambda x: x @ [[0.5, 2.0], [3.0, 1.0], [1.0, 1.0]], x)


@pytest.mark.parametrize(
    ("f", "x"),
    [
        (lambda x: x**3, -2.0),
        (lambda x: x**-2, -2.0),
        (lambda x: x**2.0, -2.0),
        (lambda x: x**0, -2.0),
        (lambda x: x ** np.array([2, 3, 0]), np.array([-2.0, -1.5, -0.5])),
        (lambda x: 2**x, -1.5),
        (lambda x: 0.5**x, 2.0),
        (lambda x: x % -3, 7.5),
        (lambda x: -7.5 % x, 2.0),
        (lambda x: x % 2, -7.5),
        (lambda x: divmod(-7.5, x), 2.0),
        (lambda x: divmod(x, -2), 7.5),
        (lambda x: np.float64(7.5) // x, 2.0),
        (lambda x: divmod(np.float64(7.5), x), 2.0),
        (lambda x: divmod(x, np.array([2.0, 0.7])), 7.5),
        (lambda x: x**x, 1.7),
        (lambda x: -(x**2) + +x, 1.7),
    ],
)
def test_signs_and_powers(f: Any, x: Any) -> None:
    check(f, x)


QUESTIONS = {
    "bool": bool,
    "not": operator.not_,
    "round": round,
    "round to digits": lambda x: round(x, 1),
    "floor": math.floor,
    "ceil": math.ceil,
    "trunc": math.trunc,
    "format": lambda x: f"{x:.2f}",
    "str.format": lambda x: f"{x:>8.3f}|{x:e}",
    "is_integer": lambda x: x.is_integer(),
    "in a list": lambda x: (x in [3.0, 1.7], x in [3.0]),
    "isnan": lambda x: bool(np.isnan(x)),
    "equal to None": lambda x: (x == None, x != None),  # noqa: E711
    "equal to a string": lambda x: (x == "a", x != "a"),
    "max with a key": lambda x: max([3, 1], key=lambda i: -abs(i - x)),
}


@pytest.mark.parametrize("x", ["float", "float64"])
@pytest.mark.parametrize("question", QUESTIONS)
def test_questions_about_a_scalar_have_ordinary_answers(question: str, x: str) -> None:
    check_constant(QUESTIONS[question], SCALARS[x])


ARRAY_QUESTIONS = {
    "shape": lambda x: x.shape,
    "dtype": lambda x: x.dtype,
    "ndim": lambda x: x.ndim,
    "size": lambda x: x.size,
    "itemsize": lambda x: x.itemsize,
    "nbytes": lambda x: x.nbytes,
    "len": len,
    "in": lambda x: (2.3 in x, 9.0 in x, np.max(x) in x),
    "np.shape": np.shape,
    "np.ndim": np.ndim,
    "np.size": np.size,
    "np.isnan": np.isnan,
    "np.argmax": np.argmax,
    "argmin of an axis": lambda x: x.argmin(axis=-1),
    "argsort": lambda x: x.argsort(),
    "nonzero": lambda x: x.nonzero(),
    "any and all": lambda x: (np.any(x > 2), x.all(), (x > 0).all()),
    "sign and floor": lambda x: (np.sign(x - 2), np.floor(x), np.rint(x)),
    "allclose": lambda x: np.allclose(x, x + 1e-12),
    "array_equal": lambda x: np.array_equal(x, x),
    "searchsorted": lambda x: np.searchsorted(np.array([1.0, 2.0]), x),
    "zeros_like": lambda x: np.zeros_like(x),
    "astype int": lambda x: x.astype(int),
    "mask": lambda x: (x > 1) & (x < 2),
    "result_type": lambda x: np.result_type(x, np.float32),
    "logical_and.reduce": lambda x: np.logical_and.reduce(x > 1),
    "less.outer": lambda x: np.less.outer(x, [1.0, 2.0]),
    "iterable": np.iterable,
}


@pytest.mark.parametrize("x", ["array", "array32", "matrix"])
@pytest.mark.parametrize("question", ARRAY_QUESTIONS)
def test_questions_about_an_array_have_ordinary_answers(question: str, x: str) -> None:
    check_constant(ARRAY_QUESTIONS[question], ARRAYS[x])


def check_constant(question: Any, x: Any) -> None:
    """At two levels."""
    answers = []

    def ask(x: Any) -> Any:
        answers.append(question(x))
        return np.sum(x)

    grad(lambda x: np.sum(grad(ask)(x)) + ask(x))(x)
    assert len(answers) == 2
    for answer in answers:
        expected = question(x)
        if isinstance(expected, np.ndarray | np.generic | tuple):
            assert_same(answer, expected)
        else:
            assert type(answer) is type(expected)
            assert answer == expected


METHODS = {
    "sum": lambda x: x.sum(axis=0),
    "mean": lambda x: x.mean(keepdims=True),
    "prod": lambda x: x.prod(),
    "max": lambda x: x.max(-1),
    "min": lambda x: x.min(),
    "var": lambda x: x.var(ddof=1),
    "std": lambda x: x.std(axis=-1),
    "cumsum": lambda x: x.cumsum(),
    "ravel": lambda x: x.ravel(),
    "flatten": lambda x: x.flatten(),
    "flatten in order F": lambda x: x.flatten("F"),
    "squeeze": lambda x: x[None].squeeze(),
    "reshape": lambda x: x.reshape(3, -1),
    "reshape to a tuple": lambda x: x.reshape((-1,)),
    "reshape in order F": lambda x: x.reshape(-1, order="F"),
    "transpose": lambda x: x.transpose(),
    "transpose axes": lambda x: x[None].transpose(*range(x.ndim, -1, -1)),
    "T": lambda x: x.T,
    "swapaxes": lambda x: x[None].swapaxes(0, -1),
    "repeat": lambda x: x.repeat(2),
    "dot": lambda x: x.dot(np.array([0.5, 2.0, 3.0])),
    "matmul": lambda x: x @ np.array([0.5, 2.0, 3.0]),
    "clip": lambda x: x.clip(1.0, 2.0),
    "copy": lambda x: x.copy(),
    "round": lambda x: x.round() + x.round(decimals=0),
    "conj": lambda x: x.conj() + x.conjugate(),
    "real and imag": lambda x: x.real + x.imag,
    "first": lambda x: x[0],
    "last": lambda x: x[-1],
    "slice": lambda x: x[..., ::2],
    "mask": lambda x: x[x > 1],
    "fancy": lambda x: x[..., [0, 0, 2]],
    "newaxis": lambda x: x[None, ..., None],
    "where": lambda x: np.where(x > 1, x, -x),
    "iteration": lambda x: sum(row * i for i, row in enumerate(x)),
    "unpacking": lambda x: operator.mul(*x[..., :2].T),
    "reversed": lambda x: next(reversed(x)),
    "starred": lambda x: [*x][-1],
}


@pytest.mark.parametrize("x", ["array", "array32", "matrix"])
@pytest.mark.parametrize("method", METHODS)
def test_methods_and_attributes(method: str, x: str) -> None:
    check(METHODS[method], ARRAYS[x])


@pytest.mark.parametrize("x", ["array", "array32", "matrix"])
def test_item_is_in_double_precision(x: str) -> None:
    def f(x: Any) -> Any:
        first, last = x.item((0,) * x.ndim), x.item(*[-1] * x.ndim)
        return x[..., 1:2].flatten()[:1].item() * x.item(1) * first * last * x.item(-1)

    found, gradient = value_and_grad(f)(ARRAYS[x])
    assert found == f(ARRAYS[x])
    assert np.result_type(found) == np.float64
    assert gradient.dtype == ARRAYS[x].dtype
    np.testing.assert_allclose(gradient, numerical(f, ARRAYS[x]), rtol=1e-5)


def test_astype() -> None:
    def f(dtype: Any) -> Any:
        return lambda x: np.sum(x.astype(dtype) * np.array([1, 2, 3], dtype))

    for x in (ARRAYS["array"], ARRAYS["array32"]):
        for dtype in (np.float32, np.float64):
            found, gradient = value_and_grad(f(dtype))(x)
            assert_same(found, f(dtype)(x))
            assert gradient.dtype == x.dtype
            np.testing.assert_array_equal(gradient, [1.0, 2.0, 3.0])


def test_matrix_attributes() -> None:
    x = np.array([[1.7, 2.3, 0.45], [0.6, 1.2, 3.1]])
    for f in (
        lambda x: x.mT,
        lambda x: x.diagonal(),
        lambda x: x.trace(),
        lambda x: x.T @ x,
        lambda x: x[:, 1] * x[0, -1],
        lambda x: x[np.array([[True, False, True], [False, True, False]])],
        lambda x: [list(row) for row in x],
        lambda x: x.tolist(),
    ):
        check_up_to_float(f, x)


def check_up_to_float(f: Any, x: Any) -> None:
    assert value_and_grad(lambda x: total(f(x)))(x)[0] == total(f(x))
    np.testing.assert_allclose(grad(lambda x: total(f(x)))(x), numerical(lambda x: total(f(x)), x), rtol=1e-6)


def test_parts_of_scalars() -> None:
    for x in (np.float64(1.7), np.float32(1.7)):
        for f in (
            lambda x: x[()],
            lambda x: x[...],
            lambda x: x[None],
            lambda x: x.T,
            lambda x: x.reshape(1, 1),
            lambda x: x.ravel(),
            lambda x: x.sum(),
            lambda x: x.copy(),
        ):
            found = []
            gradient = grad(lambda x, f=f: found.append(f(x)) or np.sum(f(x) * 3.0))(x)  # noqa: B023
            assert_same(found[0], f(x))
            assert_same(gradient, type(x)(3.0))
    assert grad(lambda x: x.item() * 3.0)(np.float32(1.7)) == 3.0


def test_what_is_made_of_a_copied_scalar_is_new_memory() -> None:
    def f(x: Any) -> Any:
        y = x.copy()
        row = y[None]
        row *= 3.0
        return y + row[0]

    for x in (np.float64(1.7), np.float32(1.7)):
        assert_same(value_and_grad(f)(x), (f(x), type(x)(4.0)))
        assert_same(jvp(f, (x,), (x,))[1], 4.0 * x)


PROGRAMS = {
    "sum": lambda x: sum([x, x * x, 1]),
    "max": lambda x: max(x, 1.0, x * 2),
    "min": lambda x: min([x, 1.0, x * 2]),
    "sorted": lambda x: sorted([x * 2, -x, x])[1] ** 2,
    "sort with a key": lambda x: sorted([x, -2 * x], key=abs)[1] ** 3,
    "reduce": lambda x: functools.reduce(operator.mul, [x] * 5),
    "math.prod": lambda x: math.prod([x, x, 2]),
    "statistics": lambda x: statistics.fmean([1.0]) * x,
    "map and zip": lambda x: sum(a * b for a, b in zip([x, 2], map(abs, [1, x]), strict=True)),
    "dict": lambda x: {"a": x, "b": x**2}["b"],
    "conditional": lambda x: x**2 if x > 1 else -x,
    "while": lambda x: next(v for v in (x**i for i in range(99)) if v > 5),
    "random.gauss": lambda x: random.Random(0).gauss(x, x),
    "copy": lambda x: copy.copy(x) * copy.deepcopy([{"a": x}])[0]["a"],
    "np.float64 first": lambda x: np.float64(2) * x + np.float64(2) / x - np.float64(2) ** x,
    "complexity": lambda x: (x + 1) * (x - 1) / (x**2 + 1) % 0.3,
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_on_scalars(program: str) -> None:
    check(PROGRAMS[program], 1.7)


def test_concatenation_of_lists_of_numbers() -> None:
    def f(x: Any) -> Any:
        parts = [x, 2 * x] + [3.0] + [x] * 2
        parts += [x]
        parts.extend(np.array([1.0, 2.0]) * x)
        return sum(i * part for i, part in enumerate(parts))

    check(f, 1.7)


def test_object_arrays_hold_numbers() -> None:
    def f(x: Any) -> Any:
        cells = np.empty(2, dtype=object)
        cells[0], cells[1] = x, x * x
        return (cells * 3.0).sum() + cells[1] * cells[0]

    check(f, 1.7)


def test_augmented_assignment_of_a_scalar_rebinds_the_name() -> None:
    def f(x: Any) -> Any:
        y = x
        y += 1
        y -= 0.5
        y *= x
        y /= 3
        y **= 2
        y %= 0.9
        return y * 10 + x

    check(f, 1.7)


def test_float_errors_are_those_of_python() -> None:
    def f(x: Any) -> Any:
        try:
            return 1 / (x - 1.7)
        except ZeroDivisionError:
            return 5 * x

    assert value_and_grad(f)(1.7) == (8.5, 5.0)
    with pytest.raises(OverflowError):
        grad(lambda x: x**1e9)(1.7)
    with pytest.raises(OverflowError):
        grad(lambda x: x * 10**400)(1.7)


def test_array_errors_are_those_of_numpy() -> None:
    x = np.array([1.0, 2.0])
    for f, expected in (
        (lambda x: bool(x), "truth value of an array"),
        (lambda x: x + np.ones(3), "could not be broadcast"),
        (lambda x: x @ np.ones(3), "mismatch"),
        (lambda x: x.item(), "array of size 1"),
        (lambda x: x.reshape(3), "cannot reshape"),
    ):
        with pytest.raises(ValueError, match=expected):
            grad(f)(x)
    for f in (lambda x: x[2], lambda x: x[0, 0], lambda x: x.item(5)):
        with pytest.raises(IndexError):
            grad(f)(x)
    for f, expected in (
        (lambda x: x + "a", "unsupported operand"),
        (lambda x: None * x, "unsupported operand"),
        (lambda x: x @ object(), "unsupported operand"),
        (lambda x: object() @ x, "unsupported operand"),
        (lambda x: x < "a", "."),
    ):
        with pytest.raises((TypeError, np.exceptions.DTypePromotionError), match=expected):
            grad(f)(x)
    for f in (iter, len, lambda x: 1.0 in x):
        with pytest.raises(TypeError, match="float"):
            grad(f)(1.0)


def test_repr_says_value_and_level() -> None:
    seen = []

    def f(x: Any) -> Any:
        seen.extend([repr(x), str(x), f"{x}", f"{x!r}", f"{x:.1f}"])
        grad(lambda y: seen.append(repr(y * x)) or y)(2.0)
        return x

    leaked: list[Any] = []
    grad(f)(3.0)
    grad(lambda x: leaked.append(x) or np.sum(x))(np.array([1.0, 2.0]))
    assert seen == ["NumR(3.0, level=1)"] * 4 + ["3.0", "NumR(6.0, level=2)"]
    assert repr(leaked[0]) == "NumR(array([1., 2.]), level=1)"


OPERATORS: dict[str, Callable[..., Any]] = {
    "grad": lambda f, x: grad(f)(x),
    "vjp": lambda f, x: sr.vjp(f, x),
    "vjp, gone back": lambda f, x: sr.vjp(f, x)[1](1.0),
    "jvp": lambda f, x: sr.jvp(f, (x,), (np.ones_like(x)[()],)),
    "taylor": lambda f, x: sr.taylor(f, x, 2, np.ones_like(x)[()]),
    "hessian": lambda f, x: sr.hessian(f)(x),
    "checkpoint": lambda f, x: grad(sr.checkpoint(f))(x),
    "fuse": lambda f, x: grad(sr.fuse(f))(x),
    "jvp of grad of jvp": lambda f, x: sr.jvp(
        grad(lambda x: sr.jvp(f, (x,), (np.ones_like(x)[()],))[0]), (x,), (np.ones_like(x)[()],)
    ),
}


def finished(operator: str, x: Any) -> Any:
    """A number, twice x, whose derivative is finished."""
    kept: list[Any] = []

    def f(x: Any) -> Any:
        kept.append(2.0 * x)
        return np.sum(kept[-1] ** 2)

    OPERATORS[operator](f, x)
    return kept[-1]


def into_an_array(x: Any) -> None:
    np.zeros(2)[...] = x


@pytest.mark.parametrize("operator", OPERATORS)
def test_a_finished_number_is_not_converted_to_a_constant(operator: str) -> None:
    conversions: list[Any] = [np.asarray, np.array, lambda x: np.asarray(x, np.float32), lambda x: np.array([x, x])]
    conversions += [into_an_array, lambda x: np.mean([x, x]), lambda x: np.array(x, object)]
    of_scalars: list[Any] = [float, int, complex, math.sqrt, cmath.exp, lambda x: "%f" % x]  # noqa: UP031
    for x, uses in ((0.75, conversions + of_scalars), (np.float64(0.75), conversions + of_scalars), (X, conversions)):
        number = finished(operator, x)
        for use in uses:
            with pytest.raises(EscapedNumberError, match=r"after its derivative has finished.*shiftreset_ad\.value"):
                use(number)
            with pytest.raises(EscapedNumberError):
                grad(lambda y, use=use, number=number: y * use(number))(2.0)
        np.testing.assert_array_equal(value(number), 2.0 * x)


@pytest.mark.parametrize("operator", OPERATORS)
def test_questions_about_a_finished_number_are_answered(operator: str) -> None:
    for x in (0.75, np.float64(0.75), X):
        number, plain = finished(operator, x), 2.0 * x
        for ask in (
            *(lambda x: x > 1.0, lambda x: x == x, lambda x: np.greater(x, 1.0), lambda x: x // 1.0),
            *(lambda x: np.allclose(x, 1.5), np.isnan, np.argmax, np.floor, np.sign, np.shape, np.ndim, np.isscalar),
        ):
            np.testing.assert_array_equal(ask(number), ask(plain))
        assert repr(plain) in repr(number)
        assert copy.deepcopy(number) is number
    number = finished(operator, 0.75)
    assert number
    assert (round(number), math.floor(number), math.ceil(number), number.is_integer()) == (2, 1, 2, False)
    assert f"{number:.2f}" == "1.50"


def test_questions_about_an_array_that_has_been_undone_are_errors() -> None:
    kept: list[Any] = []

    def f(x: Any) -> Any:
        y = x * 1.0
        y[0] = 7.0
        grad(lambda z: kept.append(z * y) or np.sum(z))(X)
        kept[:] = [y, y[1:], *kept]
        return np.sum(y**2)

    def scalar(x: Any) -> Any:
        y = np.zeros_like(x)
        y[...] = x * x
        kept[:] = [y]
        return y * 2.0

    grad(f)(X)
    for x in (kept[0], kept[1]):
        for ask in (
            *(lambda x: x > 0.0, lambda x: x == 1.0, lambda x: x > 0.0, np.argmax, np.isnan, lambda x: 7.0 in x),
            *(lambda x: x // 2.0, lambda x: 2.0 // x, lambda x: x.astype(int), np.asarray, value),
        ):
            with pytest.raises(EscapedNumberError):
                ask(x)
        assert repr(x) == "NumR(no value any longer, level=1)"
        assert len(x) == x.size == x.shape[0]
    grad(scalar)(np.array(3.0))
    for ask in (bool, math.floor, math.trunc, lambda x: x < 1.0, lambda x: f"{x:.2f}"):
        with pytest.raises(EscapedNumberError, match="the way back has put old elements"):
            ask(kept[0])


def test_an_attribute_that_nothing_has_is_an_attribute_error() -> None:
    def f(x: Any) -> Any:
        assert not hasattr(x, "absent")
        assert getattr(x, "absent", 5.0) == 5.0
        with pytest.raises(AttributeError, match="absent"):
            x.absent  # noqa: B018
        return x

    assert grad(f)(3.0) == 1.0


def test_the_class_is_public() -> None:
    grad(lambda x: pytest.fail("not a NumR") if not isinstance(x, NumR) else x)(3.0)
