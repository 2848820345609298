"""The tables as a whole: every rule has a case, every ufunc an answer, and a wrong rule is found."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import shiftreset_ad as sr
from shiftreset_ad import grad
from shiftreset_ad.modes.forward import elementwise as forward
from shiftreset_ad.modes.forward.number import NumF
from shiftreset_ad.modes.reverse import elementwise as operations
from shiftreset_ad.modes.reverse.number import NumR
from shiftreset_ad.numbers.dispatch import name_of
from shiftreset_ad.rules import COMPOSITE, CONSTANT, ELEMENTWISE, STRUCTURED, Elementwise, LinearMap, Structured
from shiftreset_ad.rules.numpy.choosing import clipped
from tests.rules import three_ways
from tests.rules.families import FAMILIES, cases_of


def cases():
    return {f for family in FAMILIES for f in cases_of(family)}


def test_every_rule_has_a_case():
    of_another_case = {clipped}  # numpy.clip calls it
    missing = {name_of(f) for f in {*ELEMENTWISE, *STRUCTURED, *COMPOSITE} - cases() - of_another_case}
    # In tests/scipy, tests/numbers/test_sparse.py, tests/nn and tests/staging
    elsewhere = ("scipy.stats", "shiftreset_ad.numbers.sparse", "shiftreset_ad.nn", "shiftreset_ad.staging")
    assert not {name for name in missing if not name.startswith(elsewhere)}


def test_every_case_has_a_rule():
    assert not {name_of(f) for f in cases() - {*ELEMENTWISE, *STRUCTURED, *COMPOSITE}}


def test_no_function_has_two_rules():
    tables = [set(table) for table in (ELEMENTWISE, STRUCTURED, COMPOSITE, CONSTANT)]
    fused = STRUCTURED.keys() & COMPOSITE.keys()  # they have a composition, too, for what their rule does not take
    assert all(name_of(function).startswith("shiftreset_ad.nn.") for function in fused)
    assert len(set.union(*tables)) == sum(map(len, tables)) - len(fused)


UFUNCS = sorted({f for f in vars(np).values() if isinstance(f, np.ufunc)}, key=lambda f: f.__name__)


@pytest.mark.parametrize("ufunc", UFUNCS, ids=lambda f: f.__name__)
def test_every_ufunc_has_a_rule_or_is_constant_or_says_that_it_has_none(ufunc):
    if any(ufunc in table for table in (ELEMENTWISE, STRUCTURED, COMPOSITE)):
        return
    operands = [np.array([1.5, -0.5])] * ufunc.nin
    if ufunc not in CONSTANT:
        with pytest.raises(
            NotImplementedError, match=rf"numpy\.{ufunc.__name__} has no derivative rule here\. .*value\(x\)"
        ):
            grad(lambda x: np.sum(ufunc(*[x] * ufunc.nin)))(operands[0])
        return

    def f(x):
        y = ufunc(*[x] * ufunc.nin)
        assert type(y) is np.ndarray
        np.testing.assert_array_equal(y, ufunc(*operands))
        return np.sum(x * 2.0)

    if ufunc is np.isnat:  # for dates, and NumPy says so
        with pytest.raises(TypeError, match="isnat"):
            grad(f)(operands[0])
    else:
        np.testing.assert_array_equal(grad(f)(operands[0]), [2.0, 2.0])


@pytest.mark.filterwarnings("ignore:numpy.fix is deprecated:DeprecationWarning")
@pytest.mark.parametrize(
    "name",
    [
        "all",
        "any",
        "argmax",
        "argmin",
        "argsort",
        "argwhere",
        "nonzero",
        "flatnonzero",
        "count_nonzero",
        "nanargmax",
        "nanargmin",
        "shape",
        "ndim",
        "size",
        "result_type",
        "iscomplexobj",
        "isrealobj",
        "iscomplex",
        "isreal",
        "array_repr",
        "array_str",
        "array2string",
        "lexsort",
        "round",
        "around",
        "fix",
    ],
)
def test_constant_functions(name):
    function, x = getattr(np, name), np.array([1.5, -0.5, 0.0])

    def f(number):
        found, expected = function(number), function(x)
        assert type(found) is type(expected)
        np.testing.assert_array_equal(found, expected)
        return np.sum(number * number)

    assert function in CONSTANT
    np.testing.assert_array_equal(grad(f)(x), 2 * x)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.searchsorted(x, 1.0),
        lambda x: np.digitize(x, [0.0, 1.0]),
        lambda x: np.argpartition(x, 1),
        lambda x: np.allclose(x, 1.0),
        lambda x: np.isclose(1.0, x),
        lambda x: np.array_equal(x, x),
        lambda x: np.array_equiv(x, x),
        lambda x: np.empty_like(x).shape,
        lambda x: np.argmax(x, axis=0, keepdims=True),
        lambda x: x.argsort(),
        lambda x: x.round(1),
    ],
)
def test_constant_functions_of_more_arguments(call):
    x = np.array([0.25, 1.0, 2.0])

    def f(number):
        np.testing.assert_array_equal(call(number), call(x))
        return np.sum(number)

    np.testing.assert_array_equal(grad(f)(x), np.ones(3))


# A test of the tests: rules that are wrong in one way each


def fails(check, f, *xs):
    with pytest.raises(AssertionError):
        check(f, *xs, generator=np.random.default_rng(0))


def passes(check, f, *xs):
    check(f, *xs, generator=np.random.default_rng(0))


def replace_elementwise(monkeypatch, function, *partials):
    """In both modes."""
    rule = Elementwise(function, partials)
    monkeypatch.setitem(NumR.operations, function, operations.make_operation(rule, function))
    monkeypatch.setitem(NumF.operations, function, forward.make_operation(rule, function))


X = np.array([0.5, 1.5])


def test_a_wrong_partial_derivative_is_found(monkeypatch):
    replace_elementwise(monkeypatch, np.sin, lambda y, x: np.cos(x) * 1.001)
    fails(three_ways.check_finite_differences, np.sin, X)
    fails(three_ways.check, np.sin, X)


def test_a_partial_derivative_that_cannot_be_differentiated_is_found(monkeypatch):
    replace_elementwise(monkeypatch, np.sin, lambda y, x: np.cos(sr.value(x)))
    passes(three_ways.check_finite_differences, np.sin, X)
    passes(three_ways.check_inner_products, np.sin, X)
    fails(three_ways.check_second_order, np.sin, X)


def replace_structured(monkeypatch, function, pushforward, pullback):
    def differentiate(a):
        return function(a), (LinearMap(lambda a_dot: pushforward(a, a_dot), lambda y_bar: pullback(a, y_bar)),)

    monkeypatch.setitem(STRUCTURED, function, Structured(function, ("a",), differentiate, ("a",)))


def test_a_wrong_pushforward_is_found(monkeypatch):
    replace_structured(monkeypatch, np.mean, lambda a, a_dot: np.sum(a_dot), lambda a, y_bar: y_bar / 2 * np.ones(2))
    passes(three_ways.check_finite_differences, np.mean, X)
    fails(three_ways.check_inner_products, np.mean, X)


def test_a_wrong_pullback_is_found(monkeypatch):
    replace_structured(
        monkeypatch, np.mean, lambda a, a_dot: np.mean(a_dot), lambda a, y_bar: y_bar * np.array([0.4, 0.6])
    )
    fails(three_ways.check_finite_differences, np.mean, X)
    fails(three_ways.check_inner_products, np.mean, X)


def test_a_wrong_derivative_of_the_derivative_is_found(monkeypatch):
    replace_elementwise(monkeypatch, np.sin, lambda y, x: np.cbrt(x))
    wrong = operations.make_operation(Elementwise(np.cbrt, (lambda y, x: 2.0 * x,)), np.cbrt)
    monkeypatch.setitem(NumR.operations, np.cbrt, wrong)
    passes(three_ways.check_inner_products, np.sin, X)
    for seed in range(4):
        with pytest.raises(AssertionError):
            three_ways.check_inner_products(np.sin, X, generator=np.random.default_rng(seed), order=2)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.longdouble])
def test_a_pullback_that_is_wrong_in_one_precision_is_found(dtype, monkeypatch):
    replace_structured(
        monkeypatch,
        np.mean,
        lambda a, a_dot: np.sum(a_dot) / 2,
        lambda a, y_bar: y_bar * np.full(2, 2.0 if a.dtype == dtype else 0.5, a.dtype),
    )
    passes(three_ways.check_inner_products, np.mean, X)
    for each in three_ways.TOLERANCE:
        (fails if each is dtype else passes)(functools.partial(three_ways.check_inner_products_in, each), np.mean, X)


def test_a_pullback_that_conjugates_is_found(monkeypatch):
    replace_structured(
        monkeypatch, np.mean, lambda a, a_dot: np.sum(a_dot) / 2j, lambda a, y_bar: np.conj(y_bar / 2j) * np.ones(2)
    )
    fails(three_ways.check_inner_products, np.mean, X + 1j)
    replace_structured(
        monkeypatch, np.mean, lambda a, a_dot: np.sum(a_dot) / 2j, lambda a, y_bar: y_bar / 2j * np.ones(2)
    )
    passes(three_ways.check_inner_products, np.mean, X + 1j)


def test_a_wrong_dtype_or_shape_is_found(monkeypatch):
    monkeypatch.setitem(COMPOSITE, np.flip, lambda m: m[::-1] * np.float64(1.0))
    passes(three_ways.check_inner_products, np.flip, X)
    with pytest.raises(AssertionError):
        three_ways.check_values(np.flip, X.astype(np.float32))
    fails(three_ways.check, np.flip, X)
    monkeypatch.setitem(COMPOSITE, np.flip, lambda m: m[None, ::-1])
    with pytest.raises(AssertionError):
        three_ways.check_values(np.flip, X)


def test_a_function_that_writes_to_its_argument_is_found(monkeypatch):
    def flip_in_place(a):
        plain = sr.value(a)
        if not plain.flags.writeable:
            plain = plain.base
        plain[:] = plain[::-1].copy()
        return a * 1.0

    with pytest.raises(sr.ControlError, match="wrote to an argument"):  # the library itself looks after its arguments
        three_ways.check_values(flip_in_place, X.copy())
