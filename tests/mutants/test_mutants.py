"""The table of breakages is up to date; `python -m tests.mutants` carries it out."""

from collections import Counter
from pathlib import Path

import pytest

import shiftreset_ad
from tests.mutants.breakages import BREAKAGES

SOURCE = Path(shiftreset_ad.__file__).parent
TESTS = Path(__file__).parent.parent


@pytest.mark.parametrize("breakage", BREAKAGES, ids=lambda breakage: f"{breakage.file}: {breakage.old:.40}")
def test_what_is_broken_is_there_once_and_is_python_afterwards(breakage):
    source = (SOURCE / breakage.file).read_text()
    assert source.count(breakage.old) == 1
    compile(source.replace(breakage.old, breakage.new), breakage.file, "exec")
    assert all((TESTS / path).exists() for path in breakage.likely.split())


def test_each_part_of_the_library_is_broken_often_enough():
    broken = Counter(breakage.file.split("/")[0] for breakage in BREAKAGES)
    assert sum(broken.values()) >= 40
    assert all(broken[part] >= 5 for part in ("control", "modes", "rules", "transforms", "staging", "numbers"))
