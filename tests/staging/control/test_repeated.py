"""A loop is carried out while it is recorded: after a few rounds its steps are a function of Python's."""

import numpy as np
import pytest

from shiftreset_ad import StagingWarning, fori_loop, grad, staged, while_loop
from shiftreset_ad.staging.control import execution, repeated


def rounds(x, n):
    """Numbers, arrays, a branch, an inner loop, and a write in each round."""
    y, i = x * 1.0, 0
    while i < n:
        y[i % 3] += 0.1 * i
        if i % 2 == 0:
            y = y * 0.5 + np.sum(y)
        k = 0
        while k < i:
            y = y - 0.01 * k
            k = k + 1
        i = i + 1
    return np.sum(y * y)


@pytest.mark.parametrize("at_first", [0, 8, 1000])
def test_answers_are_the_same(monkeypatch, at_first):
    monkeypatch.setattr(execution, "AT_FIRST", at_first)
    x = np.array([1.0, 2.0, 3.0])
    for f in (rounds, grad(rounds)):
        compiled = staged(f)
        np.testing.assert_array_equal(compiled(x, 20), staged(f)(x, 20))
        np.testing.assert_allclose(compiled(x, 20), f(x, 20), rtol=1e-13)
        assert len(compiled.sources) == 1


def test_a_long_loop_becomes_a_function_once_for_each_block(monkeypatch):
    made = []

    def noted(steps, *carry_out):
        made.append(len(steps))
        return repeated.function_of(steps, *carry_out)

    monkeypatch.setattr(execution, "function_of", noted)
    f = staged(lambda x, n: while_loop(lambda s: s[1] < n, lambda s: (s[0] * 0.9 + 1.0, s[1] + 1), (x, 0))[0])
    assert f(1.0, 100) == pytest.approx(10.0, rel=1e-3)
    assert len(made) == 2  # the test and the round


def test_an_error_in_a_late_round_is_refused_as_in_the_first_ones():
    f = staged(lambda x, n: fori_loop(0, n, lambda i, y: y + 1.0 / (30.0 - i), x))
    with pytest.raises(ZeroDivisionError):
        f(1.0, 40)
    assert f(1.0, 20) == fori_loop(0, 20, lambda i, y: y + 1.0 / (30.0 - i), 1.0)


def test_a_question_with_another_answer_in_a_late_round():
    def f(x, n):
        return fori_loop(0, n, lambda i, y: y + len(str(i >= 12)), x)

    compiled = staged(f)
    with pytest.warns(StagingWarning, match="differs from round to round"):
        assert compiled(1.0, 20) == f(1.0, 20)
    for n in (21, 5):
        assert compiled(1.0, n) == f(1.0, n)


def test_the_watch_pauses_for_a_long_loop(seen):
    def f(x, n):
        return while_loop(lambda s: s[1] < n, lambda s: (np.sqrt(s[0]) + 1.0, s[1] + 1), (x, 0))[0]

    staged(f)(1.0, 20)
    few = sum(seen.values())
    staged(f)(1.0, 2_000)
    assert sum(seen.values()) - few < few + 100
