"""The derivative operators, as short compositions: of a `Recording`, which goes back as often as wanted, of `push`, one
pass in forward mode, and of all unit directions at once.

Names and argument order are JAX's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from shiftreset_ad.boundary import trees
from shiftreset_ad.boundary.arguments import Arguments, all_of
from shiftreset_ad.boundary.checks import named, require_complex, require_derivative, require_real, require_shape
from shiftreset_ad.boundary.libraries import in_library_of
from shiftreset_ad.boundary.tracebacks import trimming
from shiftreset_ad.modes.forward.number import own, push
from shiftreset_ad.modes.reverse.backpropagation import differentiate
from shiftreset_ad.modes.reverse.recording import Recording
from shiftreset_ad.numbers.dispatch import Number
from shiftreset_ad.rules.broadcasting import dtype_of, is_complex, shape_of
from shiftreset_ad.transforms.directions import along_units, at_once, count, from_columns, from_rows

Argnums = int | tuple[int, ...]
MIXED_AT_MOST = 4096  # elements of which any two are told apart


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


@trimming
def vjp(f: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
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
    def pullback(y_bar: Any) -> Any:
        return recording.arguments.derivative(recording.pull(recording.cotangents(y_bar)))

    return (recording.value, pullback, recording.aux) if has_aux else (recording.value, pullback)


@trimming
def linearize(f: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
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


def tangent_of(value: Any, y_dots: list[Any]) -> Any:
    """The tangent of a value, from those of the numbers in it, None for zero."""
    answers = trees.Parts(value)
    return answers.derivative([own(y_dot, y) for y_dot, y in zip(y_dots, answers.numbers, strict=True)])


# Jacobians: the structure of the result, and in it for each number the structure of the argument


def value_and_jacobian(
    f: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, holomorphic: bool = False
) -> Callable[..., Any]:
    """The function that returns the value of `f` and its `jacobian`; with `has_aux`, `((value, aux), jacobian)`.

    >>> value_and_jacobian(lambda x: x * x)(np.array([3.0, 4.0]))
    (array([ 9., 16.]), array([[6., 0.],
           [0., 8.]]))
    """
    name = named("value_and_jacobian", f)

    def value_and_jacobian_of_f(*args: Any, **kwargs: Any) -> Any:
        value, derivative, aux = _jacobian(name, f, argnums, has_aux, holomorphic, args, kwargs)
        return ((value, aux) if has_aux else value), derivative

    return trimming(value_and_jacobian_of_f, name)


def jacobian(
    f: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, holomorphic: bool = False
) -> Callable[..., Any]:
    """The function that returns the Jacobian of `f`, of shape `(*shape of f(x), *shape of x)`.

    `f` runs once. The rows come from one way back with all cotangents; where the value is larger than the argument,
    the columns come from one pass over that way back with all tangents. Both may be structures: the Jacobian has the
    structure of the value, and in it for each number that of the argument. `argnums`, `has_aux` and `holomorphic` are
    as in `grad`, and so are the errors.

    >>> jacobian(lambda x: x * x)(np.array([3.0, 4.0]))
    array([[6., 0.],
           [0., 8.]])
    """
    name = named("jacobian", f)

    def jacobian_of_f(*args: Any, **kwargs: Any) -> Any:
        _, derivative, aux = _jacobian(name, f, argnums, has_aux, holomorphic, args, kwargs)
        return (derivative, aux) if has_aux else derivative

    return trimming(jacobian_of_f, name)


def jacrev(
    f: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, holomorphic: bool = False
) -> Callable[..., Any]:
    """The `jacobian` by reverse mode, all rows in one way back.

    >>> jacrev(lambda x: np.sum(x) * x)(np.array([1.0, 2.0]))
    array([[4., 1.],
           [2., 5.]])
    """
    return _by_reverse_mode(named("jacrev", f), f, argnums, has_aux, holomorphic)


def jacfwd(
    f: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, holomorphic: bool = False
) -> Callable[..., Any]:
    """The `jacobian` by forward mode, all columns in one pass. The arguments are real, unless `holomorphic`.

    >>> jacfwd(lambda x: np.sum(x) * x)(np.array([1.0, 2.0]))
    array([[4., 1.],
           [2., 5.]])
    """
    return _by_forward_mode(named("jacfwd", f), f, argnums, has_aux, holomorphic)


def hessian(
    f: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, holomorphic: bool = False
) -> Callable[..., Any]:
    """The function that returns the second derivatives of `f`, `(*shape of f(x), *shape of x, *shape of x)`.

    Forward over reverse: one gradient, along all directions at once. Structures, options and errors are as of
    `jacobian`, which this is, applied twice. Pearlmutter and Siskind 2008, section 5.

    >>> hessian(lambda x: x[0] ** 2 * x[1])(np.array([3.0, 4.0]))
    array([[8., 6.],
           [6., 0.]])
    """
    name = named("hessian", f)
    gradient = _by_reverse_mode(name, f, argnums, has_aux, holomorphic)
    return _by_forward_mode(name, gradient, argnums, has_aux, holomorphic)


@trimming
def hvp(f: Callable[..., Any], primals: Any, tangents: Any) -> Any:
    """The product of the Hessian of a scalar `f` with a direction: forward over reverse, the Hessian is never built.

    `primals` and `tangents` are as in `jvp`. The answer has the structure of the argument where there is one, and is
    a tuple of such where there are several. Raises the errors of `jvp` and of `grad`. Pearlmutter and Siskind 2008,
    section 5.

    >>> hvp(lambda x: x[0] ** 2 * x[1], (np.array([3.0, 4.0]),), (np.array([1.0, 0.0]),))
    array([8., 6.])
    """
    name = named("hvp", f)
    arguments = all_of(name, primals)

    def gradient(*xs: Any) -> Any:
        return differentiate(name, f, all_of(name, xs), has_aux=False, holomorphic=False, kwargs={})[1]

    value, y_dots, _ = push(name, gradient, arguments, arguments.derivatives_in(tangents, name, "tangents"))
    products = tangent_of(value, y_dots)
    return products[0] if len(products) == 1 else products


def elementwise_grad(f: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """The function that returns the derivative of a function that works element by element, in the shape of its value.

    Each argument that `argnums` names has the shape of the value. Raises ValueError if it has not, or if an element of
    the value depends on another element of it, and so `f` is no such function (looked at in the outermost derivative).

    >>> elementwise_grad(np.tanh)(np.array([0.0, 0.0]))
    array([1., 1.])
    """
    name = named("elementwise_grad", f)

    def derivative_of_f(*args: Any, **kwargs: Any) -> Any:
        recording = Recording(name, f, Arguments(name, argnums, args), False, kwargs)
        ys, xs = recording.answers, recording.arguments.numbers
        require_derivative(name, ys)
        for x in xs:
            require_shape(name, ys, shape_of(x))
        derivatives = recording.pull([np.ones(shape_of(y), dtype_of(y)) for y in ys])
        if not any(isinstance(number, Number) for number in (*ys, *xs)):
            _require_elementwise(name, recording, derivatives)
        return recording.arguments.derivative(derivatives)

    return trimming(derivative_of_f, name)


def _require_elementwise(name: str, recording: Recording, derivatives: list[Any]) -> None:
    """Raise ValueError if elements mix: without the cotangents of some, the derivatives of the others would change.

    The masks are the binary digits of the places, so that any two elements differ in one; for a large array one digit
    has to do, the parity of a random number.
    """
    (y,) = recording.answers
    size = count([y])
    if size <= 1:
        return
    if size <= MIXED_AT_MOST:
        masks = (np.arange(size) >> np.arange(size.bit_length())[:, None]) & 1
    else:
        masks = np.random.default_rng(0).integers(0, 2, (1, size))
    masks = np.reshape(masks, (-1, *shape_of(y))).astype(dtype_of(y))
    for derivative, masked in zip(derivatives, at_once(recording.pull, [masks]), strict=True):
        with np.errstate(invalid="ignore"):
            expected = masks.astype(dtype_of(derivative)) * derivative
        if not np.array_equal(masked, expected, equal_nan=True):
            raise ValueError(
                f"{name}: the function does not work element by element: an element of its value depends on "
                "another element of the argument; use jacobian, or vjp"
            )


def _by_reverse_mode(
    name: str, f: Callable[..., Any], argnums: Argnums, has_aux: bool, holomorphic: bool
) -> Callable[..., Any]:
    def jacobian_of_f(*args: Any, **kwargs: Any) -> Any:
        recording = _record(name, f, argnums, has_aux, holomorphic, args, kwargs)
        derivative = _by_rows(recording)
        return (derivative, recording.aux) if has_aux else derivative

    return trimming(jacobian_of_f, name)


def _by_forward_mode(
    name: str, f: Callable[..., Any], argnums: Argnums, has_aux: bool, holomorphic: bool
) -> Callable[..., Any]:
    def jacobian_of_f(*args: Any, **kwargs: Any) -> Any:
        arguments = Arguments(name, argnums, args)
        if holomorphic:
            require_complex(name, arguments.numbers)
        else:
            require_real(name, "the argument", arguments.numbers)
        value: Any = None
        aux: Any = None

        def along(x_dots: list[Any]) -> list[Any]:
            nonlocal value, aux
            value, y_dots, aux = push(name, f, arguments, x_dots, has_aux, kwargs)
            return y_dots

        columns = along_units(arguments.numbers, along)
        answers = trees.Parts(value)
        require_derivative(name, answers.numbers)
        if holomorphic:
            require_complex(name, answers.numbers)
        derivative = _assembled(arguments, answers, from_columns(columns, arguments.numbers, answers.numbers))
        return (derivative, aux) if has_aux else derivative

    return trimming(jacobian_of_f, name)


def _record(
    name: str, f: Callable[..., Any], argnums: Argnums, has_aux: bool, holomorphic: bool, args: Any, kwargs: Any
) -> Recording:
    arguments = Arguments(name, argnums, args)
    if holomorphic:
        require_complex(name, arguments.numbers)
    recording = Recording(name, f, arguments, has_aux, kwargs)
    require_derivative(name, recording.answers)
    if holomorphic:
        require_complex(name, recording.answers)
    else:
        require_real(name, "the result", recording.answers)
    return recording


def _jacobian(
    name: str, f: Callable[..., Any], argnums: Argnums, has_aux: bool, holomorphic: bool, args: Any, kwargs: Any
) -> tuple[Any, Any, Any]:
    recording = _record(name, f, argnums, has_aux, holomorphic, args, kwargs)
    xs, ys = recording.arguments.numbers, recording.answers
    if count(ys) <= count(xs) or (not holomorphic and any(map(is_complex, xs))):
        return recording.value, _by_rows(recording), recording.aux
    columns = along_units(xs, transpose(name, recording).pull)
    derivative = _assembled(recording.arguments, recording.structure, from_columns(columns, xs, ys))
    return recording.value, derivative, recording.aux


def _by_rows(recording: Recording) -> Any:
    xs, ys = recording.arguments.numbers, recording.answers
    return _assembled(recording.arguments, recording.structure, from_rows(along_units(ys, recording.pull), xs, ys))


def _assembled(arguments: Arguments, answers: trees.Parts, blocks: list[list[Any]]) -> Any:
    """The structure of the answer, and in it for each number that of the argument, from a block for each pair."""
    return answers.derivative([arguments.derivative(of_one_answer) for of_one_answer in blocks])
