"""Arrays to be written to, and the functions and methods that write: NumPy's values, and derivatives by differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import shiftreset_ad as sr
from shiftreset_ad import grad, jvp, value_and_grad
from shiftreset_ad.numbers import writing as in_place
from shiftreset_ad.numbers.number import Number
from shiftreset_ad.testing import check_grads

X = np.array([[0.3, -0.6, 1.1], [0.9, 0.2, -1.4]])
MASK = np.array([[True, False, True], [False, False, True]])


def put_along(y: Any, x: Any) -> None:
    np.put_along_axis(y, np.array([[2], [0]]), x[:, :1] ** 2, 1)


def put_along_flat(y: Any, x: Any) -> None:
    np.put_along_axis(y, np.array([4, 1]), x[0, :2] ** 2, None)


def many_at_once(y: Any, x: Any) -> None:
    index = np.arange(18) % 3
    np.add.at(y[0], index, np.sin(x[0][index]) * np.linspace(0.0, 1.0, 18))


def many_factors(y: Any, x: Any) -> None:
    index = np.zeros(6, int)
    np.multiply.at(y[0], index, 1.0 + 1e-3 * np.sin(x[0][index]))


STATEMENTS: dict[str, Any] = {
    "item": lambda y, x: y.__setitem__((0, 1), x[1, 2] ** 2),
    "negative item": lambda y, x: y.__setitem__((-1, -1), x[0, 0] ** 2),
    "row": lambda y, x: y.__setitem__(0, x[1] ** 2),
    "column": lambda y, x: y.__setitem__((slice(None), 1), x[:, 0] ** 2),
    "slice with step": lambda y, x: y.__setitem__((slice(None), slice(None, None, -2)), x[:, :2] ** 2),
    "new axis": lambda y, x: y.__setitem__((None, 0), x[1:] ** 2),
    "everything": lambda y, x: y.__setitem__(Ellipsis, x[0] ** 2),
    "more axes of one": lambda y, x: y.__setitem__(0, (x[1] ** 2)[None, None]),
    "mask": lambda y, x: y.__setitem__(MASK, x[MASK] ** 2),
    "mask of rows": lambda y, x: y.__setitem__(np.array([False, True]), x[0] ** 2),
    "indices": lambda y, x: y.__setitem__(([0, 1], [2, 0]), x[0, :2] ** 2),
    "repeated indices": lambda y, x: y.__setitem__(([0, 1, 0], [2, 0, 2]), x[0] ** 2),
    "repeated rows": lambda y, x: y.__setitem__([1, 0, 1, -1], np.stack([x[0], x[1], x[0] ** 2, x[1] ** 2])),
    "indices beside a slice": lambda y, x: y.__setitem__((slice(None), [2, 2, 0]), x**2),
    "distinct indices beside a slice": lambda y, x: y.__setitem__((slice(None), [2, 0, -2]), x**2),
    "distinct indices, and one element for all": lambda y, x: y.__setitem__((slice(None), [2, 0]), x[0, 0] ** 2),
    "distinct indices, and a row for all": lambda y, x: y.__setitem__([-1, 0], (x[1] ** 2)[None]),
    "distinct indices parted by a slice": lambda y, x: np.reshape(y, (1, 2, 3)).__setitem__(
        ([0, 0], slice(None), [2, 1]), x[:, :2].T ** 2
    ),
    "a range of indices": lambda y, x: y.__setitem__((slice(None), range(2)), x[:, 1:] ** 2),
    "one position twice, from both ends": lambda y, x: y.__setitem__([1, -1], x**2),
    "table of indices": lambda y, x: y.__setitem__((0, np.array([[0, 1], [1, 0]])), x[:, :2] ** 2),
    "list of numbers": lambda y, x: y.__setitem__(0, [x[0, 0], 2.0, x[1, 1] * x[0, 0]]),
    "constant": lambda y, x: y.__setitem__((slice(None), 0), [7, 8]),
    "swap": lambda y, x: y.__setitem__([0, 1], y[[1, 0]]),
    "shifted onto itself": lambda y, x: y.__setitem__((slice(None), slice(1, None)), y[:, :-1]),
    "shifted back": lambda y, x: y.__setitem__((slice(None), slice(None, -1)), y[:, 1:]),
    "copyto": lambda y, x: np.copyto(y, x**2),
    "copyto where": lambda y, x: np.copyto(y, x[0] ** 2, where=MASK),
    "put": lambda y, x: np.put(y, [0, 4, -1], x[0] ** 2),
    "put repeated": lambda y, x: np.put(y, [0, 4, 0], x[0] ** 2),
    "put fewer": lambda y, x: np.put(y, [0, 4, 1], x[0, :2] ** 2),
    "put wrapped": lambda y, x: np.put(y, [7, -9], x[0, :2] ** 2, mode="wrap"),
    "put clipped": lambda y, x: np.put(y, [7, -9], x[0, :2] ** 2, mode="clip"),
    "put nothing": lambda y, x: np.put(y, [], x[0]),
    "place": lambda y, x: np.place(y, MASK, x[0, :2] ** 2),
    "place nothing": lambda y, x: np.place(y, MASK & False, x[0]),
    "putmask": lambda y, x: np.putmask(y, MASK, x**2),
    "putmask repeated": lambda y, x: np.putmask(y, MASK, x[0, :2] ** 2),
    "fill_diagonal": lambda y, x: np.fill_diagonal(y, x[0, 0] ** 2),
    "fill_diagonal of a tall one": lambda y, x: np.fill_diagonal(y.T, x[0, :2] ** 2, wrap=True),
    "put_along_axis": put_along,
    "put_along_axis of all": put_along_flat,
    "fill": lambda y, x: y.fill(x[0, 0] ** 2),
    "method sort": lambda y, x: y.sort(axis=0),
    "method sort of all": lambda y, x: np.ravel(y).sort(),
    "method partition": lambda y, x: y.partition(1),
    "method put": lambda y, x: y.put([0, 5], x[0, :2] ** 2),
    "out": lambda y, x: np.multiply(x, x, out=y),
    "out in a tuple": lambda y, x: np.multiply(x, 2.0, out=(y,)),
    "out of constants": lambda y, x: np.add(1.0, np.ones(3), out=y),
    "out is an operand": lambda y, x: np.multiply(y, x, out=y),
    "out broadcast": lambda y, x: np.multiply(x[0], 2.0, out=y),
    "out where": lambda y, x: np.sqrt(x, out=y, where=x > 0.25),
    "out where divided": lambda y, x: np.divide(1.0, np.where(MASK, x, 0.0), out=y, where=MASK),
    "out of a reduction": lambda y, x: np.sum(x, axis=0, out=y[1]),
    "out of a method": lambda y, x: x.sum(axis=0, out=y[0]),
    "out of ufunc.reduce": lambda y, x: np.multiply.reduce(x, axis=0, out=y[0]),
    "out of a product": lambda y, x: np.matmul(x, x.T, out=y[:, :2]),
    "out of concatenate": lambda y, x: np.concatenate([x[:1] ** 2, x[1:]], out=y),
    "out of two": lambda y, x: np.modf(x * 3.0, out=(y, None)),
    "add.at": lambda y, x: np.add.at(y, (0, 1), x[0, 0] ** 2),
    "add.at repeated": lambda y, x: np.add.at(y, ([0, 1, 0], [1, 1, 1]), x[0] ** 2),
    "add.at rows": lambda y, x: np.add.at(y, [0, 1, 0], x[0] ** 2),
    "add.at often": many_at_once,
    "subtract.at": lambda y, x: np.subtract.at(y, [0, 0], x**2),
    "multiply.at repeated": lambda y, x: np.multiply.at(y, ([0, 1, 0], [1, 1, 1]), x[0]),
    "multiply.at often": many_factors,
    "maximum.at": lambda y, x: np.maximum.at(y, [0, 1, 1], x[0]),
    "add.at of itself": lambda y, x: np.add.at(y, [0, 1, 0], y[0]),
    "add.at of a row of itself": lambda y, x: np.add.at(y[0], [1, 2, 1], y[0]),
    "add.at of itself reversed": lambda y, x: np.add.at(y[0], [1, 2, 1], y[0, ::-1]),
    "add.at of an element of itself": lambda y, x: np.add.at(y[0], [1, 2, 1], y[0, 1, ...]),
    "multiply.at of itself": lambda y, x: np.multiply.at(y[1], [0, 2, 0, 0], y[1, :1]),
    "subtract.at of a part of itself": lambda y, x: np.subtract.at(y, ([0, 0, 1], [1, 1, 2]), y[0]),
    "add.at of itself, often": lambda y, x: np.add.at(y[0], np.zeros(6, int), np.broadcast_to(y[0, 0, ...], 6)),
    "copyto where, of integers": lambda y, x: np.copyto(y, x**2, where=[[1, 0, 1], [0, 0, 1]]),
    "put of itself": lambda y, x: np.put(y[0], [1, 2, 0], y[0, :2]),
    "place of itself reversed": lambda y, x: np.place(y, MASK, y[0, ::-1]),
    "putmask of itself": lambda y, x: np.putmask(y[0], MASK[0], y[0, :2]),
    "copyto of itself": lambda y, x: np.copyto(y[:, 1:], y[:, :-1]),
    "put in what has no dimensions": lambda y, x: np.put(y[0, 1, ...], [0, 0], x[0, :2] ** 2),
    "nan_to_num": lambda y, x: np.nan_to_num(y, copy=False),
    "nan_to_num of a view": lambda y, x: np.multiply(np.nan_to_num(y[0], False), x[0], out=y[1]),
    "negative.at": lambda y, x: np.negative.at(y, [0, 0, 1]),
}


def written(statement: Any, to_zeros: bool = False) -> Any:
    def f(x: Any) -> Any:
        y = np.zeros_like(x) if to_zeros else x * 2.0
        statement(y, x)
        return np.sum(y * np.arange(1.0, 7.0).reshape(2, 3) + y**2)

    return f


@pytest.fixture(autouse=True)
def six_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mentions of one position from which on their sum is taken at once."""
    monkeypatch.setattr(in_place, "MANY", 5)


