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


# The sections, figures, statements and worked examples of each paper, by the first words of its heading.
ITEMS = tomllib.loads((Path(__file__).parent / "paper_items.toml").read_text())
# What else the first cell of a row may name.
OTHER = {"supplement", "distribution", "ours", "wavy underline"}
TABLES = {
    heading: [
        row.strip("| ").split(" | ")
        for row in part.splitlines()
        if row.startswith("| ") and not row.startswith("| item")
    ]
    for part in PAPERS.split(FIG_17)[0].split("\n## ")[1:]
    for heading in ITEMS
    if part.startswith(heading)
}
each_paper = pytest.mark.parametrize("paper", ITEMS)


def items(cell):
    """The items that the first cell of a row names: `4.2 to 4.4; Fig. 14` names four."""
    found = set()
    for part in re.split(r"[,;]\s*", cell):
        if span := re.fullmatch(r"(.*?)(\d+) to (?:\1)?(\d+)", part):
            stem, first, last = span.groups()
            found |= {f"{stem}{i}" for i in range(int(first), int(last) + 1)}
        else:
            found.add(part)
    return found


@each_paper
def test_the_table_has_the_items_of_the_paper(paper):
    named = set().union(*(items(row[0]) for row in TABLES[paper]))
    assert set(ITEMS[paper]["items"]) - named == set()
    assert named - set(ITEMS[paper]["items"]) - OTHER == set()


@each_paper
def test_the_rows_are_in_the_order_of_the_paper(paper):
    place = {item: i for i, item in enumerate(ITEMS[paper]["items"])}
    first = [min(map(place.__getitem__, found)) for row in TABLES[paper] if (found := items(row[0]) - OTHER)]
    assert first == sorted(first)


@each_paper
def test_the_table_has_the_worked_examples_of_the_paper(paper):
    for item, examples in ITEMS[paper]["examples"].items():
        assert item in ITEMS[paper]["items"]
        said = [row[1] for row in TABLES[paper] if item in items(row[0])]
        for words in examples:
            assert any(words in what for what in said), f"no row of {item} has {words!r}"


@each_paper
def test_printed_code_is_compared_with_ours(paper):
    for item, test in ITEMS[paper]["printed"].items():
        named = {name for row in TABLES[paper] if item in items(row[0]) for _, name in references(row[3])}
        assert test in named, f"no row of {item} names {test}"


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
