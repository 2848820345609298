"""Attention in every way and as PyTorch's."""

from __future__ import annotations

import numpy as np
import pytest

import shiftreset_ad as sr
from shiftreset_ad import nn
from tests.nn.like_pytorch import assert_like_pytorch
from tests.rules.three_ways import check


def arrays(*shapes):
    generator = np.random.default_rng(0)
    return [generator.normal(size=shape) for shape in shapes]


MASKS = {
    "none": {},
    "causal": {"causal": True},
    "added": {"mask": arrays((3, 4))[0]},
    "booleans": {"mask": np.array([[1, 0, 1, 1], [0, 1, 0, 0], [1, 1, 1, 1]], bool)},
}


@pytest.mark.parametrize("name", MASKS)
def test_attention(name):
    options = MASKS[name]
    xs = arrays((2, 3, 2), (2, 4, 2), (2, 4, 3))

    def of_torch(torch, q, k, v):
        mask = None if "mask" not in options else torch.from_numpy(options["mask"])
        function = torch.nn.functional.scaled_dot_product_attention
        return function(q, k, v, mask, is_causal=name == "causal")

    check(lambda *xs: nn.attention(*xs, **options), *xs, generator=np.random.default_rng(0), dtypes=name != "added")
    assert_like_pytorch(lambda *xs: nn.attention(*xs, **options), of_torch, *xs)


def test_a_query_that_sees_no_key_has_the_answer_and_the_gradient_zero():
    xs = arrays((2, 2), (3, 2), (3, 1))
    seen = np.array([[False] * 3, [True] * 3])
    assert nn.attention(*xs, seen)[0] == 0.0
    gradients = sr.grad(lambda *xs: nn.attention(*xs, seen)[0, 0], argnums=(0, 1, 2))(*xs)
    assert not any(x_bar.any() for x_bar in gradients)


def test_several_heads():
    xs = arrays((2, 3, 4), (2, 5, 4), (2, 5, 4), (12, 4), (4, 4), (12,), (4,))

    def ours(q, k, v, *parameters):
        return nn.multi_head_attention(q, k, v, 2, *parameters)

    def of_torch(torch, q, k, v, w_in, w_out, b_in, b_out):
        q, k, v = (x.transpose(0, 1) for x in (q, k, v))
        function = torch.nn.functional.multi_head_attention_forward
        y, _ = function(q, k, v, 4, 2, w_in, b_in, None, None, False, 0.0, w_out, b_out, need_weights=False)
        return y.transpose(0, 1)

    check(ours, *xs, generator=np.random.default_rng(0), second_order=False)
    assert_like_pytorch(ours, of_torch, *xs)


def test_wrong_input_is_an_error_that_names_the_remedy():
    q, k, v = arrays((3, 2), (4, 3), (4, 1))
    with pytest.raises(ValueError, match=r"nn\.attention: query, key and value have the shapes"):
        nn.attention(q, k, v)
    with pytest.raises(ValueError, match=r"nn\.multi_head_attention: query has the shape"):
        nn.multi_head_attention(q[None], q[None], q[None], 3, np.ones((6, 2)), np.ones((2, 2)))
