"""A program that asks `isinstance` of a number goes the way that it goes for the value."""

from __future__ import annotations

import collections.abc
import functools
import json
import numbers
import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import shiftreset_ad as sr
from shiftreset_ad import NumF, NumR, checkpoint, custom_vjp, derivative, grad, hessian, jvp, staged, taylor, vjp
from shiftreset_ad.modes.series.number import Series
from shiftreset_ad.modes.stacks.number import Stack
from shiftreset_ad.numbers.classes import class_of_value
from shiftreset_ad.numbers.number import Number
from shiftreset_ad.numbers.tags import Tag
from shiftreset_ad.transforms.custom.transposition import UnknownDirection

ASKED = (
    *(float, complex, int, bool, np.ndarray, np.generic, np.floating, np.inexact, np.float64, np.float32),
    *(np.complexfloating, np.memmap, numbers.Number, numbers.Complex, numbers.Real, numbers.Rational, list, tuple, str),
    *(collections.abc.Sequence, collections.abc.Mapping, float | np.ndarray, (int, float)),
)
VALUES = {
    "float": 0.5,
    "complex": 0.5 + 0.25j,
    "float64": np.float64(0.5),
    "float32": np.float32(0.5),
    "complex128": np.complex128(0.5 + 0.25j),
    "array without dimensions": np.array(0.5),
    "array": np.array([0.5, 0.25]),
    "array of complex numbers": np.array([0.5, 0.25j]),
    "matrix": np.ones((2, 3), np.float32),
}


def numbers_with(value: Any) -> dict[str, Any]:
    """A number of each kind, and nested ones, with this value."""
    tag, inner = Tag(), Tag()
    ones = np.ones_like(value)[()]
    return {
        "NumR": NumR(value, 0.0, tag),
        "NumF": NumF(value, ones, tag),
        "Series": Series([value, ones], tag),
        "NumF in NumR": NumR(NumF(value, ones, tag), 0.0, inner),
        "NumR in Series in NumF": NumF(Series([NumR(value, 0.0, tag)], inner), ones, Tag()),
    }


@pytest.mark.parametrize("name", VALUES)
def test_isinstance_answers_as_for_the_value(name: str) -> None:
    value = VALUES[name]
    for kind, x in numbers_with(value).items():
        for asked in ASKED:
            assert isinstance(x, asked) == isinstance(value, asked), (kind, asked)
        assert x.__class__ is type(value)
        assert np.isscalar(x) == np.isscalar(value)
        assert isinstance(x, Number)
        assert isinstance(x, type(x))


def test_a_stack_and_what_has_no_value_are_what_each_of_their_values_would_be() -> None:
    for x in (Stack(np.ones(3), Tag()), UnknownDirection(np.float64(0.0), Tag())):
        assert isinstance(x, float)
        assert not isinstance(x, np.ndarray)
        assert np.isscalar(x)
    for x in (Stack(np.ones((3, 2)), Tag()), UnknownDirection(np.zeros(2), Tag())):
        assert isinstance(x, np.ndarray)
        assert not isinstance(x, float)
    assert isinstance(Stack(np.ones(3, np.float32), Tag()), np.float32)


@functools.singledispatch
def dispatched(x: Any) -> Any:
    raise NotImplementedError


@dispatched.register
def _(x: float) -> Any:
    return x * x * x


@dispatched.register
def _(x: np.ndarray) -> Any:
    return np.sum(x * x * x)


def matched(x: Any) -> Any:
    match x:
        case float():
            return x * x * x
        case np.ndarray():
            return np.sum(x * x * x)
        case _:
            return 7.0


def branching(x: Any) -> Any:
    if isinstance(x, np.ndarray):
        return np.sum(x * x * x)
    return x * x * x if isinstance(x, float) else 7.0


def of_abstract(x: Any) -> Any:
    return x * x * x if isinstance(x, numbers.Real) else np.sum(x * x * x) if np.ndim(x) else 7.0


def of_scalars(x: Any) -> Any:
    return x * x * x if np.isscalar(x) else np.sum(x * x * x) if isinstance(x, np.ndarray) else 7.0


@custom_vjp
def ruled(x: Any) -> Any:
    return branching(x)


def backward(x: Any, y_bar: Any) -> Any:
    assert isinstance(y_bar, float)
    return (3.0 * x * x * y_bar if isinstance(x, float | np.ndarray) else 7.0,)


