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
from shiftreset_ad.modes.reverse.adjoints import contribute, cotangent, finished
from shiftreset_ad.modes.reverse.answers import number_of, other_answers, with_shells
from shiftreset_ad.modes.reverse.borders import arrived, departed, going_back, unchanged_inputs
from shiftreset_ad.modes.reverse.number import Active, NumR, ReverseTag
from shiftreset_ad.rules.annotations import Cotangent, Primal

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
