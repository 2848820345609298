"""`solve_ivp`, whose solutions have derivatives, and its events, and its dense output."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import numpy as np

from shiftreset_ad.rules.linalg.matrices import array_of
from shiftreset_ad.rules.plain import plain
from shiftreset_ad.scipy.forwarding import operand
from shiftreset_ad.scipy.integrate.odes import Problem, of_real_numbers
from shiftreset_ad.scipy.integrate.trajectories import DenseOutput, Event, Trajectory
from shiftreset_ad.scipy.parameters import parameters_of

_scipy: Any = import_module("scipy.integrate")
NAME = "scipy.integrate.solve_ivp"
RTOL, ATOL = 1e-6, 1e-9  # of derivatives, unless the user gives smaller tolerances
OF_EVERY_EQUATION = ("max_step", "min_step")  # the options that serve the equations of derivatives, too


def solve_ivp(
    fun: Callable[..., Any],
    t_span: Any,
    y0: Any,
    method: Any = "RK45",
    t_eval: Any = None,
    dense_output: bool = False,
    events: Any = None,
    vectorized: bool = False,
    args: Any = None,
    **options: Any,
) -> Any:
    """The solution of `y' = fun(t, y, *args)` with y = `y0: (n,)` at the first of two times, as SciPy's object.

    `y: (n, m)` and `sol(t)` have derivatives in `y0`, `t_span`, `t_eval`, `args` (any structure) and the variables that
    `fun` and the events close over; `t_events`, `y_events` and the end at a terminal event have them, too. The times
    that the solver chooses itself are constants. All methods, arguments, errors and warnings are SciPy's. The
    derivatives are as precise as `rtol` and `atol`, and at least 1e-6 and 1e-9. Raises TypeError for complex numbers,
    and for numbers that `fun` takes from anywhere else; NotImplementedError for a derivative of `sol(t)` outside of
    `t_span`; LinAlgError for a derivative of an event at which the event's function does not change its sign with a
    slope. Chen et al., Neural ordinary differential equations, 2018, appendices B and C.

    >>> from shiftreset_ad import grad
    >>> at_1 = grad(lambda k: solve_ivp(lambda t, y: -k * y, (0.0, 1.0), [1.0], rtol=1e-8, atol=1e-8).y[0, -1])(2.0)
    >>> bool(abs(at_1 + np.exp(-2.0)) < 1e-6)
    True
    """
    t_span, y0, t_eval = [operand(t) for t in t_span], operand(y0), operand(t_eval)
    functions = [events] if callable(events) else list(events or ())
    jacobian = options.get("jac")
    roots = {
        "fun": fun,
        "args": () if args is None else (*args,),
        "events": functions,
        "jac": jacobian if callable(jacobian) else None,
    }
    parameters = parameters_of(NAME, roots, *t_span, y0, t_eval)
    if parameters is None:
        return _scipy.solve_ivp(fun, t_span, y0, method, t_eval, dense_output, events, vectorized, args, **options)
    y0, _, numbers = of_real_numbers(NAME, y0, np.zeros(0), parameters.numbers)

    def run(fun: Callable[..., Any], args: Any, functions: Any, jac: Any) -> Any:
        span, times, given = plain(t_span), plain(t_eval), options if jac is None else options | {"jac": jac}
        functions = functions or None
        return _scipy.solve_ivp(fun, span, plain(y0), method, times, dense_output, functions, vectorized, args, **given)

    def rate(y: Any, t: Any, numbers: list[Any]) -> Any:
        if vectorized:
            return np.reshape(
                parameters.run(lambda fun, args, *_: fun(t, np.reshape(y, (-1, 1)), *args), numbers), (-1,)
            )
        return parameters.run(lambda fun, args, *_: fun(t, y, *args), numbers)

    def event(i: int) -> Event:
        return lambda t, y, numbers: parameters.run(lambda _, args, functions, __: functions[i](t, y, *args), numbers)

    found = parameters.run(run, plain(numbers))
    trajectory = Trajectory(Problem(rate, InitialValues.of(method, options)), y0, t_span[0], numbers)
    for i, known in enumerate(found.t_events or ()):
        if len(known):
            found.t_events[i] = trajectory.times_of(event(i), known)
            found.y_events[i] = trajectory.at(found.t_events[i], found.y_events[i])
    if len(found.t):
        found.t = with_ends(found, t_span, functions) if t_eval is None else array_of(t_eval)[: len(found.t)]
        found.y = np.transpose(trajectory.at(found.t, np.transpose(found.y)))
    if dense_output:
        found.sol = DenseOutput(trajectory, found.sol)
    return found


def with_ends(found: Any, t_span: Any, functions: list[Any]) -> Any:
    """The times of the solver's steps. The solver has chosen them, and only the first and the last have derivatives."""
    begin, end = t_span[0], found.t[-1]
    if found.status == 0:
        end = t_span[1]
    elif found.status == 1:
        last = [times[-1] for f, times in zip(functions, found.t_events, strict=True) if is_terminal(f) and len(times)]
        end = max(last, key=lambda t: abs(plain(t) - plain(begin)))
    if len(found.t) == 1:
        return np.reshape(array_of(begin), (1,))
    return np.stack([begin, *found.t[1:-1], end])


