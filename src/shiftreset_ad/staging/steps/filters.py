"""How warnings are filtered while a function is recorded: a record cannot follow what the function does with them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

NUMERICAL = (RuntimeWarning, np.exceptions.ComplexWarning)


class Filters:
    """The filters of warnings at the beginning, and what shows warnings."""

    __slots__ = ("_before", "_filters", "_shown_by", "give_mere_warnings")

    def __init__(self) -> None:
        self._filters, self._before = warnings.filters, list(warnings.filters)  # which may be changed in place
        self._shown_by = _shown_by()
        self.give_mere_warnings = _reaction(warnings.filters, RuntimeWarning) != "error"

    @property
    def are_as_before(self) -> bool:
        """Whether warnings are filtered as they were at the beginning."""
        return warnings.filters is self._filters and self._filters == self._before

    def problem(self) -> str | None:
        """What a record cannot follow."""
        for category in NUMERICAL:
            if _reaction(warnings.filters, category) == "error" != _reaction(self._before, category):
                return "it makes errors of warnings. Use numpy.errstate(all='raise')"
        if _shown_by() != self._shown_by:
            return "it records warnings, and may look at them. Record them outside"
        return None


def _shown_by() -> tuple[Any, Any]:
    """The functions that show a warning, or keep it in a list."""
    return warnings.showwarning, getattr(warnings, "_showwarnmsg_impl", None)


def _reaction(filters: Any, category: type[Warning]) -> str | None:
    """What the filters do with warnings of this category, or with some of them."""
    return next((entry[0] for entry in filters if issubclass(category, entry[2])), None)
