"""Lazy towers of derivatives: a number with all its derivatives, of which those that are asked for are computed.

Krawiec et al. 2022, section 8.6, name two ways to higher derivatives in forward mode: a triple (x, x', x''), and the
infinite tower of Karczmarczuk 1998, which is lazy. A tower is its value and its derivative, which is a tower, too:

    x = (3, x'),  x' = (1, 0')            the variable at 3; zero is (0, zero)
    f x = (f 3, f' x * x')                the chain rule; the product is of towers

The slope f' x is computed with towers, so it has all derivatives of its own. The n-th derivative is n steps down, and
nothing below is computed. A triple is a tower that is cut after two steps. The derivative of a result waits for those
of all numbers before it, so a long program nests on Python's stack. Towers do not nest in one another.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, reduce
from itertools import islice
from operator import add
from typing import Any

from shiftreset_ad.formulations.language import Term, as_function
from shiftreset_ad.formulations.overloading import Overloaded, partials, require_real
from shiftreset_ad.formulations.structures import scalar


class Tower(Overloaded):
    """A value, and a function that makes the tower of its derivative when it is asked for."""

    def __init__(self, primal: Any, make_derivative: Callable[[], Any], call: object) -> None:
        self.primal = primal
        self.call = call  # the call of `tower` that it belongs to
        self._make_derivative = make_derivative

    @cached_property
    def derivative(self) -> Any:
        """The derivative: a tower, or a number, which is a constant."""
        return self._make_derivative()

    def operate(self, function: Callable[..., Any], *operands: Any) -> Tower:
        """The answer; its derivative is by the chain rule, with slopes that are towers."""
        if any(isinstance(x, Tower) and x.call is not self.call for x in operands):
            raise TypeError("tower: an operation has numbers of two calls; one call has all derivatives")
        primals = [x.primal if isinstance(x, Tower) else x for x in operands]
        require_real(function, primals)

        def derivative() -> Any:
            constant = [not isinstance(x, Tower) for x in operands]
            slopes = partials(function, answer, *operands, constant=constant)
            named = zip(slopes, operands, strict=True)
            return reduce(add, [slope * x.derivative for slope, x in named if isinstance(x, Tower)])

        answer = Tower(function(*primals), derivative, self.call)
        return answer

    def __iter__(self) -> Any:
        """The value, the derivative, the second derivative, and so on without an end."""
        tower: Any = self
        while isinstance(tower, Tower):
            yield tower.primal
            tower = tower.derivative
        while True:
            yield tower
            tower = 0.0


def tower(f: Term | Callable[[Any], Any]) -> Callable[[float], Tower]:
    """The function that returns the value of `f` with all its derivatives.

    >>> [float(d) for d in islice(tower(lambda x: x * x * x)(2.0), 6)]
    [8.0, 12.0, 12.0, 6.0, 0.0, 0.0]
    """
    function = as_function(f)

    def with_derivatives(x: float) -> Tower:
        call = object()
        y = scalar(function(Tower(x, lambda: 1.0, call)), "tower")
        return y if isinstance(y, Tower) else Tower(y, lambda: 0.0, call)

    return with_derivatives


def triple(f: Term | Callable[[Any], Any]) -> Callable[[float], tuple[Any, ...]]:
    """The value, the first and the second derivative.

    >>> triple(lambda x: x * x * x)(2.0)
    (np.float64(8.0), np.float64(12.0), np.float64(12.0))
    """
    return lambda x: tuple(islice(tower(f)(x), 3))
