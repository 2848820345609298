"""Sparse Jacobians and Hessians: as many products as the pattern has colours, all at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from shiftreset_ad.boundary import trees
from shiftreset_ad.boundary.arguments import Arguments
from shiftreset_ad.boundary.checks import named, require_derivative
from shiftreset_ad.boundary.derived import Derived
from shiftreset_ad.boundary.tracebacks import trimming
from shiftreset_ad.modes.forward.push import push, push_numbers
from shiftreset_ad.modes.reverse.recording import Recording
from shiftreset_ad.rules.annotations import Argnums
from shiftreset_ad.rules.broadcasting import dtype_of, is_complex, shape_of
from shiftreset_ad.transforms.directions import AT_MOST, Linear, at_once, count
from shiftreset_ad.transforms.gradient import derivatives_at, grad
from shiftreset_ad.transforms.sparse.checks import Products, unexplained
from shiftreset_ad.transforms.sparse.colours import Colouring, Of, as_pattern, colouring
from shiftreset_ad.transforms.sparse.patterns import pattern_of, require_plain


def sparse_jacobian(
    f: Callable[..., Any], pattern: Any = None, argnums: Argnums = 0, check: bool = True
) -> Callable[..., Any]:
    """The function that returns the Jacobian of `f` as a `scipy.sparse.csr_array`, `(m, n)`.

    m and n count the elements of the value and of the argument; those of a structure are in the order of its numbers.
    `pattern`, from `sparsity`, or a `colouring` of it, saves finding it in each call. With `check`, a product with one
    more, random direction checks a given pattern: ValueError if the pattern lacks an entry. ValueError also for a
    pattern of another shape; otherwise the errors of `jacobian`, and TypeError inside another derivative. Griewank and
    Walther 2008, chapter 8.

    >>> sparse_jacobian(lambda x: x[1:] * x[:-1])(np.array([2.0, 3.0, 4.0])).toarray()
    array([[3., 2., 0.],
           [0., 4., 3.]])
    """
    return Derived(_jacobian, named("sparse_jacobian", f), f, argnums, _coloured(pattern), check)


def sparse_hessian(
    f: Callable[..., Any], pattern: Any = None, argnums: Argnums = 0, check: bool = True
) -> Callable[..., Any]:
    """The function that returns the Hessian of a scalar `f` as a `scipy.sparse.csr_array`, `(n, n)`.

    `pattern` is that of the Hessian, `sparsity(grad(f))`, or a `colouring` of it by "symmetric" or "columns". Products
    are forward over reverse, one for each colour. Arguments and errors are those of `sparse_jacobian`, and of `grad`. A
    rule of your own may make a second derivative that is not symmetric: by "symmetric" it is an error, if it is
    checked, and without a pattern it takes a colouring by columns.

    >>> sparse_hessian(lambda x: np.sum(x**3))(np.array([1.0, 2.0])).toarray()
    array([[ 6.,  0.],
           [ 0., 12.]])
    """
    name = named("sparse_hessian", f)
    return Derived(_hessian, name, f, argnums, _coloured_as_symmetric(name, pattern), check)


def _coloured(pattern: Any) -> Colouring | None:
    return pattern if pattern is None or isinstance(pattern, Colouring) else colouring(pattern)


def _coloured_as_symmetric(name: str, pattern: Any) -> Colouring | None:
    if isinstance(pattern, Colouring):
        if pattern.of_rows:
            raise ValueError(f'{name}: the colouring is by {pattern.by}; use colouring(pattern, "symmetric")')
        return pattern
    if pattern is None:
        return None
    matrix = as_pattern(pattern)
    square = matrix.shape[0] == matrix.shape[1]
    return colouring(matrix + matrix.T if square else matrix, "symmetric")  # what is on one side may be on both


@trimming
def _jacobian(
    name: str, f: Any, argnums: Argnums, colours: Colouring | None, check: bool, /, *args: Any, **kwargs: Any
) -> Any:
    """The Jacobian of a function, as a sparse array."""
    arguments = _real_arguments(name, argnums, args)
    xs, check = arguments.numbers, check and colours is not None
    if colours is None:
        colours = colouring(pattern_of(name, f, arguments, False, kwargs))
    _require_size(name, colours, 1, count(xs))
    by_columns = by_rows = None
    if colours.of_rows:
        recording = Recording(name, f, arguments, False, kwargs)
        _require_answers(name, colours, recording.answers)
        seeds = colours.seeds("rows", check and not colours.of_columns)
        by_rows = _products(recording.pull, seeds, recording.answers, xs)
    if colours.of_columns or not colours.of_rows:
        ys: list[Any] = []

        def forward(x_dots: list[Any]) -> list[Any]:
            value, y_dots, _ = push(name, f, arguments, x_dots, kwargs=kwargs)
            ys[:] = trees.Parts(value).numbers
            return y_dots

        by_columns = _products(forward, colours.seeds("columns", check), xs, ys)
        _require_answers(name, colours, ys)
    return _matrix(name, colours, by_columns, by_rows, check)


@trimming
def _hessian(
    name: str, f: Any, argnums: Argnums, colours: Colouring | None, check: bool, /, *args: Any, **kwargs: Any
) -> Any:
    """The Hessian of a function, as a sparse array."""
    arguments = _real_arguments(name, argnums, args)
    xs, pattern = arguments.numbers, None
    if colours is None:
        pattern = pattern_of(name, grad(f, argnums), arguments, False, kwargs)
        colours = colouring(pattern.multiply(pattern.T), "symmetric")  # zero on one side is zero on the other
    _require_size(name, colours, 1, count(xs))

    def gradient(xs: list[Any]) -> list[Any]:
        return derivatives_at(xs, name, f, arguments, kwargs=kwargs)[1]

    def along(x_dots: list[Any]) -> list[Any]:
        return push_numbers(gradient, xs, x_dots)[1]

    def products(colours: Colouring, check: bool) -> Products:
        return _products(along, colours.seeds("columns", check), xs, xs)

    if pattern is None:
        return _matrix(name, colours, products(colours, check), None, check)
    found = products(colours, True)
    matrix = colours.entries(found, None)
    is_finite = np.all(np.isfinite(found[-1]))  # what is not a number would hide entries
    if is_finite and unexplained(matrix, found, colours.direction("columns"), colours.cells("columns"), 0.0) is None:
        return matrix
    colours = colouring(pattern, "columns")  # a rule of the user's makes a matrix that is not symmetric, or roundings
    return _matrix(name, colours, products(colours, False), None, False)


def _real_arguments(name: str, argnums: Argnums, args: Any) -> Arguments:
    arguments = Arguments(name, argnums, args)
    require_plain(name, arguments.numbers)
    _require_real(name, "argument", arguments.numbers)
    return arguments


def _products(linear: Linear, seeds: Products, numbers: list[Any], answers: list[Any]) -> Products:
    """The answers of `linear` for each row of `seeds: (k, elements of numbers)`: `(k, elements of answers)`.

    `linear` may fill the list of answers.
    """
    ends = np.cumsum([count([x]) for x in numbers])[:-1]
    at_most = max(1, AT_MOST // max(1, seeds.shape[1]))
    wanted, parts = len(seeds), []
    if not wanted:  # the function runs for the shape of its value, and no function is asked for a stack of no rows
        seeds = np.zeros((1, seeds.shape[1]))
    for start in range(0, len(seeds), at_most):
        rows = seeds[start : start + at_most]
        directions = [
            part.reshape(len(rows), *shape_of(x)).astype(dtype_of(x), copy=False)
            for x, part in zip(numbers, np.split(rows, ends, axis=1), strict=True)
        ]
        derivatives = at_once(linear, directions)
        found = [
            np.zeros((len(rows), count([y]))) if part is None else np.reshape(part, (len(rows), count([y])))
            for y, part in zip(answers, derivatives, strict=True)
        ]
        parts.append(found[0] if len(found) == 1 else np.concatenate(found, axis=1))
    return (parts[0] if len(parts) == 1 else np.concatenate(parts))[:wanted]


def _matrix(name: str, colours: Colouring, by_columns: Products | None, by_rows: Products | None, check: bool) -> Any:
    """The matrix with these products; with `check`, the last of them is that of the direction of the check."""
    matrix = colours.entries(by_columns, by_rows)
    if check and by_columns is not None:
        _require_pattern(name, colours, matrix, by_columns, "columns")
    elif check and by_rows is not None:
        _require_pattern(name, colours, matrix, by_rows, "rows")
    return matrix


def _require_answers(name: str, colours: Colouring, ys: list[Any]) -> None:
    require_derivative(name, ys)
    _require_real(name, "value", ys)
    _require_size(name, colours, 0, count(ys))


def _require_real(name: str, what: str, numbers: list[Any]) -> None:
    if any(map(is_complex, numbers)):
        raise TypeError(f"{name}: the {what} is complex; make a function of the real and imaginary parts")


def _require_size(name: str, colours: Colouring, axis: int, size: int) -> None:
    """Raise ValueError if the pattern belongs to a value, or an argument, of another size."""
    if colours.pattern.shape[axis] != size:
        lines, whole = (("rows", "value"), ("columns", "argument"))[axis]
        raise ValueError(
            f"{name}: the pattern has {colours.pattern.shape[axis]} {lines}, and the {whole} has {size} elements; find "
            "the pattern by sparsity at an argument of this shape"
        )


def _require_pattern(name: str, colours: Colouring, matrix: Any, products: Products, of: Of) -> None:
    """Raise ValueError if these products, of which the last is that of the direction, are not those of the matrix."""
    line = unexplained(matrix, products, colours.direction(of), colours.cells(of), transposed=of == "rows")
    if line is None:
        return
    what, remedy = "", ""
    if colours.by == "symmetric":
        what = ", or the matrix is not symmetric"
        remedy = '; for a matrix that is not symmetric, give colouring(pattern, "columns")'
    raise ValueError(
        f"{name}: the pattern lacks an entry{what}: element {line} of a product with the matrix is not that of the "
        f"derivative. Find the pattern by sparsity, at a point where the function takes the same branches{remedy}"
    )
