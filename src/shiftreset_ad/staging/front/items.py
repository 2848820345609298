"""Items that rewritten code reads: at a staged index, the steps choose an item of a plain list, tuple or array.

By itself, `table[k]` would ask for the plain index, and the steps would hold for this index alone.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from numpy import ndarray

from shiftreset_ad.staging.front.session import current
from shiftreset_ad.staging.front.sites import Site


class ItemSite(Site):
    """`x[index]` in the user's code."""

    def item(self, x: Any, index: Any) -> Any:
        """`x[index]`. A row that the steps choose has no name in common with `x`, so `x` must not change later."""
        session = current()
        if session is None or type(x) not in (list, tuple, ndarray) or self in session.refusals:
            return x[index]
        return session.control.item(x, index, partial(session.handed_on.note_read, self))
