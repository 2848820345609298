"""What was computed, beside the known answer: a table, and a verdict."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from table import print_table

Row = tuple[str, Any, Any, float]  # a name, what was computed, the known answer, and the largest difference allowed


def compare(title: str, rows: Sequence[Row]) -> int:
    """Print each answer beside the known one; 0 if all agree, and 1 otherwise, for the exit of a program."""
    differences = [float(np.max(np.abs(np.asarray(found) - known))) for _, found, known, _ in rows]
    table = [
        [name, _shown(found), _shown(known), f"{difference:.1e}", f"{allowed:.0e}"]
        for (name, found, known, allowed), difference in zip(rows, differences, strict=True)
    ]
    print_table(title, ["", "computed", "known", "difference", "at most"], table)
    agree = all(difference <= allowed for difference, (*_, allowed) in zip(differences, rows, strict=True))
    print(f"all answers {'AGREE' if agree else 'DO NOT AGREE'} with the known ones")
    return 0 if agree else 1


def _shown(answer: Any) -> str:
    numbers = [f"{number:.4g}" for number in np.ravel(answer)]
    return " ".join(numbers if len(numbers) <= 2 else [*numbers[:2], "..."])
