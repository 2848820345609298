"""Recurrent cells and passes, in every way and as PyTorch's."""

from __future__ import annotations

import numpy as np
import pytest

from shiftreset_ad import grad, hvp, nn, vjp
from tests.nn.like_pytorch import assert_like_pytorch
from tests.rules.three_ways import check

GATES = {"rnn": 1, "gru": 3, "lstm": 4}
TIME, BATCH, FEATURES, HIDDEN = 4, 3, 2, 3


def arrays(name, directions=1):
    """x, and the parameters of each direction."""
    generator = np.random.default_rng(0)
    rows = GATES[name] * HIDDEN
    shapes = [(TIME, BATCH, FEATURES)] + directions * [(rows, FEATURES), (rows, HIDDEN), (rows,), (rows,)]
    return [generator.normal(size=shape) for shape in shapes]


def states_of(batch=BATCH):
    return [np.random.default_rng(1).normal(size=(batch, HIDDEN)) for _ in range(2)]


def layer(torch, name, parameters, bidirectional=False):
    """PyTorch's function of x with these parameters."""
    module = getattr(torch.nn, name.upper())(FEATURES, HIDDEN, bidirectional=bidirectional, dtype=torch.float64)
    names = [known for known, _ in module.named_parameters()]
    of_names = dict(zip(names, parameters, strict=True))
    return lambda *args: torch.func.functional_call(module, of_names, args)


@pytest.mark.parametrize("name", GATES)
def test_cells(name):
    x, *parameters = arrays(name)
    cell, of_torch = getattr(nn, f"{name}_cell"), "rnn_tanh_cell" if name == "rnn" else f"{name}_cell"
    h, c = states_of()

    def ours(x, h, c, *parameters):
        return np.concatenate(cell(x, (h, c), *parameters)) if name == "lstm" else cell(x, h, *parameters) + 0 * c

    def theirs(torch, x, h, c, *parameters):
        function = getattr(torch, of_torch)
        return torch.cat(function(x, (h, c), *parameters)) if name == "lstm" else function(x, h, *parameters) + 0 * c

    check(ours, x[0], h, c, *parameters, generator=np.random.default_rng(0))
    assert_like_pytorch(ours, theirs, x[0], h, c, *parameters, joins=True)


def test_a_first_state_of_an_lstm_is_broadcast():
    x, *parameters = arrays("lstm")
    h, c = (part[:1] for part in states_of())
    whole = [np.broadcast_to(part, (BATCH, HIDDEN)) for part in (h, c)]
    for given in ((h, c), (h[0], c[0]), (h.tolist(), c.tolist())):
        states, last = nn.lstm(x, parameters, given)
        np.testing.assert_array_equal(states, nn.lstm(x, parameters, whole)[0])
        assert last[1].shape == (BATCH, HIDDEN)
    check(lambda h, c: nn.lstm(x, parameters, (h, c))[0], h[0], c, generator=np.random.default_rng(0))
    np.testing.assert_array_equal(
        nn.lstm_cell(x[0, :1], whole, *parameters), nn.lstm_cell(x[0, :1], (h, whole[1]), *parameters)
    )


def test_plain_tensors_are_answered_by_tensors():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    x, *parameters = map(torch.from_numpy, arrays("lstm"))
    h, c = map(torch.from_numpy, states_of())
    states, last = nn.lstm(x, parameters)
    for y in (*nn.lstm_cell(x[0], (h, c), *parameters), states, *last):
        assert isinstance(y, torch.Tensor)


@pytest.mark.parametrize("name", GATES)
def test_passes(name):
    x, *parameters = arrays(name)

    def ours(x, *parameters):
        states, last = getattr(nn, name)(x, parameters)
        return np.concatenate([states, np.stack(last if name == "lstm" else [last])])

    def theirs(torch, x, *parameters):
        states, last = layer(torch, name, parameters)(x)
        return torch.cat([states, *(last if name == "lstm" else (last,))])

    check(ours, x, *parameters, generator=np.random.default_rng(0), second_order=name == "rnn")
    assert_like_pytorch(ours, theirs, x, *parameters, joins=True)


@pytest.mark.parametrize("name", GATES)
def test_padded_batches_in_both_directions(name):
    x, *parameters = arrays(name, directions=2)
    lengths = np.array([4, 1, 3])

    def ours(x, *parameters):
        states, lasts = nn.bidirectional(getattr(nn, name), x, parameters[:4], parameters[4:], lengths)
        lasts = [part for last in lasts for part in (last if name == "lstm" else [last])]
        return np.concatenate([states.reshape(-1), np.stack(lasts).reshape(-1)])

    def theirs(torch, x, *parameters):
        packing = torch.nn.utils.rnn
        packed = packing.pack_padded_sequence(x, torch.from_numpy(lengths), enforce_sorted=False)
        states, last = layer(torch, name, parameters, bidirectional=True)(packed)
        states = packing.pad_packed_sequence(states)[0]
        last = torch.stack([part[i] for i in range(2) for part in (last if name == "lstm" else [last])])
        return torch.cat([states.reshape(-1), last.reshape(-1)])

    check(ours, x, *parameters, generator=np.random.default_rng(0), second_order=False)
    assert_like_pytorch(ours, theirs, x, *parameters, joins=True)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda x, p: nn.rnn(x[0], p), "nn.rnn: x has the shape"),
        (lambda x, p: nn.lstm(x, p), "nn.lstm: the weights have the shapes"),
        (lambda x, p: nn.rnn(x, p, lengths=[9, 1, 1]), "nn.rnn: lengths is"),
        (lambda x, p: nn.rnn(x, p, nonlinearity="sin"), "nn.rnn: nonlinearity is 'sin'"),
    ],
)
def test_wrong_input_is_an_error_that_names_the_remedy(call, words):
    x, *parameters = arrays("rnn")
    with pytest.raises(ValueError, match=words):
        call(x, parameters)


