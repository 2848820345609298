"""The lock of the interpreter, which a long run releases, so that other threads run at the same time.

A run begins with the lock. A loop releases it when its first steps are done, as a short run would lose more time by it
than others gain; a program of many elements releases it at once. Who looks for an interrupt takes the lock for that.
The steps need no lock: they read arguments that the caller keeps, and write to memory of their own run.
"""

from __future__ import annotations

from shiftreset_ad.staging.native import frames

THREAD = 1 + frames.SLOTS  # the slot with the state of the thread; null while the run has the lock
SLOTS = 1
MANY = 2**15  # elements of a program that releases the lock at once
STEPS_BETWEEN_LOOKS = 2**18  # some milliseconds
STEPS_AT_FIRST = STEPS_BETWEEN_LOOKS - 2**13  # what a run counts as done, so that the first look comes sooner

FUNCTIONS = f"""
define internal void @release_lock(ptr %frame) noinline cold {{
  %of_thread = getelementptr i64, ptr %frame, i64 {THREAD}
  %thread = call ptr @PyEval_SaveThread()
  store ptr %thread, ptr %of_thread
  ret void
}}
define internal void @take_lock(ptr %frame) noinline cold {{
  %of_thread = getelementptr i64, ptr %frame, i64 {THREAD}
  %thread = load ptr, ptr %of_thread
  %has_lock = icmp eq ptr %thread, null
  br i1 %has_lock, label %done, label %take
take:
  call void @PyEval_RestoreThread(ptr %thread)
  store ptr null, ptr %of_thread
  br label %done
done:
  ret void
}}
""".strip()
LOOK = """
define internal i64 @look(ptr %frame) noinline cold {
  call void @note_flags(ptr %frame)
  call void @take_lock(ptr %frame)
  %problem = call i32 @PyErr_CheckSignals()
  %status = sext i32 %problem to i64
  %is_quiet = icmp eq i32 %problem, 0
  br i1 %is_quiet, label %go_on, label %stop
go_on:
  call void @release_lock(ptr %frame)
  br label %stop
stop:
  ret i64 %status
}
""".strip()
