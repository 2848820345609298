"""What a function reads, by whatever path, is compared before each replay; what it does not read costs nothing."""

# ruff: noqa: C417, RUF015
from __future__ import annotations

import builtins
import copy
import functools
import importlib
import inspect
import operator
import random
import sys
import threading
import time
import types
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from typing import Any, NamedTuple

import numpy as np
import pytest

from shiftreset_ad import checkpoint, grad, reset, shift, staged, vjp
from shiftreset_ad.staging import StagingWarning
from shiftreset_ad.staging.seen.parts import is_read_as_a_tuple
from shiftreset_ad.staging.seen.reads import Reads
from shiftreset_ad.staging.seen.stack import Unknown
from shiftreset_ad.staging.seen.surroundings import Surroundings
from tests.staging.in_turns import (
    beside_a_test,
    in_turns,
    is_refused,
    outcome,
    require_same,
    stays_staged,
    under_a_test,
)

SCALE = 1.0
TABLE: dict[str, Any] = {"a": 1.0}
PARTS = {"first": types.SimpleNamespace(value=1.0), "second": types.SimpleNamespace(value=2.0)}
NAME = "".join(["sca", "le"])  # computed, so that no code has it as a constant


def set_scale(value):
    global SCALE
    SCALE = value


@pytest.fixture(autouse=True)
def _as_before():
    set_scale(1.0)
    TABLE.clear()
    TABLE["a"] = 1.0


def follows(f, change, *args):
    """The steps of `f` are replayed until something changes, and then again.

    Programs with a test follow the change, too, where `f` is called beside the test and where it is called under it.
    """
    args = args or (2.0,)
    one, beside, under = staged(f), staged(beside_a_test(f)), staged(under_a_test(f))
    calls = [(one, args), (beside, args), (under, (-1.0, *args))]
    for _ in range(3):
        require_answers(calls)
    change()
    calls.append((under, (1.0, *args)))
    for _ in range(3):
        require_answers(calls)
    assert len(one.sources) == 1
    assert beside.sources
    assert under.sources


def require_answers(calls):
    for g, args in calls:
        answer, reasons = outcome(g, args)
        assert not reasons, reasons[0].message
        expected, _ = outcome(g.__wrapped__, args)
        require_same(answer, expected)


# Names that are computed, namespaces, imports


@pytest.fixture
def settings():
    made = types.ModuleType("settings_of_a_user")
    made.scale, made.other = 1.0, 2.0
    sys.modules[made.__name__] = made
    yield made
    del sys.modules[made.__name__]


@pytest.mark.parametrize(
    "read",
    [
        lambda module, name: getattr(module, name),
        lambda module, name: vars(module)[name],
        lambda module, name: module.__dict__[name],
        lambda module, name: operator.attrgetter(name)(module),
        lambda module, name: eval(f"module.{name}"),
    ],
)
def test_a_name_that_is_computed(settings, read):
    follows(lambda x, name=NAME: x * read(settings, name), lambda: setattr(settings, "scale", 5.0))


def test_a_global_whose_name_is_computed():
    name = NAME.upper()
    follows(lambda x: x * globals()[name], lambda: set_scale(5.0))
    follows(lambda x: x * eval(name), lambda: set_scale(7.0))


def test_names_in_code_that_is_evaluated():
    name, space = NAME.upper(), {"k": 1.0}
    follows(lambda x: x * eval(name, globals()), lambda: set_scale(5.0))
    follows(lambda x: x * eval("k", space), lambda: space.update(k=6.0))
    follows(lambda x: x * eval("k", {}, space), lambda: space.update(k=7.0))


def test_a_function_that_no_search_finds(settings):
    def made(k):
        def multiplied(x, j=(1.0,)):
            return x * k[0] * j[0]

        return multiplied

    k = [1.0]
    settings.scale = made(k)
    follows(lambda x, name=NAME: getattr(settings, name)(x), lambda: k.__setitem__(0, 5.0))
    follows(lambda x, name=NAME: getattr(settings, name)(x), lambda: setattr(settings.scale, "__defaults__", ((3.0,),)))


def test_the_attributes_that_a_module_computes(settings):
    exec("store = {'rate': 1.0}\ndef __getattr__(name):\n    return store[name]\n", vars(settings))
    vars(settings).setdefault("__file__", None)
    follows(lambda x: x * settings.rate, lambda: settings.store.update(rate=5.0))


