"""What a staged function sees beside its arguments: steps are never taken when it is not as it was."""

from __future__ import annotations

import array
import collections
import contextvars
import enum
import functools
import itertools
import logging
import math
import os
import random
import subprocess
import sys
import threading
import time
import types
import weakref
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from shiftreset_ad import grad
from shiftreset_ad.staging import StagingWarning, staged
from shiftreset_ad.staging.seen import surroundings
from shiftreset_ad.staging.seen.surroundings import Surroundings, Users

SCALE = 1.0


def follows(f, change, *arguments):
    """Have `f` staged, and its steps taken; change what it sees; it must answer what `f` does, by steps again."""
    arguments = arguments or (3.0,)
    g = staged(f)
    before = [g(*arguments) for _ in range(3)]
    assert before == [f(*arguments)] * 3
    assert len(g.sources) == 1
    change()
    after = f(*arguments)
    assert after != before[0], "the change must matter"
    assert [g(*arguments) for _ in range(3)] == [after] * 3
    assert g.sources
    return g


def is_run_as_it_is(f, match, *arguments):
    g = staged(f)
    with pytest.warns(StagingWarning, match=match):
        assert len([g(*arguments) for _ in range(2)]) == 2
    assert not g.sources


@pytest.fixture(autouse=True)
def _scale():
    global SCALE
    SCALE = 1.0
    yield
    SCALE = 1.0


def set_scale(value):
    global SCALE
    SCALE = value


def scaled(x):
    return x * SCALE


# Variables


def test_a_global():
    follows(scaled, lambda: set_scale(5.0))


def test_a_global_of_a_function_that_is_called():
    follows(lambda x: scaled(x) + 1.0, lambda: set_scale(5.0))


def test_the_sign_of_a_zero():
    set_scale(0.0)
    follows(lambda x: math.copysign(x, SCALE), lambda: set_scale(-0.0))


def test_the_sign_of_what_is_not_a_number():
    set_scale(math.nan)
    follows(lambda x: math.copysign(x, SCALE), lambda: set_scale(-math.nan))
    set_scale(complex(math.nan, 1.0))
    follows(lambda x: math.copysign(x, SCALE.real), lambda: set_scale(complex(-math.nan, 1.0)))


def test_the_type_of_a_number():
    set_scale(2)
    f = staged(lambda x: x**SCALE)
    assert [type(f(np.float32(3.0))) for _ in range(3)] == [np.float32] * 3
    set_scale(np.float64(2.0))
    assert type(f(np.float32(3.0))) is np.float64


def test_a_number_that_becomes_a_truth_value():
    set_scale(1)
    follows(lambda x: x * 2 if isinstance(SCALE, bool) else x, lambda: set_scale(True))


def test_a_global_that_takes_the_place_of_a_builtin():
    space: dict[str, Any] = {}
    exec("def f(x): return abs(x)", space)
    follows(space["f"], lambda: space.update(abs=lambda x: 7.0), -3.0)


def test_a_global_that_was_not_there():
    space: dict[str, Any] = {}
    exec("def f(x):\n    try:\n        return x * late\n    except NameError:\n        return x", space)
    follows(space["f"], lambda: space.update(late=2.0))


def test_a_global_by_its_name_in_a_string():
    follows(lambda x: x * globals()["SCALE"], lambda: set_scale(2.0))


def test_functions_and_classes_of_code_without_a_file():
    space: dict[str, Any] = {"__name__": "notebook"}
    exec("class Q:\n    k = 1.0\nq = Q()\ndef f(x): return x * q.k * Q.k", space)
    follows(space["f"], lambda: setattr(space["Q"], "k", 3.0))
    follows(space["f"], lambda: setattr(space["q"], "k", 5.0))


def test_a_variable_that_is_closed_over():
    k = 1.0

    def assign(value):
        nonlocal k
        k = value

    follows(lambda x: x * k, lambda: assign(2.0))


