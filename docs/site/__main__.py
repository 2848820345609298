"""Build the documentation site: `python docs/site [FOLDER]` (`site/` unless you say otherwise); open its index.html.

It needs `pip install '.[docs]'`, and no network. A warning is an error, as is a link that leads nowhere.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from pages import gather
from sphinx.cmd.build import main

HERE = Path(__file__).parent


def build(folder: str) -> int:
    """Write the site to a folder, and return Sphinx's exit status."""
    with TemporaryDirectory() as sources:
        gather(Path(sources))
        return main(["-q", "-W", "--keep-going", "-n", "-j", "auto", "-c", str(HERE), sources, folder])


if __name__ == "__main__":
    sys.exit(build(*sys.argv[1:] or ["site"]))
