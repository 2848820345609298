"""Which ways back reach no code of the user's, so that the watch pauses for them."""

from __future__ import annotations

import operator
from functools import partial

import numpy as np
import pytest

from shiftreset_ad import custom_vjp, grad, hessian, jacobian, staged
from shiftreset_ad.control.messages import Returned
from shiftreset_ad.rules.broadcasting import unbroadcast
from shiftreset_ad.staging.seen import quiet
from shiftreset_ad.staging.seen.quiet import are_quiet
from shiftreset_ad.staging.steps import unwatched

ONLY_IF_CHEAP = pytest.mark.skipif(not unwatched.IS_CHEAP, reason="the watch does not pause on this version of Python")


def of_the_users(x):
    return x


class Users:
    def method(self, x):
        return x


class Weights(np.ndarray):
    pass


def objects():
    found = np.empty(1, object)
    found[0] = Users()
    return found


LOUD = {
    "a function": of_the_users,
    "a lambda": lambda x: x,
    "an object": Users(),
    "a class": Users,
    "a method": Users().method,
    "a part of a function": partial(of_the_users, 1.0),
    "a function with a function of the user's": partial(operator.mul, of_the_users),
    "an array of objects": objects(),
    "an array of another class": np.ones(2).view(Weights),
    "a ufunc": np.frompyfunc(of_the_users, 1, 1),
    "a function of Python's standard library": np.vectorize(of_the_users),
    "a key": {Users(): 1.0},
    "a value": {"key": [(Users(),)]},
    "a set": {of_the_users},
    "a slice": slice(0, Users()),
    "an iterator": iter([1.0]),
    "a derivative": grad(of_the_users),
    "a staged function": staged(of_the_users),
    "a pair of ours": Returned(of_the_users),
}
ALIKE = {
    "numbers": (1.0, 2, True, None, "text", 1j, np.float64(1.0), np.int8(1)),
    "arrays and slices": [np.ones(3), np.arange(2), slice(0, 2)],
    "ufuncs and functions of NumPy's": (np.sin, np.sum, np.dot, np.linalg.inv, operator.mul),
    "functions of ours": (unbroadcast, partial(unbroadcast, shape=(2,)), partial),
    "classes": (float, np.ndarray, np.dtype(float)),
}


@pytest.mark.parametrize("name", LOUD)
def test_what_may_reach_code_of_the_users(name):
    assert not are_quiet([(1.0, LOUD[name])])
    assert not are_quiet([(1.0, [{"deep": (LOUD[name],)}])])


@pytest.mark.parametrize("name", ALIKE)
def test_what_reaches_none(name):
    assert are_quiet([ALIKE[name]] * 2) == (name != "functions of ours")  # `partial` itself may hold any function


def test_what_a_function_of_ours_closes_over_counts():
    @custom_vjp
    def f(x):
        return x

    assert not are_quiet([f.defvjp])


def test_much_to_look_at_counts_as_if_it_reached_code_of_the_users():
    assert are_quiet([[[i] for i in range(quiet.MOST - 3)]])
    assert not are_quiet([[[i] for i in range(quiet.MOST)]])


def program(x):
    return np.sum(np.tanh(x @ x) * x[0] + np.exp(x[1]))


@custom_vjp
def pulled(x):
    return x * x


def back(x, y_bar):
    return (2.0 * x * y_bar,)


pulled.defvjp(lambda x: (x * x, x), back)


@ONLY_IF_CHEAP
@pytest.mark.parametrize("derivative", [grad, jacobian, hessian, lambda f: lambda x: grad(f)(x)])
def test_the_way_back_is_not_watched(seen, derivative):
    staged(derivative(program))(np.array([0.5, 1.5]))
    assert seen["program"] == 1
    assert not seen["backward"]


@ONLY_IF_CHEAP
@pytest.mark.parametrize("derivative", [grad, jacobian, hessian, lambda f: lambda x: grad(f)(x)])
def test_the_way_back_through_a_rule_of_the_users_is_watched(seen, derivative):
    staged(derivative(lambda x: program(pulled(x))))(np.array([0.5, 1.5]))
    assert seen["backward"]
    assert seen["back"]
