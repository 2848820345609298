"""`debug()`, and the notes in errors on the way back: every one names the line that it is about."""

from __future__ import annotations

import asyncio
import gc
import re
import threading
import weakref
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from greenlet import greenlet

import shiftreset_ad as sr
from shiftreset_ad import (
    checkpoint,
    checkpointed_loop,
    custom_jvp,
    custom_vjp,
    debug,
    derivative,
    fuse,
    grad,
    grad_closure,
    hessian,
    hvp,
    jacfwd,
    jacobian,
    jacrev,
    jvp,
    linearize,
    taylor,
    value,
    vjp,
)
from shiftreset_ad.boundary import trees
from shiftreset_ad.boundary.notes import FUNCTION_OF
from shiftreset_ad.debugging import watching
from shiftreset_ad.modes.reverse.elementwise import NumR
from shiftreset_ad.numbers.tags import watcher
from shiftreset_ad.rules.table import LinearMap

ZEROS = np.array([1.0, 0.0])
ONES = np.ones(2)

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def lines(error: BaseException) -> list[str]:
    """The lines of this file that an error names in its message and notes, by their last comments."""
    told = "\n".join([str(error), *getattr(error, "__notes__", ())])
    return re.findall(rf'File "{re.escape(__file__)}", line \d+, in .*\n.*# (.*)', told)


def spoilt(call: Any, *args: Any) -> FloatingPointError:
    """The error that a call raises inside `debug()`; afterwards nothing is left of it."""
    with pytest.raises(FloatingPointError) as caught, debug():
        call(*args)
    assert watcher.get() is None
    assert grad(lambda x: np.log(x * 0.0))(1.0) != 0.0  # an infinity is an answer again
    return caught.value


# Primals


def log_of_zero(x: Any) -> Any:
    y = x * 2.0
    return np.sum(np.log(y))  # log of y


def shifted_root(x: Any) -> Any:
    y = x * 2.0
    return np.sum(np.sqrt(y) + 1.0)  # root of y


EVERY_MODE = {
    "grad": lambda f: grad(f)(ZEROS),
    "vjp": lambda f: vjp(f, ZEROS)[1](1.0),
    "jvp": lambda f: jvp(f, (ZEROS,), (ONES,)),
    "linearize": lambda f: linearize(f, ZEROS)[1](ONES),
    "jacobian": lambda f: jacobian(f)(ZEROS),
    "jacrev": lambda f: jacrev(lambda x: f(x) * x)(ZEROS),
    "jacfwd": lambda f: jacfwd(f)(ZEROS),
    "hessian": lambda f: hessian(f)(ZEROS),
    "hvp": lambda f: hvp(f, (ZEROS,), (ONES,)),
    "taylor": lambda f: taylor(f, ZEROS, 3),
    "derivative": lambda f: derivative(lambda t: f(t * ZEROS))(1.0),
    "grad of grad": lambda f: grad(lambda x: np.sum(grad(f)(x)))(ZEROS),
    "jvp of grad": lambda f: jvp(grad(f), (ZEROS,), (ONES,)),
    "grad of jvp": lambda f: grad(lambda x: jvp(f, (x,), (ONES,))[1])(ZEROS),
    "jvp of jvp": lambda f: jvp(lambda x: jvp(f, (x,), (ONES,))[1], (ZEROS,), (ONES,)),
    "grad of taylor": lambda f: grad(lambda x: taylor(f, x, 2)[2])(ZEROS),
    "closure": lambda f: grad_closure((lambda x: lambda: f(x))(ZEROS))(),
    "checkpoint": lambda f: grad(checkpoint(f))(ZEROS),
    "checkpoint in grad of grad": lambda f: grad(lambda x: np.sum(grad(checkpoint(f))(x)))(ZEROS),
    "checkpointed_loop": lambda f: grad(lambda x: checkpointed_loop(lambda k, s: s * f(x), 1.0, 3, snapshots=2))(ZEROS),
    "fuse": lambda f: grad(fuse(f))(ZEROS),
}


@pytest.mark.parametrize("mode", EVERY_MODE)
def test_the_first_answer_that_is_not_finite_is_an_error_at_its_line(mode):
    error = spoilt(EVERY_MODE[mode], log_of_zero)
    assert lines(error)[0] == "log of y"
    assert str(error).startswith("numpy.log: its answer is -inf at index (1,), where the operand is 0.0\n")
    assert "operands: float64 of shape (2,); answer: float64 of shape (2,)" in str(error)
    assert error.__suppress_context__ or error.__context__ is None


