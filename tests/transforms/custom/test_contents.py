"""Lists, dicts, objects and variables that rules read, and that the program changes before the way back."""

from __future__ import annotations

import gc
import threading
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from shiftreset_ad import ControlError, custom_derivative, custom_vjp, derivative, grad, jvp, linearize, vjp
from shiftreset_ad.boundary.contents import KNOWN
from tests.transforms.custom.decorating import with_rules

KINDS = ("vjp", "jvp", "both")
SCALE = 1.0

ROUTES = {
    "grad": lambda f, x: grad(f)(x),
    "grad of grad": lambda f, x: grad(lambda x: grad(f)(x) * x)(x) / 2.0,
    "vjp": lambda f, x: vjp(f, x)[1](1.0)[0],
    "linearize": lambda f, x: linearize(f, x)[1](1.0),
    "jvp": lambda f, x: jvp(f, (x,), (1.0,))[1],
    "derivative": lambda f, x: derivative(f)(x),
}


def squared_times(kind: str, factor: Any) -> Any:
    """The function z -> factor() z^2, with rules."""
    return with_rules(
        kind,
        lambda z: factor() * z * z,
        lambda z: (factor() * z * z, z),
        lambda z, g: (2.0 * factor() * z * g,),
        lambda zs, ds: (factor() * zs[0] * zs[0], 2.0 * factor() * zs[0] * ds[0]),
    )


def right_or_an_error(route: str, f: Any, x: float, expected: float) -> bool:
    """Whether there was an error; the derivative has to be right if there was none."""
    try:
        found = ROUTES[route](f, x)
    except ControlError as error:
        assert "which the program has changed" in str(error)  # noqa: PT017
        return True
    assert found == pytest.approx(expected)
    return False


def put_into(box: Any, key: Any, value: Any) -> None:
    box[key] = value


