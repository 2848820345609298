"""The report of a staged function: what of it runs in steps, by the user's lines, and what as it is, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from shiftreset_ad.boundary.places import line_text
from shiftreset_ad.staging.front.long_loops import MOST_STEPS
from shiftreset_ad.staging.native.compiled import NONE
from shiftreset_ad.staging.steps.trace import SHAPES
from shiftreset_ad.staging.ways import Way


def report(name: str, ways: Sequence[Way], problem: str, is_given_up: bool) -> str:
    """The report in lines of text. `problem` is the reason why the function runs as it is where no way is known."""
    if is_given_up or (problem and not ways):
        return f"{name} runs as it is{'' if is_given_up else ' for now'}, as {problem}"
    if not ways:
        return f"{name} is not recorded yet: it is recorded when it is called"
    of_ways = [_of_way(way, number) for number, way in enumerate(ways, 1)]
    lines = [f"{name} runs in steps, in {counted(len(ways), 'way')}.", *of_ways]
    if problem:
        lines.append(f"What takes another way runs as it is for now, as {problem}")
    return "\n".join(lines)


def _of_way(way: Way, number: int) -> str:
    steps: Counter[str] = Counter()
    for line, count in way.lines:
        steps["  on the way back" if line is None else line_text(line)] += count
    lines = [f"way {number}, {counted(steps.total(), 'step')}, {_by(way)}:"]
    for text, count in steps.items():
        place, newline, code = text.partition("\n")
        lines.append(f"{place}: {counted(count, 'step')}{newline}{code}")
    for site in dict.fromkeys(way.sites):
        same = "shapes and types are the same" if site == SHAPES else "the answer is the same at"
        lines += [f"  It holds as long as {same}", site]
    if way.unanswered:
        problem = f": {way.problem}" if way.problem else ""
        lines.append(f"  It left {counted(way.unanswered, 'call')} to the function itself{problem}")
    for (is_within, reason), count in Counter(way.unlimited).items():
        of = "a single round of " if is_within else ""
        lines.append(f"  The memory limit does not hold for {of}{counted(count, 'loop')}: {reason}")
    if way.not_written and (way.sites or steps.total() > MOST_STEPS):
        what = "tests are asked, and" if way.sites else "loops are recorded round by round, and"
        lines += [f"  Why {what} not written down:", *[f"  {reason}" for reason in way.not_written]]
    return "\n".join(lines)


def _by(way: Way) -> str:
    """What carries out the steps."""
    reason = way.llvm.removeprefix(NONE)
    if reason != way.llvm:
        return f"by NumPy, with no native code ({reason})"
    calls = f", which calls {', '.join(way.by_python)}" if way.by_python else ""
    left = f" (it left {counted(way.left, 'call')} to NumPy)" if way.left else ""
    return f"as native code{calls}{left}"


def counted(count: int, what: str) -> str:
    """A number of things, in words."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
