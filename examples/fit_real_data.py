"""Models fitted to real data by gradient descent, and compared with what linear algebra says.

The data set is scikit-learn's `load_diabetes` (Efron, Hastie, Johnstone and Tibshirani, Least Angle Regression, 2004):
ten measurements of 442 patients, and a score of how far their disease had progressed one year later.

First, ridge regression: its loss has one minimum, which the normal equations give. Gradient descent must arrive there,
and the program fails (exit status 1) if a parameter is off by more than 1e-8 of the largest. Then a small neural
network, for which there is no such formula. A model is an ordinary function of a dict of parameters, and its gradient
is a dict of the same form.

    pip install '.[data]'
    python examples/fit_real_data.py [--picture fit_real_data.png]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy import ndarray
from sklearn.datasets import load_diabetes
from table import print_table

from shiftreset_ad import value_and_grad

Parameters: TypeAlias = dict[str, Any]
Model: TypeAlias = Callable[[Parameters, ndarray], Any]

TOLERANCE = 1e-8  # of gradient descent against the closed form
PENALTY = 0.05  # on the squares of the weights
STEPS = 2000
NETWORK_RATE = 0.1
HIDDEN = 8


class Data(NamedTuple):
    """A row of measurements for each patient, and the progression: all scaled to mean 0 and standard deviation 1."""

    x: ndarray
    y: ndarray


def load() -> tuple[Data, Data, float]:
    """Three quarters of the patients to fit, the others to test on, and the standard deviation of the progression."""
    x, y = load_diabetes(return_X_y=True, scaled=False)
    order = np.random.default_rng(seed=0).permutation(len(y))
    fit, test = np.split(order, [3 * len(y) // 4])
    deviation = y[fit].std()
    x = (x - x[fit].mean(axis=0)) / x[fit].std(axis=0)
    y = (y - y[fit].mean()) / deviation
    return Data(x[fit], y[fit]), Data(x[test], y[test]), float(deviation)


# Models, and what they are to minimise


def linear(parameters: Parameters, x: ndarray) -> Any:
    return x @ parameters["weights"] + parameters["intercept"]


def network(parameters: Parameters, x: ndarray) -> Any:
    return linear(parameters, np.tanh(x @ parameters["hidden weights"] + parameters["hidden offsets"]))


def start_linear(inputs: int) -> Parameters:
    return {"weights": np.zeros(inputs), "intercept": 0.0}


def start_network(inputs: int) -> Parameters:
    weights = np.random.default_rng(seed=1).normal(size=(inputs, HIDDEN)) / np.sqrt(inputs)
    return {"hidden weights": weights, "hidden offsets": np.zeros(HIDDEN)} | start_linear(HIDDEN)


def mean_square_error(model: Model, parameters: Parameters, data: Data) -> Any:
    return np.mean((model(parameters, data.x) - data.y) ** 2)


def loss(parameters: Parameters, model: Model, data: Data) -> Any:
    """The mean square error, and a penalty on large weights."""
    penalty = sum(PENALTY * np.sum(p**2) for name, p in parameters.items() if name.endswith("weights"))
    return mean_square_error(model, parameters, data) + penalty


# Two ways to the minimum


def descent(model: Model, parameters: Parameters, data: Data, rate: float) -> Iterator[tuple[float, Parameters]]:
    """The loss and the parameters of gradient descent, step by step, without end."""
    loss_and_gradient = value_and_grad(loss)
    while True:
        value, gradient = loss_and_gradient(parameters, model, data)
        yield value, parameters
        parameters = {name: p - rate * gradient[name] for name, p in parameters.items()}


def normal_equations(data: Data) -> tuple[ndarray, ndarray]:
    """The matrix and the right-hand side of the equations that say that the gradient of the linear model is zero."""
    columns = np.column_stack([data.x, np.ones(len(data.y))])
    penalties = np.diag([PENALTY] * data.x.shape[1] + [0.0])
    return columns.T @ columns / len(data.y) + penalties, columns.T @ data.y / len(data.y)


def largest_difference(a: Parameters, b: Parameters) -> float:
    """How far the linear parameters `a` are from `b`, as a part of the largest of these."""
    flat_a, flat_b = (np.append(p["weights"], p["intercept"]) for p in (a, b))
    return float(np.max(np.abs(flat_a - flat_b)) / np.max(np.abs(flat_b)))


# Showing the result


def milestones(steps: int) -> list[int]:
    """Steps 0, 1, 2, 5, 10, 20, 50 ... and the last one."""
    return [0, *(m * 10**e for e in range(6) for m in (1, 2, 5) if m * 10**e < steps), steps]


def draw(curves: dict[str, list[float]], minimum: float, differences: list[float], picture: Path) -> None:
    """Draw the losses, and the distance of the linear model from the closed form."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained")
    for name, losses in curves.items():
        left.plot(losses, label=f"{name}, by gradient descent")
    left.axhline(minimum, color="black", linestyle="--", linewidth=0.9, label="ridge, closed form")
    left.set_xscale("symlog", linthresh=1)
    left.set(xlabel="steps of gradient descent", ylabel="loss, penalty included")
    left.set(xlim=(0, None), ylim=(0, None), title="loss on the patients fitted (always the mean: 1)")
    left.legend()
    right.semilogy(differences, color="tab:blue")
    right.axhline(TOLERANCE, color="black", linestyle="--", linewidth=0.9)
    right.annotate("tolerance", (0, TOLERANCE), (2, 3), textcoords="offset points")
    right.set(xlabel="steps of gradient descent", ylabel="largest difference / largest parameter")
    right.set(xlim=(0, None), title="ridge: distance from the closed form")
    figure.savefig(picture, dpi=100)
    plt.close(figure)


