"""An example call of every function that has a derivative, which `python docs/coverage.py` differentiates.

The names of an example's parameters are those of the points in `POINTS`, so a line says all: `lambda m, x: f(m, x)`.
Each is differentiated in all of its parameters; what has no derivative stands in the call itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Example = Callable[..., Any]

POINTS: dict[str, Any] = {
    "t": 0.7,  # a scalar
    "x": np.array([0.35, 0.62, 0.21, 0.83]),  # vectors: between 0 and 1, of both signs, greater than 1
    "y": np.array([0.54, 0.17, 0.78, 0.26]),
    "signed": np.array([0.8, -1.3, 0.4, -0.6]),
    "large": np.array([1.4, 3.2, 2.3, 1.9]),
    "three": np.array([0.9, -0.4, 1.3]),
    "a": np.array([[0.3, -1.2, 0.7], [1.1, 0.4, -0.5]]),  # matrices: 2 x 3, 3 x 2, and square ones
    "b": np.array([[0.6, 0.2], [-0.9, 1.5], [0.1, 0.8]]),
    "m": np.array([[2.1, 0.3, -0.4], [0.5, 1.7, 0.2], [-0.1, 0.6, 1.2]]),
    "n": np.array([[0.4, 1.6, 0.2], [-0.3, 0.9, 0.7], [1.2, 0.5, -0.8]]),
    "cube": np.linspace(0.4, 1.9, 8).reshape(2, 2, 2) ** 2,
    "z": np.array([0.5 + 0.8j, -1.2 + 0.3j, 0.9 - 0.7j, 0.2 + 1.1j]),
}


def of_one(namespace: Any, names: str, point: str) -> dict[str, Example]:
    """Examples of functions of one operand, as far as the installed version has them."""

    def example(function: Callable[..., Any]) -> Example:
        return named(lambda x: function(x), point)

    found = [name for name in names.split() if hasattr(namespace, name)]
    return {f"{namespace.__name__}.{name}": example(getattr(namespace, name)) for name in found}


def named(example: Example, *points: str) -> Example:
    """The example at these points, whatever its parameters are called."""
    example.__points__ = points  # type: ignore[attr-defined]
    return example


def to_precision(rtol: float, example: Example) -> Example:
    """The example, of a function whose values are of no better precision."""
    example.rtol = rtol  # type: ignore[attr-defined]
    return example


def points_of(example: Example) -> tuple[str, ...]:
    """The names of the points of an example."""
    parameters = example.__code__.co_varnames[: example.__code__.co_argcount]
    return getattr(example, "__points__", parameters)


EXAMPLES: dict[str, Example] = {
    **of_one(
        np,
        "absolute arccos arcsin arcsinh arctan arctanh cbrt cos cosh deg2rad degrees exp exp2 expm1 fabs log log10 "
        "log1p log2 negative positive rad2deg radians reciprocal sin sinh sqrt square tan tanh sinc i0 nan_to_num "
        "real_if_close sort diff ediff1d cumsum cumprod cumulative_sum cumulative_prod nancumsum nancumprod "
        "ravel flip copy atleast_1d atleast_2d atleast_3d diagflat fftshift roots poly trim_zeros",
        "x",
    ),
    **of_one(np, "arccosh", "large"),
    **of_one(np, "angle conjugate imag real sign sort_complex", "z"),
    **of_one(
        np,
        "sum prod mean var std max min amax amin ptp median average nansum nanprod nanmean nanvar nanstd nanmax nanmin "
        "nanmedian trace diagonal diag tril triu transpose matrix_transpose permute_dims fliplr flipud rot90 squeeze "
        "cov corrcoef",
        "m",
    ),
    # Elementwise, of two operands
    "numpy.add": lambda x, t: np.add(x, t),
    "numpy.subtract": lambda x, y: np.subtract(x, y),
    "numpy.multiply": lambda x, y: np.multiply(x, y),
    "numpy.divide": lambda x, large: np.divide(x, large),
    "numpy.divmod": lambda large, y: np.divmod(large, y),
    "numpy.remainder": lambda large, y: np.remainder(large, y),
    "numpy.fmod": lambda large, y: np.fmod(large, y),
    "numpy.power": lambda large, signed: np.power(large, signed),
    "numpy.float_power": lambda large, signed: np.float_power(large, signed),
    "numpy.hypot": lambda x, y: np.hypot(x, y),
    "numpy.arctan2": lambda signed, x: np.arctan2(signed, x),
    "numpy.copysign": lambda x: np.copysign(x, -1.0),
    "numpy.heaviside": lambda y: np.heaviside(np.zeros(4), y),
    "numpy.nextafter": lambda x: np.nextafter(x, 1.0),
    "numpy.ldexp": lambda x: np.ldexp(x, 3),
    "numpy.frexp": lambda x: np.frexp(x),
    "numpy.modf": lambda signed: np.modf(signed),
    "numpy.logaddexp": lambda x, signed: np.logaddexp(x, signed),
    "numpy.logaddexp2": lambda x, signed: np.logaddexp2(x, signed),
    "numpy.maximum": lambda x, y: np.maximum(x, y),
    "numpy.minimum": lambda x, y: np.minimum(x, y),
    "numpy.fmax": lambda x, y: np.fmax(x, y),
    "numpy.fmin": lambda x, y: np.fmin(x, y),
    "numpy.clip": lambda signed: np.clip(signed, -1.0, 0.5),
    "numpy.where": lambda x, y: np.where([True, False, True, False], x, y),
    # Products
    "numpy.dot": lambda a, b: np.dot(a, b),
    "numpy.vdot": lambda x, y: np.vdot(x, y),
    "numpy.inner": lambda a, m: np.inner(a, m),
    "numpy.outer": lambda x, y: np.outer(x, y),
    "numpy.matmul": lambda a, b: np.matmul(a, b),
    "numpy.matvec": lambda m, three: np.matvec(m, three),
    "numpy.vecmat": lambda three, m: np.vecmat(three, m),
    "numpy.vecdot": lambda x, y: np.vecdot(x, y),
    "numpy.tensordot": lambda a, b: np.tensordot(a, b, axes=([0], [1])),
    "numpy.einsum": lambda a, b: np.einsum("ij,jk->ik", a, b),
    "numpy.kron": lambda a, b: np.kron(a, b),
    "numpy.cross": lambda m, three: np.cross(m, three),
    "numpy.convolve": lambda x, three: np.convolve(x, three),
    "numpy.correlate": lambda x, three: np.correlate(x, three, "full"),
    # Shapes
    "numpy.reshape": lambda a: np.reshape(a, (3, 2)),
    "numpy.resize": lambda x: np.resize(x, (2, 3)),
    "numpy.broadcast_to": lambda three: np.broadcast_to(three, (2, 3)),
    "numpy.broadcast_arrays": lambda a, three: list(np.broadcast_arrays(a, three)),
    "numpy.expand_dims": lambda x: np.expand_dims(x, 0),
    "numpy.swapaxes": lambda a: np.swapaxes(a, 0, 1),
    "numpy.moveaxis": lambda cube: np.moveaxis(cube, 0, 2),
    "numpy.rollaxis": lambda cube: np.rollaxis(cube, 2),
    "numpy.roll": lambda x: np.roll(x, 1),
    "numpy.repeat": lambda x: np.repeat(x, 2),
    "numpy.tile": lambda x: np.tile(x, (2, 2)),
    "numpy.pad": lambda a: np.pad(a, 1, mode="reflect"),
    "numpy.unstack": lambda a: np.unstack(a),
    "numpy.astype": lambda x: np.astype(x, np.longdouble),
    "numpy.full": lambda t: np.full((2, 3), t),
    "numpy.kaiser": lambda t: np.kaiser(5, t),
    "numpy.full_like": lambda x, t: np.full_like(x, t),
    "numpy.array": lambda t, x: np.array([t, x[0]]) * x[:2],
    "numpy.asarray": lambda t, x: np.asarray([t, x[0]]) * x[:2],
    "numpy.asanyarray": lambda t, x: np.asanyarray([t, x[0]]) * x[:2],
    "numpy.asarray_chkfinite": lambda t, x: np.asarray_chkfinite([t, x[0]]) * x[:2],
    "numpy.ascontiguousarray": lambda t, x: np.ascontiguousarray([t, x[0]]) * x[:2],
    "numpy.asfortranarray": lambda t, x: np.asfortranarray([t, x[0]]) * x[:2],
    "numpy.fromfunction": lambda t: np.fromfunction(lambda i: t * i, (3,)),
    "numpy.ix_": lambda x, y: list(np.ix_(x, y)),
    "numpy.row_stack": lambda x, y: np.row_stack([x, y]),  # noqa: NPY201 (the old name is there, too)
    "numpy.meshgrid": lambda x, three: list(np.meshgrid(x, three)),
    "numpy.linspace": lambda t, y: np.linspace(t, y, 5),
    "numpy.logspace": lambda t, y: np.logspace(t, y, 5),
    "numpy.geomspace": lambda t, y: np.geomspace(t, y, 5),
    # Joining and taking apart
    "numpy.concatenate": lambda x, y: np.concatenate([x, y]),
    "numpy.stack": lambda x, y: np.stack([x, y]),
    "numpy.hstack": lambda x, y: np.hstack([x, y]),
    "numpy.vstack": lambda x, y: np.vstack([x, y]),
    "numpy.dstack": lambda x, y: np.dstack([x, y]),
    "numpy.column_stack": lambda x, y: np.column_stack([x, y]),
    "numpy.block": lambda x, y: np.block([[x], [y]]),
    "numpy.append": lambda x, three: np.append(x, three),
    "numpy.insert": lambda x, t: np.insert(x, 1, t),
    "numpy.delete": lambda x: np.delete(x, 1),
    "numpy.split": lambda x: np.split(x, 2),
    "numpy.array_split": lambda x: np.array_split(x, 3),
    "numpy.hsplit": lambda x: np.hsplit(x, 2),
    "numpy.vsplit": lambda a: np.vsplit(a, 2),
    "numpy.dsplit": lambda cube: np.dsplit(cube, 2),
    # Choosing
    "numpy.take": lambda x: np.take(x, [2, 0, 2]),
    "numpy.take_along_axis": lambda a: np.take_along_axis(a, np.array([[2], [0]]), axis=1),
    "numpy.compress": lambda x: np.compress([True, False, True], x),
    "numpy.extract": lambda x: np.extract([True, False, True, True], x),
    "numpy.choose": lambda x, y: np.choose([0, 1, 1, 0], [x, y]),
    "numpy.select": lambda x, y: np.select([[True, False, True, False]], [x], y),
    "numpy.partition": lambda x: np.partition(x, 2),
    "numpy.percentile": lambda x: np.percentile(x, 30.0),
    "numpy.quantile": lambda x: np.quantile(x, 0.3),
    "numpy.nanpercentile": lambda x: np.nanpercentile(x, 30.0),
    "numpy.nanquantile": lambda x: np.nanquantile(x, 0.3),
    "numpy.piecewise": lambda x: np.piecewise(x, [x < 0.5, x >= 0.5], [np.sin, lambda u: u * u]),
    "numpy.apply_along_axis": lambda a: np.apply_along_axis(lambda row: row * np.sum(row), 1, a),
    "numpy.apply_over_axes": lambda a: np.apply_over_axes(np.sum, a * a, [0]),
    # Sets, of which the elements are those of the operands
    "numpy.unique": lambda x: np.unique(x),
    "numpy.unique_all": lambda x: np.unique_all(x),
    "numpy.unique_counts": lambda x: np.unique_counts(x),
    "numpy.unique_inverse": lambda x: np.unique_inverse(x),
    "numpy.unique_values": lambda x: np.unique_values(x),
    "numpy.union1d": lambda x, y: np.union1d(x, y),
    "numpy.intersect1d": lambda x: np.intersect1d(x, x[1:]),
    "numpy.setdiff1d": lambda x, y: np.setdiff1d(x, y),
    "numpy.setxor1d": lambda x, y: np.setxor1d(x, y),
    # Interpolation, integrals and polynomials
    "numpy.interp": lambda y, x: np.interp([0.3, 0.5, 0.75], [0.0, 0.4, 0.7, 1.0], x) * y[:3],
    "numpy.trapezoid": lambda x, y: np.trapezoid(x, np.cumsum(y)),
    "numpy.gradient": lambda x: np.gradient(x),
    "numpy.unwrap": lambda signed: np.unwrap(3.0 * signed),
    "numpy.polyval": lambda three, x: np.polyval(three, x),
    "numpy.polyadd": lambda three, x: np.polyadd(three, x),
    "numpy.polysub": lambda three, x: np.polysub(three, x),
    "numpy.polymul": lambda three, x: np.polymul(three, x),
    "numpy.polydiv": lambda x, three: np.polydiv(x, three),
    "numpy.polyder": lambda x: np.polyder(x),
    "numpy.polyint": lambda x: np.polyint(x),
    "numpy.polyfit": lambda x, signed: np.polyfit(x, signed, 2),
    "numpy.vander": lambda x: np.vander(x, 3),
    "numpy.histogram": lambda y, x: np.histogram(x, bins=3, weights=y),
    "numpy.histogram2d": lambda y, x, signed: np.histogram2d(x, signed, bins=2, weights=y),
    "numpy.histogramdd": lambda y, x: np.histogramdd(np.stack([x, x * x], 1), bins=2, weights=y)[0],
    "numpy.histogram_bin_edges": lambda x: np.histogram_bin_edges(x, 3),
    "numpy.bincount": lambda y: np.bincount([0, 1, 1, 2], weights=y),
    # Writing in place
    "numpy.copyto": lambda x, y: written(x, lambda a: np.copyto(a, y, where=[True, False, True, True])),
    "numpy.put": lambda x, y: written(x, lambda a: np.put(a, [0, 3], y[:2])),
    "numpy.put_along_axis": lambda x, t: written(x, lambda a: np.put_along_axis(a, np.array([1, 2]), t, 0)),
    "numpy.place": lambda x, y: written(x, lambda a: np.place(a, [True, False, True, True], y[:3])),
    "numpy.putmask": lambda x, y: written(x, lambda a: np.putmask(a, [True, False, True, True], y)),
    "numpy.fill_diagonal": lambda m, three: written(m, lambda a: np.fill_diagonal(a, three)),
    "numpy.zeros_like": lambda x: np.add(np.zeros_like(x), x * x, out=np.zeros_like(x)),
    "numpy.ones_like": lambda x: np.multiply(np.ones_like(x), x * x, out=np.ones_like(x)),
    "numpy.empty_like": lambda x: np.multiply(x, x, out=np.empty_like(x)),
    # Linear algebra
    **of_one(np.linalg, "inv det slogdet pinv qr svdvals eigvals matrix_norm norm cond trace diagonal", "m"),
    **of_one(np.linalg, "vector_norm", "x"),
    "numpy.linalg.matrix_transpose": lambda a: np.linalg.matrix_transpose(a),
    "numpy.linalg.cholesky": lambda m: np.linalg.cholesky(m @ m.T),
    "numpy.linalg.eigh": lambda m: invariants(*np.linalg.eigh(m + m.T)),
    "numpy.linalg.eigvalsh": lambda m: np.linalg.eigvalsh(m + m.T),
    "numpy.linalg.eig": lambda m: invariants(*np.linalg.eig(m)),
    "numpy.linalg.svd": lambda m: np.linalg.svd(m),
    "numpy.linalg.solve": lambda m, three: np.linalg.solve(m, three),
    "numpy.linalg.lstsq": lambda b, three: np.linalg.lstsq(b, three)[0],
    "numpy.linalg.matrix_power": lambda m: np.linalg.matrix_power(m, 3),
    "numpy.linalg.multi_dot": lambda a, m, b: np.linalg.multi_dot([a, m, b]),
    "numpy.linalg.tensorinv": lambda m: np.linalg.tensorinv(np.reshape(m, (3, 3, 1)), ind=1),
    "numpy.linalg.tensorsolve": lambda m, three: np.linalg.tensorsolve(m, three),
    "numpy.linalg.outer": lambda x, y: np.linalg.outer(x, y),
    "numpy.linalg.matmul": lambda a, b: np.linalg.matmul(a, b),
    "numpy.linalg.tensordot": lambda a, b: np.linalg.tensordot(a, b, axes=1),
    "numpy.linalg.vecdot": lambda x, y: np.linalg.vecdot(x, y),
    "numpy.linalg.cross": lambda three, m: np.linalg.cross(m, three),
    # Fourier transforms
    **of_one(np.fft, "fft ifft rfft ihfft fftshift ifftshift", "x"),
    **of_one(np.fft, "irfft hfft", "z"),
    **of_one(np.fft, "fft2 ifft2 rfft2 irfft2 fftn ifftn rfftn irfftn", "m"),
}


def written(x: Any, write: Callable[[Any], Any]) -> Any:
    """A copy of an array after something was written to it, and the squares of its elements before."""
    copy = np.copy(x)
    before = copy * copy
    write(copy)
    return copy * before


def invariants(values: Any, vectors: Any) -> list[Any]:
    """What eigenvalues and eigenvectors have, whatever their signs and phases: the values, and squared lengths."""
    return [values, np.abs(vectors) ** 2]


# The calls of functions whose answers have no derivative, where a call with one vector is not enough

OF_TWO = (
    "allclose array_equal array_equiv isclose equal not_equal less less_equal greater greater_equal logical_and "
    "logical_or logical_xor floor_divide isin may_share_memory shares_memory"
)


def of_two(function: Callable[..., Any]) -> Example:
    return lambda x: function(x, x[::-1])


CONSTANT_CALLS: dict[str, Example] = {
    **{f"numpy.{name}": of_two(getattr(np, name)) for name in OF_TWO.split()},
    "numpy.argpartition": lambda x: np.argpartition(x, 2),
    "numpy.digitize": lambda x: np.digitize(x, [0.3, 0.6]),
    "numpy.searchsorted": lambda x: np.searchsorted([0.3, 0.6], x),
    "numpy.common_type": lambda x: np.common_type(x, x),
    "numpy.can_cast": lambda x: np.can_cast(x.dtype, np.float32),
    "numpy.lexsort": lambda x: np.lexsort((x, x[::-1])),
    "numpy.diag_indices_from": lambda x: np.diag_indices_from(np.reshape(x, (2, 2))),
    "numpy.tril_indices_from": lambda x: np.tril_indices_from(np.reshape(x, (2, 2))),
    "numpy.triu_indices_from": lambda x: np.triu_indices_from(np.reshape(x, (2, 2))),
    "numpy.linalg.matrix_rank": lambda x: np.linalg.matrix_rank(np.reshape(x, (2, 2))),
}
