"""The Python in the README and in the documents runs as it stands there, and prints what its comments say."""

import contextlib
import io
import linecache
import re
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
PAGES = [page for page in (README, *sorted((ROOT / "docs").rglob("*.md"))) if "```python" in page.read_text()]
BLOCK = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)
OPTIONAL = ("torch", "pandas", "xarray")  # a page shows what it does with them; the tests do without
NUMBER = re.compile(r"-?\d+\.?\d*(?:e-?\d+)?")


def name_of(page):
    return str(page.relative_to(ROOT))


def needs_more(code):
    """Whether a block imports a library that is not installed."""
    return any(f"import {library}" in code and find_spec(library) is None for library in OPTIONAL)


def announced(code):
    """What the comments beside the calls of `print` say."""
    return re.findall(r"^ *print\(.*\) +# (.*)$", code, re.MULTILINE)


def agrees(printed, comment):
    """Whether the comment begins with what was printed, its numbers up to rounding; a remark may follow a comma."""
    if comment == printed or comment.startswith(f"{printed}, "):
        return True
    numbers, expected = NUMBER.findall(printed), NUMBER.findall(comment)
    shape, expected_shape = NUMBER.sub("0", printed), NUMBER.sub("0", comment)
    same_shape = shape == expected_shape or expected_shape.startswith(f"{shape}, ")
    close = [float(a) == pytest.approx(float(b), rel=1e-6) for a, b in zip(numbers, expected, strict=False)]
    return same_shape and all(close)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_the_python_of_a_page_prints_what_it_says(page):
    names = {"__name__": "page"}
    blocks = BLOCK.findall(page.read_text())
    for i, ((language, code), following) in enumerate(zip(blocks, [*blocks[1:], ("", "")], strict=True)):
        if language != "python" or needs_more(code):
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            filename = name_of(page)
            # These look at the source: `staged` rewrites functions whose source is known, and the others print a line.
            if any(reader in code for reader in ("staged(", "trace(", "step.line")):
                filename = f"<{filename}, block {i}>"
                linecache.cache[filename] = len(code), None, code.splitlines(keepends=True), filename
            exec(compile(code, filename, "exec"), names)
        comments = announced(code)
        if following[0] in ("ocaml", "cpp", "text"):  # the output has a block of its own
            assert printed.getvalue() == following[1]
            continue
        lines = printed.getvalue().splitlines()
        assert len(lines) == len(comments), (lines, comments)
        for line, comment in zip(lines, comments, strict=True):
            assert agrees(line, comment), f"{line} is printed, and the comment says {comment}"


def test_a_wrong_comment_is_found():
    assert agrees("0.35355339059327373", "0.35355339059327373, that is 1 / (2 sqrt(2))")
    assert agrees("[6. 6. 6.]", "[6. 6. 6.]")
    assert not agrees("[6. 6. 6.]", "[6. 6. 9.]")
    assert not agrees("12.0", "12.0 or so")
    assert not agrees("(1.0, 2.0)", "[1.0, 2.0]")
    assert announced("print(f(2.0))     # 12.0\nprint(1)\n") == ["12.0"]


def test_the_readme_has_two_screens():
    assert len(README.read_text().splitlines()) <= 126


def test_the_readme_counts_the_notebooks():
    numbers = ["One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten", "Eleven", "Twelve"]
    (counted,) = re.findall(r"^- (\w+) notebooks", README.read_text(), re.MULTILINE)
    assert counted == numbers[len(list((ROOT / "notebooks").glob("*.ipynb"))) - 1]


def test_the_set_up_has_one_line_for_the_demo_and_one_for_the_tests():
    """`.ci/run` takes these lines as they stand, by how they end."""
    lines = README.read_text().splitlines()
    (demo,) = (line for line in lines if line.endswith("python examples/saddle_point.py"))
    (tests,) = (line for line in lines if line.endswith("/pytest -n auto"))
    for line in (demo, tests):
        assert subprocess.run(["bash", "-n", "-c", line], check=False).returncode == 0
