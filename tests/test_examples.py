"""The programs in `examples/`, run as a user runs them."""

import os
import re
import struct
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from shiftreset_ad.executors import Mean

EXAMPLES = Path(__file__).parents[1] / "examples"


def run_example(name, *arguments, folder, without=()):
    """What an example prints; warnings are errors, and the modules `without` cannot be imported."""
    program = (
        f"import runpy, sys; sys.modules.update(dict.fromkeys({without!r})); sys.path.insert(0, {str(EXAMPLES)!r}); "
        f"sys.argv[0] = {name!r}; runpy.run_path({str(EXAMPLES / name)!r}, run_name='__main__')"
    )
    start = ["-c", program] if without else [str(EXAMPLES / name)]
    done = subprocess.run(
        [sys.executable, "-W", "error", *start, *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=300,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def table_rows(output, columns):
    """The rows of so many numbers in what was printed, whether by rich or in plain columns."""
    found = []
    for line in output.splitlines():
        try:
            row = [float(cell) for cell in line.replace("│", " ").split()]
        except ValueError:
            continue
        if len(row) == columns:
            found.append(row)
    return np.array(found)


def errors_of(model, output):
    """The errors printed for a model: on the patients fitted, and on the others."""
    (line,) = (line for line in output.splitlines() if model in line)
    fitted, others = re.findall(r"\d+\.\d+", line)
    return [float(fitted), float(others)]


def assert_is_picture(path):
    header = path.read_bytes()[:24]
    width, height = struct.unpack(">II", header[16:])
    assert header[:8] == b"\x89PNG\r\n\x1a\n"
    assert width > 800
    assert height > 300


def assert_saddle_points(output):
    first, second = re.findall(r"saddle point: s = (\S+), t = (\S+), u = (\S+), v = (\S+)", output)
    # The answer recorded for the program `saddle` in the Stalingrad distribution, for all four.
    np.testing.assert_allclose(np.array(first, float), 4.965316230354233e-05, rtol=1e-9)
    np.testing.assert_allclose(np.array(second, float), 0.0, atol=1e-4)

    path = table_rows(output, columns=7)
    assert path[:, 0].tolist() == [0, 1, *range(len(path) - 2)]
    s, t, u, v, payoff, gradient = path[2:, 1:].T  # of the game in which the players interact
    np.testing.assert_allclose([s[0], t[0]], 1.0)
    np.testing.assert_allclose(u, s, atol=2e-4)  # the best replies
    np.testing.assert_allclose(v, t / 8, atol=2e-4)
    np.testing.assert_allclose(gradient, np.hypot(4 * s, 16.25 * t), rtol=1e-3, atol=2e-4)
    assert np.all(np.diff(payoff) < 0)
    assert gradient[-1] <= 1e-4 < gradient[-2]


def test_saddle_point(tmp_path):
    pytest.importorskip("matplotlib")
    output = run_example("saddle_point.py", "--picture", "path.png", folder=tmp_path)
    assert_saddle_points(output)
    assert "paths drawn in path.png" in output
    assert_is_picture(tmp_path / "path.png")


@pytest.mark.slow
def test_saddle_point_with_nothing_but_the_library(tmp_path):
    output = run_example("saddle_point.py", folder=tmp_path, without=("matplotlib", "rich"))
    assert_saddle_points(output)
    assert "matplotlib is not installed" in output
    assert list(tmp_path.iterdir()) == []


def test_bracket_says_when_a_line_has_no_minimum(monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLES)
    bracket = __import__("saddle_point").bracket
    assert bracket(lambda step: (step - 5.0) ** 2, 0.0, 1.0)[1] == pytest.approx(5.0, abs=3.0)
    with pytest.raises(ArithmeticError, match="no minimum along this line"):
        bracket(lambda step: -(step**3), 0.0, 1.0)
    with pytest.raises(ArithmeticError, match="no minimum along this line"):
        bracket(lambda step: 7.0, 0.0, 1.0)


def test_descent_says_when_it_does_not_arrive(monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLES)
    saddle_point = __import__("saddle_point")
    monkeypatch.setattr(saddle_point, "MOST_STEPS", 3)
    steep, start = (lambda x: x[0] ** 2 + 8 * x[1] ** 2), (8.0, 1.0)
    with pytest.raises(ArithmeticError, match="no gradient as small as 1e-06 in 3 steps"):
        saddle_point.argmin(steep, start, 1e-6)


@pytest.mark.slow
def test_nested_modes(tmp_path):
    output = run_example("nested_modes.py", folder=tmp_path, without=("rich",))
    assert "all answers AGREE with the known ones" in output
    assert output.count(" 8.246324826140356e-06") == 8
    assert output.count(" 0.20719187464861194") >= 4


def test_nested_modes_fails_if_an_answer_is_another_one(monkeypatch, capsys):
    monkeypatch.syspath_prepend(EXAMPLES)
    nested_modes = __import__("nested_modes")
    monkeypatch.setattr(nested_modes, "saddle", lambda outer, inner: 8.2e-06)
    monkeypatch.setattr(nested_modes, "particle", lambda outer, inner: 0.20719187464861194)
    assert nested_modes.main() == 1
    assert "DO NOT AGREE" in capsys.readouterr().out


KNOWN_ANSWERS = (
    *("gan", "guessing_game", "hyper_parameters", "inverse_heat", "maximum_likelihood", "neural_ode", "pendulum"),
    *("robust_regression", "sklearn_estimator", "tree_lstm", "xarray_pipeline"),
)
NEEDS = {"sklearn_estimator": "sklearn", "xarray_pipeline": "xarray"}  # all others need NumPy and SciPy

OTHERS = ("find_a_lost_gradient", "fit_real_data", "larger_than_memory", "nested_modes", "saddle_point")
LONGEST = {"gan", "inverse_heat", "neural_ode", "tree_lstm"}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in LONGEST else name for name in KNOWN_ANSWERS]
)
def test_the_answers_are_the_known_ones(name, tmp_path):
    pytest.importorskip(NEEDS.get(name, "scipy"))
    output = run_example(f"{name}.py", folder=tmp_path, without=("rich",))
    assert "all answers AGREE with the known ones" in output
    assert list(tmp_path.iterdir()) == []


