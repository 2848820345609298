"""Variables whose names are private to a class, under tests that are written down."""

from __future__ import annotations

import pytest

from shiftreset_ad import grad, staged
from tests.staging.in_turns import stays_staged


class Model:
    def __init__(self) -> None:
        self.__k = 2.0

    def branch(self, x):
        __y = x
        if x > 1.0:
            __y = x * self.__k
        return __y

    def loop(self, x):
        __n = 0.0
        while x < 50.0:
            __n = __n + 1.0
            x = x * 2.0
        return x + __n

    def rounds(self, x):
        __t = 0.0
        for __i in range(10):
            if x > __i:
                __t = __t + self.__k
                break
        return __t + x

    def parameter(self, __x):
        if __x > 1.0:
            __x = __x * 3.0
        return __x

    def functions(self, x):
        __c = 3.0

        def __g(z, *, __k=2.0):
            if z > __c:
                return z * __c
            return -z * __k

        if x > 0.5:
            __f = lambda __q: __q * __c  # noqa: E731
            x = __f(__g(x))
        return x

    def shared(self, x):
        __s = 0.0

        def add(v):
            nonlocal __s
            if v > 1.0:
                __s = __s + v

        add(x)
        add(x + 1.0)
        return __s

    def keyword(self, x):
        if x > 1.0:
            __d = dict(__x=x)  # noqa: C408
            x = __d["__x"]
        return x

    def imported(self, x):
        if x > 1.0:
            import math as __m

            x = x * __m.pi
        return x

    def caught(self, x):
        try:
            [][3]
        except IndexError as __e:
            if x > 1.0:
                x = x * len(__e.args)
        return x

    def matched(self, x):
        match (x, 1.0):
            case (__a, __b):
                if __a > 2.0:
                    __b = __a * 3.0
        return __b


class _Model(Model):
    """A class whose own name begins with a line."""

    def line(self, x):
        __r = x
        while __r < 30.0:
            __r = __r * 2.0
        return __r


METHODS = [
    *("branch", "loop", "rounds", "parameter", "functions", "shared", "keyword", "imported", "caught", "matched"),
    "line",
]


@pytest.mark.parametrize("name", METHODS)
def test_a_private_name_is_a_variable_like_others(name):
    f = getattr(_Model(), name)
    stays_staged(f, (0.1,), (0.1,), (5.0,), (0.7,), (60.0,), (5.0,), ways=1)
    g, derivative = staged(grad(f)), grad(f)
    assert [g(x) for x in (5.0, 0.7, 60.0)] == [derivative(x) for x in (5.0, 0.7, 60.0)]


def test_a_private_function_keeps_its_name():
    class Outer:
        def names(self, x):
            def __inner():
                return 1.0

            if x > 1.0:
                x = x * 2.0
            return x * len(__inner.__name__)

    stays_staged(Outer().names, (0.1,), (0.1,), (5.0,), ways=1)
