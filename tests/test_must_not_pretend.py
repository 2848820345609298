"""No function turns a number that is being differentiated into a constant without being asked.

Every public function of NumPy, of the standard library's mathematics and of parts of SciPy is called with a number in
every position: it raises, or its derivative is that of finite differences. What it does, by which rule, does not count.
"""

from __future__ import annotations

import importlib
import math
import random
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from shiftreset_ad import grad, jvp, value

# Not called: what reads, writes or prints, changes settings, or answers with memory that nobody has written to.
LEFT_OUT = {
    *("fromfile", "fromregex", "genfromtxt", "load", "loadtxt", "memmap", "save", "savetxt", "savez", "open_memmap"),
    *("savez_compressed", "test", "info", "show_config", "show_runtime", "set_printoptions", "printoptions", "seterr"),
    *("seterrcall", "setbufsize", "errstate", "get_include", "empty", "empty_like", "seed", "set_state", "setstate"),
    *("SystemRandom", "RandomState", "Random", "getrandbits", "bytes", "randbytes", "spawn", "set_bit_generator"),
    # routines that read beyond their arguments if these are no spline
    *(
        "splint",
        "splev",
        "spalde",
        "sproot",
        "splder",
        "splantider",
        "insert",
        "bisplev",
        "bisplrep",
        "splrep",
        "splprep",
    ),
    "frombuffer",  # it reads the memory of an array of objects, which holds addresses
    "bmat",  # it answers with None where it is given neither a list nor an array
    *("ndarray", "set_default_print_style", "get_bit_generator", "random_raw", "frompyfunc", "vectorize"),
}
# Functions whose answer is a constant although it changes with the number. Each is asked for by its name.
DECLARED = {
    # the neighbours of a floating-point number, and their distance
    "numpy.nextafter": "the next floating-point number, in the direction of the second operand",
    "numpy.spacing": "the distance to it",
    "math.ulp": "the same",
    # of arrays of objects NumPy gives one of the two objects, and not whether they are true
    **{f"{module}.{name}": "x or y" for module in ("numpy", "numpy.ma") for name in ("logical_and", "logical_or")},
    **{f"numpy.ma.{name}": "x or y, of all" for name in ("alltrue", "sometrue")},
    "scipy.special.lambertw": "to the tolerance that is the third operand",
}
CRASHES = (SystemError, RecursionError, MemoryError)  # and every other exception is a refusal

S, T, U = 0.62, 0.37, 0.81
V, W, R = np.array([0.28, 0.47, 0.64]), np.array([0.33, 0.54, 0.71]), np.array([0.15, 0.41, 0.85])
M = np.array([[0.9, 0.22, 0.1], [0.25, 0.79, 0.3], [0.17, 0.35, 0.69]])
N = np.array([[0.51, 0.12, 0.6], [0.45, 0.73, 0.2], [0.31, 0.66, 0.95]])
for constant in (V, W, R, M, N):
    constant.flags.writeable = False  # what writes into its arguments is another matter, and refuses here
