"""The texts of a way: the steps for those who look, the steps by NumPy in Python, and native code.

Many functions are called once, and looked at by nobody. So a text is written when it is needed: when a property asks
for it, when the steps run for the first time, or when native code is compiled. Until then, the record of the run is
kept.
"""

from __future__ import annotations

from functools import partial
from typing import Any, cast

from shiftreset_ad.modes.reverse.collector import with_relaxed_collector
from shiftreset_ad.staging.ir import text_of
from shiftreset_ad.staging.native import machine
from shiftreset_ad.staging.native.compiled import Native
from shiftreset_ad.staging.native.llvm import NoNativeFormError
from shiftreset_ad.staging.python.elimination import Eliminated, constants_in
from shiftreset_ad.staging.python.generation import Generated, generated, questions_of
from shiftreset_ad.staging.steps.detaching import MOST_KEPT, can_be_kept, detach
from shiftreset_ad.staging.steps.trace import LONGEST, Step, Trace, UnstageableError

Record = tuple[Trace, list[Any], Eliminated]
TOO_LONG = "# It is long, and there is only native code."


class Texts:
    """The text of the steps of a trace, the steps by NumPy, and native code.

    `left` is the trace after elimination. The texts of a record that cannot be kept are written at once. If it is long
    and has native code, there are no steps by NumPy, as Python would take long to compile them: `is_by_numpy` says so.
    `problem` is the reason if it is known that there is no native code. Raises UnstageableError if there is no code.
    """

    __slots__ = ("_ir", "_native", "_python", "_record", "is_by_numpy", "problem", "questions")

    def __init__(self, trace: Trace, outputs: list[Any], left: Eliminated) -> None:
        self._ir = ""
        self._python: Generated | None = None
        self._native: Native | None = None
        self._record: Record | None = (trace, outputs, left)
        self.is_by_numpy = True
        self.problem = machine.unfit() or ""
        self.questions: list[Step]
        if can_be_kept(trace):
            self.questions = questions_of(trace, left.steps)
        else:
            self._write(self._record)

    def keep(self) -> None:
        """Keep the record after the run, without the memory of its arrays; or else write the texts now."""
        if self._record is None:
            return
        trace, outputs, left = self._record
        if not detach(trace, left.steps, outputs, [*constants_in(left), *outputs], left.fixed):
            self._write(self._record)

    @property
    def ir(self) -> str:
        """The text of the steps."""
        record = self._record  # another thread may write, too
        if record is not None and not self._ir:
            self._ir = text_of(*record)
        return self._ir or TOO_LONG

    @property
    def source(self) -> str:
        """The steps by NumPy, in Python."""
        return self._by_numpy().source if self.is_by_numpy else TOO_LONG

    def take(self, inputs: list[Any]) -> Any:
        """The answers for some inputs by NumPy, or the number of a question that has another answer."""
        python = self._python or self._by_numpy()
        return python.function(inputs)

    def native(self) -> Native:
        """The native code. Raises NoNativeFormError if there is none."""
        record = self._record
        if record is not None:
            self._write_native(record)
            self._forget_what_is_written(record)
        if self._native is None:
            raise NoNativeFormError(self.problem)
        return self._native

    def _by_numpy(self) -> Generated:
        record, python = self._record, self._python
        if python is None and record is not None:
            self._python = python = with_relaxed_collector(partial(generated, *record))
            self._forget_what_is_written(record)
        return cast(Generated, python)

    def _write(self, record: Record) -> None:
        """Write all texts, as the record goes."""
        trace, _, _ = record
        count = len(trace.steps)
        is_long = count > (LONGEST if trace.has_control else MOST_KEPT)
        if is_long:
            self._write_native(record)
        if count > LONGEST and self._native is None:
            raise UnstageableError(f"it has more than {LONGEST} steps, and no native code: {self.problem}")
        if is_long and self._native is not None:
            self.is_by_numpy, self.questions = False, self._native.questions
        else:
            self._python, self._ir = generated(*record), text_of(*record)
            self.questions = self._python.questions
            self._write_native(record)
        self._record = None

    def _write_native(self, record: Record) -> None:
        if self._native is None and not self.problem:
            try:
                self._native = with_relaxed_collector(partial(Native, *record))
            except NoNativeFormError as error:
                self.problem = f"{error}"

    def _forget_what_is_written(self, record: Record) -> None:
        """Forget the record, unless a text is still to be written."""
        if self._python is not None and (self._native is not None or self.problem):
            self._ir = self._ir or text_of(*record)
            self._record = None
