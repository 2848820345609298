"""Roots of functions of one variable and of several, with their derivatives."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np
import scipy.optimize  # type: ignore[import-untyped]

from shiftreset_ad.rules.linalg.matrices import array_of
from shiftreset_ad.scipy.forwarding import operand
from shiftreset_ad.scipy.optimize.calls import SolverCall

OF_BRACKETS = """The root of a scalar function `f(x, *args)` between `a` and `b`, where it has other signs, by `{name}`.

    The root has derivatives of any order in `args` and in what `f` closes over. It has none in `a` and `b`: moving them
    does not move the root. Arguments, answers and errors are SciPy's. Raises NotConvergedError for the derivative of
    what is no root, and LinAlgError where f is flat.

    >>> from shiftreset_ad import grad
    >>> round(grad(lambda p: {name}(lambda x: x**3 - p, 0.0, 3.0))(8.0), 6)     # of the third root: 1 / 12
    0.083333
    """


def _root_of(call: SolverCall, function: str, x: Any, has_converged: Any, result: Any) -> Any:
    """A root with its derivatives; a number, or an array of the shape that SciPy gave it."""
    shape = np.shape(x)

    def conditions(x: Any, given: dict[str, Any]) -> Any:
        y = given[function](np.reshape(x, shape), *given["args"])
        with_slopes = any(given.get(name) is True for name in ("fprime", "fprime2", "jac"))
        return np.reshape(array_of(operand(y[0] if with_slopes else y)), (-1,)) + 0.0 * x

    vector = np.reshape(np.asarray(x, float), (-1,))
    y = call.differentiated(vector, conditions, bool(np.all(has_converged)), result)
    return np.reshape(y, shape) if shape else y[0]


def _bracketed(theirs: Callable[..., Any]) -> Callable[..., Any]:
    """Our function in place of a function of SciPy's that searches a root in a bracket."""

    @wraps(theirs)
    def function(*args: Any, **kwargs: Any) -> Any:
        call = SolverCall(theirs, args, kwargs)
        if call.is_plain:
            return call.run()
        x, result = call.run(full_output=True)
        result.root = _root_of(call, "f", x, result.converged, result)
        return (result.root, result) if call.given["full_output"] else result.root

    function.__doc__ = OF_BRACKETS.format(name=theirs.__name__)
    function.__module__ = __name__
    return function


bisect = _bracketed(scipy.optimize.bisect)
brentq = _bracketed(scipy.optimize.brentq)
brenth = _bracketed(scipy.optimize.brenth)
ridder = _bracketed(scipy.optimize.ridder)
toms748 = _bracketed(scipy.optimize.toms748)


@wraps(scipy.optimize.newton)
def newton(*args: Any, **kwargs: Any) -> Any:
    """The root of a function `func(x, *args)` near `x0`, by Newton's, Halley's or the secant method.

    For an array `x0`, the function is applied to each element, and so is the root. The root has derivatives of any
    order in `args` and in what `func` closes over, and none in `x0`. Arguments, answers and errors are SciPy's. Raises
    NotConvergedError for the derivative of what is no root, and LinAlgError where the function is flat.

    >>> from shiftreset_ad import grad
    >>> round(grad(lambda p: newton(lambda x: x**3 - p, 1.0))(8.0), 6)     # of the third root: 1 / 12
    0.083333
    """
    call = SolverCall(scipy.optimize.newton, args, kwargs)
    if call.is_plain:
        return call.run()
    x, result, *more = call.run(full_output=True)
    converged = getattr(result, "converged", result)  # for an array, SciPy gives the flags
    y = _root_of(call, "func", x, converged, result)
    if not more:
        result.root = y
    return (y, result, *more) if call.given["full_output"] else y


@wraps(scipy.optimize.root_scalar)
def root_scalar(*args: Any, **kwargs: Any) -> Any:
    """The root of a scalar function `f(x, *args)`, by one of SciPy's methods, in SciPy's object: `root` is a number.

    Derivatives and errors are those of `brentq` and `newton`.

    >>> from shiftreset_ad import grad
    >>> round(grad(lambda p: root_scalar(lambda x: x**3 - p, bracket=(0.0, 3.0)).root)(8.0), 6)
    0.083333
    """
    call = SolverCall(scipy.optimize.root_scalar, args, kwargs)
    result = call.run()
    if not call.is_plain:
        result.root = _root_of(call, "f", result.root, result.converged, result)
    return result


@wraps(scipy.optimize.root)
def root(*args: Any, **kwargs: Any) -> Any:
    """The root `x: (n,)` of a function `fun(x, *args)` to vectors (n,), in SciPy's object: its `x` is a number.

    It has derivatives of any order in `args` and in what `fun` closes over, and none in `x0`; they are as precise as
    the solution (`tol`). Arguments, methods, answers and errors are SciPy's. Raises NotConvergedError for the
    derivative of what is no root, and LinAlgError where the Jacobian is singular. For structures in place of vectors,
    and without a Jacobian in memory, use `shiftreset_ad.optimize.root`.

    >>> from shiftreset_ad import jacobian
    >>> f = lambda p: root(lambda x: np.stack([x[0] ** 2 - p, x[1] - x[0] * p]), [1.0, 1.0]).x
    >>> np.round(jacobian(f)(4.0), 6).tolist()      # of p^0.5 and p^1.5
    [0.25, 3.0]
    """
    call = SolverCall(scipy.optimize.root, args, kwargs)
    result = call.run()
    if not call.is_plain:
        result.x = _root_of(call, "fun", result.x, result.success, result)
    return result


@wraps(scipy.optimize.fsolve)
def fsolve(*args: Any, **kwargs: Any) -> Any:
    """The root `x: (n,)` of a function `func(x, *args)` to vectors (n,), as `root` finds it by "hybr".

    >>> from shiftreset_ad import grad
    >>> round(grad(lambda p: fsolve(lambda x: x**3 - p, [1.0])[0])(8.0), 6)
    0.083333
    """
    call = SolverCall(scipy.optimize.fsolve, args, kwargs)
    if call.is_plain:
        return call.run()
    x, *messages = call.run(full_output=True)
    x = _root_of(call, "func", x, messages[1] == 1, messages)
    return (x, *messages) if call.given["full_output"] else x