PATTERNS: dict[str, tuple[Any, Callable[..., tuple[Any, ...]]]] = {
    "(s)": (S, lambda x: (x,)),
    "(s, .)": (S, lambda x: (x, T)),
    "(., s)": (S, lambda x: (T, x)),
    "(s, ., .)": (S, lambda x: (x, T, U)),
    "(., s, .)": (S, lambda x: (T, x, U)),
    "(., ., s)": (S, lambda x: (T, U, x)),
    "(s, n)": (S, lambda x: (x, 3)),
    "(n, s)": (S, lambda x: (3, x)),
    "(n, s, .)": (S, lambda x: (2, x, T)),
    "(a, s)": (S, lambda x: (V, x)),
    "(s, a)": (S, lambda x: (x, V)),
    "(a, s, .)": (S, lambda x: (V, x, U)),
    "(s, a, a)": (S, lambda x: (x, R.cumsum(), V)),
    "(a)": (V, lambda x: (x,)),
    "(a, .)": (V, lambda x: (x, W)),
    "(., a)": (V, lambda x: (W, x)),
    "(a, ., .)": (V, lambda x: (x, W, R)),
    "(., a, .)": (V, lambda x: (W, x, R)),
    "(., ., a)": (V, lambda x: (W, R, x)),
    "(a, n)": (V, lambda x: (x, 2)),
    "(n, a)": (V, lambda x: (2, x)),
    "(shape, s)": (S, lambda x: ((2, 2), x)),
    "(shape, a)": (V, lambda x: ((2, 3), x)),
    "(m)": (M, lambda x: (x,)),
    "(m, .)": (M, lambda x: (x, N)),
    "(., m)": (M, lambda x: (N, x)),
    "(m, a)": (M, lambda x: (x, V)),
    "(a, m)": (M, lambda x: (V, x)),
    "(m, n)": (M, lambda x: (x, 1)),
    "([s])": (S, lambda x: ([x, T, U],)),
    "([s], .)": (S, lambda x: ([x, T, U], W)),
    "(., [s])": (S, lambda x: (W, [T, x, U])),
    "([s], [.])": (S, lambda x: ([T, x, U], [0.21, 0.55, 0.93])),
    "([s], n)": (S, lambda x: ([x, T, U], 1)),
    "([s], number)": (S, lambda x: ([x, T, U], x)),
    "([s], [.], [.])": (S, lambda x: ([x, T, U], [0.21, 0.55, 0.93], [0.48, 0.7, 0.11])),
    "([[s]])": (S, lambda x: ([[x, T], [U, x]],)),
    "([[s]], .)": (S, lambda x: ([[x, T], [U, x]], N[:2, :2])),
    "([a])": (V, lambda x: ([x, W],)),
    "([a], .)": (V, lambda x: ([x, W], R)),
    "(., [a])": (V, lambda x: (R, [x, W])),
    "(array of objects)": (S, lambda x: (objects([x, T, U]),)),
    "(array of objects, .)": (S, lambda x: (objects([T, x, U]), W)),
    "(., array of objects)": (S, lambda x: (W, objects([T, x, U]))),
    "(array of objects, number)": (S, lambda x: (objects([T, x, U]), x)),
    "(matrix of objects)": (S, lambda x: (objects([x, T, U, x]).reshape(2, 2),)),
    "(lambda, a, b)": (S, lambda x: (lambda t: x * t * t, 0.0, 1.0)),
    "(lambda, s)": (S, lambda x: (lambda t: t * t, x)),
    "(lambda, a)": (V, lambda x: (lambda t: t * t, x)),
}


def objects(elements: list[Any]) -> Any:
    """What NumPy makes of a list with numbers in it, and of plain floats an ordinary array."""
    return np.array(elements)


def fresh(module: str) -> Any:
    """A module, or a generator of random numbers that always gives the same ones."""
    if module == "numpy.random.Generator":
        return np.random.default_rng(0)
    if module == "numpy.random.RandomState":
        return np.random.RandomState(0)
    if module == "random.Random":
        return random.Random(0)
    return importlib.import_module(module)


def total(result: Any, depth: int = 0) -> Any:
    """A scalar that depends on every number in a result of any kind; 0.0 if there is none."""
    if isinstance(result, bool | np.bool | str | bytes | type | None) or depth > 4:
        return 0.0
    if isinstance(result, np.ma.MaskedArray):
        result = result.filled(0.0)
    if isinstance(result, np.ndarray):
        if result.dtype.kind not in "fciuO":
            return 0.0
        if result.dtype.kind != "O":
            return weighted(np.asarray(result))
        return sum((math.cos(i) * total(part, depth) for i, part in enumerate(result.flat)), 0.0)
    if isinstance(result, list | tuple):
        return sum(((1.0 + 0.3 * i) * total(part, depth + 1) for i, part in enumerate(result)), 0.0)
    if isinstance(result, dict):
        return total(list(result.values()), depth)
    if isinstance(result, Iterator):
        return total([part for part, _ in zip(result, range(9), strict=False)], depth)
    if isinstance(result, int | float | complex | np.number) or hasattr(result, "__array_ufunc__"):
        return weighted(result)
    return total(list(getattr(result, "__dict__", {}).values()), depth + 1)


def weighted(x: Any) -> Any:
    """A weighted sum of the parts of an array or a scalar, real and imaginary."""
    x = x if np.ndim(x) else x * 1.0
    if not np.iscomplexobj(x):
        return np.sum(np.reshape(x, -1) * np.cos(np.arange(np.size(x)))) if np.ndim(x) else x
    return weighted(np.real(x)) + 0.7 * weighted(np.imag(x))


def slope(f: Callable[[Any], Any], x: Any, direction: Any) -> float | None:
    """The derivative of `f` by finite differences; None if it has none."""

    def by(step: float) -> float:
        return float((f(x + step * direction) - f(x - step * direction)) / (2 * step))

    first, second = by(1e-5), by(2e-5)
    if not np.isfinite(first) or abs(first - second) > 1e-4 * (1.0 + abs(first)):
        return None
    return first


