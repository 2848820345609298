"""What is a view of its argument in NumPy is one here, of the value and of the tangent, and what is a copy is a copy.

That matters where one of them is written to.
"""

from __future__ import annotations

import numpy as np
import pytest

from shiftreset_ad import grad
from shiftreset_ad.modes.forward.number import NumF
from shiftreset_ad.numbers.tags import Tag
from shiftreset_ad.rules.table import functions_of

ROWS = np.array([[0, 1, 1], [1, 0, 1]])
MASK = np.array([[True, False, True], [False, False, True]])

# Of an array of shape (2, 3)
CALLS = {
    # Views, always or in some layouts
    "reshape": lambda a: np.reshape(a, (3, 2)),
    "reshape F": lambda a: np.reshape(a, (3, 2), order="F"),
    "reshape -1": lambda a: a.reshape(-1),
    "reshape copy": lambda a: np.reshape(a, (3, 2), copy=True),
    "reshape no copy": lambda a: np.reshape(a, (1, 2, 3), copy=False),
    "ravel": np.ravel,
    "ravel F": lambda a: np.ravel(a, order="F"),
    "a.ravel": lambda a: a.ravel(),
    "squeeze": lambda a: np.squeeze(a[:, :1]),
    "expand_dims": lambda a: np.expand_dims(a, (0, 2)),
    "atleast_1d": np.atleast_1d,
    "atleast_2d": np.atleast_2d,
    "atleast_3d": np.atleast_3d,
    "transpose": np.transpose,
    "a.T": lambda a: a.T,
    "a.mT": lambda a: a.mT,
    "permute_dims": lambda a: np.permute_dims(a, (1, 0)),
    "matrix_transpose": lambda a: np.matrix_transpose(a),
    "swapaxes": lambda a: np.swapaxes(a, 0, 1),
    "moveaxis": lambda a: np.moveaxis(a, 0, 1),
    "rollaxis": lambda a: np.rollaxis(a, 1),
    "rollaxis nowhere": lambda a: np.rollaxis(a, 1, 2),
    "flip": np.flip,
    "flip no axis": lambda a: np.flip(a, ()),
    "fliplr": np.fliplr,
    "flipud": np.flipud,
    **{f"rot90 {k}": lambda a, k=k: np.rot90(a, k) for k in range(-1, 5)},
    "einsum, transposed": lambda a: np.einsum("ij->ji", a),
    "einsum, as it is": lambda a: np.einsum("ij", a),
    "broadcast_to": lambda a: np.broadcast_to(a, (4, 2, 3)),
    "broadcast_arrays": lambda a: np.broadcast_arrays(a, np.ones((4, 1, 1)))[0],
    "broadcast_arrays of one shape": lambda a: np.broadcast_arrays(a, a)[0],
    "diagonal": np.diagonal,
    "diagonal of an offset": lambda a: a.diagonal(1),
    "diag of a matrix": lambda a: np.diag(a, -1),
    "split": lambda a: np.split(a, 2)[1],
    "array_split": lambda a: np.array_split(a, 2, axis=1)[0],
    "hsplit": lambda a: np.hsplit(a, 3)[0],
    "vsplit": lambda a: np.vsplit(a, 2)[0],
    "dsplit": lambda a: np.dsplit(a[:, :, None], 1)[0],
    "real": np.real,
    "real_if_close": np.real_if_close,
    "meshgrid without copies": lambda a: np.meshgrid(a[0], [1.0, 2.0], copy=False)[0],
    "ix_": lambda a: np.ix_(a[0], a[1])[1],
    "trim_zeros": lambda a: np.trim_zeros(a[0]),
    "a[i]": lambda a: a[1],
    "a[...]": lambda a: a[..., None, ::-1],
    # Copies
    "copy": np.copy,
    "a.copy": lambda a: a.copy(),
    "flatten": lambda a: a.flatten(),
    "flatten F": lambda a: a.flatten("F"),
    "astype": lambda a: a.astype(float),
    "take": lambda a: np.take(a, 1, axis=0),
    "take all": lambda a: np.take(a, [0, 1], axis=0),
    "take_along_axis": lambda a: np.take_along_axis(a, ROWS, 0),
    "a[[i]]": lambda a: a[[0, 1]],
    "a[mask]": lambda a: a[MASK],
    "compress": lambda a: np.compress([True, True], a, axis=0),
    "extract": lambda a: np.extract(MASK, a),
    "choose": lambda a: np.choose(MASK, [a, a]),
    "select": lambda a: np.select([MASK], [a]),
    "piecewise": lambda a: np.piecewise(a, [MASK], [lambda x: x]),
    "where": lambda a: np.where(MASK, a, a),
    "delete": lambda a: np.delete(a, [], axis=0),
    "insert": lambda a: np.insert(a, [], 1.0, axis=0),
    "append": lambda a: np.append(a, [[1.0, 2.0, 3.0]], axis=0),
    "repeat": lambda a: np.repeat(a, 1, axis=0),
    "tile": lambda a: np.tile(a, 1),
    "tile of one": lambda a: np.tile(a[:1, :1], (3, 1)),
    "tile of many": lambda a: np.tile(a, (2, 1)),
    "roll": lambda a: np.roll(a, 0),
    "resize": lambda a: np.resize(a, (2, 3)),
    "pad": lambda a: np.pad(a, 0),
    "pad edge": lambda a: np.pad(a, 1, "edge"),
    "concatenate": lambda a: np.concatenate([a]),
    "stack": lambda a: np.stack([a]),
    "block": lambda a: np.block([a]),
    "block of an array": np.block,
    "diagflat": np.diagflat,
    "diag of a vector": lambda a: np.diag(a[0]),
    "tril": np.tril,
    "triu": np.triu,
    "conjugate": np.conjugate,
    "meshgrid": lambda a: np.meshgrid(a[0])[0],
    "full_like": lambda a: np.full_like(a, a),
    "linspace": lambda a: np.linspace(a, a, 1),
    "apply_along_axis": lambda a: np.apply_along_axis(lambda row: row, 1, a),
    **{name: lambda a, f=f: f(a)[1] for name, f in zip(["unstack"], functions_of("unstack"), strict=False)},
    **{
        f"astype, copy={copy}": lambda a, f=f, copy=copy: f(a, np.float64, copy=copy)
        for f in functions_of("astype")
        for copy in (False, True)
    },
}
LAYOUTS = {
    "C": lambda x: np.ascontiguousarray(x),
    "F": lambda x: np.asfortranarray(x),
    "part": lambda x: np.repeat(np.repeat(x, 2, axis=0), 3, axis=1)[::2, ::3],
    "reversed": lambda x: np.ascontiguousarray(x[::-1, ::-1])[::-1, ::-1],
}
NOT_YET = {
    name
    for name, since in {"reshape copy": "2.1.0", "reshape no copy": "2.1.0"}.items()
    if np.lib.NumpyVersion(np.__version__) < since
}


