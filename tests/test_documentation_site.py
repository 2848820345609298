"""The documentation site: its links, and that it leaves out no public name and no page. `.ci/run` builds it."""

import re

import pytest

import shiftreset_ad
from shiftreset_ad.scipy import MODULES
from tests.docs import DOCS, of_docs

pages = of_docs("site/pages", "docs_site_pages")
REFERENCE = "".join(page.read_text() for page in (DOCS / "site/reference").glob("*.md"))


@pytest.mark.parametrize("name", sorted({*shiftreset_ad.__all__} - {"optimize"}))
def test_every_public_name_has_an_entry(name):
    assert re.search(rf"^\.\. auto\w+:: (shiftreset_ad\.)?{name}$", REFERENCE, re.MULTILINE)


@pytest.mark.parametrize("package", ["optimize", "testing", *(f"scipy.{name}" for name in MODULES)])
def test_every_public_package_has_an_entry(package):
    assert re.search(rf"^\.\. automodule:: shiftreset_ad\.{package}\b", REFERENCE, re.MULTILINE)


@pytest.mark.parametrize("page", sorted((DOCS / "how_to").glob("*.md")), ids=lambda page: page.stem)
def test_every_task_is_in_the_list_and_in_the_contents(page):
    text = pages.text_of("docs/how_to.md")
    assert f"](how_to/{page.name})\n" in text
    assert f"\nhow_to/{page.stem}\n" in text


@pytest.mark.parametrize(
    ("path", "page"),
    [
        ("README.md", "index.md"),
        ("docs/design/modes.md", "design/modes.md"),
        ("CHANGELOG.md", "CHANGELOG.md"),
        ("notebooks/01_five_minutes.ipynb", "notebooks/01_five_minutes.ipynb"),
        ("LICENSE", "files/LICENSE.md"),
    ],
)
def test_each_file_has_its_page(path, page):
    assert pages.page_of(path) == page


def test_links_between_files_become_links_between_pages():
    found = set()
    unchanged = "[b](design/modes.md#x) [c](https://c.org) [d](#d) `[e](f)`\n```\n[g](h)\n```\n"
    text = f"[a](../README.md) {unchanged} [i](../LICENSE)"
    assert pages.with_links(text, "docs/limits.md", found) == f"[a](index.md) {unchanged} [i](files/LICENSE.md)"
    assert found == {"README.md", "docs/design/modes.md", "LICENSE"}


def test_a_link_that_leads_nowhere_is_an_error():
    with pytest.raises(FileNotFoundError, match=r"docs/limits.md links to nowhere.md"):
        pages.with_links("[a](nowhere.md)", "docs/limits.md", set())


def test_all_pages_are_gathered(tmp_path):
    pages.gather(tmp_path)
    found = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    assert {"index.md", "tutorial.md", "reference/derivatives.md", "notebooks/01_five_minutes.ipynb"} <= found
    assert {"files/LICENSE.md", "pictures/layers.svg", "design/modes.md", "how_to/in_place.md"} <= found
    assert not any("site" in path for path in found)
