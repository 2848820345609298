"""A test that raises an error if it has another answer: an `assert`, or an `if` with a branch that ends by `raise`.

The steps hold as long as no error is raised. A block that is written down may never be reached with the values that it
is recorded on. So there the test has the answer that raises no error, whatever these values are.
"""

from __future__ import annotations

from typing import Any

from shiftreset_ad.staging.front.session import current
from shiftreset_ad.staging.front.sites import Site


class Requirement(Site):
    """A test that must have an answer."""

    def required(self, test: Any, answer: bool) -> Any:
        """What Python is to ask: in a block the answer, and otherwise the test, so it goes the way of the program."""
        session = current()
        return test if session is None else session.control.required(test, answer)
