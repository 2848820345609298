"""The fuzzer is tested: what is broken on purpose is found within 500 programs, and shrunk to a few lines."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import shiftreset_ad as sr
from shiftreset_ad.modes.forward import elementwise as forward
from shiftreset_ad.modes.forward.number import NumF
from shiftreset_ad.modes.reverse import elementwise as operations
from shiftreset_ad.modes.reverse import recording
from shiftreset_ad.modes.reverse import writing as writes
from shiftreset_ad.modes.reverse.adjoints import accumulate
from shiftreset_ad.modes.reverse.memory import take_adjoint
from shiftreset_ad.modes.reverse.number import NumR
from shiftreset_ad.numbers import dispatch
from shiftreset_ad.numbers import writing as in_place
from shiftreset_ad.rules import ELEMENTWISE, STRUCTURED
from tests.fuzzing.run import counterexamples
from tests.fuzzing.shrinking import as_script, shrunk
from tests.fuzzing.thresholds import thresholds_at_least

AT_MOST = 500
Patch = pytest.MonkeyPatch


def with_partial(patch: Patch, partial: Callable[[Any, Any], Any]) -> None:
    """Give `numpy.arctan` another partial derivative, in both modes."""
    rule = ELEMENTWISE[np.arctan]._replace(partials=(partial,))
    patch.setitem(NumR.operations, np.arctan, operations.make_operation(rule, np.arctan))
    patch.setitem(NumF.operations, np.arctan, forward.make_operation(rule, np.arctan))


def with_maps(patch: Patch, function: Any, change: Callable[[Any], Any]) -> None:
    """Change the linear map of the only operand of a function."""
    rule = STRUCTURED[function]

    def differentiate(*args: Any, **kwargs: Any) -> Any:
        y, (linear_map,) = rule.differentiate(*args, **kwargs)
        return y, (change(linear_map),)

    patch.setitem(STRUCTURED, function, replace(rule, differentiate=differentiate))


def a_wrong_partial(patch: Patch) -> None:
    with_partial(patch, lambda y, x: 1.0 / (1.0 + x * x * x))


def a_partial_that_is_a_constant(patch: Patch) -> None:
    """Which shows at second order only."""
    with_partial(patch, lambda y, x: 1.0 / (1.0 + sr.stop_gradient(x) ** 2))


def a_wrong_sign_in_a_transpose(patch: Patch) -> None:
    with_maps(patch, np.cumsum, lambda m: replace(m, pullback=lambda y_bar: -m.pullback(y_bar)))


def a_wrong_sign_in_a_pushforward(patch: Patch) -> None:
    with_maps(patch, np.roll, lambda m: replace(m, pushforward=lambda x_dot: -m.pushforward(x_dot)))


def no_copy_of_an_operand(patch: Patch) -> None:
    patch.setattr(operations, "frozen", lambda constant, tag: constant)


def no_copy_of_an_argument(patch: Patch) -> None:
    patch.setattr(recording, "_copy", lambda x: x)


def no_undoing(patch: Patch) -> None:
    def undo(operation: Any) -> None:
        _, x, index, _, operand, _ = operation
        x_bar = take_adjoint(x, index)
        if operand is not None and x_bar is not None:
            accumulate(operand, x_bar)

    patch.setattr(writes, "undo", undo)


def no_writing_again(patch: Patch) -> None:
    """Before a pullback is called a second time."""
    patch.setattr(recording, "redo", lambda operation: None)


def a_dropped_tag(patch: Patch) -> None:
    """An operation belongs to the first number among its operands, and not to the newest."""
    patch.setattr(dispatch, "newest", lambda numbers: numbers[0])


def a_mistake_in_large_arrays(patch: Patch) -> None:
    """Which is found where the thresholds are at their least."""
    scatter = in_place.scatter
    patch.setattr(in_place, "scatter", lambda *args: 2.0 * scatter(*args))


BROKEN = [
    a_wrong_partial,
    a_partial_that_is_a_constant,
    a_wrong_sign_in_a_transpose,
    a_wrong_sign_in_a_pushforward,
    no_copy_of_an_operand,
    no_copy_of_an_argument,
    no_undoing,
    no_writing_again,
    a_dropped_tag,
    a_mistake_in_large_arrays,
]


@pytest.mark.slow_but_every(10)
@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.__name__)
def test_it_is_found(broken: Callable[[Patch], None], monkeypatch: Patch, capsys: pytest.CaptureFixture[str]) -> None:
    broken(monkeypatch)
    _, program, wrong = next(counterexamples(0, AT_MOST, Counter()))
    smaller, wrong = shrunk(program, wrong)
    assert len(smaller.statements) <= 8
    with thresholds_at_least(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(as_script(smaller, wrong), {})
    assert capsys.readouterr().out