@pytest.mark.parametrize("mode", EVERY_MODE)
def test_the_first_derivative_that_is_not_finite_is_an_error_with_the_line_of_its_operation(mode):
    error = spoilt(EVERY_MODE[mode], shifted_root)
    assert lines(error)[0] == "root of y"
    message = str(error).splitlines()[0]
    assert "numpy.sqrt" in message
    assert re.search(
        r"(adjoint of its operand becomes|tangent of its answer is|coefficient 1 of its answer is) (inf|nan)", message
    )
    assert "where the operand is 0.0" in message


@pytest.mark.parametrize("mode", EVERY_MODE)
def test_what_is_finite_is_as_without(mode):
    def f(x: Any) -> Any:
        rest = np.where(x > 0.5, np.log(np.where(x > 0.5, x, 1.0)), -1.0) + np.sinc(x) + np.hypot(x, x + 1.0)
        return np.std(x) * np.sum(rest * x[0]) + np.linalg.norm(x) * x[1] ** 2

    expected = EVERY_MODE[mode](f)
    with debug():
        found = EVERY_MODE[mode](f)
    for a, b in zip(trees.flatten(found)[0], trees.flatten(expected)[0], strict=True):
        np.testing.assert_array_equal(a, b)


OPERATIONS = [
    (lambda x: x[1] / (x[0] - 1.0), "/", "nan", ", where the operand is 0.0, the operand is 0.0"),
    (lambda x: 1.0 / x[1], "/", "inf", ", where the operand is 1.0, the operand is 0.0"),
    (lambda x: x[0] * 1e200 * 1e200, "*", "inf", ", where the operand is 1e+200, the operand is 1e+200"),
    (lambda x: np.sum(x / x), "/", "nan", " at index (1,), where the operand is 0.0, the operand is 0.0"),
    (lambda x: np.sum(np.divide(3.0, x)), "numpy.divide", "inf", " at index (1,), where the operand is 3.0, "),
    (lambda x: (x + 1e300) @ (x + 1e300), "@", "inf", ""),
    (lambda x: (x + 1e200).prod(), "numpy.prod", "inf", ""),
    (lambda x: np.sum(np.cumsum(x + 1e308)[0]) + np.sum(np.cumsum(x + 1e308)), "numpy.cumsum", "inf", " at index (1,)"),
    (lambda x: np.add.reduce((x + 1.0) * 0.8e308), "numpy.add.reduce", "inf", ""),
    (lambda x: np.std((x + 1.0) * 1e200), "numpy.std", "inf", ""),
    (lambda x: np.sum((x + 1e-300) ** -2.0), "**", "inf", " at index (1,), where the operand is 1e-300, "),
    (lambda x: np.sum(-((x - 1.0) ** -1.0)), "**", "inf", " at index (0,)"),
]


@pytest.mark.parametrize("mode", ["grad", "jvp", "taylor"])
@pytest.mark.parametrize("place", range(len(OPERATIONS)))
def test_the_operation_and_the_element_and_the_values_are_named(place, mode):
    f, name, answer, rest = OPERATIONS[place]
    message = str(spoilt(EVERY_MODE[mode], f)).splitlines()
    assert message[0].startswith(f"{name}: its answer is {answer}{rest}")
    assert message[1].startswith(f'  File "{__file__}", line {f.__code__.co_firstlineno}, in <lambda>')


def test_the_traceback_ends_at_the_line():
    error = spoilt(grad(log_of_zero), ZEROS)
    frames = []
    traceback = error.__traceback__
    while traceback is not None:
        frames.append(traceback.tb_frame.f_code)
        traceback = traceback.tb_next
    assert frames[-1] is log_of_zero.__code__


def test_an_operand_that_is_not_finite_is_the_users_own():
    """Masks with infinities are common, and what is infinite before is not made so."""

    def f(x: Any) -> Any:
        scores = np.where([True, False], x, -np.inf)
        weights = np.exp(scores - np.max(scores))
        return np.sum(weights * x / np.sum(weights)) + 0.0 * np.max(x, initial=-np.inf)

    with debug():
        np.testing.assert_allclose(grad(f)(np.array([0.5, 2.0])), [1.0, 0.0])
        assert jvp(lambda x: x * np.inf, (2.0,), (1.0,)) == (np.inf, np.inf)
        assert grad(lambda x: x * 3.0)(np.inf) == 3.0
        assert np.isnan(vjp(lambda x: x * 3.0, 2.0)[1](np.nan)[0])
        assert np.isnan(jvp(lambda x: x * 3.0, (2.0,), (np.nan,))[1])
        assert np.isnan(taylor(lambda x: x * 3.0, 2.0, 1, direction=np.nan)[1])


