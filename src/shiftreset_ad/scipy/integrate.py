"""`scipy.integrate`, with an `odeint` whose solutions have derivatives, computed from other differential equations.

Forward mode solves the sensitivity equations, and reverse mode solves the adjoint equations. Both use `odeint` again,
so the derivatives have derivatives, too. Everything else of `scipy.integrate` is SciPy's own.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from shiftreset_ad.boundary import trees
from shiftreset_ad.boundary.closed_over import Environment
from shiftreset_ad.control import ControlError
from shiftreset_ad.numbers.number import Number, has_number
from shiftreset_ad.rules.annotations import Cotangent, Tangent
from shiftreset_ad.rules.broadcasting import dtype_of, is_complex, shape_of
from shiftreset_ad.rules.conversion import astype
from shiftreset_ad.rules.linalg.matrices import array_of
from shiftreset_ad.rules.plain import plain
from shiftreset_ad.scipy.forwarding import operand
from shiftreset_ad.transforms.constants import value
from shiftreset_ad.transforms.custom import custom_derivative
from shiftreset_ad.transforms.products import jvp, vjp

__all__ = ["odeint"]

_scipy: Any = import_module("scipy.integrate")
TOLERANCE = 1.49012e-8  # SciPy's
STEPS = 5000  # between two times: SciPy's limit is 500, and derivatives may need more
AGREEMENT = 100.0  # a solution that is run back may miss its beginning by so many times the tolerance
HALVINGS = 6
SUCCESS = ("Integration successful.", "Nothing was done; the integration time was 0.")


def __getattr__(name: str) -> Any:
    return getattr(_scipy, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *dir(_scipy)})


def odeint(
    func: Callable[..., Any],
    y0: Any,
    t: Any,
    args: Any = (),
    Dfun: Any = None,  # noqa: N803 (SciPy's name)
    col_deriv: Any = 0,
    full_output: Any = 0,
    ml: int | None = None,
    mu: int | None = None,
    rtol: Any = None,
    atol: Any = None,
    tcrit: Any = None,
    h0: float = 0.0,
    hmax: float = 0.0,
    hmin: float = 0.0,
    ixpr: Any = 0,
    mxstep: int = 0,
    mxhnil: int = 0,
    mxordn: int = 12,
    mxords: int = 5,
    printmessg: Any = 0,
    tfirst: Any = False,
) -> Any:
    """The solution of y' = func(y, t, *args) with y = `y0: (n,)` at t[0], at the times `t: (m,)`, of shape (m, n).

    It has derivatives in `y0`, `t`, `args` (any structure) and the variables that `func` closes over. Their precision
    is that of `rtol` and `atol`, relative to the largest derivative. Errors and warnings are SciPy's. Raises TypeError
    for complex numbers, and for numbers that `func` takes from anywhere else. Chen et al., Neural ordinary differential
    equations, 2018, appendices B and C. If the solution cannot be run backwards, as for a stiff problem, reverse mode
    solves the sensitivity equations.

    >>> from shiftreset_ad import grad
    >>> at_1 = grad(lambda k: odeint(lambda y, t: -k * y, 1.0, [0.0, 1.0])[1, 0])(2.0)
    >>> bool(abs(at_1 + np.exp(-2.0)) < 1e-6)
    True
    """
    settings = {"ml": ml, "mu": mu, "rtol": rtol, "atol": atol, "tcrit": tcrit, "h0": h0, "hmax": hmax, "hmin": hmin}
    settings |= {"col_deriv": col_deriv, "mxstep": mxstep, "mxordn": mxordn, "mxords": mxords}
    messages = {"full_output": full_output, "ixpr": ixpr, "mxhnil": mxhnil, "printmessg": printmessg}
    y0, t = operand(y0), operand(t)
    call = Solve(func, args if isinstance(args, tuple) else (args,), bool(tfirst))
    if not (call.numbers or isinstance(y0, Number) or isinstance(t, Number)):
        return _scipy.odeint(func, y0, t, args, Dfun, tfirst=tfirst, **settings, **messages)
    for x in (y0, t, *call.numbers):
        if is_complex(x if hasattr(x, "dtype") else np.asarray(x)):
            raise TypeError("scipy.integrate.odeint solves equations of real numbers, but was given complex numbers")

    settings["Dfun"] = None if Dfun is None else lambda y, t, params: plain(call.of(Dfun, y, t, params))
    problem = Problem(call, settings, messages)
    y0, t = (x if dtype_of(x) == np.float64 else astype(x, np.float64) for x in map(array_of, (y0, t)))
    y0 = np.reshape(y0, (1,)) if shape_of(y0) == () else y0
    y = solution(problem, y0, t, call.numbers)
    return (y, problem.solved(value(y0), value(t), value(call.numbers))[1]) if full_output else y


class Solve:
    """`func` as a function of the differentiated numbers in its further arguments and in its closure."""

    def __init__(self, func: Callable[..., Any], args: tuple[Any, ...], tfirst: bool) -> None:
        self.func, self.tfirst = func, tfirst
        self.closes_over = any(isinstance(leaf, Number) for leaf in Environment({"func": func}).leaves)
        self.environment = Environment({"func": func if self.closes_over else None, "args": args})
        self.places = [i for i, leaf in enumerate(self.environment.leaves) if isinstance(leaf, Number)]
        self.numbers = [self.environment.leaves[i] for i in self.places]

    def __call__(self, y: Any, t: Any, params: list[Any]) -> Any:
        return self.of(None, y, t, params)

    def of(self, other: Callable[..., Any] | None, y: Any, t: Any, params: list[Any]) -> Any:
        """The value of `func`, or of another function, with these numbers in place of the numbers that were found."""
        leaves = list(self.environment.leaves)
        for i, x in zip(self.places, params, strict=True):
            leaves[i] = x
        instance = self.environment.with_leaves(leaves)
        func, args = instance.roots
        func = other or (func if self.closes_over else self.func)
        answer = func(t, y, *args) if self.tfirst else func(y, t, *args)
        instance.require_unchanged_structures("scipy.integrate.odeint")
        if updates := instance.updates():
            raise ControlError(
                f"scipy.integrate.odeint: func assigns to {instance.names_of(updates)}, and closes over numbers that "
                "are being differentiated. Pass these numbers by args"
            )
        return answer


class Problem(NamedTuple):
    """The equation y' = rate(y, t, params), and how to solve it; a quiet problem has NaN where the solver fails."""

    rate: Callable[[Any, Any, Any], Any]
    settings: dict[str, Any]
    messages: dict[str, Any] = {}  # noqa: RUF012 (never written to)
    quiet: bool = False

    def solved(self, y0: Any, t: Any, params: Any) -> Any:
        """The answer of SciPy's solver."""

        def rate(y: Any, t: float) -> Any:
            answer = self.rate(y, t, params)
            if has_number(operand(answer)):
                raise TypeError(
                    "scipy.integrate.odeint: func depends on a number that is being differentiated, but the number "
                    "is neither in args nor in the closure of func: it is, for example, in a global variable or in an "
                    "attribute of an object. Pass it by args"
                )
            return answer

        jacobian = self.settings["Dfun"]
        settings = self.settings | {"Dfun": jacobian and (lambda y, t: jacobian(y, t, params))}
        if not self.quiet:
            return _scipy.odeint(rate, y0, t, **settings, **self.messages)
        with warnings.catch_warnings(action="ignore"), np.errstate(all="ignore"):
            y, messages = _scipy.odeint(rate, y0, t, full_output=1, **settings)
        return y if messages["message"] in SUCCESS else np.full_like(y, np.nan)

    def tolerances(self) -> tuple[Any, Any]:
        """rtol and atol."""
        rtol, atol = self.settings["rtol"], self.settings["atol"]
        return TOLERANCE if rtol is None else np.asarray(rtol), TOLERANCE if atol is None else np.asarray(atol)

    def until(self, end: Any) -> Problem:
        """The problem up to a time, quiet. If there are critical times, the solver must not look beyond this time."""
        tcrit = None if self.settings["tcrit"] is None else [float(plain(end))]
        return self._replace(settings=self.settings | {"tcrit": tcrit}, messages={}, quiet=True)

    def with_more(self, rate: Callable[[Any, Any, Any], Any], more: int, quiet: bool, mxstep: int = 0) -> Problem:
        """A problem with two states, each as precise as the state here, and `more` components."""
        settings = self.settings | {"Dfun": None, "col_deriv": 0, "ml": None, "mu": None}
        settings["mxstep"] = max(mxstep, settings["mxstep"])
        for name, tolerance in zip(("rtol", "atol"), self.tolerances(), strict=True):
            if np.ndim(tolerance):
                settings[name] = np.concatenate([tolerance, tolerance, np.full(more, np.min(tolerance))])
        return Problem(rate, settings, quiet=quiet)

    def linearized_at(self, n: int, t: Any) -> Callable[[Any, Any], Any]:
        """The rate as a vector, a function of the state and the parameters."""
        return lambda y, params: np.reshape(array_of(operand(self.rate(y, t, params))), (n,)) + 0.0


