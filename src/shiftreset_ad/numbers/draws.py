"""What to write instead of drawing random numbers with parameters that are being differentiated.

For most distributions this is a draw without parameters, and a function of this draw and of the parameters. In the
texts, `rng` is a generator or the module `numpy.random`, and `n` is the shape of the draw.
"""

from __future__ import annotations

_UNIFORM = "rng.uniform(size=n)"
_NORMAL = "rng.normal(size=n)"


def _gamma(shape: str) -> str:
    return f"scipy.special.gammaincinv({shape}, {_UNIFORM})"


# The call, and what to write instead.
CONTINUOUS = {
    "beta": ("rng.beta(a, b)", f"scipy.special.betaincinv(a, b, {_UNIFORM})"),
    "chisquare": ("rng.chisquare(k)", f"2 * {_gamma('k / 2')}"),
    "exponential": ("rng.exponential(s)", "s * rng.exponential(size=n)"),
    "f": ("rng.f(a, b)", f"({_gamma('a / 2')} / a) / ({_gamma('b / 2')} / b)"),
    "gamma": ("rng.gamma(a, s)", f"s * {_gamma('a')}"),
    "gumbel": ("rng.gumbel(x, s)", "x + s * rng.gumbel(size=n)"),
    "laplace": ("rng.laplace(x, s)", "x + s * rng.laplace(size=n)"),
    "logistic": ("rng.logistic(x, s)", "x + s * rng.logistic(size=n)"),
    "lognormal": ("rng.lognormal(x, s)", f"numpy.exp(x + s * {_NORMAL})"),
    "multivariate_normal": (
        "rng.multivariate_normal(mean, cov)",
        "mean + numpy.linalg.cholesky(cov) @ rng.normal(size=len(mean))",
    ),
    "noncentral_chisquare": (
        "rng.noncentral_chisquare(k, c)",
        f"({_NORMAL} + numpy.sqrt(c)) ** 2 + 2 * {_gamma('(k - 1) / 2')}",
    ),
    "normal": ("rng.normal(x, s)", f"x + s * {_NORMAL}"),
    "pareto": ("rng.pareto(a)", "numpy.expm1(rng.exponential(size=n) / a)"),
    "power": ("rng.power(a)", f"{_UNIFORM} ** (1 / a)"),
    "rayleigh": ("rng.rayleigh(s)", "s * rng.rayleigh(size=n)"),
    "standard_gamma": ("rng.standard_gamma(a)", _gamma("a")),
    "standard_t": ("rng.standard_t(k)", f"{_NORMAL} * numpy.sqrt(k / (2 * {_gamma('k / 2')}))"),
    "uniform": ("rng.uniform(a, b)", f"a + (b - a) * {_UNIFORM}"),
    "vonmises": (
        "rng.vonmises(x, k)",
        "x + rng.vonmises(0, shiftreset_ad.value(k), size=n), without a derivative in k",
    ),
    "weibull": ("rng.weibull(a)", "rng.exponential(size=n) ** (1 / a)"),
}
OF_ELEMENTS = {
    "choice": ("rng.choice(x)", "x[rng.choice(len(x))]"),
    "permutation": ("rng.permutation(x)", "x[rng.permutation(len(x))]"),
    "permuted": ("rng.permuted(x)", "x.ravel()[rng.permutation(x.size)].reshape(x.shape)"),
}
OF_TWO_STEPS = {
    "dirichlet": ("rng.dirichlet(a)", f"g = {_gamma('a').replace('n)', 'len(a))')}, and then g / numpy.sum(g)"),
    "triangular": (
        "rng.triangular(a, c, b)",
        f"u = {_UNIFORM}, and then numpy.where(u < (c - a) / (b - a), a + numpy.sqrt(u * (b - a) * (c - a)), "
        "b - numpy.sqrt((1 - u) * (b - a) * (b - c)))",
    ),
}
COUNTS = (
    *("binomial", "geometric", "hypergeometric", "integers", "logseries", "multinomial", "multivariate_hypergeometric"),
    *("negative_binomial", "poisson", "randint", "zipf"),
)
OF_COUNTS = (
    "rng.{name}(shiftreset_ad.value(p)), as a count has no derivative, and the logarithm of its probability for the "
    "derivative of a mean"
)
KNOWN = CONTINUOUS | OF_ELEMENTS | OF_TWO_STEPS
OTHERWISE = (
    "fixed parameters, and compute with what is drawn, as x + s * rng.normal(size=n) is what rng.normal(x, s) would be"
)


def of_draw(method: str | None) -> str:
    """What to write instead of this method of a generator, or this function of `numpy.random`."""
    if method in KNOWN:
        call, instead = KNOWN[method]
        return f"{instead} for {call}"
    return OF_COUNTS.format(name=method) if method in COUNTS else OTHERWISE
