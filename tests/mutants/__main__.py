"""Is each breakage of the table found by the tests?

    python -m tests.mutants [--likely] [WORD ...]

Each is made in a copy of the repository, and the tests run against it until one fails: first those that are likely to
find it, then all others. A test that fails without the breakage, too, has found nothing. With words, only those
breakages are made whose file or text has one of them; with --likely, only the likely tests run. The command fails if
any survives.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.mutants.breakages import BREAKAGES, Breakage

ROOT = Path(__file__).parents[2]
LEFT_OUT = shutil.ignore_patterns(".git", ".venv*", "__pycache__", ".*_cache", ".hypothesis", "dist", "build")
OTHERS = ["tests", "src", "--ignore=tests/mutants"]
HANGS = 120  # seconds; a test that hangs has found a breakage, too
PYTEST = (
    *("-m", "pytest", "-q", "--no-header", "--tb=no", "-p", "no:cacheprovider", "-m", ""),  # slow tests, too
    *("-o", f"faulthandler_timeout={HANGS}", "-o", "faulthandler_exit_on_timeout=true"),
)
HUNG = f"a test that takes more than {HANGS} s"


class Copy:
    """A copy of the repository, to be broken."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.failing: set[str] = set()  # tests that fail without any breakage
        shutil.copytree(ROOT, root, ignore=LEFT_OUT)

    def finder(self, breakage: Breakage, only_likely: bool) -> str | None:
        """The first test that finds a breakage; None if all pass."""
        path = self.root / "src" / "shiftreset_ad" / breakage.file
        right = path.read_text()
        if right.count(breakage.old) != 1:
            sys.exit(f"{breakage.file} has changed: {breakage.old!r} is there {right.count(breakage.old)} times")
        path.write_text(right.replace(breakage.old, breakage.new))
        try:
            likely = [f"tests/{folder}" for folder in breakage.likely.split()]
            for tests in (likely,) if only_likely else (likely, OTHERS):
                if found := self.failures("-x", *tests, *(f"--deselect={test}" for test in self.failing)):
                    return found[0]
            return None
        finally:
            path.write_text(right)

    def failures(self, *arguments: str) -> list[str]:
        """The tests that fail, or what else goes wrong."""
        environment = os.environ | {"PYTHONPATH": str(self.root / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, *PYTEST, *arguments]
        run = subprocess.run(command, cwd=self.root, env=environment, capture_output=True, text=True, check=False)
        if run.returncode == 0:
            return []
        if "Timeout (" in run.stderr:
            return [HUNG]
        found = re.findall(r"^(?:FAILED|ERROR) (.*?)(?: - .*)?$", run.stdout, re.MULTILINE)
        if not found and run.returncode > 1:
            sys.exit(f"{' '.join(command)}\n{run.stdout}\n{run.stderr}")
        return found or [f"the interpreter, which ends with {run.returncode}"]


def report(breakage: Breakage, finder: str | None) -> None:
    changed = " ".join(f"{breakage.old} -> {breakage.new}".split())
    print(f"{'survived' if finder is None else 'found':9}{breakage.file}: {changed}", flush=True)
    print(f"{'':9}by {finder or 'none'}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--likely", action="store_true")
    arguments = parser.parse_args()
    words = arguments.words
    waiting = [b for b in BREAKAGES if not words or any(word in b.file or word in b.old for word in words)]
    finders: dict[Breakage, str | None] = {}
    with tempfile.TemporaryDirectory() as folder:
        copy = Copy(Path(folder) / "copy")
        while waiting:
            for breakage in waiting:
                finders[breakage] = copy.finder(breakage, arguments.likely)
                report(breakage, finders[breakage])
            tests = {test for test in finders.values() if test is not None and "::" in test} - copy.failing
            copy.failing.update(copy.failures(*tests) if tests else ())
            waiting = [breakage for breakage, test in finders.items() if test in copy.failing]
            for breakage in waiting:
                print(f"{finders[breakage]} fails without {breakage.old!r} -> {breakage.new!r}, too: once more")
    survived = sum(test is None for test in finders.values())
    print(f"{len(finders) - survived} of {len(finders)} found")
    return int(survived > 0)


if __name__ == "__main__":
    sys.exit(main())
