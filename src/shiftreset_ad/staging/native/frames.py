"""The frames of rounds in native code: one after another in chunks of memory, and linked in both directions.

A value of a round that a later visit needs has a slot in the frame of the round. The frames of a loop hang on a head,
which has the links alone: so a visit begins at its first or at its last frame. The first chunk is on the stack. All
others are freed at the end, or when a round is over whose frames no later visit needs.
"""

from __future__ import annotations

TOP, END, NEWEST = 1, 2, 3  # the slots with the first free byte, the end of the chunk, and the newest chunk
SLOTS = 3
FIRST_CHUNK, SECOND_CHUNK, LARGEST_CHUNK = 8 * 1024, 64 * 1024, 64 * 2**20  # bytes
PREVIOUS, NEXT, FIRST_SLOT = 0, 8, 16  # bytes from the beginning of a frame
HEAD_OF_A_CHUNK = 16  # bytes: the chunk before, and the length

FUNCTIONS = f"""
define internal ptr @new_chunk(ptr %frame, i64 %size) noinline cold {{
  %of_end = getelementptr i64, ptr %frame, i64 {END}
  %of_newest = getelementptr i64, ptr %frame, i64 {NEWEST}
  %newest = load ptr, ptr %of_newest
  %is_second = icmp eq ptr %newest, null
  br i1 %is_second, label %sized, label %larger
larger:
  %of_length = getelementptr i8, ptr %newest, i64 8
  %length = load i64, ptr %of_length
  %twice = mul i64 %length, 2
  %is_large = icmp ugt i64 %twice, {LARGEST_CHUNK}
  %bounded = select i1 %is_large, i64 {LARGEST_CHUNK}, i64 %twice
  br label %sized
sized:
  %wished = phi i64 [{SECOND_CHUNK}, %0], [%bounded, %larger]
  %needed = add i64 %size, {HEAD_OF_A_CHUNK}
  %is_more = icmp ugt i64 %needed, %wished
  %bytes = select i1 %is_more, i64 %needed, i64 %wished
  %chunk = call ptr @PyMem_RawMalloc(i64 %bytes)
  %is_there = icmp ne ptr %chunk, null
  br i1 %is_there, label %there, label %none
there:
  store ptr %newest, ptr %chunk
  %to_length = getelementptr i8, ptr %chunk, i64 8
  store i64 %bytes, ptr %to_length
  store ptr %chunk, ptr %of_newest
  %made = getelementptr i8, ptr %chunk, i64 {HEAD_OF_A_CHUNK}
  %end = getelementptr i8, ptr %chunk, i64 %bytes
  store ptr %end, ptr %of_end
  ret ptr %made
none:
  ret ptr null
}}
define internal void @free_chunks(ptr %frame, ptr %until) noinline {{
  %of_newest = getelementptr i64, ptr %frame, i64 {NEWEST}
  br label %look
look:
  %chunk = load ptr, ptr %of_newest
  %is_last = icmp eq ptr %chunk, %until
  br i1 %is_last, label %done, label %free
free:
  %before = load ptr, ptr %chunk
  store ptr %before, ptr %of_newest
  call void @PyMem_RawFree(ptr %chunk)
  br label %look
done:
  ret void
}}
define internal void @release(ptr %frame, ptr %end, ptr %newest) alwaysinline {{
  %of_end = getelementptr i64, ptr %frame, i64 {END}
  %of_newest = getelementptr i64, ptr %frame, i64 {NEWEST}
  %now = load ptr, ptr %of_newest
  %is_same = icmp eq ptr %now, %newest
  br i1 %is_same, label %back, label %free
free:
  call void @free_chunks(ptr %frame, ptr %newest)
  br label %back
back:
  store ptr %end, ptr %of_end
  ret void
}}
""".strip()

BEGIN = f"""
  %first_chunk = alloca [{FIRST_CHUNK} x i8], align 16
  %end_of_first = getelementptr i8, ptr %first_chunk, i64 {FIRST_CHUNK}
  %of_top = getelementptr i64, ptr %frame, i64 {TOP}
  %of_end = getelementptr i64, ptr %frame, i64 {END}
  %of_newest = getelementptr i64, ptr %frame, i64 {NEWEST}
  store ptr %first_chunk, ptr %of_top
  store ptr %end_of_first, ptr %of_end
  store ptr null, ptr %of_newest
""".strip("\n").splitlines()
END_OF_ALL = ["  call void @free_chunks(ptr %frame, ptr null)"]
