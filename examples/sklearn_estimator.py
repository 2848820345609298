"""An estimator for scikit-learn that is fitted by our gradients, for any loss that is written as a formula.

It is used as scikit-learn's own estimators are: after a scaler in a pipeline, in a search over the penalty, and under
cross-validation. The data are scikit-learn's diabetes data, so the example needs `pip install '.[data]'`.

Known: scikit-learn has estimators of its own for three of the losses, and they must give the same weights.

    python examples/sklearn_estimator.py
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from known import compare
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.datasets import load_diabetes
from sklearn.linear_model import GammaRegressor, PoissonRegressor, Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_array, check_is_fitted, check_X_y

from shiftreset_ad.optimize import argmin

Loss = Callable[[np.ndarray, np.ndarray], np.ndarray]


class AnyLoss(RegressorMixin, BaseEstimator):
    """A linear predictor under a loss: the mean of loss(predictor, y), and half the penalty on the squared weights.

    `link` makes predictions of the predictor.
    """

    def __init__(
        self, loss: Loss, link: Callable[[np.ndarray], np.ndarray] = np.positive, penalty: float = 1.0
    ) -> None:
        self.loss = loss
        self.link = link
        self.penalty = penalty

    def fit(self, X: Any, y: Any) -> AnyLoss:  # noqa: N803 - the name is scikit-learn's
        """Find the weights of least loss."""
        table, y = check_X_y(X, y, y_numeric=True)

        def error(p: dict[str, Any]) -> float:
            predictor = table @ p["weights"] + p["intercept"]
            return np.mean(self.loss(predictor, y)) + 0.5 * self.penalty * np.sum(p["weights"] ** 2)

        start = {"weights": np.zeros(table.shape[1]), "intercept": 0.0}
        found = argmin(error, start, method="newton-cg", tolerance=1e-7)
        self.coef_, self.intercept_ = found["weights"], found["intercept"]
        return self

    def predict(self, X: Any) -> np.ndarray:  # noqa: N803
        """The prediction for each row."""
        check_is_fitted(self)
        return self.link(check_array(X) @ self.coef_ + self.intercept_)


def squared(predictor: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Half the squared error."""
    return 0.5 * (predictor - y) ** 2


def poisson(predictor: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The negative log-likelihood of a Poisson distribution, with a logarithm as link."""
    return np.exp(predictor) - y * predictor


def gamma(predictor: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The same for a gamma distribution."""
    return predictor + y * np.exp(-predictor)


def main() -> int:
    """Fit ours and theirs, and compare."""
    table, y = load_diabetes(return_X_y=True)
    y = y / 100.0
    rows: list[tuple[str, Any, Any, float]] = []
    for name, ours, theirs in (
        ("ridge", AnyLoss(squared, penalty=0.5), Ridge(alpha=0.5 * len(y))),
        ("Poisson", AnyLoss(poisson, np.exp, penalty=0.5), PoissonRegressor(alpha=0.5, tol=1e-9)),
        ("gamma", AnyLoss(gamma, np.exp, penalty=0.5), GammaRegressor(alpha=0.5, tol=1e-9)),
    ):
        pipelines = [make_pipeline(StandardScaler(), model).fit(table, y) for model in (ours, theirs)]
        weights, known = (pipeline[-1].coef_ for pipeline in pipelines)
        rows.append((f"weights, {name}", weights, known, 1e-4))
        rows.append((f"predictions, {name}", *(pipeline.predict(table) for pipeline in pipelines), 1e-3))

    # The models score themselves in their own ways, so the search is told how to.
    searches = []
    for model, parameter in (
        (AnyLoss(poisson, np.exp), "anyloss__penalty"),
        (PoissonRegressor(), "poissonregressor__alpha"),
    ):
        search = GridSearchCV(make_pipeline(StandardScaler(), model), {parameter: [0.01, 0.1, 1.0]}, scoring="r2", cv=3)
        searches.append(search.fit(table, y))
    ours, theirs = searches
    rows.append(("best penalty", *(next(iter(s.best_params_.values())) for s in searches), 0.0))
    scores = [cross_val_score(s.best_estimator_, table, y, scoring="r2", cv=5) for s in searches]
    rows.append(("scores of the best", *scores, 1e-3))
    return compare("an estimator by our gradients, and scikit-learn's own", rows)


if __name__ == "__main__":
    raise SystemExit(main())
