"""The functions of the array API standard that have a derivative, by NumPy's names of them, which are the standard's.

A case is `(f(xp, *xs), shapes)`: what it calls, and the shapes of its arguments, with elements between 0.2 and 0.8.
"""

from __future__ import annotations

ELEMENTWISE = {
    **{
        name: (lambda xp, x, name=name: getattr(xp, name)(x), [(2, 3)])
        for name in (
            *("abs", "acos", "asin", "asinh", "atan", "atanh", "conj", "cos", "cosh", "exp", "expm1", "log", "log1p"),
            *("log2", "log10", "negative", "positive", "real", "reciprocal", "sin", "sinh", "sqrt", "square", "tan"),
            "tanh",
        )
    },
    "acosh": (lambda xp, x: xp.acosh(x + 1.5), [(2, 3)]),
    **{
        name: (lambda xp, x, y, name=name: getattr(xp, name)(x, y), [(2, 3), (3,)])
        for name in (
            *("add", "atan2", "copysign", "divide", "hypot", "logaddexp", "maximum", "minimum", "multiply", "pow"),
            *("remainder", "subtract"),
        )
    },
    "copysign by a constant": (lambda xp, x: xp.copysign(x, -1.0), [(2, 3)]),
    "clip": (lambda xp, x: xp.clip(x, 0.3, 0.6) + xp.clip(x, min=0.4) * xp.clip(x, max=0.5), [(2, 3)]),
    "clip by arrays": (lambda xp, x, low, high: xp.clip(x, low, high + 0.3), [(2, 3), (3,), ()]),
    "operators": (lambda xp, x, y: -x + 2 * y - x / y + 1 / x + x**2 + 2.0**y + x**y + abs(x) + x % y, [(2, 3), (3,)]),
}

STATISTICS = {
    **{
        f"{name} {options}": (lambda xp, x, name=name, options=options: getattr(xp, name)(x, **options), [(2, 3, 2)])
        for name in ("max", "mean", "min", "prod", "std", "sum", "var")
        for options in ({}, {"axis": 1}, {"axis": (0, -1), "keepdims": True})
    },
    "var, correction": (lambda xp, x: xp.var(x, axis=0, correction=1.0), [(3, 2)]),
    "std, correction": (lambda xp, x: xp.std(x, correction=1.0), [(3, 2)]),
    "cumulative_sum": (lambda xp, x: xp.cumulative_sum(x, axis=1), [(2, 3)]),
    "cumulative_sum, initial": (lambda xp, x: xp.cumulative_sum(x, axis=0, include_initial=True), [(2, 3)]),
    "cumulative_prod": (lambda xp, x: xp.cumulative_prod(x, axis=1), [(2, 3)]),
    "cumulative_prod, initial": (lambda xp, x: xp.cumulative_prod(x, axis=0, include_initial=True), [(2, 3)]),
    "diff": (lambda xp, x: xp.diff(x, n=2, axis=0), [(4, 2)]),
    "diff, prepend": (lambda xp, x, y: xp.diff(x, axis=0, prepend=y, append=y), [(3, 2), (1, 2)]),
}