CHANGES = {
    "a list": (lambda: [1.0], lambda box: box[0], lambda box: put_into(box, 0, 5.0)),
    "a shorter list": (lambda: [3.0, 1.0], lambda box: box[-1], list.pop),
    "a list that is inserted to": (lambda: [1.0, 7.0], lambda box: box[0], lambda box: box.insert(0, 5.0)),
    "another sign of zero": (lambda: [0.0], lambda box: np.copysign(1.0, box[0]), lambda box: put_into(box, 0, -0.0)),
    "a list in a tuple": (lambda: ([1.0], 2.0), lambda box: box[0][0], lambda box: put_into(box[0], 0, 5.0)),
    "a dict in a list": (lambda: [{"k": 1.0}], lambda box: box[0]["k"], lambda box: put_into(box[0], "k", 5.0)),
    "a list beside an array": (
        lambda: [1.0, np.ones(2)],
        lambda box: box[0] * box[1][1],
        lambda box: put_into(box, 0, 5.0),
    ),
    "another array in a list": (
        lambda: [np.array(1.0)],
        lambda box: box[0],
        lambda box: put_into(box, 0, np.array(5.0)),
    ),
    "a dict": (lambda: {"k": 1}, lambda box: box["k"], lambda box: put_into(box, "k", 5)),
    "a word": (lambda: ["one"], lambda box: len(box[0]) - 2, lambda box: put_into(box, 0, "three")),
    "an attribute": (lambda: SimpleNamespace(k=1.0), lambda box: box.k, lambda box: setattr(box, "k", 5.0)),
    "an attribute of an attribute": (
        lambda: SimpleNamespace(options=SimpleNamespace(k=1.0)),
        lambda box: box.options.k,
        lambda box: setattr(box.options, "k", 5.0),
    ),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("name", CHANGES)
def test_what_the_program_replaces_is_an_error_or_is_not_needed_again(name: str, route: str, kind: str) -> None:
    """The rule for forward mode runs at the call, so its mode needs nothing later."""
    make, factor, change = CHANGES[name]

    def f(x: Any) -> Any:
        box = make()
        y = squared_times(kind, lambda: factor(box))(x * 1.0)
        change(box)
        return y

    raised = right_or_an_error(route, f, 3.0, 6.0)
    if kind == "vjp" and route in ("grad", "vjp"):
        assert raised


REBOUND = {
    "list": ([1.0], [5.0], lambda box: box[0]),
    "tuple": ((1.0,), (5.0,), lambda box: box[0]),
    "object": (SimpleNamespace(k=1.0), SimpleNamespace(k=5.0), lambda box: box.k),
    "function": (lambda: 1.0, lambda: 5.0, lambda box: box()),
    "integer of NumPy": (np.int32(1), np.int32(5), lambda box: box),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("name", REBOUND)
def test_a_variable_that_is_bound_again_is_as_it_was_at_the_call(name: str, route: str, kind: str) -> None:
    first, second, factor = REBOUND[name]

    def f(x: Any) -> Any:
        box = first
        y = squared_times(kind, lambda: factor(box))(x * 1.0)
        box = second
        return y

    assert not right_or_an_error(route, f, 3.0, 6.0)


def test_a_global_number() -> None:
    f = squared_times("vjp", lambda: SCALE)

    def h(x: Any) -> Any:
        global SCALE
        SCALE = 1.0
        y = f(x)
        SCALE = 5.0
        return y

    for _ in range(3):
        with pytest.raises(ControlError, match="its rules read the global variable 'SCALE'"):
            grad(h)(3.0)
    assert grad(f)(3.0) == 30.0


def test_an_argument_without_derivative() -> None:
    """`self`, and a list."""

    class Layer:
        def __init__(self) -> None:
            self.scale, self.calls = 2.0, 0

        @custom_vjp
        def square(self, x: Any) -> Any:
            return self.scale * x * x

        square.defvjp(lambda self, x: (self.scale * x * x, x), lambda self, x, g: (2.0 * self.scale * x * g,))

    def h(x: Any, layer: Any, changed: str) -> Any:
        y = layer.square(x)
        setattr(layer, changed, 7.0)
        return y

    assert grad(h)(3.0, Layer(), "calls") == 12.0  # no rule reads it
    with pytest.raises(ControlError, match=r"square: its rules read the attribute 'scale' of 'self'"):
        grad(h)(3.0, Layer(), "scale")

    times = custom_vjp(lambda x, factors: factors[0] * x, nondiff_argnums=1)
    times.defvjp(lambda x, factors: (factors[0] * x, None), lambda factors, _, g: (factors[0] * g,))

    def k(x: Any, factors: list[float]) -> Any:
        y = times(x, factors)
        factors[0] = 5.0
        return y

    with pytest.raises(ControlError, match="the list 'factors'"):
        grad(k)(3.0, [2.0])


# What rules themselves change, and what does not matter


def test_rules_may_count_and_log() -> None:
    counts, log, seen = {"fwd": 0, "bwd": 0}, [], [0.0]

    def fwd(x: Any) -> Any:
        counts["fwd"] += 1
        log.append("fwd")
        return x * x, x

    def bwd(x: Any, g: Any) -> Any:
        counts["bwd"] += 1
        log.append("bwd")
        seen[0] = float(x)
        return (2.0 * x * g,)

    square = custom_vjp(lambda x: x * x)
    square.defvjp(fwd, bwd)
    for _ in range(2):
        assert grad(lambda x: square(x) + square(square(x)))(3.0) == pytest.approx(2 * 3 + 4 * 27)
        log.clear()  # between two derivatives
    assert counts == {"fwd": 6, "bwd": 6}
    assert seen == [3.0]

    def noted(x: Any) -> Any:
        y = square(x)
        log.append("the program adds")
        counts["more"] = 0
        return y

    assert grad(noted)(3.0) == 6.0


def test_the_program_may_put_back_the_same() -> None:
    box = [1.0, float("nan"), "name"]

    def h(x: Any) -> Any:
        y = squared_times("vjp", lambda: box[0])(x)
        box[:] = [0.5 + 0.5, float("nan"), "".join(["na", "me"])]
        return y

    assert grad(h)(3.0) == 6.0


def test_the_program_may_change_it_between_derivatives() -> None:
    box = [1.0]
    f = squared_times("both", lambda: box[0])
    for k in range(4):
        box[0] = float(k)
        assert grad(f)(3.0) == 6.0 * k
        assert jvp(f, (3.0,), (1.0,))[1] == 6.0 * k


def test_an_error_leaves_nothing_behind() -> None:
    box = [1.0]
    f = squared_times("vjp", lambda: box[0])
    _, pullback = vjp(f, 3.0)
    box[0] = 5.0
    for _ in range(2):
        with pytest.raises(ControlError, match="the list 'box'"):
            pullback(1.0)
    assert grad(f)(3.0) == 30.0

    def wrong(x: Any, g: Any) -> Any:
        raise RuntimeError("wrong")

    failing = custom_derivative(lambda z: box[0] * z)
    failing.defvjp(lambda z: (box[0] * z, z), wrong)
    with pytest.raises(RuntimeError, match="wrong"):
        grad(failing)(3.0)
    assert grad(f)(3.0) == 30.0


def test_rules_in_another_thread_may_count_meanwhile() -> None:
    """What changes while any rule runs is a rule's own."""
    counts = [0]
    inside, go_on = threading.Event(), threading.Event()

    def bwd(x: Any, g: Any) -> Any:
        counts[0] += 1
        if threading.current_thread() is not threading.main_thread():
            inside.set()
            go_on.wait(10.0)
        return (2.0 * x * g,)

    square = custom_vjp(lambda x: x * x)
    square.defvjp(lambda x: (x * x, x), bwd)
    _, pullback = vjp(square, 3.0)
    found: list[float] = []
    thread = threading.Thread(target=lambda: found.append(grad(square)(2.0)))
    thread.start()
    assert inside.wait(10.0)
    assert pullback(1.0)[0] == 6.0
    go_on.set()
    thread.join()
    assert found == [4.0]


@pytest.mark.slow
def test_nothing_is_kept_when_no_function_reads_it() -> None:
    def once() -> None:
        box = [1.0]
        assert grad(squared_times("vjp", lambda: box[0]))(3.0) == 6.0

    gc.collect()
    before = len(KNOWN)
    for _ in range(5):
        once()
    gc.collect()
    assert len(KNOWN) <= before


ARRAY = np.ones(2)


class Holder:
    def __init__(self) -> None:
        self.array = np.ones(2)


def test_arrays_that_the_program_writes_to() -> None:
    """In a global variable, in attributes, in an argument without derivative, and in a residual."""
    holder = Holder()
    made: list[Holder] = []

    def fwd(x: Any) -> Any:
        made.append(Holder())
        return x, made[-1]

    of_global = custom_vjp(lambda x: ARRAY * x)
    of_global.defvjp(lambda x: (ARRAY * x, None), lambda _, g: (ARRAY * g,))
    of_attribute = custom_vjp(lambda x: holder.array * x)
    of_attribute.defvjp(lambda x: (holder.array * x, None), lambda _, g: (holder.array * g,))
    of_argument = custom_vjp(lambda x, h: h[0].array * x, nondiff_argnums=1)
    of_argument.defvjp(lambda x, h: (h[0].array * x, None), lambda h, _, g: (h[0].array * g,))
    of_list = custom_vjp(lambda x, h: h[0] * x, nondiff_argnums=1)
    of_list.defvjp(lambda x, h: (h[0] * x, None), lambda h, _, g: (h[0] * g,))
    of_residual = custom_vjp(lambda x: x)
    of_residual.defvjp(fwd, lambda h, g: (h.array * g,))

    for f, array in (
        (of_global, lambda: ARRAY),
        (of_attribute, lambda: holder.array),
        (lambda x: of_argument(x, [holder]), lambda: holder.array),
        (lambda x: of_list(x, [ARRAY]), lambda: ARRAY),
        (of_residual, lambda: made[-1].array),
    ):
        for written in (1.0, 5.0):
            ARRAY[:] = holder.array[:] = 1.0

            def h(x: Any, f: Any = f, array: Any = array, written: float = written) -> Any:
                y = f(x * 1.0)
                array()[:] = written
                return np.sum(y)

            if written == 1.0:
                np.testing.assert_array_equal(grad(h)(np.ones(2)), np.ones(2))
            else:
                with pytest.raises(ControlError, match=r"its rules read the array .*, which the program has changed"):
                    grad(h)(np.ones(2))
    ARRAY[:] = 1.0


def test_another_array_in_the_variable_is_watched_like_the_first() -> None:
    """What a call has found is used by later calls only as long as the rules can reach the same things."""
    global ARRAY
    times = custom_vjp(lambda x: ARRAY * x)
    times.defvjp(lambda x: (ARRAY * x, None), lambda _, g: (ARRAY * g,))

    def h(x: Any) -> Any:
        y = times(x)
        ARRAY[:] = 5.0
        return np.sum(y)

    try:
        for _ in range(3):
            np.testing.assert_array_equal(grad(lambda x: np.sum(times(x)))(np.ones(2)), ARRAY)
        ARRAY = np.full(2, 2.0)
        with pytest.raises(ControlError, match="its rules read the array 'ARRAY'"):
            grad(h)(np.ones(2))
    finally:
        ARRAY = np.ones(2)


OBJECTS = np.empty(1, dtype=object)
OBJECTS[0] = [1.0]


def test_another_list_in_an_array_of_objects_is_watched_like_the_first() -> None:
    times = custom_vjp(lambda x: OBJECTS[0][0] * x)
    times.defvjp(lambda x: (OBJECTS[0][0] * x, None), lambda _, g: (OBJECTS[0][0] * g,))

    def h(x: Any) -> Any:
        y = times(x)
        OBJECTS[0][0] = 5.0
        return y

    for _ in range(3):
        assert grad(times)(2.0) == 1.0
    OBJECTS[0] = [2.0]
    assert grad(times)(2.0) == 2.0
    with pytest.raises(ControlError, match="its rules read the list 'OBJECTS'"):
        grad(h)(2.0)


def test_a_rule_may_use_a_buffer() -> None:
    """It writes to the array itself."""
    twice = custom_vjp(lambda x: 2.0 * x)
    twice.defvjp(
        lambda x: (np.multiply(x, 2.0, out=ARRAY).copy(), None), lambda _, g: (np.multiply(g, 2.0, out=ARRAY).copy(),)
    )
    try:
        np.testing.assert_array_equal(grad(lambda x: np.sum(twice(twice(x))))(np.ones(2)), np.full(2, 4.0))
    finally:
        ARRAY[:] = 1.0