@pytest.fixture
def package(tmp_path, monkeypatch):
    folder = tmp_path / "package_of_a_user"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "settings.py").write_text("K = 1.0\n")
    (folder / "effect.py").write_text("from . import settings\nsettings.K += 1.0\nK = 1.0\n")
    (folder / "model.py").write_text(
        "def module(x):\n    from . import settings\n    return x * settings.K\n"
        "def name(x):\n    from .settings import K\n    return x * K\n"
        "def effect(x):\n    from .effect import K\n    return x * K\n"
        "def absolute(x):\n    import package_of_a_user.settings\n    return x * package_of_a_user.settings.K\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    yield importlib.import_module("package_of_a_user.model")
    for name in [name for name in sys.modules if name.startswith("package_of_a_user")]:
        del sys.modules[name]


@pytest.mark.parametrize("name", ["module", "name", "effect", "absolute"])
def test_an_import_in_the_function(package, name):
    f, module = getattr(package, name), "effect" if name == "effect" else "settings"
    follows(f, lambda: setattr(sys.modules[f"package_of_a_user.{module}"], "K", 5.0))


def test_a_module_that_is_loaded_anew(package):
    def change():
        del sys.modules["package_of_a_user.settings"]
        importlib.import_module("package_of_a_user.settings").K = 5.0

    follows(package.name, change)


# Generators of random numbers


def drawn_and_put_back(rng):
    state = rng.bit_generator.state
    number = rng.normal()
    rng.bit_generator.state = state
    return number


def drawn_from_another(one):
    other = random.Random()
    other.setstate(one.getstate())
    return other.random()


def drawn_and_put_back_in_python():
    state = random.getstate()
    number = random.random()
    random.setstate(state)
    return number


def drawn_from_numpys_state():
    other = np.random.RandomState()
    other.set_state(np.random.get_state())  # noqa: NPY002
    return other.rand()


def test_the_state_of_a_generator_that_is_copied_or_put_back():
    rng, python = np.random.default_rng(0), random.Random(0)
    follows(lambda x: x * copy.deepcopy(rng).normal(), rng.normal)
    follows(lambda x: x * drawn_and_put_back(rng), rng.normal)
    follows(lambda x: x * drawn_from_another(python), python.random)
    follows(lambda x: x * drawn_and_put_back_in_python(), random.random)
    follows(lambda x: x * drawn_from_numpys_state(), np.random.rand)


def test_a_generator_that_is_only_in_reach():
    model = types.SimpleNamespace(rng=np.random.default_rng(0), w=1.0)
    stays_staged(lambda x: x * model.w, *[(2.0,), model.rng.normal] * 5, ways=1)


# Classes


class One:
    k = 1.0


class Five:
    k = 5.0


def test_the_class_of_an_object():
    x = One()
    follows(lambda y: y * x.k, lambda: setattr(x, "__class__", Five))


def test_the_bases_of_a_class():
    class Derived(One):
        pass

    x = Derived()
    follows(lambda y: y * x.k, lambda: setattr(Derived, "__bases__", (Five,)))
    follows(lambda y: y * Derived.k, lambda: setattr(Derived, "__bases__", (One,)))


def test_the_dictionary_of_an_object():
    x = One()
    x.own = 1.0
    follows(lambda y: y * x.own, lambda: setattr(x, "__dict__", {"own": 5.0}))


class Scaled:
    def __init__(self):
        self.w = 1.0

    @property
    def p(self):
        return self.w

    @p.setter
    def p(self, value):
        self.w = value * SCALE

    @p.deleter
    def p(self):
        self.w = SCALE


def test_what_setters_and_deleters_see():
    def assigned(x):
        scaled = Scaled()
        scaled.p = 2.0
        return x * scaled.p

    def deleted(x):
        scaled = Scaled()
        del scaled.p
        return x * scaled.p

    follows(assigned, lambda: set_scale(5.0))
    follows(deleted, lambda: set_scale(7.0))


class Special:
    """Each of its methods reads the table."""

    def __enter__(self):
        return TABLE

    def __exit__(self, *_):
        return False

    def __getattr__(self, name):
        if name != "a":
            raise AttributeError(name)
        return TABLE[name]

    def __getitem__(self, index):
        return TABLE

    def __call__(self, x):
        return TABLE["a"] * x

    def __add__(self, other):
        return TABLE["a"] + other

    def __iter__(self):
        return iter([TABLE["a"]])

    def __bool__(self):
        return TABLE["a"] < 2

    def __len__(self):
        return int(TABLE["a"])

    def __contains__(self, item):
        return TABLE["a"] < 2

    def __eq__(self, other):
        return TABLE["a"] < 2

    def __float__(self):
        return TABLE["a"]

    def __index__(self):
        return int(TABLE["a"])

    def __repr__(self):
        return str(TABLE["a"])


special = Special()


def entered(x):
    with special as table:
        return x * table["a"]


@pytest.mark.parametrize(
    "f",
    [
        entered,
        lambda x: special.a * x,
        lambda x: special[0]["a"] * x,
        lambda x: special(x),
        lambda x: (special + 1.0) * x,
        lambda x: sum(special) * x,
        lambda x: [*special][0] * x,
        lambda x: x if special else -x,
        lambda x: len(special) * x,
        lambda x: x if 3 in special else -x,
        lambda x: x if special == 3 else -x,
        lambda x: float(special) * x,
        lambda x: [0, 1, 2, 3, 4, 5][special] * x,
        lambda x: float(f"{special}") * x,
    ],
)
def test_special_methods(f):
    follows(f, lambda: TABLE.update(a=5.0))


# Paths to an element


def raised(x):
    try:
        raise ValueError(TABLE["a"])
    except ValueError as error:
        return x * error.args[0]


def generated(x):
    for _ in range(3):
        yield x * TABLE["a"]


def delegated(x):
    yield from generated(x)


def resumed(x):
    parts = []

    def program():
        def handler():
            parts.append(x * TABLE["a"])
            yield 1.0
            parts.append(x * TABLE["a"])

        return shift(handler)

    reset(program)
    return sum(parts)


@pytest.mark.parametrize(
    "f",
    [
        raised,
        resumed,
        lambda x: sum(generated(x)),
        lambda x: sum(list(delegated(x))),
        lambda x: x * max(TABLE.values()),
        lambda x: x * next(iter(TABLE.values())),
        lambda x: x * [v for _, v in TABLE.items()][0],
        lambda x: x * (lambda a: a)(**TABLE),
        lambda x: x * dict(TABLE)["a"],
        lambda x: x * {**TABLE}["a"],
        lambda x: x * (table := TABLE)["a"] + 0.0 * len(table),
        lambda x: x * [TABLE][0]["a"],
        lambda x: x * (TABLE, 1)[0]["a"],
        lambda x: x * (TABLE if x > 0 else {})["a"],
        lambda x: x * (TABLE or 3)["a"],
        lambda x: x * (lambda: (lambda: TABLE)())()["a"],
        lambda x: x * [TABLE].pop()["a"],
        lambda x: x * list(zip([TABLE]))[0][0]["a"],
        lambda x: x * max([TABLE], key=len)["a"],
        lambda x, k=TABLE: x * k["a"],
        lambda x: x * operator.itemgetter("a")(TABLE),
        lambda x: functools.partial(lambda table, y: table["a"] * y, TABLE)(x),
        lambda x: x * (lambda *args: args[0]["a"])(TABLE),
        lambda x: x * set_scale.__globals__["TABLE"]["a"],
        lambda x: x * sys.modules[__name__].TABLE["a"],
        lambda x: x * importlib.import_module(__name__).TABLE["a"],
        lambda x: x * __import__("sys").modules[__name__].TABLE["a"],
        lambda x: x * sorted([3.0, 1.0], key=lambda i: i if TABLE["a"] < 2 else -i)[0],
        lambda x: sum(map(lambda y: y * TABLE["a"], [x, x])),
        lambda x: functools.reduce(lambda total, y: total + y * TABLE["a"], [1.0, 2.0], x),
        grad(lambda x: x * x * TABLE["a"]),
        grad(grad(lambda x: x * x * TABLE["a"])),
        grad(checkpoint(lambda x: x * x * TABLE["a"])),
        lambda x: vjp(lambda y: y * y * TABLE["a"], x)[1](1.0),
    ],
)
def test_paths(f):
    follows(f, lambda: TABLE.update(a=5.0))


def test_values_of_a_dictionary_that_are_stored():
    values, items = TABLE.values(), TABLE.items()
    follows(lambda x: x * sum(values), lambda: TABLE.update(a=5.0))
    follows(lambda x: x * sum(value for _, value in items), lambda: TABLE.update(a=6.0))


@pytest.mark.slow
def test_many_elements():
    array, numbers = np.ones(1000), list(range(1000))
    follows(lambda x: x * sum(array[i] for i in range(1000)), lambda: array.__setitem__(999, 5.0))
    follows(lambda x: x * sum([numbers[i] for i in range(1000)]), lambda: numbers.__setitem__(999, 5))


@pytest.mark.parametrize(
    "gathered", [lambda: [*PARTS.values()], lambda: {**PARTS}.values(), lambda: (*PARTS.values(),)]
)
def test_what_is_gathered_from_a_structure_is_looked_into(gathered):
    g = staged(lambda x: x * sum(map(operator.attrgetter("value"), gathered())))
    for value in (1.0, 1.0, 1.0, 5.0):
        PARTS["first"].value = value
        assert g(2.0) == 2.0 * (value + 2.0)


def test_a_key_that_was_not_there():
    follows(lambda x: x * (3.0 if "b" in TABLE else 2.0), lambda: TABLE.update(b=1.0))
    follows(lambda x: x * TABLE.get("c", 2.0), lambda: TABLE.update(c=5.0))


def test_the_frames_of_the_program_are_not_looked_at():
    is_refused(lambda x: x * sys._getframe().f_globals["SCALE"], "looks at the frames", (2.0,), (2.0,))
    is_refused(lambda x: x * inspect.currentframe().f_globals["SCALE"], "looks at the frames", (2.0,), (2.0,))


def test_other_threads_are_not_watched():
    def by_pool(x):
        with ThreadPoolExecutor(1) as pool:
            return x * pool.submit(lambda: TABLE["a"]).result()

    def by_thread(x):
        read: list[float] = []
        thread = threading.Thread(target=lambda: read.append(TABLE["a"]))
        thread.start()
        thread.join()
        return x * read[0]

    for f in (by_pool, by_thread):
        is_refused(f, "several threads", (2.0,), (2.0,), lambda: TABLE.update(a=5.0), (2.0,))


# What is prepared once


def test_a_cache_by_the_shape():
    cache: dict[Any, Any] = {}

    def f(x):
        if x.shape not in cache:
            cache[x.shape] = np.full(x.shape, 3.0)
        return x * cache[x.shape]

    stays_staged(f, *[(np.ones(n),) for n in (1, 2, 3) * 4], ways=3)


class Model:
    def __init__(self, k):
        self.k = k

    @functools.cached_property
    def doubled(self):
        return self.k * 2

    def apply(self, x):
        return x * self.doubled


def test_a_cached_property_of_several_objects():
    models = [Model(float(k)) for k in range(3)]
    g = staged(Model.apply)
    for _ in range(4):
        assert [g(model, 2.0) for model in models] == [0.0, 4.0, 8.0]
    assert len(g.sources) == 3


# What is not read costs nothing


@contextmanager
def at_most(ratio):
    times: dict[str, list[float]] = {"with": [], "without": []}

    def timed(name, f, x):
        start = time.process_time()
        for _ in range(100):
            f(x)
        times[name].append(time.process_time() - start)

    yield timed
    assert min(times["with"]) < ratio * min(times["without"])


def test_a_part_of_much_costs_what_the_part_costs():
    objects, numbers, array = [One() for _ in range(4000)], {i: float(i) for i in range(30_000)}, np.ones(1_000_000)
    few, little, small = objects[:2], {7: 7.0}, np.ones(2)
    much = [lambda x: x * objects[1].k, lambda x: x * numbers[7], lambda x: x * array[1]]
    for f, g in zip(much, [lambda x: x * few[1].k, lambda x: x * little[7], lambda x: x * small[1]], strict=True):
        one, other = staged(f), staged(g)
        for x in (1.0, 2.0, 3.0):
            assert one(x) == f(x) == other(x) == g(x)
        with at_most(3.0) as timed:
            for _ in range(10):
                timed("with", one, 2.0)
                timed("without", other, 2.0)


def test_what_is_not_read_may_change():
    objects = [One() for _ in range(10)]
    stays_staged(lambda x: x * objects[1].k, *[(2.0,), lambda: setattr(objects[0], "k", 7.0)] * 4, ways=1)
    stays_staged(lambda x: x * TABLE["a"], *[(2.0,), lambda: TABLE.update(b=len(TABLE))] * 4, ways=1)


def test_a_variable_of_a_comprehension_that_inner_functions_see_too():
    """CPython 3.13 cannot show it, and its process would end."""

    def f(xs):
        for item in xs:
            last = lambda: item[0]  # noqa: B023, E731
        return sum([item[0] * item[1] for item in xs]) + last()

    calls = [([(k, 2.0), (3.0, k)],) for k in (1.0, 2.0, 3.0, 4.0)]
    in_turns(f, *calls)
    in_turns(grad(f), *calls)


def test_a_variable_of_a_comprehension_that_the_function_sees_from_outside_too():
    """CPython 3.12 gives the one the value of the other while the function is watched."""

    def f(x, scale):
        k = scale * 3.0

        def total(y):
            return [(0.0, y)[k] for k in range(2)], y * k

        (_, first), second = total(x)
        return first * second

    for g in (f, grad(f)):
        _, reasons = in_turns(g, (1.0, 2.0), (1.0, 2.0), (3.0, 2.0), (3.0, 5.0))
        assert "something else" not in reasons


def test_a_variable_of_a_comprehension_in_the_body_of_a_class():
    """CPython 3.12 loses its value while the body is watched, and warns."""

    def f(x):
        class Parts:
            products = tuple([x * k for k in (1.0, 2.0)])

        return sum(Parts.products)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        g = staged(f)
        assert [g(x) for x in (1.0, 2.0, 3.0)] == [3.0, 6.0, 9.0]
    assert not [warning for warning in caught if warning.category is not StagingWarning]


# Objects of one class


class Pair(NamedTuple):
    """A node whose parts never change, though its class may."""

    left: Any
    right: Any


PAIRS = Pair(Pair(1.0, 2.0), Pair(3.0, Pair(4.0, 5.0)))


def last_of(x, pair):
    while isinstance(pair.right, tuple):
        pair = pair.right
    return x * pair.left - pair.right


@pytest.fixture
def _as_it_was():
    left, names = vars(Pair)["left"], {*vars(Pair)}
    yield
    Pair.left = left
    for name in {*vars(Pair)} - names:
        delattr(Pair, name)


@pytest.mark.usefixtures("_as_it_was")
def test_an_attribute_of_a_class_of_many_objects_is_compared_once():
    f = staged(lambda x: last_of(x, PAIRS))
    for _ in range(3):
        f(2.0)
    (signature,) = f._calls._signatures.values()
    names = [name for _, name, _ in signature.guards._entries.values()]
    assert names.count("left") == names.count("right") == 1
    follows(lambda x: last_of(x, PAIRS), lambda: setattr(Pair, "left", property(lambda pair: 7.0)))


def by_attribute(x, model):
    return x * model.left[0]


def by_index(x, model):
    return x * model[0][0]


def unpacked(x, model):
    left, _ = model
    return x * left[0]


def measured(x, model):
    return x * len(model) * model.left[0]


@pytest.mark.parametrize("f", [by_attribute, by_index, unpacked, measured])
def test_what_a_namedtuple_holds_and_nobody_reads_costs_nothing(f):
    """A model with large arrays, of which a function reads a part."""
    model = Pair([3.0, 4.0], np.arange(1e6))
    compiled = staged(lambda x: f(x, model))
    for _ in range(3):
        assert compiled(2.0) == f(2.0, model)
    (signature,) = compiled._calls._signatures.values()
    assert not signature.guards._arrays
    follows(lambda x: f(x, model), lambda: model.left.__setitem__(0, 5.0))


def test_a_tuple_with_an_iterator_of_its_own_is_no_plain_tuple():
    class Turned(tuple):
        __slots__ = ()

        def __iter__(self):
            return iter([tuple.__getitem__(self, 1), tuple.__getitem__(self, 0)])

    assert is_read_as_a_tuple(Pair)
    assert not is_read_as_a_tuple(Turned)
    model = Turned(([3.0], [5.0]))
    compiled = staged(lambda x: unpacked(x, model))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it may run as it is
        for factor in (5.0, 5.0, 5.0, 9.0, 9.0):
            tuple.__getitem__(model, 1)[0] = factor
            assert compiled(2.0) == 2.0 * factor


@pytest.mark.usefixtures("_as_it_was")
@pytest.mark.parametrize(
    ("f", "name", "other"),
    [
        (by_attribute, "left", property(lambda pair: [7.0])),
        (by_index, "__getitem__", lambda pair, key: [8.0]),
        (measured, "__len__", lambda pair: 9),
    ],
)
def test_a_namedtuple_whose_class_is_read_otherwise_later(f, name, other):
    model = Pair([3.0, 4.0], [6.0])
    follows(lambda x: f(x, model), lambda: setattr(Pair, name, other))


@pytest.mark.usefixtures("_as_it_was")
def test_a_class_of_tuples_that_are_gone_over_otherwise_later():
    def f(x):
        for part in PAIRS.left:
            x = x * part + 1.0
        return x

    follows(f, lambda: setattr(Pair, "__iter__", lambda pair: iter((9.0,))))


def test_the_class_of_an_object_without_a_dictionary():
    class One:
        __slots__ = ("value",)

    class Other:
        __slots__ = ("value",)
        twice = True

    x = One()
    x.value = 3.0
    follows(lambda y: y * x.value * (2.0 if hasattr(x, "twice") else 1.0), lambda: setattr(x, "__class__", Other))


# What need not be looked into

WEIGHTS = np.ones(3)
BY_PYTHON = np.frompyfunc(lambda x: x, 1, 1)


class Weighed:
    pass


class Weights(np.ndarray):
    pass


HARMLESS = {
    "a float": 1.0,
    "None": None,
    "a new array": np.ones(3),
    "a ufunc": np.sin,
    "a function of NumPy's": np.sum,
    "a class of Python's": dict,
    "a value of such things": Unknown(),
}
TO_LOOK_INTO = {
    "an array from outside": WEIGHTS,
    "an array of objects": np.array([None]),
    "an array of another class": np.ones(3).view(Weights),
    "a ufunc of the user's": BY_PYTHON,
    "a class of the user's": Weighed,
    "an object": Weighed(),
    "a list": [1.0],
    "a value of such things": Unknown([Weighed()]),
}


@pytest.mark.parametrize("name", HARMLESS)
def test_what_has_nothing_of_the_users_in_it_is_not_looked_into(name):
    reads = Reads(Surroundings(lambda: WEIGHTS), lambda x: x)
    reads.original = None  # which is called for all that is looked into
    reads.use(HARMLESS[name])


@pytest.mark.parametrize("name", TO_LOOK_INTO)
def test_what_may_have_something_of_the_users_in_it_is_looked_into(name):
    assert not Reads(Surroundings(lambda: WEIGHTS), lambda x: x).is_harmless(TO_LOOK_INTO[name])


def test_a_sum_of_numbers_is_not_looked_into_again(monkeypatch):
    looked_at = []
    use = Reads._use
    monkeypatch.setattr(Reads, "_use", lambda reads, x, met: (looked_at.append(type(x)), use(reads, x, met)))

    def f(x, table):
        for row in table:
            x = (x + x) * row + (x * 0.5 - x)
        return np.sum(x)

    assert staged(grad(f))(np.ones(3), np.ones((5, 3))).shape == (3,)
    assert looked_at.count(Unknown) < 5  # and not one for each operation


def test_a_list_that_a_sum_is_made_of_is_looked_into():
    weighed = Weighed()
    weighed.scale = 2.0

    def f(x):
        weights = [weighed]
        return x * sum(weight.scale for weight in weights + weights)

    follows(f, lambda: setattr(weighed, "scale", 3.0))


def replayed(f, x):
    """The staged function, which has a record."""
    compiled = staged(f)
    assert [compiled(x) for _ in range(3)] == [f(x)] * 3
    assert len(compiled.sources) == 1
    return compiled


def test_the_attributes_of_an_operator_are_compared_if_they_are_read():
    """What `grad` returns has a name and other attributes, and its own code reads none of them."""
    slope = grad(lambda x: x * x)
    slope.scale = 2.0
    compiled = replayed(slope, 3.0)
    (signature,) = compiled._calls._signatures.values()
    assert not signature.guards._kinds
    assert all(not container for container, _, _ in signature.guards._dicts.values())
    slope.scale = 3.0
    assert compiled(3.0) == 6.0
    assert len(compiled.sources) == 1

    compiled = replayed(lambda x: slope(x) * slope.scale, 3.0)
    slope.scale = 4.0
    assert compiled(3.0) == 24.0


def test_an_attribute_of_an_operator_that_the_function_changes():
    slope = grad(lambda x: x * x)
    slope.count = 0

    def f(x):
        slope.count += 1
        return slope(x)

    compiled = staged(f)
    for calls, x in enumerate((1.0, 2.0, 3.0), 1):
        with pytest.warns(StagingWarning, match="it changes") if calls == 2 else nullcontext():
            assert compiled(x) == 2.0 * x
        assert slope.count == calls
    assert not compiled.sources


# What is read of a thing beside its contents


@pytest.fixture
def recordings(monkeypatch):
    """The runs that are recorded."""
    found, make = [], Reads.__init__

    def made(self, *args):
        found.append(self)
        make(self, *args)

    monkeypatch.setattr(Reads, "__init__", made)
    return found


def is_used_until(f, change, recordings, *args):
    """The record is used as long as nothing changes, and the function is recorded again after the change."""
    args = args or (2.0,)
    compiled = staged(f)
    for _ in range(3):
        require_same(compiled(*args), f(*args))
    recordings.clear()
    for _ in range(7):
        compiled(*args)
    assert not recordings
    follows(f, change, *args)
    require_same(compiled(*args), f(*args))
    assert recordings


class OfBoth:
    def __bool__(self):
        return False

    def __getitem__(self, key):
        return 3.0

    def __call__(self, x):
        return 3.0 * x


class OfAll(OfBoth):
    def __bool__(self):
        return True

    def __getitem__(self, key):
        return 4.0

    def __call__(self, x):
        return 4.0 * x


def by_isinstance(x, y):
    return y * (2.0 if isinstance(x, OfAll) else 3.0)


def by_its_type(x, y):
    return y * (2.0 if type(x) is OfAll else 3.0)


@pytest.mark.parametrize(
    "f",
    [
        by_isinstance,
        by_its_type,
        lambda x, y: y * (2.0 if x else 3.0),
        lambda x, y: y * len(type(x).__name__),
        lambda x, y: y * x[0],
        lambda x, y: x(y),
    ],
)
def test_the_class_of_an_object_that_is_asked_for(f, recordings):
    x = OfBoth()
    is_used_until(lambda y: f(x, y), lambda: setattr(x, "__class__", OfAll), recordings)


def test_an_attribute_of_the_class_of_an_object(recordings):
    x = One()
    is_used_until(lambda y: y * type(x).k, lambda: setattr(x, "__class__", Five), recordings)


class Named:
    """Its attributes are read."""

    def method(self):
        """It is not called."""


OF_FUNCTIONS = {
    "__name__": (lambda f: len(f.__name__), "another name"),
    "__qualname__": (lambda f: len(f.__qualname__), "another name"),
    "__module__": (lambda f: len(f.__module__), "another"),
    "__doc__": (lambda f: len(f.__doc__ or ""), "Another text."),
    "__defaults__": (lambda f: len(f.__defaults__ or ()), (1.0, 2.0, 3.0)),
    "__kwdefaults__": (lambda f: len(f.__kwdefaults__ or ()), {"k": 1.0, "j": 2.0, "i": 3.0}),
    "__annotations__": (lambda f: len(f.__annotations__), {"x": float}),
    "__dict__": (lambda f: 1.0 + len(f.__dict__), {"a": 1.0, "b": 2.0}),
    "__code__": (lambda f: f.__code__.co_argcount, (lambda x, y, z, u: x).__code__),
}


@pytest.mark.parametrize("name", OF_FUNCTIONS)
def test_the_attributes_that_python_keeps_of_a_function(name, recordings):
    def function(x=1.0, y=2.0, *, k=1.0):
        """It returns what it gets."""
        return x

    read, other = OF_FUNCTIONS[name]
    is_used_until(lambda x: x * read(function), lambda: setattr(function, name, other), recordings)


def test_what_the_attributes_of_a_function_hold(recordings):
    k = 1.0

    def function(x):
        """It multiplies."""
        return x * k

    def change():
        nonlocal k
        k = 5.0

    is_used_until(lambda x: x * function.__closure__[0].cell_contents, change, recordings)
    function.__annotations__, function.a = {"x": 1.0}, 1.0
    notes = function.__annotations__
    is_used_until(lambda x: x * function.__annotations__["x"], lambda: notes.update(x=2.0), recordings)
    is_used_until(lambda x: x * len(function.__dict__), lambda: setattr(function, "b", 1.0), recordings)
    method = Named().method
    is_used_until(
        lambda x: x * len(method.__name__), lambda: setattr(Named.method, "__name__", "another name"), recordings
    )


@pytest.mark.parametrize("name", ["__name__", "__qualname__"])
def test_the_attributes_that_python_keeps_of_a_class(name, recordings):
    class Local:
        pass

    is_used_until(lambda x: x * len(getattr(Local, name)), lambda: setattr(Local, name, "Another"), recordings)


@pytest.mark.parametrize(("name", "other"), [("k", 9.0), ("many", (9.0,))])
def test_defaults_of_keywords_that_are_written_to(name, other, recordings):
    def helper(x, *, k=1.0, many=(1.0,)):
        return x * k * many[0]

    is_used_until(helper, lambda: helper.__kwdefaults__.update({name: other}), recordings)
    helper.__kwdefaults__.update(k=1.0, many=(1.0,))
    is_used_until(lambda x: helper(x), lambda: helper.__kwdefaults__.update({name: other}), recordings)


def test_an_entry_that_a_descriptor_begins_to_hide(recordings):
    class Descriptor:
        def __get__(self, x, kind):
            return 4.0

    class Holder:
        d = Descriptor()

    x = Holder()
    vars(x)["d"] = 1.0
    is_used_until(lambda y: y * x.d, lambda: setattr(Descriptor, "__set__", lambda self, x, value: None), recordings)
    is_used_until(lambda y: y * x.d, lambda: delattr(Descriptor, "__set__"), recordings)


def test_a_class_that_gets_another_way_to_its_attributes(recordings):
    class Local:
        def __init__(self):
            self.k = 1.0

    x = Local()
    is_used_until(lambda y: y * x.k, lambda: setattr(Local, "__getattribute__", lambda self, name: 12.0), recordings)


@pytest.mark.filterwarnings("ignore:Setting the strides:DeprecationWarning")
def test_the_memory_of_an_array(recordings):
    array = np.ones((2, 2))
    is_used_until(
        lambda x: x * (2.0 if array.flags.writeable else 3.0), lambda: array.setflags(write=False), recordings
    )
    array = np.ones((2, 2))
    is_used_until(lambda x: x * array.strides[0], lambda: setattr(array, "strides", (8, 16)), recordings)


@pytest.mark.parametrize(
    "read",
    [lambda records: records["a"][1], lambda records: records[1]["a"], lambda records: records.dtype.names[0] == "a"],
)
def test_the_fields_of_an_array(read, recordings):
    records = np.array([(1.0, 2.0), (3.0, 4.0)], [("a", float), ("b", float)])
    is_used_until(lambda x: x * read(records), lambda: setattr(records.dtype, "names", ("b", "a")), recordings)


def test_an_element_with_fields(recordings):
    records = np.array([(1.0, 2.0), (3.0, 4.0)], [("a", float), ("b", float)])
    is_used_until(lambda x: x * records[1]["a"], lambda: records["a"].__setitem__(1, 9.0), recordings)


def test_the_variables_of_a_frame(recordings):
    array = np.ones(2)

    def by_name(x):
        y = array
        return x * np.sum(locals()["y"])

    def by_vars(x):
        y = array  # noqa: F841
        return x * np.sum(vars()["y"])

    is_used_until(by_name, lambda: array.__setitem__(0, 7.0), recordings)
    is_used_until(by_vars, lambda: array.__setitem__(0, 8.0), recordings)


def test_builtins(recordings, monkeypatch):
    def missing(x):
        try:
            return x * NOT_YET_THERE  # type: ignore[name-defined]
        except NameError:
            return x * 3.0

    is_used_until(
        lambda x: x * pow(3.0, 2.0), lambda: monkeypatch.setattr(builtins, "pow", lambda *args: 4.0), recordings
    )
    is_used_until(missing, lambda: monkeypatch.setattr(builtins, "NOT_YET_THERE", 6.0, raising=False), recordings)
    is_used_until(missing, lambda: monkeypatch.setattr(builtins, "NOT_YET_THERE", 7.0), recordings)


def dispatching():
    @functools.singledispatch
    def weight(x):
        return 1.0

    weight.register(float, lambda x: 2.0)
    return weight


def test_a_function_by_the_type_of_its_argument(recordings):
    weight = dispatching()
    is_used_until(lambda x: x * weight(2), lambda: weight.register(int, lambda x: 9.0), recordings)
    is_used_until(weight, lambda: weight.register(float, lambda x: x * 9.0), recordings)


def test_what_a_library_has_made_around_a_function(recordings):
    k = [1.0]

    @contextmanager
    def scaled(x):
        yield x * k[0]

    @functools.lru_cache
    def kept(x):
        return k[0]

    def entered(x):
        with scaled(x) as y:
            return y

    is_used_until(entered, lambda: k.__setitem__(0, 5.0), recordings)
    weight = functools.singledispatch(kept)
    is_used_until(lambda x: x * weight(1), lambda: [k.__setitem__(0, 7.0), kept.cache_clear()], recordings)
