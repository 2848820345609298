"""Why a function has no derivative, group by group, and why one that has a derivative is not supported."""

from __future__ import annotations

# Of these, `docs/coverage.py` makes the call and sees that the answer is NumPy's, and an ordinary value.
CONSTANT = {
    "a question about values": (
        "all any allclose array_equal array_equiv isclose equal not_equal less less_equal greater greater_equal "
        "logical_and logical_or logical_xor logical_not isnan isinf isfinite isneginf isposinf iscomplex isreal "
        "signbit argmax argmin nanargmax nanargmin argsort argpartition argwhere lexsort nonzero flatnonzero "
        "count_nonzero digitize searchsorted isin linalg.matrix_rank"
    ),
    "constant between jumps": "ceil floor rint round around trunc fix floor_divide spacing",
    "about shapes, types and memory": (
        "shape ndim size result_type iscomplexobj isrealobj common_type can_cast min_scalar_type may_share_memory "
        "shares_memory diag_indices_from tril_indices_from triu_indices_from"
    ),
    "text": "array_repr array_str array2string",
}

# These are not called with numbers that are being differentiated, or raise an error for one.
WITHOUT_OPERANDS = {
    "about shapes and types": (
        "broadcast_shapes isdtype isfortran isscalar issubdtype iterable mintypecode promote_types typename "
        "require info einsum_path"
    ),
    "indices": (
        "diag_indices tril_indices triu_indices indices mask_indices ravel_multi_index unravel_index nested_iters"
    ),
    "an array from nothing": (
        "arange empty eye identity ones tri zeros fft.fftfreq fft.rfftfreq bartlett blackman hamming hanning"
    ),
    "integers and bits only": (
        "bitwise_and bitwise_count bitwise_invert bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift "
        "bitwise_xor gcd lcm invert left_shift right_shift packbits unpackbits base_repr binary_repr"
    ),
    "dates": "busday_count busday_offset is_busday isnat datetime_as_string datetime_data",
    "text": "format_float_positional format_float_scientific",
    "input and output": (
        "from_dlpack frombuffer fromfile fromregex fromstring genfromtxt load loadtxt save savetxt savez "
        "savez_compressed"
    ),
    "settings": (
        "geterr geterrcall getbufsize get_include get_printoptions printoptions set_printoptions setbufsize "
        "seterr seterrcall show_config show_runtime test"
    ),
}

# These have a derivative, and calling them with a number is an error that says what to write instead.
NOT_SUPPORTED = {
    "NumPy makes a `numpy.matrix`: use arrays": "asmatrix bmat",
    "NumPy makes a float of each element: use stack": "fromiter",
    "NumPy makes arrays of objects: write the function with NumPy's own": "frompyfunc",
}

AUTOGRAD = {
    "numpy": (
        "abs acos acosh add amax amin angle array_split asin asinh atan atan2 atanh atleast_1d atleast_2d "
        "atleast_3d broadcast_to clip concatenate conj cos cosh cross cumsum deg2rad degrees diag diagonal diff "
        "divide dot dsplit einsum exp exp2 expand_dims expm1 fabs fliplr flipud fmax fmin full gradient hsplit "
        "hypot imag inner kron linspace log log10 log1p log2 logaddexp logaddexp2 matmul max maximum mean min "
        "minimum mod moveaxis multiply nan_to_num negative outer pad partition pow prod rad2deg radians ravel "
        "real real_if_close reciprocal repeat reshape roll rollaxis rot90 sin sinc sinh sort split sqrt square "
        "squeeze std subtract sum swapaxes tan tanh tensordot tile trace transpose tril triu var vsplit where"
    ),
    "numpy.linalg": "cholesky det eig eigh inv norm pinv slogdet solve svd",
    "numpy.fft": ("fft fft2 fftn fftshift ifft ifft2 ifftn ifftshift irfft irfft2 irfftn rfft rfft2 rfftn"),
    "scipy.integrate": "odeint",
    "scipy.linalg": "solve_banded solve_sylvester solve_triangular sqrtm",
    "scipy.signal": "convolve",
    "scipy.special": (
        "beta betainc betaln digamma erf erfc erfcinv erfinv expit gamma gammainc gammaincc gammaln gammasgn i0 "
        "i1 iv ive j0 j1 jn logit logsumexp multigammaln polygamma psi rgamma y0 y1 yn"
    ),
    "scipy.stats.beta": "cdf logpdf pdf",
    "scipy.stats.chi2": "cdf logpdf pdf",
    "scipy.stats.dirichlet": "logpdf pdf",
    "scipy.stats.gamma": "cdf logpdf pdf",
    "scipy.stats.multivariate_normal": "entropy logpdf pdf",
    "scipy.stats.norm": "cdf logcdf logpdf logsf pdf sf",
    "scipy.stats.poisson": "cdf logpmf pmf",
    "scipy.stats.t": "cdf logcdf logpdf pdf",
}


def of_autograd() -> list[str]:
    """The functions that HIPS autograd 1.9.1 has a derivative of, in at least one mode."""
    return [f"{namespace}.{name}" for namespace, names in AUTOGRAD.items() for name in names.split()]
