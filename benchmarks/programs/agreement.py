"""Whether the libraries agree with one another, and our derivative with finite differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import optree

from benchmarks.programs.catalogue import Program
from benchmarks.programs.libraries import Prepared
from shiftreset_ad import grad

STEP = 1e-4


def check_agreement(prepared: dict[str, Prepared]) -> None:
    """Raise an error if a library differs from the first one in the value or in a leaf of the derivative."""
    first, *others = prepared
    value, leaves = prepared[first].value(), prepared[first].leaves()
    for name in others:
        where = f"{name} and {first} differ"
        np.testing.assert_allclose(prepared[name].value(), value, rtol=1e-6, err_msg=where)
        for found, expected in zip(prepared[name].leaves(), leaves, strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6 * np.max(np.abs(expected)), err_msg=where)


def check_slope(program: Program, prepared: Prepared) -> None:
    """Raise an error if the derivative, along the program's direction, differs from finite differences.

    They may differ by a millionth of the derivative's length, as `amax` has kinks within the step.
    """
    leaves = prepared.leaves()
    atol = 1e-6 * inner(leaves, leaves) ** 0.5
    np.testing.assert_allclose(inner(leaves, program.direction), slope(program), rtol=0.0, atol=atol)


def slope(program: Program) -> Any:
    """The derivative along the direction, of the loss or of its slope, by a difference of the fourth order."""

    def at(t: float) -> Any:
        p = optree.tree_map(lambda p, v: p + t * v, program.parameters, program.direction)
        if program.wants_hvp:
            return inner(grad(lambda p: program.loss(np, p, program.data))(p), program.direction)
        return program.loss(np, p, program.data)

    return (8.0 * (at(STEP) - at(-STEP)) - (at(2.0 * STEP) - at(-2.0 * STEP))) / (12.0 * STEP)


def inner(a: Any, b: Any) -> Any:
    """The inner product of two structures, of which one may be the list of its leaves."""
    return sum(np.sum(x * y) for x, y in zip(optree.tree_leaves(a), optree.tree_leaves(b), strict=True))
