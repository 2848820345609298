"""Elementwise operations on stacks: all rows at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy import float64, ndarray

from shiftreset_ad.modes.stacks.number import Stack
from shiftreset_ad.numbers.number import newest
from shiftreset_ad.numbers.operands import as_operand, with_parts_gathered
from shiftreset_ad.rules import Elementwise
from shiftreset_ad.rules.broadcasting import shape_of

new = object.__new__
FLOATS = (float, float64, int)


def make_operation(rule: Elementwise, function: Callable[..., Any]) -> Callable[..., Any]:
    """The elementwise operation: all values are lined up, and NumPy's broadcasting does the rest."""

    def operate(*operands: Any) -> Any:
        stack: Any = newest([x for x in operands if issubclass(type(x), Stack)])
        tag = stack.tag
        tag.require_open()
        values, ndims = [], []
        for x in operands:
            if issubclass(type(x), Stack) and x.tag is tag:
                values.append(x.rows)
                ndims.append(len(shape_of(x.rows)) - 1)
                continue
            if type(x) is not float and type(x) is not int:
                x = as_operand(x, stack, function)
                if x is NotImplemented:
                    return with_parts_gathered(function, *operands)
                ndims.append(len(shape_of(x)))
            values.append(x)
        ndim = max(ndims)
        if min(ndims) < ndim:
            values = [
                stack.lined_up(x, ndim) if issubclass(type(x), Stack) else y
                for x, y in zip(operands, values, strict=True)
            ]
        return Stack(function(*values), tag)

    def operate_on_two(a: Any, b: Any) -> Any:
        """The usual cases, for speed: a stack and a plain scalar, or two stacks that are lined up."""
        if type(a) is Stack:
            stack, p, q = a, a.rows, b
            if type(b) is Stack:
                q = b.rows
                if a.tag is not b.tag or type(p) is not ndarray or type(q) is not ndarray or p.ndim != q.ndim:
                    return operate(a, b)
            elif type(b) not in FLOATS:
                return operate(a, b)
        elif type(a) in FLOATS:
            stack, p, q = b, a, b.rows
        else:
            return operate(a, b)
        tag = stack.tag
        if tag.capture is tag.closed:
            tag.require_open()  # raises
        y = new(Stack)  # and not Stack(rows, tag), to spare the call of __init__
        y.rows, y.tag = function(p, q), tag
        return y

    return operate_on_two if len(rule.partials) == 2 else operate
