"""docs/papers.md names code and tests that exist, and every room."""

import ast
import re
from pathlib import Path

import pytest

from shiftreset_ad.formulations import ROOMS

ROOT = Path(__file__).parents[2]
PAPERS = (ROOT / "docs" / "papers.md").read_text()
ROWS = [line.split(" | ") for line in PAPERS.splitlines() if line.startswith("| ") and not line.startswith("| item")]
REFERENCE = re.compile(r"`((?:[\w.]+/)*[\w.]+(?:\.py|\.ipynb|/))(?:::(\w+))?`")


def references(cell):
    return REFERENCE.findall(cell)


def definitions(path):
    """The names that a file defines, in itself and in its classes."""
    return {node.name for node in ast.walk(ast.parse(path.read_text())) if hasattr(node, "name")}


def file_of(path, *folders):
    return next((found for folder in folders if (found := ROOT / folder / path).exists()), None)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0].strip("| "))
def test_each_row_points_to_code_and_to_a_test(row):
    assert len(row) == 4
    code, tests = references(row[2]), references(row[3])
    assert code or "every room" in row[2] or "in the paper" in row[2], row
    assert tests, row
    for path, name in code:
        found = file_of(path, "src/shiftreset_ad", ".")
        assert found, path
        assert not name or name in definitions(found), f"{path} has no {name}"
    for path, name in tests:
        found = file_of(path, "tests")
        assert found, path
        assert not name or name in definitions(found), f"{path} has no {name}"


def test_the_remarks_name_tests_that_exist():
    for path, name in references("".join(line for line in PAPERS.splitlines() if not line.startswith("| "))):
        found = file_of(path, "tests", "src/shiftreset_ad", ".")
        assert found, path
        assert not name or name in definitions(found), f"{path} has no {name}"


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.path)
def test_each_room_is_named(room):
    assert f"formulations/{room.path.replace('.', '/')}" in PAPERS