def test_what_is_infinite_on_the_way_only():
    """Inside an operation of ours, where its answer and its derivatives are finite."""
    with debug():
        for f in (np.sinc, lambda x: np.hypot(x, x), lambda x: x**0.0, lambda x: np.linalg.norm(x + 0.0 * x)):
            for mode in ("grad", "jvp", "taylor"):
                EVERY_MODE[mode](lambda x, f=f: np.sum(f(x)))
        assert grad(lambda x: np.hypot(x, 0.0))(0.0) == 0.0
        assert grad(grad(lambda x: x**2))(0.0) == 2.0


def test_arrays_of_other_libraries():
    library = pytest.importorskip("array_api_strict")
    pytest.importorskip("array_api_compat")
    zeros = library.asarray([1.0, 0.0])
    infinite = library.asarray([np.inf, np.inf])
    assert lines(spoilt(grad(log_of_zero), zeros)) == ["log of y"]
    error = spoilt(grad(shifted_root), zeros)
    assert lines(error) == ["root of y"]
    assert "becomes inf at index (1,), where the operand is 0.0, the answer is 0.0" in str(error)
    with debug():  # what is infinite before is the user's own
        assert np.all(np.isinf(np.asarray(vjp(lambda x: x * infinite, zeros + 1.0)[0])))
        assert np.all(np.isinf(np.asarray(jvp(lambda x: np.multiply(infinite, x), (zeros + 1.0,), (zeros,))[0])))


def test_what_a_checkpoint_closes_over_is_the_users_own():
    mask = np.array([0.0, -np.inf])

    def f(x: Any) -> Any:
        return checkpoint(lambda x: x + mask)(x)

    with debug():
        np.testing.assert_array_equal(vjp(f, ONES)[0], [1.0, -np.inf])
        np.testing.assert_array_equal(grad(lambda x: f(x)[0])(ONES), [1.0, 0.0])


# Adjoints


def test_the_values_and_the_shapes_on_the_way_back():
    error = spoilt(grad(lambda x: 3.0 * np.sum(np.sqrt(x))), ZEROS)  # here
    first, second, *_, last = str(error).splitlines()
    assert first == (
        "on the way back through numpy.sqrt: the adjoint of its operand becomes inf at index (1,), where the operand "
        "is 0.0, the answer is 0.0, the adjoint of the answer is 3.0"
    )
    assert second.endswith(f"in {'<lambda>'}")
    assert last == "  operand: float64 of shape (2,); answer: float64 of shape (2,)"
    assert not hasattr(error, "__notes__")


def test_many_directions_at_once():
    for of in (jacobian, jacfwd, jacrev):
        error = spoilt(lambda of=of: of(np.sqrt)(ZEROS))  # all of them
        assert "at index (1,), in direction 0 of many, where the operand is 0.0" in str(error)
        assert lines(error) == ["all of them"]


def test_a_sum_of_adjoints_that_overflows():
    def f(x: Any) -> Any:
        return x[0] * 1e308 + x[0] * 1e308  # twice

    error = spoilt(grad(f), ZEROS * 1e-300)
    assert lines(error) == ["twice"]
    assert "through x[i]: the adjoint of its operand becomes inf at index (0,)" in str(error)
    assert "at index (0,), where the operand is 1e-300" in str(error)


@pytest.mark.parametrize("product", [np.dot, np.matmul, lambda a, b: np.einsum("i,i->", a, b)])
def test_an_array_before_the_number(product):
    """NumPy then tells the number that an array is there, too, by the class of arrays."""
    with pytest.raises(FloatingPointError, match="its answer is inf"), sr.debug():
        grad(lambda x: product(np.full(2, 1e308), x))(np.full(2, 10.0))


