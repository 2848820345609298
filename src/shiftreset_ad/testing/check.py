"""`check_grads`, `check_jvp` and `check_vjp`: which derivatives to check, and at which orders."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np

from shiftreset_ad.boundary import trees
from shiftreset_ad.boundary.checks import named
from shiftreset_ad.numbers.number import Number
from shiftreset_ad.rules.annotations import Cotangent, Cotangents, Primals, Tangent
from shiftreset_ad.testing.comparisons import Comparison
from shiftreset_ad.testing.points import Point, Tolerance
from shiftreset_ad.transforms.products import jvp, vjp

MODES = {"fwd": "forward", "rev": "reverse"}


def check_grads(
    f: Callable[..., Any],
    args: Primals,
    order: int,
    modes: Sequence[Literal["fwd", "rev"]] = ("fwd", "rev"),
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
    *,
    seed: int = 0,
) -> None:
    """Check the derivatives of `f` at `args` up to `order`, in every mix of forward ("fwd") and reverse ("rev") mode.

    `args` is a tuple of the arguments. Arguments and result are any structures; integers, strings and the like in them
    are left alone. Each derivative below `order` is a function, and its own derivatives are checked: against
    differences and, if `modes` has both modes, by <y_bar, J x_dot> = <J^T y_bar, x_dot>. `rtol` is 1e-7 in double
    precision; the error of the differences is allowed in addition. If `f` computes in double precision, the differences
    do so, too, also for arguments of a lower precision. `eps` is the largest step; by default many steps are tried.

    Raises AssertionError, which names the order, the modes and the elements: for a wrong derivative, for a value or a
    derivative that is not finite, where differences cannot tell the derivative (at a jump), and for an `f` that is not
    deterministic or that changes its arguments. Raises TypeError or ValueError for arguments that cannot be checked.
    Krawiec et al. 2022, Lemma 1.

    >>> check_grads(lambda x: np.sin(x) * x, (np.array([0.5, 2.0]),), order=2)
    """
    title = named("check_grads", f)
    if not isinstance(order, int) or order < 1:
        raise ValueError(f"{title}: order must be an integer, 1 or greater, and is {order!r:.60}")
    if isinstance(modes, str) or not modes or not set(modes) <= set(MODES):
        raise ValueError(f"{title}: modes must have 'fwd', 'rev' or both, as in ('fwd', 'rev'), and is {modes!r:.60}")
    with np.errstate(all="ignore"):  # a check reports each value that is not finite
        point = _point(f"{title}, order 1", f, args, Tolerance(atol, rtol, eps), seed)
        _check_orders(point, title, (), order, [mode for mode in MODES if mode in modes])


def check_jvp(
    f: Callable[..., Any],
    f_jvp: Callable[[Any, Any], tuple[Any, Tangent]],
    args: Primals,
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
    *,
    seed: int = 0,
) -> None:
    """Check `f_jvp(args, tangents)` against differences. It returns the same as `jvp(f, args, tangents)`.

    Tolerances and errors are as in `check_grads`.

    >>> check_jvp(np.sin, lambda x, x_dot: (np.sin(x[0]), np.cos(x[0]) * x_dot[0]), (0.5,))
    """
    with np.errstate(all="ignore"):
        point = _point(named("check_jvp", f), f, args, Tolerance(atol, rtol, eps), seed)
        Comparison(point, forward=point.forward(f_jvp)).run()


def check_vjp(
    f: Callable[..., Any],
    f_vjp: Callable[..., tuple[Any, Callable[[Cotangent], Cotangents]]],
    args: Primals,
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
    *,
    seed: int = 0,
) -> None:
    """Check `f_vjp(*args)` against differences. It returns the same as `vjp(f, *args)`.

    Tolerances and errors are as in `check_grads`.

    >>> check_vjp(np.sin, lambda x: (np.sin(x), lambda y_bar: (np.cos(x) * y_bar,)), (0.5,))
    """
    with np.errstate(all="ignore"):
        point = _point(named("check_vjp", f), f, args, Tolerance(atol, rtol, eps), seed)
        Comparison(point, reverse=point.reverse(f_vjp)).run()


def _point(title: str, f: Callable[..., Any], args: Sequence[Any], tolerance: Tolerance, seed: int) -> Point:
    if not isinstance(args, tuple | list):
        raise TypeError(f"{title}: args must be a tuple of the arguments, (x,) for one argument, and is {args!r:.60}")
    if any(isinstance(leaf, Number) for leaf in trees.flatten(args)[0]):
        raise TypeError(f"{title}: the arguments are being differentiated; give plain values, shiftreset_ad.value(x)")
    named_args = [(f"argument {i}", arg) for i, arg in enumerate(args)]
    return Point(title, f, named_args, ["the result"], True, None, tolerance, np.random.default_rng(seed))


def _check_orders(point: Point, name: str, outer: tuple[str, ...], order: int, modes: Sequence[str]) -> None:
    """Check the derivatives at a point, and then the derivatives of its derivative in each mode."""
    forward = point.forward(partial(jvp, point.f)) if "fwd" in modes else None
    reverse = point.reverse(partial(vjp, point.f)) if "rev" in modes else None
    Comparison(point, forward, reverse).run()
    for mode in modes if order > 1 else ():
        path = (MODES[mode], *outer)
        title = f"{name}, order {len(path) + 1}, derivatives of {' over '.join(path)} mode"
        _check_orders(pushed(point, title) if mode == "fwd" else pulled(point, title), name, path, order - 1, modes)


def pushed(point: Point, title: str) -> Point:
    """The derivative by forward mode, as a function of the arguments and their tangents."""
    f, count = point.f, len(point.args)

    def tangent_of_f(*primals_and_tangents: Any) -> Any:
        return jvp(f, primals_and_tangents[:count], primals_and_tangents[count:])[1]

    tangents = point.some_tangents()
    args = [*zip(point.names, point.args, strict=True)]
    args += [(f"the tangent of {name}", x_dot) for name, x_dot in zip(point.names, tangents, strict=True)]
    results = [f"the tangent of {name}" for name in point.results]
    return Point(title, tangent_of_f, args, results, point.single, point.natural, point.tolerance, point.generator)


def pulled(point: Point, title: str) -> Point:
    """The derivative by reverse mode, as a function of the arguments and the cotangent of the value."""
    f, count, single = point.f, len(point.args), point.single

    def cotangents_of_f(*primals_and_cotangents: Any) -> Any:
        y_bars = primals_and_cotangents[count:]
        return vjp(f, *primals_and_cotangents[:count])[1](y_bars[0] if single else y_bars)

    y_bar = point.some_cotangent()
    args = [*zip(point.names, point.args, strict=True)]
    args += [
        (f"the cotangent of {name}", bar) for name, bar in zip(point.results, [y_bar] if single else y_bar, strict=True)
    ]
    results = [f"the cotangent of {name}" for name in point.names]
    natural = np.max(point.natural, initial=0.0) / point.xs.sizes(point.x)
    return Point(title, cotangents_of_f, args, results, False, natural, point.tolerance, point.generator)
