"""Which values a partial derivative reads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import shiftreset_ad.scipy.special  # noqa: F401  (which has rules of its own)
from shiftreset_ad.modes.reverse.shells import hollow
from shiftreset_ad.rules import ELEMENTWISE
from shiftreset_ad.rules.masked import Choice
from shiftreset_ad.rules.reads import places_read, values_read

READ = {
    np.add: (False, False, False),
    np.exp: (True, False),
    np.tanh: (True, False),
    np.sin: (False, True),
    np.multiply: (False, True, True),
    np.divide: (True, False, True),
    np.hypot: (True, True, True),
}


@pytest.mark.parametrize("function", READ)
def test_the_code_of_a_partial_derivative_tells_what_it_reads(function: Any) -> None:
    partials = ELEMENTWISE[function].partials
    assert values_read(partials, len(partials)) == READ[function]


def test_each_partial_derivative_is_asked_alone() -> None:
    first, second = ELEMENTWISE[np.multiply].partials
    assert values_read((first,), 2) == (False, False, True)
    assert values_read((second,), 2) == (False, True, False)


def test_a_callable_without_code_of_its_own_may_read_everything() -> None:
    assert places_read(np.cos, 2) == (True, True)


def test_a_function_that_passes_its_arguments_on_may_read_everything() -> None:
    assert places_read(lambda y, *xs: xs[0], 3) == (True, True, True)


def test_a_variable_of_an_inner_function_is_read() -> None:
    def partial(y: Any, x: Any) -> Any:
        inner: Callable[[], Any] = lambda: x  # noqa: E731
        return inner()

    assert places_read(partial, 2) == (False, True)


FUNCTIONS = [function for function, rule in ELEMENTWISE.items() if function.nin == len(rule.partials)]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
@pytest.mark.parametrize("dtype", [float, complex])
def test_what_is_not_read_can_be_hollow(function: Any, dtype: Any) -> None:
    """A partial derivative has the same value if what it does not read is NaN."""
    xs = [np.linspace(0.3, 0.9, 5).astype(dtype) + k + (function is np.arccosh) for k in range(function.nin)]
    try:
        y = function(*xs)
    except TypeError:
        pytest.skip("the function takes no numbers of this type")
    for partial in ELEMENTWISE[function].partials:
        if not callable(partial) or (dtype is complex and function in (np.maximum, np.minimum, np.fmax, np.fmin)):
            continue
        read = places_read(partial, function.nin + 1)
        values = [v if is_read else hollow(v.shape, v.dtype) for v, is_read in zip((y, *xs), read, strict=True)]
        with np.errstate(all="ignore"):  # some points are outside of the domain of some function
            try:
                expected = shares(partial(y, *xs))
            except NotImplementedError:  # there is no derivative for numbers of this type
                continue
            np.testing.assert_array_equal(shares(partial(*values)), expected)


def shares(x: Any) -> Any:
    """A partial derivative, or the shares of a choice, as an array."""
    return x.shares if isinstance(x, Choice) else x
