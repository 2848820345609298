"""Convolutions and their transposes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import shiftreset_ad as sr
from shiftreset_ad import nn
from tests.nn.like_pytorch import assert_like_pytorch
from tests.rules.test_taylor_rules import check_taylor
from tests.rules.three_ways import check, examples, generators


@st.composite
def convolutions(draw, transposed=False):
    """A convolution with its options, and the shapes of x, w and the bias."""
    ndim, groups = draw(st.integers(1, 3)), draw(st.integers(1, 2))
    most = 5 if ndim < 3 else 3

    def each(least, most):
        return tuple(draw(st.lists(st.integers(least, most), min_size=ndim, max_size=ndim)))

    size, kernel = each(1, most), each(1, 3 if ndim < 3 else 2)
    options = {"stride": each(1, 3), "padding": each(0, 2), "dilation": each(1, 2), "groups": groups}
    channels, outputs = (groups * draw(st.integers(1, 2)) for _ in range(2))
    of_w = (channels, outputs // groups) if transposed else (outputs, channels // groups)
    shapes = [(draw(st.integers(1, 2)), channels, *size), (*of_w, *kernel), (outputs,)]
    kept = [d * (k - 1) + 1 for k, d in zip(kernel, options["dilation"], strict=True)]
    if transposed:
        out = [
            (n - 1) * s - 2 * p + e
            for n, s, p, e in zip(size, options["stride"], options["padding"], kept, strict=True)
        ]
        options["output_padding"] = tuple(s - 1 for s in options["stride"])
        assume(min(out) > 0)
    else:
        assume(all(n + 2 * p >= e for n, p, e in zip(size, options["padding"], kept, strict=True)))
    return options, shapes


@pytest.mark.slow
@examples
@given(convolutions(), generators)
def test_conv_in_every_way(case, generator):
    options, shapes = case
    check(
        lambda x, w, b: nn.conv(x, w, b, **options),
        *[generator.normal(size=s) for s in shapes],
        generator=generator,
    )


@pytest.mark.slow
@examples
@given(convolutions(transposed=True), generators)
def test_conv_transpose_in_every_way(case, generator):
    options, shapes = case
    check(
        lambda x, w, b: nn.conv_transpose(x, w, b, **options),
        *[generator.normal(size=s) for s in shapes],
        generator=generator,
    )


@examples
@given(convolutions(), convolutions(transposed=True), generators)
def test_convolutions_and_their_gradients_are_those_of_pytorch(case, transposed, generator):
    for ours, (options, shapes) in ((nn.conv, case), (nn.conv_transpose, transposed)):
        name = f"{ours.__name__}{len(shapes[0]) - 2}d"
        assert_like_pytorch(
            lambda *xs, ours=ours, options=options: ours(*xs, **options),
            lambda torch, *xs, name=name, options=options: getattr(torch.nn.functional, name)(*xs, **options),
            *[generator.normal(size=shape) for shape in shapes],
        )


@pytest.mark.parametrize("groups", [1, 2])
def test_taylor_series_staged_functions_and_jacobians(groups):
    generator = np.random.default_rng(0)
    x, w = generator.normal(size=(2, 4, 6)), generator.normal(size=(4, 4 // groups, 3))

    def f(x, w):
        return nn.conv(np.sin(x), w * w, stride=2, padding=1, groups=groups)

    check_taylor(f, x, w, generator=generator)
    np.testing.assert_allclose(sr.staged(sr.jacrev(f, argnums=(0, 1)))(x, w)[1], sr.jacfwd(f, argnums=1)(x, w))
    g = sr.staged(sr.grad(lambda x, w: np.sum(f(x, w) ** 2), argnums=(0, 1)))
    for scale in (1.0, 2.0):
        for found, expected in zip(
            g(scale * x, w), sr.grad(lambda x, w: np.sum(f(x, w) ** 2), argnums=(0, 1))(scale * x, w), strict=True
        ):
            np.testing.assert_allclose(found, expected)


def test_padding_by_name_and_without_a_batch():
    generator = np.random.default_rng(0)
    x, w = generator.normal(size=(2, 7, 6)), generator.normal(size=(3, 2, 2, 3))
    same = nn.conv(x, w, padding="same", dilation=(1, 2))
    assert same.shape == (3, 7, 6)
    np.testing.assert_allclose(same[:, :6, 2:4], nn.conv(x, w, padding="valid", dilation=(1, 2)))


def test_kernels_of_pytorch_take_read_only_and_reversed_arrays_and_leave_other_dtypes():
    pytest.importorskip("torch")
    x, w = np.arange(8.0).reshape(1, 2, 4)[..., ::-1], np.ones((1, 2, 2))
    w.flags.writeable = False
    with nn.kernels("torch"):
        np.testing.assert_allclose(nn.conv(x, w), [[[18.0, 14.0, 10.0]]])
        assert nn.conv(x.astype(np.float32), w.astype(np.float32)).dtype == np.float32
        assert nn.conv(x.astype(np.longdouble), w).dtype == np.longdouble


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: nn.conv(np.ones((1, 3, 4)), np.ones((1, 2, 2))), "nn.conv: x has 3 channels"),
        (lambda: nn.conv(np.ones((1, 2, 4)), np.ones((1, 2))), "nn.conv: w has the shape"),
        (lambda: nn.conv(np.ones((1, 2)), np.ones((1, 2, 2, 2))), "nn.conv: x has the shape"),
        (lambda: nn.conv(np.ones((1, 2, 4)), np.ones((1, 2, 5))), "nn.conv: windows of the extent"),
        (lambda: nn.conv(np.ones((1, 2, 4)), np.ones((1, 2, 2)), stride=0), "nn.conv: stride is 0"),
        (lambda: nn.conv(np.ones((1, 2, 4)), np.ones((3, 1, 2)), groups=2), "nn.conv: groups is 2"),
        (lambda: nn.conv(np.ones((1, 2, 4)), np.ones((3, 2, 2)), np.ones(2)), "nn.conv: bias has the shape"),
        (lambda: nn.conv(np.ones((1, 2, 4)), np.ones((3, 2, 2)), padding="full"), "nn.conv: padding is 'full'"),
        (lambda: nn.conv_transpose(np.ones((1, 3, 4)), np.ones((2, 1, 2))), "nn.conv_transpose: x has 3 channels"),
        (lambda: nn.conv_transpose(np.ones((1, 2, 1)), np.ones((2, 1, 2)), padding=1), "give a smaller padding"),
        (lambda: nn.conv_transpose(np.ones((1, 2, 1)), np.ones((2, 1, 2)), output_padding=1), "output_padding is"),
        (lambda: nn.kernels("cuda").__enter__(), "nn.kernels: library is 'cuda'"),
    ],
)
def test_wrong_input_is_an_error_that_names_the_remedy(call, words):
    with pytest.raises(ValueError, match=words.replace("(", r"\(")):
        call()


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("kernels", ["numpy", "torch"])
def test_an_empty_batch(kernels, groups):
    if kernels == "torch":
        pytest.importorskip("torch")
    x, w = np.zeros((0, 2, 5)), np.ones((2, 2 // groups, 2))
    for f in (nn.conv, nn.conv_transpose):
        with nn.kernels(kernels):
            of_x, of_w = sr.grad(lambda x, w, f=f: np.sum(np.sin(f(x, w, stride=2, groups=groups))), (0, 1))(x, w)
            twice = sr.hvp(lambda w, f=f: np.sum(f(x, w, groups=groups) ** 2), (w,), (w,))
        assert of_x.shape == x.shape
        assert of_w.tolist() == twice.tolist() == np.zeros_like(w).tolist()
