"""One recorded run: a function is called with values that record its steps, and must answer as it did without them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy import ndarray

from shiftreset_ad.boundary import trees
from shiftreset_ad.rules.broadcasting import dtype_of
from shiftreset_ad.rules.stand_ins import recorder
from shiftreset_ad.staging.native import machine
from shiftreset_ad.staging.python.control import has_nan
from shiftreset_ad.staging.seen.keys import StagedCall, is_input
from shiftreset_ad.staging.steps.trace import LONGEST, LONGEST_NATIVE, Trace, UnstageableError, owners_of
from shiftreset_ad.staging.steps.values import Staged, adopted
from shiftreset_ad.staging.ways import Way

DIFFERS = (
    "it answers something else when it is run again. It depends on things that staging cannot see, such as random "
    "numbers, the time, or type(x)"
)


def recorded(f: Callable[..., Any], call: StagedCall, expected: Any) -> tuple[Way | None, str | None]:
    """The way that the function takes for these arguments, or the reason why there is none."""
    trace = Trace(LONGEST if machine.unfit() else LONGEST_NATIVE)
    of_array: dict[int, Staged] = {}  # one staged value for each array, as `x is y` must stay so

    def staged(leaf: Any) -> Any:
        if not is_input(leaf):
            return leaf
        x = Staged(trace, trace.place_for(leaf))
        return of_array.setdefault(id(leaf), x) if type(leaf) is ndarray else x

    args, kwargs = trees.unflatten(call.spec, list(map(staged, call.leaves)))
    recorder.adopt = partial(adopted, trace)
    try:
        result, spec_of_result = trees.flatten(f(*args, **kwargs))
        if trace.refusal is not None:
            return None, trace.refusal
        _require_apart([leaf for leaf in result if type(leaf) is ndarray])
        outputs = [_output(trace, leaf) for leaf in result]
        answer = trees.unflatten(spec_of_result, [_plain(leaf) for leaf in outputs])
        if agree(answer, expected) or (trace.has_control and any(map(has_nan, trees.flatten(answer)[0]))):
            return Way(trace, outputs, spec_of_result), None
        return None, DIFFERS
    except UnstageableError as error:
        return None, f"{error}"
    except Exception as error:
        return None, f"it raises {error!r} when it is recorded"
    finally:
        recorder.adopt = None
        trace.close()


def _output(trace: Trace, leaf: Any) -> Any:
    """A leaf of the result in the form that is kept: an array becomes a constant of the trace."""
    if type(leaf) is Staged and leaf._trace is not trace:
        raise UnstageableError("it returns a value of another run")
    if type(leaf) is Staged or type(leaf) in (float, complex) or isinstance(leaf, (np.generic, *trees.CONSTANTS)):
        return leaf
    if type(leaf) is ndarray:
        return trace.constant(leaf)
    raise UnstageableError(f"it returns a {type(leaf).__name__}. Return floats, arrays, or structures of them")


def _require_apart(constants: list[Any]) -> None:
    """Raise UnstageableError if two of these arrays share memory: the user gets copies, which would not share it."""
    owners = [id(owner) for array in {id(array): array for array in constants}.values() for owner in owners_of(array)]
    if len(set(owners)) < len(owners):
        raise UnstageableError("it returns a constant with a view of it. Return copies")


def _plain(leaf: Any) -> Any:
    return leaf.inside if type(leaf) is Staged else leaf


def agree(answer: Any, expected: Any) -> bool:
    """Whether two answers are the same up to rounding."""
    leaves, spec = trees.flatten(answer)
    wanted, spec_wanted = trees.flatten(expected)
    return spec == spec_wanted and all(map(_agree_at, leaves, wanted))


def _agree_at(x: Any, y: Any) -> bool:
    if type(x) is not type(y) or np.shape(x) != np.shape(y):
        return False
    if not is_input(y):
        return bool(np.all(x == y))
    if dtype_of(x) != dtype_of(y):
        return False
    if dtype_of(y).kind not in "fc":
        return np.array_equal(x, y)
    precision = np.sqrt(np.finfo(dtype_of(y)).eps)
    finite = np.abs(y)[np.isfinite(y)]
    return np.allclose(x, y, precision, precision * float(finite.max(initial=0.0)), equal_nan=True)
