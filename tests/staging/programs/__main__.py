"""Look at any number of random programs: `python -m tests.staging.programs 2000`; `--seed` repeats a run."""

from __future__ import annotations

import os
from functools import partial

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from tests.fuzzing.command import look_at_programs, options
from tests.staging.programs.run import examine

SHARE = 20  # programs that a process looks at before it reports
# Refusals are printed as a share of all programs by all routes, and tests that are asked as a share of all records.
WHOLES = {
    "refused": "checks",
    "asks": "records",
    "records in native code": "records",
    "records that call Python": "records",
}

if __name__ == "__main__":
    parser = options(__doc__)
    parser.add_argument("--whole", action="store_true", help="do not make counterexamples small")
    parser.add_argument("--small", action="store_true", help="small programs, at few points and by one route each")
    arguments = parser.parse_args()
    how = partial(examine, shrinks=not arguments.whole, is_small=arguments.small)
    look_at_programs(arguments, how, SHARE, WHOLES)
