"""The derivatives of incomplete gamma and beta functions in their parameters, and others by series and quadrature.

Expected values were computed with fifty digits.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

from shiftreset_ad import grad, hessian, taylor
from shiftreset_ad.rules.special import beta_moments, densities, gamma_moments, zeta
from shiftreset_ad.scipy import special as ours
from tests.rules.three_ways import check, examples, generators

CASES = dict.fromkeys((beta_moments.moment, gamma_moments.moment, zeta.logarithms, densities.scaled_power_near_zero))
few = settings(examples, max_examples=8)
INF = math.inf
# a, x, the derivative in a
IN_A_OF_GAMMAINC = [
    (1e-05, 1e-09, -20.142008392719138),
    (0.01, 0.3, -0.9087458022685458),
    (0.3, 0.2, -1.0233803072203944),
    (0.3, 4.0, -0.010264313972653528),
    (0.99, 0.6, -0.4938828346811995),
    (2.5, 1e-08, -5.874744322693968e-20),
    (2.5, 2.2, -0.27242453013535084),
    (2.5, 60.0, -1.0696234590510459e-23),
    (30.0, 0.0003, -8.946680939544072e-138),
    (30.0, 29.6, -0.0733330838279354),
    (30.0, 55.0, -5.823207509051182e-05),
    (5000.0, 4200.0, -4.175981109340906e-34),
    (100000.0, 100300.0, -0.0008039282123635643),
]
# a, b, x, the derivatives in a and b
IN_A_AND_B_OF_BETAINC = [
    (0.0001, 0.05, 0.43, -20.153976321003103, 0.03992893304424075),
    (0.3, 0.4, 0.2, -1.0711007163280364, 0.5349010150789838),
    (0.3, 0.4, 0.9, -0.44775242257673104, 0.6806688692191734),
    (2.5, 0.7, 1e-06, -7.821516889523616e-15, 1.2467728875347807e-15),
    (2.5, 0.7, 0.999, -0.00470382060330128, 0.09746282739680061),
    (1.2, 300.0, 0.002, -0.425139745618811, 0.0010798510430692174),
    (80.0, 230.0, 0.006, -4.999421269282678e-103, 3.887482590789102e-104),
    (80.0, 230.0, 0.3, -0.009378019745245368, 0.0036185833916989184),
    (320.0, 9464.0, 0.037, -0.0014844011751192073, 5.350971305523972e-05),
    (1980.0, 3458.0, 0.36757, -0.006182499392542333, 0.0035664270060293698),
]
# a, x, the first three derivatives in a
THRICE_IN_A = [
    (0.3, 0.2, (-1.0233803072203944, 0.958991143292019, 1.0254513704691413)),
    (0.3, 4.0, (-0.010264313972653528, -0.027379077921292218, -0.04036580879357614)),
    (2.5, 3.0, (-0.22754855127826082, -0.03980498725025574, 0.08529270238289406)),
    (0.0, 1.0, (-0.21938393439552029, -0.44895008155498933, 0.31085396248723574)),
    (1e-300, 1.0, (-0.21938393439552029, -0.44895008155498933, 0.31085396248723574)),
    (1e-10, 0.3, (-0.9056766517082488, -0.3240205854560767, 3.443664169256928)),
    (1e-10, 30.0, (-3.021552013111946e-15, -2.423133101834289e-14, -1.3083997878505493e-13)),
    (0.05, 2.5, (-0.02939448425676492, -0.09223190096622359, -0.10440841112329252)),
    (30.0, 12.0, (-8.442479343603667e-06, 7.75778741202486e-06, -6.8472205593333295e-06)),
]
# df, t, the derivative in df
IN_DF = [
    (0.5, 1.7, 0.21767274352352467),
    (3.0, 0.3, 0.0030326667353452103),
    (100.0, 8.0, 6.1543590971261e-14),
    (3900.0, 1.7, 1.0222460859358732e-08),
    (4100.0, 1.7, 9.249481091297026e-09),
    (1000000.0, 0.3, 3.1178445560268265e-14),
    (1000000.0, 2.0, 1.3497754451081794e-13),
]
# x, the first and the second derivative
OF_ZETAC = [
    (-10.3, -0.023232219491234503, 0.00807009579691165),
    (-4.0, 0.007983811450268625, 0.005737415846103786),
    (-0.5, -0.3608543395999476, -0.596229176765016),
    (0.0, -0.9189385332046728, -2.006356455908585),
    (0.5, -3.9226461392091516, -16.008357013928663),
    (0.99, -9999.927087353946, -2000000.0096697032),
    (1.1, -99.92816307577054, 1999.990115747038),
    (2.0, -0.9375482543158438, 1.989280234298901),
    (30.0, -6.45548953880003e-10, 4.4746260164732365e-10),
]
# y, the derivative
OF_KOLMOGOROV = [
    (0.15, -1.862629955018294e-20),
    (0.4, -0.10122544192604951),
    (0.79, -1.6431581136767275),
    (0.81, -1.6088459637159114),
    (1.5, -0.13330722741988021),
    (8.0, -1.6462139984911455e-54),
]
# n, d, the first and the second derivative
OF_SMIRNOV = [
    (2, 0.31, -1.62, -2.0),
    (10, 0.05, -2.216183165683594, -31.659759509765625),
    (10, 0.43, -0.3257140071208452, 5.385211233543666),
    (10, 0.93, -4.0353606999999747e-10, 5.188320899999971e-08),
    (400, 0.0012, -2.385373597717065, -1592.9363698784368),
    (400, 0.011, -16.4531281455474, -1138.5196257916532),
    (400, 0.2, -2.7500629415514052e-12, 8.833405254679984e-10),
]


@pytest.mark.parametrize(("a", "x", "slope"), IN_A_OF_GAMMAINC)
def test_the_derivative_of_gammainc_in_a(a, x, slope):
    np.testing.assert_allclose(grad(special.gammainc)(a, x), slope, rtol=1e-11)
    np.testing.assert_allclose(grad(special.gammaincc)(a, x), -slope, rtol=1e-11)


def test_of_arrays_of_all_kinds_at_once():
    a, x, slopes = map(np.array, zip(*IN_A_OF_GAMMAINC, strict=True))
    np.testing.assert_allclose(grad(lambda a: np.sum(special.gammainc(a, x)))(a), slopes, rtol=1e-11)
    a, b, x, slopes, _ = map(np.array, zip(*IN_A_AND_B_OF_BETAINC, strict=True))
    np.testing.assert_allclose(grad(lambda a: np.sum(special.betainc(a, b, x)))(a), slopes, rtol=1e-11)


@pytest.mark.parametrize(("a", "b", "x", "in_a", "in_b"), IN_A_AND_B_OF_BETAINC)
def test_the_derivatives_of_betainc_in_a_and_b(a, b, x, in_a, in_b):
    np.testing.assert_allclose(grad(special.betainc, (0, 1))(a, b, x), (in_a, in_b), rtol=1e-11)
    np.testing.assert_allclose(grad(special.betaincc, (0, 1))(a, b, x), (-in_a, -in_b), rtol=1e-11)


@pytest.mark.parametrize(("a", "x", "derivatives"), THRICE_IN_A)
def test_higher_derivatives_in_a(a, x, derivatives):
    f = lambda a: special.gammainc(a, x)  # noqa: E731
    for derivative in derivatives:
        f = grad(f)
        np.testing.assert_allclose(f(a), derivative, rtol=1e-11)


@pytest.mark.parametrize(("df", "t", "slope"), IN_DF)
def test_the_derivative_of_stdtr_in_df(df, t, slope):
    np.testing.assert_allclose(grad(special.stdtr)(df, t), slope, rtol=1e-10)
    np.testing.assert_allclose(grad(special.stdtr)(df, -t), -slope, rtol=1e-10)


@pytest.mark.parametrize(("x", "first", "second"), OF_ZETAC)
def test_zetac(x, first, second):
    np.testing.assert_allclose(grad(special.zetac)(x), first, rtol=1e-11)
    np.testing.assert_allclose(grad(grad(special.zetac))(x), second, rtol=1e-11)


@pytest.mark.parametrize(("y", "slope"), OF_KOLMOGOROV)
def test_kolmogorov(y, slope):
    np.testing.assert_allclose(grad(special.kolmogorov)(y), slope, rtol=1e-12)


@pytest.mark.parametrize(("n", "d", "first", "second"), OF_SMIRNOV)
def test_smirnov(n, d, first, second):
    f = lambda d: special.smirnov(n, d)  # noqa: E731
    np.testing.assert_allclose((grad(f)(d), grad(grad(f))(d)), (first, second), rtol=1e-11)


def test_at_the_edges():
    np.testing.assert_array_equal(grad(special.gammainc, (0, 1))(2.0, 0.0), (0.0, 0.0))
    assert grad(special.gammainc)(2.0, INF) == 0.0
    np.testing.assert_allclose(grad(special.gammainc)(0.0, 1.0), -special.exp1(1.0))
    np.testing.assert_array_equal(grad(special.betainc, (0, 1))(2.0, 3.0, 0.0), (0.0, 0.0))
    np.testing.assert_array_equal(grad(special.betainc, (0, 1))(2.0, 3.0, 1.0), (0.0, 0.0))
    for f in (special.gammainc, special.stdtr):
        assert np.isnan(grad(f)(-1.0, 2.0))
        assert np.isnan(grad(f)(np.nan, 2.0))
    assert np.isnan(grad(special.smirnov, 1)(3, 1.5))
    assert grad(special.kolmogorov)(-1.0) == grad(special.kolmogorov)(0.0) == grad(special.kolmogorov)(40.0) == 0.0
    assert grad(special.stdtr)(2.5, 0.0) == 0.0
    assert grad(lambda a: np.sum(special.gammainc(a, np.zeros((0, 3)))))(np.ones(3)).tolist() == [0.0] * 3


def test_the_parameters_of_betainc_are_symmetric():
    h = hessian(lambda p: special.betainc(p[0], p[1], p[2]))(np.array([2.5, 0.7, 0.3]))
    mirrored = hessian(lambda p: -special.betainc(p[1], p[0], 1.0 - p[2]))(np.array([2.5, 0.7, 0.3]))
    np.testing.assert_allclose(h, mirrored, rtol=1e-11)


@pytest.mark.parametrize("n", [1, 4, 7, 2000])
def test_diric_at_and_close_to_multiples_of_two_pi(n):
    curvature = (1.0 - n * n) / 12.0
    for turns in (0, 1, -1, 2):
        sign = (-1.0) ** (turns * (n - 1))
        f = lambda x, turns=turns: ours.diric(x + 2.0 * math.pi * turns, n)  # noqa: E731
        np.testing.assert_allclose(grad(f)(0.0), 0.0, atol=1e-14 * n * n)
        np.testing.assert_allclose(grad(grad(f))(0.0), sign * curvature, rtol=1e-9)
    first, second = (grad(lambda x: ours.diric(x, n))(x) for x in (0.9999999 * 2 / n, 1.0000001 * 2 / n))
    np.testing.assert_allclose(first, second, rtol=1e-5)


@pytest.mark.parametrize(("m", "v", "first", "second"), [(0, 3, 6.0, 15.0), (2, 3, -30.0, -90.0), (4, 4, 0.0, 840.0)])
def test_lpmv_at_the_ends(m, v, first, second):
    f = lambda x: special.lpmv(m, v, x)  # noqa: E731
    with np.errstate(all="ignore"):
        assert (grad(f)(1.0), grad(grad(f))(1.0)) == pytest.approx((first, second))
        sign = (-1.0) ** (m + v)
        assert (grad(f)(-1.0), grad(grad(f))(-1.0)) == pytest.approx((-sign * first, sign * second))


def test_rows_of_derivatives_are_scipys():
    z, phi = np.array([0.3, -0.6]), np.array([0.2, 1.4])
    for diff_n in (0, 1, 2):
        for f, arguments in (
            (ours.legendre_p, (4,)),
            (ours.assoc_legendre_p, (4, 1)),
            (ours.sph_legendre_p, (4, -1)),
        ):
            value = getattr(special, f.__name__)(*arguments, z, diff_n=diff_n)
            np.testing.assert_array_equal(f(*arguments, z, diff_n=diff_n), value)
            assert grad(lambda z, f=f, a=arguments, k=diff_n: np.sum(f(*a, z, diff_n=k)))(z).shape == z.shape
        parts = special.sph_harm_y(4, -1, z, phi, diff_n=diff_n)
        seen = []

        def harmonic(z, k=diff_n, seen=seen):
            found = ours.sph_harm_y(4, -1, z, phi, diff_n=k)
            seen.extend(found if isinstance(found, tuple) else [found])
            return np.real(np.sum(seen[-1]))

        grad(harmonic)(z)
        for found, part in zip(seen, parts if diff_n else [parts], strict=True):
            np.testing.assert_allclose(found.primal, part, rtol=1e-13)
    with pytest.raises(ValueError, match=r"scipy\.special\.legendre_p: diff_n must be 0, 1 or 2, and is 3"):
        grad(lambda z: ours.legendre_p(4, z, diff_n=3)[0])(0.3)


@pytest.mark.parametrize("name", ["modfresnelp", "modfresnelm"])
def test_negative_operands_of_the_modified_fresnel_integrals_are_refused(name):
    with pytest.raises(NotImplementedError, match=rf"scipy\.special\.{name} has no derivative here for negative x"):
        grad(lambda x: np.real(getattr(special, name)(x)[0]))(-1.0)
    assert grad(lambda x: x * x)(3.0) == 6.0


# Integrals of scores


@few
@given(k=st.integers(0, 2), above=st.booleans(), generator=generators)
def test_moments_of_the_gamma_distribution(k, above, generator):
    a, x = generator.uniform(1.0, 4.0, (2, 1)), generator.uniform(0.5, 4.0, 2)
    for over_t in (False, above):
        check(lambda a, x: gamma_moments.moment([a, x], k, above, over_t), a, x, generator=generator, dtypes=False)  # noqa: B023


@pytest.mark.slow
@few
@given(j=st.integers(0, 1), k=st.integers(0, 1), above=st.booleans(), generator=generators)
def test_moments_of_the_beta_distribution(j, k, above, generator):
    a, b, x = generator.uniform(1.0, 4.0, (2, 1)), generator.uniform(1.0, 4.0), generator.uniform(0.2, 0.8, 2)

    def f(a, b, x):
        return beta_moments.moment([a, b, x, 1.0 - x], j, k, above)

    check(f, a, b, x, generator=generator, dtypes=False)


@few
@given(generator=generators)
def test_scaled_powers(generator):
    x, scale = generator.uniform(0.1, 0.9, 3), generator.uniform(-1.0, 1.0)
    exponent = generator.choice([-0.5, 0.0, 1.0, 2.3], (2, 1))
    f = densities.scaled_power_near_zero
    check(lambda x, e, s: f([x, e, s]), x, exponent, scale, generator=generator, dtypes=False)
    np.testing.assert_allclose(f([x, exponent, scale]), x**exponent * np.exp(scale))


@few
@given(k=st.integers(0, 2), generator=generators)
def test_sums_of_logarithms(k, generator):
    s, q = generator.uniform(1.5, 4.0, (2, 1)), generator.uniform(0.5, 4.0, 2)
    check(lambda s, q: zeta.logarithms([s, q], k), s, q, generator=generator, dtypes=False)


@pytest.mark.parametrize(
    ("inverse", "operands"),
    [(special.pdtrik, (0.2, 1.0)), (special.bdtrik, (0.1, 4.0, 0.3)), (special.nbdtrik, (0.2, 3.0, 0.7))],
    ids=["pdtrik", "bdtrik", "nbdtrik"],
)
def test_an_inverse_in_a_count_does_not_change_where_it_is_zero(inverse, operands):
    assert inverse(*operands) == 0.0
    assert grad(lambda operands: inverse(*operands))(operands) == (0.0,) * len(operands)
    assert grad(lambda y: grad(lambda y: inverse(y, *operands[1:]))(y))(operands[0]) == 0.0


@pytest.mark.parametrize(
    ("f", "x"),
    [
        (lambda a: special.gammainc(a, 1.3), 2.0),
        (lambda b: special.betainc(2.5, b, 0.4), 1.5),
        (lambda q: special.zeta(2.5, q), 1.5),
    ],
    ids=["gammainc", "betainc", "zeta"],
)
def test_taylor_series_in_a_parameter(f, x):
    nested, derivatives = f, []
    for _ in range(3):
        nested = grad(nested)
        derivatives.append(nested(x))
    np.testing.assert_allclose((taylor(f, x, 3) * [1, 1, 2, 6])[1:], derivatives, rtol=1e-9)