@pytest.mark.parametrize(("of_h", "of_w"), [((2,), (8, 5)), ((2,), (9, 2)), ((4,), (8, 2)), ((1,), (8, 2))])
def test_a_state_of_an_lstm_that_does_not_fit_is_an_error_that_names_the_remedy(of_h, of_w):
    with pytest.raises(ValueError, match=r"nn\.lstm: h has the shape .* give h of \(\.\.\., hidden\)"):
        nn.lstm_cell(np.ones(3), (np.zeros(of_h), np.zeros(2)), np.zeros((8, 3)), np.zeros(of_w))


@pytest.mark.parametrize("name", ["rnn", "gru"])
def test_a_state_of_a_cell_is_broadcast(name):
    x, w_ih, w_hh, b_ih, b_hh = arrays(name)
    cell, h = getattr(nn, f"{name}_cell"), states_of()[0]
    whole = cell(x[0], np.broadcast_to(h[:1], h.shape), w_ih, w_hh, b_ih, b_hh)
    for given in (h[:1], h[0], h[0].tolist()):
        np.testing.assert_allclose(cell(x[0], given, w_ih, w_hh, b_ih, b_hh), whole, rtol=1e-14)
    np.testing.assert_allclose(cell(x[0, 0], h, w_ih, w_hh, b_ih, b_hh)[1], cell(x[0, 0], h[1], w_ih, w_hh, b_ih, b_hh))
    check(lambda h: cell(x[0], h, w_ih, w_hh, b_ih, b_hh), h[0], generator=np.random.default_rng(0))
    biases = np.stack([b_hh, 2.0 * b_hh, b_hh])
    check(lambda b: cell(x[0], h[0], w_ih, w_hh, b_ih, b), biases, generator=np.random.default_rng(0))
    np.testing.assert_allclose(
        cell(x[0, 0], h[0], w_ih, w_hh, b_ih, biases)[1], cell(x[0, 0], h[0], w_ih, w_hh, b_ih, 2.0 * b_hh)
    )


@pytest.mark.parametrize(
    ("of_h", "rows", "columns"), [((2,), 2, 5), ((2,), 3, 2), ((4,), 2, 2), ((1,), 2, 2), ((1,), 1, 1)]
)
@pytest.mark.parametrize("name", ["rnn", "gru"])
def test_a_state_of_a_cell_that_does_not_fit_is_an_error_that_names_the_remedy(name, of_h, rows, columns):
    gates = GATES[name]
    with pytest.raises(ValueError, match=rf"nn\.{name}: h has the shape .* give h of \(\.\.\., hidden\)"):
        getattr(nn, f"{name}_cell")(
            np.ones(3), np.zeros(of_h), np.zeros((2 * gates, 3)), np.zeros((rows * gates, columns))
        )


@pytest.mark.parametrize("name", ["rnn", "gru", "lstm"])
def test_a_state_that_is_overwritten_later_counts_as_it_was(name):
    x, *parameters = arrays(name)
    cell, (first, c) = getattr(nn, f"{name}_cell"), states_of()

    def f(writes):
        def loss(h, w_hh):
            total = 0.0
            for t in range(TIME):
                given = (h, c) if name == "lstm" else h
                h = cell(x[t], given, parameters[0], w_hh, *parameters[2:])
                h = h[0] if name == "lstm" else h
                total = total + np.sum(h * h)
                if writes:
                    h[:, 0] = 0.5 * h[:, 1]
                else:
                    h = np.concatenate([0.5 * h[:, 1:2], h[:, 1:]], axis=1)
            return total + np.sum(h)

        return loss

    expected = grad(f(False), (0, 1))(first, parameters[1])
    value, pull = vjp(f(True), first, parameters[1])
    for found in (grad(f(True), (0, 1))(first, parameters[1]), pull(1.0), pull(1.0)):
        for x_bar, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(x_bar, other, rtol=1e-11, atol=1e-12)
    assert value == pytest.approx(f(False)(first, parameters[1]))
    directions = [np.ones_like(first), np.ones_like(parameters[1])]
    products = [hvp(f(writes), (first, parameters[1]), directions) for writes in (True, False)]
    for x_bar, other in zip(*products, strict=True):
        np.testing.assert_allclose(x_bar, other, rtol=1e-10, atol=1e-11)
