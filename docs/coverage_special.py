"""Examples of the functions of SciPy that have a derivative, and why the others have none.

An example is differentiated in the operands that the function has a derivative in: the order of a Bessel function, say,
is not among them, and giving it a number is an error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from coverage_examples import Example, of_one, to_precision
from scipy import special as sc

from shiftreset_ad.scipy import integrate, interpolate, linalg, ndimage, optimize, signal, sparse, spatial, stats
from shiftreset_ad.scipy import special as ours


def each(names: str, example: Callable[[Callable[..., Any]], Example], namespace: Any = sc) -> dict[str, Example]:
    """An example of each of these functions, as far as the installed SciPy has it, made by `example`."""
    return {
        f"{namespace.__name__}.{name}": example(getattr(namespace, name))
        for name in names.split()
        if hasattr(namespace, name)
    }


def methods(distributions: str, names: str, example: Callable[[Callable[..., Any]], Example]) -> dict[str, Example]:
    """An example of each of these methods of these distributions, made by `example`."""
    return {
        f"{stats.__name__}.{distribution}.{name}": example(getattr(getattr(stats, distribution), name))
        for distribution in distributions.split()
        for name in names.split()
    }


CONTINUOUS = "pdf logpdf cdf sf logcdf logsf"
QUANTILES = "ppf isf"
MOMENTS = "mean var std"
COUNTS = "pmf logpmf cdf sf logcdf logsf"
EXAMPLES: dict[str, Example] = {
    **of_one(
        sc,
        "erf erfc erfi erfcx dawsn wofz ndtr log_ndtr expit log_expit exprel cosm1 expm1 exp2 exp10 sindg cosdg tandg "
        "airy rgamma fresnel wrightomega cbrt sinc softplus",
        "signed",
    ),
    **of_one(
        sc,
        "gamma gammaln loggamma psi digamma log1p entr cotdg spence j0 j1 i0 i1 i0e i1e ber bei berp beip y0 y1 "
        "k0 k1 k0e k1e ker kei kerp keip itj0y0 expi exp1 sici shichi iti0k0 itstruve0 it2struve0 itmodstruve0 airye "
        "erfinv ellipk ellipe erfcinv ndtri logit ellipkm1 lambertw it2i0k0 it2j0y0 kolmogi kolmogorov modfresnelm "
        "modfresnelp zetac",
        "x",
    ),
    **each("itairy", lambda f: to_precision(1e-6, lambda x: f(x))),  # SciPy's own
    # Of two operands and more
    **each("agm beta betaln ellipeinc ellipkinc elliprc rel_entr kl_div xlogy xlog1py", lambda f: lambda x, y: f(x, y)),
    **each("boxcox boxcox1p inv_boxcox inv_boxcox1p", lambda f: lambda x, y: f(x, y)),
    **each("binom huber poch powm1 pseudo_huber", lambda f: lambda large, signed: f(large, signed)),
    **each("ellipj owens_t tklmbda", lambda f: lambda signed, x: f(0.3 * signed, x)),
    **each("elliprf elliprd elliprg voigt_profile radian", lambda f: lambda x, y, large: f(x, y, large)),
    **each("elliprj", lambda f: lambda x, y, large, t: f(x, y, large, t)),
    # Of an order, a degree, or parameters, and an operand
    **each(
        "jv yv iv kv jve yve ive kve hankel1 hankel2 hankel1e hankel2e struve", lambda f: lambda large: f(0.5, large)
    ),
    **each("modstruve pbdv pbvv pbwa", lambda f: lambda large: f(0.5, large)),
    **each("jn yn kn expn eval_laguerre eval_hermite eval_hermitenorm", lambda f: lambda large: f(2, large)),
    **each("eval_legendre eval_chebyt eval_chebyu eval_chebyc eval_chebys", lambda f: lambda x: f(3, x)),
    **each("eval_sh_legendre eval_sh_chebyt eval_sh_chebyu", lambda f: lambda x: f(3, x)),
    **each("eval_gegenbauer eval_genlaguerre", lambda f: lambda x: f(3, 0.7, x)),
    **each("eval_jacobi eval_sh_jacobi", lambda f: lambda x: f(3, 3.5, 1.5, x)),
    **each("hyp0f1", lambda f: lambda large: f(0.7, large)),
    **each("hyp1f1 hyperu wright_bessel log_wright_bessel", lambda f: lambda x: f(1.7, 1.3, x)),
    **each("hyp2f1", lambda f: lambda x: f(0.7, 1.3, 2.1, x)),
    **each("pdtr pdtrc", lambda f: lambda large: f(2.5, large)),
    **each("pdtri", lambda f: lambda x: f(2, x)),
    **each("bdtr bdtrc", lambda f: lambda x: f(2.0, 5, x)),
    **each("bdtri nbdtr nbdtrc nbdtri", lambda f: lambda x: f(2, 5, x)),
    **each("nrdtrimn", lambda f: lambda x, large, signed: f(0.6 + x / 3, large, signed)),
    **each("nrdtrisd", lambda f: lambda signed, x, large: f(signed, 0.6 + x / 3, large)),
    **each("ndtri_exp", lambda f: lambda x: f(-x)),
    **each("zeta", lambda f: lambda large, x: f(large, x)),
    **each("smirnov smirnovi", lambda f: lambda x: f(5, x)),
    **each("assoc_laguerre", lambda f: lambda x: f(x, 3, 0.7)),
    **each("besselpoly", lambda f: lambda large: f(large, 0.7, 1.5)),
    **each("lpmv", lambda f: lambda x: f(1, 2.5, x)),
    # Of parameters, too
    **each("gammainc gammaincc chdtr chdtrc", lambda f: lambda large, x: f(x, large)),
    **each("gammaincinv gammainccinv chdtri stdtrit", lambda f: lambda large, x: f(large, x)),
    **each("betainc betaincc betaincinv betainccinv fdtri", lambda f: lambda large, x, y: f(large, 1.0 + x, y)),
    **each("stdtr", lambda f: lambda large, signed: f(large, signed)),
    **each("gdtr gdtrc fdtr fdtrc", lambda f: lambda large, x, y: f(large, x, y)),
    **each("chdtriv pdtrik", lambda f: lambda x, large: f(0.3 + 0.4 * x, large)),
    **each("btdtria gdtria", lambda f: lambda x, large, y: f(0.3 + 0.4 * x, large, 0.3 + 0.4 * y)),
    **each("btdtrib gdtrib gdtrix", lambda f: lambda large, x, y: f(large, 0.3 + 0.4 * x, 0.3 + 0.4 * y)),
    **each("bdtrik nbdtrik", lambda f: lambda x, large, y: f(0.3 + 0.4 * x, 5.0 + large, 0.2 + 0.3 * y)),
    **each("nbdtrin", lambda f: lambda large, x, y: f(large, 0.3 + 0.4 * x, 0.2 + 0.3 * y)),
    **each(
        "bdtrin", lambda f: to_precision(1e-5, lambda large, x, y: f(large, 0.3 + 0.4 * x, 0.2 + 0.3 * y))
    ),  # SciPy's own
    **each("stdtridf", lambda f: lambda x: f(0.76 + 0.05 * x, 1.0 + 0.2 * x)),
    **each("fdtridfd", lambda f: lambda large, x: f(large, 0.4 + 0.1 * x, 1.0 + 0.2 * x)),
    # Spheroidal and Mathieu functions
    **each("mathieu_cem mathieu_sem", lambda f: lambda large: f(2, 0.7, 20.0 * large)),
    **each("mathieu_modcem1 mathieu_modcem2 mathieu_modsem1 mathieu_modsem2", lambda f: lambda x: f(2, 0.7, x)),
    **each("pro_ang1 obl_ang1", lambda f: lambda x: f(1, 2, 1.7, x)),
    **each("pro_rad1 obl_rad1", lambda f: lambda large: f(1, 2, 1.7, large)),
    **each("pro_ang1_cv", lambda f: lambda x: f(1, 2, 1.7, sc.pro_cv(1, 2, 1.7), x)),
    **each("obl_ang1_cv", lambda f: lambda x: f(1, 2, 1.7, sc.obl_cv(1, 2, 1.7), x)),
    **each("pro_rad1_cv", lambda f: lambda large: f(1, 2, 1.7, sc.pro_cv(1, 2, 1.7), large)),
    **each("obl_rad1_cv", lambda f: lambda large: f(1, 2, 1.7, sc.obl_cv(1, 2, 1.7), large)),
    # Those of ours
    **each("logsumexp softmax log_softmax", lambda f: lambda signed: f(signed), ours),
    **each("polygamma", lambda f: lambda large: f(1, large), ours),
    **each("multigammaln", lambda f: lambda large: f(large, 2), ours),
    **each("comb perm", lambda f: lambda large: f(5.0 + large, 2.0), ours),
    **each("jvp yvp ivp kvp h1vp h2vp", lambda f: lambda large: f(0.5, large, 1), ours),
    **each("spherical_jn spherical_yn spherical_in spherical_kn", lambda f: lambda large: f(2, large), ours),
    **each("diric", lambda f: lambda signed: f(signed, 4), ours),
    **each("legendre_p", lambda f: lambda x: f(4, x, diff_n=2), ours),
    **each("assoc_legendre_p sph_legendre_p", lambda f: lambda x: f(4, 1, x, diff_n=2), ours),
    **each("sph_harm_y", lambda f: lambda x, signed: f(4, -1, x, signed, diff_n=2), ours),
    **each("expm", lambda f: lambda m: f(m), linalg),
    **each("logm sqrtm cho_factor", lambda f: lambda m: f(m @ m.T + m.T @ m), linalg),
    **each("solve_triangular", lambda f: lambda m, three: f(m, three), linalg),
    **each("solve_banded", lambda f: lambda a, three: f((1, 0), np.abs(a) + 1.0, three), linalg),
    **each("solve_sylvester", lambda f: lambda m, n: f(m, m, n), linalg),
    **each("cho_solve", lambda f: lambda m, three: f(linalg.cho_factor(m @ m.T), three), linalg),
    **each("block_diag", lambda f: lambda a, b: f(a, b), linalg),
    **each("convolve", lambda f: lambda a, m: f(m, a), signal),
    **each("lfilter", lambda f: lambda x, y, signed: f(x, 1.0 + y, signed), signal),
    **each(
        "CubicSpline PchipInterpolator Akima1DInterpolator make_interp_spline",
        lambda f: lambda large, signed, x: f(np.cumsum(large), signed)(2.0 + 5.0 * x),
        interpolate,
    ),
    **each(
        "CubicHermiteSpline", lambda f: lambda large, signed, x: f(np.cumsum(large), signed, x)(7.0 * x), interpolate
    ),
    **each("PPoly", lambda f: lambda large, m, x: f(m, np.cumsum(large))(7.0 * x), interpolate),
    **each("BSpline", lambda f: lambda signed, x: f(np.arange(7.0), signed, 2)(5.0 * x), interpolate),
    **each(
        "RegularGridInterpolator",
        lambda f: (
            lambda large, a, t: f((np.cumsum(large)[:2], [0.0, 1.0, 2.0]), a, fill_value=None, bounds_error=False)(
                np.stack([3.0 + t, t])
            )
        ),
        interpolate,
    ),
    **each(
        "map_coordinates", lambda f: lambda m, three, x: f(m, [three[:2] + 1.0, 2.0 * x[:2]], mode="mirror"), ndimage
    ),
    **each(
        "csr_array csc_array",
        lambda f: lambda x, a: f((x, (np.arange(4) % 2, np.arange(4) % 3)), (2, 3)) @ np.transpose(a),
        sparse,
    ),
    **each("cdist", lambda f: lambda a, m: f(a, m), spatial.distance),
    **each("pdist", lambda f: lambda m: f(m), spatial.distance),
    # With the solver's tolerance
    **each(
        "odeint",
        lambda f: to_precision(
            1e-5, lambda t: f(lambda y, s, k: s - k * y * y, t, [0.0, t], (t,), rtol=1e-11, atol=1e-11)
        ),
        integrate,
    ),
    **each(
        "solve_ivp",
        lambda f: to_precision(
            1e-5,
            lambda t: f(
                lambda s, y, p: s - p * y * y, (0.0, t), [t], "DOP853", [t], args=(t,), rtol=1e-11, atol=1e-11
            ).y[:, 0],
        ),
        integrate,
    ),
    **each("quad", lambda f: lambda t: f(lambda x: np.exp(-t * x) * x, t, 2.0)[0], integrate),
    **each("nquad", lambda f: lambda t: f(lambda x, y: x * y, [(0.0, 1.0), (0.0, t)])[0], integrate),
    **each("dblquad", lambda f: lambda t: f(lambda y, x: x * y, 0.0, 1.0, 0.0, t)[0], integrate),
    **each("tplquad", lambda f: lambda t: f(lambda z, y, x: x * y * z, 0.0, t, 0.0, 1.0, 0.0, 1.0)[0], integrate),
    **each(
        "bisect brentq brenth ridder toms748",
        lambda f: lambda x: f(lambda s: s**3 + s - np.sum(x), 0.0, 3.0),
        optimize,
    ),
    **each("newton", lambda f: lambda x: f(lambda s: s**3 + s - x, np.ones(4), tol=1e-13), optimize),
    **each("root_scalar", lambda f: lambda x: f(lambda s: s**3 + s - np.sum(x), bracket=(0.0, 3.0)).root, optimize),
    **each("root", lambda f: lambda x: f(lambda s: s**3 + s - x, np.ones(4), tol=1e-13).x, optimize),
    **each("fsolve", lambda f: lambda x: f(lambda s: s**3 + s - x, np.ones(4), xtol=1e-13), optimize),
    **each(
        "least_squares",
        lambda f: lambda x: f(lambda s: s**3 + s - x, np.ones(4), ftol=1e-15, xtol=1e-15, gtol=1e-15).x,
        optimize,
    ),
    **methods(
        "norm laplace cauchy logistic gumbel_r", CONTINUOUS, lambda f: lambda signed, x, large: f(signed, x, large)
    ),
    **methods("expon", CONTINUOUS, lambda f: lambda large, x, y: f(large, x, y)),
    **methods("uniform", CONTINUOUS, lambda f: lambda x, y, large: f(x, -0.3 * y, large)),
    **methods(
        "norm laplace cauchy logistic gumbel_r expon uniform",
        QUANTILES,
        lambda f: lambda x, y, large: f(x, y, large),
    ),
    **methods("norm laplace logistic gumbel_r expon uniform", MOMENTS, lambda f: lambda x, large: f(x, large)),
    **methods("beta", CONTINUOUS + " " + QUANTILES, lambda f: lambda x, y, large: f(x, y, large)),
    **methods("beta", MOMENTS, lambda f: lambda x, y, large: f(x, y, 0.3, large)),
    **methods(
        "gamma chi2 lognorm weibull_min pareto invgamma",
        CONTINUOUS,
        lambda f: lambda large, x, y: f(large, x, 0.3, y),
    ),
    **methods(
        "gamma chi2 lognorm weibull_min pareto invgamma t",
        QUANTILES,
        lambda f: lambda x, y, large: f(x, large, 0.3, y),
    ),
    **methods("gamma chi2 weibull_min pareto invgamma t", MOMENTS, lambda f: lambda x, y: f(2.5 + x, 0.3, y)),
    **methods("lognorm", MOMENTS, lambda f: lambda x, y: f(x, 0.3, y)),
    **methods("f", CONTINUOUS, lambda f: lambda large, x, y: f(large, x, y, 0.3)),
    **methods("f", QUANTILES, lambda f: lambda x, y, large: f(x, large, y, 0.3)),
    **methods("f", MOMENTS, lambda f: lambda x, y: f(x, 4.5 + y, 0.3)),
    **methods("t", CONTINUOUS, lambda f: lambda signed, large, x, y: f(signed, large, x, y)),
    **methods("truncnorm", CONTINUOUS + " " + QUANTILES, lambda f: lambda x, y, large: f(x, -y, large)),
    **methods("truncnorm", MOMENTS, lambda f: lambda x, y, large: f(-y, large, 0.3, x)),
    **methods("vonmises", "pdf logpdf", lambda f: lambda signed, large, x, y: f(signed, large, x, y)),
    **methods("vonmises", "cdf sf logcdf logsf", lambda f: lambda signed, x, large: f(signed, 1.5, x, large)),
    **methods("vonmises", QUANTILES, lambda f: lambda x, signed, large: f(x, 1.5, signed, large)),
    **methods("poisson", COUNTS, lambda f: lambda large: f([0, 1, 2, 3], large)),
    **methods("binom", COUNTS, lambda f: lambda x: f([0, 1, 2, 3], 5, x)),
    **methods("bernoulli", COUNTS, lambda f: lambda x: f(0, x)),
    **methods("geom", COUNTS, lambda f: lambda x: f([1, 2, 3, 4], x)),
    **methods("nbinom", COUNTS, lambda f: lambda large, x: f([0, 1, 2, 3], large, x)),
    **methods("poisson bernoulli geom", MOMENTS, lambda f: lambda x, y: f(x, y)),
    **methods("binom", MOMENTS, lambda f: lambda x, y: f(5, x, y)),
    **methods("nbinom", MOMENTS, lambda f: lambda large, x: f(large, x)),
    **methods("dirichlet", "pdf logpdf", lambda f: lambda x, large: f(x / np.sum(x), large)),
    **methods("multivariate_normal", "pdf logpdf", lambda f: lambda a, three, m: f(a, three, m @ m.T)),
    **methods("multivariate_t", "pdf logpdf", lambda f: lambda a, three, m, t: f(a, three, m @ m.T, t)),
    **methods("multivariate_normal", "entropy", lambda f: lambda m: f(np.zeros(3), m @ m.T)),
}

CONSTANT = {"constant between jumps": "round gammasgn"}

WITHOUT_OPERANDS = {
    "integers only": (
        "bernoulli euler factorial factorial2 factorialk stirling2 ai_zeros bei_zeros beip_zeros ber_zeros "
        "berp_zeros bi_zeros erf_zeros fresnel_zeros fresnelc_zeros fresnels_zeros jn_zeros jnjnp_zeros jnp_zeros "
        "jnyn_zeros kei_zeros keip_zeros kelvin_zeros ker_zeros kerp_zeros y0_zeros y1_zeros y1p_zeros yn_zeros "
        "ynp_zeros"
    ),
    "a polynomial, or the nodes and weights of a rule, by its degree": (
        "chebyc chebys chebyt chebyu gegenbauer genlaguerre hermite hermitenorm jacobi laguerre legendre "
        "sh_chebyt sh_chebyu sh_jacobi sh_legendre c_roots cg_roots h_roots he_roots j_roots js_roots l_roots "
        "la_roots p_roots ps_roots roots_chebyc roots_chebys roots_chebyt roots_chebyu roots_gegenbauer "
        "roots_genlaguerre roots_hermite roots_hermitenorm roots_jacobi roots_laguerre roots_legendre "
        "roots_sh_chebyt roots_sh_chebyu roots_sh_jacobi roots_sh_legendre s_roots t_roots ts_roots u_roots "
        "us_roots"
    ),
    "settings": "geterr seterr",
}

NOT_SUPPORTED = {
    "SciPy makes arrays of its operands: import it from `shiftreset_ad.scipy.special`": (
        "logsumexp softmax log_softmax polygamma multigammaln comb perm jvp yvp ivp kvp h1vp h2vp spherical_jn "
        "spherical_yn spherical_in spherical_kn diric legendre_p assoc_legendre_p sph_legendre_p sph_harm_y"
    ),
    "the densities of noncentral distributions are infinite sums: no rule, `custom_vjp` gives one": (
        "chndtr chndtridf chndtrinc chndtrix ncfdtr ncfdtri ncfdtridfd ncfdtridfn ncfdtrinc nctdtr nctdtridf nctdtrinc "
        "nctdtrit"
    ),
    "an eigenvalue, or the coefficients of an eigenfunction: differentiate the matrix's by `numpy.linalg.eigh`": (
        "mathieu_a mathieu_b mathieu_even_coef mathieu_odd_coef obl_cv obl_cv_seq pro_cv pro_cv_seq"
    ),
    "SciPy's values of it are not accurate where x is small, and so its derivative would not be theirs": (
        "obl_rad2 obl_rad2_cv pro_rad2 pro_rad2_cv"
    ),
    "SciPy computes no derivative of ellipsoidal functions: `custom_vjp` gives one": (
        "ellip_harm ellip_harm_2 ellip_normal"
    ),
    "it computes many orders, and derivatives, at once: use the function of one order": (
        "assoc_legendre_p_all legendre_p_all lqmn lqn lmbda pbdn_seq pbdv_seq pbvv_seq riccati_jn riccati_yn "
        "kelvin sph_harm_y_all sph_legendre_p_all"
    ),
}

# Operands of functions that have a derivative in the others: a number there is an error.
PARAMETERS = {
    "orders: the derivative is no function of the same kind, but a series or an integral (DLMF 10.15, 10.38)": (
        "v of jv, yv, iv, kv, jve, yve, ive, kve, hankel1, hankel2, hankel1e, hankel2e, struve, modstruve, pbdv, pbvv "
        "and lpmv; n of jn, yn, kn and expn; nu and lmb of besselpoly; a of pbwa"
    ),
    "parameters of hypergeometric functions: the derivative is a hypergeometric function of two variables": (
        "a, b, c of hyp0f1, hyp1f1, hyp2f1, hyperu, wright_bessel and log_wright_bessel"
    ),
    "degrees and parameters of orthogonal polynomials: integers, or hypergeometric parameters": (
        "n, alpha, beta, p, q of the functions eval_..., and n and m of Legendre functions"
    ),
    "counts: SciPy rounds them to integers, and the function is constant between": (
        "k and n of bdtr, nbdtr, pdtr, their complements and bdtri, nbdtri, pdtri; n of smirnov and smirnovi"
    ),
    "characteristic values depend on them": "m, n, q, c and cv of Mathieu and spheroidal functions",
}
