"""`quad`, `nquad`, `dblquad` and `tplquad`, whose integrals have derivatives in parameters, ends and break points."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from shiftreset_ad.numbers.number import Number
from shiftreset_ad.rules.broadcasting import is_complex
from shiftreset_ad.rules.linalg.matrices import array_of
from shiftreset_ad.rules.plain import plain
from shiftreset_ad.scipy.forwarding import operand
from shiftreset_ad.scipy.integrate.integrals import Integral, integral
from shiftreset_ad.scipy.parameters import parameters_of
from shiftreset_ad.scipy.values import with_value

_scipy: Any = import_module("scipy.integrate")
TOLERANCE = 1.49e-8  # SciPy's


def quad(
    func: Callable[..., Any],
    a: Any,
    b: Any,
    args: Any = (),
    full_output: Any = 0,
    epsabs: float = TOLERANCE,
    epsrel: float = TOLERANCE,
    limit: int = 50,
    points: Any = None,
    weight: str | None = None,
    wvar: Any = None,
    wopts: Any = None,
    maxp1: int = 50,
    limlst: int = 50,
    complex_func: bool = False,
) -> Any:
    """The integral of a scalar function `func(x, *args)` from `a` to `b`, and SciPy's estimate of its error.

    The integral has derivatives of any order in `a`, `b`, `args` (any structure), the variables that `func` closes
    over, and `points`, where `func` may jump (Leibniz' rule). An end may be infinite. Values, warnings and errors are
    SciPy's; the derivatives are integrals that are computed with the same tolerances. Raises TypeError for parameters
    that are complex, and for numbers that `func` takes from anywhere else; NotImplementedError for a derivative in
    `wvar`, and in an end of an integral with a weight.

    >>> from shiftreset_ad import grad
    >>> f = lambda p: quad(lambda x: np.exp(-p * x), 0.0, np.inf)[0]      # 1 / p
    >>> bool(abs(grad(f)(2.0) + 0.25) < 1e-8)
    True
    """
    a, b, points, wvar = map(operand, (a, b, points, wvar))
    settings = {"epsabs": epsabs, "epsrel": epsrel, "limit": limit, "wopts": wopts, "maxp1": maxp1, "limlst": limlst}
    roots = {"func": func, "args": args if isinstance(args, tuple) else (args,)}
    parameters = parameters_of("scipy.integrate.quad", roots, a, b, points, wvar)
    if parameters is None:
        settings |= {"points": points, "weight": weight, "wvar": wvar, "complex_func": complex_func}
        return _scipy.quad(func, a, b, args, full_output, **settings)
    _require_differentiable(a, b, weight, wvar, parameters.numbers)

    begin, end, plain_points = float(plain(a)), float(plain(b)), plain(points)
    settings |= {"points": plain_points, "weight": weight, "wvar": wvar}
    answers: list[Any] = []

    def integrated(f: Callable[[float], float]) -> float:
        answers.append(_scipy.quad(f, begin, end, (), full_output, **settings))
        return answers[-1][0]  # type: ignore[no-any-return]

    def integrand(x: Any, numbers: list[Any]) -> Any:
        y = np.reshape(array_of(operand(parameters.run(lambda func, args: func(x, *args), numbers))), ()) + 0.0
        return np.stack([np.real(y), np.imag(y)]) if complex_func else np.reshape(y, (1,))

    between = [] if points is None else [array_of(points)[i] for i in range(np.size(plain_points))]
    between = [x for x in between if min(begin, end) < plain(x) < max(begin, end)]
    places = [a, *sorted(between, key=lambda x: abs(float(plain(x)) - begin)), b]
    moving = {i: x for i, x in enumerate(places) if isinstance(x, Number) and np.isfinite(plain(x))}
    problem = Integral(integrand, 1 + complex_func, [float(plain(x)) for x in places], integrated)
    y = integral(problem, moving, parameters.numbers)
    if not complex_func:
        return y[0], *answers[0][1:]
    (_, error, *more), (_, error_of_imag, *more_of_imag) = answers[:2]
    messages = [{"real": tuple(more), "imag": tuple(more_of_imag)}] if full_output else []
    return y[0] + 1j * y[1], error + 1j * error_of_imag, *messages


def _require_differentiable(a: Any, b: Any, weight: str | None, wvar: Any, numbers: list[Any]) -> None:
    if any(is_complex(x) for x in (a, b, *numbers)):
        raise TypeError(
            "scipy.integrate.quad differentiates integrals in real numbers, but was given complex numbers. Give their "
            "real and imaginary parts, and complex_func=True for a complex integrand"
        )
    if weight is not None and (isinstance(wvar, Number) or isinstance(a, Number) or isinstance(b, Number)):
        raise NotImplementedError(
            f"scipy.integrate.quad has no derivative in {'wvar' if isinstance(wvar, Number) else 'the ends'} with "
            f"weight={weight!r}. Write the weight as a factor of the function, and leave weight=None"
        )


def nquad(
    func: Callable[..., Any],
    ranges: Sequence[Any],
    args: Any = None,
    opts: Any = None,
    full_output: bool = False,
) -> Any:
    """The integral of a scalar function `func(x0, ..., xn, *args)` over several variables, `x0` the innermost.

    A range is a pair of ends, or a function of the outer variables and `args` that returns a pair. The integral has
    derivatives of any order in all ends, in `args` and the variables that the functions close over, as `quad` has them.
    Arguments, values, warnings and errors are SciPy's.

    >>> from shiftreset_ad import grad
    >>> f = lambda p: nquad(lambda x, y: p * x * y, [lambda y: (0.0, y), (0.0, p)])[0]      # p^5 / 8
    >>> bool(abs(grad(f)(2.0) - 10.0) < 1e-6)
    True
    """
    args = () if args is None else args
    roots = {"func": func, "ranges": list(ranges), "args": args, "opts": opts}
    parameters = parameters_of("scipy.integrate.nquad", roots)
    if parameters is None:
        return _scipy.nquad(func, ranges, args, opts, full_output)
    given = opts if isinstance(opts, Sequence) else [opts or {}] * len(ranges)

    def inside(depth: int, *outer: Any) -> Any:
        """The integral over the variables up to this one, for the values of the others, and `args`."""
        low, high = _called(ranges[depth], outer)
        options = dict(_called(given[depth], outer))
        if "points" in options:
            low_value, high_value = plain(low), plain(high)
            options["points"] = [x for x in options["points"] if low_value <= plain(x) <= high_value] or None
        return quad(partial(inside, depth - 1) if depth else func, low, high, outer, **options)[0]

    known = parameters.run(
        lambda func, ranges, args, opts: _scipy.nquad(func, ranges, args, opts, full_output), plain(parameters.numbers)
    )
    return with_value(inside(len(ranges) - 1, *args), known[0]), *known[1:]


def _called(given: Any, outer: Sequence[Any]) -> Any:
    """Ends or options that may be a function of the outer variables."""
    return given(*outer) if callable(given) else given


def _between(low: Any, high: Any, variables: int) -> Callable[..., Any]:
    """The ends for `nquad`, which gives outer variables from the innermost on; `low` and `high` get them reversed."""

    def ends(*outer: Any) -> Any:
        arguments = outer[:variables][::-1]
        return _called(low, arguments), _called(high, arguments)

    return ends


def dblquad(
    func: Callable[..., Any],
    a: Any,
    b: Any,
    gfun: Any,
    hfun: Any,
    args: Any = (),
    epsabs: float = TOLERANCE,
    epsrel: float = TOLERANCE,
) -> Any:
    """The integral of `func(y, x, *args)` for y from `gfun(x)` to `hfun(x)`, and x from `a` to `b`, as `nquad`.

    >>> from shiftreset_ad import grad
    >>> f = lambda p: dblquad(lambda y, x: p * x * y, 0.0, 1.0, 0.0, lambda x: x)[0]      # p / 8
    >>> bool(abs(grad(f)(2.0) - 0.125) < 1e-8)
    True
    """
    return nquad(func, [_between(gfun, hfun, 1), (a, b)], args, {"epsabs": epsabs, "epsrel": epsrel})


def tplquad(
    func: Callable[..., Any],
    a: Any,
    b: Any,
    gfun: Any,
    hfun: Any,
    qfun: Any,
    rfun: Any,
    args: Any = (),
    epsabs: float = TOLERANCE,
    epsrel: float = TOLERANCE,
) -> Any:
    """The integral of `func(z, y, x, *args)`, for z from `qfun(x, y)` to `rfun(x, y)` and y and x as in `dblquad`.

    >>> from shiftreset_ad import grad
    >>> f = lambda p: tplquad(lambda z, y, x: x * y * z, 0.0, 1.0, 0.0, 1.0, 0.0, p, epsrel=1e-6)[0]    # p^2 / 8
    >>> bool(abs(grad(f)(2.0) - 0.5) < 1e-6)
    True
    """
    ranges = [_between(qfun, rfun, 2), _between(gfun, hfun, 1), (a, b)]
    return nquad(func, ranges, args, {"epsabs": epsabs, "epsrel": epsrel})
