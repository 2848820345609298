"""Build the documentation site: `python docs/site [FOLDER]` (`site/` unless you say otherwise); open its index.html.

It needs `pip install '.[docs]'`, and no network. A warning is an error, as is a link that leads nowhere.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from pages import gather
from sphinx.cmd.build import main

HERE = Path(__file__).parent


def build(folder: str) -> int:
    """Write the site to a folder, and return Sphinx's exit status."""
    with TemporaryDirectory() as workspace:
        sources, pages = Path(workspace, "sources"), Path(workspace, "pages")
        sources.mkdir()
        gather(sources)
        status = main(["-q", "-W", "--keep-going", "-n", "-j", "auto", "-c", str(HERE), str(sources), str(pages)])
        # MyST-NB writes the notebooks once more, beside the folder that it builds: they stay behind here.
        shutil.copytree(pages, folder, dirs_exist_ok=True)
        return status


if __name__ == "__main__":
    sys.exit(build(*sys.argv[1:] or ["site"]))
