"""Results: the least time of each tool in all sessions, and our time over that of another tool."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable
from pathlib import Path

from .session import Evaluation

Case = tuple[str, str, str]  # the eval, the function, and the description of the input


@dataclasses.dataclass
class Result:
    """What a tool did with a case, in all sessions: its least time, or why there is none."""

    nanoseconds: float = float("inf")
    error: str = ""

    @property
    def shown(self) -> str:
        return "failed" if self.error else f"{self.nanoseconds / 1e6:.3g}"


def read(path: Path) -> list[Evaluation]:
    return [Evaluation(**json.loads(line)) for line in path.read_text().splitlines()] if path.exists() else []


def append(path: Path, evaluations: Iterable[Evaluation]) -> None:
    with path.open("a") as file:
        file.writelines(json.dumps(dataclasses.asdict(evaluation)) + "\n" for evaluation in evaluations)


def least(evaluations: Iterable[Evaluation]) -> dict[Case, dict[str, Result]]:
    """For each case and tool, the result of all its evaluations. One that is not valid makes it a failure."""
    results: dict[Case, dict[str, Result]] = {}
    for evaluation in evaluations:
        case = evaluation.eval, evaluation.function, evaluation.input
        result = results.setdefault(case, {}).setdefault(evaluation.tool, Result())
        result.nanoseconds = min(result.nanoseconds, *evaluation.nanoseconds, float("inf"))
        if not evaluation.valid:
            result.error = evaluation.error or "not valid"
    return results


def ratio(results: dict[str, Result], ours: str, theirs: str) -> float | None:
    """Our time over theirs, if both have one."""
    pair = [results.get(name) for name in (ours, theirs)]
    if any(result is None or result.error for result in pair):
        return None
    (mine, other) = (result.nanoseconds for result in pair if result)
    return mine / other
