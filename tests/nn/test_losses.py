"""Losses in every way and as PyTorch's."""

from __future__ import annotations

import numpy as np
import pytest

from shiftreset_ad import grad, nn, staged
from tests.nn.like_pytorch import assert_like_pytorch
from tests.rules.three_ways import check

GENERATOR = np.random.default_rng(0)
X = GENERATOR.normal(size=(4, 3, 2))
TARGET = np.array([[0, 1], [2, -100], [1, 1], [0, 2]])
WEIGHT = np.array([0.5, 1.0, 2.0])
REAL = GENERATOR.normal(size=X.shape)
SHARES = GENERATOR.uniform(size=X.shape)
REDUCTIONS = ["mean", "sum", "none"]


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("options", [{}, {"weight": WEIGHT}, {"label_smoothing": 0.1}])
def test_cross_entropy(options, reduction):
    def of_torch(torch, x):
        in_torch = {k: torch.from_numpy(v) if k == "weight" else v for k, v in options.items()}
        target = torch.from_numpy(TARGET)
        return torch.nn.functional.cross_entropy(x, target, reduction=reduction, **in_torch)

    def ours(x):
        return nn.cross_entropy(x, TARGET, reduction=reduction, **options)

    check(ours, X, generator=np.random.default_rng(0), dtypes=not options)
    assert_like_pytorch(ours, of_torch, X)
    shares = SHARES / SHARES.sum(1, keepdims=True)

    def of_shares(torch, x, p):
        in_torch = {k: torch.from_numpy(v) if k == "weight" else v for k, v in options.items()}
        return torch.nn.functional.cross_entropy(x, p, reduction=reduction, **in_torch)

    assert_like_pytorch(lambda x, p: nn.cross_entropy(x, p, reduction=reduction, **options), of_shares, X, shares)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("transform", [lambda f: f, staged])
def test_a_row_that_does_not_count_has_the_gradient_zero_whatever_its_logits_are(transform):
    logits = np.array([[1.0, 2.0, 3.0], [np.nan, 1.0, 2.0], [np.inf, 0.0, 1.0], [-np.inf] * 3])
    expected = np.zeros((4, 3))
    expected[0] = np.exp([1.0, 2.0, 3.0]) / np.exp([1.0, 2.0, 3.0]).sum() - [0.0, 1.0, 0.0]
    for loss in (
        lambda x: nn.cross_entropy(x, np.array([1, -100, -100, -100])),
        lambda x: nn.cross_entropy(x, np.array([1, 1, 1, 0]), reduction="none")[0],
        lambda x: nn.cross_entropy(x, np.array([1, 1, 1, 0]), weight=np.ones(3), reduction="none")[:1],
    ):
        found = transform(grad(lambda x, loss=loss: np.sum(loss(x))))(logits)
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_targets_that_are_overwritten_later_count_as_they_were():
    target = np.array([0, 1])

    def loss(x):
        losses = nn.cross_entropy(x, target, reduction="sum")
        target[:] = 2
        return losses

    found = grad(loss)(np.zeros((2, 3)))
    np.testing.assert_allclose(found, np.full((2, 3), 1 / 3) - np.eye(2, 3))


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_nll_loss(weight, reduction):
    def of_torch(torch, x):
        w = None if weight is None else torch.from_numpy(weight)
        return torch.nn.functional.nll_loss(x, torch.from_numpy(TARGET), w, reduction=reduction)

    def ours(x):
        return nn.nll_loss(x, TARGET, weight, reduction=reduction)

    check(ours, X, generator=np.random.default_rng(0), dtypes=weight is None)
    assert_like_pytorch(ours, of_torch, X)


LOSSES = {
    "binary_cross_entropy": SHARES,
    "binary_cross_entropy_with_logits": 30.0 * X,
    "mse_loss": X,
    "l1_loss": X,
    "huber_loss": X,
    "smooth_l1_loss": X,
    "kl_div": X,
}


@pytest.mark.filterwarnings("ignore:reduction. 'mean'")  # PyTorch's mean of kl_div will change
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("name", LOSSES)
def test_losses_of_two_arrays(name, reduction):
    x = LOSSES[name]
    target = REAL if name in ("mse_loss", "l1_loss", "huber_loss", "smooth_l1_loss") else 0.1 + 0.8 * SHARES[::-1]

    def ours(x, y):
        return getattr(nn, name)(x, y, reduction=reduction)

    check(ours, x / 30.0 if name.endswith("logits") else x, target, generator=np.random.default_rng(0))
    assert_like_pytorch(
        ours, lambda torch, x, y: getattr(torch.nn.functional, name)(x, y, reduction=reduction), x, target
    )


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: nn.nll_loss(X, TARGET + 5), "nn.nll_loss: target has elements that are no class"),
        (lambda: nn.cross_entropy(X, TARGET[:, 0]), "nn.cross_entropy: target has dtype"),
        (lambda: nn.cross_entropy(X, SHARES[0]), "nn.cross_entropy: probabilities in target"),
        (lambda: nn.mse_loss(X, X, "average"), "nn.mse_loss: reduction is 'average'"),
        (lambda: nn.huber_loss(X, X, 0.0), "nn.huber_loss: delta is 0.0"),
    ],
)
def test_wrong_input_is_an_error_that_names_the_remedy(call, words):
    with pytest.raises(ValueError, match=words):
        call()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_the_mean_of_no_losses_is_no_number():
    nothing = np.zeros((0, 3))
    for target in (nothing, np.zeros(0, int)):
        assert np.isnan(nn.cross_entropy(nothing, target))
