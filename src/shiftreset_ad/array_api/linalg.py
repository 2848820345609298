"""NumPy's linear algebra, by the standard's extension for it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from shiftreset_ad.array_api.promotion import common_dtype, in_dtype, together
from shiftreset_ad.array_api.standard import entered
from shiftreset_ad.rules.broadcasting import shape_of
from shiftreset_ad.rules.numpy.reductions import reduced_axes


def _called(name: str, a: Any, *others: Any, **options: Any) -> Any:
    """The answer of a function of the extension; several parts come in NumPy's kind of tuple."""
    answer = getattr(a.xp.linalg, name)(a.array, *(x.array for x in others), **options)
    return tuple(map(a.like, answer)) if isinstance(answer, tuple) else a.like(answer)


def _floating(a: Any) -> Any:
    return a.astype(common_dtype((a,), floating=True))


def _of_one(function: Callable[..., Any], name: str) -> None:
    entered(function)(lambda a: _called(name, _floating(a)))


for _function, _name in ((np.linalg.inv, "inv"), (np.linalg.det, "det")):
    _of_one(_function, _name)


@cache
def _tuple_of(function: Callable[..., Any]) -> Any:
    """The class of named tuples that a function of NumPy returns."""
    return type(function(np.eye(1)))


def _named(function: Callable[..., Any], parts: tuple[Any, ...]) -> Any:
    return _tuple_of(function)(*parts)


@entered(np.linalg.solve)
def _solve(a: Any, b: Any) -> Any:
    a, b = together(a, b, floating=True)
    is_vector = b.ndim == 1  # one for all matrices, in the standard as in NumPy
    if is_vector:
        b = np.reshape(b, (-1, 1))
    if a.shape[:-2] != b.shape[:-2]:  # which CuPy does not broadcast
        batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        a, b = (np.broadcast_to(x, (*batch, *x.shape[-2:])) for x in (a, b))
    x = _called("solve", a, b)
    return x[..., 0] if is_vector else x


@entered(np.linalg.slogdet)
def _slogdet(a: Any) -> Any:
    return _named(np.linalg.slogdet, _called("slogdet", _floating(a)))


@entered(np.linalg.cholesky)
def _cholesky(a: Any, /, *, upper: bool = False) -> Any:
    return _called("cholesky", _floating(a), upper=upper)


@entered(np.linalg.qr)
def _qr(a: Any, mode: str = "reduced") -> Any:
    if mode not in ("reduced", "complete", "r"):
        raise ValueError(
            f"numpy.linalg.qr: the array API standard has the modes 'reduced' and 'complete', but not {mode!r}"
        )
    parts = _called("qr", _floating(a), mode="complete" if mode == "complete" else "reduced")
    return parts[1] if mode == "r" else _named(np.linalg.qr, parts)


@entered(np.linalg.svd)
def _svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    if not compute_uv:
        return _called("svdvals", _floating(a))
    return _named(np.linalg.svd, _called("svd", _floating(a), full_matrices=full_matrices))


@entered(np.linalg.svdvals)
def _svdvals(x: Any, /) -> Any:
    return _called("svdvals", _floating(x))


@entered(np.linalg.eigh)
def _eigh(a: Any, UPLO: str = "L") -> Any:  # noqa: N803 (NumPy's name)
    return _named(np.linalg.eigh, _called("eigh", _symmetric(a, UPLO)))


@entered(np.linalg.eigvalsh)
def _eigvalsh(a: Any, UPLO: str = "L") -> Any:  # noqa: N803 (NumPy's name)
    return _called("eigvalsh", _symmetric(a, UPLO))


def _symmetric(a: Any, triangle: str) -> Any:
    """The matrix as NumPy sees it: NumPy reads only one triangle."""
    a = _floating(a)
    half = np.tril(a) if triangle.upper() == "L" else np.triu(a)
    other = np.conjugate(np.swapaxes(half, -1, -2))
    diagonal = np.where(np.eye(a.shape[-1], dtype=bool), half, 0.0)
    return half + other - np.conjugate(diagonal)


@entered(np.linalg.norm)
def _norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:  # noqa: A002 (NumPy's name)
    x = _floating(x)
    axes = reduced_axes(axis, x.shape)
    if ord is None:
        ord = 2  # noqa: A001
    elif len(axes) == 2:
        moved = np.moveaxis(x, axes, (-2, -1))
        norms = _called("matrix_norm", moved, ord=ord)
        return np.expand_dims(norms, tuple(sorted(axes))) if keepdims else norms
    elif len(axes) != 1:
        raise ValueError("Improper number of dimensions to norm.")
    return _called("vector_norm", x, ord=ord, axis=axes, keepdims=keepdims)


@entered(np.linalg.cond)
def _cond(x: Any, p: Any = None) -> Any:
    x = _floating(x)
    if p in (None, 2, -2):
        values = np.linalg.svdvals(x)
        return values[..., -1] / values[..., 0] if p == -2 else values[..., 0] / values[..., -1]
    return np.linalg.norm(x, p, (-2, -1)) * np.linalg.norm(np.linalg.inv(x), p, (-2, -1))


@entered(np.linalg.pinv)
def _pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    a = _floating(a)
    return _called("pinv", a, **_tolerance(a, rcond if rtol is None else rtol))


@entered(np.linalg.matrix_rank)
def _matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:  # noqa: N803
    if tol is not None:
        return np.sum(np.linalg.svdvals(A) > tol, axis=-1)
    A = _floating(A)  # noqa: N806
    return _called("matrix_rank", A, **_tolerance(A, rtol))


def _tolerance(a: Any, rtol: Any) -> dict[str, Any]:
    """The relative tolerance as an option: a float, or an array with one tolerance for each matrix."""
    if rtol is None:
        return {}
    return {"rtol": float(rtol) if shape_of(rtol) == () else in_dtype(np.real(a).dtype, rtol, like=a)[0].array}
