"""Every public name is documented where a user looks for it, and what the documents point to is there."""

import importlib.util
import inspect
import re
import sys
import tomllib
from pathlib import Path

import pytest

import shiftreset_ad
from shiftreset_ad import testing

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
OPERATORS = [getattr(shiftreset_ad, name) for name in shiftreset_ad.__all__]
OPERATORS = [f for f in OPERATORS if inspect.isfunction(f)] + [testing.check_grads]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / ".github").rglob("*.md"))]
LINK = re.compile(r"\]\((?!https?:)([^)\s]+)\)")
PATH = re.compile(r"`((?:src|tests|docs|benchmarks|examples|notebooks|\.ci)/[\w./]*)`")
COMMAND = re.compile(r"python ((?:docs|benchmarks|tests|examples|notebooks)/[\w/]+\.py)")


def name_of(page):
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("f", OPERATORS, ids=lambda f: f.__name__)
def test_every_operator_has_an_example_that_runs_as_a_doctest(f):
    assert ">>> " in inspect.getdoc(f)


@pytest.mark.parametrize("f", OPERATORS, ids=lambda f: f.__name__)
def test_every_operator_is_in_the_readme(f):
    assert f"`{f.__name__}`" in README or f".{f.__name__}`" in README


def anchors(page):
    """The anchors of the headings of a page, as they are made of the text: small letters, and dashes for spaces."""
    headings = re.findall(r"^#+ (.*)$", re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_to_files_and_headings_that_exist(page):
    for link in LINK.findall(page.read_text()):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_name_files_that_exist(page):
    for path in COMMAND.findall(page.read_text()):
        assert (ROOT / path).exists(), path


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != "papers.md"], ids=name_of)
def test_files_that_are_named_exist(page):
    for path in PATH.findall(page.read_text()):
        assert (ROOT / path).exists(), path


def test_the_rules_that_contributing_shows_are_those_of_the_library():
    (shown,) = re.findall(r"```py\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(), re.DOTALL)
    rules = "".join(path.read_text() for path in (ROOT / "src" / "shiftreset_ad" / "rules").rglob("*.py"))
    for line in filter(str.strip, shown.splitlines()):
        assert line.removeprefix("   ") in rules, line


DESIGN = ROOT / "docs" / "design"
PACKAGES = {path.parent.name for path in Path(shiftreset_ad.__file__).parent.glob("*/__init__.py")}


def test_every_package_has_a_page_of_its_design():
    assert {page.stem for page in DESIGN.glob("*.md")} == PACKAGES


@pytest.mark.parametrize("page", sorted(DESIGN.glob("*.md")), ids=lambda page: page.stem)
def test_the_table_of_a_package_names_files_that_exist(page):
    package = Path(shiftreset_ad.__file__).parent / page.stem
    rows = [line.split("|")[1] for line in page.read_text().splitlines() if line.startswith("| `")]
    named = {name.rstrip("/") for row in rows for name in re.findall(r"`([\w./]+)`", row)}
    files = {path.name for path in package.glob("*.py")} | {path.parent.name for path in package.glob("*/__init__.py")}
    assert named <= files


# The pictures


def load_pictures():
    """`docs/pictures.py`, as a module."""
    spec = importlib.util.spec_from_file_location("pictures", ROOT / "docs" / "pictures.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses look for it
    spec.loader.exec_module(module)
    return module


pictures = load_pictures()


@pytest.mark.parametrize("name", pictures.PICTURES)
def test_a_picture_shows_what_is_so(name):
    """If not: python docs/pictures.py."""
    text, _ = pictures.PICTURES[name]
    assert pictures.text_in(pictures.FOLDER / f"{name}.svg") == text()


def test_the_picture_of_a_run_has_the_derivative():
    x, trips, derivative = pictures.run()
    assert derivative == 3 * x**2 + 4 * x**3  # of x^3 + x^4
    assert [trip.name for trip in trips] == ["y", "z", "w"]


def test_imports_that_others_stand_for_are_not_drawn():
    imported = {"top": {"middle", "bottom"}, "middle": {"bottom"}, "bottom": set(), "beside": {"bottom"}}
    assert pictures.direct(imported) == imported | {"top": {"middle"}}


# The README, as a package index shows it


def test_the_long_description_has_no_link_to_a_file():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    text = README
    for each in settings["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]["substitutions"]:
        text = re.sub(each["pattern"], each["replacement"], text)
    assert LINK.search(README)
    assert not LINK.search(text)
    assert "the design (`docs/design.md`)" in text
    assert "`docs/pictures/there_and_back_again.svg`" in text


def test_the_citation_has_the_version():
    assert f"\nversion: {shiftreset_ad.__version__}\n" in (ROOT / "CITATION.cff").read_text()
