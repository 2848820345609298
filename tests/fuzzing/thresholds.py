"""The sizes from which the library goes another way, all of them set to the least."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module

LEAST = {
    "modes.reverse.kept.SMALL": 0,
    # A shell for each array of two elements and more. Modules that ask often have a name of their own for the size.
    **{f"modes.reverse.{module}.SMALL": 1 for module in ("shells", "elementwise", "answers", "choices", "single")},
    "transforms.directions.AT_MOST": 8,  # a few at once, and a rest
    "numbers.writing.MANY": 0,
    "modes.reverse.kept.TINY": 0,
    "modes.reverse.elementwise.TINY": 0,
    "modes.reverse.arrays.LARGE": 0,
    "modes.reverse.arrays.MANY": 0,
    "modes.stacks.number.LARGE": 2,  # and no arrays without dimensions, whose rows are no arrays
    "rules.numpy.products.LARGE": 0,
    "rules.masked.FEW": 0,
    "rules.numpy.choosing.FEW": 0,
    "rules.numpy.shapes.SMALL": 0,
    "rules.indexing.FEW": 0,
    "rules.linalg.matrices.SMALL": 0,
    "rules.linalg.factors.MANY": 1,
    "staging.control.persistent.FEW": 0,
    "staging.steps.trace.SMALL": 0,
    "staging.steps.values.LARGE": 0,
    "transforms.jacobians.FEW": 1,
}


# Each `for` and `while` loop of a staged function is written down, whether it is long or not.
LOOPS = {
    "staging.front.long_loops.MOST_STEPS": 0,
    "staging.front.long_loops.FIRST_ATTEMPT": 1,
    "staging.forms.PATIENCE": 5,
}


# Whatever has two elements along an axis goes in strips of two elements.
STRIPS = {
    "staging.native.strips.SHORTEST": 2,
    "staging.native.strips.FEW_ROWS": 10**9,
    "staging.native.in_strips.MANY": -1,
    "staging.native.in_strips.BUDGET": 0,
    "staging.native.in_strips.LEAST": 0,
    "staging.native.in_strips.CALL": 0,
    "staging.native.in_strips.MOST": 10**9,
    "staging.native.in_strips.FEWEST": 1,
}


def thresholds_at_least() -> AbstractContextManager[None]:
    """Have each size above which the library does something else be the least that there is."""
    return _set_to(LEAST)


def loops_written_at_once() -> AbstractContextManager[None]:
    """Have the loops of staged functions written down after their first rounds."""
    return _set_to(LOOPS)


def arrays_in_strips() -> AbstractContextManager[None]:
    """Have the steps of native code go in strips where they can, however short the arrays are."""
    return _set_to(STRIPS)


@contextmanager
def _set_to(values: Mapping[str, int]) -> Iterator[None]:
    before = {path: getattr(*_found(path)) for path in values}
    try:
        for path, value in values.items():
            setattr(*_found(path), value)
        yield
    finally:
        for path, value in before.items():
            setattr(*_found(path), value)


def _found(path: str):
    module, _, name = path.rpartition(".")
    return import_module(f"shiftreset_ad.{module}"), name
