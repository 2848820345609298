"""A program and its staged form take turns at several points: their answers and their errors must be the same."""

from __future__ import annotations

import linecache
import random
import re
import signal
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from itertools import count
from types import ModuleType
from typing import Any

import numpy as np

from shiftreset_ad import StagingWarning, staged
from shiftreset_ad.staging.native.compiled import NONE
from tests.fuzzing.thresholds import arrays_in_strips, loops_written_at_once
from tests.staging.native.natively import calls_pay
from tests.staging.programs.routes import ROUTES

CALLS = (0, 0, 1, 1, 2, 0, None, 0, 3, 4, 4, 1, 5)  # the points in turns; None is for a change of the world
MODULE = "random_program"
POINTS, OF_ANOTHER_KIND = 6, 4  # from the latter on, points have arguments of other types, shapes or layouts
SECONDS = 30  # of the processor
# A program of these gives the same answers each time. So it is wrong if staging says that it does not.
OTHER_ANSWERS = "it answers something else when it is run again", "it gave other answers than the steps by NumPy"
RELATIVE = 1e-8
_numbers = count()


class Wrong(Exception):  # noqa: N818 (it is what is looked for)
    """What is wrong with a staged program."""

    def __init__(self, route: str, kind: str, call: int, point: Any, found: Any, wanted: Any, sources: str) -> None:
        super().__init__(route, kind)
        self.route, self.kind, self.call, self.point = route, kind, call, point
        self.found, self.wanted, self.sources = found, wanted, sources

    def __str__(self) -> str:
        return (
            f"{self.route}: another {self.kind} in call {self.call}, at {self.point}\n"
            f"found  {self.found!r}\nwanted {self.wanted!r}"
        )


class Unsuitable(BaseException):
    """A program that takes too long."""


def loaded(text: str) -> dict[str, Any]:
    """The globals of a program, whose text is the source that is found for it."""
    filename = f"<program {next(_numbers)}>"
    linecache.cache[filename] = len(text), None, text.splitlines(keepends=True), filename
    module = sys.modules[MODULE] = ModuleType(MODULE)  # the classes of a module that is not there are not the user's
    exec(compile(text, filename, "exec"), vars(module))
    return vars(module)


def points(seed: int) -> list[tuple[float, Any, int]]:
    """Points at which a program goes different ways."""
    rng = random.Random(seed)
    size = rng.randint(1, 4)
    found: list[tuple[float, Any, int]] = []
    for i in range(POINTS):
        x = rng.choice((rng.gauss(0.0, 1.0), rng.uniform(-3.0, 3.0), rng.choice((0.0, 1.0, -1.0, 0.5, 4.0))))
        u = np.array([rng.choice((rng.gauss(0.0, 1.0), rng.choice((0.0, 0.5, 1.0)))) for _ in range(size)])
        n = rng.randrange(5) if i else 2
        others = [(np.float64(x), u, n), (x, np.append(u, 0.25), n), (x, u[::-1], n), (x, u, np.int64(n))]
        found.append(rng.choice(others) if i >= OF_ANOTHER_KIND else (x, u, n))
    return found


def copied(u: Any) -> Any:
    """A copy that lies in memory as the array does."""
    return u[::-1].copy()[::-1] if u.strides[0] < 0 else u.copy()


def outcome(f: Callable[..., Any], point: Any) -> tuple[Any, list[str]]:
    """The answer or the error, and why it is not staged."""
    x, u, n = point
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            answer = f(x, copied(u), n)
        except Exception as error:
            answer = type(error), str(error)
    return answer, [str(warning.message) for warning in caught if warning.category is StagingWarning]


