"""Sequences of many lengths in one array: loops up to a length that is an argument are written down once."""

from __future__ import annotations

import numpy as np
import pytest

from shiftreset_ad import grad, jvp, staged, zeros
from tests.staging.front.agreement import by_numpy, ids
from tests.staging.native.natively import needs_native

RNG = np.random.default_rng(0)
LENGTHS = [(3, 0, 5, 1), (2, 4, 4, 0), (0, 0, 0, 0), (7, 7, 7, 7), (5, 3, 1, 6), (1, 6, 2, 2)]


def by_lengths(w, xs, lengths):
    total = 0.0
    for k in range(len(lengths)):
        h = 0.1
        for t in range(lengths[k]):
            h = np.tanh(w[0] * h + w[1] * xs[k, t])
        total = total + h * h
    return total


def by_slices(w, xs, lengths):
    total = 0.0
    for x, n in zip(xs, lengths, strict=True):
        h = 0.1
        for v in x[:n]:
            h = np.tanh(w[0] * h + w[1] * v)
        total = total + h * h
    return total


def by_slices_of_rows(w, xs, lengths):
    total = 0.0
    for k in range(len(lengths)):
        for v in xs[k, : lengths[k]]:
            total = np.sin(total * w[0] + v * w[1])
    return total


def by_starts(w, xs, lengths):
    """All sequences one after the other, each from its start on."""
    flat, starts = np.ravel(xs), np.concatenate([[0], np.cumsum(lengths)])
    total = 0.0
    for k in range(len(lengths)):
        h = 0.1
        for t in range(starts[k], starts[k + 1]):
            h = np.tanh(w[0] * h + w[1] * flat[t])
        total = total + h * h
    return total


def rows_of_a_matrix(w, xs, lengths):
    total = np.zeros(7)
    for x in xs[: lengths[0]]:
        total = total * w[0] + x * w[1]
    return np.sum(total)


def numbered(w, xs, lengths):
    total = 0.0
    for i, v in enumerate(xs[0][lengths[3] : lengths[0]]):
        total = total * w[0] + v * w[1] * i
    return total


def backwards(w, xs, lengths):
    total = w[0]
    for v in reversed(xs[0][: lengths[0]]):
        total = total * 0.5 + v * w[1]
    return total


def from_the_end(w, xs, lengths):
    total = w[0]
    for v in xs[1][-lengths[0] - 1 :]:
        total = total * 0.5 + v * w[1]
    for v in xs[1][: -lengths[0]]:
        total = total * 0.7 + v
    return total


def beyond_the_end(w, xs, lengths):
    total = w[0]
    for v in xs[2][lengths[0] - 2 : lengths[1] * 3]:
        total = total * 0.5 + v * w[1]
    return total


def together(w, xs, lengths):
    total = w[0]
    for u, v in zip(xs[0][: lengths[0]], xs[1][lengths[1] :], strict=False):
        total = total * 0.5 + u * v * w[1]
    return total


def summed(w, xs, lengths):
    return sum(w[0] * v * v for v in xs[0][: lengths[0]]) + max([w[1], *xs[1]]) * lengths[1]


def of_a_list(w, xs, lengths):
    values, total = [w[0], w[1] * 2.0, xs[0, 0] * w[0], w[1]], 0.0
    for v in values[: lengths[0]]:
        total = total * 0.5 + v
    return total


def left_early(w, xs, lengths):
    total = w[0]
    for v in xs[0][: lengths[0]]:
        if v * w[1] > 1.0:
            break
        if v < -1.0:
            continue
        total = total * 0.5 + v * w[1]
    else:
        total = total * 3.0
    return total


def written_to_meanwhile(w, xs, lengths):
    """The slice is a view, which shows what is written."""
    y = zeros(8)
    y[0] = w[0]
    total = 0.0
    for i, v in enumerate(y[: lengths[0]]):
        y[i + 1] = v * w[1] + 0.3
        total = total + v * v
    return total


PROGRAMS = (
    *(by_lengths, by_slices, by_slices_of_rows, by_starts, rows_of_a_matrix, numbered, backwards, from_the_end),
    *(beyond_the_end, together, summed, of_a_list, left_early),
)


def arguments(lengths):
    return RNG.normal(size=2), RNG.normal(size=(4, 7)), np.array(lengths)


def require_agreement(f, calls):
    compiled = staged(f)
    for args in calls:
        np.testing.assert_allclose(compiled(*args), f(*args), rtol=1e-12, atol=1e-14)
    return compiled


