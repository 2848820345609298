"""What checkers of types see: right calls have the types that they should, and each wrong call is found."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.typing import right

TYPING = Path(__file__).parent / "typing"
SOURCE = Path(right.ad.__file__).parent.parent


def found_by_mypy(cache):
    pytest.importorskip("mypy")
    command = ["mypy", "--strict", "--no-error-summary", "--no-pretty", f"--cache-dir={cache}"]
    said = run(*command, "--output=json")
    return [(Path(error["file"]).name, error["line"], error["message"]) for error in map(json.loads, said.splitlines())]


def found_by_pyright(cache):
    pytest.importorskip("pyright")
    said = json.loads(run("pyright", "--outputjson", "--pythonpath", sys.executable))
    assert said["summary"]["filesAnalyzed"] == 2
    return [
        (Path(error["file"]).name, error["range"]["start"]["line"] + 1, error["message"])
        for error in said["generalDiagnostics"]
        if error["severity"] == "error"
    ]


def run(module, *options):
    files = [str(TYPING / name) for name in ("right.py", "wrong.py")]
    process = subprocess.run(
        [sys.executable, "-m", module, *options, *files], capture_output=True, text=True, cwd=SOURCE, check=False
    )
    assert process.returncode == 1, process.stderr
    return process.stdout


@pytest.mark.parametrize("checker", [found_by_mypy, found_by_pyright])
def test_checkers_accept_what_is_right_and_find_what_is_wrong(checker, tmp_path):
    found = checker(tmp_path)
    assert not [error for error in found if error[0] != "wrong.py"]
    lines = (TYPING / "wrong.py").read_text().splitlines()
    marked = {number for number, line in enumerate(lines, 1) if "# error" in line}
    wrong = {line: message for _, line, message in found}
    assert {line: wrong[line] for line in wrong.keys() - marked} == {}
    assert [lines[line - 1] for line in sorted(marked - wrong.keys())] == []


@pytest.mark.parametrize("example", right.EXAMPLES)
def test_what_is_right_runs(example):
    example()
