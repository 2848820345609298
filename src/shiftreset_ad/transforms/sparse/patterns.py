"""The pattern of a Jacobian: which elements of the value depend on which elements of the argument."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse  # type: ignore[import-untyped]

from shiftreset_ad.boundary import trees
from shiftreset_ad.boundary.arguments import Arguments
from shiftreset_ad.boundary.checks import named, require_derivative
from shiftreset_ad.boundary.derived import Derived
from shiftreset_ad.boundary.tracebacks import trimming
from shiftreset_ad.modes.forward.push import push
from shiftreset_ad.modes.index_sets import IndexSets
from shiftreset_ad.modes.index_sets.sets import Sets
from shiftreset_ad.numbers.number import Number
from shiftreset_ad.numbers.tags import Tag
from shiftreset_ad.rules.annotations import Argnums
from shiftreset_ad.rules.broadcasting import dtype_of, shape_of
from shiftreset_ad.transforms.directions import count


def sparsity(f: Callable[..., Any], argnums: Argnums = 0, here: bool = False) -> Callable[..., Any]:
    """The function that returns the pattern of the Jacobian of `f`, a `scipy.sparse.csr_array` of bool, `(m, n)`.

    m and n count the elements of the value and of the argument; those of a structure are in the order of its numbers.
    The pattern has each entry that may differ from zero wherever `f` takes the same branches, and selects the same
    elements (by `numpy.sort`, for example): both sides of `numpy.where` and `numpy.maximum` count. With `here`, factors
    that are zero at this point count as zero. Dense products, solutions and the like count as dense; a product
    with a constant sparse array of SciPy's has its pattern. `f` runs once. Raises the errors of `grad`, and TypeError
    inside another derivative. Griewank and Walther 2008, section 7.1.

    >>> sparsity(lambda x: x[1:] * x[:-1])(np.ones(3)).toarray().astype(int)
    array([[1, 1, 0],
           [0, 1, 1]])
    """
    return Derived(_sparsity, named("sparsity", f), f, argnums, here)


@trimming
def _sparsity(name: str, f: Any, argnums: Argnums, here: bool, /, *args: Any, **kwargs: Any) -> Any:
    """The pattern of the Jacobian of a function."""
    return pattern_of(name, f, Arguments(name, argnums, args), here, kwargs)


def pattern_of(name: str, f: Callable[..., Any], arguments: Arguments, here: bool, kwargs: dict[str, Any]) -> Any:
    """The pattern of the Jacobian of `f` at these arguments."""
    require_plain(name, arguments.numbers)
    tag, sets, given, first = Tag.around([]), Sets(), [], 0
    for x in arguments.numbers:
        which = sets.single(first, count([x])).reshape(shape_of(x))
        given.append(IndexSets(which, tag, sets, dtype_of(x), here))
        first += which.size
    try:
        value, found, _ = push(name, f, arguments, given, kwargs=kwargs)
    finally:
        tag.finish()
    answers = trees.Parts(value)
    require_derivative(name, answers.numbers)
    parts = [
        x.which.reshape(-1) if type(x) is IndexSets else np.zeros(count([y]), np.int64)
        for x, y in zip(found, answers.numbers, strict=True)
    ]
    indices, ends = sets.rows(np.concatenate(parts))
    return scipy.sparse.csr_array((np.ones(len(indices), bool), indices, ends), shape=(len(ends) - 1, first))


def require_plain(name: str, numbers: list[Any]) -> None:
    """Raise TypeError if a sparse array would have to hold numbers that are being differentiated."""
    if any(isinstance(x, Number) for x in numbers):
        raise TypeError(
            f"{name}: a sparse array cannot hold numbers that are being differentiated. Use jacobian or hessian inside "
            "another derivative"
        )
