"""Jacobians, Hessians and their kin: along all directions at once."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal, overload

import numpy as np

from shiftreset_ad.boundary import trees
from shiftreset_ad.boundary.arguments import Arguments, all_of
from shiftreset_ad.boundary.checks import named, require_complex, require_derivative, require_real, require_shape
from shiftreset_ad.boundary.derived import Derived
from shiftreset_ad.boundary.results import own
from shiftreset_ad.boundary.tracebacks import trimming
from shiftreset_ad.modes.forward.push import push, push_numbers
from shiftreset_ad.modes.reverse.recording import Recording
from shiftreset_ad.numbers.number import Number
from shiftreset_ad.rules.annotations import Argnums, Aux, Cotangent, P, Primal, Scalar, Tangent, Tangents, X, Xs, Y
from shiftreset_ad.rules.broadcasting import dtype_of, is_complex, shape_of
from shiftreset_ad.transforms.directions import along_units, at_once, count, from_columns, from_rows
from shiftreset_ad.transforms.gradient import derivatives_at
from shiftreset_ad.transforms.products import transpose

FEW = 4096  # elements; so many masks take no longer than the rest
DIGITS = 64  # of a place; with so many powers of two, derivatives in single precision stay finite


@overload
def value_and_jacobian(
    f: np.ufunc, argnums: Argnums = 0, has_aux: Literal[False] = False, holomorphic: bool = False
) -> Callable[..., tuple[Any, Any]]: ...
@overload
def value_and_jacobian(
    f: Callable[P, Y], argnums: Argnums = 0, has_aux: Literal[False] = False, holomorphic: bool = False
) -> Callable[P, tuple[Y, Any]]: ...
@overload
def value_and_jacobian(
    f: Callable[P, tuple[Y, Aux]], argnums: Argnums = 0, *, has_aux: Literal[True], holomorphic: bool = False
) -> Callable[P, tuple[tuple[Y, Aux], Any]]: ...
def value_and_jacobian(
    f: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, holomorphic: bool = False
) -> Callable[..., Any]:
    """The function that returns the value of `f` and its `jacobian`; with `has_aux`, `((value, aux), jacobian)`.

    >>> value_and_jacobian(lambda x: x * x)(np.array([3.0, 4.0]))
    (array([ 9., 16.]), array([[6., 0.],
           [0., 8.]]))
    """
    return Derived(_value_and_jacobian, named("value_and_jacobian", f), f, argnums, has_aux, holomorphic)


@overload
def jacobian(
    f: np.ufunc, argnums: Argnums = 0, has_aux: Literal[False] = False, holomorphic: bool = False
) -> Callable[..., Any]: ...
@overload
def jacobian(
    f: Callable[P, Any], argnums: Argnums = 0, has_aux: Literal[False] = False, holomorphic: bool = False
) -> Callable[P, Any]: ...
@overload
def jacobian(
    f: Callable[P, tuple[Any, Aux]], argnums: Argnums = 0, *, has_aux: Literal[True], holomorphic: bool = False
) -> Callable[P, tuple[Any, Aux]]: ...
def jacobian(
    f: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, holomorphic: bool = False
) -> Callable[..., Any]:
    """The function that returns the Jacobian of `f`, of shape `(*shape of f(x), *shape of x)`.

    `f` runs once. The rows come from one way back with all cotangents. If the value is larger than the argument, the
    columns come from one pass over the recorded way back, with all tangents. Argument and value may be structures: the
    Jacobian has the structure of the value, with the structure of the argument in place of each number. `argnums`,
    `has_aux`, `holomorphic` and the errors are those of `grad`.

    >>> jacobian(lambda x: x * x)(np.array([3.0, 4.0]))
    array([[6., 0.],
           [0., 8.]])
    """
    return Derived(_jacobian, named("jacobian", f), f, argnums, has_aux, holomorphic)


@trimming
def _jacobian(
    name: str, f: Any, argnums: Argnums, has_aux: bool, holomorphic: bool, /, *args: Any, **kwargs: Any
) -> Any:
    """The Jacobian of a function."""
    _, derivative, aux = _by_either_mode(name, f, argnums, has_aux, holomorphic, args, kwargs)
    return (derivative, aux) if has_aux else derivative


@overload
def jacrev(
    f: np.ufunc, argnums: Argnums = 0, has_aux: Literal[False] = False, holomorphic: bool = False
) -> Callable[..., Any]: ...
@overload
def jacrev(
    f: Callable[P, Any], argnums: Argnums = 0, has_aux: Literal[False] = False, holomorphic: bool = False
) -> Callable[P, Any]: ...
@overload
def jacrev(
    f: Callable[P, tuple[Any, Aux]], argnums: Argnums = 0, *, has_aux: Literal[True], holomorphic: bool = False
) -> Callable[P, tuple[Any, Aux]]: ...
def jacrev(
    f: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, holomorphic: bool = False
) -> Callable[..., Any]:
    """The `jacobian` by reverse mode, all rows in one way back.

    >>> jacrev(lambda x: np.sum(x) * x)(np.array([1.0, 2.0]))
    array([[4., 1.],
           [2., 5.]])
    """
    return Derived(_by_reverse_mode, named("jacrev", f), f, argnums, has_aux, holomorphic)


@trimming
def _by_reverse_mode(
    name: str, f: Any, argnums: Argnums, has_aux: bool, holomorphic: bool, /, *args: Any, **kwargs: Any
) -> Any:
    """The Jacobian of a function, by reverse mode."""
    recording = _record(name, f, argnums, has_aux, holomorphic, args, kwargs)
    derivative = _by_rows(recording)
    return (derivative, recording.aux) if has_aux else derivative


@overload
def jacfwd(
    f: np.ufunc, argnums: Argnums = 0, has_aux: Literal[False] = False, holomorphic: bool = False
) -> Callable[..., Any]: ...
@overload
def jacfwd(
    f: Callable[P, Any], argnums: Argnums = 0, has_aux: Literal[False] = False, holomorphic: bool = False
) -> Callable[P, Any]: ...
@overload
def jacfwd(
    f: Callable[P, tuple[Any, Aux]], argnums: Argnums = 0, *, has_aux: Literal[True], holomorphic: bool = False
) -> Callable[P, tuple[Any, Aux]]: ...
def jacfwd(
    f: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, holomorphic: bool = False
) -> Callable[..., Any]:
    """The `jacobian` by forward mode, all columns in one pass. The arguments are real, unless `holomorphic`.

    >>> jacfwd(lambda x: np.sum(x) * x)(np.array([1.0, 2.0]))
    array([[4., 1.],
           [2., 5.]])
    """
    return Derived(_by_forward_mode, named("jacfwd", f), f, argnums, has_aux, holomorphic)


@trimming
def _by_forward_mode(
    name: str, f: Any, argnums: Argnums, has_aux: bool, holomorphic: bool, /, *args: Any, **kwargs: Any
) -> Any:
    """The Jacobian of a function, by forward mode."""
    arguments = Arguments(name, argnums, args)
    if holomorphic:
        require_complex(name, arguments.numbers)
    else:
        require_real(name, "the argument", arguments.numbers)
    value: Any = None
    aux: Any = None

    def along(x_dots: list[Tangent]) -> list[Tangent]:
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


@overload
def hessian(
    f: np.ufunc, argnums: Argnums = 0, has_aux: Literal[False] = False, holomorphic: bool = False
) -> Callable[..., Any]: ...
@overload
def hessian(
    f: Callable[P, Any], argnums: Argnums = 0, has_aux: Literal[False] = False, holomorphic: bool = False
) -> Callable[P, Any]: ...
@overload
def hessian(
    f: Callable[P, tuple[Any, Aux]], argnums: Argnums = 0, *, has_aux: Literal[True], holomorphic: bool = False
) -> Callable[P, tuple[Any, Aux]]: ...
def hessian(
    f: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, holomorphic: bool = False
) -> Callable[..., Any]:
    """The function that returns the second derivatives of `f`, `(*shape of f(x), *shape of x, *shape of x)`.

    Forward over reverse: one gradient, along all directions at once. The Hessian is `jacobian`, applied twice, with its
    structures, options and errors. Wang et al. 2019, section 3.7; Pearlmutter and Siskind 2008, section 5, by reverse
    over reverse.

    >>> hessian(lambda x: x[0] ** 2 * x[1])(np.array([3.0, 4.0]))
    array([[8., 6.],
           [6., 0.]])
    """
    return Derived(_hessian, named("hessian", f), f, argnums, has_aux, holomorphic)


@overload
def hvp(f: Callable[[X], Scalar], primals: tuple[X], tangents: Tangents) -> X: ...
@overload
def hvp(f: Callable[[*Xs], Scalar], primals: tuple[*Xs], tangents: Tangents) -> tuple[*Xs]: ...
@overload
def hvp(f: Callable[..., Scalar], primals: list[Primal], tangents: Tangents) -> Any: ...
@trimming
def hvp(f: Callable[..., Any], primals: Any, tangents: Any) -> Any:
    """The product of the Hessian of a scalar `f` with a direction, forward over reverse: the Hessian is never built.

    `primals` and `tangents` are as in `jvp`. For one argument, the answer has the structure of the argument; for
    several, it is a tuple with an entry for each. Raises the errors of `jvp` and of `grad`. Wang et al. 2019,
    section 3.7.

    >>> hvp(lambda x: x[0] ** 2 * x[1], (np.array([3.0, 4.0]),), (np.array([1.0, 0.0]),))
    array([8., 6.])
    """
    name = named("hvp", f)
    arguments = all_of(name, primals)

    def gradient(xs: list[Primal]) -> list[Cotangent]:
        return derivatives_at(xs, name, f, arguments)[1]

    x_dots = arguments.derivatives_in(tangents, name, "tangents")
    y_dots = push_numbers(gradient, arguments.numbers, x_dots)[1]
    products = arguments.derivative(list(map(own, y_dots, arguments.numbers)))  # of the types of the gradient
    return products[0] if len(products) == 1 else products


@overload
def elementwise_grad(f: np.ufunc, argnums: Argnums = 0) -> Callable[..., Any]: ...
@overload
def elementwise_grad(f: Callable[P, Y], argnums: int = 0) -> Callable[P, Y]: ...
@overload
def elementwise_grad(f: Callable[P, Y], argnums: tuple[int, ...]) -> Callable[P, tuple[Y, ...]]: ...
def elementwise_grad(f: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """The function that returns the derivative of a function that works element by element, in the shape of its value.

    Each argument that `argnums` names has the shape of the value. Raises ValueError if an argument has another shape,
    or if an element of the value depends on another element of an argument (the outermost derivative checks this).

    >>> elementwise_grad(np.tanh)(np.array([0.0, 0.0]))
    array([1., 1.])
    """
    return Derived(_elementwise_derivative, named("elementwise_grad", f), f, argnums)


def _require_elementwise(name: str, recording: Recording, derivatives: list[Cotangent]) -> None:
    """Raise ValueError if elements mix: if factors of the cotangent of some change the derivatives of the others.

    The factors are masks, the binary digits of the places: any two elements differ in a mask. A large array has powers
    of two first, by the digits of the places to a larger base, which are fewer. A product with them has the bits of the
    derivative, unless it is too small or too large for a float; then the masks decide.
    """
    (y,) = recording.answers
    size, shape = count([y]), shape_of(y)

    def scales(factors: Any) -> bool:
        """Whether the derivatives grow by the factors of the cotangent."""
        with np.errstate(invalid="ignore", over="ignore"):
            rows = np.reshape(factors, (-1, *shape)).astype(dtype_of(y))
            return all(
                np.array_equal(found, rows.astype(dtype_of(derivative)) * derivative, equal_nan=True)
                for found, derivative in zip(at_once(recording.pull, [rows]), derivatives, strict=True)
            )

    if size <= 1 or (size > FEW and scales(2.0 ** digits_of_places(size, DIGITS))):
        return
    masks = digits_of_places(size, 2)
    if not all(map(scales, [masks] if size <= FEW else masks)):
        raise ValueError(
            f"{name}: the function does not work element by element: an element of its value depends on "
            "another element of the argument; use jacobian, or vjp"
        )


def digits_of_places(size: int, base: int) -> Any:
    """The digits of the numbers 0 to `size` - 1, such that any two numbers differ in a row."""
    places, digits = np.arange(size), []
    while places.any():
        digits.append(places % base)
        places = places // base
    return np.array(digits)


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


def _by_rows(recording: Recording) -> Any:
    xs, ys = recording.arguments.numbers, recording.answers
    return _assembled(recording.arguments, recording.structure, from_rows(along_units(ys, recording.pull), xs, ys))


def _assembled(arguments: Arguments, answers: trees.Parts, blocks: list[list[Any]]) -> Any:
    """The structure of the answer, with the structure of the argument in place of each number, made of the blocks."""
    return answers.derivative([arguments.derivative(of_one_answer) for of_one_answer in blocks])


@trimming
def _value_and_jacobian(
    name: str, f: Any, argnums: Argnums, has_aux: bool, holomorphic: bool, /, *args: Any, **kwargs: Any
) -> Any:
    """The value of a function and its Jacobian."""
    value, derivative, aux = _by_either_mode(name, f, argnums, has_aux, holomorphic, args, kwargs)
    return ((value, aux) if has_aux else value), derivative


@trimming
def _hessian(
    name: str, f: Any, argnums: Argnums, has_aux: bool, holomorphic: bool, /, *args: Any, **kwargs: Any
) -> Any:
    """The second derivatives of a function."""
    gradient = partial(_by_reverse_mode, name, f, argnums, has_aux, holomorphic)
    return _by_forward_mode(name, gradient, argnums, has_aux, holomorphic, *args, **kwargs)


@trimming
def _elementwise_derivative(name: str, f: Any, argnums: Argnums, /, *args: Any, **kwargs: Any) -> Any:
    """The derivative of a function that works element by element."""
    recording = Recording(name, f, Arguments(name, argnums, args), False, kwargs)
    ys, xs = recording.answers, recording.arguments.numbers
    require_derivative(name, ys)
    for x in xs:
        require_shape(name, ys, shape_of(x))
    derivatives = recording.pull([np.ones(shape_of(y), dtype_of(y)) for y in ys])
    if not any(isinstance(number, Number) for number in (*ys, *xs)):
        _require_elementwise(name, recording, derivatives)
    return recording.arguments.derivative(derivatives)


def _by_either_mode(
    name: str, f: Callable[..., Any], argnums: Argnums, has_aux: bool, holomorphic: bool, args: Any, kwargs: Any
) -> tuple[Any, Any, Any]:
    recording = _record(name, f, argnums, has_aux, holomorphic, args, kwargs)
    xs, ys = recording.arguments.numbers, recording.answers
    if count(ys) <= count(xs) or (not holomorphic and any(map(is_complex, xs))):
        return recording.value, _by_rows(recording), recording.aux
    columns = along_units(xs, transpose(name, recording).pull)
    derivative = _assembled(recording.arguments, recording.structure, from_columns(columns, xs, ys))
    return recording.value, derivative, recording.aux
