"""The ledger of a limited loop in native code: that of `python/ledgers.py`, with frames and snapshots in chunks.

A ledger begins with the links of the head of the loop's frames. Snapshots lie below the mark, and frames above it, so
all frames are released at once. The room of a snapshot that is dropped is free for another one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from shiftreset_ad.staging.native.frames import END, NEWEST, NEXT, PREVIOUS, TOP

NO_SNAPSHOT, SNAPSHOT, NO_MEMORY, OVER = range(4)  # what a stretch begins with: a state may go to the place `STATE`
ENOUGH = 2**62  # more stretches than there are
INTEGERS = ("STRETCH", "FIRST", "TARGET", "DUE", "COUNT", "POSITION", "LEVEL")
POINTERS = ("PREVIOUS", "NEXT", "TOP", "END", "NEWEST", "STACK", "BOTTOM", "CURSOR", "FREE", "CURRENT", "STATE")
FIELDS = {name: (8 * i, "i64" if name in INTEGERS else "ptr") for i, name in enumerate((*POINTERS, *INTEGERS))}
FIELDS["AGAIN"] = 8 * len(FIELDS), "ptr"  # the head of the frames of rounds that are carried out again
SIZE = FIELDS["AGAIN"][0] + 16  # bytes
assert (FIELDS["PREVIOUS"][0], FIELDS["NEXT"][0]) == (PREVIOUS, NEXT)
FIELDS |= {"DOWN": (0, "ptr"), "UP": (8, "ptr"), "BEFORE": (16, "i64")}  # of a snapshot, which is before a stretch
HEAD_OF_A_SNAPSHOT = 24  # bytes
SLOTS = {"TOP": TOP, "END": END, "NEWEST": NEWEST}  # of the function's frame

GET = re.compile(r"(%\w+) = get (\w+) of (%\w+)")
SET = re.compile(r"set (\w+) of (%\w+) to (\S+)")


def _instructions(text: str) -> Iterator[str]:
    """The text with the fields of ledgers, snapshots and frames as loads and stores."""
    for number, line in enumerate(text.splitlines()):
        get, put = GET.search(line), SET.search(line)
        if get is None and put is None:
            yield line
            continue
        answer, name, of = get.groups() if get is not None else ("", *put.groups()[:2])  # type: ignore[union-attr]
        offset, kind = (8 * SLOTS[name], "ptr") if of == "%frame" else FIELDS[name]
        yield f"  %at{number} = getelementptr i8, ptr {of}, i64 {offset}"
        if put is not None:
            yield f"  store {kind} {put[3]}, ptr %at{number}"
        else:
            yield f"  {answer} = load {kind}, ptr %at{number}"


FUNCTIONS = "\n".join(
    _instructions(
        f"""
