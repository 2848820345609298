"""What rewritten code reads from outside is looked at in each call, by whatever it reads it."""

import importlib
import warnings

import numpy as np
import pytest

from shiftreset_ad import grad, staged
from tests.staging.front import held_in_a_module as held
from tests.staging.front import outside


@pytest.mark.slow_but_every(3)
@pytest.mark.parametrize("operator", [lambda f: f, grad], ids=["value", "grad"])
@pytest.mark.parametrize("name", [f.__name__ for f in outside.PROGRAMS])
def test_a_change_is_seen(name, operator):
    changed = importlib.reload(outside)
    f = operator(getattr(changed, name))
    compiled = staged(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # after so many changes it may be given up
        for change in (lambda: None, *changed.CHANGES):
            change()
            for x in (0.5, 2.0, 4.0):
                assert compiled(x) == f(x)


def draws(x, n):
    return x + held.GENERATOR.random() if n > 2 else x


def draws_by_a_class(x, n):
    return x + held.Kind.generator.random() if n > 2 else x


def appends(x, n):
    if n > 2:
        held.LIST.append(1)
    return x


def writes(x, n):
    if n > 2:
        held.ARRAY[0] += 1
    return x


def sets_an_item(x, n):
    if n > 2:
        held.DICT["a"] = 1
    return x


def sets_an_attribute(x, n):
    if n > 2:
        held.Kind.count += 1
    return x


def calls_what_appends(x, n):
    if n > 2:
        held.put(1)
    return x


@pytest.mark.parametrize(
    "f", [draws, draws_by_a_class, appends, writes, sets_an_item, sets_an_attribute, calls_what_appends]
)
def test_a_branch_that_is_not_taken_changes_nothing_in_another_module(f):
    compiled, before = staged(f), held.state()
    assert [compiled(0.5, n) for n in (1, 0, 2, 1, 0)] == [0.5] * 5
    np.testing.assert_equal(held.state(), before)
    assert compiled.sources
