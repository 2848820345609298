"""Pooling in every way, and PyTorch's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import shiftreset_ad as sr
from shiftreset_ad import nn
from tests.nn.like_pytorch import assert_like_pytorch
from tests.rules.three_ways import check, examples, generators


@st.composite
def pools(draw):
    """The options of a pooling, and the shape of x."""
    ndim = draw(st.integers(1, 3))

    def each(least, most):
        return tuple(draw(st.lists(st.integers(least, most), min_size=ndim, max_size=ndim)))

    size, kernel = each(1, 5 if ndim < 3 else 3), each(1, 3)
    padding = tuple(draw(st.integers(0, k // 2)) for k in kernel)
    assume(all(n >= k for n, k in zip(size, kernel, strict=True)))
    return {"kernel": kernel, "stride": each(1, 3), "padding": padding}, (2, 2, *size)


def distinct(generator, shape):
    """Elements whose differences are larger than the steps of finite differences."""
    return generator.permutation(np.linspace(-1.0, 1.0, int(np.prod(shape)))).reshape(shape)


@pytest.mark.slow
@examples
@given(pools(), generators)
def test_pooling_in_every_way(case, generator):
    options, shape = case
    x = distinct(generator, shape)
    check(lambda x: nn.max_pool(x, **options), x, generator=generator)
    check(lambda x: nn.average_pool(x, **options), x, generator=generator)
    check(lambda x: nn.average_pool(x, count_include_pad=False, **options), x, generator=generator)


@examples
@given(pools(), st.integers(1, 2), st.booleans(), generators)
def test_pooling_is_pytorchs(case, dilation, include, generator):
    options, shape = case
    places = options["kernel"], options["stride"], options["padding"]
    x, ndim = distinct(generator, shape), len(shape) - 2
    if dilation == 1 or all(k == 1 for k in places[0]) or (not any(places[2]) and all(n > 4 for n in shape[2:])):
        assert_like_pytorch(
            lambda x: nn.max_pool(x, **options, dilation=dilation),
            lambda torch, x: getattr(torch.nn.functional, f"max_pool{ndim}d")(x, *places, dilation),
            x,
        )
    assert_like_pytorch(
        lambda x: nn.average_pool(x, **options, count_include_pad=include),
        lambda torch, x: getattr(torch.nn.functional, f"avg_pool{ndim}d")(x, *places, count_include_pad=include),
        x,
    )


@examples
@given(st.lists(st.tuples(st.integers(1, 5), st.integers(1, 4)), min_size=1, max_size=3), generators)
def test_adaptive_pooling_in_every_way_and_as_in_pytorch(sizes, generator):
    out, ndim = tuple(n for _, n in sizes), len(sizes)
    x = distinct(generator, (2, 2, *[n for n, _ in sizes]))
    for ours, theirs in ((nn.adaptive_max_pool, "max"), (nn.adaptive_average_pool, "avg")):
        check(lambda x, ours=ours: ours(x, out), x, generator=generator)
        name = f"adaptive_{theirs}_pool{ndim}d"
        assert_like_pytorch(
            lambda x, ours=ours: ours(x, out),
            lambda torch, x, name=name: getattr(torch.nn.functional, name)(x, out),
            x,
        )
    np.testing.assert_allclose(nn.global_average_pool(x).ravel(), x.reshape(4, -1).mean(1))
    np.testing.assert_allclose(nn.global_max_pool(x).ravel(), x.reshape(4, -1).max(1))


def test_the_first_of_equal_elements_wins_and_padding_never_does():
    x = np.full((1, 1, 3), -np.inf)
    y, x_bar = sr.value_and_grad(lambda x: np.sum(np.exp(nn.max_pool(x, 2, 2, 1)) + nn.max_pool(x, 2, 2, 1)))(x)
    assert y == -np.inf
    np.testing.assert_array_equal(x_bar, [[[1.0, 1.0, 0.0]]])


def test_a_nan_wins():
    assert np.isnan(nn.max_pool(np.array([[[1.0, np.nan, 3.0]]]), 3)).all()


def test_staged_pooling_finds_the_winners_again():
    f = sr.staged(sr.grad(lambda x: np.sum(nn.max_pool(x, 2) ** 2)))
    for x in (np.array([[[1.0, 2.0, 4.0, 3.0]]]), np.array([[[2.0, 1.0, 3.0, 4.0]]])):
        np.testing.assert_allclose(
            f(x), 2 * x * (np.arange(4) == [[[np.argmax(x[..., :2])], [2 + np.argmax(x[..., 2:])]]]).any(1)
        )


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: nn.max_pool(np.ones((2, 3)), 2), "nn.max_pool: x has the shape"),
        (lambda: nn.average_pool(np.ones((1, 2, 3)), (2, 2)), "nn.average_pool: kernel is"),
        (lambda: nn.max_pool(np.ones((1, 2, 3)), 2, padding=2), "nn.max_pool: padding is"),
        (lambda: nn.max_pool(np.ones((1, 2, 3)), 4), "nn.max_pool: windows of the extent"),
        (lambda: nn.max_pool(np.ones((1, 2, 1)), 2, 1, 1, 2), "a window has no element of x"),
        (lambda: nn.adaptive_max_pool(np.ones((1, 2, 3)), 0), "nn.adaptive_max_pool: out is 0"),
    ],
)
def test_wrong_input_is_an_error_that_names_the_remedy(call, words):
    with pytest.raises(ValueError, match=words):
        call()


@pytest.mark.parametrize("kernels", ["numpy", "torch"])
def test_an_empty_batch(kernels):
    if kernels == "torch":
        pytest.importorskip("torch")
    x = np.zeros((0, 2, 4))
    for pool in (nn.max_pool, nn.average_pool, nn.adaptive_max_pool, nn.adaptive_average_pool):
        with nn.kernels(kernels):
            assert pool(x, 2).shape == (0, 2, 2)
            assert sr.grad(lambda x, pool=pool: np.sum(pool(x, 2)))(x).shape == x.shape