def test_a_second_derivative_is_told_by_the_line_of_the_first():
    def f(x: Any) -> Any:
        return np.sum(x**1.5)  # power

    for call in (
        lambda: grad(lambda x: np.sum(grad(f)(x)))(ZEROS),
        lambda: hvp(f, (ZEROS,), (ONES,)),
        lambda: hessian(f)(ZEROS),
    ):
        error = spoilt(call)
        assert lines(error)[0] == "power"
    with debug():
        np.testing.assert_array_equal(grad(f)(ZEROS), [1.5, 0.0])


def test_a_composite_operation_is_looked_at_as_a_whole(monkeypatch):
    """What is infinite inside of it does not count, if what comes out of it is finite: there and on the way back."""

    def f(x: Any) -> Any:
        return np.sum(np.flip(x))  # whole

    def define(definition: str) -> None:
        code = compile(f"lambda x: {definition}", sr.rules.__file__, "eval")  # as if it stood there
        monkeypatch.setitem(sr.rules.COMPOSITE, np.flip, eval(code, {"np": np}))

    define("np.sqrt(np.where(x > 0.5, x, 0.0))")  # an infinite adjoint, which is not handed on
    for mode in ("grad", "vjp"):
        with debug():
            EVERY_MODE[mode](f)
    define("np.exp(-1.0 / (x * x))")  # an infinite answer
    with debug():
        assert vjp(f, ZEROS)[0] == np.exp(-1.0)
    error = spoilt(grad(f), ZEROS)
    assert str(error).startswith(
        "on the way back through numpy.flip: the adjoint of its operand becomes nan at index (1,)"
    )
    assert lines(error) == ["whole"]
    error = spoilt(lambda: jvp(f, (ZEROS,), (ONES,)))
    assert str(error).startswith("numpy.flip: the tangent of its answer is nan at index (1,)")
    define("1.0 / x")
    for mode in ("grad", "jvp", "taylor"):
        error = spoilt(EVERY_MODE[mode], f)
        assert str(error).startswith("numpy.flip: its answer is inf at index (1,)")
        assert lines(error) == ["whole"]


def test_a_pullback_belongs_to_where_it_is_called():
    """What the function did outside is without a line, and a pullback outside is not looked at."""
    with debug():
        value_inside, pull_inside = vjp(shifted_root, ZEROS)
    assert np.isinf(pull_inside(1.0)[0][1])
    value_outside, pull_outside = vjp(shifted_root, ZEROS)
    with debug():
        with pytest.raises(FloatingPointError, match="adjoint of its operand becomes inf") as caught:
            pull_outside(1.0)
        assert lines(caught.value) == []
        with pytest.raises(FloatingPointError) as caught:
            pull_inside(1.0)
        assert lines(caught.value) == ["root of y"]
        with pytest.raises(FloatingPointError):  # a second time
            pull_inside(1.0)
    assert value_inside == value_outside


def test_each_element_of_an_array_may_be_read(monkeypatch):
    """Of the adjoint only that element is looked at, so that the time grows with their number, and not its square."""
    sizes = []
    looked_at = watching.is_finite

    def noting(x: Any) -> bool:
        sizes.append(np.size(x[0] if isinstance(x, list) and x else x) if not isinstance(x, sr.NumR) else 1)
        return looked_at(x)

    monkeypatch.setattr(watching, "is_finite", noting)
    with debug():
        x = np.arange(50.0)
        np.testing.assert_array_equal(grad(lambda x: sum((x[i] * x[i] for i in range(50)), 0.0))(x), 2.0 * x)
    assert max(sizes) == 1


# Rules of the user's, and programs with more than one thread or greenlet


@custom_vjp
def halved_root(x: Any) -> Any:
    return 0.5 * np.sqrt(x)


def halved_root_back(y: Any, y_bar: Any) -> Any:
    return (0.25 / y * y_bar,)


halved_root.defvjp(lambda x: (halved_root(x), np.sqrt(x)), halved_root_back)


@custom_jvp
def doubled_log(x: Any) -> Any:
    return 2.0 * np.log(x)


doubled_log.defjvp(lambda xs, x_dots: (2.0 * np.log(xs[0]), 2.0 / xs[0] * x_dots[0]))


