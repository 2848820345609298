"""The modules in `docs/`, which is no package: one call of each function, and the command that measures them all."""

from __future__ import annotations

import importlib.util
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent.parent / "docs"


def of_docs(file: str, name: str | None = None) -> Any:
    """The module in a file of `docs/`, imported by this name."""
    name = file if name is None else name
    if name not in sys.modules:
        spec: Any = importlib.util.spec_from_file_location(name, DOCS / f"{file}.py")
        sys.modules[name] = importlib.util.module_from_spec(spec)
        try:
            spec.loader.exec_module(sys.modules[name])
        except BaseException:
            del sys.modules[name]
            raise
    return sys.modules[name]


def examples_of_numpy() -> Any:
    """One call of each function of NumPy: `EXAMPLES`, `POINTS` to call them at, and `points_of` a call."""
    return of_docs("coverage_examples")


def examples_of_scipy() -> Any:
    """One call of each function of SciPy. ImportError without SciPy."""
    examples_of_numpy()  # which it imports
    return of_docs("coverage_special")


def coverage() -> Any:
    """The command, as a module: its own name is that of another library."""
    examples_of_numpy()
    of_docs("coverage_reasons")
    with suppress(ImportError):  # the command does without
        examples_of_scipy()
    return of_docs("coverage", "docs_coverage")
