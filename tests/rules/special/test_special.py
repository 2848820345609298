"""The rules of the functions of `scipy.special`, in three ways, in every precision that SciPy has, and complex."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import mutually_broadcastable_shapes
from scipy import special

import shiftreset_ad as sr
from shiftreset_ad import grad
from shiftreset_ad.numbers.dispatch import has_rule_by_now, name_of
from shiftreset_ad.rules import CONSTANT, ELEMENTWISE, STRUCTURED, late
from shiftreset_ad.rules.special import legendre
from shiftreset_ad.rules.special.carlson import integral
from shiftreset_ad.rules.special.spherical import SPHERICAL
from shiftreset_ad.rules.special.table import ufunc_of
from shiftreset_ad.scipy import special as ours
from tests.rules.three_ways import (
    answers,
    assert_close,
    check,
    check_inner_products,
    check_values,
    examples,
    generators,
    of_parts,
)

few = settings(examples, max_examples=6)

POSITIVE, SIGNED, INSIDE, LARGER = (0.3, 3.0), (-2.0, 2.0), (0.1, 0.9), (1.5, 4.0)


class Constant:
    """The values of an operand that the function is not differentiated in."""

    def __init__(self, *values: Any) -> None:
        self.values = values


ORDER, DEGREE, PARAMETER = Constant(-1.5, 0.0, 0.5, 2.0), Constant(0, 1, 4), Constant(0.4, 1.3, 3.0)
COUNT, TRIALS = Constant(0.0, 1.0, 2.5), Constant(*np.array([5, 7]))

OPERANDS: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(("erf", "erfc", "erfi", "erfcx", "dawsn", "wofz", "ndtr", "log_ndtr"), (SIGNED,)),
    **dict.fromkeys(
        ("expit", "log_expit", "exprel", "cosm1", "expm1", "exp2", "exp10", "sindg", "cosdg", "tandg"), (SIGNED,)
    ),
    **dict.fromkeys(("gamma", "gammaln", "loggamma", "psi", "cbrt", "log1p", "entr", "cotdg", "spence"), (POSITIVE,)),
    **dict.fromkeys(("j0", "j1", "i0", "i1", "i0e", "i1e", "ber", "bei", "berp", "beip", "itairy"), (POSITIVE,)),
    **dict.fromkeys(("y0", "y1", "k0", "k1", "k0e", "k1e", "ker", "kei", "kerp", "keip", "itj0y0"), (POSITIVE,)),
    **dict.fromkeys(
        ("expi", "exp1", "sici", "shichi", "iti0k0", "itstruve0", "it2struve0", "itmodstruve0"), (POSITIVE,)
    ),
    **dict.fromkeys(("it2i0k0", "it2j0y0", "modfresnelp", "modfresnelm"), (POSITIVE,)),
    **dict.fromkeys(("mathieu_cem", "mathieu_sem"), (Constant(1, 2), Constant(0.7), (-90.0, 90.0))),
    **dict.fromkeys(("mathieu_modcem1", "mathieu_modsem1"), (Constant(1, 2), Constant(0.7), POSITIVE)),
    **dict.fromkeys(("mathieu_modcem2", "mathieu_modsem2"), (Constant(1, 2), Constant(0.7), POSITIVE)),
    **dict.fromkeys(("pro_ang1", "obl_ang1"), (Constant(0, 1), Constant(2), Constant(1.7), INSIDE)),
    **dict.fromkeys(("pro_rad1", "obl_rad1"), (Constant(0, 1), Constant(2), Constant(1.7), LARGER)),
    **dict.fromkeys(("airy", "rgamma", "fresnel", "wrightomega"), (SIGNED,)),
    **dict.fromkeys(("erfinv", "ellipk", "ellipe"), ((-0.9, 0.9),)),
    **dict.fromkeys(("erfcinv", "ndtri", "logit", "ellipkm1"), (INSIDE,)),
    **dict.fromkeys(("jv", "yv", "iv", "kv", "jve", "yve", "ive", "kve"), (ORDER, POSITIVE)),
    **dict.fromkeys(("hankel1", "hankel2", "hankel1e", "hankel2e"), (ORDER, POSITIVE)),
    **dict.fromkeys(("struve", "modstruve"), (Constant(-0.5, 0.0, 2.0), POSITIVE)),
    **dict.fromkeys(("yn", "kn", "expn"), (DEGREE, POSITIVE)),
    **dict.fromkeys(("pbdv", "pbvv", "pbwa"), (Constant(0.5, 2.0), SIGNED)),
    **dict.fromkeys(("xlogy", "rel_entr", "kl_div", "agm", "beta", "betaln"), (POSITIVE, POSITIVE)),
    **dict.fromkeys(("powm1", "boxcox", "boxcox1p", "inv_boxcox", "inv_boxcox1p"), (POSITIVE, POSITIVE)),
    **dict.fromkeys(("gammainc", "gammaincc", "chdtr", "chdtrc"), (POSITIVE, POSITIVE)),
    **dict.fromkeys(("gammaincinv", "gammainccinv", "chdtri"), (POSITIVE, INSIDE)),
    **dict.fromkeys(("betainc", "betaincc", "betaincinv", "betainccinv"), (POSITIVE, POSITIVE, INSIDE)),
    **dict.fromkeys(("btdtrib", "gdtrix"), (POSITIVE, (0.3, 0.7), (0.3, 0.7))),
    **dict.fromkeys(("gdtr", "gdtrc", "fdtr", "fdtrc"), (POSITIVE, POSITIVE, POSITIVE)),
    **dict.fromkeys(("pdtr", "pdtrc"), (COUNT, POSITIVE)),
    **dict.fromkeys(("bdtr", "bdtrc", "bdtri"), (COUNT, TRIALS, INSIDE)),
    **dict.fromkeys(("nbdtr", "nbdtrc", "nbdtri"), (DEGREE, TRIALS, INSIDE)),
    **dict.fromkeys(("bdtrik", "nbdtrik"), ((0.3, 0.7), (5.0, 8.0), (0.2, 0.5))),
    **dict.fromkeys(("bdtrin", "nbdtrin"), (LARGER, (0.3, 0.7), (0.2, 0.5))),
    **dict.fromkeys(("elliprf", "elliprd", "elliprg"), (POSITIVE,) * 3),
    **dict.fromkeys(("ellipkinc", "ellipeinc"), ((-3.0, 3.0), (-0.8, 0.8))),
    **dict.fromkeys(
        ("eval_legendre", "eval_chebyt", "eval_chebyu", "eval_chebyc", "eval_chebys"), (DEGREE, (-0.9, 0.9))
    ),
    **dict.fromkeys(("eval_sh_legendre", "eval_sh_chebyt", "eval_sh_chebyu"), (DEGREE, INSIDE)),
    **dict.fromkeys(("eval_laguerre", "eval_hermite", "eval_hermitenorm"), (DEGREE, SIGNED)),
    **dict.fromkeys(("eval_gegenbauer", "eval_genlaguerre"), (DEGREE, PARAMETER, (-0.9, 0.9))),
    **dict.fromkeys(("wright_bessel", "log_wright_bessel"), (PARAMETER, PARAMETER, POSITIVE)),
    "airye": (POSITIVE,),
    "eval_jacobi": (DEGREE, PARAMETER, PARAMETER, (-0.9, 0.9)),
    "eval_sh_jacobi": (DEGREE, Constant(3.0, 4.5), Constant(1.0, 1.5), INSIDE),
    "ellipj": ((-3.0, 3.0), INSIDE),
    "voigt_profile": (SIGNED, POSITIVE, POSITIVE),
    "ndtri_exp": ((-3.0, -0.3),),
    "owens_t": (SIGNED, SIGNED),
    "nrdtrimn": ((0.6, 0.9), POSITIVE, SIGNED),
    "nrdtrisd": (SIGNED, (0.6, 0.9), SIGNED),
    "radian": (SIGNED, SIGNED, SIGNED),
    "xlog1py": (SIGNED, POSITIVE),
    "huber": ((1.0, 1.3), (-0.9, 0.9)),
    "pseudo_huber": (POSITIVE, SIGNED),
    "poch": (POSITIVE, SIGNED),
    "binom": (LARGER, (0.2, 1.3)),
    "pdtri": (DEGREE, INSIDE),
    "pdtrik": ((0.3, 0.7), LARGER),
    "chdtriv": ((0.3, 0.7), LARGER),
    "btdtria": ((0.3, 0.7), POSITIVE, (0.3, 0.7)),
    "gdtria": ((0.3, 0.7), POSITIVE, POSITIVE),
    "gdtrib": (POSITIVE, (0.3, 0.7), POSITIVE),
    "stdtr": (POSITIVE, SIGNED),
    "stdtrit": (LARGER, INSIDE),
    "stdtridf": ((0.76, 0.8), (1.0, 1.3)),
    "fdtri": (LARGER, LARGER, INSIDE),
    "fdtridfd": (LARGER, (0.4, 0.5), (1.0, 1.3)),
    "kolmogorov": ((0.3, 2.0),),
    "kolmogi": (INSIDE,),
    "smirnov": (Constant(3, 40), (0.01, 0.3)),
    "smirnovi": (Constant(3, 40), INSIDE),
    "lpmv": (Constant(-1.0, 0.0, 1.0, 2.0), Constant(2.0, 3.5), (-0.9, 0.9)),
    "besselpoly": (POSITIVE, Constant(0.2, 2.0), Constant(0.0, 1.5)),
    "zetac": ((-3.0, 0.8),),
    "tklmbda": ((-0.4, 0.4), POSITIVE),
    "hyp0f1": (PARAMETER, SIGNED),
    "hyp1f1": (PARAMETER, PARAMETER, SIGNED),
    "hyp2f1": (PARAMETER, PARAMETER, Constant(0.3, 2.0), (-0.9, 0.9)),
    "hyperu": (PARAMETER, Constant(0.3, 1.5), POSITIVE),
    "elliprc": (POSITIVE, POSITIVE),
    "elliprj": (POSITIVE,) * 4,
}
for _name in ("pro_ang1", "obl_ang1", "pro_rad1", "obl_rad1"):
    _characteristic = getattr(special, f"{_name[:3]}_cv")(1, 2, 1.7)
    OPERANDS[f"{_name}_cv"] = (Constant(1), Constant(2), Constant(1.7), Constant(_characteristic), INSIDE)
    if "rad" in _name:
        OPERANDS[f"{_name}_cv"] = (*OPERANDS[f"{_name}_cv"][:-1], LARGER)
DEGREES, ORDERS, ROWS = Constant(4), Constant(-2, 0, 1), Constant(0, 1, 2)
CASES: dict[Any, tuple[Any, ...]] = {
    **{getattr(special, name): operands for name, operands in OPERANDS.items() if hasattr(special, name)},
    ufunc_of(special.zeta, 2.0): (LARGER, POSITIVE),
    ufunc_of(special.zeta): ((1.3, 4.0),),
    ufunc_of(special.lambertw): (POSITIVE, Constant(0), Constant(1e-8)),
    **dict.fromkeys(SPHERICAL.values(), (POSITIVE, DEGREE, Constant(False, True))),
    ours.polygamma: (Constant(0, 2), POSITIVE),
    ours.diric: (SIGNED, Constant(1, 4, 7)),
    legendre.legendre: (DEGREE, (-0.9, 0.9), Constant(0, 2, 3)),
    legendre.associated: (DEGREES, ORDERS, (-0.9, 0.9), Constant(2), Constant(False, True), ROWS),
    legendre.spherical: (DEGREES, ORDERS, (0.4, 2.5), ROWS),
    legendre.harmonic: (DEGREES, ORDERS, (0.4, 2.5), SIGNED),
    ours.multigammaln: (LARGER, Constant(1, 3)),
    **dict.fromkeys(
        (ours.jvp, ours.yvp, ours.ivp, ours.kvp, ours.h1vp, ours.h2vp), (ORDER, POSITIVE, Constant(0, 1, 2))
    ),
}
TESTED = list(CASES)
# Their derivatives in the parameters are by quadrature, which takes much longer than what the others are by.
BY_BETA_MOMENTS = [
    getattr(special, name)
    for name in (
        *("betainc", "betaincc", "betaincinv", "betainccinv", "btdtria", "btdtrib", "bdtrik", "bdtrin", "nbdtrik"),
        *("nbdtrin", "stdtr", "stdtrit", "stdtridf", "fdtr", "fdtrc", "fdtri", "fdtridfd"),
    )
    if hasattr(special, name)
]
CASES |= dict.fromkeys((integral, ours.logsumexp, ours.softmax, ours.log_softmax), ())  # below, and in tests/scipy


def drawn(operands, shapes, generator, data):
    """The operands, and which of them are active."""
    given = [
        data.draw(st.sampled_from(operand.values))
        if isinstance(operand, Constant)
        else generator.uniform(*operand, shape)
        for operand, shape in zip(operands, shapes, strict=True)
    ]
    return given, [i for i, operand in enumerate(operands) if not isinstance(operand, Constant)]


def of_active(function, given, active):
    """The function of the active operands alone."""

    def f(*xs):
        whole = list(given)
        for i, x in zip(active, xs, strict=True):
            whole[i] = x
        return function(*whole)

    return f


def check_three_ways(function, data, generator, min_side):
    operands = CASES[function]
    shapes = mutually_broadcastable_shapes(num_shapes=len(operands), max_dims=2, min_side=min_side, max_side=2)
    given, active = drawn(operands, data.draw(shapes).input_shapes, generator, data)
    f, xs = of_active(function, given, active), [given[i] for i in active]
    assert all(np.all(np.isfinite(y)) for y in answers(f(*xs)))
    check(f, *xs, generator=generator, dtypes=False)


@pytest.mark.slow_but_every(3)
@pytest.mark.parametrize("function", [f for f in TESTED if f not in BY_BETA_MOMENTS], ids=name_of)
@few
@given(data=st.data(), generator=generators)
def test_three_ways(function, data, generator):
    check_three_ways(function, data, generator, min_side=0)


@pytest.mark.slow_but_every(3)
@pytest.mark.parametrize("function", BY_BETA_MOMENTS, ids=name_of)
@settings(examples, max_examples=2)
@given(data=st.data(), generator=generators)
def test_three_ways_by_beta_moments(function, data, generator):
    check_three_ways(function, data, generator, min_side=1)


@pytest.mark.parametrize("function", BY_BETA_MOMENTS, ids=name_of)
def test_empty_arrays(function):
    xs = [np.full(shape, 0.5) for shape in [(0, 2), (2,), (1, 1), ()][: len(CASES[function])]]
    check(function, *xs, generator=np.random.default_rng(0), dtypes=False, second_order=False)


def test_private_ufuncs_have_the_names_that_users_know():
    for ufunc, name in [
        (ufunc_of(special.zeta), "zeta"),
        (ufunc_of(special.zeta, 2.0), "zeta"),
        (ufunc_of(special.lambertw), "lambertw"),
        (special.erf, "erf"),
    ]:
        assert (late.library_of(ufunc), late.public_name(ufunc)) == ("scipy.special", name)


def test_the_rules_have_as_many_operands_as_the_cases():
    for function, operands in CASES.items():
        active = sum(not isinstance(operand, Constant) for operand in operands)
        if operands and function in STRUCTURED:
            assert len(STRUCTURED[function].operands) == active, name_of(function)
        elif operands:
            assert len(ELEMENTWISE[function].partials) == active == len(operands), name_of(function)


UFUNCS = sorted({name for name in dir(special) if isinstance(getattr(special, name), np.ufunc)})


@pytest.mark.parametrize("name", UFUNCS)
def test_every_operand_of_every_ufunc_has_a_derivative_or_is_refused(name):
    function = getattr(special, name)
    has_rule_by_now(function)
    if function in CONSTANT:
        assert grad(lambda x: x * 2.0 + function(x))(1.5) == 2.0
        return
    operands = OPERANDS.get(name, (POSITIVE,) * function.nin)
    given = [operand.values[-1] if isinstance(operand, Constant) else 0.6 for operand in operands]
    for i in range(function.nin):
        f = of_active(function, given, [i])
        if name not in OPERANDS and function not in CASES:
            with pytest.raises(
                NotImplementedError, match=rf"^scipy\.special\.{name} has no derivative rule here\. .*value"
            ):
                grad(f)(0.6)
        elif isinstance(operands[i], Constant):
            with pytest.raises(TypeError, match=rf"^scipy\.special\.{name}: argument '\w+' is a number .*value\(x\)"):
                grad(f)(0.6)


# Precisions and kinds of numbers


def in_double(name):
    """Whether SciPy has no values in single precision: they are NaN, or it does not come back."""
    return name.startswith(("pbvv", "mathieu_", "pro_", "obl_"))


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@pytest.mark.parametrize("name", [name for name in OPERANDS if hasattr(special, name) and not in_double(name)])
def test_precisions(name, dtype):
    generator, operands = np.random.default_rng(0), OPERANDS[name]
    given = [
        operand.values[-1] if isinstance(operand, Constant) else generator.uniform(*operand, 3).astype(dtype)
        for operand in operands
    ]
    active = [i for i, operand in enumerate(operands) if not isinstance(operand, Constant)]
    f, xs = of_active(getattr(special, name), given, active), [given[i] for i in active]
    check_values(f, *xs)

    def scalar(*xs):
        y = f(*xs)
        return np.sum(np.real(sum(y[1:], y[0]) if isinstance(y, tuple) else y))

    every = tuple(range(len(xs)))
    found, expected = grad(scalar, every)(*xs), grad(scalar, every)(*(x.astype(float) for x in xs))
    for x_bar, double in zip(found, expected, strict=True):
        assert x_bar.dtype == dtype
        assert np.all(np.isfinite(double))
        np.testing.assert_allclose(x_bar, double, rtol=2e-2 if dtype is np.float16 else 2e-4, atol=3e-4)


OF_COMPLEX = ("erf", "erfc", "erfcx", "erfi", "dawsn", "wofz", "ndtr", "log_ndtr", "expm1", "log1p", "expi", "exp1")
OF_COMPLEX += ("sici", "shichi", "fresnel", "spence", "wrightomega", "airy")
WITH_ORDERS = {"jv", "yv", "iv", "kv", "hankel1", "hankel2", "hankel1e", "hankel2e", "kve"}
HOLOMORPHIC = {
    **{name: getattr(special, name) for name in OF_COMPLEX},
    **{name: partial(getattr(special, name), 1.5) for name in sorted(WITH_ORDERS)},
    "hyp0f1": lambda z: special.hyp0f1(0.7, z),
    "hyp1f1": lambda z: special.hyp1f1(0.7, 1.3, z),
    "hyp2f1": lambda z: special.hyp2f1(0.7, 1.3, 2.1, 0.3 * z),
    "xlogy": lambda z: special.xlogy(z, z + 2.0),
    "xlog1py": lambda z: special.xlog1py(z, z * z),
    "elliprf": lambda z: special.elliprf(z, z + 1.0, 2.0),
    "elliprd": lambda z: special.elliprd(z, 1.0, z + 2.0),
    "elliprc": lambda z: special.elliprc(z, z + 1.0),
    "lambertw": lambda z: special.lambertw(z),
    "eval_jacobi": lambda z: special.eval_jacobi(3, 0.4, 0.6, z),
    "spherical_jn": lambda z: ours.spherical_jn(2, z),
    "logsumexp": lambda z: ours.logsumexp(z + np.array([0.5, 1j])),
}
# Their first derivative is by psi, which has none of complex numbers.
ONCE = {"gamma": special.gamma, "loggamma": special.loggamma, "rgamma": special.rgamma}


@pytest.mark.parametrize("name", [*HOLOMORPHIC, *ONCE])
def test_complex_operands(name):
    generator, f = np.random.default_rng(0), {**HOLOMORPHIC, **ONCE}[name]
    check(of_parts(f), 0.8, 0.5, generator=generator, dtypes=False, second_order=name in HOLOMORPHIC)
    for z, tolerance in ((0.8 + 0.5j, 1e-10), (np.complex64(0.8 + 0.5j), 1e-5), (np.array([0.8 + 0.5j]), 1e-10)):
        check_inner_products(f, z, generator=generator, tolerance=tolerance)


@pytest.mark.parametrize("name", ["ive", "jve", "yve", "airye"])
def test_functions_that_are_not_holomorphic_refuse_complex_operands(name):
    f = of_active(getattr(special, name), [0.5] * getattr(special, name).nin, [getattr(special, name).nin - 1])
    with pytest.raises(
        NotImplementedError, match=rf"scipy\.special\.{name} has no derivative here for complex operands"
    ):
        grad(lambda z: np.real(f(z)[0] if name == "airye" else f(z)))(1 + 1j)
    assert grad(lambda x: x * x)(3.0) == 6.0


@pytest.mark.parametrize("f", [special.psi, lambda z: grad(lambda x: np.real(special.gamma(x)))(z)])
def test_psi_of_complex_numbers_has_no_derivative(f):
    with pytest.raises(NotImplementedError, match=r"scipy\.special\.psi has no derivative here for complex operands"):
        grad(lambda z: np.real(f(z)))(1 + 1j)


SMOOTH = {
    "betainc": lambda x: special.betainc(1.5, 2.5, x),
    "airy": lambda x: special.airy(x)[0] * special.airy(x)[3],
    "ellipj": lambda x: special.ellipj(x, x)[1],
    "log_ndtr": special.log_ndtr,
    "elliprf": lambda x: special.elliprf(x, 1.0, 2.0),
    "spherical_jn": lambda x: ours.spherical_jn(1, x),
    "xlogy": lambda x: special.xlogy(x, x),
    "logsumexp": lambda x: ours.logsumexp(np.stack([x, 2.0 * x, x * x])),
    "softmax": lambda x: ours.softmax(np.stack([x, 2.0 * x, x * x]))[1],
}


@pytest.mark.parametrize("name", SMOOTH)
def test_taylor_series_and_nested_derivatives_agree(name):
    f, x, expected = SMOOTH[name], 0.6, []
    g = f
    for _ in range(4):
        expected.append(float(g(x)))
        g = grad(g)
    found = [sr.derivative(f, k)(x) for k in range(4)]
    np.testing.assert_allclose([float(y) for y in found], expected, rtol=1e-9)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: special.hyp1f1(0.5, 1.5, x),
        lambda x: special.fresnel(x)[0] * x,
        lambda x: special.xlogy(x, x[:, None]),
        lambda x: ours.softmax(x),
        lambda x: ours.logsumexp(np.outer(x, x), axis=0),
    ],
)
def test_jacobians_by_rows_and_by_columns_agree(f):
    x = np.array([0.4, 1.1, 2.0])
    assert_close(sr.jacrev(f)(x), sr.jacfwd(f)(x), tolerance=1e-12)
