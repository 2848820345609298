"""What blocks reach and change beside their variables."""

import copy
import importlib
import pkgutil
import sys
from dataclasses import dataclass
from functools import partialmethod
from typing import NamedTuple
from unittest.mock import Mock

import numpy as np
import pytest

from shiftreset_ad import grad, optimize, staged
from shiftreset_ad.staging.front.contents import OfClass, OfDict
from shiftreset_ad.staging.front.effects import Effects
from shiftreset_ad.staging.front.session import Session

X, Y, Z = np.zeros(2), np.ones(2), np.full(2, 2.0)


class Pair(NamedTuple):
    first: float
    second: float = 2.0


@dataclass
class Point:
    x: float = 1.0

    def moved(self):
        return Point(self.x + 1.0)


def of_classes():
    return Pair(1.0), Point()


def names_of(effects):
    return {change.name for change in effects.changes()}


@pytest.mark.parametrize("kind", [Pair, Point])
def test_an_attribute_of_a_class_of_the_users_is_seen(kind, monkeypatch):
    effects = Effects([of_classes], [])
    assert effects.changes() == []
    monkeypatch.setattr(kind, "more", 1.0, raising=False)
    assert names_of(effects) == {"more"}


def test_solvers_are_not_looked_into():
    def f(x):
        return optimize.minimize(lambda y: (y - x) ** 2, 0.0)

    effects = Effects([f, optimize.minimize, optimize.LBFGS], [])
    assert not any(isinstance(contents, OfClass) for _, contents, _ in effects._contents)
    seen = {contents.identity()[1] for _, contents, _ in effects._contents if isinstance(contents, OfDict)}
    assert id(f.__globals__) in seen
    assert id(vars(sys.modules[optimize.minimize.__module__])) not in seen


def test_solvers_keep_nothing_between_calls():
    """This is why blocks need not look into them."""

    def kept():
        modules = [
            importlib.import_module(x.name) for x in pkgutil.iter_modules(optimize.__path__, "shiftreset_ad.optimize.")
        ]
        assert len(modules) > 10
        return {
            (module.__name__, name): copy.copy(x)
            for module in modules
            for name, x in vars(module).items()
            if isinstance(x, list | dict | set | np.ndarray) and not name.startswith("__")
        }

    before = kept()
    f = staged(grad(lambda p: optimize.argmin(lambda x: (x - p) ** 2 + x**4, 0.0)))
    f(1.0), f(2.0), optimize.root(lambda x: x**3 - 2.0, 1.0), optimize.fixed_point(np.cos, 1.0)
    optimize.minimax(lambda x, y: x * y + x * x, 1.0, 1.0)
    assert kept() == before


def test_new_versions_go_to_all_places():
    held, entries = [X, Y, X], {"x": X, "y": Y}

    def f():
        return held, entries, local

    local = X
    Effects([f], []).renew({id(X): Z})
    assert held[0] is held[2] is entries["x"] is local is Z
    assert held[1] is entries["y"] is Y


def test_places_that_are_seen_around_a_block_are_left_to_the_effects_there():
    around, inside = [X], [X]
    outer = Effects([around], [])
    inner = Effects([around, inside], [], outer)
    innermost = Effects([around, inside], [], inner)
    innermost.renew({id(X): Y})
    assert around[0] is inside[0] is X
    inner.renew({id(X): Y})
    assert around[0] is X
    assert inside[0] is Y
    outer.renew({id(X): Y})
    assert around[0] is Y


def test_own_variables_get_new_versions():
    def f():
        return local

    local = X
    Effects([f], f.__closure__).renew({id(X): Y})
    assert local is Y


def test_variables_of_functions_are_known_by_code_and_name():
    def made(value):
        def bump():
            nonlocal value
            value += 1.0

        return bump

    first, second = made(1.0), made(2.0)
    effects = Effects([first], [])
    (variable,) = effects.variables_of(first.__closure__)
    assert variable == (first.__code__, "value")
    (place,) = Effects([second], []).places_of([variable])
    assert place.owner is second.__closure__[0]
    assert effects.variables_of([X, "value"]) == []
    first()
    assert names_of(effects) == {"value"}


def test_a_variable_that_gets_its_first_value_has_its_name():
    def f():
        return later

    effects = Effects([f], [])
    later = 1.0
    assert names_of(effects) == {"later"}


def repeated(f, y, n):
    for _ in range(n):
        for _ in range(2):
            if y > 0.5:
                f(y)


def counted(x, n):
    """A function with a variable that another one changes, in blocks of a third one, and that is called three times."""

    def total_of(y):
        total = 0.0

        def add(z):
            nonlocal total
            total = total + z

        repeated(add, y, n)
        return total

    return total_of(x) + total_of(2.0 * x) + total_of(3.0 * x)


def test_a_variable_is_found_once_for_all_calls_of_its_function(monkeypatch):
    writing = Mock(side_effect=Session.writing)  # a mock is no code of the user's, which blocks would refuse
    monkeypatch.setattr(Session, "writing", partialmethod(writing))
    f = staged(grad(counted))
    for x, n in ((0.7, 3), (0.7, 3), (0.2, 5), (1.3, 0), (0.7, 8)):
        assert f(x, n) == grad(counted)(x, n)
    assert " in 1 way" in f.report()
    assert writing.call_count < 24