def _solution(problem: Problem, y0: Any, t: Any, params: Any) -> Any:
    """The solution, of shape (m, n)."""
    answer = problem.solved(y0, t, params)
    return answer[0] if problem.messages.get("full_output") else answer


solution: Any = custom_derivative(_solution, nondiff_argnums=0)


# Forward: the sensitivity equations, s' = df/dy s + df/dparams params_dot


def sensitivities(problem: Problem, y0: Any, t: Any, params: Any, start: Any, params_dot: Tangent) -> Any:
    """The derivative of y(t), (m, n), along a direction that begins with `start` in y; t is constant."""
    n = shape_of(y0)[0]

    def rate(state: Any, t: Any, params: Any) -> Any:
        params, params_dot = params
        return np.concatenate(jvp(problem.linearized_at(n, t), (state[:n], params), (state[n:], params_dot)))

    size = largest([start, *trees.flatten(params_dot)[0]])
    params_dot = trees.map_leaves(lambda dot: dot / size, params_dot)
    both = problem.with_more(rate, 0, problem.quiet, STEPS)
    return solution(both, np.concatenate([y0, start / size]), t, (params, params_dot))[:, n:] * size


def largest(directions: list[Any]) -> float:
    """The largest element of a direction. The equation is linear, so it is solved for a direction of size 1: otherwise
    the tolerances would be too large or too small.
    """
    size = float(max(np.max(np.abs(plain(x)), initial=0.0) for x in directions))
    return size if 0.0 < size < np.inf else 1.0


