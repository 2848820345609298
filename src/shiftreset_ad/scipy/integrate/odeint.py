"""`odeint`, whose solutions have derivatives."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any

import numpy as np

from shiftreset_ad.rules.plain import plain
from shiftreset_ad.scipy.forwarding import operand
from shiftreset_ad.scipy.integrate.adjoints import solution
from shiftreset_ad.scipy.integrate.odes import Problem, of_real_numbers
from shiftreset_ad.scipy.parameters import parameters_of
from shiftreset_ad.transforms.constants import value

_scipy: Any = import_module("scipy.integrate")
TOLERANCE = 1.49012e-8  # SciPy's
SUCCESS = ("Integration successful.", "Nothing was done; the integration time was 0.")
NAME = "scipy.integrate.odeint"


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
    """The solution of `y' = func(y, t, *args)` with y = `y0: (n,)` at t[0], at the times `t: (m,)`, of shape (m, n).

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
    roots = {"func": func, "args": args if isinstance(args, tuple) else (args,), "Dfun": Dfun}
    parameters = parameters_of(NAME, roots, y0, t)
    if parameters is None:
        return _scipy.odeint(func, y0, t, args, Dfun, tfirst=tfirst, **settings, **messages)

    def rate(y: Any, t: Any, numbers: list[Any]) -> Any:
        return parameters.run(lambda f, args, _: f(t, y, *args) if tfirst else f(y, t, *args), numbers)

    def jacobian(y: Any, t: Any, numbers: list[Any]) -> Any:
        return plain(parameters.run(lambda _, args, f: f(t, y, *args) if tfirst else f(y, t, *args), numbers))

    y0, t, numbers = of_real_numbers(NAME, y0, t, parameters.numbers)
    y0 = np.reshape(y0, (1,)) if np.shape(y0) == () else y0
    solver = Odeint(settings, messages, jacobian if Dfun else None)
    y = solution(Problem(rate, solver), y0, t, numbers)
    if not full_output:
        return y
    return y, Problem(rate, replace(solver, has_messages=True)).solved(value(y0), value(t), value(numbers))[1]


@dataclass(frozen=True)
class Odeint:
    """SciPy's solver, which goes on with LSODA from time to time."""

    settings: dict[str, Any]
    messages: dict[str, Any] = field(default_factory=dict)
    jacobian: Callable[[Any, Any, Any], Any] | None = None
    is_quiet: bool = False
    has_messages: bool = False  # whether the answer comes with SciPy's messages

    operator = NAME

    def solved(self, rate: Callable[[Any, Any], Any], y0: Any, t: Any, params: Any) -> Any:
        """The solution of y' = rate(y, t), of shape (m, n)."""
        jacobian = self.jacobian
        settings = self.settings | {"Dfun": None if jacobian is None else lambda y, t: jacobian(y, t, params)}
        if not self.is_quiet:
            answer = _scipy.odeint(rate, y0, t, **settings, **self.messages)
            return answer[0] if self.messages.get("full_output") and not self.has_messages else answer
        with warnings.catch_warnings(action="ignore"), np.errstate(all="ignore"):
            y, messages = _scipy.odeint(rate, y0, t, full_output=1, **settings)
        return y if messages["message"] in SUCCESS else np.full_like(y, np.nan)

    def tolerances(self) -> tuple[Any, Any]:
        """rtol and atol."""
        rtol, atol = self.settings["rtol"], self.settings["atol"]
        return TOLERANCE if rtol is None else np.asarray(rtol), TOLERANCE if atol is None else np.asarray(atol)

    def critical_times(self) -> list[float]:
        """The times in `tcrit`."""
        return [] if self.settings["tcrit"] is None else list(np.ravel(self.settings["tcrit"]))

    def until(self, end: float) -> Odeint:
        """Quiet, up to a time. If there are critical times, the solver must not look beyond this time."""
        tcrit = None if self.settings["tcrit"] is None else [end]
        return replace(self, settings=self.settings | {"tcrit": tcrit}, messages={}, is_quiet=True)

    def with_more(self, more: int, steps: int = 0) -> Odeint:
        """For two states, each as precise as the state here, and `more` components."""
        settings = self.settings | {"col_deriv": 0, "ml": None, "mu": None}
        settings["mxstep"] = max(steps, settings["mxstep"])
        for name, tolerance in zip(("rtol", "atol"), self.tolerances(), strict=True):
            if np.ndim(tolerance):
                settings[name] = np.concatenate([tolerance, tolerance, np.full(more, np.min(tolerance))])
        return Odeint(settings, is_quiet=self.is_quiet)
