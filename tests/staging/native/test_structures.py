"""Structures in the arguments and the answers of a gate: named tuples and dataclasses."""

import collections
import dataclasses
import gc
import sys
import warnings
from typing import Any, NamedTuple

import numpy as np
import optree
import pytest

from shiftreset_ad import grad, staged
from shiftreset_ad.boundary import trees
from shiftreset_ad.staging.native import structure_forms
from tests.staging.native.natively import is_passed, needs_native, settled

pytestmark = needs_native
X, W = np.linspace(0.1, 1.0, 15).reshape(5, 3), np.linspace(-1.0, 1.0, 3)
Pair = collections.namedtuple("Pair", "weights bias")


class Parameters(NamedTuple):
    weights: Any
    bias: Any = 0.5

    def at(self, x):
        return np.tanh(x @ self.weights) + self.bias


class State(NamedTuple):
    step: int
    parameters: Parameters
    moments: tuple[Any, ...]


@dataclasses.dataclass
class Model:
    weights: Any
    bias: Any


@dataclasses.dataclass(frozen=True)
class Frozen:
    weights: Any
    bias: Any


@dataclasses.dataclass(slots=True)
class Slotted:
    weights: Any
    bias: Any


@dataclasses.dataclass
class Backwards:
    """Its dictionary has another order than its fields."""

    weights: Any
    bias: Any

    def __init__(self, weights, bias):
        self.bias = bias
        self.weights = weights


@dataclasses.dataclass
class WithMore(Model):
    scale: Any = 2.0
    kept: Any = dataclasses.field(default_factory=lambda: 1.0, init=False)


KINDS = [Pair, Parameters, Model, Frozen, Slotted, Backwards, WithMore]


def loss(p, x):
    return np.sum(np.tanh(x @ p.weights) * p.bias)


def require_same(f, compiled, *args, **kwargs):
    """Both have the same answer, in structures of the same classes."""
    answer, found = f(*args, **kwargs), compiled(*args, **kwargs)
    leaves, spec = trees.flatten(answer)
    leaves_found, spec_found = trees.flatten(found)
    assert spec == spec_found
    assert [type(x) for x in leaves] == [type(x) for x in leaves_found]
    for x, y in zip(leaves, leaves_found, strict=True):
        np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("f", [loss, grad(loss), grad(loss, 1), lambda p, x: (loss(p, x), p.bias + 1.0)])
def test_an_argument_of_a_class_goes_through_a_gate(kind, f):
    compiled = settled(f, kind(W, 0.1), X)
    for scale in (1.0, 2.0, -0.5):
        p = kind(scale * W, 0.1 * scale)
        require_same(f, compiled, p, X + scale)
        assert is_passed(compiled, p, X)


@pytest.mark.parametrize("kind", KINDS)
def test_an_argument_of_another_class_is_not_passed(kind):
    for other in KINDS:
        assert is_passed(settled(loss, kind(W, 0.1), X), other(W, 0.1), X) is (other is kind)


@pytest.mark.parametrize("kind", KINDS)
def test_other_parts_are_not_passed(kind):
    compiled = settled(loss, kind(W, 0.1), X)
    for bias in (1, np.float64(2.0), W[0], X[:, 0], np.float32(1.5)):
        other = kind(W, bias)
        if bias is not W[0]:
            assert not is_passed(settled(loss, kind(W, 0.1), X), other, X)
        for _ in range(4):
            require_same(loss, compiled, other, X)
    for wrong in (kind(W[:2], 0.1), kind([W], [0.1]), kind(kind(W, W), 0.1), kind(W, None)):
        with pytest.raises((TypeError, ValueError)):
            compiled(wrong, X)


@pytest.mark.parametrize("kind", KINDS)
def test_structures_of_other_lengths_in_the_parts_are_not_passed(kind):
    def f(p, x):
        return sum(p.weights) * x + (sum(p.bias) if isinstance(p.bias, tuple) else p.bias)

    for other in (kind((1.0,), 0.5), kind((1.0, 2.0, 3.0), 0.5), kind([1.0, 2.0], 0.5), kind((1.0, 2.0), (0.5, 1.0))):
        compiled = settled(f, kind((1.0, 2.0), 0.5), 3.0)
        assert not is_passed(compiled, other, 3.0)
        for _ in range(4):
            assert compiled(other, 3.0) == f(other, 3.0)


