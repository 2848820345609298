"""The patterns of any number of random programs: `python -m tests.modes.index_sets 2000`; `--seed` repeats a run."""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from tests.fuzzing.command import look_at_programs, options
from tests.modes.index_sets.patterns import examine

SHARE = 50  # programs that a process looks at before it reports

if __name__ == "__main__":
    look_at_programs(options(__doc__).parse_args(), examine, SHARE)