def test_custom_rules():
    def f(x: Any) -> Any:
        return np.sum(halved_root(x))  # its call

    def g(x: Any) -> Any:
        return np.sum(doubled_log(x))  # another call

    error = spoilt(grad(f), ZEROS)
    assert (lines(error), "on the way back through halved_root" in str(error)) == (["its call"], True)
    for call in (lambda: grad(g)(ZEROS), lambda: jvp(g, (ZEROS,), (ONES,)), lambda: taylor(g, ZEROS, 2)):
        error = spoilt(call)
        assert str(error).startswith("doubled_log: its answer is -inf at index (1,)")
        assert lines(error) == ["another call"]


def test_code_of_a_custom_rule_is_the_users():
    """Where it is differentiated itself, the line is one in it, and a note has the call."""

    def f(x: Any) -> Any:
        return np.sum(halved_root(x))  # its call

    with debug(), pytest.raises(FloatingPointError) as caught:
        grad(lambda x: np.sum(grad(f)(x)))(ZEROS)
    assert "return (0.25 / y * y_bar,)" in str(caught.value)
    assert lines(caught.value)[-1] == "its call"


def test_other_threads_are_left_alone():
    entered, left, found = threading.Event(), threading.Event(), []

    def other() -> None:
        entered.wait()
        found.append(grad(shifted_root)(ZEROS))
        left.set()

    thread = threading.Thread(target=other)
    thread.start()
    with debug():
        entered.set()
        left.wait()
        with pytest.raises(FloatingPointError):
            grad(shifted_root)(ZEROS)
    thread.join()
    np.testing.assert_array_equal(found[0], [2 * 0.5 / np.sqrt(2.0), np.inf])


def test_a_thread_has_its_own():
    found = []

    def other() -> None:
        with debug(), pytest.raises(FloatingPointError) as caught:
            grad(shifted_root)(ZEROS)
        found.append(lines(caught.value))

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert found == [["root of y"]]
    assert watcher.get() is None


def test_tasks_are_apart():
    async def watched() -> list[str]:
        with debug():
            await asyncio.sleep(0)
            with pytest.raises(FloatingPointError) as caught:
                grad(shifted_root)(ZEROS)
            return lines(caught.value)

    async def unwatched() -> Any:
        await asyncio.sleep(0)
        return grad(shifted_root)(ZEROS)[1]

    async def both() -> Any:
        return await asyncio.gather(watched(), unwatched(), watched())

    assert asyncio.run(both()) == [["root of y"], np.inf, ["root of y"]]


def test_an_operation_in_a_greenlet_of_the_users():
    def f(x: Any) -> Any:
        inner = greenlet(lambda x: np.log(x * 0.0))  # in the greenlet
        return inner.switch(x)

    assert lines(spoilt(grad(f), 1.0)) == ["in the greenlet"]


@pytest.mark.parametrize(
    "call",
    [
        lambda: grad(np.log)(0.0),  # the call
        lambda: jvp(np.log, (0.0,), (1.0,)),  # the call
        lambda: taylor(np.log, 0.0, 2),  # the call
    ],
)
def test_a_function_that_the_user_did_not_write(call):
    error = spoilt(call)
    assert lines(error) == ["the call"]
    assert str(error).startswith("numpy.log: its answer is -inf, where the operand is 0.0")


# Switching


def test_on_and_off():
    def is_on() -> bool:
        try:
            return not np.isinf(grad(np.sqrt)(0.0))
        except FloatingPointError:
            return True

    assert not is_on()
    with debug():
        with debug(False):
            assert not is_on()
            with debug():
                assert is_on()
            assert not is_on()
        assert is_on()
        with debug():
            assert is_on()
        assert is_on()
    assert not is_on()
    with pytest.raises(KeyError), debug():
        raise KeyError
    assert watcher.get() is None


def test_off_for_an_inner_derivative():
    def f(x: Any) -> Any:
        with debug(False):
            inner = grad(np.sqrt)(0.0)
        return x * 2.0 if np.isinf(inner) else x

    with debug():
        assert grad(f)(1.0) == 2.0


def test_the_function_may_catch_the_error():
    def f(x: Any) -> Any:
        try:
            return np.log(x)
        except FloatingPointError:
            return x * 3.0

    with debug():
        assert grad(f)(0.0) == 3.0
        assert jvp(f, (0.0,), (1.0,)) == (0.0, 3.0)


