"""Fusion: the derivative of a scalar function is computed at once, so that one operation stands for all of it.

Krawiec et al. 2022, section 8.7: if a function has one result, its partial derivatives are a vector as large as its
arguments. Once this vector is known, the intermediate results are not needed any longer.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, overload

import numpy as np

from shiftreset_ad.boundary import trees
from shiftreset_ad.boundary.checks import NUMERIC, without_level
from shiftreset_ad.boundary.notes import call_site
from shiftreset_ad.modes.reverse.answers import jointly
from shiftreset_ad.modes.reverse.number import NumR, ReverseTag
from shiftreset_ad.numbers.number import ZERO, Number
from shiftreset_ad.numbers.tags import Tag
from shiftreset_ad.rules.annotations import Cotangent, P, S
from shiftreset_ad.rules.broadcasting import dtype_of, shape_of
from shiftreset_ad.transforms.checkpointing.calls import (
    RepeatableCall,
    adjoint,
    as_operation,
    below,
    newest_of,
    pull,
    recorded,
    require_known_levels,
)


@overload
def fuse(f: np.ufunc) -> Callable[..., Any]: ...
@overload
def fuse(f: Callable[P, S]) -> Callable[P, S]: ...
def fuse(f: Callable[..., Any]) -> Callable[..., Any]:
    """The same scalar function, but reverse mode keeps one operation for it, with its partial derivatives.

    The partial derivatives are computed at once, by a way back of their own, and the memory of the intermediate results
    is then free. Arguments may be any structures. Numbers that `f` closes over get their derivatives too. For an outer
    derivative, the gradient is a computation like any other. Forward mode calls `f` as it is.

    Raises TypeError if the value is not one real number, or if `f` assigns a number by `nonlocal` (use checkpoint).
    Raises ControlError if the value depends on a number that is neither in the arguments nor in what `f` closes over
    (pass it as an argument). Krawiec et al. 2022, section 8.7.

    >>> from shiftreset_ad import grad
    >>> grad(fuse(lambda x: x * x))(3.0)
    6.0
    """
    return as_operation("fuse", f, fused)


def fused(operator: str, call: RepeatableCall) -> Any:
    """The value of a call that gives a scalar, as one operation with its partial derivatives."""
    newest: Any = newest_of(call.leaves)
    tag = newest.tag
    tag.require_open()
    operands = {i: x for i, x in enumerate(call.leaves) if type(x) is NumR and x.tag is tag}
    inner = ReverseTag()
    leaves = below(call.leaves, tag)
    xs = {i: NumR(leaves[i], ZERO, inner) for i in operands}
    (answer, updates), pending = recorded(operator, call, leaves, xs, inner)
    _require_scalar(operator, answer, updates, inner)
    call.assign(updates)
    y = without_level(answer, inner)  # before the way back, which may give it an old value again
    require_known_levels(operator, [y], leaves)
    if y is answer:
        return y
    pull(pending, [answer], [1.0], inner)
    partials = [adjoint(x) for x in xs.values()]

    def pullback(y_bars: list[Cotangent]) -> list[Cotangent]:
        return [None if partial is None else partial * y_bars[0] for partial in partials]

    (fused_y,) = jointly(tag, [y], list(operands.values()), pullback, call_site(operator, sys._getframe(1)))
    return fused_y


def _require_scalar(operator: str, answer: Any, updates: dict[int, Any], tag: Tag) -> None:
    if any(isinstance(leaf, Number) and leaf.tag is tag for leaf in trees.flatten(updates)[0]):
        raise TypeError(
            f"{operator}: the function assigns a number to a variable by nonlocal, and so has more than one result; "
            "use checkpoint"
        )
    numeric = isinstance(answer, (Number, *NUMERIC))
    if not numeric or shape_of(answer) != () or dtype_of(answer).kind not in "fiub":
        kind = f"an array of shape {shape_of(answer)} and dtype {dtype_of(answer)}" if numeric else f"{answer!r:.60}"
        raise TypeError(
            f"{operator}: the function returned {kind}, and must return one real number, as its partial derivatives "
            "are kept; use checkpoint for any other value, or jacobian for the derivatives themselves"
        )
