"""Sums over shards, by threads and processes: values, derivatives, and what is refused."""

import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from shiftreset_ad import grad, hessian, hvp, jacobian, value_and_grad
from shiftreset_ad.executors import Mean, Sum, SumOfSquares
from tests.executors.programs import PARAMS, ROWS, SHARDS, TANGENTS, Loaded, loss, residuals


@pytest.fixture(scope="module")
def threads():
    with ThreadPoolExecutor(3) as executor:
        yield executor


def assert_same(found, expected):
    assert type(found) is type(expected)
    if isinstance(found, dict):
        assert found.keys() == expected.keys()
        for key in found:
            assert_same(found[key], expected[key])
    else:
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_the_sum_and_its_derivatives(threads):
    total = Sum(loss, SHARDS, threads)
    value, gradient = value_and_grad(loss)(PARAMS, ROWS)
    assert total(PARAMS) == pytest.approx(value, rel=1e-12)
    found = total.value_and_grad(PARAMS)
    assert found[0] == pytest.approx(value, rel=1e-12)
    assert_same(found[1], gradient)
    assert_same(total.grad(PARAMS), gradient)
    assert_same(total.hvp(PARAMS, TANGENTS), hvp(lambda p: loss(p, ROWS), (PARAMS,), (TANGENTS,)))


def test_the_mean_over_rows(threads):
    def mean(params, rows):
        return loss(params, rows) / len(rows)

    total = Mean(mean, SHARDS, threads, weights=map(len, SHARDS))
    value, gradient = value_and_grad(mean)(PARAMS, ROWS)
    found = total.value_and_grad(PARAMS)
    assert found[0] == pytest.approx(value, rel=1e-12)
    assert_same(found[1], gradient)
    assert_same(total.hvp(PARAMS, TANGENTS), hvp(lambda p: mean(p, ROWS), (PARAMS,), (TANGENTS,)))
    shares = Mean(mean, SHARDS, threads, weights=[len(rows) / len(ROWS) for rows in SHARDS])
    assert shares(PARAMS) == pytest.approx(value, rel=1e-12)
    unweighted = Mean(loss, SHARDS, threads)
    assert unweighted(PARAMS) == pytest.approx(loss(PARAMS, ROWS) / len(SHARDS), rel=1e-12)


def test_squares_and_gauss_newton(threads):
    w, v = PARAMS["w"], TANGENTS["w"]

    def of_array(w, rows):
        return residuals({"w": w, "b": 0.5}, rows)

    def half(w):
        return 0.5 * np.sum(of_array(w, ROWS) ** 2)

    total = SumOfSquares(of_array, SHARDS, threads)
    assert total(w) == pytest.approx(half(w), rel=1e-12)
    assert_same(total.grad(w), grad(half)(w))
    assert_same(total.hvp(w, v), hessian(half)(w) @ v)
    j = jacobian(of_array)(w, ROWS)
    assert_same(total.gauss_newton(w, v), j.T @ (j @ v))
    structured = SumOfSquares(residuals, SHARDS, threads).gauss_newton(PARAMS, TANGENTS)
    assert structured.keys() == PARAMS.keys()


def test_shards_are_loaded_where_they_are_used(threads, tmp_path):
    shards = []
    for number, rows in enumerate(SHARDS):
        np.save(tmp_path / f"{number}.npy", rows)
        shards.append(Loaded(tmp_path / f"{number}.npy"))
    expected = Sum(loss, SHARDS, threads).value_and_grad(PARAMS)
    found = Sum(loss, shards, threads).value_and_grad(PARAMS)
    paths = Sum(lambda params, path: loss(params, np.load(path)), [shard.path for shard in shards], threads)
    for answer in (found, paths.value_and_grad(PARAMS)):
        assert answer[0] == expected[0]
        np.testing.assert_array_equal(answer[1]["w"], expected[1]["w"])


def test_integers_among_the_parameters_have_no_derivative(threads):
    params = {"w": PARAMS["w"], "degree": 2}
    total = Sum(lambda p, rows: np.sum((rows @ p["w"]) ** p["degree"]), SHARDS, threads)
    assert total.grad(params)["degree"] is None


def test_the_bar_moves_once_for_each_shard(threads, capsys):
    pytest.importorskip("rich")
    Sum(loss, SHARDS, threads, progress=True)(PARAMS)
    shown = capsys.readouterr().out
    assert "executors.Sum" in shown
    assert "100%" in shown


def test_a_bar_without_rich(threads, monkeypatch):
    monkeypatch.setitem(sys.modules, "rich.progress", None)
    with pytest.raises(ImportError, match=r"executors\.Sum: progress=True draws a bar by rich.*pip install rich$"):
        Sum(loss, SHARDS, threads, progress=True)(PARAMS)


def test_the_executor_that_a_function_makes_is_made_once_and_closed(threads):
    made = []

    def make():
        made.append(ThreadPoolExecutor(2))
        return made[-1]

    with Sum(loss, SHARDS, make) as total:
        assert total(PARAMS) == total(PARAMS) == Sum(loss, SHARDS, threads)(PARAMS)
    assert len(made) == 1
    with pytest.raises(RuntimeError, match="after shutdown"):
        made[0].submit(print)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda e: Sum(loss, [], e), ValueError, "executors.Sum: shards is empty"),
        (lambda e: Sum(SHARDS, loss, e), TypeError, "executors.Sum: f is "),
        (lambda e: Sum(loss, 8, e), TypeError, "executors.Sum: shards is 8; give a list"),
        (lambda e: Sum(loss, SHARDS, e, retries=-1), ValueError, "retries is -1; give an integer"),
        (lambda e: Sum(loss, SHARDS, e, timeout="5"), ValueError, "timeout is '5'; give a positive number"),
        (lambda e: Sum(loss, SHARDS, e, timeout=0.0), ValueError, "timeout is 0.0; give a positive number"),
        (lambda e: Sum(3.0, SHARDS, e), TypeError, "f is 3.0; give a function"),
        (lambda e: Sum(loss, SHARDS, 3.0), TypeError, "executor is 3.0; give an executor"),
        (lambda e: Mean(loss, SHARDS, e, weights=[1.0]), ValueError, "there are 1 weights for 8 shards"),
        (lambda e: Mean(loss, SHARDS[:1], e, weights=[0.0]), ValueError, "add up to 0.0"),
        (lambda e: Mean(loss, SHARDS[:2], e, weights=[1.0, -1.0]), ValueError, "add up to 0.0"),
        (
            lambda e: grad(lambda b: Sum(loss, SHARDS, e)({**PARAMS, "b": b}))(0.3),
            TypeError,
            "use value_and_grad, grad",
        ),
    ],
)
def test_errors(threads, make, error, message):
    with pytest.raises(error, match=message):
        make(threads)
