"""What the tests of linear algebra share: random matrices, and the checks in the precisions that `numpy.linalg` has."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from tests.rules.three_ways import check, check_inner_products_in, check_values, of_parts

stacks = st.lists(st.integers(0, 2), max_size=2).map(tuple)
sizes = st.sampled_from([3, 2, 1, 4, 0])


def check_linalg(f: Any, *xs: Any, generator: np.random.Generator, second_order: bool = True) -> None:
    """`check`, with float32 for the other precisions, of which LAPACK has no more."""
    check(f, *xs, generator=generator, second_order=second_order, dtypes=False)
    single = [x.astype(np.float32) for x in xs]
    check_values(f, *single)
    check_inner_products_in(np.float32, f, *single, generator=generator, second_order=second_order)


def check_complex(f: Any, *xs: Any, generator: np.random.Generator, second_order: bool = True) -> None:
    """The same at complex points with these real parts."""
    imaginary = [generator.uniform(-1.0, 1.0, x.shape) for x in xs]
    check(of_parts(f), *xs, *imaginary, generator=generator, second_order=second_order, dtypes=False)
    zs = [x + 1j * y for x, y in zip(xs, imaginary, strict=True)]
    for dtype in (np.float32, np.float64):
        check_inner_products_in(dtype, f, *zs, generator=generator, second_order=second_order)


def regular(generator: np.random.Generator, *shape: int) -> Any:
    """Random matrices whose singular values are well apart from each other and from zero, and so are eigenvalues."""
    rows, columns = shape[-2:]
    u, _, vh = np.linalg.svd(generator.normal(size=shape), full_matrices=False)
    s = 0.7 + 0.6 * np.arange(min(rows, columns)) + generator.uniform(0.0, 0.2, (*shape[:-2], min(rows, columns)))
    return (u * s[..., None, :]) @ vh


def hermitian(a: Any) -> Any:
    """A matrix plus its adjoint."""
    return a + np.conjugate(np.swapaxes(a, -1, -2))


def positive(a: Any) -> Any:
    """A matrix times its adjoint, and the identity matrix."""
    return a @ np.conjugate(np.swapaxes(a, -1, -2)) + np.eye(a.shape[-2], dtype=a.dtype)
