"""CTC: brute force over all alignments, PyTorch's loss, and labellings without an alignment."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shiftreset_ad as sr
from shiftreset_ad import nn
from tests.nn.like_pytorch import assert_like_pytorch
from tests.rules.three_ways import check, examples, generators


def by_brute_force(log_probs, target, blank):
    """Minus the logarithm of the sum of the probabilities of all alignments that give the target."""
    time, classes = log_probs.shape
    total = 0.0
    for path in itertools.product(range(classes), repeat=time):
        labels = [label for label, _ in itertools.groupby(path) if label != blank]
        if labels == list(target):
            total = total + np.exp(sum(log_probs[t, label] for t, label in enumerate(path)))
    return -np.log(total) if sr.value(total) > 0.0 else np.inf


@st.composite
def labellings(draw):
    """The number of times and classes, the blank, targets and both lengths."""
    time, classes, labels = draw(st.integers(1, 4)), draw(st.integers(2, 3)), draw(st.integers(0, 3))
    blank = draw(st.integers(0, classes - 1))
    others = st.sampled_from([label for label in range(classes) if label != blank])
    targets = [draw(st.lists(others, min_size=labels, max_size=labels)) for _ in range(2)]
    lengths = [[draw(st.integers(0, most)) for _ in range(2)] for most in (time, labels)]
    return time, classes, blank, np.array(targets, int).reshape(2, labels), *map(np.array, lengths)


@examples
@given(labellings(), generators)
def test_the_loss_its_gradient_and_its_hessian_are_those_of_all_alignments(case, generator):
    time, classes, blank, targets, ends, sizes = case
    log_probs = np.log(generator.dirichlet(np.ones(classes), size=(time, 2)))
    losses = nn.ctc_loss(log_probs, targets, ends, sizes, blank, "none")
    for n in range(2):

        def brute(x, n=n):
            return by_brute_force(x[: ends[n], n], targets[n, : sizes[n]], blank)

        expected = brute(log_probs)
        np.testing.assert_allclose(losses[n], expected, rtol=1e-10, atol=1e-12)

        def ours(x, n=n):
            return nn.ctc_loss(x, targets, ends, sizes, blank, "none", zero_infinity=True)[n]

        if np.isinf(expected):
            assert ours(log_probs) == 0.0
            np.testing.assert_array_equal(sr.grad(ours)(log_probs), 0.0)
            np.testing.assert_array_equal(sr.grad(lambda x: ours(x) * 1.0)(log_probs), 0.0)
        elif ends[n]:
            np.testing.assert_allclose(sr.grad(ours)(log_probs), sr.grad(brute)(log_probs), rtol=1e-9, atol=1e-12)
            direction = generator.normal(size=log_probs.shape)
            found, wanted = (sr.hvp(f, (log_probs,), (direction,)) for f in (ours, brute))
            np.testing.assert_allclose(found, wanted, rtol=1e-8, atol=1e-10)


def logits_and_targets():
    generator = np.random.default_rng(0)
    targets = generator.integers(1, 6, size=(3, 5))
    targets[0, 1] = targets[0, 0]
    return generator.normal(size=(14, 3, 6)), targets, np.array([14, 12, 9]), np.array([5, 3, 0])


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_the_loss_is_pytorchs(reduction):
    logits, targets, ends, sizes = logits_and_targets()

    def of_torch(torch, x):
        given = map(torch.from_numpy, (targets, ends, sizes))
        return torch.nn.functional.ctc_loss(x.log_softmax(-1), *given, reduction=reduction)

    assert_like_pytorch(
        lambda x: nn.ctc_loss(nn.log_softmax(x), targets, ends, sizes, reduction=reduction), of_torch, logits
    )


def test_the_loss_in_every_way():
    logits, targets, ends, sizes = logits_and_targets()
    check(
        lambda x: nn.ctc_loss(x, targets[:, :3], ends // 2, np.minimum(sizes, 2)),
        logits[:7],
        generator=np.random.default_rng(0),
        dtypes=False,
    )
    single = logits.astype(np.float32)
    loss, slope = sr.value_and_grad(lambda x: nn.ctc_loss(x, targets, ends, sizes))(single)
    assert loss.dtype == slope.dtype == np.float32


def test_impossible_labellings_have_no_nan_in_any_derivative():
    log_probs = np.log(np.full((2, 3, 3), 1.0 / 3.0))
    log_probs[:, 2, 1] = -np.inf  # the label never comes

    def f(x):
        return nn.ctc_loss(x, [[1, 1], [1, 2], [1, 2]], [2, 2, 2], [2, 2, 1], reduction="none")

    losses = f(log_probs)
    assert losses[0] == losses[2] == np.inf
    assert np.isfinite(losses[1])
    slopes = sr.jacobian(f)(log_probs)
    assert np.isfinite(slopes).all()
    assert not slopes[[0, 2]].any()
    assert slopes[1].any()
    assert np.isfinite(sr.jacfwd(f)(log_probs)).all()
    assert np.isfinite(sr.jacrev(sr.jacrev(f))(log_probs)).all()


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda x: nn.ctc_loss(x, [[1]], [3], [1]), ValueError, "input_lengths is"),
        (lambda x: nn.ctc_loss(x, [[1]], [2], [2]), ValueError, "target_lengths is"),
        (lambda x: nn.ctc_loss(x, [[0]], [2], [1]), ValueError, "other than the blank 0"),
        (lambda x: nn.ctc_loss(x, [1], [2], [1]), ValueError, "log_probs has the shape"),
        (lambda x: nn.ctc_loss(x, [[1]], [2], [1], 3), ValueError, "blank is 3"),
        (lambda x: nn.ctc_loss(x.astype(np.float16), [[1]], [2], [1]), TypeError, "give float32 or float64"),
    ],
)
def test_wrong_input_is_an_error_that_names_the_remedy(call, error, words):
    with pytest.raises(error, match=words):
        call(np.zeros((2, 1, 3)))


def test_the_next_batch_may_be_written_to_the_same_arrays():
    batches = [([[1, 2, 2]], [6], [3]), ([[3, 1, 0]], [5], [2]), ([[2, 3, 1]], [4], [1])]
    log_probs = np.log(np.random.default_rng(0).dirichlet(np.ones(4), (6, 1)))

    def f(log_probs, refills):
        total, arrays = 0.0, [np.zeros_like(part) for part in batches[0]]
        for batch in batches:
            if not refills:
                arrays = [np.zeros_like(part) for part in batch]
            for array, part in zip(arrays, batch, strict=True):
                array[...] = part
            total = total + nn.ctc_loss(log_probs, *arrays)
        return total

    np.testing.assert_array_equal(sr.grad(f)(log_probs, True), sr.grad(f)(log_probs, False))