@pytest.mark.slow
def test_nothing_is_held():
    class Data(np.ndarray):
        pass

    def f(x: Any, held: Any) -> Any:
        y = x * 2.0
        held.append(weakref.ref(value(y)))
        return np.sum(np.sqrt(y))

    held: list[Any] = []
    error = spoilt(grad(lambda x: f(x, held)), ZEROS)
    error = error.with_traceback(None)
    error.__context__ = None
    gc.collect()
    assert held[0]() is None
    with debug():
        grad(lambda x: f(x, held))(ONES)
    gc.collect()
    assert held[1]() is None


def test_writing_in_place():
    def f(x: Any) -> Any:
        y = x + 1.0
        y += np.log(x - 1.0)  # into y
        return np.sum(y)

    def g(x: Any) -> Any:
        y = np.zeros_like(x)
        y[0] = x[0]
        y[1] = np.sqrt(x[1])  # an element
        return np.sum(y * y[0])

    def h(x: Any) -> Any:
        y = x * 1.0
        y[0] = np.nan
        return np.sum(y)

    def through(x: Any) -> Any:
        y = np.zeros_like(x)
        y[:] = x
        return np.sum(np.sqrt(y))  # of what was written

    assert lines(spoilt(grad(through), ZEROS)) == ["of what was written"]
    for mode in ("grad", "jvp"):
        assert lines(spoilt(EVERY_MODE[mode], f)) == ["into y"]
        assert lines(spoilt(EVERY_MODE[mode], g)) == ["an element"]
    with debug():
        np.testing.assert_allclose(grad(f)(ZEROS + 2.0), [1.5, 2.0])
        np.testing.assert_allclose(grad(g)(ONES), [3.0, 0.5])
        np.testing.assert_array_equal(grad(h)(ONES), [0.0, 1.0])  # the user's own


# Errors on the way back, without debug()


@custom_vjp
def refusing(x: Any) -> Any:
    return x * 2.0


def refuse(residuals: Any, y_bar: Any) -> Any:
    raise ValueError("no way back")


refusing.defvjp(lambda x: (x * 2.0, None), refuse)


def noted(call: Any, kind: type[BaseException] = ValueError) -> list[str]:
    with pytest.raises(kind) as caught:
        call()
    return lines(caught.value)


def refused(x: Any) -> Any:
    y = refusing(x)  # the refusal
    return np.sum(y * y)


@pytest.mark.parametrize(
    "mode", [mode for mode in EVERY_MODE if not mode.endswith(("jvp", "jacfwd", "taylor", "derivative"))]
)
def test_an_error_of_a_custom_rule_names_the_line_of_the_call(mode):
    assert noted(lambda: EVERY_MODE[mode](refused))[0] == "the refusal"


def test_an_error_of_linear_maps_names_the_line(monkeypatch):
    def f(x: Any) -> Any:
        return np.sum(np.prod(x) ** 2)  # all

    def g(x: Any) -> Any:
        return np.sum((x @ x) ** 2)  # product

    def h(x: Any) -> Any:
        return np.sum(np.matmul(x, x) ** 2)  # another product

    def method(x: Any) -> Any:
        return (x.prod() * x).sum()  # by a method

    def fail(*args: Any, **kwargs: Any) -> Any:
        raise np.linalg.LinAlgError("singular")

    for function, calls in ((np.prod, (f, method)), (np.matmul, (g, h))):
        rule = sr.rules.STRUCTURED[function]

        def differentiate(*args: Any, rule: Any = rule, **kwargs: Any) -> Any:
            answer, maps = rule.differentiate(*args, **kwargs)
            map_of = maps if callable(maps) else maps.__getitem__
            return answer, lambda operand: LinearMap(map_of(operand).pushforward, fail)

        monkeypatch.setitem(sr.rules.STRUCTURED, function, replace(rule, differentiate=differentiate))
        for call in calls:
            found = noted(lambda call=call: grad(call)(np.ones(3)), np.linalg.LinAlgError)
            assert found == [{f: "all", method: "by a method", g: "product", h: "another product"}[call]]


def test_the_note_has_the_operation():
    with pytest.raises(ValueError, match="no way back") as caught:
        grad(refused)(ZEROS)
    (note,) = caught.value.__notes__
    assert note.startswith("on the way back through refusing:\n  File ")
    assert note.endswith("y = refusing(x)  # the refusal")


def test_an_error_inside_a_checkpoint_names_both_lines():
    def f(x: Any) -> Any:
        return checkpoint(refused)(x)  # the checkpoint

    def g(x: Any) -> Any:
        return checkpointed_loop(lambda k, s: s * refused(x), 1.0, 3, snapshots=2)  # the loop

    assert noted(lambda: grad(f)(ZEROS)) == ["the refusal", "the checkpoint"]
    assert noted(lambda: grad(g)(ZEROS)) == ["the refusal", "the loop"]


