"""Functions of NumPy and SciPy in a staged loop: the loop is written down once, and its derivatives are right."""

import numpy as np
import pytest

import shiftreset_ad as sr
from shiftreset_ad import grad, nn, optimize, staged
from shiftreset_ad.scipy import special, stats
from tests.staging.native.natively import needs_native

A = np.array([[2.0, 0.3], [0.1, 1.5]])
KNOTS, VALUES = np.array([0.0, 0.5, 1.0]), np.array([0.0, 0.3, 1.0])


def gram(x):
    return A @ A.T + np.outer(x, x)


FUNCTIONS = {
    "abs": lambda x: np.abs(x - 0.5),
    "sign": lambda x: x * np.sign(x),
    "max": lambda x: x * np.max(x),
    "min": lambda x: x * np.min(x),
    "argmax": lambda x: x * x[np.argmax(x)],
    "maximum": lambda x: np.maximum(x, 0.5) * 0.9,
    "fmax": lambda x: np.fmax(x, 0.5) * 0.9,
    "clip": lambda x: np.clip(x * 1.5, -1.0, 1.0),
    "where": lambda x: np.where(x > 0.5, np.sqrt(np.abs(x)), x * x),
    "select": lambda x: np.select([x < 0.2, x < 0.6], [x, x * 0.5], x * 0.3),
    "hypot": lambda x: np.hypot(x, 0.5) * 0.6,
    "arctan2": lambda x: np.arctan2(x, 0.5),
    "power": lambda x: np.abs(x) ** 1.5,
    "mod": lambda x: np.mod(x * 3.0, 1.0),
    "floor": lambda x: x * np.floor(x + 1.5) * 0.4,
    "round": lambda x: x * np.round(x + 0.8) * 0.6,
    "modf": lambda x: np.modf(x * 2.3)[0],
    "cbrt": lambda x: np.cbrt(x) * 0.8,
    "log1p": lambda x: np.log1p(x),
    "expm1": lambda x: np.expm1(x) * 0.5,
    "logaddexp": lambda x: np.logaddexp(x, 0.1) * 0.6,
    "sinc": lambda x: np.sinc(x),
    "i0": lambda x: np.i0(x) * 0.4,
    "prod": lambda x: x * np.prod(x),
    "mean": lambda x: x - 0.5 * np.mean(x),
    "var": lambda x: x + np.var(x),
    "std": lambda x: x * 0.5 + np.std(x) * 0.1,
    "median": lambda x: x * 0.5 + np.median(x) * 0.1,
    "percentile": lambda x: x * np.percentile(x, 30),
    "nansum": lambda x: x * np.nansum(x),
    "nanmean": lambda x: x * np.nanmean(x),
    "cumsum": lambda x: np.cumsum(x) * 0.4,
    "cumprod": lambda x: np.cumprod(x) * 1.3,
    "diff": lambda x: np.concatenate([x[:1], np.diff(x)]),
    "sort": lambda x: np.sort(x) * 0.9,
    "interp": lambda x: np.interp(x, KNOTS, VALUES),
    "searchsorted": lambda x: x * (1.0 + 0.1 * np.searchsorted(KNOTS, x)),
    "polyval": lambda x: np.polyval([0.3, 0.2], x),
    "convolve": lambda x: np.convolve(x, [0.2, 0.5], "same"),
    "pad": lambda x: np.pad(x, 1)[1:3] * 0.8,
    "roll": lambda x: np.roll(x, 1) * 0.7,
    "repeat": lambda x: np.repeat(x, 2)[1:3] * 0.7,
    "tile": lambda x: np.tile(x, 2)[1:3] * 0.7,
    "stack": lambda x: np.stack([x, x * 0.5])[1],
    "outer": lambda x: np.outer(x, x) @ x * 0.4,
    "kron": lambda x: np.kron(x, x)[:2] * 0.9,
    "einsum": lambda x: np.einsum("ij,j->i", A, x) * 0.3,
    "tensordot": lambda x: np.tensordot(A, x, 1) * 0.3,
    "triu": lambda x: np.triu(np.outer(x, x)) @ x,
    "diag": lambda x: np.diag(x) @ x * 0.9,
    "norm": lambda x: x / np.linalg.norm(x),
    "solve": lambda x: np.linalg.solve(gram(x), x),
    "inv": lambda x: np.linalg.inv(gram(x)) @ x,
    "cholesky": lambda x: np.linalg.cholesky(gram(x)) @ x * 0.2,
    "slogdet": lambda x: x * 0.1 * np.linalg.slogdet(gram(x))[1],
    "det": lambda x: x * np.linalg.det(gram(x)) * 0.1,
    "complex numbers": lambda x: np.real(np.exp(1j * x)),
    "fft": lambda x: np.real(np.fft.ifft(np.fft.fft(x) ** 2)),
    "single precision": lambda x: (x.astype(np.float32) * np.float32(0.5)).astype(np.float64),
    "gammaln": lambda x: special.gammaln(x + 1.2),
    "expit": lambda x: special.expit(x),
    "erf": lambda x: special.erf(x),
    "logsumexp": lambda x: x - special.logsumexp(x),
    "norm.logpdf": lambda x: stats.norm.logpdf(x) * 0.3,
    "softmax": lambda x: nn.softmax(x) * 2.0,
    "gelu": lambda x: nn.gelu(x),
    "grad": lambda x: grad(lambda y: np.sum(np.sin(y) * y))(x) * 0.3,
    "jacobian": lambda x: sr.jacobian(lambda y: np.sin(y) * y)(x) @ x * 0.3,
    "hessian": lambda x: sr.hessian(lambda y: np.sum(np.sin(y) * y))(x) @ x * 0.1,
    "vmap": lambda x: sr.vmap(grad(lambda y: np.sin(y) * y))(x) * 0.3,
    "stop_gradient": lambda x: x * sr.stop_gradient(np.sin(x)),
    "checkpoint": lambda x: sr.checkpoint(np.sin)(x),
}
WITH_LOOPS_OF_THEIR_OWN = {
    "linear_solve": lambda x: optimize.linear_solve(lambda v: A @ v, x) * 0.5,
    "root": lambda x: optimize.root(lambda y: y + 0.1 * y**3 - x, x) * 0.5,
    "fixed_point": lambda x: optimize.fixed_point(lambda y: 0.5 * np.cos(y) + x * 0.1, x),
}
NATIVE = [
    *("abs", "max", "min", "argmax", "maximum", "where", "power", "mod", "floor", "cbrt", "log1p"),
    *("prod", "mean", "diff", "repeat", "roll", "outer", "erf", "expit", "gammaln", "softmax"),
    *("sign", "clip", "round", "var", "std", "cumsum", "cumprod", "norm", "norm.logpdf", "gelu", "logsumexp"),
    *("grad", "jacobian", "hessian", "vmap", "stop_gradient", "checkpoint"),
]
START = np.array([0.4, 0.7])


