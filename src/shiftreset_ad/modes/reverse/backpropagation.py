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

1.  An operation computes its answer `y` in the program's own frame, so the program sees an error in the right place.
2.  `capture` leaves the program with a tuple that says how to go back: `(pullback, y, ...)`.
3.  The handler that waits in `there_and_back` keeps the tuple on `pending` and resumes the program with `y`.
4.  When the program has come to its end, `backward` resumes the pending operations, last in, first out. Each adds to
    the adjoints of its operands what the adjoint of `y` means for them.

The list `pending` is a tape: the waiting handlers, defunctionalised (section 3.5). A handler that waited in a frame of
its own, as in the paper, would do the same, and a million of them would need a million frames.

Numbers nest: `primal` and `adjoint` may be numbers of an older tag. Ordinary operators compute with them, so each step
is an operation of the outer program (section 3.7; Pearlmutter and Siskind, TOPLAS 2008).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from numpy import float64, ndarray

from shiftreset_ad.boundary.notes import add_note
from shiftreset_ad.control import GreenletError, Operation, here, run
from shiftreset_ad.modes.reverse.adjoints import accumulate, add, contribute, cotangent, finished
from shiftreset_ad.modes.reverse.answers import number_of, other_answers, with_shells
from shiftreset_ad.modes.reverse.borders import arrived, departed, going_back, unchanged_inputs
from shiftreset_ad.modes.reverse.memory import Window, window
from shiftreset_ad.modes.reverse.number import Active, NumR, ReverseTag
from shiftreset_ad.modes.reverse.shells import SMALL, Shell
from shiftreset_ad.numbers.number import ZERO, Number
from shiftreset_ad.rules import LinearMap
from shiftreset_ad.rules.annotations import Cotangent, Primal
from shiftreset_ad.rules.broadcasting import FLOAT64
from shiftreset_ad.rules.masked import Masked, through

new = object.__new__

# One operation, by its linear maps, such as `x @ w`. Elementwise operations, such as `x * y`, take the same steps in
# `elementwise`, which is specialised, as these operations decide the speed.


def operation(tag: ReverseTag, answer: Primal, active: Active) -> Any:
    """Carry out an operation with this answer (1), and with a linear map for each active operand."""
    site, tag.site = tag.site, None  # the line of the call, for errors on the way back
    y, is_large = number_of(answer, active, tag)
    if y is None:
        return other_answers(tag, answer, active, site)
    waiting: Operation = (pull, y, active, site)
    if is_large or tag.has_shells:
        waiting = with_shells(waiting)  # without elements that the linear maps do not read
    try:
        if tag.capture(here(), waiting):  # 2, 3
            raise tag.misplaced()
    except GreenletError:
        raise tag.misplaced() from None
    return y


def pull(operation: Operation) -> None:
    """Accumulate (4): each active operand gets its share of the adjoint of `y`."""
    _, y, active, site = operation
    y_bar = y.adjoint
    kind = type(y_bar)
    if kind is not ndarray and kind is not float64:
        takes_masked = callable(site) or active[0][1].chooses  # the site of a linear function is the function
        y_bar = cotangent(y, takes_masked)
    if y_bar is not None:  # something that counts used y
        contribute(active, y_bar)


# The same for a single active operand, and an answer that is a small array or a scalar in double precision. Most
# structured operations are such, and of a small array, the calls cost more than the arithmetic.


OF_LARGE = frozenset((Shell, Window))  # adjoints of numbers that are large, or may be views of large ones


def operation_on_one(x: NumR, answer: Primal, linear_map: LinearMap) -> Any:
    """`operation`, where `x` is the only active operand."""
    tag: Any = x.tag
    array = answer.inside if issubclass(type(answer), Number) else answer
    if tag.has_shells and type(x.adjoint) in OF_LARGE:
        return operation(tag, answer, [(x, linear_map)])
    if type(array) is ndarray:
        if array.dtype is not FLOAT64 or array.size > SMALL:
            return operation(tag, answer, [(x, linear_map)])
        y = new(NumR)  # and not NumR(answer, ZERO, tag), to spare the call of __init__
        y.primal, y.tag = answer, tag
        y.adjoint = ZERO if array.base is None else window(array, x, None, linear_map) or ZERO
    elif type(array) is float64:
        y = new(NumR)
        y.primal, y.adjoint, y.tag = answer, ZERO, tag
    else:
        return operation(tag, answer, [(x, linear_map)])
    site, tag.site = tag.site, None
    try:
        if tag.capture(here(), (pull_one, y, x, linear_map, site)):
            raise tag.misplaced()
    except GreenletError:
        raise tag.misplaced() from None
    return y


def pull_one(operation: Operation) -> None:
    """`pull`, for a single active operand."""
    _, y, x, linear_map, site = operation
    y_bar = y.adjoint
    kind = type(y_bar)
    if linear_map.factors is None:
        if kind is ndarray or kind is float64:
            x_bar = linear_map.pullback(y_bar)
            if type(x_bar) is ndarray:
                accumulate(x, x_bar, (x_bar.base is None and x_bar is not y_bar) or linear_map.makes_new)
            else:
                add(x, x_bar)
            return
        if issubclass(kind, Number):
            add(x, y_bar.mapped(linear_map.pullback) if linear_map.is_constant else linear_map.pullback(y_bar))
            return
    if kind is not ndarray and kind is not float64:
        y_bar = cotangent(y, linear_map.chooses or callable(site))
        if type(y_bar) is Masked:
            add(x, linear_map.pullback(y_bar) if linear_map.chooses else through(linear_map, y_bar))
            return
    if y_bar is not None:
        contribute([(x, linear_map)], y_bar)


# The derivative: forward under a `reset`, then back.


def there_and_back(
    program: Callable[[list[NumR]], Callable[[], Any]],
    numbers: list[Primal],
    scalar: Callable[[Any, ReverseTag], tuple[Any, Any]],
) -> tuple[Primal, list[Cotangent], Any]:
    """The value of a program, its derivative by each of these numbers, and what it returned beside the value.

    `program(xs)` is the program that begins with the numbers `xs`, and `scalar` takes its result apart.
    """
    tag = ReverseTag()
    xs = arrived(numbers, tag)
    pending: list[Operation] = unchanged_inputs(numbers)
    result = run(tag, program(xs), pending.append)  # 1 to 3, for every operation of the program
    answer, aux = scalar(result, tag)
    value, aux = departed(answer, aux, tag)
    if type(answer) is NumR and answer.tag is tag:
        answer.adjoint = answer.adjoint + 1.0
        going_back(tag, pending, partial(backward, pending))  # 4
    return value, list(map(finished, xs)), aux


def backward(pending: list[Operation], watch: Any, forget: Callable[[Operation], None] | None = None) -> None:
    """Resume the pending operations, last in, first out. Free each one when it is done, and `forget` its adjoints.

    Inside `debug()`, the watcher `watch` resumes them, and looks at the adjoints.
    """
    pop, operation = pending.pop, None
    try:
        if watch is None and forget is None:  # the usual case, for speed
            while pending:
                operation = pop()
                operation[0](operation)
        while pending:
            operation = pop()
            if watch is None:
                operation[0](operation)
            else:
                watch.pull(operation)
            if forget is not None:
                forget(operation)
    except Exception as error:
        add_note(error, operation)
        raise
