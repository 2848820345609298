"""What attempts to write control down have found out, for the next attempts of the control around it.

Control is written down again and again, until the kinds of what it carries are known. Control in it would have to find
out its own kinds in each of these attempts, and control in that again: 2 to the power of the depth. So control begins
with what an earlier attempt has found. It is known by its path: by its number in the body that it is in, and that body
by the path of its own control.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

from shiftreset_ad.numbers.tags import Tag

Path: TypeAlias = "tuple[Any, ...]"


class Attempts:
    """What was found, by the paths.

    `count` is the number of controls so far in the body that is being written. Derivatives with tags up to `newest`
    were there before the outermost control: each attempt has the same ones.
    """

    __slots__ = ("_around", "_found", "count", "newest")

    def __init__(self) -> None:
        self._found: dict[Path, tuple[Any, Any]] = {}
        self._around: Path = ()
        self.count = self.newest = 0

    def path(self) -> Path:
        """The path of control that begins here."""
        self.count += 1
        if not self._around:
            self.newest = Tag().serial
        return *self._around, self.count

    @contextmanager
    def within(self, path: Path, body: int) -> Iterator[None]:
        """Write a body of the control with this path, which has this number."""
        outer = self._around, self.count
        self._around, self.count = (*path, body), 0
        try:
            yield
        finally:
            self._around, self.count = outer

    def found(self, path: Path, given: Any) -> Any:
        """What an earlier attempt has found that was given the same; None if there is nothing."""
        before, found = self._found.get(path, (None, None))
        return found if before == given else None

    def keep(self, path: Path, given: Any, found: Any) -> None:
        """Keep what an attempt has found, if there is control around it."""
        if len(path) > 1:
            self._found[path] = given, found
