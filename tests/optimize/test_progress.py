"""The bar that a solver draws."""

import sys

import pytest

from shiftreset_ad import grad
from shiftreset_ad.optimize import argmin, fixed_point, minimax, minimize, root

SOLVERS = {
    "minimize": lambda **options: minimize(lambda x: (x - 3.0) ** 4, 0.0, **options).x,
    "minimax": lambda **options: minimax(lambda x, y: x * x + x * y - y * y, 1.0, 1.0, **options).x,
    "root": lambda **options: root(lambda x: x**3 - 2.0, 1.0, **options),
    "fixed_point": lambda **options: fixed_point(lambda x: 0.5 * x + 1.0, 0.0, method="iteration", **options),
    "SciPy": lambda **options: minimize(lambda x: (x - 3.0) ** 4, 0.0, method="L-BFGS-B", **options).x,
}


@pytest.mark.parametrize("name", SOLVERS)
def test_the_bar_shows_rounds_and_the_residual_and_changes_nothing(name, capsys):
    pytest.importorskip("rich")
    seen = []
    assert SOLVERS[name](progress=True, callback=seen.append) == SOLVERS[name]()
    assert seen
    output = capsys.readouterr().out
    assert f"{seen[-1].rounds}/" in output
    assert f"residual {seen[-1].residual:.1e}" in output


def test_the_callback_can_still_stop(capsys):
    pytest.importorskip("rich")
    result = minimize(lambda x: (x - 3.0) ** 4, 0.0, progress=True, callback=lambda r: r.rounds == 2)
    assert "the callback stopped the solver" in result.message


def test_under_a_derivative(capsys):
    pytest.importorskip("rich")
    assert grad(lambda p: argmin(lambda x: (x - p) ** 2, 0.0, progress=True))(3.0) == pytest.approx(1.0)


def test_without_it_nothing_is_drawn(capsys):
    minimize(lambda x: (x - 3.0) ** 4, 0.0)
    assert capsys.readouterr().out == ""


def test_without_rich(monkeypatch):
    monkeypatch.setitem(sys.modules, "rich.progress", None)
    with pytest.raises(ImportError, match=r"minimize.*pip install rich, or use callback"):
        minimize(lambda x: x * x, 0.0, progress=True)
