"""The derivative operators, as short compositions: of a `Recording`, which goes back as often as wanted, of `push`, one
pass in forward mode, and of all unit directions at once.

Names and argument order are JAX's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, overload

import numpy as np

from shiftreset_ad.boundary.arguments import all_of
from shiftreset_ad.boundary.checks import named
from shiftreset_ad.boundary.libraries import in_library_of
from shiftreset_ad.boundary.results import tangent_of
from shiftreset_ad.boundary.tracebacks import trimming
from shiftreset_ad.modes.forward.push import push
from shiftreset_ad.modes.reverse.recording import Recording
from shiftreset_ad.rules.annotations import Aux, Cotangent, Primal, Tangents, Xs, Y
from shiftreset_ad.rules.broadcasting import dtype_of, shape_of


@overload
def jvp(
    f: Callable[[*Xs], Y], primals: tuple[*Xs], tangents: Tangents, has_aux: Literal[False] = False
) -> tuple[Y, Y]: ...
@overload
def jvp(
    f: Callable[[*Xs], tuple[Y, Aux]],
    primals: tuple[*Xs],
    tangents: Tangents,
    has_aux: Literal[True],
) -> tuple[Y, Y, Aux]: ...
@overload
def jvp(f: Callable[..., Any], primals: list[Primal], tangents: Tangents, has_aux: bool = False) -> Any: ...
@trimming
def jvp(f: Callable[..., Any], primals: Any, tangents: Any, has_aux: bool = False) -> Any:
    """The value of `f` and its derivative along a direction, `(f(*primals), J tangents)`, in one pass.

    `tangents` has one entry for each of `primals`, of the same structure and shapes, with None for zero and for what
    has no derivative; another precision is converted. The derivative has the structure of the value, with None for an
    integer, a string and the like in it. With `has_aux`, `f` returns `(value, aux)`, and `aux` comes third. Raises
    TypeError for another structure or kind of number, ValueError for another shape. Wang et al. 2019, section 2;
    Krawiec et al. 2022, section 4.

    >>> jvp(lambda x, y: x * y, (3.0, 2.0), (1.0, 0.0))
    (6.0, 2.0)
    """
    name = named("jvp", f)
    arguments = all_of(name, primals)
    value, y_dots, aux = push(name, f, arguments, arguments.derivatives_in(tangents, name, "tangents"), has_aux)
    tangent = tangent_of(value, y_dots)
    return (value, tangent, aux) if has_aux else (value, tangent)


@overload
def vjp(
    f: Callable[[*Xs], tuple[Y, Aux]], *primals: *Xs, has_aux: Literal[True]
) -> tuple[Y, Callable[[Cotangent], tuple[*Xs]], Aux]: ...
@overload
def vjp(
    f: Callable[[*Xs], Y], *primals: *Xs, has_aux: Literal[False] = False
) -> tuple[Y, Callable[[Cotangent], tuple[*Xs]]]: ...
@trimming
def vjp(f: Callable[..., Any], *primals: *Xs, has_aux: bool = False) -> Any:
    """The value of `f` and its pullback, `(f(*primals), pullback)`; `pullback(y_bar)` is `y_bar J`, a tuple with an
    entry for each of `primals`.

    `pullback` may be called any number of times, at the cost of one backward pass each; `f` runs once. The cotangent
    `y_bar` has the structure and shapes of the value, with None for zero and for what has no derivative. With
    `has_aux`, `f` returns `(value, aux)`, and `aux` comes third. Raises TypeError for another structure or kind of
    number, ValueError for another shape. Krawiec et al. 2022, section 4; Pearlmutter and Siskind 2008, section 4.

    >>> y, pullback = vjp(lambda x, y: x * y, 3.0, 2.0)
    >>> y, pullback(1.0), pullback(10.0)
    (6.0, (2.0, 3.0), (20.0, 30.0))
    """
    name = named("vjp", f)
    recording = Recording(name, f, all_of(name, primals), has_aux)

    @trimming
    def pullback(y_bar: Cotangent) -> Cotangent:
        return recording.arguments.derivative(recording.pull(recording.cotangents(y_bar)))

    return (recording.value, pullback, recording.aux) if has_aux else (recording.value, pullback)


@overload
def linearize(
    f: Callable[[*Xs], tuple[Y, Aux]], *primals: *Xs, has_aux: Literal[True]
) -> tuple[Y, Callable[..., Y], Aux]: ...
@overload
def linearize(f: Callable[[*Xs], Y], *primals: *Xs, has_aux: Literal[False] = False) -> tuple[Y, Callable[..., Y]]: ...
@trimming
def linearize(f: Callable[..., Any], *primals: *Xs, has_aux: bool = False) -> Any:
    """The value of `f` and its derivative there as a linear function, `(f(*primals), pushforward)`.

    `pushforward(*tangents)` is what `jvp` gives for these tangents, without running `f` again, any number of times. It
    is the transpose of the pullback, which is linear too. With `has_aux`, `aux` comes third. Errors as of `jvp`.

    >>> y, pushforward = linearize(lambda x: x**3, 2.0)
    >>> y, pushforward(1.0), pushforward(10.0)
    (8.0, 12.0, 120.0)
    """
    name = named("linearize", f)
    recording = Recording(name, f, all_of(name, primals), has_aux)
    transposed = transpose(name, recording)

    @trimming
    def pushforward(*tangents: Any) -> Any:
        x_dots = recording.arguments.derivatives_in(tangents, name, "tangents")
        return tangent_of(recording.value, transposed.pull(x_dots))

    return (recording.value, pushforward, recording.aux) if has_aux else (recording.value, pushforward)


def transpose(operator: str, recording: Recording) -> Recording:
    """The pullback, recorded: it is linear, so its own pullback is the derivative of the function."""
    zeros = [in_library_of(y, np.zeros(shape_of(y), dtype_of(y))[()]) for y in recording.answers]
    return Recording(operator, lambda *y_bars: recording.pull(list(y_bars)), all_of(operator, zeros))


# Jacobians: the structure of the result, and in it for each number the structure of the argument