define internal i64 @reach(i64 %snapshots, i64 %repetitions) {{
  %is_none = icmp slt i64 %repetitions, 0
  br i1 %is_none, label %none, label %next
next:
  %product = phi i64 [1, %0], [%quotient, %multiply]
  %k = phi i64 [0, %0], [%k1, %multiply]
  %is_done = icmp eq i64 %k, %repetitions
  br i1 %is_done, label %done, label %more
more:
  %k1 = add i64 %k, 1
  %factor = add i64 %snapshots, %k1
  %most = sdiv i64 {ENOUGH}, %factor
  %is_enough = icmp sgt i64 %product, %most
  br i1 %is_enough, label %enough, label %multiply
multiply:
  %raised = mul i64 %product, %factor
  %quotient = sdiv i64 %raised, %k1
  br label %next
none:
  ret i64 0
enough:
  ret i64 {ENOUGH}
done:
  ret i64 %product
}}
define internal void @set_due(ptr %ledger, i64 %most) {{
  %target = get TARGET of %ledger
  %stretch = get STRETCH of %ledger
  %count = get COUNT of %ledger
  %after = sub i64 %target, %stretch
  %n = add i64 %after, 1
  %is_last = icmp sle i64 %n, 1
  br i1 %is_last, label %none, label %begin
begin:
  %more = sub i64 %most, %count
  %snapshots = add i64 %more, 1
  %fewer = sub i64 %snapshots, 1
  br label %next
next:
  %r = phi i64 [0, %begin], [%r1, %repeat]
  %reached = call i64 @reach(i64 %snapshots, i64 %r)
  %is_less = icmp slt i64 %reached, %n
  br i1 %is_less, label %repeat, label %found
repeat:
  %r1 = add i64 %r, 1
  br label %next
found:
  %before = sub i64 %r, 1
  %one = call i64 @reach(i64 %snapshots, i64 %before)
  %behind = call i64 @reach(i64 %fewer, i64 %before)
  %other = sub i64 %n, %behind
  %is_one = icmp slt i64 %one, %other
  %part = select i1 %is_one, i64 %one, i64 %other
  %due = add i64 %stretch, %part
  set DUE of %ledger to %due
  ret void
none:
  set DUE of %ledger to -1
  ret void
}}
define internal void @set_mark(ptr %frame, ptr %ledger) {{
  %top = get TOP of %frame
  %end = get END of %frame
  %newest = get NEWEST of %frame
  set TOP of %ledger to %top
  set END of %ledger to %end
  set NEWEST of %ledger to %newest
  ret void
}}
define internal void @release_to_mark(ptr %frame, ptr %ledger) {{
  %top = get TOP of %ledger
  %end = get END of %ledger
  %newest = get NEWEST of %ledger
  call void @release(ptr %frame, ptr %end, ptr %newest)
  set TOP of %frame to %top
  ret void
}}
define internal void @set_free(ptr %ledger, ptr %snapshot) {{
  %free = get FREE of %ledger
  set DOWN of %snapshot to %free
  set FREE of %ledger to %snapshot
  ret void
}}
define internal ptr @new_snapshot(ptr %frame, ptr %ledger, i64 %size, i64 %stretch) {{
  %free = get FREE of %ledger
  %is_free = icmp ne ptr %free, null
  br i1 %is_free, label %reuse, label %take
reuse:
  %next = get DOWN of %free
  set FREE of %ledger to %next
  br label %there
take:
  %top = get TOP of %frame
  %end = get END of %frame
  %following = getelementptr i8, ptr %top, i64 %size
  %fits = icmp ule ptr %following, %end
  br i1 %fits, label %on, label %more
more:
  %chunk = call ptr @new_chunk(ptr %frame, i64 %size)
  %is_there = icmp ne ptr %chunk, null
  br i1 %is_there, label %on, label %none
on:
  %new = phi ptr [%top, %take], [%chunk, %more]
  %behind = getelementptr i8, ptr %new, i64 %size
  set TOP of %frame to %behind
  call void @set_mark(ptr %frame, ptr %ledger)
  br label %there
there:
  %snapshot = phi ptr [%free, %reuse], [%new, %on]
  %state = getelementptr i8, ptr %snapshot, i64 {HEAD_OF_A_SNAPSHOT}
  set BEFORE of %snapshot to %stretch
  set STATE of %ledger to %state
  ret ptr %snapshot
none:
  ret ptr null
}}
define internal void @push(ptr %ledger, ptr %snapshot) {{
  %below = get STACK of %ledger
  %count = get COUNT of %ledger
  %counted = add i64 %count, 1
  set COUNT of %ledger to %counted
  set STACK of %ledger to %snapshot
  set DOWN of %snapshot to %below
  set UP of %snapshot to null
  %is_first = icmp eq ptr %below, null
  br i1 %is_first, label %first, label %other
first:
  set BOTTOM of %ledger to %snapshot
  set CURSOR of %ledger to %snapshot
  ret void
other:
  set UP of %below to %snapshot
  ret void
}}
define internal void @drop_one(ptr %ledger, i64 %stretch) {{
  br label %next
next:
  %q = get CURSOR of %ledger
  %position = get POSITION of %ledger
  %level = get LEVEL of %ledger
  %dropped = get UP of %q
  %is_end = icmp eq ptr %dropped, null
  br i1 %is_end, label %again, label %compare
again:
  %bottom = get BOTTOM of %ledger
  %level1 = add i64 %level, 1
  set CURSOR of %ledger to %bottom
  set POSITION of %ledger to 0
  set LEVEL of %ledger to %level1
  br label %next
compare:
  %above = get UP of %dropped
  %is_top = icmp eq ptr %above, null
  br i1 %is_top, label %decide, label %look
look:
  %of_above = get BEFORE of %above
  br label %decide
decide:
  %following = phi i64 [%stretch, %compare], [%of_above, %look]
  %from = get BEFORE of %q
  %length = sub i64 %following, %from
  %count = get COUNT of %ledger
  %free = sub i64 %count, %position
  %repetitions = sub i64 %level, 1
  %reached = call i64 @reach(i64 %free, i64 %repetitions)
  %is_near = icmp sle i64 %length, %reached
  br i1 %is_near, label %drop, label %further
further:
  %position1 = add i64 %position, 1
  set CURSOR of %ledger to %dropped
  set POSITION of %ledger to %position1
  br label %next
drop:
  set UP of %q to %above
  %left = sub i64 %count, 1
  set COUNT of %ledger to %left
  call void @set_free(ptr %ledger, ptr %dropped)
  br i1 %is_top, label %top, label %inside
top:
  set STACK of %ledger to %q
  ret void
inside:
  set DOWN of %above to %q
  ret void
}}
define internal i64 @snapshot_if_due(ptr %frame, ptr %ledger, i64 %size, i64 %most, i64 %stretch) {{
  %due = get DUE of %ledger
  %target = get TARGET of %ledger
  %is_due = icmp eq i64 %stretch, %due
  %is_before = icmp slt i64 %stretch, %target
  %takes = and i1 %is_due, %is_before
  br i1 %takes, label %take, label %none
take:
  %snapshot = call ptr @new_snapshot(ptr %frame, ptr %ledger, i64 %size, i64 %stretch)
  %is_there = icmp ne ptr %snapshot, null
  br i1 %is_there, label %there, label %no_memory
there:
  call void @push(ptr %ledger, ptr %snapshot)
  call void @set_due(ptr %ledger, i64 %most)
  ret i64 {SNAPSHOT}
none:
  ret i64 {NO_SNAPSHOT}
no_memory:
  ret i64 {NO_MEMORY}
}}
define internal i64 @open_ledger(ptr %frame, ptr %ledger, i64 %target, i64 %size, i64 %most) noinline {{
  set PREVIOUS of %ledger to %ledger
  set NEXT of %ledger to %ledger
  set STACK of %ledger to null
  set FREE of %ledger to null
  set CURRENT of %ledger to null
  set STRETCH of %ledger to 0
  set FIRST of %ledger to 0
  set COUNT of %ledger to 0
  set POSITION of %ledger to 0
  set LEVEL of %ledger to 1
  set DUE of %ledger to -1
  set TARGET of %ledger to %target
  %spare = call ptr @new_snapshot(ptr %frame, ptr %ledger, i64 %size, i64 0)
  %is_spare = icmp ne ptr %spare, null
  br i1 %is_spare, label %first, label %no_memory
first:
  %snapshot = call ptr @new_snapshot(ptr %frame, ptr %ledger, i64 %size, i64 0)
  %is_there = icmp ne ptr %snapshot, null
  br i1 %is_there, label %there, label %no_memory
there:
  call void @set_free(ptr %ledger, ptr %spare)
  %is_counted = icmp sge i64 %target, 0
  br i1 %is_counted, label %counted, label %open
counted:
  call void @push(ptr %ledger, ptr %snapshot)
  call void @set_due(ptr %ledger, i64 %most)
  ret i64 {SNAPSHOT}
open:
  set CURRENT of %ledger to %snapshot
  ret i64 {SNAPSHOT}
no_memory:
  ret i64 {NO_MEMORY}
}}
define internal i64 @begin_stretch(ptr %frame, ptr %ledger, ptr %last, i64 %size, i64 %most) noinline {{
  %before = get STRETCH of %ledger
  %stretch = add i64 %before, 1
  set STRETCH of %ledger to %stretch
  %is_second = icmp eq i64 %before, 0
  br i1 %is_second, label %released, label %release
release:
  call void @release_to_mark(ptr %frame, ptr %ledger)
  store ptr %ledger, ptr %last
  set FIRST of %ledger to %stretch
  br label %released
released:
  %target = get TARGET of %ledger
  %is_counted = icmp sge i64 %target, 0
  br i1 %is_counted, label %counted, label %open
counted:
  %found = call i64 @snapshot_if_due(ptr %frame, ptr %ledger, i64 %size, i64 %most, i64 %stretch)
  ret i64 %found
open:
  %count = get COUNT of %ledger
  %is_full = icmp eq i64 %count, %most
  br i1 %is_full, label %drop, label %room
drop:
  call void @drop_one(ptr %ledger, i64 %before)
  br label %room
room:
  %current = get CURRENT of %ledger
  call void @push(ptr %ledger, ptr %current)
  set CURRENT of %ledger to null
  %snapshot = call ptr @new_snapshot(ptr %frame, ptr %ledger, i64 %size, i64 %stretch)
  %is_there = icmp ne ptr %snapshot, null
  br i1 %is_there, label %there, label %no_memory
there:
  set CURRENT of %ledger to %snapshot
  ret i64 {SNAPSHOT}
no_memory:
  ret i64 {NO_MEMORY}
}}
define internal ptr @stretches_back(ptr %frame, ptr %ledger, i64 %most) noinline {{
  call void @release_to_mark(ptr %frame, ptr %ledger)
  %first = get FIRST of %ledger
  %is_over = icmp eq i64 %first, 0
  br i1 %is_over, label %over, label %more
more:
  %target = sub i64 %first, 1
  set FIRST of %ledger to %target
  set TARGET of %ledger to %target
  %current = get CURRENT of %ledger
  %is_open = icmp ne ptr %current, null
  br i1 %is_open, label %close, label %next
close:
  call void @set_free(ptr %ledger, ptr %current)
  set CURRENT of %ledger to null
  br label %next
next:
  %top = get STACK of %ledger
  %before = get BEFORE of %top
  %is_behind = icmp sgt i64 %before, %target
  br i1 %is_behind, label %pop, label %found
pop:
  %below = get DOWN of %top
  %count = get COUNT of %ledger
  %left = sub i64 %count, 1
  set STACK of %ledger to %below
  set COUNT of %ledger to %left
  set UP of %below to null
  call void @set_free(ptr %ledger, ptr %top)
  br label %next
found:
  set STRETCH of %ledger to %before
  call void @set_due(ptr %ledger, i64 %most)
  %state = getelementptr i8, ptr %top, i64 {HEAD_OF_A_SNAPSHOT}
  ret ptr %state
over:
  ret ptr null
}}
define internal i64 @stretch_goes_on(ptr %frame, ptr %ledger, ptr %last, i64 %size, i64 %most) noinline {{
  %before = get STRETCH of %ledger
  %target = get TARGET of %ledger
  %is_over = icmp eq i64 %before, %target
  br i1 %is_over, label %over, label %more
more:
  call void @release_to_mark(ptr %frame, ptr %ledger)
  %head = getelementptr i8, ptr %ledger, i64 {FIELDS["AGAIN"][0]}
  store ptr %head, ptr %last
  %stretch = add i64 %before, 1
  set STRETCH of %ledger to %stretch
  %found = call i64 @snapshot_if_due(ptr %frame, ptr %ledger, i64 %size, i64 %most, i64 %stretch)
  ret i64 %found
over:
  ret i64 {OVER}
}}
""".strip()
    )
)
