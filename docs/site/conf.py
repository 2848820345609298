"""How Sphinx builds the site. `python docs/site` runs it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, NamedTuple

from sphinx.application import Sphinx

sys.path.insert(0, str(Path(__file__).parent))

project = "shiftreset_ad"
copyright = "The shiftreset_ad developers"  # noqa: A001  # the name that Sphinx reads
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.viewcode", "sphinx_copybutton", "formulas"]

html_theme = "furo"
html_title = "shiftreset_ad"
html_math_renderer = "mathml"
html_show_sphinx = False

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4
nb_execution_mode = "off"  # the notebooks have their outputs, and CI runs them again

default_role = "code"  # docstrings write `name`, as the pages do
autodoc_typehints = "none"  # docstrings say shapes and structures, in words
autodoc_member_order = "bysource"
python_use_unqualified_type_names = True
html_static_path = ["static"]
html_css_files = ["wide.css"]


class Fields(NamedTuple):
    """A named tuple, for the type of its field."""

    field: int


def shortened(app: Sphinx, what: str, name: str, found: Any, options: Any, lines: list[str]) -> None:
    """Keep the first sentence of SciPy's own docstrings: their other parts refer to pages of SciPy."""
    if what == "function" and str(found.__module__).partition(".")[0] in ("numpy", "scipy"):
        end = lines.index("") if "" in lines else len(lines)
        lines[end:] = ["", "Arguments and answers are SciPy's.", ""]


def skipped(app: Sphinx, what: str, name: str, found: Any, skip: bool, options: Any) -> bool | None:
    """Leave out the fields of named tuples, which have no docstring of their own."""
    return True if isinstance(found, type(Fields.field)) else None


def setup(app: Sphinx) -> None:
    """Connect to Sphinx's events."""
    app.connect("autodoc-process-docstring", shortened)
    app.connect("autodoc-skip-member", skipped)
