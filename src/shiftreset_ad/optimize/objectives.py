"""Functions of a vector, as solvers see them: of values and gradients, made of the user's functions of a structure."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from shiftreset_ad.boundary import trees
from shiftreset_ad.optimize.vectors import Structure
from shiftreset_ad.rules.annotations import Primal
from shiftreset_ad.rules.broadcasting import shape_of
from shiftreset_ad.rules.plain import plain
from shiftreset_ad.transforms.gradient import value_and_gradient_of_f
from shiftreset_ad.transforms.products import vjp

Product: TypeAlias = Callable[[Primal], Primal]  # a linear function of a vector
Projection: TypeAlias = Callable[[Any], Any]  # from a structure to the nearest one that is allowed


class Objective:
    """A scalar function to be minimised: `sign` times the user's function of a structure and of `args`."""

    __slots__ = ("_f", "name", "projection", "sign", "structure")

    def __init__(
        self,
        name: str,
        f: Callable[..., Any],
        args: tuple[Any, ...],
        projection: Projection | None,
        structure: Structure,
        sign: float,
    ) -> None:
        self.name = name
        self.structure = structure
        self.sign = sign
        self.projection = projection
        self._f = f if sign > 0 and not args else partial(_signed, f, args, sign)

    def value(self, x: Primal) -> Primal:
        """The value at a vector."""
        return self._f(self.structure.tree_of(x))

    def value_and_gradient(self, x: Primal) -> tuple[Primal, Primal]:
        """The value and the gradient, a vector."""
        value, gradient = value_and_gradient_of_f(self.name, self._f, 0, False, False, self.structure.tree_of(x))
        return value, self.structure.vector_of(gradient)

    def gradient(self, x: Primal) -> Primal:
        """The gradient, a vector."""
        return self.value_and_gradient(x)[1]

    def hessian_at(self, x: Primal) -> Product:
        """The product with the Hessian at a vector. The gradient is computed once, for any number of products."""
        _, pull = vjp(self.gradient, x)
        return lambda v: pull(v)[0]

    def project(self, x: Primal) -> Primal:
        """The nearest vector that the constraint allows."""
        if self.projection is None:
            return x
        return vector_like(self.structure, self.projection(self.structure.tree_of(x)), self.name, "the constraint")

    def residual(self, x: Primal, gradient: Primal) -> Primal:
        """What is zero at a minimum: the gradient, or with a constraint, how far a step of gradient descent goes."""
        if self.projection is None:
            return gradient
        moved = x - gradient
        there = self.project(moved)
        # Where the projection moves nothing, x - there is the gradient, but for rounding: far away it would be zero.
        return np.where(there == moved, gradient, x - there)

    def conditions(self, x: Primal) -> Primal:
        """The residual as a function of the vector alone."""
        return self.residual(x, self.gradient(x))

    def unprojected(self, x: Primal) -> Primal:
        """A vector whose projection is `x`, if `x` is a minimum."""
        return x if self.projection is None else x - self.gradient(x)


def _signed(f: Callable[..., Any], args: tuple[Any, ...], sign: float, x: Any) -> Any:
    return f(x, *args) if sign > 0 else -f(x, *args)


def vector_like(structure: Structure, tree: Any, name: str, what: str) -> Primal:
    """What a user's function returned as a vector; ValueError unless it has as many numbers as the variables."""
    numbers = trees.Parts(tree).numbers
    shapes = list(map(shape_of, numbers))
    if shapes != structure.shapes:
        raise ValueError(
            f"{name}: {what} must return numbers of the shapes of the variables, {structure.shapes}, and it returned "
            f"{shapes}"
        )
    return structure.vector_of(tree)


def is_finite(x: Primal) -> Any:
    """Whether a value and all its elements are finite."""
    return np.all(np.isfinite(plain(x)))