ruled.defvjp(lambda x: (branching(x), x), backward)
PROGRAMS = (dispatched, matched, branching, of_abstract, of_scalars, ruled)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("x", [0.5, np.float64(0.5), np.array([0.5, 2.0])], ids=["float", "float64", "array"])
def test_a_program_that_branches_on_it_has_its_derivative_in_every_mode(f: Any, x: Any) -> None:
    slope, ones = 3.0 * x * x, np.ones_like(x)[()]
    for operator in (grad, sr.jacobian, sr.jacrev, sr.jacfwd, lambda f: grad(checkpoint(f))):
        np.testing.assert_allclose(operator(f)(x), slope)
    np.testing.assert_allclose(vjp(f, x)[1](1.0)[0], slope)
    np.testing.assert_allclose(jvp(f, (x,), (ones,))[1], np.sum(slope))
    np.testing.assert_allclose(sr.linearize(f, x)[1](ones), np.sum(slope))
    for second in (hessian(f), sr.jacrev(grad(f)), sr.jacfwd(sr.jacfwd(f)), sr.jacobian(grad(checkpoint(f)))):
        np.testing.assert_allclose(second(x), np.diag(6.0 * x) if np.ndim(x) else 6.0 * x)
    if f is not ruled:
        np.testing.assert_allclose(taylor(f, x, 2, ones)[1], np.sum(slope))
    if np.ndim(x) == 0:
        np.testing.assert_allclose(derivative(f, 1)(x), slope)


def test_staged_functions_go_the_same_way_with_numbers_in_them() -> None:
    for f in (matched, branching, of_abstract, of_scalars):
        g = staged(grad(f))
        for x in (0.5, 0.25, np.float64(2.0), np.array([0.5, 2.0]), np.array([0.25, 1.0])):
            np.testing.assert_allclose(g(x), 3.0 * x * x)
        assert len(g.sources) == 3


def test_polynomials_line_up_coefficients_as_for_the_value() -> None:
    x, table = np.array([0.5, 0.25]), np.arange(6.0).reshape(3, 2)
    for name in ("polynomial.polyval", "chebyshev.chebval", "legendre.legval", "polynomial.polyvalfromroots"):
        module, name = name.split(".")
        f = getattr(getattr(np.polynomial, module), name)
        answer, along = jvp(lambda x, f=f: f(x, table), (x,), (np.ones(2),))
        np.testing.assert_allclose(answer, f(x, table))
        np.testing.assert_allclose(along, (f(x + 1e-6, table) - f(x - 1e-6, table)) / 2e-6, rtol=1e-6)
    np.testing.assert_allclose(grad(np.polynomial.Chebyshev([1.0, 2.0, 3.0]))(0.5), 2.0 + 12.0 * 0.5)


def test_fractions_compare_with_it_and_do_not_convert_it() -> None:
    half = Fraction(1, 2)
    slope = grad(lambda x: x * x + half * x if half == x and Fraction(1, 3) < x and x + half == 1 else 0.0)
    assert slope(0.5) == 1.5


def test_the_means_of_lists_of_arrays_without_dimensions() -> None:
    for mean, expected in ((np.mean, 1.0), (np.var, 0.5), (np.std, 0.5)):
        found = grad(lambda x, mean=mean: mean([x, x * x]) * 1.0)(np.array(0.5))
        assert found == pytest.approx(grad(lambda x, mean=mean: mean(np.stack([x, x * x])))(0.5)), expected


@pytest.mark.parametrize(
    "use",
    [
        lambda x: json.dumps([x]),
        lambda x: json.dumps([x], indent=1),
        lambda x: float.__add__(x, 1.0),
        lambda x: Fraction(x),
        lambda x: pickle.dumps(x),
        lambda x: "%f" % x,  # noqa: UP031
    ],
)
def test_what_needs_a_float_itself_refuses_it_and_names_the_remedy(use: Any) -> None:
    for x in (0.5, np.float64(0.5)):
        with pytest.raises(TypeError, match=r"that is being differentiated.*shiftreset_ad\.value"):
            grad(use)(x)


def test_the_library_itself_sees_a_number() -> None:
    for x in numbers_with(0.5).values():
        asked = {"__name__": "shiftreset_ad.rules.some", "x": x, "Real": numbers.Real}
        assert not eval("isinstance(x, float) or isinstance(x, Real)", asked)
        assert eval("isinstance(x, float) and isinstance(x, Real)", {**asked, "__name__": "shiftreset_ads"})
        assert class_of_value(x) is float
