"""The frames of rounds in native code: one after another in chunks of memory, and linked in both directions.

A value of a round that a later visit needs has a slot in the frame of the round. The frames of a loop hang on a head,
which has the links alone: so a visit begins at its first or at its last frame. The first chunk is on the stack. All
others are freed at the end, or when a round is over whose frames no later visit needs. The longest of them is kept for
the next run of any program: to get new pages from the system takes longer than to store values in them.
"""

from __future__ import annotations

import ctypes

TOP, END, NEWEST = 1, 2, 3  # the slots with the first free byte, the end of the chunk, and the newest chunk
SLOTS = 3
FIRST_CHUNK, SECOND_CHUNK, LARGEST_CHUNK = 8 * 1024, 64 * 1024, 256 * 2**20  # bytes
PREVIOUS, NEXT, FIRST_SLOT = 0, 8, 16  # bytes from the beginning of a frame
HEAD_OF_A_CHUNK = 16  # bytes: the chunk before, and the length

SPARE = "spare_chunk"  # the name of the pointer to the chunk that is kept
_spare = ctypes.c_void_p()  # of all programs and threads, which take it and put it back by an exchange

FUNCTIONS = f"""
@{SPARE} = external global ptr
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
  %wanted = select i1 %is_more, i64 %needed, i64 %wished
  %kept = atomicrmw xchg ptr @{SPARE}, ptr null seq_cst
  %is_kept = icmp ne ptr %kept, null
  br i1 %is_kept, label %compare, label %make
compare:
  %of_kept_length = getelementptr i8, ptr %kept, i64 8
  %kept_length = load i64, ptr %of_kept_length
  %is_enough = icmp uge i64 %kept_length, %wanted
  br i1 %is_enough, label %there, label %put_back
put_back:
  call void @keep_chunk(ptr %kept)
  br label %make
make:
  %made_chunk = call ptr @PyMem_RawMalloc(i64 %wanted)
  %is_there = icmp ne ptr %made_chunk, null
  br i1 %is_there, label %there, label %none
there:
  %chunk = phi ptr [%kept, %compare], [%made_chunk, %make]
  %bytes = phi i64 [%kept_length, %compare], [%wanted, %make]
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
define internal void @keep_chunk(ptr %chunk) noinline {{
  %of_length = getelementptr i8, ptr %chunk, i64 8
  %length = load i64, ptr %of_length
  %is_large = icmp ugt i64 %length, {LARGEST_CHUNK}
  br i1 %is_large, label %free, label %look
free:
  call void @PyMem_RawFree(ptr %chunk)
  ret void
look:
  %kept = atomicrmw xchg ptr @{SPARE}, ptr null seq_cst
  %is_kept = icmp ne ptr %kept, null
  br i1 %is_kept, label %compare, label %put
compare:
  %of_kept_length = getelementptr i8, ptr %kept, i64 8
  %kept_length = load i64, ptr %of_kept_length
  %is_longer = icmp ugt i64 %kept_length, %length
  br label %put
put:
  %is_other = phi i1 [false, %look], [%is_longer, %compare]
  %best = select i1 %is_other, ptr %kept, ptr %chunk
  %rest = select i1 %is_other, ptr %chunk, ptr %kept
  %another = atomicrmw xchg ptr @{SPARE}, ptr %best seq_cst
  call void @PyMem_RawFree(ptr %rest)
  call void @PyMem_RawFree(ptr %another)
  ret void
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
  call void @keep_chunk(ptr %chunk)
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


def addresses() -> dict[str, int]:
    """The names in the text, and what they stand for."""
    return {SPARE: ctypes.addressof(_spare)}


END_OF_ALL = ["  call void @free_chunks(ptr %frame, ptr null)"]