def assert_same_value(name: str, f: Any) -> None:
    """A sum taken at once is taken in another order than NumPy's."""
    np.testing.assert_allclose(value_and_grad(f)(X)[0], f(X), rtol=1e-14 if name == "add.at often" else 0.0)


@pytest.mark.parametrize("to_zeros", [False, True], ids=["to values", "to zeros"])
@pytest.mark.parametrize("name", STATEMENTS)
def test_statements(name: str, to_zeros: bool) -> None:
    f = written(STATEMENTS[name], to_zeros)
    assert_same_value(name, f)
    check_grads(f, (X,), order=2, eps=1e-3)  # of polynomials and sines, by few differences


@pytest.mark.parametrize("name", STATEMENTS)
def test_statements_without_memory_of_its_own_are_the_readers_to_see(name: str) -> None:
    """What is written to a view is seen in the array, and the other way round."""

    def f(x: Any) -> Any:
        whole = np.concatenate([x, x]) * 2.0
        part, other = whole[1:3], whole.T
        STATEMENTS[name](part, x)
        return np.sum(whole**2 * np.arange(12.0).reshape(4, 3)) + np.sum(np.sin(other[0]))

    assert_same_value(name, f)
    check_grads(f, (X,), order=1)


# Making arrays


def threes_like(x: Any, **options: Any) -> Any:
    return np.full_like(x, 3.0, **options)


