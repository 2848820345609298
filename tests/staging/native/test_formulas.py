"""Functions that are made of others have the bits of NumPy's, SciPy's and our own functions."""

import numpy as np
import pytest
import scipy.special

from shiftreset_ad import grad, hvp, nn, staged
from shiftreset_ad.rules.conversion import constant_of
from shiftreset_ad.rules.linalg.norms import length
from shiftreset_ad.rules.numpy.accumulations import running_product
from shiftreset_ad.rules.numpy.statistics import all_equal
from shiftreset_ad.scipy import special
from shiftreset_ad.staging.native import formulas
from shiftreset_ad.staging.native.compiled import _are_same
from shiftreset_ad.staging.native.layouts import Layout, broadcast
from shiftreset_ad.staging.native.llvm import NoNativeFormError
from tests.staging.native.natively import calls_pay, eagerly, native, needs_native

pytestmark = needs_native
RNG = np.random.default_rng(0)
V, A, S = RNG.normal(size=9), RNG.normal(size=(23, 37)), RNG.normal(size=(3, 4, 5))
HOLES = np.where(RNG.normal(size=(4, 6)) > 0.5, np.nan, RNG.normal(size=(4, 6)))
ZEROS = np.array([0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5])
FUNCTIONS = {
    "clip": lambda x: np.clip(x, -0.5, 0.75),
    "clip by arrays": lambda x: np.clip(x, -np.abs(x[:1]), np.abs(x[-1:])),
    "clip from one side": lambda x: (np.clip(x, None, 0.5), np.clip(x, 0.0, None)),
    "sign": lambda x: (np.sign(x), x * np.sign(x)),
    "a constant sign": lambda x: constant_of(x, np.sign) * x,
    "round": lambda x: (np.round(2.0 * x), (3.0 * x).round()),
    "var": lambda x: (np.var(x), x.var(), np.var(x, ddof=1)),
    "var along axes": lambda x: (np.var(x, axis=0), np.var(x, axis=-1, keepdims=True), x.var(axis=0, ddof=2)),
    "std": lambda x: (np.std(x), x.std(axis=0), np.std(x, axis=-1, keepdims=True, ddof=1)),
    "whether all are equal": lambda x: (all_equal(x, (0,), True), constant_of(x, all_equal, (x.ndim - 1,), True)),
    "cumsum": lambda x: (np.cumsum(x, axis=0), np.cumsum(x, axis=-1), x.cumsum(axis=0) * 2.0),
    "cumsum of all": lambda x: (np.cumsum(x), x.cumsum()),
    "cumprod": lambda x: (np.cumprod(x, axis=0), np.cumprod(x), running_product(x)),
    "any and all": lambda x: (
        np.any(x > 1.0),
        np.all(x > -5.0),
        np.any(x),
        np.all(x),
        (x > 5.0).any(),
        (x < 9.0).all(),
    ),
    "any and all along axes": lambda x: (
        np.any(x > 0.5, axis=0),
        np.all(x < 1.0, axis=-1, keepdims=True),
        np.all(x, axis=0),
        np.where(np.any(x > 0.9, axis=-1, keepdims=True), x, 0.0),
    ),
    "norm": lambda x: (np.linalg.norm(x), x / np.linalg.norm(x)),
    "length along an axis": lambda x: (length(x, (0,), False), length(x, (x.ndim - 1,), True)),
    "error function": lambda x: (nn.gelu(x), scipy.special.erf(x)),
    "other names": lambda x: (np.amax(x, axis=0), np.amin(x), np.amin(x, axis=-1, keepdims=True), np.around(2.0 * x)),
    "ptp": lambda x: (np.ptp(x), np.ptp(x, axis=0), np.ptp(x, axis=-1, keepdims=True)),
    "diff": lambda x: (np.diff(x), np.diff(x, axis=0), np.diff(x.T)),
    "reduce": lambda x: (
        np.add.reduce(x),
        np.maximum.reduce(x, axis=-1),
        np.multiply.reduce(x, axis=0, keepdims=True),
        np.minimum.reduce(x, 0),
    ),
    "views": lambda x: (np.var(x.T), np.linalg.norm(x.T), np.all(x.T > 0.0, axis=0), np.cumsum(x.T, axis=0)),
}
MATRICES_ONLY = {"any and all along axes"}


def check(f, *points, leaves=0):
    """That native code, made at the first point, has the bits of the function, but where it leaves."""
    entry = native(f, *points[0]).entry()
    answers = [entry(*args) for args in points]
    assert answers.count(None) == leaves
    for args, found in zip(points, answers, strict=True):
        with np.errstate(all="ignore"):
            assert found is None or _are_same(found, eagerly(f, *args)), (args, found, eagerly(f, *args))


