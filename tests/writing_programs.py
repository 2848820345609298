"""Random programs that write to arrays, through views of views, and programs as NumPy's users write them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import shiftreset_ad as sr

VIEWS: list[Callable[[Any], Any]] = [
    lambda a: a[1:],
    lambda a: a[::-1],
    lambda a: a[..., :-1],
    lambda a: a[0],
    lambda a: a[..., 0],
    lambda a: a[()],
    lambda a: a[None],
    lambda a: a.T,
    lambda a: a.real,
    lambda a: list(a)[-1],
    lambda a: a.reshape(-1, 1),
    lambda a: np.ravel(a),
    lambda a: np.ravel(a, order="F"),
    lambda a: np.reshape(a, (-1,) if a.ndim > 1 else (1, -1)),
    lambda a: np.reshape(a, (-1, len(a)), order="F"),
    lambda a: np.swapaxes(a, 0, -1),
    lambda a: np.moveaxis(a, 0, -1),
    lambda a: np.transpose(a, np.roll(np.arange(a.ndim), 1)),
    lambda a: np.einsum("i...->...i", a),
    lambda a: np.rot90(a[None] if a.ndim == 1 else a, 1, (0, -1)),
    lambda a: np.squeeze(a[None]),
    lambda a: np.flip(a),
    lambda a: np.expand_dims(a, -1),
    lambda a: np.atleast_3d(a),
    lambda a: np.split(a, len(a))[-1],
    lambda a: np.array_split(a, 2, axis=-1)[0],
    lambda a: np.hsplit(a, [1])[-1],
]
SIGHTS: list[Callable[[Any], Any]] = [  # views that nobody can write to
    lambda a: np.diagonal(a[None] if a.ndim == 1 else a),
    lambda a: np.diagonal(a[None] if a.ndim == 1 else a, -1, 0, -1),
    lambda a: np.broadcast_to(a, (2, *a.shape)),
    lambda a: np.imag(a) if a.dtype.kind == "c" else np.broadcast_to(a[0], a.shape),
]
COPIES: list[Callable[[Any], Any]] = [
    lambda a: a * 2.0,
    lambda a: a * (0.5 + 1j),
    lambda a: a.copy(),
    lambda a: np.copy(a, order="F"),
    lambda a: a.flatten(),
    lambda a: np.sin(a),
    lambda a: np.conjugate(a),
    lambda a: a[[0, -1, 0]],
    lambda a: np.take(a, [0, -1], axis=-1),
    lambda a: np.concatenate([a, a]),
    lambda a: np.stack([a, a], axis=-1),
    lambda a: np.outer(a.ravel()[:3], a.ravel()[:3]),
    lambda a: np.zeros_like(a),
    lambda a: np.full_like(a, a.ravel()[0]),
    lambda a: sr.zeros(a.shape),
    lambda a: a + 0.0,
    lambda a: np.cumsum(a, axis=0),
    lambda a: np.repeat(a, 2, axis=-1),
]


def fits(given: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    """Whether an array of the `given` shape can be broadcast to `shape`."""
    try:
        return np.broadcast_shapes(given, shape) == shape
    except ValueError:
        return False


def write(a: Any, b: Any, generator: np.random.Generator) -> None:
    """Write to `a` something that is made of `b`, in a way that is taken by chance."""
    is_real = a.dtype.kind != "c"
    b = b.real if is_real else b
    scalar = np.sin(b[(0,) * b.ndim] if b.ndim else b)
    raw = b if fits(b.shape, a.shape) else scalar
    part = np.tanh(raw)
    i, j = (int(k) for k in generator.integers(-len(a), len(a), 2))
    mask = generator.random(a.shape) < 0.5
    many = generator.integers(0, len(a), 40)
    is_square = a.ndim == 2 and a.shape[0] == a.shape[1]
    match generator.integers(30):
        case 0:
            a[i] = scalar
        case 1:
            a[:] = part
        case 2:
            a += part
        case 3:
            a *= scalar + 1.5
        case 4:
            a[1:] = a[:-1]
        case 5:
            a[[i, j]] = a[[j, i]]
        case 6:
            a[mask] *= 0.5
        case 7:
            a[mask] = scalar
        case 8:
            np.add.at(a, [i, j, i], scalar)
        case 9:
            np.copyto(a, part, where=mask)
        case 10:
            np.multiply(a, part, out=a, where=mask)
        case 11:
            np.put(a, [i, j], scalar)
        case 12:
            a[::2] -= 0.25 * a[::2] ** 2
        case 13:
            a[...] = 0.75
        case 14:
            a[:-1] = a[1:]
        case 15:
            a[:] = raw
        case 16:
            np.add(a, raw, out=a)
        case 17:
            a[::-1] = a
        case 18:
            a[:] = a.T if is_square else a[::-1]
        case 19:
            np.subtract(a[::-1], a, out=a)
        case 20:
            np.put_along_axis(a, np.full((1, *a.shape[1:]), i % len(a)), scalar, 0)
        case 21:
            np.place(a, mask, np.stack([scalar, scalar * 2.0]))
        case 22:
            if is_real:
                a.sort(axis=0)
        case 23:
            if is_square:
                a @= 0.5 * np.eye(len(a)) + 0.1
        case 24:
            a[i], a[j] = a[j] * 1.0, a[i] * 1.0
        case 25:
            for row in a:
                if row.ndim:
                    row *= 0.9
        case 26:
            np.sin(a[:-1], out=a[1:])
        case 27:
            np.add.at(a, many, 0.01 * scalar)
        case 28:
            a[many] = scalar
        case 29:
            a[..., 0] = a[..., -1]


def random_program(seed: int, steps: int = 12) -> Callable[[Any], list[Any]]:
    """A function of an array that returns all the arrays it has made, views and all."""

    def program(x: Any) -> list[Any]:
        generator = np.random.default_rng(seed)
        arrays, is_writable = [x * 1.0], [True]

        def keep(array: Any, writable: bool) -> None:
            if array.ndim and 0 < array.size < 50:
                arrays.append(array)
                is_writable.append(writable)

        for _ in range(steps):
            place = generator.integers(len(arrays))
            a, b = arrays[place], arrays[generator.integers(len(arrays))]
            match generator.integers(8):
                case 0 | 1:
                    keep(VIEWS[generator.integers(len(VIEWS))](a), is_writable[place])
                case 2:
                    keep(SIGHTS[generator.integers(len(SIGHTS))](a), False)
                case 3 | 4:
                    keep(COPIES[generator.integers(len(COPIES))](a), True)
                case _ if is_writable[place]:
                    write(a, b, generator)
        return arrays

    return program


def total(program: Callable[[Any], list[Any]]) -> Callable[[Any], Any]:
    """The arrays of a program as one real scalar, in which each element counts differently."""

    def f(x: Any) -> Any:
        arrays = program(x)
        weights = (np.cos(np.arange(a.size) + k).reshape(a.shape) for k, a in enumerate(arrays))
        return sum((np.real(np.sum(w * (1 - 0.5j) * np.sin(a))) for w, a in zip(weights, arrays, strict=True)), 0.0)

    return f


# Programs as users of NumPy write them


def lu(a: Any) -> tuple[Any, list[int]]:
    """The LU factorisation in place, with partial pivoting, and the order of the rows."""
    a = a.copy()
    n = len(a)
    order = list(range(n))
    for k in range(n - 1):
        p = k + int(np.argmax(np.abs(a[k:, k])))
        if p != k:
            a[[k, p]] = a[[p, k]]
            order[k], order[p] = order[p], order[k]
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    return a, order


def log_determinant(a: Any) -> Any:
    factors, _ = lu(a)
    return np.sum(np.log(np.abs(np.diagonal(factors))))


def heat(u: Any, steps: int = 5) -> Any:
    """Explicit steps of the heat equation, on one array."""
    u = u.copy()
    for _ in range(steps):
        u[1:-1] += 0.2 * (u[2:] - 2.0 * u[1:-1] + u[:-2])
    return np.sum(u**3)


def edit_distance(costs: Any) -> Any:
    """The table of edit distances, with a soft minimum, in an array of zeros."""
    n, m = costs.shape
    table = sr.zeros((n + 1, m + 1))
    table[1:, 0] = np.arange(n) + 1.0
    table[0, 1:] = np.arange(m) + 1.0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            ways = np.exp(-table[i - 1, j] - 1.0) + np.exp(-table[i, j - 1] - 1.0)
            table[i, j] = -np.log(ways + np.exp(-table[i - 1, j - 1] - costs[i - 1, j - 1]))
    return table[n, m]


def smoothed_rows(a: Any) -> Any:
    b = 2.0 * a
    for row in b:
        row *= row[0]
        row[1:] += row[:-1]
    b[b > 1.0] = 0.5 * b[b > 1.0] ** 2
    b[[0, 1, 0]] = np.sin(b[[1, 0, 1]])
    return np.sum(b**3)


def aliases(a: Any) -> Any:
    b = a * 1.0
    transposed, backwards, flat = b.T, b[::-1], b.ravel()
    transposed[0] = b[1] * 2.0
    backwards[0] *= 3.0
    flat[2] = flat[0] * flat[1]
    transposed += b
    return np.sum(np.sin(b) * np.arange(b.size).reshape(b.shape))


USERS = {
    log_determinant: (4, 4),
    heat: (8,),
    edit_distance: (3, 2),
    smoothed_rows: (3, 3),
    aliases: (3, 3),
}
