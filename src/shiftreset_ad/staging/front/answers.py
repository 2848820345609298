"""The answer of a `return` in a `with` or a `try`: it is found there, and returned after the statement.

A jump that becomes data leaves its statement later than in Python, by the end of the statement. So the answer is kept
in a variable.
"""

from __future__ import annotations

from typing import Any

from shiftreset_ad.staging.front.blocks import RewrittenCode
from shiftreset_ad.staging.front.refusals import RETURNS_NO_NUMBERS
from shiftreset_ad.staging.front.session import current
from shiftreset_ad.staging.front.sites import Site
from shiftreset_ad.staging.front.stand_ins import form_of, zeros_of


class AnswerSite(Site):
    """A `return` in a `with` or a `try`."""

    def __init__(self, line: int, code: RewrittenCode) -> None:
        super().__init__(line, code, None)

    def stand_in(self) -> Any:
        """What the variable has before there is an answer."""
        session = current()
        form = None if session is None else session.forms.get(self)
        return None if form is None else zeros_of(form)

    def kept(self, answer: Any) -> Any:
        """The answer, in a block that is written down."""
        session, form = current(), form_of(answer)
        if session is not None:
            if answer is None or form is None or session.forms.get(self, form) != form:
                session.control.refuse(RETURNS_NO_NUMBERS)
            session.has_form(self, form)
        return answer
