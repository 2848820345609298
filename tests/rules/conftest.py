import sys
from pathlib import Path

# The tests here share `three_ways`, and `test_table` looks at the cases of all of them.
sys.path.insert(0, str(Path(__file__).parent))