def rates(problem: Problem, y: Any, t: Any, params: Any) -> Any:
    """y' at these times."""
    m, n = shape_of(y)
    return np.stack([problem.linearized_at(n, t[i])(y[i], params) for i in range(m)])


def _forward(problem: Problem, primals: Any, tangents: Any) -> Any:
    (y0, t, params), (y0_dot, t_dot, params_dot) = primals, tangents
    y = solution(problem, y0, t, params)
    if type(t_dot) is np.ndarray and not np.any(t_dot):
        return y, sensitivities(problem, y0, t, params, y0_dot, params_dot)
    slopes = rates(problem, y, t, params)
    start = y0_dot - slopes[0] * t_dot[0]
    return y, sensitivities(problem, y0, t, params, start, params_dot) + slopes * np.expand_dims(t_dot, 1)


# Reverse: the adjoint equations, lambda' = -lambda df/dy, and the integral of lambda df/dparams


class NotReversibleError(Exception):
    """The solution cannot be run backwards: errors grow too much."""


def _fwd(problem: Problem, y0: Any, t: Any, params: Any) -> Any:
    y = solution(problem, y0, t, params)
    return y, (y, y0, t, params)


def _bwd(problem: Problem, residuals: Any, y_bar: Cotangent) -> Any:
    y, y0, t, params = residuals
    try:
        start_bar, params_bar = by_adjoints(problem, y, t, params, y_bar)
    except NotReversibleError:
        start_bar, params_bar = by_sensitivities(problem, y0, t, params, y_bar)
    slopes = rates(problem, y, t, params)
    t_bar = np.concatenate([-np.sum(slopes[:1] * start_bar, axis=1), np.sum(slopes[1:] * y_bar[1:], axis=1)])
    return start_bar + y_bar[0], t_bar, params_bar