LINEAR_ALGEBRA = {
    "matmul": (lambda xp, a, b: xp.matmul(a, b) + a @ b, [(2, 3), (3, 4)]),
    "matmul, stacks": (lambda xp, a, b: a @ b, [(2, 2, 3), (3, 2)]),
    "matmul, vectors": (lambda xp, a, b, c: (a @ b) * (b @ c), [(2, 3), (3,), (3,)]),
    "tensordot": (lambda xp, a, b: xp.tensordot(a, b, axes=((1, 0), (0, 2))), [(2, 3, 2), (3, 1, 2)]),
    "tensordot, 1": (lambda xp, a, b: xp.tensordot(a, b, axes=1), [(2, 3), (3, 2)]),
    "vecdot": (lambda xp, a, b: xp.vecdot(a, b), [(2, 3), (3,)]),
    "matrix_transpose": (lambda xp, a: xp.matrix_transpose(a) + a.mT, [(2, 3, 2)]),
    "linalg.cholesky": (lambda xp, a: xp.linalg.cholesky(spd(xp, a)), [(3, 3)]),
    "linalg.cross": (lambda xp, a, b: xp.linalg.cross(a, b), [(2, 3), (2, 3)]),
    "linalg.det": (lambda xp, a: xp.linalg.det(a), [(2, 3, 3)]),
    "linalg.diagonal": (lambda xp, a: xp.linalg.diagonal(a, offset=1), [(2, 3, 4)]),
    "linalg.eigh": (lambda xp, a: xp.linalg.eigh(spd(xp, a)).eigenvalues, [(3, 3)]),
    "linalg.eigh, vectors": (lambda xp, a: xp.square(xp.linalg.eigh(spd(xp, a)).eigenvectors), [(3, 3)]),
    "linalg.eigvalsh": (lambda xp, a: xp.linalg.eigvalsh(spd(xp, a)), [(2, 3, 3)]),
    "linalg.inv": (lambda xp, a: xp.linalg.inv(spd(xp, a)), [(2, 2, 2)]),
    "linalg.matmul": (lambda xp, a, b: xp.linalg.matmul(a, b), [(2, 3), (3, 2)]),
    **{
        f"linalg.matrix_norm {order}": (lambda xp, a, order=order: xp.linalg.matrix_norm(a, ord=order), [(2, 4, 3)])
        for order in ("fro", "nuc", 1, -1, 2, -2, float("inf"), -float("inf"))
    },
    "linalg.matrix_power": (lambda xp, a: xp.linalg.matrix_power(spd(xp, a), -2), [(2, 2)]),
    "linalg.matrix_transpose": (lambda xp, a: xp.linalg.matrix_transpose(a), [(2, 3)]),
    "linalg.outer": (lambda xp, a, b: xp.linalg.outer(a, b), [(2,), (3,)]),
    "linalg.pinv": (lambda xp, a: xp.linalg.pinv(a), [(2, 3)]),
    "linalg.qr": (lambda xp, a: xp.square(xp.linalg.qr(a).R), [(3, 2)]),
    "linalg.qr, Q": (lambda xp, a: xp.abs(xp.linalg.qr(a).Q), [(3, 2)]),
    "linalg.slogdet": (lambda xp, a: xp.linalg.slogdet(a).logabsdet, [(2, 3, 3)]),
    "linalg.solve": (lambda xp, a, b: xp.linalg.solve(spd(xp, a), b), [(2, 3, 3), (3, 2)]),
    "linalg.solve, vector": (lambda xp, a, b: xp.linalg.solve(spd(xp, a), b), [(3, 3), (3,)]),
    "linalg.svd": (lambda xp, a: xp.linalg.svd(a, full_matrices=False).S, [(3, 2)]),
    "linalg.svd, vectors": (lambda xp, a: xp.square(xp.linalg.svd(a, full_matrices=False).U), [(3, 2)]),
    "linalg.svdvals": (lambda xp, a: xp.linalg.svdvals(a), [(2, 2, 3)]),
    "linalg.tensordot": (lambda xp, a, b: xp.linalg.tensordot(a, b, axes=1), [(2, 3), (3, 2)]),
    "linalg.trace": (lambda xp, a: xp.linalg.trace(a, offset=1), [(2, 3, 3)]),
    "linalg.vecdot": (lambda xp, a, b: xp.linalg.vecdot(a, b, axis=0), [(3, 2), (3, 2)]),
    **{
        f"linalg.vector_norm {order}": (
            lambda xp, a, order=order: xp.linalg.vector_norm(a, axis=1, ord=order, keepdims=True),
            [(2, 3)],
        )
        for order in (1, 2, 3.5, float("inf"), -float("inf"), -1)
    },
}