def test_a_variable_of_a_derivative():
    k = 1.0

    def assign(value):
        nonlocal k
        k = value

    follows(grad(lambda x: x * x * k), lambda: assign(2.0))


def test_defaults():
    def f(x, k=1.0, *, parts=[1.0]):  # noqa: B006
        return x * k * parts[0]

    follows(f, lambda: f.__kwdefaults__["parts"].append(f.__kwdefaults__["parts"].pop() + 1))
    follows(f, lambda: setattr(f, "__defaults__", (3.0,)))
    follows(f, lambda: setattr(f, "__kwdefaults__", {"parts": [9.0]}))


def test_the_code_of_a_function():
    def f(x):
        return x * 2

    follows(f, lambda: setattr(f, "__code__", (lambda x: x * 3).__code__))


def test_an_attribute_of_a_function():
    def f(x):
        return x * getattr(f, "k", 1.0)

    follows(f, lambda: setattr(f, "k", 2.0))


# Containers and arrays


@pytest.mark.parametrize(
    ("container", "change"),
    [
        ([1.0], lambda c: c.append(2.0)),
        ({1.0}, lambda c: c.add(2.0)),
        (collections.deque([1.0]), lambda c: c.append(2.0)),
        (bytearray(b"a"), lambda c: c.append(2)),
        (array.array("d", [1.0]), lambda c: c.append(2.0)),
        (np.ones(2), lambda c: c.__setitem__(0, 2.0)),
        (np.ones(2, complex), lambda c: c.__setitem__(0, 2.0)),
        (np.array([1.0, 2.0], object), lambda c: c.__setitem__(0, 2.0)),
        (np.ma.masked_array([1.0, 2.0], [False, False]), lambda c: c.__setitem__(0, 2.0)),
    ],
    ids=lambda x: type(x).__name__,
)
def test_containers(container, change):
    follows(lambda x: x * float(abs(sum(container))), lambda: change(container))


@pytest.mark.parametrize(
    "container",
    [{"k": 1.0}, collections.OrderedDict(k=1.0), collections.UserDict(k=1.0), collections.defaultdict(float)],
)
def test_dictionaries(container):
    follows(lambda x: x * container.get("k", 0.5), lambda: container.update(k=3.0))


def test_a_dictionary_that_is_only_shown():
    content = {"k": 1.0}
    shown = types.MappingProxyType(content)
    follows(lambda x: x * shown["k"], lambda: content.update(k=2.0))


def test_the_order_of_a_dictionary():
    digits = {"a": 1.0, "b": 2.0}
    follows(
        lambda x: functools.reduce(lambda number, digit: 10 * number + digit, digits.values(), x),
        lambda: digits.update(a=digits.pop("a")),
    )


def test_structures_in_structures():
    model = {"layers": [{"w": np.ones(2)}, (1, {"b": [0.0]})]}
    follows(lambda x: x * model["layers"][1][1]["b"][0], lambda: model["layers"][1][1]["b"].append(2.0) or set_b(model))
    follows(lambda x: x * model["layers"][0]["w"][1], lambda: model["layers"][0].update(w=np.zeros(2)))


def set_b(model):
    model["layers"][1][1]["b"][0] = 4.0


def test_the_shape_of_an_array():
    a = np.ones((2, 3))
    follows(lambda x: x * a.shape[0], lambda: a.resize((3, 2), refcheck=False))


def test_functions_in_a_dictionary():
    table = {"f": lambda x: x}
    follows(lambda x: table["f"](x), lambda: table.update(f=lambda x: -x))


# Objects


class Base:
    k = 1.0

    def __init__(self):
        self.own = 1.0

    def method(self, x):
        return x * self.k * self.own

    @property
    def product(self):
        return self.own * SCALE

    @classmethod
    def of_class(cls, x):
        return x * cls.k

    @staticmethod
    def of_nobody(x):
        return x * SCALE

    @functools.cached_property
    def expensive(self):
        return 3.0


