"""What is known of a program: its loss, its arguments, and which derivative is wanted."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import optree

from benchmarks.programs import losses

NAMES = [module.name for module in pkgutil.iter_modules(losses.__path__)]


@dataclass
class Program:
    """A loss with its arguments, and a direction, which is a structure like the parameters."""

    name: str
    loss: Callable[[Any, Any, Any], Any]
    loss_in_place: Callable[[Any, Any, Any], Any]
    wants_hvp: bool
    without: tuple[str, ...]
    parameters: Any
    data: Any
    direction: Any


def program(name: str, small: bool = False, read_only: bool = False) -> Program:
    """The program of this name, with the same arguments each time. Nobody can write to `read_only` data."""
    module = import_module(f"{losses.__name__}.{name}")
    rng = np.random.default_rng(0)
    parameters, data = module.arguments(rng, small)
    for leaf in optree.tree_leaves(data):
        if isinstance(leaf, np.ndarray):
            leaf.flags.writeable = not read_only
    in_place = getattr(module, "loss_in_place", module.loss)
    wants_hvp = getattr(module, "DERIVATIVE", "gradient") == "hvp"
    without = getattr(module, "WITHOUT", ())
    direction = direction_like(rng, parameters)
    return Program(name, module.loss, in_place, wants_hvp, without, parameters, data, direction)


def direction_like(rng: np.random.Generator, parameters: Any) -> Any:
    """A random structure of length 1."""
    leaves, structure = optree.tree_flatten(parameters)
    drawn = [rng.normal(size=np.shape(leaf)) for leaf in leaves]
    length = sum(np.sum(leaf**2) for leaf in drawn) ** 0.5
    return structure.unflatten(leaf / length if np.ndim(leaf) else float(leaf / length) for leaf in drawn)
