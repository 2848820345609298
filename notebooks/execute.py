"""Run the notebooks, and write what they put out into their `.ipynb` files: `python notebooks/execute.py`.

The `.py` files are the ones to edit. Times and versions are left out, so that only a change of substance is a change.
"""

from pathlib import Path

import nbformat
from jupytext.cli import jupytext
from nbclient import NotebookClient

for script in sorted(Path(__file__).parent.glob("[0-9]*.py")):
    jupytext(["--quiet", "--update", "--to", "ipynb", str(script)])
    notebook = nbformat.read(script.with_suffix(".ipynb"), as_version=4)
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
    NotebookClient(notebook, kernel_name="python3", record_timing=False).execute(cwd=str(script.parent))
    notebook.metadata.pop("language_info", None)
    nbformat.write(notebook, script.with_suffix(".ipynb"))
    print(f"{script.stem}: {len(notebook.cells)} cells")
