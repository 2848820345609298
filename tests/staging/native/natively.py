"""What the tests of native code share: a function as native code, and the same function as it is."""

from __future__ import annotations

import random
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from types import BuiltinFunctionType
from typing import Any

import numpy as np
import pytest

from shiftreset_ad import staged
from shiftreset_ad.boundary import trees
from shiftreset_ad.staging.native import machine, program
from shiftreset_ad.staging.native.compiled import Native, _are_same
from shiftreset_ad.staging.native.llvm import NoNativeFormError
from shiftreset_ad.staging.native.tables import MOST_WORDS
from shiftreset_ad.staging.python.elimination import Eliminated
from shiftreset_ad.staging.python.expressions import is_same
from shiftreset_ad.staging.python.generation import generated
from shiftreset_ad.staging.steps.trace import Trace, UnstageableError
from shiftreset_ad.staging.steps.values import Staged

needs_native = pytest.mark.skipif(machine.unfit() is not None, reason=f"{machine.unfit()}")


def has_gate(f: Any) -> bool:
    """Whether some calls of a staged function go to its native code without Python."""
    return isinstance(f.__call__, BuiltinFunctionType)


def settled(f, *args, **kwargs):
    """The staged function with a gate for calls like this one."""
    compiled = staged(f)
    for _ in range(4):
        compiled(*args, **kwargs)
    assert has_gate(compiled)
    return compiled


def is_passed(f, *args, **kwargs):
    """Whether a gate answers the call."""
    otherwise, called = f._calls.call, []

    def counted(*args, **kwargs):
        called.append(args)
        return otherwise(*args, **kwargs)

    before = f.__call__
    f.__call__ = f._calls._shortcuts.before(counted)
    try:
        f(*args, **kwargs)
    finally:
        f.__call__ = before
    return not called


@contextmanager
def calls_pay(pay: bool = True) -> Iterator[None]:
    """A block in which each step without a native form is carried out by Python, or none is, whatever time it gains."""
    before = program.pays
    program.pays = lambda gain: pay
    try:
        yield
    finally:
        program.pays = before


def native(f: Any, *args: Any) -> Native:
    """The native code of a function, as it is for these arguments."""
    return native_and_steps(f, *args)[0]


def native_and_steps(f: Any, *args: Any) -> tuple[Native, Any]:
    """The native code of a function, as it is for these arguments, and its steps by NumPy."""
    trace = Trace()
    with np.errstate(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        outputs, _ = trees.flatten(f(*[Staged(trace, trace.place_for(arg)) for arg in args]))
    return Native(trace, outputs, Eliminated(trace, outputs)), generated(trace, outputs)[0]


def eagerly(f: Any, *args: Any) -> list[Any] | None:
    """The answers of the function; None where Python raises an error, or NumPy warns."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return trees.flatten(f(*args))[0]
        except (ArithmeticError, ValueError, TypeError, RuntimeWarning):
            return None


def same(found: Any, expected: Any) -> bool:
    """Whether two answers have the same type and bits; any NaN will do for a NaN."""
    return is_same(found, expected) or (type(found) is type(expected) and found != found and expected != expected)


def check(f: Any, *points: tuple[Any, ...], leaves: int = 0) -> Native:
    """That native code, made at the first point, has the bits of the function at all; it leaves at some of them."""
    code = native(f, *points[0])
    entry = code.entry()
    left = 0
    for args in points:
        found, expected = entry(*args), eagerly(f, *args)
        left += found is None
        if found is not None:
            assert expected is not None, (args, found)
            assert all(map(same, found, expected)), (args, found, expected)
            assert len(found) == len(expected)
    assert left == leaves
    return code


def check_control(f: Any, *points: tuple[Any, ...], leaves: int = 0) -> Native:
    """That native code, made at the first point, has the bits of the steps at all points; it leaves at some of them.

    The derivative of a loop adds in another order than that of the function without the loop, so the function itself
    may differ by a rounding.
    """
    code, steps = native_and_steps(f, *points[0])
    entry = code.entry()
    left = 0
    for args in points:
        found = entry(*args)
        left += found is None
        if found is not None:
            by_numpy, expected = steps(list(args)), trees.flatten(f(*args))[0]
            assert all(map(same, found, by_numpy)), (args, found, by_numpy)
            assert len(found) == len(by_numpy) == len(expected)
            np.testing.assert_allclose(found, expected, rtol=1e-11)
    assert left == leaves
    return code


def answered_as_by_steps(f: Any, points: list[tuple[Any, ...]], reasons: tuple[str, ...]) -> int | None:
    """At how many points native code answers, with the bits of the steps; None if there is none, for such a reason."""
    with warnings.catch_warnings(), np.errstate(all="warn"):
        warnings.simplefilter("ignore")
        try:
            code, steps = native_and_steps(f, *points[0])
        except (ArithmeticError, IndexError, UnstageableError):
            return None
        except NoNativeFormError as error:
            assert any(reason in str(error) for reason in reasons), error  # noqa: PT017
            return None
        entry, answered = code.entry(), 0
        for args in points:
            if (found := entry(*args)) is None:
                continue
            by_numpy = steps(list(args))
            assert type(found) is type(by_numpy)
            assert _are_same(found, by_numpy), (args, found, by_numpy)
            if type(found) is int:
                continue
            for one, another in zip(found, trees.flatten(f(*args))[0], strict=True):
                size = max(1.0, float(np.max(np.abs(one))))
                np.testing.assert_allclose(one, another, rtol=1e-8, atol=1e-9 * size)
            answered += 1
        return answered


# Why some of the random programs have no native code.
REASONS = ("x ** y", "may be Python's or NumPy's", "pow may give another type in another round")


def agreed_at_random(f: Any, seed: int, counts: tuple[int, ...]) -> int | None:
    """`answered_as_by_steps` for a function f(x, n) at random numbers x of one type, and these counts n."""
    chooser = random.Random(seed)
    kind = chooser.choice((float, np.float64))
    points = [(kind(chooser.choice((0.5, 1.0, chooser.gauss(0, 1)))), n) for n in counts]
    return answered_as_by_steps(f, points, REASONS)


def in_tables(code: Native) -> list[str]:
    """What the records of the tables in a native code do: the body of the function of each, in their order."""
    bodies = re.findall(r"define internal void @of_record\d+\(.*\n((?:  .*\n)*)", code.text)
    found = []
    for start, end in re.findall(r"call void @carry_out\(.*, i64 (\d+)\), .*, i64 (\d+)\)\)", code.text):
        words = [*map(int, code.words[int(start) : int(end)])]
        while words:
            found.append(bodies[words[0] // MOST_WORDS])
            words = words[words[0] % MOST_WORDS :]
    return found
