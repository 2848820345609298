"""The ways to put `vmap` around, inside and between other derivatives, each beside a loop over the rows.

`f` is a function of one row to a number, `several` is one to a list of arrays, and `rows` has the rows along its first
axis. Each way has two programs that must have the same answer: `(batched, loop)`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import shiftreset_ad as sr
from shiftreset_ad import vmap

Way = Callable[[Any, Any, Any], tuple[Callable[[], Any], Callable[[], Any]]]
WAYS: dict[str, Way] = {}


def entered(way: Way) -> Way:
    WAYS[way.__name__] = way
    return way


def loop(f: Callable[..., Any], *args: Any) -> Any:
    """What `f` answers for each row, stacked; leaf by leaf, if it answers a list."""
    answers = [f(*row) for row in zip(*args, strict=True)]
    if isinstance(answers[0], list):
        return [np.stack(parts) for parts in zip(*answers, strict=True)]
    return np.stack(answers)


def directions(rows: Any) -> Any:
    """A direction for each row, of another size in each element."""
    found = np.cos(np.arange(np.size(rows)) + 0.3).reshape(np.shape(rows)).astype(rows.dtype)
    return found * (1.0 + 0.5j) if rows.dtype.kind == "c" else found


def summed(f: Callable[..., Any]) -> Callable[[Any], Any]:
    """The sum of all rows, of which each counts in another way, by `vmap`."""
    return lambda rows: np.sum(vmap(f)(rows) * np.cos(np.arange(len(rows))))


def summed_by_loop(f: Callable[..., Any]) -> Callable[[Any], Any]:
    """The same by a loop."""
    return lambda rows: sum(f(rows[k]) * np.cos(k) for k in range(len(rows)))


# Values


@entered
def values(f, several, rows):
    return lambda: vmap(several)(rows), lambda: loop(several, rows)


@entered
def of_one_row(f, several, rows):
    return lambda: vmap(several)(rows[1:2]), lambda: loop(several, rows[1:2])


@entered
def rows_along_the_last_axis(f, several, rows):
    laid = np.moveaxis(rows, 0, -1)
    return (
        lambda: vmap(lambda x: np.stack([f(x), 2.0 * f(x)]), -1, -1)(laid),
        lambda: np.stack([loop(f, rows), 2.0 * loop(f, rows)]),
    )


@entered
def of_no_rows(f, several, rows):
    """The shapes and dtypes are those of the rows of other batches; only what cannot be recorded is an error."""

    def expected():
        return [part[:0] for part in loop(several, rows)]

    def batched():
        try:
            return vmap(several)(rows[:0])
        except ValueError as error:
            if "there are no rows, and the function could not be recorded" in str(error):
                return expected()
            raise

    return batched, expected


@entered
def of_structures(f, several, rows):
    def of_structure(p):
        return {"a": f(p["x"]), "b": [p["x"] * p["n"], p["n"]]}

    numbers = np.arange(len(rows))
    batch = {"x": rows, "n": numbers}
    return (
        lambda: [*vmap(of_structure)(batch)["b"], vmap(of_structure)(batch)["a"]],
        lambda: [*loop(lambda x, n: [x * n, n], rows, numbers), loop(f, rows)],
    )


@entered
def in_itself(f, several, rows):
    pairs = np.stack([rows, rows[::-1]])
    return lambda: vmap(vmap(f))(pairs), lambda: np.stack([loop(f, rows), loop(f, rows[::-1])])


@entered
def of_all_pairs(f, several, rows):
    def of_pair(x, y):
        return f(0.5 * (x + y))

    return (
        lambda: vmap(vmap(of_pair, (None, 0)), (0, None))(rows, rows),
        lambda: np.stack([np.stack([of_pair(x, y) for y in rows]) for x in rows]),
    )


@entered
def of_a_staged_function(f, several, rows):
    staged = sr.staged(f)
    return lambda: vmap(staged)(rows), lambda: loop(f, rows)


@entered
def staged_around(f, several, rows):
    staged = sr.staged(vmap(f))

    def three_times():
        staged(rows)
        staged(rows[::-1].copy())
        return staged(rows)

    return three_times, lambda: loop(f, rows)


def replayed(f: Callable[..., Any], rows: Any) -> Any:
    """The third answer of a staged function: the first two calls run the function, too."""
    staged = sr.staged(f)
    staged(rows)
    staged(rows[::-1].copy())
    return staged(rows)


# In a staged function: the record has the calls for all rows, also where derivatives are inside, around and between
WAYS |= {
    f"staged: {name}": lambda f, several, rows, of=of: (
        lambda: replayed(of(f, summed, vmap), rows),
        lambda: of(f, summed_by_loop, lambda f: lambda *args: loop(f, *args))(rows),
    )
    for name, of in {
        "values": lambda f, total, each: lambda rows: each(f)(rows) * 2.0,
        "gradients": lambda f, total, each: each(sr.grad(f)),
        "closure": lambda f, total, each: lambda rows: each(lambda x: f(x * np.mean(np.real(rows))))(rows),
        "grad around": lambda f, total, each: sr.grad(total(f)),
        "grad in what it closes over": lambda f, total, each: (
            lambda rows: sr.grad(lambda t: total(lambda x: f(x * t))(rows))(1.0)
        ),
        "jvp around": lambda f, total, each: lambda rows: sr.jvp(total(f), (rows,), (directions(rows),))[1],
        "hvp around": lambda f, total, each: lambda rows: sr.hvp(total(f), (rows,), (directions(rows),)),
        "hessian around": lambda f, total, each: (
            lambda rows: sr.hessian(lambda x: total(lambda y: f(x + 0.01 * y))(rows))(rows[0])
        ),
        "grad around grad": lambda f, total, each: sr.grad(total(lambda x: np.sum(np.abs(sr.grad(f)(x)) ** 2))),
        "all pairs": lambda f, total, each: (
            lambda rows: each(
                lambda x: total(lambda y: f(0.5 * (x + y)))(rows),
            )(rows)
        ),
    }.items()
}


# Derivatives inside


def inside(derivative: Callable[[Any, Any], Callable[..., Any]]) -> Way:
    def way(f, several, rows):
        g = derivative(f, several)
        return lambda: vmap(g)(rows, directions(rows)), lambda: loop(g, rows, directions(rows))

    return way


def around(derivative: Callable[[Any, Any, Any], Any]) -> Way:
    def way(f, several, rows):
        v = directions(rows)
        return lambda: derivative(summed(f), rows, v), lambda: derivative(summed_by_loop(f), rows, v)

    return way


def custom_vjp(f):
    rule = sr.custom_vjp(lambda x: f(x))
    rule.defvjp(lambda x: sr.vjp(f, x), lambda pullback, y_bar: tuple(3.0 * x_bar for x_bar in pullback(y_bar)))
    return rule


def custom_jvp(f):
    rule = sr.custom_jvp(lambda x: f(x))
    rule.defjvp(lambda xs, x_dots: (f(*xs), 3.0 * sr.jvp(f, xs, x_dots)[1]))
    return rule


WAYS |= {
    f"inside: {name}": inside(derivative)
    for name, derivative in {
        "grad": lambda f, several: lambda x, v: sr.grad(f)(x),
        "value_and_grad": lambda f, several: lambda x, v: list(sr.value_and_grad(f)(x)),
        "jvp": lambda f, several: lambda x, v: sr.jvp(f, (x,), (v,))[1],
        "hvp": lambda f, several: lambda x, v: sr.hvp(f, (x,), (v,)),
        "hessian": lambda f, several: lambda x, v: sr.hessian(f)(x),
        "linearize": lambda f, several: lambda x, v: sr.linearize(f, x)[1](v),
        "jacfwd": lambda f, several: lambda x, v: sr.jacfwd(several)(x),
        "taylor": lambda f, several: lambda x, v: list(sr.taylor(f, x, 3, v)),
        "checkpoint": lambda f, several: lambda x, v: sr.grad(sr.checkpoint(f))(x),
        "custom_vjp": lambda f, several: lambda x, v: sr.grad(custom_vjp(f))(x),
        "custom_jvp": lambda f, several: lambda x, v: sr.grad(custom_jvp(f))(x),
        "grad of staged": lambda f, several: lambda x, v: sr.grad(sr.staged(f))(x),
        "grad in grad": lambda f, several: lambda x, v: sr.grad(lambda y: np.sum(np.real(sr.grad(f)(y) * v)))(x),
        "stop_gradient": lambda f, several: lambda x, v: sr.grad(lambda y: f(y) * sr.stop_gradient(f(y)))(x),
        "overwritten copy": lambda f, several: lambda x, v: overwritten(f, x, v),
    }.items()
}
WAYS |= {
    f"around: {name}": around(derivative)
    for name, derivative in {
        "grad": lambda g, rows, v: sr.grad(g)(rows),
        "jvp": lambda g, rows, v: sr.jvp(g, (rows,), (v,))[1],
        "hvp": lambda g, rows, v: sr.hvp(g, (rows,), (v,)),
        "hessian": lambda g, rows, v: sr.hessian(g)(rows),
        "taylor": lambda g, rows, v: list(sr.taylor(g, rows, 2, v)),
        "checkpoint": lambda g, rows, v: sr.grad(sr.checkpoint(g))(rows),
        "staged": lambda g, rows, v: [sr.staged(sr.grad(g))(rows) for _ in range(1)],
        "closure": lambda g, rows, v: sr.grad(lambda t: g(rows * t))(1.0),
    }.items()
}


def overwritten(f: Any, x: Any, v: Any) -> Any:
    """The gradient of a function that writes to an array of its own."""

    def program(x):
        y = np.copy(x)
        y[...] = np.sin(x) + y
        y *= 0.5
        y += v
        return f(y)

    return sr.grad(program)(x)


def middle(of: Callable[[Any], Callable[..., Any]]) -> Way:
    """Inside one derivative and around another."""

    def way(f, several, rows):
        g = of(f)
        return lambda: sr.grad(summed(g))(rows), lambda: sr.grad(summed_by_loop(g))(rows)

    return way


WAYS |= {
    f"between: {name}": middle(of)
    for name, of in {
        "grad": lambda f: lambda x: np.sum(np.abs(sr.grad(f)(x)) ** 2),
        "jvp": lambda f: lambda x: sr.jvp(f, (x,), (np.ones_like(x),))[1],
        "hessian": lambda f: lambda x: np.sum(np.sin(np.real(sr.hessian(f)(x)))),
        "custom_vjp": custom_vjp,
        "custom_jvp": custom_jvp,
        "stop_gradient": lambda f: lambda x: f(x) * sr.stop_gradient(f(x)),
        "checkpoint": sr.checkpoint,
        "of itself": lambda f: lambda x: np.sum(vmap(f)(np.stack([x, 0.99 * x]))),
    }.items()
}
