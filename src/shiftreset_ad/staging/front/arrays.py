"""The arrays to which the blocks of a site write: each is in the state, by the variable or the place that holds it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from shiftreset_ad.staging.control.versions import Origin, Written
from shiftreset_ad.staging.front.contents import Place
from shiftreset_ad.staging.front.frames import Variable
from shiftreset_ad.staging.front.places import Places
from shiftreset_ad.staging.front.session import Session


class OneArray:
    """Several variables and places that hold one array, to which blocks write: the array is in the state once."""

    def __init__(self, holders: Sequence[Variable | Place]) -> None:
        self._holders = holders
        self.name = holders[0].name

    def identity(self) -> Hashable:
        """That of the first one."""
        return self._holders[0].identity()

    def get(self) -> Any:
        """The array."""
        return self._holders[0].get()

    def put(self, value: Any) -> None:
        """Another version of the array."""
        for holder in self._holders:
            holder.put(value)

    def is_one(self) -> bool:
        """Whether all of them still hold one array."""
        return all(holder.get() is self.get() for holder in self._holders)


Holder = Variable | Place | OneArray


class Arrays:
    """The arrays of a site's variables and places to which its blocks write: of some of those that hold arrays."""

    def __init__(self, session: Session, places: Places) -> None:
        self._session = session
        self._places = places
        self._versions = session.control.versions
        self._holders: dict[Hashable, Holder] = {}
        self._handles: dict[Hashable, Any] = {}  # the arrays that they hold before the blocks
        self.carried: list[Hashable] = []  # the holders of arrays to which the blocks write, as far as it is known
        self._last: dict[Hashable, bool] = {}  # whether they have the last version of their array after the blocks
        self._written: set[Hashable] = set()
        self._likely: set[Hashable] = set()  # those that are carried as they are likely to be written to
        self._idle: set[Hashable] = set()  # and were not
        self._bring_back: Callable[[], None]

    def start(self, holders: Sequence[Variable | Place]) -> list[Holder]:
        """The blocks are going to be written down, and may write to the arrays of these holders.

        Those that hold an array to which the blocks write become one.
        """
        arrays = [holder for holder in holders if self._session.control.is_staged_array(holder.get())]
        new = self._places.likely_arrays() - self._idle - {*self.carried}
        likely = [holder.identity() for holder in arrays if holder.identity() in new]
        self._likely.update(likely)
        self.carried += likely
        written = {id(holder.get()) for holder in arrays if holder.identity() in self.carried}
        found: dict[Any, Holder] = {}
        for holder in holders:
            is_written = id(array := holder.get()) in written
            same = [other for other in arrays if is_written and other.get() is array]
            found.setdefault((is_written, id(array if is_written else holder)), OneArray(same) if same[1:] else holder)
        self._holders = {
            holder.identity(): holder
            for holder in found.values()
            if self._session.control.is_staged_array(holder.get())
        }
        self._handles = {key: holder.get() for key, holder in self._holders.items()}
        self.carried = [key for key in self.carried if key in self._handles]
        for key in likely:
            if key in self._handles and self._versions.announce(self._handles[key]):
                self._session.carry_array(self._handles[key], around=1)
        self._versions.require_no_common_memory([self._handles[key] for key in self.carried])
        return list(found.values())

    def carry(self, key: Any) -> None:
        """The blocks write to the array of this holder. Raises Written if the blocks around have to carry it, too.

        If the array is carried already, it was likely to be written to, and is not.
        """
        is_idle = key in self.carried
        self._places.note_array(key, not is_idle)
        if is_idle:
            self.carried.remove(key)
            self._likely.remove(key)
            self._idle.add(key)
            return
        self.carried.append(key)
        self._places.add(self._handles[key])
        if self._versions.announce(self._handles[key]):
            self._session.carry_array(self._handles[key])

    @contextmanager
    def followed(self) -> Iterator[None]:
        """Write blocks down that may write to the arrays."""
        with self._versions.kept() as self._bring_back:
            self._last.clear()
            self._written.clear()
            yield

    def copies(self, holders: Sequence[Holder]) -> list[Any]:
        """What is held, for blocks to begin with."""
        return [
            self._versions.copy(holder.get()) if holder.identity() in self.carried else holder.get()
            for holder in holders
        ]

    def begin(self) -> dict[Hashable, Origin]:
        """A block begins: variables and places have their values in it."""
        self._bring_back()
        for key in self.carried:
            self._versions.outdate(self._handles[key])
        origins = {}
        for key, handle in self._handles.items():
            holder, is_carried = self._holders[key], key in self.carried
            origins[key] = Origin(self, key, holder.name, is_carried)
            self._versions.begin(holder.get() if is_carried else handle, origins[key])
        return origins

    def handed_on(self, holders: Sequence[Holder], origins: Mapping[Hashable, Origin]) -> list[Any]:
        """What a block hands on."""
        values = [holder.get() for holder in holders]
        self._versions.require_last(values)
        for value, holder in zip(values, holders, strict=True):
            if (key := holder.identity()) in self.carried:
                if isinstance(holder, OneArray) and not holder.is_one():
                    self._versions.refuse(f"{holder.name!r} is written to, and one of its names bound to another array")
                is_last = self._versions.is_last(value, origins[key])
                if is_last and origins[key].is_written:
                    self._written.add(key)
                    self._versions.require_no_other_name(value, values)
                self._last[key] = is_last and self._last.get(key, True)
        self._bring_back()
        return values

    def write_back(self, holders: Sequence[Holder], answers: Sequence[Any], bound: Sequence[str]) -> list[Any]:
        """What is held after the blocks, given their answers. The blocks themselves bind the variables in `bound`."""
        keys = [holder.identity() for holder in holders]
        found = dict(zip(keys, answers, strict=True))
        versions = []
        for key in self.carried:
            handle = self._handles[key]
            if key in self._written:
                self._versions.require_last_in_all(self._last[key], self._holders[key].name)
                found[key] = self._versions.write_back(handle, found[key])
                versions.append((handle, found[key]))
            elif isinstance(self._holders[key], Variable):
                found[key] = found[key] if key in bound else handle
            elif key in self._likely:
                raise Written(self, key)
            else:
                self._versions.refuse(f"{self._holders[key].name!r} is written to, or bound to another array")
        self._session.renamed(versions)
        return [found[key] for key in keys]


def with_carried(session: Session, carriers: Sequence[Any], write: Callable[[], Any]) -> Any:
    """The answer of `write`, which writes blocks down; it is called again for all that the carriers have to carry."""
    while True:
        mark = session.control.mark()
        try:
            return write()
        except Written as written:
            if not any(written.writer is carrier for carrier in carriers):
                raise
            session.control.rewind(mark)
            written.writer.carry(written.key)
