"""The ways to a minimum by name, and one way for all to run them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from shiftreset_ad.optimize.descent import Armijo, GradientDescent, ProjectedGradient
from shiftreset_ad.optimize.mirrors import MirrorDescent
from shiftreset_ad.optimize.newton import NewtonCG
from shiftreset_ad.optimize.objectives import Objective, Projection
from shiftreset_ad.optimize.quasi_newton import BFGS, LBFGS
from shiftreset_ad.optimize.running import Outcome, Rounds, StoppingRules, ended, require_derivative_name
from shiftreset_ad.optimize.scipy_methods import MINIMIZERS, Scipy
from shiftreset_ad.optimize.training import adam, sgd
from shiftreset_ad.rules.annotations import Primal

# A method yields its rounds, an `Iterate` each, from a start.
Method: TypeAlias = Callable[[Objective, Primal], Rounds] | Scipy

METHODS: dict[str, Method] = {
    "gradient-descent": GradientDescent(),
    "armijo": Armijo(),
    "bfgs": BFGS(),
    "l-bfgs": LBFGS(),
    "newton-cg": NewtonCG(),
    "projected-gradient": ProjectedGradient(),
    "mirror-descent": MirrorDescent(),
    "momentum": sgd(0.01, momentum=0.9),
    "adam": adam(0.01),
}


def arguments(operator: str, args: Any) -> tuple[Any, ...]:
    """The further arguments of a function as a tuple; TypeError for the name of a method in their place."""
    if isinstance(args, str):
        raise TypeError(
            f"{operator}: args is {args!r:.60}; write method={args!r:.60} for a method, or args=({args!r:.60},) if the "
            "function takes a text as its further argument"
        )
    return args if isinstance(args, tuple) else (args,)


def minimizer(operator: str, method: Any, constraint: Projection | None, derivative: str) -> Method:
    """The method of this name, or the usual method for None; ValueError if the method does not serve."""
    if constraint is not None and not callable(constraint):
        raise TypeError(
            f"{operator}: the constraint is {constraint!r:.60}; give a Box, a Simplex, or a function that projects a "
            "structure to the nearest one that is allowed"
        )
    require_derivative_name(operator, derivative)
    if method is None:
        method = "l-bfgs" if constraint is None else "projected-gradient"
    found: Any = method
    if isinstance(method, str):
        found = Scipy(method) if method in MINIMIZERS else METHODS.get(method)
    if found is None:
        raise ValueError(
            f"{operator}: there is no method {method!r}; ours are {', '.join(METHODS)}, and SciPy's are "
            f"{', '.join(MINIMIZERS)}"
        )
    if not (callable(found) or isinstance(found, Scipy)):
        raise TypeError(f"{operator}: the method must be a name or a method such as LBFGS(), and is {method!r:.60}")
    if isinstance(found, Scipy):
        if derivative == "unrolled":
            raise ValueError(
                f"{operator}: {found.name!r} runs in SciPy, so there are no rounds to differentiate; use "
                "derivative='implicit', or a method of this library, such as 'l-bfgs'"
            )
    elif constraint is not None and isinstance(found, GradientDescent | Armijo | BFGS | LBFGS | NewtonCG):
        raise ValueError(
            f"{operator}: the method {method!r} keeps no constraint; use 'projected-gradient', or 'L-BFGS-B' for a Box"
        )
    return found  # type: ignore[no-any-return]


def outcome_of(method: Method, objective: Objective, x: Primal, rules: StoppingRules) -> Outcome:
    """Run a method until the rules end it."""
    if isinstance(method, Scipy):
        return method.solve(objective, x, rules)
    return ended(method, objective, x, rules, lambda outcome: outcome.result(objective.structure, objective.sign))
