"""Minima and maxima of a function of a structure, and their derivatives in what the function depends on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shiftreset_ad.boundary.checks import named
from shiftreset_ad.boundary.tracebacks import trimming
from shiftreset_ad.optimize.envelope import value_at
from shiftreset_ad.optimize.methods import Method, arguments, minimizer, outcome_of
from shiftreset_ad.optimize.objectives import Objective, Projection
from shiftreset_ad.optimize.progress import watched
from shiftreset_ad.optimize.results import Result, require_converged
from shiftreset_ad.optimize.running import ROUNDS, Callback, Derivative, StoppingRules
from shiftreset_ad.optimize.systems import Task, solved
from shiftreset_ad.optimize.vectors import Structure
from shiftreset_ad.rules.annotations import X
from shiftreset_ad.transforms.constants import value as value_of


@trimming
def minimize(
    f: Callable[..., Any],
    x0: Any,
    args: tuple[Any, ...] = (),
    *,
    method: str | Method | None = None,
    constraint: Projection | None = None,
    derivative: Derivative = "implicit",
    tolerance: float | None = None,
    rounds: int = ROUNDS,
    callback: Callback | None = None,
    progress: bool = False,
) -> Result:
    """The minimum of a scalar function `f(x, *args)`, searched from `x0`, as a `Result` that says whether it converged.

    `x0` is a structure of floats and arrays, and the result's `x` has the same structure and shapes. The solver ends
    where the gradient is no longer than `tolerance` (by default the square root of the precision, 1.5e-8), after so
    many `rounds`, or if `callback(result)` returns True. With `progress`, rich draws a bar. Methods: "l-bfgs" (the
    usual one), "bfgs", "newton-cg", "gradient-descent", "armijo", "projected-gradient" (the usual one with a
    `constraint`: a `Box`, a `Simplex`, or a function that projects), "mirror-descent", an object such as
    `LBFGS(memory=5)` or `adam(0.01)`, and the names of SciPy's methods.

    The result's `x` and `value` have derivatives of any order in all that `f` and the constraint close over, and in
    `args`. With `derivative="implicit"` they come from the conditions of a minimum, by a linear equation that is solved
    by products, and do not depend on the solver or on `x0`. With "unrolled", they are those of the solver's rounds.
    Raises NotConvergedError if implicit derivatives are asked of a point that is no minimum. Pearlmutter and Siskind
    2008, section 5; Blondel et al., Efficient and modular implicit differentiation, 2022.

    >>> result = minimize(lambda x: (x - 3.0) ** 2 + 1.0, 0.0)
    >>> round(result.x, 6), round(result.value, 6), result.converged
    (3.0, 1.0, True)
    """
    return _best("minimize", 1.0, f, x0, args, method, constraint, derivative, tolerance, rounds, callback, progress)


@trimming
def maximize(
    f: Callable[..., Any],
    x0: Any,
    args: tuple[Any, ...] = (),
    *,
    method: str | Method | None = None,
    constraint: Projection | None = None,
    derivative: Derivative = "implicit",
    tolerance: float | None = None,
    rounds: int = ROUNDS,
    callback: Callback | None = None,
    progress: bool = False,
) -> Result:
    """The maximum of a scalar function, as `minimize` gives the minimum; shapes, options and errors are the same.

    The gradient of the result's `value` takes no linear equation, as moving `x` changes nothing (envelope theorem).

    >>> from shiftreset_ad import grad
    >>> round(grad(lambda p: maximize(lambda x: p * x - x * x, 0.0).value)(4.0), 6)     # of p * p / 4
    2.0
    """
    return _best("maximize", -1.0, f, x0, args, method, constraint, derivative, tolerance, rounds, callback, progress)


@trimming
def argmin(
    f: Callable[..., Any],
    x0: X,
    args: tuple[Any, ...] = (),
    *,
    method: str | Method | None = None,
    constraint: Projection | None = None,
    derivative: Derivative = "implicit",
    tolerance: float | None = None,
    rounds: int = ROUNDS,
    callback: Callback | None = None,
    progress: bool = False,
) -> X:
    """Where a scalar function is least: the `x` of `minimize`, with the structure of `x0`; options are the same.

    Raises NotConvergedError, whose `result` is what was found, if the solver has not converged.

    >>> from shiftreset_ad import grad
    >>> round(grad(lambda p: argmin(lambda x: (x - p**2) ** 2, 0.0))(3.0), 6)
    6.0
    """
    result = _best("argmin", 1.0, f, x0, args, method, constraint, derivative, tolerance, rounds, callback, progress)
    require_converged(named("argmin", f), result, "the answer")
    return result.x  # type: ignore[no-any-return]


@trimming
def argmax(
    f: Callable[..., Any],
    x0: X,
    args: tuple[Any, ...] = (),
    *,
    method: str | Method | None = None,
    constraint: Projection | None = None,
    derivative: Derivative = "implicit",
    tolerance: float | None = None,
    rounds: int = ROUNDS,
    callback: Callback | None = None,
    progress: bool = False,
) -> X:
    """Where a scalar function is greatest: the `x` of `maximize`; options and errors are those of `argmin`.

    >>> from shiftreset_ad import grad
    >>> round(grad(lambda p: argmax(lambda x: p * x - x * x, 0.0))(3.0), 6)
    0.5
    """
    result = _best("argmax", -1.0, f, x0, args, method, constraint, derivative, tolerance, rounds, callback, progress)
    require_converged(named("argmax", f), result, "the answer")
    return result.x  # type: ignore[no-any-return]


def _best(
    operator: str,
    sign: float,
    f: Callable[..., Any],
    x0: Any,
    args: tuple[Any, ...],
    method: str | Method | None,
    constraint: Projection | None,
    derivative: str,
    tolerance: float | None,
    rounds: int,
    callback: Callback | None,
    progress: bool,
) -> Result:
    name = named(operator, f)
    structure = Structure(name, "x0", x0)
    rules = StoppingRules.of(name, structure, tolerance, rounds, callback)
    chosen = minimizer(name, method, constraint, derivative)
    args = arguments(name, args)
    start = structure.start(x0 if derivative == "unrolled" else value_of(x0))

    def task_by(rules: StoppingRules) -> Task:
        return Task(
            name,
            {"f": f, "args": args, "constraint": constraint},
            lambda f, args, constraint: Objective(name, f, args, constraint, structure, sign),
            lambda objective: outcome_of(chosen, objective, start, rules),
            lambda outcome: outcome.result(structure, sign),
            is_definite=constraint is None,
        )

    outcome, system = watched(name, rules, progress, lambda rules: solved(task_by(rules), derivative))
    if system is not None:
        iterate = outcome.iterate
        outcome = outcome._replace(iterate=iterate._replace(value=value_at(system, iterate.x)))
    return outcome.result(structure, sign)
