"""`jvp`, `vjp` and `linearize`: products with the Jacobian, as short compositions.

`push` is one pass in forward mode. A `Recording` is a backward pass that can be run any number of times. Names
and argument order are JAX's.
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

    `tangents` has an entry for each of `primals`, of the same structure and shapes. None stands for zero, and for a
    part that has no derivative. Another precision is converted. The derivative has the structure of the value, with
    None for an integer, a string and the like. With `has_aux`, `f` returns `(value, aux)`, and `aux` comes third.
    Raises TypeError if the structure or the kind of number differs, ValueError if a shape differs. Wang et al. 2019,
    section 2; Krawiec et al. 2022, section 4.

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

    `f` runs once. You may call `pullback` any number of times; each call costs one backward pass. The cotangent `y_bar`
    has the structure and shapes of the value. None stands for zero, and for a part that has no derivative. With
    `has_aux`, `f` returns `(value, aux)`, and `aux` comes third. Raises TypeError if the structure or the kind of
    number differs, ValueError if a shape differs. Krawiec et al. 2022, sections 5 and 9; Pearlmutter and Siskind 2008,
    section 4.

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

    `pushforward(*tangents)` is the derivative that `jvp` gives for these tangents. You may call it any number of times,
    and `f` does not run again. The pushforward is the transpose of the pullback, which is linear too. With `has_aux`,
    `aux` comes third. Raises the errors of `jvp`.

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
    """The pullback, recorded. The pullback is linear, so its own pullback is the derivative of the function."""
    zeros = [in_library_of(y, np.zeros(shape_of(y), dtype_of(y))[()]) for y in recording.answers]
    return Recording(operator, lambda *y_bars: recording.pull(list(y_bars)), all_of(operator, zeros))
