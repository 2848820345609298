"""First weights of networks, and how many there are."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

Arrays = dict[str, np.ndarray]


def kaiming_uniform(random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Uniform weights whose variance is 2 over the number of inputs of a unit (He et al. 2015)."""
    bound = np.sqrt(6.0 / np.prod(shape[1:]))
    return random.uniform(-bound, bound, shape).astype(np.float32)


def kaiming_normal(random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Normal weights whose variance is 2 over the number of outputs that an input reaches."""
    return (random.normal(size=shape) * np.sqrt(2.0 / (shape[0] * np.prod(shape[2:])))).astype(np.float32)


def uniform(random: np.random.Generator, shape: tuple[int, ...], inputs: int) -> np.ndarray:
    """Uniform weights between plus and minus one over the square root of the number of inputs."""
    bound = inputs**-0.5
    return random.uniform(-bound, bound, shape).astype(np.float32)


def zeros(size: int) -> np.ndarray:
    """Zeros in single precision."""
    return np.zeros(size, np.float32)


def ones(size: int) -> np.ndarray:
    """Ones in single precision."""
    return np.ones(size, np.float32)


def count(parameters: Mapping[str, np.ndarray]) -> int:
    """The number of parameters."""
    return sum(x.size for x in parameters.values())
