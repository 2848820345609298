"""Every function of the standard that has a derivative: by each library as by NumPy, in every mode, to second order."""

from __future__ import annotations

import numpy as np
import pytest

import shiftreset_ad as sr
from tests.array_api.cases import CASES
from tests.array_api.libraries import assert_same


def arguments(shapes, dtype=float):
    generator = np.random.default_rng(0)
    sizes = [int(np.prod(shape)) for shape in shapes]
    elements = np.split(generator.permutation(np.linspace(0.2, 0.8, sum(sizes))), np.cumsum(sizes)[:-1])
    xs = tuple(np.array(part.reshape(shape), dtype) for part, shape in zip(elements, shapes, strict=True))
    return xs, tuple(np.array(generator.normal(size=shape), dtype) for shape in shapes)


def derivatives(f, xs, x_dots):
    """Forward and reverse mode, each over each, and all directions at once."""
    every = tuple(range(len(xs)))

    def value(*xs):
        return f(xs[0].__array_namespace__(), *xs)

    def scalar(*xs):
        y = value(*xs)
        return np.sum(y * y)

    def slope(*xs):
        return sum(np.sum(x_bar * x_dot) for x_bar, x_dot in zip(sr.grad(scalar, every)(*xs), x_dots, strict=True))

    return {
        "jvp": lambda: sr.jvp(value, xs, x_dots),
        "value_and_grad": lambda: sr.value_and_grad(scalar, every)(*xs),
        "hvp": lambda: sr.hvp(scalar, xs, x_dots),
        "grad of grad": lambda: sr.grad(slope, every)(*xs),
        "jacobian": lambda: sr.jacobian(value, every)(*xs),
    }


def case(name, dtype=float):
    """The function and its arguments; skips what this version of NumPy does not have yet."""
    f, shapes = CASES[name]
    xs, x_dots = arguments(shapes, dtype)
    if np.lib.NumpyVersion(np.__version__) < "2.1.0":
        try:
            f(np, *xs)
        except (AttributeError, TypeError) as error:
            pytest.skip(str(error))
    return f, xs, x_dots


@pytest.mark.parametrize("name", CASES)
def test_as_numpy(name, library):
    f, xs, x_dots = case(name)
    theirs = derivatives(f, library.arrays(xs), library.arrays(x_dots))
    for mode, ours in derivatives(f, xs, x_dots).items():
        assert_same(library, theirs[mode](), ours())


@pytest.mark.parametrize("name", [name for name in CASES if "float64" not in name and name != "astype"])
def test_single_precision(name, library):
    f, xs, x_dots = case(name, np.float32)
    theirs = derivatives(f, library.arrays(xs), library.arrays(x_dots))
    ours = derivatives(f, xs, x_dots)
    for mode in ("jvp", "value_and_grad"):
        assert_same(library, theirs[mode](), ours[mode](), 2e-3)


def test_every_function_of_the_standard_has_a_case():
    """Or is constant, or makes arrays, or is about dtypes; the list is that of `array_api_strict`."""
    strict = pytest.importorskip("array_api_strict")
    names = {name for name in strict.__all__ if callable(getattr(strict, name)) and not name.startswith(("_", "Array"))}
    names |= {f"linalg.{name}" for name in strict.linalg.__all__} | {f"fft.{name}" for name in strict.fft.__all__}
    called = set(" ".join(CASES).replace(",", " ").split())
    without = set(WITHOUT_DERIVATIVE.split())
    assert not names - called - without
    assert not called & without - {"sign"}  # of complex numbers it has one


WITHOUT_DERIVATIVE = """
    all any argmax argmin argsort bitwise_and bitwise_invert bitwise_left_shift bitwise_or bitwise_right_shift
    bitwise_xor ceil count_nonzero equal floor floor_divide greater greater_equal isfinite isin isinf isnan less
    less_equal logical_and logical_not logical_or logical_xor nextafter nonzero not_equal round searchsorted sign
    signbit trunc linalg.matrix_rank
    asarray empty from_dlpack full ones zeros fft.fftfreq fft.rfftfreq
    broadcast_shapes can_cast finfo iinfo isdtype result_type Device
    get_array_api_strict_flags reset_array_api_strict_flags set_array_api_strict_flags
"""
