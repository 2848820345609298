"""Calls of staged functions, and of objects of abstract classes, are followed into what they stand for."""

import abc
from typing import Protocol, runtime_checkable

import numpy as np
import pytest

from shiftreset_ad import grad, staged
from tests.staging.front.agreement import POINTS, agree, ids


@staged
def fibonacci(x, n):
    return x if n < 2 else fibonacci(x, n - 1) + fibonacci(x, n - 2)


@staged
def damped(x, n):
    for i in range(n):
        x = x * 0.5 + i
    return x


def with_a_helper(x, n):
    s = 0.0
    while s < 3.0 * n:
        s += damped(x, n) + 0.1
    return s


def with_a_derivative_of_a_helper(x, n):
    s = x
    while s < n:
        s += abs(grad(damped)(s, n)) + 0.5
    return s


class Waves:
    def __init__(self, scale):
        self.scale = scale

    @staged
    def at(self, x, n):
        for _ in range(n):
            x = np.sin(x) * self.scale
        return x

    @classmethod
    @staged
    def of(cls, x, n):
        return cls(0.5).at(x, n)

    @staticmethod
    @staged
    def double(x):
        return 2.0 * x if x > 1.0 else x


waves = Waves(0.5)


def with_methods(x, n):
    s = 0.0
    for _ in range(n):
        s += waves.at(x, n) + Waves.of(x, 2) * Waves.double(x)
    return s


class Map(abc.ABC):
    @abc.abstractmethod
    def once(self, x): ...

    def __call__(self, x, n):
        for _ in range(n):
            x = self.once(x)
        return x


class Halved(Map):
    def once(self, x):
        return x * x * 0.5 if x > 0.3 else x


@runtime_checkable
class Steps(Protocol):
    def step(self, x): ...


class Stepping(Steps):
    def step(self, x):
        return x - 0.1 * x * x


halved, stepping = Halved(), Stepping()


def with_a_protocol(x, n):
    for _ in range(n):
        x = stepping.step(x)
    return x if isinstance(stepping, Steps) else 0.0


def with_an_object(x, n):
    return halved(x, n) + (1.0 if isinstance(halved, Map) else 0.0)


FUNCTIONS = [fibonacci.__wrapped__, with_a_helper, with_a_derivative_of_a_helper, with_methods, with_an_object]


@pytest.mark.parametrize("f", [*FUNCTIONS, with_a_protocol, halved], **ids)
@pytest.mark.parametrize("mode", [lambda f: f, grad], ids=["plain", "grad"])
def test_one_record_serves_all_calls(f, mode):
    assert len(agree(mode(f), POINTS).sources) == 1


def test_a_staged_function_that_calls_itself_has_one_record():
    for x, n in POINTS:
        assert fibonacci(x, n) == fibonacci.__wrapped__(x, n)
    assert len(fibonacci.sources) == 1


def test_a_helper_that_is_replaced_is_seen(monkeypatch):
    f = agree(with_a_helper)
    monkeypatch.setitem(globals(), "damped", staged(lambda x, n: x + n))
    for x, n in POINTS:
        assert f(x, n) == with_a_helper(x, n)


def test_a_class_that_is_registered_is_seen():
    class Other:
        def __call__(self, x, n):
            return x * n

    other = Other()

    def f(x, n):
        return halved(x, n) if isinstance(other, Map) else other(x, n)

    compiled = agree(f)
    assert compiled(0.5, 3) == 1.5
    Map.register(Other)
    for x, n in POINTS:
        assert compiled(x, n) == f(x, n) == halved(x, n)