MANIPULATION = {
    "broadcast_arrays": (lambda xp, x, y: sum(xp.broadcast_arrays(x, y)), [(2, 1), (3,)]),
    "broadcast_to": (lambda xp, x: xp.broadcast_to(x, (2, 3)), [(3,)]),
    "concat": (lambda xp, x, y: xp.concat([x, y], axis=1), [(2, 1), (2, 3)]),
    "concat, flat": (lambda xp, x, y: xp.concat((x, y), axis=None), [(2, 1), (3,)]),
    "expand_dims": (lambda xp, x: xp.expand_dims(x, axis=1), [(2, 3)]),
    "flip": (lambda xp, x: xp.flip(x) * xp.flip(x, axis=1), [(2, 3)]),
    "moveaxis": (lambda xp, x: xp.moveaxis(x, 0, -1), [(2, 3, 4)]),
    "permute_dims": (lambda xp, x: xp.permute_dims(x, (2, 0, 1)), [(2, 3, 4)]),
    "repeat": (lambda xp, x: xp.repeat(x, 2, axis=1), [(2, 3)]),
    "repeat, counts": (lambda xp, x: xp.repeat(x, xp.asarray([1, 0, 3]), axis=1), [(2, 3)]),
    "reshape": (lambda xp, x: xp.reshape(x, (3, -1)), [(2, 3)]),
    "roll": (lambda xp, x: xp.roll(x, 1) + xp.roll(x, (1, -1), axis=(0, 1)), [(2, 3)]),
    "squeeze": (lambda xp, x: xp.squeeze(x, axis=1), [(2, 1, 3)]),
    "stack": (lambda xp, x, y: xp.stack([x, y], axis=-1), [(2, 3), (2, 3)]),
    "tile": (lambda xp, x: xp.tile(x, (2, 1, 2)), [(2, 3)]),
    "unstack": (lambda xp, x: sum(xp.square(part) for part in xp.unstack(x, axis=1)), [(2, 3)]),
    "T": (lambda xp, x: x.T, [(2, 3)]),
    "tril": (lambda xp, x: xp.tril(x, k=-1), [(3, 4)]),
    "triu": (lambda xp, x: xp.triu(x, k=1), [(2, 3, 3)]),
    "meshgrid": (lambda xp, x, y: sum(xp.meshgrid(x, y, indexing="ij")), [(2,), (3,)]),
}

CHOICES = {
    "take": (lambda xp, x: xp.take(x, xp.asarray([2, 0, 2, -1]), axis=1), [(2, 3)]),
    "take_along_axis": (
        lambda xp, x: xp.take_along_axis(x, xp.asarray([[0, 0, 2], [1, 2, 1]]), axis=1),
        [(2, 3)],
    ),
    "take the largest": (lambda xp, x: xp.take_along_axis(x, xp.argsort(x, axis=0), axis=0), [(3, 2)]),
    "where": (lambda xp, x, y: xp.where(x > y, x, y * y), [(2, 3), (3,)]),
    "where, constants": (lambda xp, x: xp.where(x > 0.5, x, 0.0) + xp.where(x > 0.5, 1, x), [(2, 3)]),
    "unique_all": (lambda xp, x: xp.unique_all(xp.concat([x, x], axis=0)).values, [(2, 3)]),
    "unique_counts": (lambda xp, x: xp.unique_counts(x).values, [(2, 3)]),
    "unique_inverse": (lambda xp, x: xp.unique_inverse(x).values, [(2, 3)]),
    "unique_values": (lambda xp, x: xp.unique_values(x), [(2, 3)]),
    "sort": (lambda xp, x: xp.sort(x, axis=0), [(3, 2)]),
    "sort, descending": (lambda xp, x: xp.flip(xp.sort(x)), [(2, 3)]),
    "x[i]": (lambda xp, x: x[1] + x[-1, ...] * x[0, :], [(2, 3)]),
    "x[i:j:-k]": (lambda xp, x: x[::-1, None, 2::-2] * x[-99:99, 1:0:-1, None] + x[2, 99:-99:-1, None], [(4, 3)]),
    "x[i:j:k]": (lambda xp, x: x[::2, 1:] * x[::-2, :-1] + x[-99:99:2, None, 1][..., 0, None], [(4, 3)]),
    "x[array]": (lambda xp, x: x[xp.asarray([0, 2, 0, -1])], [(3, 2)]),
    "x[:, array]": (lambda xp, x: x[:, xp.asarray([[0, 1], [1, 1]])], [(2, 2, 2)]),
    "x[array, array]": (lambda xp, x: x[xp.asarray([0, 1, 0]), xp.asarray([1, 2, 1])], [(2, 3)]),
    "x[mask]": (lambda xp, x: x[x > 0.5], [(3, 3)]),
    "elements": (lambda xp, x: sum(x[i] * x[2 - i] for i in range(3)) + sum(x), [(3,)]),
}

