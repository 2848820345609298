"""Random programs for all rows at once, in many ways: `python -m tests.batching 2000`; `--seed` repeats a run."""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from tests.batching.check import examine
from tests.fuzzing.command import look_at_programs, options

SHARE = 20  # programs that a process looks at before it reports

if __name__ == "__main__":
    look_at_programs(options(__doc__).parse_args(), examine, SHARE)
