"""The texts of a way beside its Python source: the steps for those who look, and native code.

Most functions are called a few times or looked at by nobody. So the texts are written when they are needed: when a
property asks for them, or when native code is compiled. Until then, the record of the run is kept.
"""

from __future__ import annotations

from typing import Any

from shiftreset_ad.modes.reverse.collector import with_relaxed_collector
from shiftreset_ad.staging.ir import text_of
from shiftreset_ad.staging.native import machine
from shiftreset_ad.staging.native.compiled import Native
from shiftreset_ad.staging.native.llvm import NoNativeFormError
from shiftreset_ad.staging.python.elimination import Eliminated, constants_in
from shiftreset_ad.staging.steps.detaching import can_be_kept, detach
from shiftreset_ad.staging.steps.trace import LONGEST, Trace


class Texts:
    """The text of the steps of a trace, and its native code.

    `left` is the trace after elimination. If the record of the run cannot be kept, the texts are written at once.
    `problem` is the reason if it is known that there is no native code.
    """

    __slots__ = ("_ir", "_native", "_record", "problem")

    def __init__(self, trace: Trace, outputs: list[Any], left: Eliminated) -> None:
        self._ir = ""
        self._native: Native | None = None
        self._record: tuple[Trace, list[Any], Eliminated] | None = (trace, outputs, left)
        self.problem = machine.unfit() or ""
        if not can_be_kept(trace):
            self._write()

    def keep(self) -> None:
        """Keep the record after the run, without the memory of its arrays; or else write the texts now."""
        if self._record is None:
            return
        trace, outputs, left = self._record
        if not detach(trace, left.steps, outputs, [*constants_in(left), *outputs], left.fixed):
            self._write()

    @property
    def ir(self) -> str:
        """The text of the steps."""
        self._write()
        return self._ir

    def native(self) -> Native:
        """The native code. Raises NoNativeFormError if there is none."""
        with_relaxed_collector(self._write)
        if self._native is None:
            raise NoNativeFormError(self.problem)
        return self._native

    def _write(self) -> None:
        record = self._record  # another thread may write, too
        if record is None:
            return
        trace, _, _ = record
        if len(trace.steps) <= LONGEST:
            self._ir = text_of(*record)
        if not self.problem:
            try:
                self._native = Native(*record)
            except NoNativeFormError as error:
                self.problem = f"{error}"
        self._record = None
