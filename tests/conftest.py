"""What several tests share, and the cases of the rules that other tests go through again."""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent / "rules")]
