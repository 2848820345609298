"""Reverse mode by delimited continuations: the whole story, to be read from top to bottom.

For y = a * b, Wang et al. (ICFP 2019, Fig. 8) capture the rest of the forward pass as a continuation `k`:

    def *(that) = shift { k =>                        1. leave the program
        val y = new NumR(x * that.x, 0.0)             2. the forward step
        k(y)                                          3. run the rest of the forward pass, and the way back from it
        this.d += that.x * y.d                        4. then accumulate adjoints
        that.d += this.x * y.d
    }
    grad(f)(x) = { val z = new NumR(x, 0.0);  reset { f(z).d = 1.0 };  z.d }

The same steps, numbered as in the code below:

1.  an operation computes its answer `y` in the program's own frame, so that the program sees an error where it belongs;
2.  `capture` leaves the program with a tuple that says how to go back: `(pullback, y, ...)`;
3.  the handler that waits in `grad` keeps the tuple on `pending` and resumes the program with `y`;
4.  when the program has come to its end, `backward` resumes the pending operations, last in, first out, and each adds
    to the adjoints of its operands what the adjoint of `y` means for them.

Numbers nest: `primal` and `adjoint` may be numbers of an older tag. The arithmetic on them is by ordinary operators, so
it consists of operations of the outer program (section 3.7; Pearlmutter and Siskind, TOPLAS 2008).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy import ndarray

from shiftreset_ad.array_api import MET
from shiftreset_ad.boundary.arguments import Arguments
from shiftreset_ad.boundary.checks import is_inexact, named, require_complex, scalar_and_aux, without_level
from shiftreset_ad.boundary.notes import CallSite, add_note, site_of_structured
from shiftreset_ad.boundary.tracebacks import trimmed
from shiftreset_ad.boundary.trees import handed_back, returned
from shiftreset_ad.control import Operation, run
from shiftreset_ad.modes.reverse.adjoints import ZERO, accumulate, accumulate_at, finished, settle, summed
from shiftreset_ad.modes.reverse.collector import with_relaxed_collector
from shiftreset_ad.modes.reverse.kept import frozen, unchanged
from shiftreset_ad.modes.reverse.memory import (
    has_been_written,
    keeping_what_is_shown,
    protect,
    protect_shared,
    window_of,
)
from shiftreset_ad.numbers.dispatch import SEQUENCES, by_linear_maps
from shiftreset_ad.numbers.floating_errors import without_warnings
from shiftreset_ad.numbers.interface import ArrayNumber
from shiftreset_ad.numbers.tags import Tag, capture, watcher
from shiftreset_ad.rules import LinearMap, Structured
from shiftreset_ad.rules.indexing import At
from shiftreset_ad.rules.masked import Masked, through


class NumR(ArrayNumber):
    """A value in a derivative: its `primal`, the `adjoint` that the way back fills in, the `tag` of its `grad`."""

    __slots__ = ("adjoint", "owns", "primal", "tag")
    owns: bool  # of an array adjoint: nothing else sees it

    def __init__(self, primal: Any, adjoint: Any, tag: Tag) -> None:
        self.primal = primal
        self.adjoint = adjoint
        self.tag = tag

    def structured(self, rule: Structured, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        # What an error on the way back names. To ask for the line takes 0.2 us: much, for a cheap linear function.
        self.tag.site = rule.function if rule.linear else site_of_structured(rule.function, sys._getframe(4))
        return by_linear_maps(self, rule, args, kwargs)

    @staticmethod
    def linearized(tag: Tag, answer: Any, active: list[tuple[Any, LinearMap]]) -> Any:
        site, tag.site = tag.site, None
        return operation(tag, answer, active, site)

    @staticmethod
    def frozen(constant: Any, tag: Tag) -> Any:
        return frozen(constant, tag)

    def lifted(self, constant: Any) -> NumR:
        return NumR(constant, ZERO, self.tag)


NumR.inside = NumR.primal  # type: ignore[method-assign,misc]  # as a slot, which takes no call

# One operation. The elementwise ones go the same steps, specialised in `operations`, as they decide the speed.


def operation(tag: Tag, answer: Any, active: list[tuple[NumR, LinearMap]], site: CallSite | None = None) -> Any:
    """Carry out an operation that has this answer (1), and these linear maps for its active operands."""
    kind = type(answer)
    if kind is not ndarray and issubclass(kind, SEQUENCES):
        return several_answers(tag, answer, active, site)
    if not is_inexact(answer):
        return answer
    y = NumR(answer, window_of(answer, active) or ZERO, tag)
    capture(tag, (pull, y, active, site))  # 2, 3
    return y


def pull(operation: Operation) -> None:
    """Accumulate (4): each active operand gets its share of the adjoint of `y`."""
    _, y, active, site = operation
    y_bar = summed(y)
    if y_bar is ZERO:  # nothing that counts has used y
        return
    if type(y_bar) is float:
        y_bar = np.float64(y_bar)
    is_masked = type(y_bar) is Masked
    if is_masked and not callable(site):  # it has no linear function
        y_bar, is_masked = y_bar.values, False
    for x, linear_map in active:
        x_bar = through(linear_map.pullback, y_bar) if is_masked else linear_map.pullback(y_bar)
        if type(x_bar) is At:
            part = x_bar.y_bar
            if type(part) is Masked:
                accumulate_at(x, x_bar.index, part.values, part.mask)
            else:
                accumulate_at(x, x_bar.index, part)
        else:
            accumulate(x, x_bar, owned=type(x_bar) is ndarray and x_bar.base is None and x_bar is not y_bar)


def several_answers(tag: Tag, answers: Any, active: list[tuple[NumR, LinearMap]], site: CallSite | None) -> Any:
    """An operation with a list or a tuple of answers, of which some may be constants."""
    operands = [x for x, _ in active]
    ys = jointly(tag, answers, operands, lambda y_bars: [linear_map.pullback(y_bars) for _, linear_map in active], site)
    return type(answers)(ys)


def jointly(
    tag: Tag, answers: Any, operands: list[NumR], pullback: Callable[[list[Any]], Any], site: CallSite | None = None
) -> list[Any]:
    """One operation with these answers and operands: `pullback` takes the cotangent of each answer, None for that of a
    constant, and returns the cotangent of each operand, None for zero.
    """
    ys = [NumR(y, ZERO, tag) if is_inexact(y) else y for y in answers]
    protect_shared(tag, answers, [x.primal for x in operands])
    capture(tag, (pull_jointly, ys, operands, pullback, site))
    return ys


def pull_jointly(operation: Operation) -> None:
    _, ys, operands, pullback, _ = operation
    if all(settle(y) is ZERO for y in ys if type(y) is NumR):
        return
    y_bars = [finished(y) if type(y) is NumR else None for y in ys]
    for x, x_bar in zip(operands, pullback(y_bars), strict=True):
        if x_bar is not None:
            accumulate(x, x_bar)


# The derivative: forward under a `reset`, then back.


def differentiate(
    operator: str, f: Callable[..., Any], arguments: Arguments, has_aux: bool, holomorphic: bool, kwargs: Any
) -> tuple[Any, Any, Any]:
    """The value, the gradient, and what `f` returned beside the value."""
    numbers = arguments.numbers
    if holomorphic:
        require_complex(operator, numbers)
    tag = Tag()
    xs = inputs(numbers, tag)
    args = arguments.with_numbers(xs)

    def there_and_back() -> tuple[Any, Any]:
        pending = [unchanged(number) for number in numbers if issubclass(type(number), ndarray)]
        program = partial(returned, partial(f, *args, **kwargs))
        result = run(tag, program, pending.append)  # 1 to 3, for every operation of f
        tag.copies.clear()  # the operations have them, and are freed one by one
        tag.protected.clear()
        answer, aux = scalar_and_aux(operator, result, has_aux, holomorphic, tag)
        active = type(answer) is NumR and answer.tag is tag
        # Taken before the way back, on which arrays that were written to get their old values again.
        value, aux = last_value(answer) if active else answer, without_level(aux, tag, last_value) if has_aux else None
        if active:
            answer.adjoint = answer.adjoint + 1.0
            keeping_what_is_shown(tag, partial(without_warnings, backward, pending))  # 4
        return value, aux

    value, aux = with_relaxed_collector(there_and_back)
    return value, arguments.derivative([finished(x) for x in xs]), aux


def inputs(numbers: list[Any], tag: Tag) -> list[NumR]:
    """The numbers that a program under this tag begins with. Their arrays are not its own, and not to be written to."""
    for number in numbers:
        protect(tag, number, "is an argument")
    return [NumR(number, ZERO, tag) for number in numbers]


def last_value(x: NumR) -> Any:
    """The value of a number before the way back: a copy, if that will change it."""
    return +x.primal if has_been_written(x) else x.primal


def backward(pending: list[Operation]) -> None:
    """Resume the pending operations, last in, first out; each is freed once it is done."""
    pop, watch, operation = pending.pop, watcher.get(), None
    try:
        while pending and watch is not None:
            operation = pop()
            watch.pull(operation)
        while pending:
            operation = pop()
            operation[0](operation)
    except Exception as error:
        add_note(error, operation)
        raise


def value_and_grad(
    f: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False, holomorphic: bool = False
) -> Callable[..., Any]:
    """The function that returns the value of `f` and its gradient, `(value, gradient)`.

    `f: (..., tree of floats and arrays, ...) -> ()`; the gradient has the structure, shapes and dtypes of the argument
    that `argnums` names, with None for an integer, a string and the like in it; it is a tuple of such if `argnums` is a
    tuple. With `has_aux`, `f` returns `(scalar, aux)`, and so is the value.

    Of a real `f` of z = x + iy it is df/dx - i df/dy. With `holomorphic`, arguments and result are complex, and it is
    the complex derivative. Raises TypeError for arguments without floating-point numbers and for a result that is not
    a scalar. Wang et al. 2019, section 3.2; Pearlmutter and Siskind 2008, section 4.

    >>> value_and_grad(lambda x: x * x)(3.0)
    (9.0, 6.0)
    """
    name = named("value_and_grad", f)

    def f_and_gradient(*args: Any, **kwargs: Any) -> Any:
        try:
            value, gradient, aux = differentiate(name, f, Arguments(name, argnums, args), has_aux, holomorphic, kwargs)
        except BaseException as error:
            raise trimmed(error)  # noqa: B904 (the same error)
        answer = ((value, aux) if has_aux else value), gradient
        return handed_back(answer, args) if MET else answer

    f_and_gradient.__name__ = f_and_gradient.__qualname__ = name
    return f_and_gradient


def grad(
    f: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False, holomorphic: bool = False
) -> Callable[..., Any]:
    """The function that returns the gradient of `f`: `value_and_grad` without the value.

    Shapes, structures and errors are as there. With `has_aux`, it returns `(gradient, aux)`.

    >>> grad(lambda x: x * x)(3.0)
    6.0
    """
    name = named("grad", f)

    def gradient_of_f(*args: Any, **kwargs: Any) -> Any:
        try:
            _, gradient, aux = differentiate(name, f, Arguments(name, argnums, args), has_aux, holomorphic, kwargs)
        except BaseException as error:
            raise trimmed(error)  # noqa: B904 (the same error)
        answer = (gradient, aux) if has_aux else gradient
        return handed_back(answer, args) if MET else answer

    gradient_of_f.__name__ = gradient_of_f.__qualname__ = name
    return gradient_of_f