def main() -> int:
    """Fit both models, and say whether the linear one is where the closed form says."""
    parser = argparse.ArgumentParser(description="Fit models to load_diabetes by gradient descent.")
    parser.add_argument("--picture", type=Path, default=Path("fit_real_data.png"), help="where to draw the loss curves")
    arguments = parser.parse_args()
    fitted, tested, deviation = load()
    inputs = fitted.x.shape[1]

    matrix, right_hand_side = normal_equations(fitted)
    *weights, intercept = np.linalg.solve(matrix, right_hand_side)
    exact = {"weights": np.array(weights), "intercept": intercept}
    minimum = float(loss(exact, linear, fitted))
    ridge_rate = 0.5 / float(np.linalg.eigvalsh(matrix)[-1])  # one over the greatest curvature of the loss

    begin = time.perf_counter()
    ridge_path = list(islice(descent(linear, start_linear(inputs), fitted, ridge_rate), STEPS + 1))
    network_path = list(islice(descent(network, start_network(inputs), fitted, NETWORK_RATE), STEPS + 1))
    seconds = time.perf_counter() - begin

    losses, losses_of_network = ([value for value, _ in path] for path in (ridge_path, network_path))
    differences = [largest_difference(parameters, exact) for _, parameters in ridge_path]
    print_table(
        f"Loss on the {len(fitted.y)} patients fitted (closed form of ridge: {minimum:.6f})",
        ["step", "ridge", "above the closed form", "parameters off by", "network"],
        [
            [
                str(i),
                f"{losses[i]:.6f}",
                f"{losses[i] - minimum:.1e}",
                f"{differences[i]:.1e}",
                f"{losses_of_network[i]:.6f}",
            ]
            for i in milestones(STEPS)
        ],
    )

    print_table(
        "Root mean square error, in points of the progression score",
        ["model", "patients fitted", f"the other {len(tested.y)}"],
        [
            [
                name,
                *(
                    f"{deviation * np.sqrt(mean_square_error(model, parameters, data)):.4f}"
                    for data in (fitted, tested)
                ),
            ]
            for name, model, parameters in (
                ("always the mean", linear, start_linear(inputs)),
                ("ridge, closed form", linear, exact),
                ("ridge, gradient descent", linear, ridge_path[-1][1]),
                (f"network, {HIDDEN} hidden units", network, network_path[-1][1]),
            )
        ],
    )
    print(f"{2 * STEPS:,} gradients in {seconds:.2f} seconds")
    try:
        draw({"ridge": losses, "network": losses_of_network}, minimum, differences, arguments.picture)
    except ImportError:
        print("matplotlib is not installed, so the loss curves are not drawn")
    else:
        print(f"loss curves drawn in {arguments.picture}")

    agrees = differences[-1] <= TOLERANCE
    verdict = "agrees with" if agrees else "DIFFERS FROM"
    print(
        f"ridge by gradient descent {verdict} the closed form: off by {differences[-1]:.1e}, tolerance {TOLERANCE:.0e}"
    )
    return 0 if agrees else 1


if __name__ == "__main__":
    sys.exit(main())
