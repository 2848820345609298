"""Roots and fixed points of functions of a structure, with their derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shiftreset_ad.boundary.checks import named
from shiftreset_ad.boundary.tracebacks import trimming
from shiftreset_ad.optimize.equations import Anderson, Equations, Iteration, Newton, Solver
from shiftreset_ad.optimize.progress import watched
from shiftreset_ad.optimize.results import require_converged
from shiftreset_ad.optimize.running import ROUNDS, Callback, Derivative, StoppingRules, ended, require_derivative_name
from shiftreset_ad.optimize.systems import Task, solved
from shiftreset_ad.optimize.vectors import Structure
from shiftreset_ad.rules.annotations import X
from shiftreset_ad.transforms.constants import value as value_of

SOLVERS: dict[str, Solver] = {"newton": Newton(), "anderson": Anderson(), "iteration": Iteration()}


@trimming
def root(
    f: Callable[..., Any],
    x0: X,
    args: tuple[Any, ...] = (),
    *,
    method: str | Solver = "newton",
    derivative: Derivative = "implicit",
    tolerance: float | None = None,
    rounds: int = ROUNDS,
    callback: Callback | None = None,
    progress: bool = False,
) -> X:
    """Where the function `f(x, *args)`, which returns a structure like `x`, is zero; searched from `x0`.

    Shapes, `derivative`, `tolerance`, `rounds`, `callback` and `progress` are those of `minimize`; the tolerance is for
    the length of f(x). The method is "newton", "anderson", or an object such as `Anderson(memory=3)`. Raises
    NotConvergedError, whose `result` is what was found, if the solver has not converged. Blondel et al. 2022.

    >>> from shiftreset_ad import grad
    >>> round(grad(lambda p: root(lambda x: x**3 - p, 1.0))(8.0), 6)     # of the third root: 1 / 12
    0.083333
    """
    return _solution("root", False, f, x0, args, method, derivative, tolerance, rounds, callback, progress)  # type: ignore[no-any-return]


@trimming
def fixed_point(
    f: Callable[..., Any],
    x0: X,
    args: tuple[Any, ...] = (),
    *,
    method: str | Solver = "anderson",
    derivative: Derivative = "implicit",
    tolerance: float | None = None,
    rounds: int = ROUNDS,
    callback: Callback | None = None,
    progress: bool = False,
) -> X:
    """Where the function `f(x, *args)` returns `x` itself; searched from `x0`.

    Everything is as for `root`; the tolerance is for the length of f(x) - x. The method is "anderson", "iteration",
    "newton", or an object. With derivative="unrolled", the derivatives converge no faster than the rounds.

    >>> import numpy as np
    >>> from shiftreset_ad import grad
    >>> round(float(grad(lambda p: fixed_point(lambda x: np.cos(p * x), 0.0))(1.0)), 6)
    -0.297474
    """
    return _solution("fixed_point", True, f, x0, args, method, derivative, tolerance, rounds, callback, progress)  # type: ignore[no-any-return]


def _solution(
    operator: str,
    is_fixed: bool,
    f: Callable[..., Any],
    x0: Any,
    args: tuple[Any, ...],
    method: str | Solver,
    derivative: str,
    tolerance: float | None,
    rounds: int,
    callback: Callback | None,
    progress: bool,
) -> Any:
    name = named(operator, f)
    require_derivative_name(name, derivative)
    solver: Any = SOLVERS.get(method) if isinstance(method, str) else method
    if not callable(solver):
        raise ValueError(f"{name}: there is no method {method!r:.60}; there are {', '.join(SOLVERS)}")
    structure = Structure(name, "x0", x0)
    rules = StoppingRules.of(name, structure, tolerance, rounds, callback)
    start = structure.start(x0 if derivative == "unrolled" else value_of(x0))

    def task_by(rules: StoppingRules) -> Task:
        return Task(
            name,
            {"f": f, "args": args if isinstance(args, tuple) else (args,)},
            lambda f, args: Equations(name, f, args, structure, is_fixed),
            lambda equations: ended(solver, equations, start, rules, lambda outcome: outcome.result(structure)),
            lambda outcome: outcome.result(structure),
            is_definite=False,
        )

    outcome, _ = watched(name, rules, progress, lambda rules: solved(task_by(rules), derivative))
    result = outcome.result(structure)
    require_converged(name, result, "the answer")
    return result.x
