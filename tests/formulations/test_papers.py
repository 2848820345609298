"""docs/papers.md has a row for every item of the papers, and names code and tests that exist, and every room."""

import ast
import re
import tomllib
from pathlib import Path

import pytest

from shiftreset_ad.formulations import ROOMS
from tests.formulations.fig_17 import PAPER, properties, table

ROOT = Path(__file__).parents[2]
PAPERS = (ROOT / "docs" / "papers.md").read_text()
FIG_17 = "\n### Fig. 17"
ROWS = [
    line.split(" | ")
    for line in PAPERS.split(FIG_17)[0].splitlines()
    if line.startswith("| ") and not line.startswith("| item")
]
REFERENCE = re.compile(r"`((?:[\w.]+/)*[\w.]+(?:\.py|\.ipynb|/))(?:::(\w+))?`")


# The sections, figures and statements of each paper, by its first author.
ITEMS = tomllib.loads((Path(__file__).parent / "paper_items.toml").read_text())
# What else the first cell of a row may name.
OTHER = {"supplement", "slides", "distribution", "ours", "wavy underline"}
TABLES = {
    next(author for author in ITEMS if part.lstrip().startswith(author)): part
    for part in PAPERS.split(FIG_17)[0].split("\n## ")[1:]
    if part.startswith(tuple(ITEMS))
}


def items(cell):
    """The items that the first cell of a row names: `4.2 to 4.4; Fig. 14` names four."""
    found = set()
    for part in re.split(r"[,;]\s*", cell):
        first, _, last = part.partition(" to ")
        if not last:
            found.add(part)
            continue
        stem, number = re.fullmatch(r"(.*?)(\d+)", first).groups()
        found |= {f"{stem}{i}" for i in range(int(number), int(last.removeprefix(stem)) + 1)}
    return found


@pytest.mark.parametrize("author", ITEMS)
def test_the_table_has_the_items_of_the_paper(author):
    rows = [line for line in TABLES[author].splitlines() if line.startswith("| ") and not line.startswith("| item")]
    named = set().union(*(items(row.split(" | ")[0].strip("| ")) for row in rows))
    assert set(ITEMS[author]) - named == set()
    assert named - set(ITEMS[author]) - OTHER == set()


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
    if row[2] == "not built":
        assert not tests, row
        return
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


def test_fig_17():
    """The document has the generated table, and rooms have the properties that Fig. 17 names for their papers."""
    assert table() in PAPERS
    by_path = {room.path: properties(room)[:3] for room in ROOMS}
    assert by_path["pearlmutter_siskind"] == tuple(PAPER["Pearlmutter and Siskind 2008"].split()[:3])
    assert by_path["wang.prompts"] == tuple(PAPER["Wang et al. 2019"].split()[:3])
    assert by_path["krawiec.monadic"] == tuple(PAPER["Krawiec et al. 2022"].split()[:3])
    assert by_path["krawiec.duals"] == ("no", "yes", "no")
    assert by_path["krawiec.dense"] == by_path["krawiec.delta"] == ("yes", "yes", "no")
