"""SciPy's optimisers, given our gradients, and our products with the Hessian. SciPy is imported when one is used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np

from shiftreset_ad.optimize.constraints import Box
from shiftreset_ad.optimize.line_search import at
from shiftreset_ad.optimize.objectives import Objective
from shiftreset_ad.optimize.results import CONVERGED, GOES_ON, STOPPED, TOO_LONG, Iterate
from shiftreset_ad.optimize.running import Outcome, StoppingRules
from shiftreset_ad.optimize.systems import require_plain
from shiftreset_ad.optimize.vectors import norm
from shiftreset_ad.rules.annotations import Primal
from shiftreset_ad.rules.plain import plain

# SciPy's own spelling. `bfgs` and `newton-cg`, in small letters, are ours.
MINIMIZERS = (
    *("Nelder-Mead", "Powell", "CG", "BFGS", "Newton-CG", "L-BFGS-B", "TNC", "COBYLA", "COBYQA", "SLSQP"),
    *("trust-constr", "dogleg", "trust-ncg", "trust-exact", "trust-krylov"),
)
WITHOUT_GRADIENT = ("Nelder-Mead", "Powell", "COBYLA", "COBYQA")
WITH_PRODUCTS = ("Newton-CG", "trust-ncg", "trust-krylov", "trust-constr")
WITH_MATRIX = ("dogleg", "trust-exact")
WITH_BOUNDS = ("Nelder-Mead", "Powell", "L-BFGS-B", "TNC", "SLSQP", "trust-constr", "COBYLA", "COBYQA")
BY_GRADIENT = ("CG", "BFGS", "L-BFGS-B", "TNC", "trust-constr", "dogleg", "trust-ncg", "trust-exact", "trust-krylov")


@dataclass(frozen=True)
class Scipy:
    """An optimiser of `scipy.optimize.minimize`, with `options` for it.

    Raises ImportError without SciPy, and ValueError for a name that SciPy does not have.

    >>> from shiftreset_ad.optimize import argmin
    >>> round(argmin(lambda x: (x - 3.0) ** 2, 0.0, method=Scipy("trust-ncg")), 6)
    3.0
    """

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Find the name."""
        if self.name not in MINIMIZERS:
            raise ValueError(f"Scipy: SciPy has no optimiser {self.name!r}; it has {', '.join(MINIMIZERS)}")

    def solve(self, objective: Objective, x: Primal, rules: StoppingRules) -> Outcome:
        """The outcome of SciPy's optimiser, judged by our rules."""
        optimize = scipy_optimize(objective.name, self.name)
        dtype = objective.structure.dtype

        def value(x: Any) -> float:
            found = objective.value(x.astype(dtype))
            require_plain(objective.name, Iterate(x, found, 0.0))
            return float(found)

        def value_and_gradient(x: Any) -> tuple[float, Any]:
            here = at(objective, x.astype(dtype))
            require_plain(objective.name, here)
            return float(here.value), np.asarray(here.residual, float)

        def callback(x: Any) -> None:
            if rules.callback is not None:
                here = at(objective, x.astype(dtype))
                outcome = Outcome(here, len(rounds), GOES_ON)
                rounds.append(None)
                if rules.callback(outcome.result(objective.structure, objective.sign)) is True:
                    stopped.append(None)
                    raise StopIteration

        rounds: list[None] = []
        stopped: list[None] = []
        given: dict[str, Any] = {"jac": True}
        if self.name in WITHOUT_GRADIENT:
            given = {}
        if self.name in WITH_PRODUCTS:
            given["hessp"] = lambda x, v: objective.hessian_at(x)(np.asarray(v, float))
        elif self.name in WITH_MATRIX:
            given["hess"] = lambda x: np.stack(list(map(objective.hessian_at(x), np.eye(x.size))))
        if self.name not in ("TNC", "COBYLA", "COBYQA", "SLSQP"):
            given["callback"] = lambda intermediate_result: callback(intermediate_result.x)
        found = optimize.minimize(
            value_and_gradient if "jac" in given else value,
            np.asarray(x, float),
            method=self.name,
            bounds=self._bounds(objective, optimize, x),
            options=self._options(rules, x.size) | dict(self.options),
            **given,
        )
        x = found.x.astype(dtype)
        value, gradient = objective.value_and_gradient(x)
        here = Iterate(x, value, objective.residual(x, gradient))
        why = STOPPED if stopped else TOO_LONG
        if norm(here.residual) <= rules.tolerance:
            why = CONVERGED
        said = f"SciPy's optimiser says: {found.message}; "
        return Outcome(here, int(getattr(found, "nit", found.nfev)), why, rules.tolerance, said)

    def _options(self, rules: StoppingRules, n: int) -> dict[str, Any]:
        """The rules as options. SciPy looks at the largest element of the gradient."""
        tolerance = 0.5 * rules.tolerance / np.sqrt(n)
        options: dict[str, Any] = {"maxiter": rules.rounds}
        if self.name in BY_GRADIENT:
            options["gtol"] = tolerance
        if self.name == "L-BFGS-B":
            options["ftol"] = 0.0
        elif self.name == "TNC":
            options = {"maxfun": 10 * rules.rounds, "gtol": tolerance, "ftol": 0.0, "xtol": 0.0}
        elif self.name in ("Newton-CG", "trust-constr"):
            options["xtol"] = 1e-14
        elif self.name == "SLSQP":
            options["ftol"] = 1e-16
        elif self.name == "Nelder-Mead":
            options |= {"xatol": tolerance, "fatol": 1e-16}
        return options

    def _bounds(self, objective: Objective, optimize: ModuleType, x: Primal) -> Any:
        """The bounds that SciPy is to keep; ValueError for a constraint that it cannot keep."""
        constraint = objective.projection
        if constraint is None:
            return None
        if not (isinstance(constraint, Box) and self.name in WITH_BOUNDS):
            raise ValueError(
                f"{objective.name}: method={self.name!r} does not keep this constraint; use 'L-BFGS-B' for a Box, and "
                "'projected-gradient' for all others"
            )
        structure = objective.structure
        tree = structure.tree_of(plain(x))
        sides = [
            np.concatenate(
                [
                    np.ravel(np.broadcast_to(plain(bound), shape))
                    for bound, shape in zip(bounds, structure.shapes, strict=True)
                ]
            )
            for bounds in (constraint.of(constraint.lower, tree), constraint.of(constraint.upper, tree))
        ]
        return optimize.Bounds(*sides)


def scipy_optimize(operator: str, method: str) -> Any:
    """SciPy's optimisers; ImportError with the remedy if SciPy is not installed."""
    try:
        return import_module("scipy.optimize")
    except ImportError:
        raise ImportError(
            f"{operator}: method={method!r} is SciPy's, and SciPy is not installed; install it by "
            "pip install scipy, or use a method of this library, such as 'l-bfgs'"
        ) from None
