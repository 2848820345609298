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

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy import ndarray

from shiftreset_ad.boundary.arguments import Arguments
from shiftreset_ad.boundary.checks import require_complex, scalar_and_aux, without_level
from shiftreset_ad.boundary.notes import CallSite, add_note
from shiftreset_ad.boundary.trees import returned
from shiftreset_ad.control import Operation, run
from shiftreset_ad.modes.reverse.adjoints import accumulate, accumulate_at, finished, summed
from shiftreset_ad.modes.reverse.collector import with_relaxed_collector
from shiftreset_ad.modes.reverse.kept import unchanged
from shiftreset_ad.modes.reverse.memory import has_been_written, keeping_what_is_shown, window_of
from shiftreset_ad.modes.reverse.number import NumR, ReverseTag
from shiftreset_ad.modes.reverse.several import several_answers
from shiftreset_ad.numbers.floating_errors import without_warnings
from shiftreset_ad.numbers.memory import protect
from shiftreset_ad.numbers.number import SEQUENCES, ZERO
from shiftreset_ad.numbers.operands import is_inexact
from shiftreset_ad.numbers.tags import Tag, capture, watcher
from shiftreset_ad.rules import LinearMap
from shiftreset_ad.rules.indexing import At
from shiftreset_ad.rules.masked import Masked, through

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


def linearized(tag: Tag, answer: Any, active: list[tuple[NumR, LinearMap]]) -> Any:
    """`operation`, of the call that the tag has noted."""
    site, tag.site = tag.site, None
    return operation(tag, answer, active, site)


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


# The derivative: forward under a `reset`, then back.


def differentiate(
    operator: str, f: Callable[..., Any], arguments: Arguments, has_aux: bool, holomorphic: bool, kwargs: Any
) -> tuple[Any, Any, Any]:
    """The value, the gradient, and what `f` returned beside the value."""
    numbers = arguments.numbers
    if holomorphic:
        require_complex(operator, numbers)
    tag = ReverseTag()
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