def test_an_argument_by_its_name():
    f = settled(loss, x=X, p=Model(W, 0.1))
    assert is_passed(f, x=X, p=Model(W, 0.2))
    require_same(loss, f, x=X, p=Model(W, 0.2))


def test_structures_in_one_another():
    def f(state, x):
        gradient = grad(loss)(state.parameters, x)
        moments = tuple(0.9 * m + 0.1 * d for m, d in zip(state.moments, gradient, strict=True))
        parameters = Parameters(*[p - 0.1 * m for p, m in zip(state.parameters, moments, strict=True)])
        return State(state.step + 1, parameters, moments)

    state = State(0, Parameters(W, 0.1), (np.zeros(3), 0.0))
    compiled = settled(f, state, X)
    for _ in range(5):
        assert is_passed(compiled, state, X)
        require_same(f, compiled, state, X)
        state = compiled(state, X)
    assert type(state) is State
    assert type(state.parameters) is Parameters
    assert state.step == 5


def test_a_named_tuple_that_is_answered_is_one():
    f = settled(lambda x: Pair(x * W, [Parameters(x * W), {"a": Pair(x, 2.0 * x)}]), 2.0)
    answer = f(3.0)
    assert answer._replace(bias=None) == Pair(answer.weights, None)
    assert answer.bias[0].bias == 0.5
    assert answer.bias[0].at(np.ones(3)) == np.tanh(np.ones(3) @ (3.0 * W)) + 0.5
    assert answer.bias[1] == {"a": (3.0, 6.0)}
    assert hash(answer.bias[1]["a"]) == hash((3.0, 6.0))
    assert gc.is_tracked(answer)
    assert sys.getrefcount(answer) == sys.getrefcount(Pair(answer.weights, None))
    with pytest.raises(TypeError):
        answer[0] = 1.0


@pytest.mark.parametrize("kind", [Model, Frozen, Slotted, Backwards, WithMore])
def test_a_dataclass_that_is_answered_is_one(kind):
    def f(x):
        return kind(x * W, [kind(3.0 * x, (2.0 * x, kind(W * x, None)))])

    compiled = settled(f, 2.0)
    assert type(compiled.__call__.__self__.finish) is tuple
    for x in (3.0, 4.0):
        require_same(f, compiled, x)
        answer, expected = compiled(x), f(x)
        assert answer.bias[0].bias[1].bias is None
        assert answer.bias[0].weights == 3.0 * x
        assert repr(answer) == repr(expected)
        assert sys.getrefcount(answer.weights) == sys.getrefcount(expected.weights)
        if kind is Frozen:
            with pytest.raises(dataclasses.FrozenInstanceError):
                answer.bias = 1.0
        else:
            answer.bias = 1.0
            assert answer.bias == 1.0


def test_none_and_what_comes_from_outside_are_answered_as_they_are():
    table, kept = {"a": W}, Model(W, None)
    compiled = settled(lambda x: (x * 2.0, None, [table, W], {"kept": kept}, (None, x + 1.0)), 2.0)
    assert type(compiled.__call__.__self__.finish) is tuple
    for x in (3.0, 4.0):
        answer = compiled(x)
        assert answer == (2.0 * x, None, [table, W], {"kept": kept}, (None, x + 1.0))
        assert answer[2][0] is table
        assert answer[2][1] is W
        assert answer[3]["kept"] is kept


def test_an_answer_in_a_class_that_makes_its_objects_otherwise():
    class Checked(Pair):
        __slots__ = ()

        def __new__(cls, weights, bias):
            return super().__new__(cls, weights, float(bias))

    def f(x):
        return Checked(x, x)

    compiled = staged(f)
    for x in (1.0, 2.0, 3.0, 4.0, 5.0):
        assert compiled(x) == f(x)


def test_a_field_that_is_changed_is_seen():
    model, compiled = Model(W, 0.1), staged(loss)
    for bias in (0.1, 0.2, 0.2, 0.3, 2, 2, 2, 2, np.float64(3.0), W[0], W, W, W, W):
        model.bias = bias
        if bias is W:
            model.weights = np.ones((3, 3))
        require_same(loss, compiled, model, X)
    model.bias = 0.1
    del model.weights
    with pytest.raises(AttributeError, match="weights"):
        compiled(model, X)


def test_a_slot_that_is_empty_is_seen():
    model = Slotted(W, 0.1)
    compiled = settled(loss, model, X)
    del model.bias
    for _ in range(2):
        with pytest.raises(AttributeError, match="bias"):
            compiled(model, X)
    model.bias = 0.2
    assert is_passed(compiled, model, X)


