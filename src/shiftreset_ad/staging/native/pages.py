"""Large blocks of memory lie in large pages of the system where it has them, as NumPy's arrays do.

The system gives a block of many megabytes anew each time, page by page, as the block is written to. With pages of 4 KB
this took half of the time of a softmax over 2,000,000 elements.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from functools import cache

import numpy as np

LARGE = 2**22  # bytes; NumPy's own limit
PAGE = 4096
MADV_HUGEPAGE = 14  # of Linux
DECLARATION = "declare i32 @madvise(ptr, i64, i32)"


@cache
def addresses() -> dict[str, int]:
    """The address of the function of C that asks for large pages; none where NumPy does not ask."""
    asks = getattr(np._core._multiarray_umath, "_get_madvise_hugepage", bool)  # type: ignore[attr-defined]
    if sys.platform != "linux" or not asks():
        return {}
    return {"madvise": ctypes.cast(ctypes.CDLL(None).madvise, ctypes.c_void_p).value or 0}


def in_large_pages(block: str, size: int) -> Iterator[str]:
    """The lines that ask for large pages for a block of so many bytes, of which nothing has been written."""
    if size < LARGE or not addresses():
        return
    yield f"  %block_start = ptrtoint ptr {block} to i64"
    yield f"  %in_next_page = add i64 %block_start, {PAGE - 1}"
    yield f"  %next_page = and i64 %in_next_page, -{PAGE}"
    yield "  %first_page = inttoptr i64 %next_page to ptr"
    yield f"  %status_of_pages = call i32 @madvise(ptr %first_page, i64 {size - PAGE}, i32 {MADV_HUGEPAGE})"
