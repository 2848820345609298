"""What a StagingWarning tells a program to write is done here: the wrong program has it, the other is staged."""

from __future__ import annotations

import logging
import os
import time
import warnings
from collections.abc import Callable, Iterator, Sized
from typing import Any

import numpy as np
import pytest

from shiftreset_ad import ControlError, StagingWarning, cond, derivative, fori_loop, grad, staged, zeros
from shiftreset_ad.staging.steps.trace import Trace
from shiftreset_ad.staging.steps.values import Staged
from tests.remedies import not_done
from tests.staging.front.test_remedies import OF_JUMPS, OF_LISTS
from tests.staging.front.test_remedies import PROGRAMS as PLAIN_PROGRAMS

V = np.array([0.3, 0.7, 1.1])
CALLS = 40  # more than staging tries in vain

factor = 1.0
generator = np.random.default_rng(0)
table = np.arange(1.0, 5000.0)
scales = iter([3.0] * 10_000)  # into which staging cannot look


def used(x: Any) -> Any:
    return x * factor


def with_errors_of_warnings(x: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return np.log(x) * 1.0
        except RuntimeWarning:
            return x * 1.0


def of_the_type_of_a_name(x: Any) -> Any:
    y = x[0]
    return x * (2.0 if type(y) is float else 3.0)


def of_the_class_of_a_name(x: Any) -> Any:
    y = x[0]
    return x * (2.0 if isinstance(y, Sized) else 3.0)


def warned(x: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.warn("a warning", stacklevel=1)
    return x * 2.0


def logged(x: Any) -> Any:
    logging.getLogger(__name__).debug("x is %s", x[0])
    return x * 2.0


def with_warnings_recorded(x: Any) -> Any:
    with warnings.catch_warnings(record=True):
        return np.log(x) * 1.0


def read_only() -> Any:
    array = np.ones(3)
    array.flags.writeable = False
    return array


def with_errors_of_numpy(x: Any) -> Any:
    with np.errstate(all="raise"):
        try:
            return np.log(x) * 1.0
        except FloatingPointError:
            return x * 1.0


def counted_outside(x: Any) -> Any:
    count = 0

    def body(i: int, y: Any) -> Any:
        nonlocal count
        count += 1
        return y * 0.5

    return fori_loop(0, 3, body, x) * count


def looked_at(copied: Any) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        y = np.zeros_like(x)
        seen = np.asarray(y)
        y = copied(y)
        y[0] = x[0]
        return y + seen

    return f


def written(write: Any) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        y = x * 1.0
        answer = write(y, x)
        return y if answer is None else answer

    return f


def in_array(made: Any) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        y = made(x)
        np.put(y, [0, 2], x[:2])
        return y * x

    return f


def by_slope(slope: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A program that decides by a derivative, which is infinite at the first call where a root is taken outside."""
    return lambda x: x * (2.0 if grad(slope)(x[0] - V[0]) > 0.5 else 3.0)


def root_outside(t: Any) -> Any:
    root = np.sqrt(t)
    return cond(t > 0.5, lambda: root, lambda: t)


def over_slope(slope: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A program that divides by a derivative, which is zero from the second call on."""

    def f(x: Any) -> Any:
        with np.errstate(divide="ignore"):
            return x * np.divide(1.0, slope(x[0]))

    return f


def falling(t: Any) -> Any:
    return (t if t < 0.5 else 2.0) * -3.0


def saved(x: Any) -> Any:
    with open(os.devnull, "wb") as file:
        np.save(file, x)
    return x


# The wrong function, what the warning says, and functions that do what it says, with all their arguments for a call.
PROGRAMS: dict[str, tuple[Callable[..., Any], str, list[tuple[Callable[..., Any], Callable[[float], Any]]]]] = {
    "another kind of result": (
        lambda x: np.matrix([[1.0, x[0]]]),
        "Return floats, arrays, or structures of them",
        [(lambda x: ({"a": x[0]}, [x * 2.0]), lambda k: (V * k,))],
    ),
    "an array from outside": (
        lambda x: (x, table[1:]),
        "it returns a view of an array that it sees from outside. Return a copy",
        [(lambda x: (x, table[1:].copy()), lambda k: (V * k,))],
    ),
    "a list twice": (
        lambda x: (y := [x], y),
        " twice. Return copies",
        [(lambda x: (y := [x], y.copy()), lambda k: (V * k,))],
    ),
    "a constant that is read-only": (
        lambda x: (x, read_only()),
        "it returns a constant array that cannot be written to. Return a copy",
        [(lambda x: (x, read_only().copy()), lambda k: (V * k,))],
    ),
    "random numbers": (
        lambda x: x * generator.random(),
        "it uses random numbers. Draw them outside, and make them an argument",
        [(lambda x, r: x * r, lambda k: (V * k, generator.random()))],
    ),
    "the clock": (
        lambda x: x * time.time(),
        "Make the time an argument",
        [(lambda x, t: x * t, lambda k: (V * k, time.time()))],
    ),
    "an object": (
        lambda x: x * next(scales),
        "and staging cannot look into it. Give its values as arguments",
        [(lambda x, scale: x * scale, lambda k: (V * k, next(scales)))],
    ),
    "a value that is read": (
        lambda x: x * float(str(x[0] + 1.0)),
        "numpy.stack for numpy.array and numpy.sin for math.sin",
        [(lambda x: np.sin(x) * np.stack([x[0], x[1], x[2]]), lambda k: (V * k,))],
    ),
    "an index of a plain array": (
        lambda x: table.take(int(x[0] * 100)) * x,
        "If the value is an index of a plain array, give this array as an argument",
        [(lambda x, table: table[(x[0] * 100).astype(int)] * x, lambda k: (V * k, table))],
    ),
    "a value that a loop asks for": (
        lambda x: fori_loop(0, 3, lambda i, y: y * 0.5 if bool(y[0] > 0.1) else y, x),
        "Let a test of its own decide, by `if` or by cond, compute with the value by functions that NumPy dispatches, "
        "and give a plain array that it indexes as an argument",
        [
            (
                lambda x: fori_loop(0, 3, lambda i, y: cond(y[0] > 0.1, lambda: y * 0.5, lambda: y), x),
                lambda k: (V * k,),
            ),
            (lambda x: fori_loop(0, 3, lambda i, y: np.sin(y) * y, x), lambda k: (V * k,)),
            (lambda x, table: fori_loop(0, 3, lambda i, y: y * table[i], x), lambda k: (V * k, table)),
        ],
    ),
    "a variable that a round changes": (
        counted_outside,
        "which is outside of it. Make it a part of the state",
        [
            (
                lambda x: (lambda y, k: y * k)(*fori_loop(0, 3, lambda i, s: (s[0] * 0.5, s[1] + 1), (x, 0))),
                lambda k: (V * k,),
            )
        ],
    ),
    "a value that is printed": (
        lambda x: (f"{x[0]:.3f}", x * 2.0)[1],
        "If the value is printed, return it",
        [(lambda x: (x[0], x * 2.0), lambda k: (V * k,))],
    ),
    "something that changes": (
        used,
        " has changed. Make it an argument",
        [(lambda x, factor: x * factor, lambda k: (V * k, 2.0 * k))],
    ),
    "an attribute that is not staged": (
        lambda x: x * (x * 1.0).data[0],
        "it may show the memory of the array. Use NumPy's functions on x",
        [(lambda x: x * np.ravel(x)[0], lambda k: (V * k,))],
    ),
    "an array that is still needed": (
        looked_at(lambda y: y),
        "Write to a copy, x.copy()",
        [(looked_at(lambda y: y.copy()), lambda k: (V * k,))],
    ),
    "x.flat": (
        written(lambda y, x: y.flat.__setitem__(0, 5.0)),
        "Write x[i] = v",
        [(written(lambda y, x: y.__setitem__(0, 5.0)), lambda k: (V * k,))],
    ),
    "warnings that are recorded": (
        with_warnings_recorded,
        "it records warnings, and may look at them. Record them outside",
        [(lambda x: np.log(x) * 1.0, lambda k: (V * k,))],
    ),
    "the memory of an array": (
        lambda x: x * np.shares_memory(x, table),
        "looks at the memory of an array. Decide it outside",
        [(lambda x, shares: x * shares, lambda k: (V * k, False))],
    ),
    "a special attribute": (
        lambda x: x * len(x.__array_interface__),
        ". Use NumPy's functions on x",
        [(lambda x: x * 2.0, lambda k: (V * k,))],
    ),
    "the type of an expression": (
        lambda x: x * (2.0 if type(x[0]) is float else 3.0),
        "Give it a name, x, and write type(x)",
        [(of_the_type_of_a_name, lambda k: (V * k,))],
    ),
    "an abstract class": (
        lambda x: x * (2.0 if isinstance(x[0], Sized) else 3.0),
        "Give it a name, x, and write isinstance(x, ...)",
        [(of_the_class_of_a_name, lambda k: (V * k,))],
    ),
    "the same object": (
        lambda x: x * (2.0 if x is table else 3.0),
        "it asks whether a value is the same object as another one, by `is`. Compare by ==",
        [(lambda x: x * (2.0 if np.array_equal(x, V) else 3.0), lambda k: (V + 1.0 + k,))],
    ),
    "the identity of a value": (
        lambda x: x * (2.0 if id(x) == 0 else 3.0),
        "it asks for id(...) of a value. Compare by ==",
        [(lambda x: x * (2.0 if np.array_equal(x, V) else 3.0), lambda k: (V + 1.0 + k,))],
    ),
    "a warning": (
        warned,
        "it warns. Warn outside",
        [(lambda x: x * 2.0, lambda k: (V * k,))],
    ),
    "a record": (
        logged,
        "it logs a value that is staged. Return the value, and log it outside",
        [(lambda x: (x[0], x * 2.0), lambda k: (V * k,))],
    ),
    "errors of warnings": (
        with_errors_of_warnings,
        "it makes errors of warnings. Use numpy.errstate(all='raise')",
        [(with_errors_of_numpy, lambda k: (V * k,))],
    ),
    "a write that is not staged": (
        written(lambda y, x: y.byteswap(inplace=True)),
        "Write x[i] = v, or make a new array",
        [
            (written(lambda y, x: y.__setitem__(0, x[1])), lambda k: (V * k,)),
            (written(lambda y, x: np.concatenate([y, x])), lambda k: (V * k,)),
        ],
    ),
    "a write to a plain array": (
        in_array(lambda x: np.zeros(3)),
        "Make the array by numpy.zeros_like(x) or shiftreset_ad.zeros(shape)",
        [(in_array(np.zeros_like), lambda k: (V * k,)), (in_array(lambda x: zeros(3)), lambda k: (V * k,))],
    ),
    "a derivative that is NaN": (
        by_slope(root_outside),
        "Compute in the branch what no other branch needs, and give roots and logarithms no zero, as by "
        "numpy.where(x > 0, x, 1.0)",
        [
            (by_slope(lambda t: cond(t > 0.5, lambda: np.sqrt(t), lambda: t)), lambda k: (V * k,)),
            (by_slope(lambda t: root_outside(np.where(t > 0, t, 1.0))), lambda k: (V * k,)),
        ],
    ),
    "the sign of a zero": (
        over_slope(derivative(falling)),
        "Add 0.0 to the derivative",
        [(over_slope(lambda t: derivative(falling)(t) + 0.0), lambda k: (V * k,))],
    ),
    "a file": (
        saved,
        "Return the values, and write them outside",
        [(lambda x: x * 2.0, lambda k: (V * k,))],
    ),
}
RAISED = "Return the value, to use it"
OF_SOME_VERSIONS = (
    "Match x.shape, or write x[0]",  # where NumPy's arrays are sequences to `match`
    "another function or the body of a class sees a {}, too. Give the variable another name",  # from 3.12 on
)
OF_NO_MESSAGE = "return {}"  # a line of the functions that staging writes
OF_LLVM = "define {} {} {", "define internal void "  # its native functions begin so
OF_PIECES = ("return ({})", "return without_values(error)")  # functions of Python's that native code calls
OF_SPARSE = (  # `test_sparse.py` does these
    "it returns a csr_array twice. Return the array once",
    "it returns a csr_array that shares its indices. Return copies of the indices",
)
OF_IR = ("write {}", "give {}")  # lines of the text of the steps


@pytest.mark.filterwarnings("ignore:the matrix subclass")
@pytest.mark.parametrize("name", PROGRAMS)
def test_what_warnings_say(name: str) -> None:
    global factor
    wrong, said, rights = PROGRAMS[name]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", StagingWarning)
        f = staged(wrong)
        for k in range(CALLS):
            factor = 1.0 + k
            f(V * factor)
    assert [said for warning in caught if said in str(warning.message)] == [said], list(map(str, caught))
    for right, arguments in rights:
        g = staged(right)
        for k in range(CALLS):
            given = arguments(1.0 + 0.1 * k)
            found, expected = g(*given), right(*given)
            np.testing.assert_equal(found, expected)
        assert len(g.sources) == 1


def test_a_value_is_not_used_after_the_function_has_returned() -> None:
    trace = Trace()
    x = Staged(trace, trace.place_for(2.0))
    trace.is_open = False
    with pytest.raises(ControlError) as raised:
        x + 1.0
    assert RAISED in str(raised.value)
    g = staged(lambda x: (x * 2.0, x * 3.0))
    for k in range(4):
        np.testing.assert_array_equal(g(k * V)[1] + 1.0, k * V * 3.0 + 1.0)


def test_derivatives_of_what_is_done() -> None:
    """A staged derivative has them, too."""
    g = staged(grad(lambda x: np.sum(in_array(lambda x: zeros(3))(x))))
    for k in (1.0, 2.0):
        np.testing.assert_allclose(g(k * V), [2 * k * V[0], k * V[2], k * V[1]])


def test_each_message_has_a_program() -> None:
    in_plain_python = [said for _, said, _ in (*PLAIN_PROGRAMS, *OF_LISTS, *OF_JUMPS)]
    said = [
        RAISED,
        OF_NO_MESSAGE,
        *OF_SOME_VERSIONS,
        *OF_LLVM,
        *OF_PIECES,
        *OF_IR,
        *OF_SPARSE,
        *(said for _, said, _ in PROGRAMS.values()),
        *in_plain_python,
        OF_A_GENERATOR,
    ]
    assert not_done("staging", said) == []


OF_A_GENERATOR = " is a generator, whose tests are asked. Go over it by `for x in halves(...)`"


def halves(x: Any) -> Iterator[Any]:
    while x > 1.0:
        yield x
        x = x / 2.0


def sum_of_halves(x: Any) -> Any:
    found = 0.0
    values = halves(x)
    for half in values:
        found = found + half
    return found


def sum_in_its_loop(x: Any) -> Any:
    found = 0.0
    for half in halves(x):
        found = found + half
    return found


def test_a_generator_is_named_that_asks() -> None:
    wrong, right = staged(sum_of_halves), staged(sum_in_its_loop)
    for x in (5.0, 1.5, 9.0):
        assert wrong(x) == right(x) == sum_of_halves(x)
    assert f"'halves'{OF_A_GENERATOR}" in wrong.report()
    assert len(right.sources) == 1
    assert OF_A_GENERATOR not in right.report()
