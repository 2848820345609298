"""What several tests share, and the cases of the rules that other tests go through again."""

import os
import sys
from pathlib import Path

# Before NumPy is imported: its threads would wait for one another over matrices of three rows.
for library in ("OPENBLAS", "MKL", "OMP"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

here = Path(__file__).parent
sys.path[:0] = [str(here), str(here / "rules"), str(here / "formulations")]
