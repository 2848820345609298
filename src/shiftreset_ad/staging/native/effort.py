"""How much effort LLVM makes for a loop that has a function of its own: less for one that is carried out a few times.

To copy the round of a loop several times gains little where the loop is long, but takes a third of the time of the
compiler. To carry out several rounds at a time, as vectors, takes another third, and gains little where the rounds are
few in all calls together. Neither changes a result. In a program with tables, what a run does once is not worth any
effort. In a program with more than a few loops, LLVM copies the rounds of short loops alone, which saves half of its
time.
"""

from __future__ import annotations

import math
import re

ONCE = " noinline optnone"  # of a function that a run calls once
FEW_LOOPS = 8  # of a program, all of which LLVM makes its usual effort for
FEW_ROUNDS = 1000  # of a loop in all calls of a run, which LLVM carries out one by one
SHORT = 16  # rounds, up to which LLVM may write them out
END = re.compile(r"icmp ult i64 %\w+, (\d+)\n  br i1 %\w+, label %\w+, label %\w+$", re.MULTILINE)
WITHOUT_COPIES, ONE_BY_ONE = ", !llvm.loop !2", ", !llvm.loop !3"
DEFINITIONS = [
    '!4 = !{!"llvm.loop.unroll.disable"}',
    '!5 = !{!"llvm.loop.interleave.count", i32 1}',
    '!6 = !{!"llvm.loop.vectorize.enable", i1 false}',
    "!2 = distinct !{!2, !4, !5}",
    "!3 = distinct !{!3, !4, !6}",
]


def with_less_effort(text: str, times: float) -> str:
    """A function with loops that is called so many times, but for short loops, which may be inside of others."""
    rounds = times * math.prod(map(int, END.findall(text)))
    mark = ONE_BY_ONE if rounds <= FEW_ROUNDS else WITHOUT_COPIES
    return END.sub(lambda end: end[0] + mark if int(end[1]) > SHORT else end[0], text)