def is_terminal(event: Callable[..., Any]) -> bool:
    """Whether the solver ends at an event."""
    return bool(getattr(event, "terminal", False))


@dataclass(frozen=True)
class InitialValues:
    """SciPy's solver, run for the equations of derivatives as precisely as they need it."""

    method: Any
    options: dict[str, Any]
    rtol: Any
    atol: Any
    is_quiet: bool = False

    operator = NAME

    @classmethod
    def of(cls, method: Any, options: dict[str, Any]) -> InitialValues:
        """The solver with those of the user's options that serve any equation."""
        tolerances = [np.minimum(least, options.get(name, least)) for name, least in (("rtol", RTOL), ("atol", ATOL))]
        return cls(method, {name: options[name] for name in OF_EVERY_EQUATION if name in options}, *tolerances)

    def solved(self, rate: Callable[[Any, Any], Any], y0: Any, t: Any, params: Any) -> Any:
        """The solution of y' = rate(y, t), of shape (m, n)."""
        sign = 1.0 if t[-1] >= t[0] else -1.0
        times, places = np.unique(sign * t, return_inverse=True)
        if len(times) == 1:
            return np.repeat(y0[None], len(t), axis=0)
        with warnings.catch_warnings(), np.errstate(all="ignore" if self.is_quiet else None):
            if self.is_quiet:
                warnings.simplefilter("ignore")
            found = _scipy.solve_ivp(
                lambda t, y: rate(y, t),
                (t[0], t[-1]),
                y0,
                self.method,
                sign * times,
                rtol=self.rtol,
                atol=self.atol,
                **self.options,
            )
        if found.success:
            return found.y.T[places]
        if self.is_quiet:
            return np.full((len(t), len(y0)), np.nan)
        raise ArithmeticError(
            f"{NAME}: an equation of the derivative has no solution up to {t[-1]}: {found.message} Give another "
            "method, such as 'LSODA' or 'Radau', or larger tolerances"
        )

    def tolerances(self) -> tuple[Any, Any]:
        """rtol and atol."""
        return self.rtol, self.atol

    def critical_times(self) -> list[float]:
        """None: the solver looks for jumps itself, by its steps."""
        return []

    def until(self, end: float) -> InitialValues:
        """Quiet."""
        return replace(self, is_quiet=True)

    def with_more(self, more: int, steps: int = 0) -> InitialValues:
        """For two states, each as precise as the state here, and `more` components."""
        rtol, atol = (
            np.concatenate([x, x, np.full(more, np.min(x))]) if np.ndim(x) else x for x in (self.rtol, self.atol)
        )
        return replace(self, rtol=rtol, atol=atol)
