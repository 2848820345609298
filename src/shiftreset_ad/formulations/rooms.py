"""What is known of a formulation beside its code: where it is, what it shows, what it cannot do."""

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
    `without` names what a program must not use: "references". `order` is the highest order of derivatives,
    which come by `grad` of `grad`, or of what `derivative_by` names.
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
        """The module, imported when it is first asked for."""
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
        """What makes of a program one for its derivative, which `grad` takes again."""
        return getattr(self.module, self.derivative_by)  # type: ignore[no-any-return]
