"""What the library is known to do wrong, or to refuse: it is left out of what is generated, or of what is compared.

Each has the statements in which it shows, as a regular expression, and the routes by which it does; None is for all. A
defect that is mended is taken out of the table.
"""

from __future__ import annotations

import re

KNOWN_DEFECTS: dict[str, tuple[str, frozenset[str] | None]] = {
    "checkpoints that close over a pullback or a linear map": (r"checkpoint\(lambda u: p_", None),
    "what was zeros, in a rule made by jvp, written to arrays that have views, or that the argument makes": (
        r"zeros|_like",
        frozenset({"custom_jvp_transposed"}),
    ),
}


def is_left_out(statement: str) -> bool:
    """Whether a statement is not to be generated."""
    return any(routes is None and re.search(pattern, statement) for pattern, routes in KNOWN_DEFECTS.values())


def left_out(source: str) -> set[str]:
    """The routes that are not taken for a program."""
    return {
        name
        for pattern, routes in KNOWN_DEFECTS.values()
        if routes is not None and re.search(pattern, source)
        for name in routes
    }
