"""The derivatives of `scipy.special` at special points and far out, against values computed with fifty digits."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import special

from shiftreset_ad import derivative, grad, hessian, jvp, taylor
from shiftreset_ad.rules.special.carlson import integral
from shiftreset_ad.rules.special.densities import scaled_power_near_zero
from shiftreset_ad.scipy import special as ours
from shiftreset_ad.scipy import stats

INF = math.inf

# f, x, f'(x), f''(x)
FAR_OUT = [
    (special.erfcx, 1e4, -5.6418957508491275e-9, 1.1283791332441388e-12),
    (special.erfcx, 5.0, -2.133278976482631e-2, 8.0813778178741508e-3),
    (special.dawsn, 30.0, -5.5648406355054791e-4, 3.7161010914522772e-5),
    (special.dawsn, -30.0, -5.5648406355054791e-4, -3.7161010914522772e-5),
    (special.log_ndtr, -40.0, 40.024968847207264, -0.99937733162140861),
    (special.log_ndtr, -1e4, 10000.000099999998, -0.9999999900000006),
    (special.log_ndtr, 30.0, 1.4736461348785475e-196, -4.4209384046356426e-195),
    (special.log_ndtr, 1e200, 0.0, 0.0),
    (special.ndtri_exp, -804.60844201375379, 0.024984404205720571, None),
    (special.expit, 40.0, math.exp(-40.0), -math.exp(-40.0)),
    (special.log_expit, 40.0, math.exp(-40.0), -math.exp(-40.0)),
    (special.expm1, -40.0, math.exp(-40.0), math.exp(-40.0)),
    (special.i0e, 1e4, -1.9947862106984188e-7, 2.9922541317535869e-11),
    (special.i0e, -1e4, 1.9947862106984188e-7, 2.9922541317535869e-11),
    (lambda x: special.ive(2.5, x), 1e3, -6.2511554407745223e-6, None),
    (special.k1e, 1e4, -6.2672756390660508e-7, None),
    (lambda x: special.gammainc(1e8, x), 1e8 + 1e4, 2.4195459407843491e-5, None),
    (lambda x: special.gammaincc(1e8, x), 1e8 + 1e4, -2.4195459407843491e-5, None),
    (lambda x: special.betainc(1e6, 2e6, x), 0.3333, 1454.9273505995528, None),
    (lambda x: special.betainc(1e6, 2.0, x), 0.999998, 270670.83715085335, None),
    (lambda t: special.stdtr(1e9, t), 1.5, 0.12951759565172574, None),
    (lambda a: special.betaln(a, 1e-6), 1e6, -1.0000004999996666e-12, None),
]


@pytest.mark.parametrize(("f", "x", "first", "second"), FAR_OUT)
def test_far_out(f, x, first, second):
    np.testing.assert_allclose(grad(f)(x), first, rtol=1e-11)
    np.testing.assert_allclose(grad(lambda x: np.sum(f(x)))(np.array([x, x])), [first, first], rtol=1e-11)
    if second is not None:
        np.testing.assert_allclose(grad(grad(f))(x), second, rtol=1e-10)


REMOVABLE = [
    (special.exprel, 0.0, 1 / 2, 1 / 3),
    (special.spence, 1.0, -1.0, 1 / 2),
    (special.ellipk, 0.0, math.pi / 8, math.pi * 9 / 64),
    (special.ellipe, 0.0, -math.pi / 8, -math.pi * 3 / 64),
    (special.ellipkm1, 1.0, -math.pi / 8, math.pi * 9 / 64),
    (
        lambda m: special.ellipkinc(1.2, m),
        0.0,
        (2.4 - math.sin(2.4)) / 8,
        (14.4 - 8 * math.sin(2.4) + math.sin(4.8)) * 3 / 128,
    ),
    (lambda a: special.agm(a, 2.0), 2.0, 1 / 2, -1 / 16),
    (lambda a: special.agm(a, -2.0), -2.0, 1 / 2, 1 / 16),
    (lambda y: special.elliprd(1.0, y, 1.0), 1.0, -3 / 10, None),
    (lambda x: special.elliprj(x, 1.0, 1.0, 1.0), 1.0, -3 / 10, None),
    (lambda x: special.elliprg(x, 1.0, 1.0), 1.0, 1 / 6, None),
    (lambda x: special.elliprc(1.0, x), 1.0, -1 / 3, None),
    (lambda x: special.boxcox(3.0, x), 0.0, math.log(3) ** 2 / 2, math.log(3) ** 3 / 3),
    (lambda x: special.inv_boxcox(1.5, x), 0.0, -1.125 * math.exp(1.5), None),
    (special.rgamma, -3.0, -6.0, 15.073412021181606),
    (lambda k: special.binom(5.0, k), 7.0, 1 / 42, -0.075850340136054422),
    (lambda n: special.binom(n, 2.0), 1.0, 1 / 2, 1.0),
    (lambda z: special.poch(z, 3.0), 0.0, 2.0, 6.0),
    (lambda x: special.sici(x)[0], 0.0, 1.0, 0.0),
    (lambda x: special.shichi(x)[0], 0.0, 1.0, 0.0),
    (special.beip, 0.0, 1 / 2, None),
    (special.lambertw, 0.0, 1.0, -2.0),
    (special.j0, 0.0, 0.0, -1 / 2),
    (special.i1, 0.0, 1 / 2, 0.0),
    (lambda x: ours.spherical_jn(1, x), 0.0, 1 / 3, 0.0),
    (lambda x: special.expn(0, x), 2.0, -3 / 4 * math.exp(-2.0), 5 / 4 * math.exp(-2.0)),
    (lambda x: special.gammainc(1.0, x), 0.0, 1.0, -1.0),
    (lambda x: special.gammainc(2.5, x), 0.0, 0.0, None),
    (lambda x: special.gammainc(20.0, x), 0.0, 0.0, None),
    (lambda x: special.betainc(1.0, 2.0, x), 0.0, 2.0, -2.0),
    (lambda x: special.tklmbda(x, 2.0), 0.7, 0.0, 0.0),
    (lambda x: special.eval_legendre(0, x), 0.3, 0.0, 0.0),
    (lambda x: special.eval_legendre(np.uint8(3), x), 0.5, (15 * 0.25 - 3) / 2, 7.5),
]


@pytest.mark.filterwarnings("ignore:divide by zero|invalid value:RuntimeWarning")
@pytest.mark.parametrize(("f", "x", "first", "second"), REMOVABLE)
def test_where_the_usual_formula_is_nothing_by_nothing(f, x, first, second):
    def real(x):
        return np.real(f(x))

    np.testing.assert_allclose(grad(real)(x), first, rtol=1e-12, atol=1e-15)
    if second is not None:
        np.testing.assert_allclose(grad(grad(real))(x), second, rtol=1e-10, atol=1e-14)


# f, the operands, the derivatives in both
AT_ZERO = [
    (special.xlogy, (0.0, 0.0), (0.0, 0.0)),
    (special.xlogy, (0.0, 2.0), (math.log(2), 0.0)),
    (special.xlogy, (2.0, 0.0), (-INF, INF)),
    (special.xlogy, (0.0, -1.0), (0.0, 0.0)),
    (special.xlog1py, (0.0, -1.0), (0.0, 0.0)),
    (special.xlog1py, (0.0, 1.0), (math.log(2), 0.0)),
    (special.rel_entr, (0.0, 0.0), (0.0, 0.0)),
    (special.rel_entr, (0.0, 2.0), (-INF, 0.0)),
    (special.rel_entr, (1e-300, 1e300), (1 - 600 * math.log(10), 0.0)),
    (special.kl_div, (0.0, 0.0), (0.0, 1.0)),
    (special.kl_div, (0.0, 2.0), (-INF, 1.0)),
    (special.kl_div, (2.0, 2.0), (0.0, 0.0)),
    (special.kl_div, (1.0, 1.0 + 2.0**-50), (-(2.0**-50), 2.0**-50)),
    (special.huber, (1.0, 1.0), (0.0, 1.0)),
    (special.huber, (1.0, -3.0), (2.0, -1.0)),
    (special.pseudo_huber, (0.0, 0.0), (0.0, 0.0)),
    (special.pseudo_huber, (0.0, -2.0), (2.0, 0.0)),
    (special.pseudo_huber, (1.0, 1e-4), (2.5e-17, 1e-4)),
    (special.boxcox, (0.0, 2.0), (0.0, 1 / 4)),
]


@pytest.mark.filterwarnings("ignore:divide by zero|invalid value:RuntimeWarning")
@pytest.mark.parametrize(("f", "operands", "slopes"), AT_ZERO)
def test_zeros_and_kinks(f, operands, slopes):
    np.testing.assert_allclose(grad(f, (0, 1))(*operands), slopes, rtol=1e-7)
    arrays = [np.array([x]) for x in operands]
    found = grad(lambda a, b: np.sum(f(a, b)), (0, 1))(*arrays)
    np.testing.assert_allclose(np.ravel(found), slopes, rtol=1e-7)


@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning")
def test_the_entropy_of_zero():
    assert special.entr(0.0) == 0.0
    assert grad(special.entr)(0.0) == INF


def test_a_term_that_does_not_count_leaves_no_nan():
    """The usual loss: probabilities that are exactly 0 in both places."""
    p = np.array([0.5, 0.5, 0.0])
    np.testing.assert_allclose(grad(lambda q: np.sum(special.rel_entr(p, q)))(p), [-1.0, -1.0, 0.0])
    np.testing.assert_allclose(hessian(lambda q: np.sum(special.xlogy(p, q)))(p), np.diag([-2.0, -2.0, 0.0]))


def test_the_series_meet_their_closed_forms():
    for f, x in ((special.erfcx, 8.0), (special.dawsn, 8.0), (special.k0e, 40.0), (special.i1e, 40.0)):
        for k in (1, 2):
            below, above = (derivative(f, k)(x * side) for side in (1 - 1e-15, 1 + 1e-15))
            np.testing.assert_allclose(below, above, rtol=1e-11)


def test_carlson_integrals():
    """Those that SciPy has, and one that diverges."""
    x, y, z = np.array([0.0, 1e-12, 2.0]), 1e5, np.array([[0.3], [4.0]])
    np.testing.assert_allclose(integral([x, y, z], (0.5, 0.5, 0.5)), 2.0 * special.elliprf(x, y, z), rtol=1e-13)
    np.testing.assert_allclose(integral([x, y, z], (0.5, 0.5, 1.5)), special.elliprd(x, y, z) * 2 / 3, rtol=1e-13)
    assert integral([0.0, 1.0, 2.0], (1.5, 0.5, 0.5)) == INF
    assert integral([np.zeros((0,)), 1.0], (0.5, 1.5)).shape == (0,)
    large = np.linspace(0.5, 2.0, 1000)
    np.testing.assert_allclose(
        integral([large, 1.0, 2.0], (0.5, 0.5, 0.5)), 2 * special.elliprf(large, 1, 2), rtol=1e-13
    )


def test_the_principal_value_of_carlson_integrals():
    f = special.elliprc
    np.testing.assert_allclose(grad(f, 1)(1.0, -2.0), (f(1.0, -2 + 1e-6) - f(1.0, -2 - 1e-6)) / 2e-6, rtol=1e-8)
    np.testing.assert_allclose(grad(f, 0)(1.0, -2.0), (f(1 + 1e-6, -2.0) - f(1 - 1e-6, -2.0)) / 2e-6, rtol=1e-8)
    with pytest.raises(NotImplementedError, match=r"scipy\.special\.elliprj has no derivative here for a negative p"):
        grad(special.elliprj, 3)(1.0, 2.0, 3.0, -1.0)


def test_options_and_methods_of_ufuncs():
    x = np.array([0.5, 2.0])
    np.testing.assert_allclose(
        grad(lambda x: np.sum(special.xlogy.outer(x, x)))(x), grad(lambda x: np.sum(special.xlogy(x[:, None], x)))(x)
    )
    with pytest.raises(TypeError, match=r"^scipy\.special\.erf: where cannot be given with a number"):
        grad(lambda x: np.sum(special.erf(x, where=[True, False])))(x)
    with pytest.raises(NotImplementedError, match=r"^scipy\.special\.xlogy\.reduce has no derivative rule here"):
        grad(lambda x: special.xlogy.reduce(x))(x)
    signs = grad(lambda x: np.sum(x * special.gammasgn(x, dtype=np.float32)))(np.array([-0.5, 2.0]))
    np.testing.assert_array_equal(signs, [-1.0, 1.0])


# f, an end of its domain, and three derivatives there
AT_THE_ENDS = {
    "gammainc 1": (lambda x: special.gammainc(1.0, x), 0.0, (1.0, -1.0, 1.0)),
    "gammainc 2": (lambda x: special.gammainc(2.0, x), 0.0, (0.0, 1.0, -2.0)),
    "gammainc 3": (lambda x: special.gammainc(3.0, x), 0.0, (0.0, 0.0, 1.0)),
    "gammainc 2.5": (lambda x: special.gammainc(2.5, x), 0.0, (0.0, 0.0, INF)),
    "gammainc 1/2": (lambda x: special.gammainc(0.5, x), 0.0, (INF, -INF, INF)),
    "gammainc 12": (lambda x: special.gammainc(12.0, x), 0.0, (0.0, 0.0, 0.0)),
    "gammaincc 2": (lambda x: special.gammaincc(2.0, x), 0.0, (0.0, -1.0, 2.0)),
    "gammainc 2 at infinity": (lambda x: special.gammainc(2.0, x), INF, (0.0, 0.0, 0.0)),
    "gammaincc 20 at infinity": (lambda x: special.gammaincc(20.0, x), INF, (0.0, 0.0, 0.0)),
    "betainc 2, 3": (lambda x: special.betainc(2.0, 3.0, x), 0.0, (0.0, 12.0, -48.0)),
    "betainc 2, 3 at 1": (lambda x: special.betainc(2.0, 3.0, x), 1.0, (0.0, 0.0, 24.0)),
    "betaincc 2, 3 at 1": (lambda x: special.betaincc(2.0, 3.0, x), 1.0, (0.0, 0.0, -24.0)),
    "betainc 20, 3 at 1": (lambda x: special.betainc(20.0, 3.0, x), 1.0, (0.0, 0.0, 9240.0)),
    "betainc 1/2, 3": (lambda x: special.betainc(0.5, 3.0, x), 0.0, (INF, -INF, INF)),
    "betainc 20, 30": (lambda x: special.betainc(20.0, 30.0, x), 0.0, (0.0, 0.0, 0.0)),
    "betainc 20, 30 at 1": (lambda x: special.betainc(20.0, 30.0, x), 1.0, (0.0, 0.0, 0.0)),
    "chdtr 4": (lambda x: special.chdtr(4.0, x), 0.0, (0.0, 1 / 4, -1 / 4)),
    "chdtrc 4": (lambda x: special.chdtrc(4.0, x), 0.0, (0.0, -1 / 4, 1 / 4)),
    "gdtr 2, 2": (lambda x: special.gdtr(2.0, 2.0, x), 0.0, (0.0, 4.0, -16.0)),
    "fdtr 4, 6": (lambda x: special.fdtr(4.0, 6.0, x), 0.0, (0.0, 16 / 3, -320 / 9)),
    "fdtrc 4, 6": (lambda x: special.fdtrc(4.0, 6.0, x), 0.0, (0.0, -16 / 3, 320 / 9)),
    "pdtr 1": (lambda m: special.pdtr(1.0, m), 0.0, (0.0, -1.0, 2.0)),
    "bdtr 1, 5": (lambda p: special.bdtr(1.0, np.array(5), p), 0.0, (0.0, -20.0, 120.0)),
    "nbdtr 1, 2": (lambda p: special.nbdtr(np.array(1), np.array(2), p), 1.0, (0.0, -6.0, -12.0)),
    "gamma.cdf": (lambda x: stats.gamma.cdf(x, 2.0), 0.0, (0.0, 1.0, -2.0)),
    "beta.cdf": (lambda x: stats.beta.cdf(x, 2.0, 3.0), 0.0, (0.0, 12.0, -48.0)),
    # The derivatives of those in a parameter
    "gammainc in 2.5": (lambda x: grad(special.gammainc)(2.5, x), 0.0, (0.0, 0.0, -INF)),
    "gammainc in 2": (lambda x: grad(special.gammainc)(2.0, x), 0.0, (0.0, -INF, INF)),
    "gammainc in 1/2": (lambda x: grad(special.gammainc)(0.5, x), 0.0, (-INF, INF, -INF)),
    "gammainc in 12": (lambda x: grad(special.gammainc)(12.0, x), 0.0, (0.0, 0.0, 0.0)),
    "gammainc in 2 at infinity": (lambda x: grad(special.gammainc)(2.0, x), INF, (0.0, 0.0, 0.0)),
    "gammainc in 0.05 at infinity": (lambda x: grad(special.gammainc)(0.05, x), INF, (0.0, 0.0, 0.0)),
    "betainc in 2.5, 3": (lambda x: grad(special.betainc)(2.5, 3.0, x), 0.0, (0.0, 0.0, -INF)),
    "betainc in 2.5, 3 at 1": (
        lambda x: grad(special.betainc)(2.5, 3.0, x),
        1.0,
        (0.0, 0.0, 2.0 / special.beta(2.5, 3.0) * (special.psi(5.5) - special.psi(2.5))),
    ),
    "betainc in both at 1": (
        lambda x: grad(lambda b: grad(special.betainc)(2.5, b, x))(3.0),
        1.0,
        (0.0, 0.0, -INF),
    ),
    "betainc in 2.5, the 3 at 1": (lambda x: grad(special.betainc, 1)(2.5, 3.0, x), 1.0, (0.0, 0.0, -INF)),
}


@pytest.mark.parametrize("name", AT_THE_ENDS)
def test_derivatives_at_the_ends(name):
    f, x, derivatives = AT_THE_ENDS[name]
    reverse = f
    for order, expected in enumerate(derivatives, 1):
        reverse = grad(reverse)
        np.testing.assert_allclose((reverse(x), derivative(f, order)(x)), (expected, expected), rtol=1e-12)
        if not np.isfinite(expected):
            return  # beyond, infinities of several kinds meet
    np.testing.assert_allclose(taylor(f, x, 3)[1:], np.array(derivatives) / (1, 2, 6), rtol=1e-12)


@pytest.mark.parametrize("name", [name for name in AT_THE_ENDS if " in " not in name])
def test_ends_among_other_elements(name):
    f, x, (first, second, _) = AT_THE_ENDS[name]
    inside = 0.4
    xs = np.array([x, inside, x])
    slopes = np.array([first, grad(f)(inside), first])
    curvatures = np.array([second, grad(grad(f))(inside), second])
    np.testing.assert_allclose(grad(lambda x: np.sum(f(x)))(xs), slopes, rtol=1e-12)
    gradient = grad(lambda x: np.sum(f(x)))
    np.testing.assert_allclose(jvp(gradient, (xs,), (np.ones(3),))[1], curvatures, rtol=1e-12)
    np.testing.assert_allclose(grad(lambda x: np.sum(gradient(x)))(xs), curvatures, rtol=1e-12)
    if np.all(np.isfinite(curvatures)):
        np.testing.assert_allclose(hessian(lambda x: np.sum(f(x)))(xs), np.diag(curvatures), rtol=1e-12)


def test_infinite_slopes_in_a_parameter():
    """Of x**(a - 1) at 0, in a, as limits: where x is 0, log(x) is not."""
    for order, a, slope in ((1, 1.0, -INF), (1, 2.5, 0.0), (2, 2.0, -INF), (2, 3.0, 0.0)):
        for f in (special.gammainc, lambda a, x: special.betainc(a, 3.0, x)):
            in_x = lambda a, f=f, order=order: derivative(lambda x: f(a, x), order)(0.0)  # noqa: E731
            assert grad(in_x)(a) == slope
    slope_of_power = lambda e: grad(lambda x: scaled_power_near_zero([x, e, 0.3]))(0.0)  # noqa: E731
    assert slope_of_power(0.0) == 0.0
    assert grad(slope_of_power)(0.0) > 1e299


# f, x, and three derivatives there
CLOSE_TO_THE_ENDS = [
    (lambda x: special.gammainc(2.0, x), 1e-9, (9.99999999e-10, 0.999999998, -1.999999997)),
    (lambda x: special.betainc(2.0, 3.0, x), 1e-9, (1.1999999976e-8, 11.999999952, -47.999999928)),
    (lambda x: special.betainc(20.0, 30.0, x), 1e-12, (5.6555054691111885e-214, 1.0745460391294856e-200)),
]


@pytest.mark.parametrize(("f", "x", "derivatives"), CLOSE_TO_THE_ENDS)
def test_close_to_the_ends(f, x, derivatives):
    for order, expected in enumerate(derivatives, 1):
        np.testing.assert_allclose(derivative(f, order)(x), expected, rtol=1e-12)
