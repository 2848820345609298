"""Linear equations whose map is a function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shiftreset_ad.boundary.checks import named
from shiftreset_ad.boundary.tracebacks import trimming
from shiftreset_ad.optimize.implicit import solved_by_products
from shiftreset_ad.optimize.objectives import vector_like
from shiftreset_ad.optimize.results import CONVERGED, Iterate
from shiftreset_ad.optimize.running import Derivative, Outcome, require_derivative_name
from shiftreset_ad.optimize.systems import Task, solved
from shiftreset_ad.optimize.vectors import Structure, norm
from shiftreset_ad.rules.annotations import Primal, X


class LinearEquations:
    """A linear function from a structure to a structure like it, and a right-hand side."""

    __slots__ = ("_b", "_f", "name", "structure")

    def __init__(self, name: str, f: Callable[[Any], Any], b: Any, structure: Structure) -> None:
        self.name = name
        self.structure = structure
        self._f = f
        self._b = structure.vector_of(b)

    def product(self, x: Primal) -> Primal:
        """The function of a vector."""
        y = self._f(self.structure.tree_of(x))
        return vector_like(self.structure, y, self.name, "the function")

    def conditions(self, x: Primal) -> Primal:
        """The residual at a vector."""
        return self.product(x) - self._b

    def solved(self, is_definite: bool) -> Outcome:
        """The solution."""
        x = solved_by_products(self.name, self.product, self._b, is_definite)
        return Outcome(Iterate(x, 0.0, self.conditions(x)), int(norm(self._b) > 0.0), CONVERGED)


@trimming
def linear_solve(f: Callable[[X], Any], b: X, *, definite: bool = False, derivative: Derivative = "implicit") -> X:
    """The solution x of f(x) = b for a linear function `f`, by products `f(v)` alone.

    `b` is a structure of floats and arrays, `f` returns a structure like it, and so is the solution. GMRES solves the
    equation, or with `definite`, which says that `f` is symmetric and positive definite, conjugate gradients. For a
    matrix use np.linalg.solve. The solution has derivatives of any order in `b` and in all that `f` closes over. With
    derivative="implicit" they solve the equation, or its transpose, with another right-hand side; with "unrolled", they
    are those of the solver's rounds. Raises LinAlgError if there is no solution. Saad 2003, algorithms 6.18 and 6.9.

    >>> from shiftreset_ad import grad
    >>> grad(lambda p: linear_solve(lambda x: p * x, 6.0))(2.0)
    -1.5
    """
    name = named("linear_solve", f)
    require_derivative_name(name, derivative)
    structure = Structure(name, "b", b)
    task = Task(
        name,
        {"f": f, "b": b},
        lambda f, b: LinearEquations(name, f, b, structure),
        lambda equations: equations.solved(definite),
        lambda outcome: outcome.result(structure),
        is_definite=definite,
    )
    outcome, _ = solved(task, derivative)
    return structure.tree_of(outcome.iterate.x)  # type: ignore[no-any-return]