class Derived(Base):
    pass


class Slotted:
    __slots__ = ("__hidden", "k")

    def __init__(self, k):
        self.k = k
        self.__hidden = k

    def hidden(self, value=None):
        if value is not None:
            self.__hidden = value
        return self.__hidden


@pytest.fixture(autouse=True)
def _classes():
    yield
    Base.k = 1.0
    if "k" in vars(Derived):
        del Derived.k


def test_an_attribute_and_a_bound_method():
    x = Derived()
    follows(x.method, lambda: setattr(x, "own", 2.0))
    follows(lambda y: x.method(y), lambda: setattr(x, "own", 3.0))


def test_an_attribute_of_a_class_that_is_inherited():
    x = Derived()
    follows(x.method, lambda: setattr(Base, "k", 2.0))
    follows(x.method, lambda: setattr(Derived, "k", 4.0))
    follows(lambda y: Derived.of_class(y), lambda: setattr(Derived, "k", 5.0))


def test_a_global_that_a_method_a_property_and_a_static_method_see():
    x = Derived()
    follows(lambda y: y * x.product, lambda: set_scale(2.0))
    follows(lambda y: x.of_nobody(y), lambda: set_scale(3.0))


def test_a_method_that_is_replaced(monkeypatch):
    x = Derived()
    follows(lambda y: x.method(y), lambda: monkeypatch.setattr(Base, "method", lambda self, y: -y))


def test_slots():
    x = Slotted(1.0)
    follows(lambda y: y * x.k, lambda: setattr(x, "k", 2.0))
    follows(lambda y: y * x.hidden(), lambda: x.hidden(3.0))


def test_an_attribute_of_a_metaclass():
    class Meta(type):
        k = 1.0

    class Made(metaclass=Meta):
        pass

    follows(lambda x: x * Made.k, lambda: setattr(Meta, "k", 2.0))


def test_attributes_that_were_not_there():
    class Empty:
        pass

    x = Empty()
    follows(lambda y: y * getattr(x, "k", 1.0), lambda: setattr(x, "k", 2.0))
    follows(lambda y: y * getattr(Empty, "j", 1.0), lambda: setattr(Empty, "j", 2.0))


def test_objects_of_libraries():
    x, p = types.SimpleNamespace(k=1.0), np.poly1d([1.0, 2.0])
    follows(lambda y: y * x.k, lambda: setattr(x, "k", 2.0))
    follows(lambda y: y * p.c[0], lambda: p.__setitem__(1, 3.0))


def test_callables_decorators_and_partial_functions():
    class Callable:
        k = 1.0

        def __call__(self, x):
            return x * self.k

    def doubling(f):
        @functools.wraps(f)
        def doubled(x):
            return 2 * f(x)

        return doubled

    x = Callable()
    follows(x, lambda: setattr(x, "k", 2.0))
    follows(doubling(scaled), lambda: set_scale(2.0))
    follows(functools.partial(lambda parts, y: parts[0] * y, parts := [1.0]), lambda: parts.insert(0, 4.0))


def test_objects_that_are_arguments():
    x = Slotted(1.0)
    follows(lambda x, y: x.k * y, lambda: setattr(x, "k", 2.0), x, 3.0)
    follows(lambda method, y: method(y), lambda: set_scale(2.0), scaled, 3.0)


def test_each_object_that_is_an_argument_is_looked_at():
    one, other = Slotted(1.0), Slotted(2.0)
    f = staged(lambda x, y: x.k * y)
    for _ in range(3):
        assert (f(one, 3.0), f(other, 3.0)) == (3.0, 6.0)
    other.k = 5.0
    assert (f(one, 3.0), f(other, 3.0)) == (3.0, 15.0)


@dataclass
class Model:
    w: float
    tags: list = field(default_factory=list)

    def predict(self, x):
        return self.w * x * SCALE