def second(f):
    return grad(lambda w, xs, lengths: np.sum(grad(f)(w, xs, lengths) * np.array([1.0, 2.0])))


def along(f):
    return lambda w, xs, lengths: jvp(lambda w, xs: f(w, xs, lengths), (w, xs), (w * 2.0, np.sin(xs)))[1]


@pytest.mark.parametrize("f", PROGRAMS, **ids)
def test_one_record_serves_all_lengths(f, monkeypatch):
    by_numpy(monkeypatch)
    calls = [arguments(lengths) for lengths in LENGTHS]
    for form in (f, grad(f), grad(f, 1), along(f)):
        assert len(require_agreement(form, calls).sources) == 1
    assert len(require_agreement(second(f), calls[:4]).sources) == 1


@needs_native
@pytest.mark.slow_but_every(3)
@pytest.mark.parametrize("f", PROGRAMS, **ids)
def test_native_code_has_the_bits_of_the_steps(f, monkeypatch):
    calls = [arguments(lengths) for lengths in LENGTHS]
    compiled = require_agreement(grad(f), calls)
    report = compiled.report()
    assert "as native code" in report
    assert "it left" not in report
    natively = [compiled(*args) for args in calls]
    by_numpy(monkeypatch)
    in_steps = require_agreement(grad(f), calls)
    np.testing.assert_array_equal([in_steps(*args) for args in calls], natively)


def test_a_view_that_is_gone_over_shows_what_is_written():
    require_agreement(grad(written_to_meanwhile), [arguments(lengths) for lengths in LENGTHS])


@needs_native
@pytest.mark.parametrize("kind", [int, np.int64])
def test_a_length_of_python_or_of_numpy_has_native_code(kind):
    def last(w, x, n):
        h = 0.1
        for v in x[:n]:
            h = np.tanh(w[0] * h + w[1] * v)
        return h * n

    compiled, wanted = staged(grad(last)), grad(last)
    for n in (3, 5, 0, 7, 9, -2):
        w, x = RNG.normal(size=2), RNG.normal(size=7)
        np.testing.assert_array_equal(compiled(w, x, kind(n)), wanted(w, x, kind(n)))
    assert len(compiled.sources) == 1
    assert "as native code" in compiled.report()


@pytest.mark.parametrize("first", [lambda n: True, lambda n: n > 1, lambda n: np.bool_(True)])
def test_a_boolean_before_a_slice_adds_an_axis(first):
    def f(x, n):
        rows, total = np.arange(6.0).reshape(2, 3) * x, 0.0
        for row in rows[first(n), :n]:
            total = total + np.sum(row)
        return total

    for form in (f, grad(f)):
        compiled = staged(form)
        for n in (0, 0, 0, 1, 2, 1, 2):
            assert compiled(0.5, n) == form(0.5, n)


def test_a_slice_of_a_list_is_a_copy():
    def f(w, xs, lengths):
        values = [w[0], w[1], w[0] * 2.0, 1.0, 0.5]
        total = 0.0
        for i, v in enumerate(values[: lengths[0]]):
            values[i + 1] = v * 0.5
            total = total * 0.5 + v
        return total + sum(values)

    def asked(w, xs, lengths):
        values, met = [w[0], w[1], w[0] * 2.0, 1.0, 0.5], []
        for i, v in enumerate(values[: lengths[0]]):
            values[i + 1] = v * 0.5
            met = met + [v]  # noqa: RUF005 (a list that is bound anew is asked for its length)
        return sum(met, 0.0) + sum(values)

    at_first_it_does_not_matter = (1,), (1,), (1,), (3,), (0,), (4,), (2,)
    for form in (f, grad(f), asked, grad(asked)):
        require_agreement(form, list(map(arguments, at_first_it_does_not_matter)))


def test_a_slice_with_steps_or_of_no_sequence_is_pythons():
    def f(x, n):
        total = 0.0
        for v in x[:n:2]:
            total = total + v * v
        return total

    compiled = staged(grad(f))
    for n in (1, 1, 1, 3, 5, 2, 7):  # at first the step does not matter
        x = RNG.normal(size=7)
        assert np.array_equal(compiled(x, n), grad(f)(x, n))
    with pytest.raises(TypeError, match="slice indices must be integers"):
        staged(grad(f))(np.ones(3), 2.0)
