"""How deep functions go in native code: as deep as Python's limit says, and no deeper than the stack of C reaches.

A function that is called too deep leaves, and the NumPy steps tell what Python says. Each activation counts, so that a
long run looks for an interrupt as a long loop does.
"""

from __future__ import annotations

from collections.abc import Iterator

from shiftreset_ad.staging.native import lock, machine
from shiftreset_ad.staging.native.llvm import INTERRUPTED, LEAVE
from shiftreset_ad.staging.native.lock import STEPS_AT_FIRST, STEPS_BETWEEN_LOOKS

# The slots with the lowest address, Python's limit, and the steps since a look
LIMIT, DEPTH, COUNT = range(lock.THREAD + lock.SLOTS, lock.THREAD + lock.SLOTS + 3)
SLOTS = 3


def begin() -> Iterator[str]:
    """The lines that note the limits, at the beginning of a run."""
    yield "  %on_the_stack = alloca i8"
    yield "  %address = ptrtoint ptr %on_the_stack to i64"
    yield f"  %lowest = sub i64 %address, {machine.stack()}"
    yield "  %python_limit = call i32 @Py_GetRecursionLimit()"
    yield "  %most_calls = sext i32 %python_limit to i64"
    for slot, value in ((LIMIT, "%lowest"), (DEPTH, "%most_calls"), (COUNT, f"{STEPS_AT_FIRST}")):
        yield f"  %of_stack{slot} = getelementptr i64, ptr %frame, i64 {slot}"
        yield f"  store i64 {value}, ptr %of_stack{slot}"


def entered(steps: int) -> Iterator[str]:
    """The lines at the beginning of a function, which leaves if it is called too deep. A call counts as so many steps.

    The function stores its status in `%status`, and goes to `stop`, unless it is done.
    """
    yield from f"""
  %here = alloca i8
  %address = ptrtoint ptr %here to i64
  %of_limit = getelementptr i64, ptr %frame, i64 {LIMIT}
  %lowest = load i64, ptr %of_limit
  %is_low = icmp ult i64 %address, %lowest
  %is_deep = icmp sle i64 %depth, 0
  %is_too_deep = or i1 %is_low, %is_deep
  store i64 {LEAVE}, ptr %status
  br i1 %is_too_deep, label %stop, label %count
count:
  %of_count = getelementptr i64, ptr %frame, i64 {COUNT}
  %before = load i64, ptr %of_count
  %counted = add i64 %before, {steps}
  store i64 %counted, ptr %of_count
  %is_due = icmp ugt i64 %counted, {STEPS_BETWEEN_LOOKS}
  br i1 %is_due, label %look, label %body
look:
  store i64 0, ptr %of_count
  %problem = call i64 @look(ptr %frame)
  store i64 {INTERRUPTED}, ptr %status
  %is_interrupted = icmp ne i64 %problem, 0
  br i1 %is_interrupted, label %stop, label %body
body:
""".strip("\n").splitlines()