solution.defjvp(_forward)
solution.defvjp(_fwd, _bwd)


def by_adjoints(problem: Problem, y: Any, t: Any, params: Any, y_bar: Cotangent) -> tuple[Any, Any]:
    """The cotangents of y(t[0]), as far as they come from later times, and of the parameters.

    The part between two times starts at the known solution. If it does not lead back to the solution before it, it is
    run in two halves.
    """
    m, n = shape_of(y)
    leaves, structure = trees.flatten(params)
    sizes = [int(np.prod(shape_of(x))) for x in leaves]
    critical = [] if problem.settings["tcrit"] is None else list(np.ravel(problem.settings["tcrit"]))
    rtol, atol = problem.tolerances()

    def rate(state: Any, t: Any, params: Any) -> Any:
        slope, pull = vjp(problem.linearized_at(n, t), state[:n], params)
        y_bar, params_bar = pull(-state[n : 2 * n])
        return np.concatenate([slope, y_bar, *(np.reshape(x_bar, (-1,)) for x_bar in trees.flatten(params_bar)[0])])

    adjoint = problem.with_more(rate, sum(sizes), quiet=True)

    def back(from_t: Any, to_t: Any, from_y: Any, to_y: Any, bar: Cotangent, halvings: int) -> tuple[Any, Any]:
        """The cotangents at `to_t`, and the integral of the parameters' cotangents, for `bar` at `from_t`."""
        begin, end = float(plain(to_t)), float(plain(from_t))
        middle = next((c for c in critical if min(begin, end) < c < max(begin, end)), None)
        if middle is None:
            size = largest([bar])
            state = np.concatenate([from_y, bar / size, np.zeros(sum(sizes))])
            state = solution(adjoint.until(to_t), state, np.stack([from_t, to_t]), params)[1]
            known = plain(to_y)
            if np.all(np.abs(plain(state[:n]) - known) <= AGREEMENT * (atol + rtol * np.abs(known))):
                return state[n : 2 * n] * size, state[2 * n :] * size
            if not halvings:
                raise NotReversibleError
            halvings, middle = halvings - 1, 0.5 * (from_t + to_t)
        y_there = solution(problem.until(middle), to_y, np.stack([to_t, middle]), params)[1]
        if not np.all(np.isfinite(y_there)):
            raise NotReversibleError
        bar, first = back(from_t, middle, from_y, y_there, bar, halvings)
        bar, second = back(middle, to_t, y_there, to_y, bar, halvings)
        return bar, first + second

    bar, total = np.zeros(n), np.zeros(sum(sizes))
    for i in range(m - 1, 0, -1):
        bar = bar + y_bar[i]
        if not (type(bar) is np.ndarray and not np.any(bar)):
            bar, part = back(t[i], t[i - 1], y[i], y[i - 1], bar, HALVINGS)
            total = total + part
    ends = np.cumsum(sizes, dtype=int)
    parts = [np.reshape(total[end - size : end], shape_of(x)) for x, size, end in zip(leaves, sizes, ends, strict=True)]
    return bar, trees.unflatten(structure, parts)


def by_sensitivities(problem: Problem, y0: Any, t: Any, params: Any, y_bar: Cotangent) -> tuple[Any, Any]:
    """The same as `by_adjoints`, by the sensitivity equations of each component and parameter, forward in time."""
    leaves, structure = trees.flatten([y0, params])
    zeros = [np.zeros(shape_of(x)) for x in leaves]

    def along(i: int, k: int) -> Any:
        unit = np.reshape(np.arange(zeros[i].size) == k, zeros[i].shape) + 0.0
        start, params_dot = trees.unflatten(structure, [unit if i == j else zero for j, zero in enumerate(zeros)])
        return np.sum(sensitivities(problem, y0, t, params, start, params_dot)[1:] * y_bar[1:])

    bars = [
        np.reshape(np.stack([along(i, k) for k in range(zero.size)]), zero.shape) if zero.size else zero
        for i, zero in enumerate(zeros)
    ]
    start_bar, params_bar = trees.unflatten(structure, bars)
    return start_bar, params_bar