@contextmanager
def limited() -> Iterator[None]:
    """A block that must not take long."""

    def stop(*_: Any) -> None:
        raise Unsuitable

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def check(
    text: str, seed: int, routes: Sequence[str], counts: Counter[str], calls: Sequence[int | None] = CALLS
) -> None:
    """Raise Wrong if the staged form of a program differs from the program, by one of these routes.

    The routes take turns on the same program, so that what is known of its code by one of them is used by others. In
    two programs of five, loops with plain counts are written down, too, and in three of seven, arrays go in strips.
    """
    are_written = loops_written_at_once() if seed % 5 < 2 else nullcontext()
    in_strips = arrays_in_strips() if seed % 7 < 3 else nullcontext()
    with limited(), calls_pay() if seed % 3 else nullcontext(), are_written, in_strips:
        program, plain = loaded(text), loaded(text)
        limit = 1 if seed % 2 else None  # bytes: then almost no round has a frame that stays
        forms = [
            (route, ROUTES[route](plain["f"]), staged(ROUTES[route](program["f"]), memory_limit=limit))
            for route in routes
        ]
        at, refused = points(seed), set[str]()
        for i, place in enumerate(calls):
            if place is None:
                program["change"]()
                plain["change"]()
                continue
            for route, f, g in forms:
                wanted, _ = outcome(f, at[place])
                answer, reasons = outcome(g, at[place])
                for reason in reasons:
                    counts[f"refused: {shortened(reason)}"] += 1
                    refused.add(route)
                kind = difference(answer, wanted, has_control(g.sources))
                if kind == "error" and is_refused(wanted) and not is_error(answer):
                    counts["answered though the program itself is refused"] += 1
                    kind = None
                if any(words in text for text in (*reasons, *g.llvm) for words in OTHER_ANSWERS):
                    kind = kind or "replay"
                if kind is not None:
                    raise Wrong(route, kind, i, at[place], answer, wanted, "\n".join(g.sources))
        counts["checks"] += len(forms)
        counts["refused"] += len(refused)
        for _, _, g in forms:
            counts["records"] += len(g.sources)
            counts["records in native code"] += sum(not code.startswith(NONE) for code in g.llvm)
            counts["records that call Python"] += sum(bool(way.by_python) for way in ways_of(g))
            for reason in {shortened(reason) for way in ways_of(g) for reason in way.not_written}:
                counts[f"asks: {reason}"] += 1


def ways_of(f: Any) -> list[Any]:
    return [way for signature in f._calls._signatures.values() for way in signature.ways]


def has_control(sources: list[str]) -> bool:
    return any(re.search(r"^\s*(while|if|for) ", source, re.MULTILINE) for source in sources)


def shortened(reason: str) -> str:
    """A reason without what is of this program alone."""
    reason = re.sub(r"\(?<program.*", "", re.split("from here on, as |for now, as ", reason)[-1])
    return re.sub(r"'\w+'", "...", re.sub(r"\d+", "#", reason.splitlines()[0]))[:110]


def difference(x: Any, y: Any, has_control: bool) -> str | None:
    """In what two answers differ: an error, a type, a layout or a value; None if they are the same to rounding.

    With control, a float may be Python's or NumPy's, and an integer that becomes a float is one from the beginning.
    """
    if is_error(x) or is_error(y):
        return None if is_error(x) and is_error(y) and x == y else "error"
    if isinstance(x, tuple | list) or isinstance(y, tuple | list):
        if type(x) is not type(y) or len(x) != len(y):
            return "structure"
        found = [difference(one, other, has_control) for one, other in zip(x, y, strict=True)]
        return next((kind for kind in ("value", "structure", "shape", "type") if kind in found), None)
    if x is None or y is None:
        return None if x is y else "structure"
    if np.shape(x) != np.shape(y):
        return "shape"
    scale = RELATIVE * (1.0 + np.max(np.abs(np.asarray(y, float)), initial=0.0))
    with np.errstate(all="ignore"):
        if not np.allclose(np.asarray(x, float), np.asarray(y, float), RELATIVE, scale, equal_nan=True):
            return "value"
    kinds = {type(x), type(y)}
    if len(kinds) > 1 and not (has_control and kinds <= {float, np.float64, int, np.int64}):
        return "type"
    return None


def is_refused(x: Any) -> bool:
    """Whether the program writes to the memory of another derivative, or a number into a plain array.

    A record has no memory: a block makes a new version of the array, with its derivative. So it may answer. It may also
    answer where the program answers an integer, if this is a float on another path.
    """
    reasons = (
        "belongs to an outer derivative",
        "a number that is written into a plain array",
        "the function returned nothing that has a derivative",
    )
    return is_error(x) and x[0] is TypeError and any(reason in x[1] for reason in reasons)


def is_error(x: Any) -> bool:
    return isinstance(x, tuple) and isinstance(x[0], type)