def test_what_the_methods_of_a_dataclass_see():
    follows(lambda model, x: model.predict(x), lambda: set_scale(2.0), Model(2.0), 3.0)


def test_enumerations():
    Kind = enum.Enum("Kind", {"LINEAR": 1, "SQUARE": 2})  # noqa: N806
    f = staged(lambda x, kind: x if kind is Kind.LINEAR else x * x)
    for _ in range(3):
        assert (f(3.0, Kind.LINEAR), f(3.0, Kind.SQUARE)) == (3.0, 9.0)
    assert len(f.sources) == 2


# Modules


@pytest.fixture
def module():
    made = types.ModuleType("settings_of_the_user")
    made.k = made.j = 1.0
    sys.modules[made.__name__] = made
    yield made
    del sys.modules[made.__name__]


def test_constants_of_a_module(module):
    def helper(x):
        return x * module.j

    follows(lambda x: x * module.k, lambda: setattr(module, "k", 2.0))
    follows(lambda x: helper(x) * module.k, lambda: setattr(module, "j", 2.0))
    follows(lambda x: x * getattr(module, "late", 1.0), lambda: setattr(module, "late", 2.0))


def test_a_module_that_is_imported_in_the_function(module):
    def f(x):
        import settings_of_the_user

        return x * settings_of_the_user.k

    follows(f, lambda: setattr(module, "k", 2.0))


def test_the_environment(monkeypatch):
    monkeypatch.setenv("A_SCALE", "1")
    follows(lambda x: x * float(os.environ["A_SCALE"]), lambda: monkeypatch.setenv("A_SCALE", "2"))
    follows(lambda x: x * float(os.getenv("A_SCALE")), lambda: monkeypatch.setenv("A_SCALE", "3"))


