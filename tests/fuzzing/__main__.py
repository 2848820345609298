"""Look at any number of random programs: `python -m tests.fuzzing 20000`; `--seed` and `--processes` repeat a run."""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from tests.fuzzing.command import look_at_programs, options
from tests.fuzzing.run import examine

SHARE = 100  # programs that a process looks at before it reports

if __name__ == "__main__":
    look_at_programs(options(__doc__).parse_args(), examine, SHARE)
