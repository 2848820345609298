"""Random programs for all rows at once, in every way of `routes`: the answers are those of a loop over the rows."""

from collections import Counter

import numpy as np
import pytest

import shiftreset_ad as sr
from tests.batching import check, routes


@pytest.mark.slow_but_every(3)
@pytest.mark.parametrize("share", range(3))
def test_random_programs_in_some_ways(share):
    counts, texts = check.examine(3 * share, 3)
    assert texts == []
    assert sum(counts[name] for name in routes.WAYS) >= 8


@pytest.mark.slow
@pytest.mark.parametrize("share", range(4))
def test_many_random_programs_in_some_ways(share):
    assert check.examine(100 + 25 * share, 25)[1] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", routes.WAYS)
def test_each_way(name):
    counts = Counter()
    assert [text for seed in range(8) for text in check.look_at(seed, counts, [name])] == []
    assert counts[name] >= 3


def test_an_answer_that_differs_is_found(monkeypatch):
    def wrong(f, *axes):
        of_rows = sr.vmap(f, *axes)

        def last_row_is_the_first(*args):
            answers = of_rows(*args)
            return [part[np.arange(len(part)) - 1] for part in answers] if isinstance(answers, list) else answers[::-1]

        return last_row_is_the_first

    monkeypatch.setattr(routes, "vmap", wrong)
    found = [text for seed in range(6) for text in check.look_at(seed, Counter(), ["values", "inside: grad"])]
    assert any("values" in text for text in found)
    assert any("inside: grad" in text for text in found)


def test_differences():
    one = np.ones(2)
    assert check.difference(one, one + 1e-9) == ""
    assert "and not" in check.difference(one, one + 1e-3)
    assert check.difference(ValueError, one) == "it raised ValueError"
    assert check.difference([one], [one, one]) == "it has 1 parts, and not 2"
    assert "float32" in check.difference(one.astype(np.float32), one)