def test_an_attribute_that_is_no_field_is_seen():
    def f(model, x):
        return loss(model, x) * getattr(model, "more", 1.0)

    model = Model(W, 0.1)
    compiled = settled(f, model, X)
    assert is_passed(compiled, model, X)
    model.more = 2.0
    with pytest.warns(match="'more', which is no field"):
        assert compiled(model, X) == f(model, X)
    del model.more
    require_same(f, compiled, model, X)


def test_a_method_or_a_class_that_is_changed_is_seen(monkeypatch):
    def f(p, x):
        return np.sum(p.at(x))

    compiled = settled(f, Parameters(W, 0.1), X)
    assert is_passed(compiled, Parameters(W, 0.2), X)
    monkeypatch.setattr(Parameters, "at", lambda self, x: x)
    for _ in range(4):
        require_same(f, compiled, Parameters(W, 0.1), X)


def test_a_class_that_says_what_its_parts_are():
    Own = collections.namedtuple("Own", "weights bias")

    @dataclasses.dataclass
    class OwnModel:
        weights: Any
        bias: Any

    kinds = [Own, OwnModel]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # one of them is known already
        for kind in kinds:
            optree.register_pytree_node(
                kind,
                lambda x: ((x.bias, x.weights), None, None),
                lambda _, x, kind=kind: kind(*x[::-1]),
                namespace=trees.NAMESPACE,
            )
    try:
        for kind in kinds:
            f, compiled = (lambda p, x: (loss(p, x), p)), staged(lambda p, x: (loss(p, x), p))
            for _ in range(6):
                require_same(f, compiled, kind(W, 0.1), X)
                require_same(f, compiled, kind(W, 2.0), X)
            compiled = staged(lambda p: p.weights - 10.0 * p.bias)
            for x in (1.0, 2.0, 3.0, 4.0, 5.0):
                assert compiled(kind(x, 2.0 * x)) == x - 20.0 * x
    finally:
        for kind in kinds:
            optree.unregister_pytree_node(kind, namespace=trees.NAMESPACE)


def test_named_tuples_that_make_or_have_more_have_no_form_of_their_own():
    made, begun, more = (collections.namedtuple("Named", "weights bias") for _ in range(3))
    made.__new__ = lambda cls, weights, bias: tuple.__new__(cls, (weights, abs(bias)))
    begun.__init__ = lambda self, *args: None

    class WithAttributes(more):
        pass

    assert structure_forms.is_named_tuple(more)
    assert not any(map(structure_forms.is_named_tuple, (made, begun, WithAttributes, tuple, sys.float_info.__class__)))


def test_objects_with_more_than_their_fields_have_no_form():
    @dataclasses.dataclass
    class Doubled:
        weights: Any
        bias: Any

    Doubled.bias = property(lambda self: 2.0 * vars(self)["bias"], lambda self, x: vars(self).update(bias=x))

    @dataclasses.dataclass
    class Looked(Model):
        def __getattribute__(self, name):
            return object.__getattribute__(self, name)

    @dataclasses.dataclass
    class InClass(Model):
        kept: float = dataclasses.field(default=1.0, init=False)

    more = Model(W, 0.1)
    more.more = 2.0
    for x in (Doubled(W, 0.1), Looked(W, 0.1), InClass(W, 0.1), more):
        trees.flatten(x)  # which makes the class known
        with pytest.raises(TypeError):
            structure_forms.form_of(x, iter(range(9)))


@pytest.mark.parametrize("kind", KINDS)
def test_the_forms_find_the_leaves_in_the_order_of_optree(kind):
    x = [kind({"b": 1.0, "a": 2.0}, (kind(3.0, 4.0), 5.0)), {"z": 6.0, "y": kind(7.0, 8.0)}]
    leaves, _ = trees.flatten(x)
    found: dict[int, Any] = {}

    def put(x, form):
        if type(form) is int:
            found[form] = x
            return
        _, keys, *forms = form
        parts = x if keys is None else [x[key] if type(x) is dict else getattr(x, key) for key in keys]
        for part, its_form in zip(parts, forms, strict=True):
            put(part, its_form)

    put(x, structure_forms.form_of(x, iter(range(100))))
    assert [found[i] for i in range(len(leaves))] == leaves
