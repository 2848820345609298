"""A session: passes the messages of an eval to a tool and the responses back, as `gradbench run` does, and keeps both.

A tool that takes too long for a response, or ends, ends the session.
"""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Command:
    """A process that reads and writes messages: an eval, or a tool."""

    arguments: list[str]
    folder: Path
    environment: dict[str, str]

    def start(self) -> subprocess.Popen[str]:
        pipe = subprocess.PIPE
        return subprocess.Popen(
            self.arguments, cwd=self.folder, env=self.environment, stdin=pipe, stdout=pipe, text=True, encoding="utf-8"
        )


@dataclass
class Evaluation:
    """One evaluation of a function, and what became of it."""

    eval: str
    function: str
    input: str
    tool: str
    nanoseconds: list[int] = field(default_factory=list)
    valid: bool = False
    error: str = ""


@contextmanager
def started(command: Command) -> Iterator[subprocess.Popen[str]]:
    """The process, which is ended at the end, whatever it is doing."""
    process = command.start()
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        assert process.stdin
        assert process.stdout
        with suppress(BrokenPipeError):
            process.stdin.close()
        process.stdout.close()


def run(
    eval_name: str, tool_name: str, eval_command: Command, tool_command: Command, timeout: float
) -> list[Evaluation]:
    """The evaluations that the eval asks of the tool. A tool that does not know the eval has none."""
    evaluations: dict[int, Evaluation] = {}
    with started(eval_command) as asking, started(tool_command) as answering:
        for message, response in exchange(asking, answering, timeout):
            if message["kind"] == "analysis" and response:
                evaluation = evaluations[message["of"]]
                evaluation.valid, evaluation.error = message["valid"], message.get("error", "")
            elif message["kind"] == "evaluate" or not response:
                evaluation = Evaluation(
                    eval_name, message.get("function", message["kind"]), described(message), tool_name
                )
                timings = response.get("timings") or []
                evaluation.nanoseconds = [t["nanoseconds"] for t in timings if t["name"] == "evaluate"]
                evaluation.error = response.get("error", "") if response else f"no response in {timeout:g} seconds"
                evaluations[message["id"]] = evaluation
    return list(evaluations.values())


def described(message: dict[str, Any]) -> str:
    return str(message.get("description") or message.get("input", ""))


def exchange(
    asking: subprocess.Popen[str], answering: subprocess.Popen[str], timeout: float
) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """The pairs of messages and responses, up to a response that does not come, which is an empty one."""
    assert asking.stdin
    assert asking.stdout
    for line in asking.stdout:
        answer = response_to(line, answering, timeout)
        yield json.loads(line), json.loads(answer or "{}")
        if not answer:
            return
        asking.stdin.write(answer)
        asking.stdin.flush()


def response_to(line: str, answering: subprocess.Popen[str], timeout: float) -> str:
    """The line that the process answers; an empty one if it ends, or takes too long, and is ended then."""
    assert answering.stdin
    assert answering.stdout
    timer = threading.Timer(timeout, answering.kill)
    timer.start()
    try:
        answering.stdin.write(line)
        answering.stdin.flush()
        return answering.stdout.readline()
    except BrokenPipeError:
        return ""
    finally:
        timer.cancel()
