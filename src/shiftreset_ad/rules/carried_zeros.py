"""Zeros that a recorded run carries where a number has no derivative at all.

A number that is not chosen, or that only another branch uses, adds nothing to any adjoint. Steps that serve all choices
carry a zero for it instead. Zero times an infinite derivative is NaN, and a rule of the user's may give something for a
cotangent of zero. So what records the run looks at each derivative that the program gets, and at each such rule.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from shiftreset_ad.rules.broadcasting import shape_of


class _CarriedZeros(threading.local):
    """What the thread that records a run knows of the zeros in it.

    There are `any`, or the run `asks` which number is chosen, and carries none for choices. The run `is_uncertain` if
    a derivative that the program gets is NaN, and `is_doubtful` if one is in a branch that may not be taken.

    What records the run has hooks here, which are called if there are `any`: `certain_of` is given the derivatives that
    the program gets, and gives them back. `before_rule` is given what a rule of the user's is going to get, and
    `after_rule` has what the rule has found, too. Where nobody looks, they do nothing.
    """

    any = False
    asks = False
    is_uncertain = False
    is_doubtful = False
    certain_of: Callable[[list[Any]], list[Any]] = staticmethod(lambda derivatives: derivatives)
    before_rule: Callable[[list[Any]], None] = staticmethod(lambda given: None)
    after_rule: Callable[[list[Any], list[Any]], None] = staticmethod(lambda given, found: None)

    def begin(
        self,
        certain_of: Callable[[list[Any]], list[Any]],
        before_rule: Callable[[list[Any]], None],
        after_rule: Callable[[list[Any], list[Any]], None],
    ) -> None:
        """A run begins, which knows of no zeros yet. The hooks are its own until it ends."""
        self.certain_of, self.before_rule, self.after_rule = certain_of, before_rule, after_rule
        self.any = self.is_uncertain = self.is_doubtful = False

    def end(self) -> None:
        """The run has ended. What runs from here on is not recorded."""
        del self.certain_of, self.before_rule, self.after_rule
        self.any = False

    @contextmanager
    def asking(self) -> Iterator[None]:
        """Runs inside the block ask which number is chosen."""
        before = self.asks, self.any
        self.asks, self.any = True, False
        try:
            yield
        finally:
            self.asks, self.any = before


carried = _CarriedZeros()


def may_count(mask: Any) -> bool:
    """Whether the adjoint of a number may count, of which elements count where the mask is True, which is staged.

    If the run does not ask, it carries a zero for an adjoint that does not count.
    """
    if carried.asks and not mask.is_under_control:
        return bool(np.any(mask) if shape_of(mask) else mask)
    carried.any = True
    return True