CREATION = {
    "zeros_like": (lambda xp, x: x * x + xp.zeros_like(x), [(2, 3)]),
    "ones_like": (lambda xp, x: x * xp.ones_like(x), [(2, 3)]),
    "full_like": (lambda xp, x: x * xp.full_like(x, 2.5), [(2, 3)]),
    "full_like of a number": (lambda xp, x: xp.full_like(x, x[0, 1] * x[1, 1]), [(2, 3)]),
    "empty_like": (lambda xp, x: x + 0.0 * xp.where(True, 1.0, xp.empty_like(x)), [(2, 3)]),
    "arange": (lambda xp, x: x * xp.arange(3, dtype=x.dtype), [(2, 3)]),
    "eye": (lambda xp, x: x @ xp.eye(3, dtype=x.dtype), [(2, 3)]),
    "linspace": (lambda xp, x: x * xp.linspace(0.0, 1.0, 3, dtype=x.dtype), [(2, 3)]),
    "astype": (lambda xp, x: xp.astype(x, xp.float64) * 2.0, [(2, 3)]),
}

FOURIER = {
    "fft.fft": (lambda xp, x: parts(xp, xp.fft.fft(x, n=5, axis=0)), [(4, 2)]),
    "fft.ifft": (lambda xp, x: parts(xp, xp.fft.ifft(x * (1 + 2j), norm="ortho")), [(2, 4)]),
    "fft.rfft": (lambda xp, x: parts(xp, xp.fft.rfft(x)), [(2, 4)]),
    "fft.irfft": (lambda xp, x: xp.fft.irfft(x * (1 + 2j), n=5, norm="forward"), [(2, 3)]),
    "fft.hfft": (lambda xp, x: xp.fft.hfft(x * (1 + 2j), n=4), [(2, 3)]),
    "fft.ihfft": (lambda xp, x: parts(xp, xp.fft.ihfft(x)), [(2, 4)]),
    "fft.fftn": (lambda xp, x: parts(xp, xp.fft.fftn(x * (1 + 2j), axes=(0, 1))), [(2, 3)]),
    "fft.ifftn": (lambda xp, x: parts(xp, xp.fft.ifftn(x * (1 + 2j), s=(3, 3), axes=(0, 1))), [(2, 3)]),
    "fft.rfftn": (lambda xp, x: parts(xp, xp.fft.rfftn(x)), [(2, 3)]),
    "fft.irfftn": (lambda xp, x: xp.fft.irfftn(x * (1 + 2j), axes=(0, 1)), [(2, 3)]),
    "fft.fftshift": (lambda xp, x: xp.fft.fftshift(x), [(2, 3)]),
    "fft.ifftshift": (lambda xp, x: xp.fft.ifftshift(x, axes=1), [(2, 3)]),
}

COMPLEX = {
    name: (lambda xp, x, y, f=f: parts(xp, f(xp, x + 1j * y)), [(2, 3), (2, 3)])
    for name, f in {
        **{
            f"{name} of complex": (lambda xp, z, name=name: getattr(xp, name)(z))
            for name in (
                *("abs", "acosh", "asin", "atanh", "conj", "cos", "exp", "expm1", "imag", "log", "log1p", "negative"),
                *("prod", "real", "reciprocal", "sign", "sinh", "sqrt", "square", "sum", "tan", "tanh"),
            )
        },
        "products of complex": lambda xp, z: xp.vecdot(z, 1j * z) + xp.matmul(z, z.T)[0, :1] + z[:, 1] / z[:, 2] ** 2,
        "parts of complex": lambda xp, z: z.real * z.imag + z[::-1, :] + xp.where(z.real > 0.5, z, 2.0),
    }.items()
}

CASES = ELEMENTWISE | STATISTICS | LINEAR_ALGEBRA | MANIPULATION | CHOICES | CREATION | FOURIER | COMPLEX


def spd(xp, a):
    """A symmetric positive definite matrix."""
    return a @ xp.matrix_transpose(a) + xp.eye(a.shape[-1], dtype=a.dtype)


def parts(xp, z):
    """The real and the imaginary part, of which each derivative is real."""
    return xp.real(z) + 2.0 * xp.imag(z)