@pytest.mark.parametrize("x", [A, S, HOLES, V, ZEROS], ids=["matrix", "three axes", "NaN", "vector", "ties"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_values(name, x):
    if name in MATRICES_ONLY and x.ndim == 1:
        pytest.skip("it keeps an axis")
    with np.errstate(all="ignore"):
        check(FUNCTIONS[name], (x,), (-x,), (np.exp(x),))


def test_axes_that_are_not_the_last_ones():
    f = lambda x: (np.var(x, axis=(1, 2)), np.all(x > 0.0, axis=(0, 2)), np.any(x > 1.0, axis=1), np.cumsum(x, axis=1))  # noqa: E731
    check(f, (S,), (-S,))


MATRICES = {
    "dot": lambda x, y: (np.dot(x, y), x.dot(y)),
    "dot of the transposed": lambda x, y: (np.dot(y.T, x.T), np.dot(x, x.T), np.dot(x.T, x)),
    "inner": lambda x, y: (np.inner(x, y.T), np.inner(x, x)),
    "trace": lambda x, y: (np.trace(x), y.trace(), np.trace(x @ y)),
    "vdot": lambda x, y: (np.vdot(x, 2.0 * x), np.vdot(y, y)),
    "matrix and vector": lambda x, y: (
        np.dot(x, y[:, 0]),
        np.dot(x[0], y),
        np.inner(x, x[-1]),
        np.dot(y[:, -1], y[:, 0]),
    ),
}


@pytest.mark.slow_but_every(3)
@pytest.mark.parametrize("m", [1, 2, 5, 23])
@pytest.mark.parametrize("n", [1, 3, 40])
@pytest.mark.parametrize("name", MATRICES)
def test_functions_of_matrices(name, m, n):
    for k in (1, 2, 17):
        x, y = RNG.normal(size=(m, k)), RNG.normal(size=(k, n))
        for points in ((x, y), (np.asfortranarray(x), y), (x, np.asfortranarray(y))):
            if name != "vdot" or all(z.flags.c_contiguous for z in points):
                check(MATRICES[name], points, (-points[0], points[1] * 3.0))


@pytest.mark.parametrize("name", ["other names", "ptp", "diff", "reduce"])
def test_python_is_not_called(name):
    """It would have the right bits, too."""
    assert not native(FUNCTIONS[name], A).by_python


@pytest.mark.parametrize("name", MATRICES)
def test_python_is_not_called_for_matrices(name):
    assert not native(MATRICES[name], A, RNG.normal(size=(37, 5))).by_python


def test_dot_of_matrices_with_gaps_is_numpys_own():
    """NumPy copies them before the product, and so rounds in another way."""
    f = staged(
        lambda x, y: np.sum(np.dot(np.sin(x)[:, ::2], np.cos(y)[::2])) + np.vdot(x.T, x.T) + np.sum(np.exp(-x * x))
    )
    x, y = RNG.normal(size=(5, 8)), RNG.normal(size=(8, 3))
    for k in (1.0, 2.0, 3.0, 4.0):
        assert f(k * x, y) == eagerly(lambda x: np.sum(np.dot(np.sin(x)[:, ::2], np.cos(y)[::2])), k * x)[0] + np.vdot(
            k * x.T, k * x.T
        ) + np.sum(np.exp(-k * x * k * x))


OF_ONE_NUMBER = {
    "clip": lambda x: np.sum(np.clip(x, -0.5, 0.75) * x),
    "sign": lambda x: np.sum(x * np.sign(x)),
    "var": lambda x: np.var(x) * x[0, 0] + np.sum(np.var(x, axis=0, ddof=1)),
    "std": lambda x: np.std(x) * x[0, 0] + np.sum(np.std(x, axis=1)),
    "cumsum": lambda x: np.sum(np.cumsum(x, axis=0) * np.cumsum(x, axis=1)),
    "cumprod": lambda x: np.sum(np.cumprod(x, axis=1) * x),
    "norm": lambda x: np.linalg.norm(x) * 0.5 + np.sum(np.linalg.norm(x, axis=1)),
    "gelu": lambda x: np.sum(nn.gelu(x) * x),
    "any": lambda x: np.sum(x * np.where(np.any(x > 1.0, axis=0), 2.0, 3.0)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", OF_ONE_NUMBER)
def test_derivatives(name):
    f = OF_ONE_NUMBER[name]
    check(grad(f), (A,), (-A,))
    check(lambda x, v: hvp(f, (x,), (v,)), (A, 0.5 - A))


REVERSED = ["cumsum", "cumprod"]  # a branch hands on an array whose elements lie from the last to the first one


@pytest.mark.parametrize("name", REVERSED)
def test_in_a_loop(name):
    f = OF_ONE_NUMBER[name]

    def repeated(x, n):
        i = 0
        while i < n:
            x = 0.5 * x * f(x) / (1.0 + f(x) * f(x))
            i = i + 1
        return np.sum(x * x)

    check_control_of_staged(grad(repeated), (S[0], 3), (-S[0], 5), (S[1], 0))


@pytest.mark.parametrize("name", [name for name in OF_ONE_NUMBER if name not in REVERSED])
def test_in_a_loop_with_a_branch(name):
    f = OF_ONE_NUMBER[name]

    def repeated(x, n):
        i = 0
        while i < n:
            x = 0.5 * x * f(x) / (1.0 + f(x) * f(x)) if np.any(x > 0.2) else x + 0.1
            i = i + 1
        return np.sum(x * x)

    check_control_of_staged(grad(repeated), (S[0], 3), (-S[0], 5), (S[1], 0))


def check_control_of_staged(f, *points):
    g = staged(f)
    for _ in range(3):
        for point in points:
            np.testing.assert_allclose(g(*point), f(*point), rtol=1e-9, atol=1e-15)
    assert "no native code" not in "".join(g.llvm)


def test_a_loop_until_all_are_small():
    def f(x):
        count = 0.0
        while np.any(np.abs(x) > 0.1):
            x = x * 0.5
            count = count + 1.0
        return x * count

    def g(x):
        return grad(lambda x: np.sum(f(x)))(x)

    check_control_of_staged(g, (V,), (4.0 * V,), (0.01 * V,))


@pytest.mark.parametrize(
    ("f", "reason"),
    [
        (lambda x: np.var(x, ddof=9), "options"),
        (lambda x: np.round(x, 2), "decimals"),
        (lambda x: np.cumsum(x, dtype=np.float32), "float32"),
        (lambda x: np.linalg.norm(x[::-1]), "another order"),
        (lambda x: np.diff(x, n=2), "options"),
        (lambda x: np.diff(x, prepend=0.0), "options"),
        (lambda x: np.ptp(x, axis=(0,), out=None, keepdims=2), "options"),
        (lambda x: np.add.reduce(x, initial=1.0), "options"),
        (lambda x: np.add.reduce(x, axis=None), "options"),
        (lambda x: np.trace(x[:4].reshape(2, 2), 1), "options"),
        (lambda x: np.vdot(x[:4].reshape(2, 2).T, x[:4].reshape(2, 2)), "another order"),
        (lambda x: np.dot(x[::-1], x), "of these arrays"),
        (lambda x: np.dot(x, 2.0), "takes a float"),
    ],
)
def test_what_has_no_native_form(f, reason):
    with calls_pay(False), pytest.raises(NoNativeFormError, match=reason):
        native(f, V)


LARGE = np.array([1000.0, 1000.0, -1000.0, 999.5, 3.0])


@pytest.mark.parametrize("x", [A, S, V, ZEROS, LARGE, V[:1]], ids=["matrix", "axes", "vector", "ties", "large", "one"])
def test_logsumexp(x):
    f = special.logsumexp
    check(lambda x: (f(x), f(x, axis=0), f(x, axis=-1, keepdims=True), f(x, axis=(0,))), (x,), (-x,), (x * 30.0,))
    check(grad(lambda x: np.sum(f(x, axis=0, keepdims=True)) * f(x)), (x,), (-x,), (x * 30.0,))
    check(lambda x: hvp(lambda x: f(x) * f(x), (x,), (x * x,)), (x,), (-x,))


def test_logsumexp_leaves_where_it_is_not_finite():
    points = [[np.inf, 1.0, 2.0], [-np.inf, 0.5, 0.25], [np.nan, 1.0, 2.0], [-np.inf, -np.inf, -np.inf]]
    check(special.logsumexp, (np.ones(3),), *[(np.array(point),) for point in points], leaves=3)


def test_logsumexp_of_another_scipy(monkeypatch):
    monkeypatch.setattr(formulas, "is_scipys", lambda: False)
    with pytest.raises(NoNativeFormError, match="another formula"):
        native(special.logsumexp, V)
    with pytest.raises(NoNativeFormError, match="options"):
        native(lambda x: special.logsumexp(x, b=x), V)


def test_overflow_in_the_middle_leaves():
    check(lambda x: np.linalg.norm(x), (V,), (1e200 * V,), leaves=1)
    check(lambda x: np.var(x), (V,), (1e200 * V,), leaves=1)


def test_an_array_of_more_axes_does_not_broadcast():
    with pytest.raises(ValueError, match="does not fit"):
        broadcast(Layout((1, 3), (24, 8), 8), (3,))
    assert broadcast(Layout((1, 1), (8, 8), 8), ()) == (0, 0)
