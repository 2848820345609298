"""A room is described by the place of its code, by what it shows, and by what it cannot do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from math import inf
from types import ModuleType
from typing import Any


@dataclass(frozen=True, eq=False)
class Room:
    """A formulation of one of the papers: a module with at least `grad`.

    `style` says what its `grad` takes beside terms: "python" functions, functions in explicit "cps", or "terms" only.
    `without` names the constructs that a program must not use: "references". `order` is the highest order of
    derivatives. They come by `grad` of `grad`, or by `grad` of the function that `derivative_by` names.
    """

    name: str
    path: str
    paper: str
    section: str
    shows: str
    cannot: str
    style: str = "python"
    without: frozenset[str] = frozenset()
    order: float = inf
    derivative_by: str = "grad"

    @cached_property
    def module(self) -> ModuleType:
        """The module, which is imported at the first access."""
        return import_module(f"shiftreset_ad.formulations.{self.path}")

    @property
    def grad(self) -> Callable[..., Callable[..., Any]]:
        """The room's gradient."""
        return self.module.grad  # type: ignore[no-any-return]

    @property
    def jvp(self) -> Callable[..., Callable[..., Any]] | None:
        """The room's derivative along a direction, if it has one."""
        return getattr(self.module, "jvp", None)

    @property
    def derivative(self) -> Callable[..., Any]:
        """The function from a program to a program for its derivative, which `grad` takes again."""
        return getattr(self.module, self.derivative_by)  # type: ignore[no-any-return]
