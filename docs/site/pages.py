"""The pages of the site: `docs/`, the README, the notebooks, and each file of the repository that a page links to.

The README is the first page. A link between files of the repository becomes a link between pages.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from posixpath import normpath, relpath

ROOT = Path(__file__).parents[2]
SITE = Path(__file__).parent
HOME, TASKS = "README.md", "docs/how_to.md"
SECTIONS = (
    *("tutorial", "how_to", "reference", "explanation"),
    *("coverage", "performance", "papers", "CONTRIBUTING", "CHANGELOG"),
)
LINK = re.compile(r"(?<=\]\()(?!https?:|#)(?P<path>[^)#\s]+)(?P<anchor>#[^)]*)?(?=\))")
CODE = re.compile(r"(```.*?```|`[^`\n]*`)", re.DOTALL)
LANGUAGES = {".py": "python", ".toml": "toml", ".cff": "yaml"}


def gather(sources: Path) -> None:
    """Write all pages to a folder, for Sphinx."""
    for part in ("sections", "reference"):
        shutil.copytree(SITE / part, sources if part == "sections" else sources / part, dirs_exist_ok=True)
    waiting = {HOME, *_files("docs", "*.md"), *_files("docs/pictures", "*.svg"), *_files("notebooks", "*.ipynb")}
    done: set[str] = set()
    while waiting - done:
        path = (waiting - done).pop()
        done.add(path)
        page = sources / page_of(path)
        page.parent.mkdir(parents=True, exist_ok=True)
        if page.suffix == ".md":
            page.write_text(with_links(text_of(path), path, waiting))
        else:
            shutil.copy(ROOT / path, page)


def _files(folder: str, pattern: str) -> Iterator[str]:
    for path in (ROOT / folder).rglob(pattern):
        if not path.is_relative_to(SITE):
            yield path.relative_to(ROOT).as_posix()


def page_of(path: str) -> str:
    """Where the site has a file of the repository."""
    if path == HOME:
        return "index.md"
    name = PurePosixPath(path)
    if name.parts[0] == "docs":
        return str(name.relative_to("docs"))
    return path if name.suffix in (".md", ".ipynb", ".svg") else f"files/{path}.md"


def text_of(path: str) -> str:
    """A file of the repository as Markdown: code is a page with one block."""
    text = (ROOT / path).read_text()
    suffix = PurePosixPath(path).suffix
    if suffix == ".md":
        return text + contents_below(path, text)
    return f"---\norphan: true\n---\n# {path}\n\n````{LANGUAGES.get(suffix, 'text')}\n{text}````\n"


def contents_below(path: str, text: str) -> str:
    """The tree of contents below a page: the sections below the first page, the tasks below their list."""
    if path not in (HOME, TASKS):
        return ""
    tasks = (link["path"].removesuffix(".md") for link in LINK.finditer(text) if "/" in link["path"])
    pages = SECTIONS if path == HOME else tasks
    return "\n".join(("", "```{toctree}", ":hidden:", "", *pages, "```", ""))


def with_links(text: str, path: str, found: set[str]) -> str:
    """The text of the repository's file `path`, with links to pages of the site. Adds the linked files to `found`.

    Raises FileNotFoundError if a link leads nowhere.
    """
    here = PurePosixPath(page_of(path)).parent

    def replaced(link: re.Match[str]) -> str:
        target = normpath(str(PurePosixPath(path).parent / link["path"]))
        if not (ROOT / target).is_file():
            raise FileNotFoundError(f"{path} links to {link['path']}, and there is no such file")
        found.add(target)
        return relpath(page_of(target), here) + (link["anchor"] or "")

    pieces = CODE.split(text)  # every second piece is code, where brackets are no links
    return "".join(piece if i % 2 else LINK.sub(replaced, piece) for i, piece in enumerate(pieces))
