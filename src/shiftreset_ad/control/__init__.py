"""Delimited continuations on greenlets: `reset` marks a point, `shift` captures the rest of the program up to it.

    >>> from shiftreset_ad import reset, shift
    >>> reset(lambda: 10 * shift(lambda k: 1 + k(4)))       # k is "multiply 10 by ..."
    41

The body of a `reset` runs in a greenlet of its own, while the caller's greenlet, the *driver*, waits.
`shift` leaves the body in the middle of an expression by switching to the driver: the suspended body *is*
the continuation `k`. The call `k(value)` resumes it with a value. A suspended greenlet cannot be copied, so a
continuation is one-shot.

A handler waits for the answer of `k` on the driver's list of pending handlers. It does not wait in a Python frame below
the program, so any number of handlers may wait at once. Handlers have three forms, the cheapest first:

1.  an *operation*, a tuple that the driver keeps and gives back when the body is done (`Prompt.capture`, `run`):
    differentiation uses this form, a million at a time;
2.  a generator function with one `yield`, where the `yield` stands for the call of `k`;
3.  an ordinary function of `k`, which runs in a greenlet of its own and may keep `k` for later.

A `shift` finds its `reset` among the greenlets that run around it: a continuation takes the resets inside it away, and
brings them back when it is resumed. An operation, for speed, uses an attribute of its prompt in place of this search.
So a prompt has only one `run` at a time.

`programs` has the driver and the first form, `continuations` has the other two. This package knows nothing of
derivatives, and no other package knows of greenlets. References: Danvy and Filinski, Abstracting Control, LFP 1990;
Wang et al., ICFP 2019, section 3.2.
"""

from greenlet import error as GreenletError  # noqa: N812 (greenlet's name says too little)
from greenlet import getcurrent as here

from shiftreset_ad.control.bodies import enclosing
from shiftreset_ad.control.continuations import Continuation, ContinuationUsedError, reset, shift
from shiftreset_ad.control.programs import Operation, run
from shiftreset_ad.control.prompts import ControlError, Prompt

__all__ = [
    "Continuation",
    "ContinuationUsedError",
    "ControlError",
    "GreenletError",
    "Operation",
    "Prompt",
    "enclosing",
    "here",
    "reset",
    "run",
    "shift",
]