def repeated(function):
    def f(x, n):
        i = 0
        while i < n:
            x = function(x)
            i = i + 1
        return np.sum(x)

    return f


def in_a_direction(f):
    return lambda x, n: sr.hvp(lambda x: f(x, n), (x,), (np.array([0.3, -0.8]),))


def check(derivative):
    g = staged(derivative)
    for n in (3, 2, 4, 1):
        np.testing.assert_allclose(g(START, n), derivative(START, n), rtol=1e-9, atol=1e-12)
    return g


@pytest.mark.slow_but_every(3)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_loop_is_written_down_once(name):
    assert len(check(grad(repeated(FUNCTIONS[name]))).sources) == 1


@pytest.mark.slow_but_every(3)
@needs_native
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", NATIVE)
def test_native_code(name):
    assert "no native code" not in check(grad(repeated(FUNCTIONS[name]))).llvm[0]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_second_derivatives(name):
    assert len(check(in_a_direction(repeated(FUNCTIONS[name]))).sources) == 1


@pytest.mark.slow_but_every(3)
@pytest.mark.parametrize("name", WITH_LOOPS_OF_THEIR_OWN)
def test_what_asks_for_values_is_right(name):
    check(grad(repeated(WITH_LOOPS_OF_THEIR_OWN[name])))


def through_knots(x, n):
    """Doubled below 1, so that a round in two or three is at a knot."""
    i = 0
    while i < n:
        x = np.interp(x, [0.0, 0.5, 1.0, 4.0], [0.0, 1.0, 2.0, 7.0])
        i = i + 1
    return np.sum(x)


def with_missing_elements(x, n):
    i = 0
    while i < n:
        x = 0.6 * x + 0.1 * np.nansum(np.where(x > 0.5, np.nan, x))
        i = i + 1
    return np.sum(x)


@pytest.mark.parametrize("program", [through_knots, with_missing_elements])
def test_what_holds_in_some_rounds_alone(program):
    g = staged(grad(program))
    x = np.array([0.125, 0.3])
    for n in (1, 3, 5, 2, 4):
        np.testing.assert_allclose(g(x, n), grad(program)(x, n), rtol=1e-12)
    assert len(g.sources) == 1
