"""A function that calls itself under a staged test is written down as a function, and not call by call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, wraps
from inspect import signature
from operator import is_
from types import CodeType, FunctionType
from typing import Any

from shiftreset_ad.staging.front.blocks import RewrittenCode
from shiftreset_ad.staging.front.frames import FrameVariables
from shiftreset_ad.staging.front.places import Places
from shiftreset_ad.staging.front.refusals import CALLS_ANOTHER
from shiftreset_ad.staging.front.session import Session
from shiftreset_ad.staging.front.sites import Site


class RecursionSite(Site):
    """A function that calls itself. Its calls inside are calls of what is written down."""

    is_of_a_function = True

    def answer(self, session: Session, form: FunctionType, args: Any, kwargs: Mapping[str, Any]) -> Any:
        """The answer of a call of the function in its rewritten form."""
        try:
            bound = signature(form, follow_wrapped=False).bind(*args, **kwargs)
        except TypeError:
            return form(*args, **kwargs)  # which raises the error, too
        bound.apply_defaults()
        args, kwargs = bound.args, bound.kwargs
        if self in session.refusals:
            return form(*args, **kwargs)
        if self in session.functions:
            outer, function = session.functions[self]
            seen = form.__globals__, *(form.__closure__ or ())
            if not all(map(is_, seen, (outer.__globals__, *(outer.__closure__ or ())))):
                session.refuse(self, CALLS_ANOTHER)
            return self._called(session, function, function.again, args, kwargs)
        if not session.control.has_staged((args, kwargs)):
            return form(*args, **kwargs)

        @wraps(form)
        def body(*args: Any, **kwargs: Any) -> Any:
            return self._called(session, function, form, args, kwargs)

        function = session.control.self_calling(body)
        session.functions[self] = form, function
        try:
            nowhere = Places(session, self, may_carry=False)
            with self.writing(session, FrameVariables(form), nowhere, [form, args, kwargs]):
                return self._called(session, function, function, args, kwargs)
        finally:
            del session.functions[self]

    def _called(self, session: Session, state: Any, f: Callable[..., Any], args: Any, kwargs: Mapping[str, Any]) -> Any:
        """The answer of a call; each takes, and hands on, its arguments and its answer."""
        session.noted(self, (state, "arguments"), [*args, *kwargs.values()])
        (answer,) = session.noted(self, (state, "answer"), [f(*args, **kwargs)])
        return answer


@cache
def recursion(form: CodeType, code: RewrittenCode) -> RecursionSite:
    """The site of a function, by its code, which is a part of the rewritten `code`."""
    return RecursionSite(form.co_firstlineno, code, None)