@pytest.mark.parametrize("function", [np.zeros_like, np.ones_like, np.empty_like, threes_like])
def test_arrays_like_a_number(function: Any) -> None:
    seen = []

    def f(x: Any) -> Any:
        for like in (x, x[0], x.T, x[0, 0]):
            y = function(like)
            assert isinstance(y, Number)
            assert (y.shape, y.dtype) == (like.shape, like.dtype)
            y[...] = like * 2.0
            seen.append(y)
        assert function(x, shape=(5,)).shape == (5,)
        assert function(x, dtype=np.float32).dtype == np.float32
        assert type(function(x, dtype=int)) is np.ndarray
        return np.sum(seen[-3]) + np.sum(seen[-4] * x)

    np.testing.assert_allclose(grad(f)(X), 4.0 * X + np.array([[2.0] * 3, [0.0] * 3]))
    jvp(f, (X,), (X,))


def test_zeros() -> None:
    assert type(sr.zeros(3)) is np.ndarray
    assert sr.zeros((2, 3), np.float32).dtype == np.float32

    def f(x: Any) -> Any:
        assert type(sr.zeros(3, int)) is np.ndarray
        y = sr.zeros((2, 2), complex)
        y[0, 1] = x * 1j
        assert isinstance(sr.zeros(3), Number)
        return np.imag(np.sum(y * y * 1j))

    assert grad(f)(2.0) == -4.0
    assert jvp(f, (2.0,), (1.0,)) == (-4.0, -4.0)
    assert type(sr.zeros(3)) is np.ndarray


