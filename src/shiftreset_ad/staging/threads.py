"""Which threads record a function now. In the whole process, one at a time does so."""

from __future__ import annotations

from threading import Lock, get_ident

one_at_a_time = Lock()  # a run is recorded under a trace function, which Python sets for all threads at once
that_record: list[int] = []  # a thread is in it as often as it records, one recording in another


def is_recording() -> bool:
    """Whether a function is being recorded in this thread: its calls of staged functions are recorded, too."""
    return bool(that_record) and get_ident() in that_record


class _Recording:
    """The time in which a function is recorded in this thread, as a block."""

    __slots__ = ()

    def __enter__(self) -> None:
        that_record.append(get_ident())

    def __exit__(self, *_: object) -> None:
        that_record.remove(get_ident())


recording = _Recording()