def strides_of(y):
    """Of the axes that have more than one element."""
    return [stride for size, stride in zip(y.shape, y.strides, strict=True) if size > 1]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", sorted(CALLS.keys() - NOT_YET))
def test_views_and_copies_are_those_of_numpy(name, layout):
    f, lie = CALLS[name], LAYOUTS[layout]
    x = lie(np.arange(1.0, 7.0).reshape(2, 3))
    plain = f(x)
    shares, strides = np.shares_memory(plain, x), strides_of(plain)

    # Forward mode, with a tangent that lies as the value does
    x_dot = lie(np.arange(11.0, 17.0).reshape(2, 3))
    tag = Tag.around([])
    y = f(NumF(x, x_dot, tag))
    tag.finish()
    np.testing.assert_array_equal(y.primal, plain)
    assert np.shares_memory(y.primal, x) == shares
    assert np.shares_memory(y.tangent, x_dot) == shares
    if shares:  # the same view
        assert strides_of(y.primal) == strides_of(y.tangent) == strides
        np.testing.assert_array_equal(y.tangent, f(x_dot))

    def reverse(number):
        y = f(number)
        assert np.shares_memory(y.primal, number.primal) == shares
        assert not shares or strides_of(y.primal) == strides
        return np.sum(y)

    grad(reverse)(x)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", ["real", "imag", "a.real", "real_if_close"])
def test_parts_of_complex_numbers_are_views(name, layout):
    f = {"real": np.real, "imag": np.imag, "a.real": lambda z: z.real, "real_if_close": np.real_if_close}[name]
    z, z_dot = (LAYOUTS[layout](part) for part in (np.arange(6.0).reshape(2, 3) + 0j, np.full((2, 3), 1.0 + 2.0j)))
    tag = Tag.around([])
    y = f(NumF(z, z_dot, tag))
    tag.finish()
    assert np.shares_memory(y.primal, z)
    assert np.shares_memory(y.tangent, z_dot)


def test_calls_are_of_both_kinds():
    """The table would be of no use if it had only views, or only copies."""
    x = np.arange(1.0, 7.0).reshape(2, 3)
    shared = [np.shares_memory(CALLS[name](x), x) for name in CALLS.keys() - NOT_YET]
    assert sum(shared) > 30
    assert len(shared) - sum(shared) > 30
