"""A staged function and the function itself take turns, and nobody can tell their answers apart."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from shiftreset_ad.staging import StagedFunction, StagingWarning, staged


def outcome(f: Callable[..., Any], args: Any) -> tuple[Any, list[Any]]:
    """The answer or the error of a call, the warnings, and the reasons why it is not staged."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            answer = f(**args) if isinstance(args, dict) else f(*args)
        except Exception as error:
            answer = type(error), str(error)
    return answer, [w for w in caught if w.category is StagingWarning]


def require_same(x: Any, y: Any) -> None:
    """Require that nobody can tell two answers apart, by their layout either."""
    assert type(x) is type(y), (x, y)
    if isinstance(x, np.ndarray):
        assert (x.dtype, x.shape, x.strides, x.flags.writeable) == (y.dtype, y.shape, y.strides, y.flags.writeable)
        assert x.tobytes() == y.tobytes(), (x, y)
    elif isinstance(x, list | tuple):
        assert len(x) == len(y), (x, y)
        for one, other in zip(x, y, strict=True):
            require_same(one, other)
    elif isinstance(x, dict):
        assert list(x) == list(y)
        require_same(list(x.values()), list(y.values()))
    elif isinstance(x, float | np.generic):
        assert repr(x) == repr(y)
    else:
        assert x == y or vars(x) == vars(y), (x, y)


def in_turns(f: Callable[..., Any], *calls: Any) -> tuple[StagedFunction[..., Any], str]:
    """Call `f` staged, and as it is; a call that is a function changes something. The reasons why it is not staged."""
    g, reasons = staged(f), ""
    for call in calls:
        if callable(call):
            call()
            continue
        answer, given_up = outcome(g, call)
        expected, _ = outcome(f, call)
        require_same(answer, expected)
        reasons += "".join(str(warning.message) for warning in given_up)
    return g, reasons


def beside_a_test(f: Callable[..., Any]) -> Callable[..., Any]:
    """A program that calls `f`, and has a test beside the call that is written down."""

    def program(*args: Any) -> Any:
        scale = 1.0
        if np.sum(args[0]) > 1.25:
            scale = 2.0
        return f(*args), scale

    return program


def under_a_test(f: Callable[..., Any]) -> Callable[..., Any]:
    """A program that calls `f` if its first argument is positive, and otherwise returns the next argument."""

    def program(flag: float, *args: Any) -> Any:
        answer = args[0]
        if flag > 0.0:
            answer = f(*args)
        return answer

    return program


def stays_staged(f: Callable[..., Any], *calls: Any, ways: int | None = None) -> None:
    """Require the answers of `f`, by steps."""
    g, reasons = in_turns(f, *calls)
    assert not reasons, reasons
    assert g.sources
    assert ways is None or len(g.sources) == ways


def is_refused(f: Callable[..., Any], reason: str, *calls: Any, has_other_paths: bool = False) -> None:
    """Require the answers of `f`, without steps, for this reason. Other paths may have steps."""
    g, reasons = in_turns(f, *calls)
    assert reason in reasons, reasons
    assert bool(g.sources) == has_other_paths