def test_an_error_of_the_derivative_of_a_fused_function_names_its_line():
    def f(x: Any) -> Any:
        return fuse(lambda x: np.sum(x * 1e300))(x) * 1e300  # fused

    with np.errstate(over="raise"):
        assert noted(lambda: grad(f)(np.full(2, 1e-300)), FloatingPointError) == ["fused"]


def test_an_elementwise_operation_is_named_and_debug_tells_its_line():
    def root(x: Any) -> Any:
        return np.sum(np.sqrt(x))  # root

    def item(x: Any) -> Any:
        return x[0] * 1e308 + x[0] * 1e308  # item

    with np.errstate(all="raise"):
        with pytest.raises(FloatingPointError, match="divide by zero") as caught:
            grad(root)(ZEROS)
        (note,) = caught.value.__notes__
        assert note == (
            "on the way back through numpy.sqrt, of float64 of shape (2,); run it inside `with shiftreset_ad.debug():` "
            "to see its line"
        )
        with debug(), pytest.raises(FloatingPointError, match="divide by zero") as caught:
            grad(root)(ZEROS)
        assert lines(caught.value) == ["root"]
        with pytest.raises(FloatingPointError, match="overflow") as caught:
            grad(item)(np.full(2, 1e-300))
        (note,) = caught.value.__notes__
        assert note.startswith("on the way back through x[i], of float64;")


@pytest.mark.parametrize(
    ("function", "told"), [(np.prod, "prod, a part of numpy.flip"), (np.sum, "sum")], ids=["prod", "sum"]
)
def test_a_part_of_a_composite_operation_is_named(function, told, monkeypatch):
    def fail(*args: Any) -> Any:
        raise np.linalg.LinAlgError("singular")

    rule = sr.rules.STRUCTURED[function]

    def differentiate(*args: Any, **kwargs: Any) -> Any:
        answer, maps = rule.differentiate(*args, **kwargs)
        return answer, [replace(linear_map, pullback=fail) for linear_map in maps]

    monkeypatch.setitem(sr.rules.STRUCTURED, function, replace(rule, differentiate=differentiate))
    definition = eval(compile(f"lambda x: np.{function.__name__}(x)", sr.rules.__file__, "eval"), {"np": np})
    monkeypatch.setitem(sr.rules.COMPOSITE, np.flip, definition)
    with pytest.raises(np.linalg.LinAlgError) as caught:
        grad(lambda x: np.sum(np.flip(x)))(ONES)
    (note,) = caught.value.__notes__
    assert note.startswith(f"on the way back through numpy.{told}, of float64;")
    with debug(), pytest.raises(np.linalg.LinAlgError) as caught:
        grad(lambda x: np.sum(np.flip(x)))(ONES)  # its line
    assert lines(caught.value) == ["its line"]


def test_a_changed_argument_has_no_line():
    x = np.ones(3)

    def f(number: Any) -> Any:
        x[0] = 5.0
        return np.sum(number * number)

    with pytest.raises(sr.ControlError, match="wrote to an argument") as caught:
        grad(f)(x)
    assert not hasattr(caught.value, "__notes__")


def test_every_elementwise_operation_is_known_by_its_pullbacks():
    for function in (np.sin, np.arctan2):
        kinds = {pull for pull, other in FUNCTION_OF.items() if other is function}
        # Of each kind of operands, for each class of numbers that operations are made for.
        assert kinds
        assert len(kinds) % (4 if function is np.sin else 12) == 0
    assert NumR.operations


def test_a_user_in_a_deep_frame_is_found():
    """Whatever lies between: a lambda, a comprehension, a generator, a call by NumPy."""

    def f(x: Any) -> Any:
        parts = [refusing(part) for part in x]  # in a comprehension
        return sum(parts)

    def g(x: Any) -> Any:
        return sum(np.apply_along_axis(lambda row: np.stack([refusing(row[0])]), 0, x))  # called by NumPy

    assert noted(lambda: grad(f)(ONES)) == ["in a comprehension"]
    assert noted(lambda: grad(lambda x: np.sum(g(x)))(ONES)) == ["called by NumPy"]
