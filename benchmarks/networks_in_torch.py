"""The networks of `examples/networks/` by PyTorch's functions, with the same parameters."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812 (PyTorch's own name for it)

Parameters = dict[str, Tensor]


def squeezenet_loss(p: Parameters, fires: Any, pooled_after: Any, batch: Any) -> Tensor:
    """The mean cross entropy of SqueezeNet."""
    x = F.max_pool2d(F.relu(F.conv2d(batch[0], p["first"], p["first.bias"], padding=1)), 2)
    for name in fires:
        squeezed = F.relu(F.conv2d(x, p[f"{name}.squeeze"], p[f"{name}.squeeze.bias"]))
        one = F.relu(F.conv2d(squeezed, p[f"{name}.expand1"], p[f"{name}.expand1.bias"]))
        nine = F.relu(F.conv2d(squeezed, p[f"{name}.expand3"], p[f"{name}.expand3.bias"], padding=1))
        x = torch.cat([one, nine], 1)
        if name in pooled_after:
            x = F.max_pool2d(x, 2)
    return F.cross_entropy(F.conv2d(x, p["last"], p["last.bias"])[:, :, 0, 0], batch[1])


def resnet50_loss(p: Parameters, blocks: Any, batch: Any) -> Tensor:
    """The mean cross entropy of ResNet50."""

    def layer(name: str, x: Tensor, stride: int = 1, padding: int = 0) -> Tensor:
        y = F.conv2d(x, p[name], stride=stride, padding=padding)
        return F.batch_norm(y, None, None, p[f"{name}.scale"], p[f"{name}.shift"], training=True)

    x = F.max_pool2d(F.relu(layer("first", batch[0], padding=1)), 2)
    for name, _, _, stride in blocks:
        y = F.relu(layer(f"{name}.narrow", x))
        y = layer(f"{name}.widen", F.relu(layer(f"{name}.middle", y, stride, padding=1)))
        x = F.relu(y + (layer(f"{name}.shortcut", x, stride) if f"{name}.shortcut" in p else x))
    x = F.avg_pool2d(x, 2, 1)
    return F.cross_entropy(F.linear(x.flatten(1), p["last"], p["last.bias"]), batch[1])


def recurrent_layers(p: Parameters, size: Any) -> list[torch.nn.RNN]:
    """PyTorch's recurrent layers with these parameters."""
    layers = []
    for i in range(size.layers):
        inputs = p[f"rnn{i}.ahead.x"].shape[1]
        layer = torch.nn.RNN(inputs, size.hidden, nonlinearity="relu", bidirectional=True)
        for suffix, way in (("", "ahead"), ("_reverse", "back")):
            for theirs, ours in (("weight_ih", "x"), ("weight_hh", "h"), ("bias_ih", "x.bias"), ("bias_hh", "h.bias")):
                getattr(layer, f"{theirs}_l0{suffix}").data = p[f"rnn{i}.{way}.{ours}"].data
        layers.append(layer)
    return layers


def deepspeech2_loss(p: Parameters, layers: list[torch.nn.RNN], size: Any, batch: Any) -> Tensor:
    """The mean CTC loss of DeepSpeech2, for spectrograms that all take the whole time."""
    x, labels, lengths = batch

    def normalized(name: str, y: Tensor) -> Tensor:
        return F.batch_norm(y, None, None, p[f"{name}.scale"], p[f"{name}.shift"], training=True)

    for i, stride in enumerate(size.strides):
        x = F.hardtanh(normalized(f"conv{i}", F.conv2d(x, p[f"conv{i}"], stride=stride)), 0.0, 20.0)
    count, _, _, time = x.shape
    x = x.permute(3, 0, 1, 2).reshape(time, count, size.features)
    for layer in layers:
        both = layer(x)[0]
        x = both[..., : size.hidden] + both[..., size.hidden :]
    x = normalized("last", x.reshape(time * count, size.hidden))
    log_probs = F.log_softmax(F.linear(x, p["last"]).reshape(time, count, -1), -1)
    return F.ctc_loss(log_probs, labels, torch.full((count,), time), lengths, zero_infinity=True)


def tree_loss(p: Parameters, vectors: dict[str, Tensor], forest: Any, nodes: Any) -> Tensor:
    """The loss of the tree LSTM, by recursion, as the program in `examples/networks/` has it."""
    size = p["score"].shape[1]
    i, f, o, u = p["node.bias"].chunk(4)
    bias = torch.cat([i, f, f, o, u])

    def state(tree: Any, found: list[Tensor]) -> tuple[Tensor, Tensor]:
        if tree.left is None:
            gates = F.linear(vectors[tree.word], p["leaf"], p["leaf.bias"])
            opened = torch.sigmoid(gates[: 2 * size])
            cell = opened[:size] * torch.tanh(gates[2 * size :])
            hidden = opened[size:] * torch.tanh(cell)
        else:
            (left, left_cell), (right, right_cell) = state(tree.left, found), state(tree.right, found)
            gates = F.linear(torch.cat([left, right]), p["node"], bias)
            i, f_left, f_right, o = torch.sigmoid(gates[: 4 * size]).split(size)
            cell = i * torch.tanh(gates[4 * size :]) + f_left * left_cell + f_right * right_cell
            hidden = o * torch.tanh(cell)
        found.append(hidden)
        return hidden, cell

    device = p["score"].device
    total = torch.zeros((), device=device)
    for tree in forest:
        found: list[Tensor] = []
        state(tree, found)
        scores = F.linear(torch.stack(found), p["score"], p["score.bias"])
        target = torch.tensor([node.score for node in nodes(tree)], device=device)
        total = total + F.cross_entropy(scores, target, reduction="sum")
    return total