# What is not written


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        (lambda y, x: np.copyto(np.zeros((2, 3)), x), r"numpy\.copyto: .*does not fit in a plain array.*zeros"),
        (lambda y, x: np.put(np.zeros(3), [0], x[0, 0]), r"numpy\.put: .*plain array"),
        (lambda y, x: np.add.at(np.zeros(3), [0], x[0, 0]), r"numpy\.add\.at: .*plain array"),
        (lambda y, x: np.add(x, 1.0, out=np.zeros((2, 3))), r"numpy\.add: .*plain array.*y = f\(x\)"),
        (lambda y, x: y.__setitem__(0, 1j * x[0]), r"x\[i\] = v: v is complex.*numpy\.real"),
        (lambda y, x: np.copyto(y, 1j), "Cannot cast"),
        (lambda y, x: y.__setitem__(0, "a"), r"x\[i\] = v: a str cannot be written"),
        (lambda y, x: y.__setitem__(0, None), r"x\[i\] = v: a NoneType cannot be written"),
        (lambda y, x: y[0, 0].__setitem__(0, 1.0), r"x\[i\] = v: x is a scalar"),
        (lambda y, x: x.__setitem__(0, 1.0), r"the memory of x is an argument.*y = x\.copy\(\)"),
        (lambda y, x: x[0].fill(1.0), r"x\.fill\(v\): the memory of x is an argument"),
        (lambda y, x: np.reshape(x, -1).put([0], 1.0), r"numpy\.put\(x, i, v\): the memory of x is an argument"),
    ],
)
def test_errors(statement: Any, message: str) -> None:
    def f(x: Any) -> Any:
        y = x * 2.0
        statement(y, x)
        return np.sum(y)

    before = X.copy()
    for derivative in (grad(f), lambda x: jvp(f, (x,), (x,)), grad(lambda x: np.sum(grad(f)(x)))):
        with pytest.raises(TypeError, match=message):
            derivative(X)
    np.testing.assert_array_equal(X, before)


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        (lambda y, x: y.__setitem__(5, 1.0), IndexError),
        (lambda y, x: y.__setitem__((0, [3]), x[0, 0]), IndexError),
        (lambda y, x: y.__setitem__(([0, 0], [1, -4]), x[0, 0]), IndexError),
        (lambda y, x: y.__setitem__((0, 0, 0), x[0, 0]), IndexError),
        (lambda y, x: y.__setitem__(0, np.ones(4)), ValueError),
        (lambda y, x: y.__setitem__(0, x), ValueError),
        (lambda y, x: np.put(y, [6], x[0, 0]), IndexError),
        (lambda y, x: np.add(x, 1.0, out=y[0]), ValueError),
        (lambda y, x: np.place(y, MASK, []), ValueError),
    ],
)
def test_errors_of_numpys_own(statement: Any, kind: Any) -> None:
    def f(x: Any) -> Any:
        y = x * 2.0
        with pytest.raises(kind):
            statement(y, x)
        return np.sum(y)

    assert f(X) == value_and_grad(f)(X)[0]
    np.testing.assert_array_equal(grad(f)(X), 2.0 * np.ones((2, 3)))


@pytest.mark.parametrize("values", [lambda y: y[:2], lambda y: y[1:], lambda y: y[1, ...]])
def test_values_that_numpy_overwrites_before_it_has_read_them(values: Any) -> None:
    def f(x: Any, copies: bool) -> Any:
        y = x * 2.0
        v = values(np.ravel(y))
        np.place(y, MASK, v.copy() if copies else v)
        return np.sum(y**2)

    check_grads(lambda x: f(x, True), (X,), order=1)
    for derivative in (grad, lambda f: lambda x: jvp(f, (x,), (x,))):
        with pytest.raises(ValueError, match=r"numpy\.place: the values have memory .*numpy\.place\(x, mask, v\.copy"):
            derivative(lambda x: f(x, False))(X)