def calls(module: str, name: str) -> Iterator[tuple[str, Any, Callable[[Any], Any]]]:
    """The ways to call a function that it takes with plain floats: what they are, the argument, and the call."""
    for pattern, (x, arguments) in PATTERNS.items():

        def f(x: Any, arguments: Any = arguments) -> Any:
            return total(getattr(fresh(module), name)(*arguments(x)))

        try:
            repeatable = np.isfinite(f(x)) and f(x) == f(x)
        except Exception:
            continue
        if repeatable:
            yield pattern, x, f


def pretending(module: str) -> list[str]:
    """The calls of functions of a module that have an answer, and another derivative than the right one."""
    found = []
    for name in dir(fresh(module)):
        if name.startswith("_") or name in LEFT_OUT or f"{module}.{name}" in DECLARED:
            continue
        function = getattr(fresh(module), name)
        if not callable(function) or (isinstance(function, type) and issubclass(function, BaseException)):
            continue
        for pattern, x, f in calls(module, name):
            if isinstance(function, np.ufunc) and "lambda" in pattern:
                continue  # a function as an object
            direction = np.sin(1.0 + np.arange(np.size(x))).reshape(np.shape(x))[()]
            try:
                expected = slope(f, x, direction)
            except Exception:
                continue
            if expected is None:
                continue
            for mode, derivative in MODES.items():
                try:
                    answer = derivative(f, x, direction)
                except CRASHES as error:
                    found.append(f"{module}.{name}{pattern}, {mode}: {error!r}")
                    continue
                except Exception:
                    continue
                if abs(answer - expected) > 1e-3 * (1.0 + abs(expected)):  # and not where it is NaN
                    found.append(f"{module}.{name}{pattern}, {mode}: {answer}, and not {expected}")
    return found


MODES: dict[str, Callable[..., float]] = {
    "reverse": lambda f, x, direction: float(np.sum(grad(f)(x) * direction)),
    "forward": lambda f, x, direction: float(jvp(f, (x,), (float(direction) if np.ndim(x) == 0 else direction,))[1]),
}
MODULES = [
    "math",
    "cmath",
    "statistics",
    "random.Random",
    "numpy",
    "numpy.linalg",
    "numpy.fft",
    "numpy.char",
    "numpy.ma",
]
MODULES += [
    "numpy.random.Generator",
    "numpy.random.RandomState",
    "numpy.lib.stride_tricks",
    "numpy.lib.scimath",
]
MODULES += [
    f"numpy.polynomial.{name}" for name in ("polynomial", "chebyshev", "legendre", "hermite", "hermite_e", "laguerre")
]
OF_SCIPY = [f"scipy.{name}" for name in ("special", "optimize", "integrate", "interpolate", "linalg", "stats")]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("module", MODULES)
def test_nothing_pretends(module: str) -> None:
    assert pretending(module) == []


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("module", OF_SCIPY)
def test_nothing_of_scipy_pretends(module: str) -> None:
    pytest.importorskip("scipy")
    assert pretending(module) == []


class Pretender:
    """A module with functions that lose a number, each in its own way."""

    @staticmethod
    def constant(x: Any) -> Any:
        return 2.0 * value(x)

    @staticmethod
    def one_of_two(x: Any, y: Any) -> Any:
        return x * value(y)

    @staticmethod
    def elements(x: Any) -> Any:
        return np.array([value(part) for part in x])

    @staticmethod
    def honest(x: Any) -> Any:
        return np.sin(x)

    @staticmethod
    def refusing(x: Any) -> Any:
        return float(x)


def test_what_pretends_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "fresh", lambda module: Pretender)
    found = pretending("pretender")
    for name in ("constant(s), reverse", "constant(m), forward", "one_of_two(., s)", "elements(a)", "elements([s])"):
        assert any(call.startswith(f"pretender.{name}") for call in found), name
    assert not any("honest" in call or "refusing" in call for call in found)


def test_the_calls_are_many() -> None:
    """That is, the patterns find ways to call nearly every function that takes floats."""
    called = {
        name for name in dir(np) if not name.startswith("_") and callable(getattr(np, name)) and name not in LEFT_OUT
    }
    called = {name for name in called if any(True for _ in calls("numpy", name))}
    assert len(called) > 250
    assert {
        "sin",
        "dot",
        "where",
        "interp",
        "stack",
        "array",
        "asarray",
        "std",
        "full",
        "linspace",
        "einsum",
    } - called == {"einsum"}