def test_every_example_is_run():
    programs = {path.stem for path in EXAMPLES.glob("*.py")} - {"known", "table"}
    assert programs == {*KNOWN_ANSWERS, *OTHERS}


@pytest.mark.slow
def test_larger_than_memory(tmp_path):
    pytest.importorskip("distributed")
    output = run_example("larger_than_memory.py", folder=tmp_path, without=("rich",))
    size, workers, limit = map(int, re.findall(r"^(\d+) MiB of data, and (\d) workers with (\d+) MiB", output)[0])
    assert size > workers * limit
    assert "all answers AGREE with the known ones" in output


def test_larger_than_memory_goes_on_from_its_checkpoint(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(EXAMPLES)
    module, kept = __import__("larger_than_memory"), tmp_path / "kept.npz"
    for seed in range(3):
        module.write(tmp_path / f"{seed}.npy", seed, 50)
    files = [partial(np.load, tmp_path / f"{seed}.npy") for seed in range(3)]
    with ThreadPoolExecutor(2) as executor:
        total = Mean(module.loss, files, executor)
        whole = module.train(total, tmp_path / "whole.npz", 5)
        assert not np.array_equal(module.train(total, kept, 2), whole)
        assert np.array_equal(module.train(total, kept, 5), whole)
        assert np.array_equal(module.train(total, kept, 5), whole)
    assert not list(tmp_path.glob("*.partial"))


def test_an_example_fails_if_an_answer_is_another_one(monkeypatch, capsys):
    monkeypatch.syspath_prepend(EXAMPLES)
    compare = __import__("known").compare
    right, near = ("right", [1.0, 2.0, 3.0], np.arange(1.0, 4.0), 0.0), ("near", 1.25, 1.0, 0.5)
    assert compare("answers", [right, near]) == 0
    assert "all answers AGREE" in capsys.readouterr().out
    for wrong in (("far", 2.0, 1.0, 0.5), ("one of them", [1.0, 3.0], [1.0, 2.0], 0.5), ("none", np.nan, 1.0, 0.5)):
        assert compare("answers", [right, wrong]) == 1
        assert "all answers DO NOT AGREE" in capsys.readouterr().out


@pytest.mark.slow
def test_fit_real_data(tmp_path):
    pytest.importorskip("sklearn")
    pytest.importorskip("matplotlib")
    output = run_example("fit_real_data.py", "--picture", "curves.png", folder=tmp_path)
    assert_is_picture(tmp_path / "curves.png")
    assert "ridge by gradient descent agrees with the closed form" in output

    steps, losses, _, differences, losses_of_network = table_rows(output, columns=5).T
    assert (steps[0], steps[-1]) == (0, 2000)
    assert losses[0] == 1.0
    assert np.all(np.diff(losses) <= 0)
    assert np.all(np.diff(differences) < 0)
    assert differences[-1] < 1e-8
    assert losses_of_network[-1] < 0.6 * losses_of_network[0]
    closed_form = float(re.search(r"closed form of ridge: (\S+)\)", output).group(1))
    assert losses[-1] == pytest.approx(closed_form, abs=2e-6)

    assert errors_of("ridge, gradient descent", output) == errors_of("ridge, closed form", output)
    fitted, others = errors_of("always the mean", output)
    for model in ("ridge, closed form", "hidden units"):
        assert np.all(np.array(errors_of(model, output)) < [0.75 * fitted, 0.85 * others])


@pytest.mark.slow
def test_fit_real_data_in_plain_columns(tmp_path):
    pytest.importorskip("sklearn")
    output = run_example("fit_real_data.py", folder=tmp_path, without=("matplotlib", "rich"))
    assert len(table_rows(output, columns=5)) > 5
    assert "matplotlib is not installed" in output
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_fit_real_data_fails_if_it_differs_from_the_closed_form(monkeypatch, tmp_path, capsys):
    pytest.importorskip("sklearn")
    monkeypatch.syspath_prepend(EXAMPLES)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["fit_real_data.py"])
    fit_real_data = __import__("fit_real_data")
    monkeypatch.setattr(fit_real_data, "STEPS", 100)
    assert fit_real_data.main() == 1
    assert "DIFFERS FROM the closed form" in capsys.readouterr().out


def test_find_a_lost_gradient(tmp_path):
    output = run_example("find_a_lost_gradient.py", str(tmp_path), folder=tmp_path)
    assert "the gradient is 0 by the stiffness" in output
    assert output.count("force = np.clip(-stiffness * place, -0.5, 0.5)") == 3
    assert (tmp_path / "trace.svg").read_text().startswith("<svg")
