"""Products of numbers with constant sparse arrays of SciPy's, of each format, in every mode and to any order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from shiftreset_ad import (
    checkpoint,
    grad,
    hessian,
    hvp,
    jacfwd,
    jacobian,
    jacrev,
    jvp,
    linearize,
    staged,
    taylor,
    value_and_grad,
    vjp,
)

sparse = pytest.importorskip("scipy.sparse")

A = np.array([[1.0, 0.0, 2.0], [0.0, -3.0, 0.0], [0.0, 0.0, 0.0], [0.5, 1.0, 0.0]])
X, DIRECTION = np.array([0.3, -1.2, 0.8]), np.array([1.0, 0.5, -2.0])
KINDS = [f"{name}_{kind}" for name in ("csr", "csc", "coo", "bsr", "dia", "lil", "dok") for kind in ("array", "matrix")]


def close(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)


class Dense:
    """The same products by NumPy."""

    __array_ufunc__ = None
    T = property(lambda self: Dense(self.array.T))

    def __init__(self, array: Any) -> None:
        self.array = array

    def __matmul__(self, other: Any) -> Any:
        return np.matmul(self.array, other)

    def __rmatmul__(self, other: Any) -> Any:
        return np.matmul(other, self.array)

    __mul__, __rmul__, dot = __matmul__, __rmatmul__, __matmul__


PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {
    "S @ x": lambda x, s: s @ x,
    "x @ S": lambda x, s: x @ s.T,
    "S.dot(x)": lambda x, s: s.dot(x),
    "S @ matrix": lambda x, s: s @ np.outer(x, x),
    "matrix @ S": lambda x, s: np.outer(x, x[:2]).T @ s.T,
    "S.T @ S @ x": lambda x, s: s.T @ (s @ np.sin(x)),
}
OF_MATRICES = {"S * x": lambda x, s: s * x, "x * S": lambda x, s: x * s.T}


@pytest.mark.filterwarnings("ignore::scipy.sparse.SparseEfficiencyWarning")
@pytest.mark.parametrize(
    ("kind", "name"),
    [(kind, name) for kind in KINDS for name in (PROGRAMS if kind.endswith("array") else PROGRAMS | OF_MATRICES)],
)
def test_derivatives(kind, name):
    f = (PROGRAMS | OF_MATRICES)[name]
    s, dense = getattr(sparse, kind)(A), Dense(A)

    def g(x):
        return np.sum(np.sin(f(x, s)))

    def expected(x):
        return np.sum(np.sin(f(x, dense)))

    along = jvp(expected, (X,), (DIRECTION,))[1]
    close(value_and_grad(g)(X)[0], expected(X))
    close(grad(g)(X), grad(expected)(X))
    close(grad(checkpoint(g))(X), grad(expected)(X))
    close(jvp(g, (X,), (DIRECTION,))[1], along)
    close(linearize(g, X)[1](DIRECTION), along)
    close(vjp(lambda x: f(x, s), X)[1](f(X, dense))[0], vjp(lambda x: f(x, dense), X)[1](f(X, dense))[0])
    close(jacobian(lambda x: f(x, s))(X), jacobian(lambda x: f(x, dense))(X))
    for outer in (jacfwd, jacrev):
        close(outer(lambda x: f(x, s))(X), jacobian(lambda x: f(x, dense))(X))
        for inner in (jacfwd, jacrev):
            close(outer(inner(g))(X), hessian(expected)(X))
    close(hvp(g, (X,), (DIRECTION,)), hvp(expected, (X,), (DIRECTION,)))
    close(taylor(lambda t: g(X + t * DIRECTION), 0.0, 4), taylor(lambda t: expected(X + t * DIRECTION), 0.0, 4))

    def third(h):
        return grad(lambda x: hvp(h, (x,), (DIRECTION,)) @ DIRECTION)(X)

    close(third(g), third(expected))


@pytest.mark.parametrize("kind", ["csr_array", "csc_matrix", "coo_array", "dia_array", "lil_matrix"])
def test_an_array_that_is_written_to_afterwards(kind):
    """The way back needs it as it was, also in a loop."""

    def f(x):
        s, total = getattr(sparse, kind)(A), 0.0
        for factor in (1.0, 2.0, 2.0):
            y = s @ x
            total = total + np.sum(np.sin(y)) + np.sum((x @ s.T) ** 2)
            if kind == "lil_matrix":
                s[1, 1] = factor
            else:
                s.data *= factor
        return total

    def expected(x):
        total = 0.0
        for a in (A, A if kind != "lil_matrix" else changed(1.0), A * 2.0 if kind != "lil_matrix" else changed(2.0)):
            total = total + np.sum(np.sin(a @ x)) + np.sum((a @ x) ** 2)
        return total

    def changed(entry):
        a = A.copy()
        a[1, 1] = entry
        return a

    close(grad(f)(X), grad(expected)(X))
    close(hessian(f)(X), hessian(expected)(X))
    _, pullback = vjp(f, X)
    for _ in range(2):
        close(pullback(1.0)[0], grad(expected)(X))


def test_vectors():
    vector = sparse.csr_array(np.array([1.0, 0.0, 2.0]))
    plain = vector.toarray()
    for s in (vector, vector.tocoo()):
        close(grad(lambda x, s=s: np.sin(s @ x))(X), grad(lambda x: np.sin(plain @ x))(X))
        close(jacobian(lambda x, s=s: s @ np.outer(x, x))(X), jacobian(lambda x: plain @ np.outer(x, x))(X))
        close(jacobian(lambda x, s=s: np.outer(x, x) @ s)(X), jacobian(lambda x: np.outer(x, x) @ plain)(X))


def test_a_single_row_has_an_axis():
    row = sparse.coo_array(A[:1])
    assert jacobian(lambda x: row @ x)(X).shape == (1, 3)
    close(grad(lambda x: (row @ x)[0])(X), A[0])


def test_complex_numbers_are_not_conjugated():
    a = A * (1 + 2j)
    s = sparse.csr_array(a)
    close(grad(lambda x: np.sum(np.abs(s @ x) ** 2))(X), grad(lambda x: np.sum(np.abs(a @ x) ** 2))(X))
    z = X + 1j * DIRECTION
    close(grad(lambda x: np.sum(np.abs(s @ x) ** 2))(z), grad(lambda x: np.sum(np.abs(a @ x) ** 2))(z))
    close(grad(lambda z: np.sum(s @ z), holomorphic=True)(z), np.sum(a, axis=0))


def test_dtypes():
    integers = sparse.csr_array(A.astype(int))
    close(jacobian(lambda x: integers @ x)(X), A.astype(int))
    single = sparse.csr_array(A.astype(np.float32))
    gradient = grad(lambda x: np.sum(single @ x))(X.astype(np.float32))
    assert gradient.dtype == np.float32
    close(gradient, np.sum(A, axis=0))


def test_errors_are_those_of_scipy():
    s = sparse.csr_array(A)
    for f in (lambda x: s @ x[:2], lambda x: x @ s, lambda x: s @ x.reshape(1, 3), lambda x: s @ x[0]):
        with pytest.raises(ValueError) as theirs:  # noqa: PT011 (its text is compared)
            f(X)
        with pytest.raises(ValueError, match=r"dimension mismatch|Scalar operands") as ours:
            grad(lambda x: np.sum(f(x)))(X)  # noqa: B023
        assert str(ours.value) == str(theirs.value)
    with pytest.raises(NotImplementedError, match="if neither has more than two dimensions"):
        grad(lambda x: np.sum(s @ x.reshape(3, 1, 1)))(X)


def test_it_is_run_as_it_is_where_it_is_staged():
    s = sparse.csr_array(A)
    gradient = staged(grad(lambda x: np.sum(np.sin(s @ x))))
    with pytest.warns(UserWarning, match="it calls a function with a csr_array"):
        close(gradient(X), grad(lambda x: np.sum(np.sin(A @ x)))(X))
    s.data[0] = 5.0
    close(gradient(X), grad(lambda x: np.sum(np.sin(s.toarray() @ x)))(X))


def test_scipy_is_not_imported_for_it():
    import subprocess
    import sys

    program = "import sys, shiftreset_ad as sr; sr.grad(lambda x: x * 2)(1.0); assert 'scipy' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)