def test_the_package_of_the_function_although_it_is_installed(tmp_path):
    """The globals of other installed packages are not looked at."""
    package = tmp_path / "site-packages" / "installed_model"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "loss.py").write_text("K = 1.0\ndef loss(x): return x * x * K\n")
    script = f"""
import sys
from shiftreset_ad.control import frames
installed = (*frames._installed(), {str(tmp_path / "site-packages")!r})
frames._installed = lambda: installed
sys.path.insert(0, {str(tmp_path / "site-packages")!r})
from installed_model import loss
from shiftreset_ad import grad
from shiftreset_ad.staging import staged
f = staged(grad(loss.loss))
print(f(1.0), f(1.0), f(1.0), len(f.sources))
loss.K = 3.0
print(f(1.0))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["2.0", "2.0", "2.0", "1", "6.0"]


# What is changed by the function itself


def test_a_counter():
    count = 0

    def f(x):
        nonlocal count
        count += 1
        return x * count

    g = staged(f)
    answers = [g(1.0)]
    with pytest.warns(StagingWarning, match="it changes 'count'"):
        answers.append(g(1.0))
    answers += [g(1.0) for _ in range(3)]
    assert answers == [1.0, 2.0, 3.0, 4.0, 5.0]


def test_a_history():
    history = []

    def f(x):
        history.append(x)
        return x * 2

    g = staged(f)
    with pytest.warns(StagingWarning, match="it changes 'history'"):
        assert [g(x) for x in (1.0, 2.0, 3.0)] == [2.0, 4.0, 6.0]
    assert history == [1.0, 2.0, 3.0]
    assert set(map(type, history)) == {float}


def test_the_state_of_an_optimizer():
    class Optimizer:
        def __init__(self):
            self.w = np.ones(3)

        def step(self, x):
            self.w = self.w - 0.1 * grad(lambda w: np.sum(w * w * x))(self.w)
            return self.w

    expected, optimizer = Optimizer(), Optimizer()
    step = staged(optimizer.step)
    with pytest.warns(StagingWarning, match="it changes 'an attribute of a Optimizer'"):
        answers = [step(2.0) for _ in range(4)]
    np.testing.assert_array_equal(answers, [expected.step(2.0) for _ in range(4)])
    assert type(optimizer.w) is np.ndarray


def test_a_global_that_is_assigned_what_it_has_already():
    space: dict[str, Any] = {}
    exec("def f(x):\n    global last\n    last = x\n    return x * 2", space)
    f = staged(space["f"])
    x = np.ones(2)
    with pytest.warns(StagingWarning, match="it changes 'last'"):
        kept = [f(x) is None or space["last"] for _ in range(3)]
    assert all(last is x for last in kept)


def test_what_is_made_ready_once():
    x = Derived()
    f = staged(lambda y: y * x.expensive)
    assert [f(2.0), f(3.0), f(4.0)] == [6.0, 9.0, 12.0]
    assert len(f.sources) == 1


def test_what_is_made_ready_in_a_call_of_another_kind_counts_for_all():
    ready = {}

    def f(x, n):
        if n == 2:
            ready.setdefault("k", 5.0)
        return x * ready.get("k", 1.0)

    g = staged(f)
    assert [g(1.0, 1), g(2.0, 1), g(3.0, 1)] == [1.0, 2.0, 3.0]
    assert [g(1.0, 2), g(2.0, 1), g(3.0, 1), g(3.0, 2), g(4.0, 1)] == [5.0, 10.0, 15.0, 15.0, 20.0]


@pytest.mark.parametrize("options", [{}, {"maxsize": 1}, {"typed": True}], ids=repr)
def test_no_staged_value_stays_in_a_cache(options):
    @functools.lru_cache(**options)
    def square(x):
        return x * x

    f = staged(lambda x: square(x) + square(x + 1))
    for x in (2.0, 3.0, 2.0):
        assert f(x) == x * x + (x + 1) ** 2
    assert [square(x) for x in (2.0, 3.0, 4.0)] == [4.0, 9.0, 16.0]
    assert type(square(3.0)) is float


def test_what_a_function_with_a_cache_sees():
    @functools.lru_cache
    def cached():
        return SCALE

    def change():
        set_scale(2.0)
        cached.cache_clear()

    follows(lambda x: x * cached(), change)


# Random numbers and clocks


@pytest.mark.parametrize(
    "draw",
    [
        np.random.rand,
        random.random,
        np.random.default_rng(0).normal,
        lambda: np.random.rand(),  # noqa: NPY002
        lambda rng=np.random.default_rng(0): rng.normal(),  # noqa: B008
        lambda rng=np.random.RandomState(0): rng.rand(),  # noqa: B008
        lambda rng=random.Random(0): rng.random(),  # noqa: B008
        lambda rng=random.SystemRandom(): rng.random(),  # noqa: B008
        lambda rng=np.random.PCG64(0): rng.random_raw(),  # noqa: B008
    ],
)
def test_random_numbers(draw):
    is_run_as_it_is(lambda x: x + draw(), "it uses random numbers", 1.0)


def test_random_numbers_are_those_of_the_function():
    one, other = np.random.default_rng(1), np.random.default_rng(1)
    f = staged(lambda x: x + one.normal())
    with pytest.warns(StagingWarning):
        assert [f(0.0) for _ in range(5)] == [other.normal() for _ in range(5)]


def test_random_numbers_that_are_the_same_each_time():
    f = staged(lambda x: x + np.random.default_rng(7).normal())
    assert f(1.0) == f(1.0) == f(1.0)
    assert f.sources


def test_random_numbers_of_the_system():
    is_run_as_it_is(lambda x: x + int.from_bytes(os.urandom(7), "big"), "something else when it is run again", 1.0)


def test_clocks():
    is_run_as_it_is(lambda x: x + time.perf_counter(), "it looks at the clock, by 'perf_counter'", 1.0)


# What cannot be looked into


@pytest.mark.parametrize(
    ("x", "kind"),
    [
        (iter([1.0, 1.0, 2.0]), "list_iterator"),
        ((i for i in (1.0, 1.0, 2.0)), "generator"),
        (itertools.count(), "count"),
        (contextvars.ContextVar("c"), "ContextVar"),
        (threading.local(), "_local"),
        (weakref.ref(Base), "ReferenceType|weakref"),
        (sys.stdout, ""),
    ],
    ids=lambda x: x if isinstance(x, str) else type(x).__name__,
)
def test_what_cannot_be_looked_into(x, kind):
    is_run_as_it_is(lambda y: y if x else x, f"it sees 'x', a {kind}.*, and staging cannot look into it", 2.0)


def test_an_iterator_that_is_closed_over():
    numbers = itertools.count()
    f = staged(lambda x: x + next(numbers))
    with pytest.warns(StagingWarning, match="a count"):
        assert [f(0.0) for _ in range(4)] == [0.0, 1.0, 2.0, 3.0]


@pytest.mark.slow
def test_very_many_objects():
    many = [Slotted(1.0) for _ in range(30_000)]
    follows(lambda x: x * many[7].k, lambda: setattr(many[7], "k", 2.0))


def test_too_many_objects(monkeypatch):
    monkeypatch.setattr(surroundings, "MOST", 2_000)
    many = [Slotted(1.0) for _ in range(3_000)]
    is_run_as_it_is(lambda x: x * many[0].k, "it sees more than 2000 things", 2.0)


def test_many_numbers_are_no_objects():
    many = list(range(30_000))
    follows(lambda x: x * many[7], lambda: many.__setitem__(7, 8))


def test_locks_and_loggers_do_not_matter():
    lock, logger = threading.Lock(), logging.getLogger(__name__)

    def f(x):
        with lock:
            logger.debug("called")
            return x * SCALE

    follows(f, lambda: set_scale(2.0))


def test_attributes_that_may_not_be_asked_for():
    class Stubborn:
        def __getattr__(self, name):
            raise RuntimeError(name)

    x = Stubborn()
    f = staged(lambda y: y if x else 0.0)
    assert [f(1.0), f(2.0), f(3.0)] == [1.0, 2.0, 3.0]
    assert f.sources


def test_a_class_without_a_module():
    nameless_kind = eval("type('Nameless', (), {'k': 2.0})", {})
    nameless = nameless_kind()
    follows(lambda x: x * nameless.k, lambda: setattr(nameless_kind, "k", 5.0))
    follows(lambda x: x * len(f"{nameless_kind.k}"), lambda: setattr(nameless_kind, "k", 0.125))


def test_an_object_that_answers_each_question_with_a_number():
    class Odd:
        def __getattribute__(self, name):
            return 12.0 * SCALE

    x = Odd()
    follows(lambda y: y * x.k, lambda: set_scale(2.0))


def test_classes_that_raise_errors_if_they_are_looked_into():
    class OfItself:
        k = 2.0

        @property
        def __class__(self):
            raise RuntimeError("of itself")

    class OfClasses(type):
        def __getattribute__(cls, name):
            raise RuntimeError("of classes")

    class Closed(metaclass=OfClasses):
        k = 2.0

    for x in (OfItself(), Closed()):
        is_run_as_it_is(lambda y, x=x: y * x.k, "cannot be looked into", 3.0)


def test_the_name_of_what_has_changed():
    k = [1.0]
    seen = Surroundings(lambda x: x * k[0])
    assert seen.guards.changed() is None
    k[0] = 2.0
    assert seen.guards.changed() == "k"


def test_a_module_is_told_anew_when_it_is_loaded(monkeypatch):
    users, module = Users(()), types.ModuleType("loaded_later")
    assert users.has("loaded_later")
    module.__file__ = np.__file__
    monkeypatch.setitem(sys.modules, "loaded_later", module)
    assert not users.has("loaded_later")
