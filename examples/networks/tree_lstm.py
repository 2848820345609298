"""A tree LSTM (Tai, Socher and Manning 2015) for the mood of sentences, as in Wang et al. (2019), section 5.

The network goes through a sentence as a parser has built it, by recursion. Each word has a vector, which is constant;
each node has a state, from which its score is told. `--batched` carries out the nodes of equal height of many trees at
once: an ordinary program over the same functions, with the same gradient.

    python examples/networks/tree_lstm.py
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import trees
from optimizers import adagrad
from training import begun, finish, options
from trees import Tree
from weights import Arrays, count

from shiftreset_ad import nn

EMBEDDING, HIDDEN = 300, 150
PARAMETERS = 361_805
Vectors = dict[str, np.ndarray]


class State(NamedTuple):
    """What a node hands on: the hidden state and the memory cell, and the loss of the tree below it."""

    hidden: np.ndarray
    cell: np.ndarray
    loss: np.ndarray


def initial(seed: int = 42, embedding: int = EMBEDDING, hidden: int = HIDDEN) -> tuple[Arrays, Arrays]:
    """The first parameters, and no buffers. The gates lie one below another in a matrix."""
    random = np.random.default_rng(seed)
    return {
        "leaf": 0.01 * random.normal(size=(3 * hidden, embedding)),  # input, output, update
        "leaf.bias": np.zeros(3 * hidden),
        "node": 0.01 * random.normal(size=(5 * hidden, 2 * hidden)),  # input, forget left, forget right, output, update
        "node.bias": np.zeros(4 * hidden),  # both forget gates share theirs
        "score": 0.01 * random.normal(size=(trees.SCORES, hidden)),
        "score.bias": np.zeros(trees.SCORES),
    }, {}


def vectors_of(forest: list[Tree], size: int = EMBEDDING, seed: int = 1) -> Vectors:
    """A vector for each word, which depends on the word alone."""
    words = sorted({node.word for tree in forest for node in trees.nodes(tree) if node.word is not None})
    found = {}
    for word in words:
        own = np.random.default_rng([seed, *word.encode()])
        found[word] = own.normal(size=size) * 0.3
    return found


def at_leaves(p: Arrays, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The hidden states and cells of words, of their vectors (..., embedding)."""
    i, o, u = np.split(nn.linear(x, p["leaf"], p["leaf.bias"]), 3, axis=-1)
    cell = nn.sigmoid(i) * np.tanh(u)
    return nn.sigmoid(o) * np.tanh(cell), cell


def at_nodes(
    p: Arrays, left: np.ndarray, right: np.ndarray, left_cell: np.ndarray, right_cell: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The hidden states and cells of nodes, of those of their children."""
    b_i, b_f, b_o, b_u = np.split(p["node.bias"], 4)
    gates = nn.linear(np.concatenate([left, right], axis=-1), p["node"], np.concatenate([b_i, b_f, b_f, b_o, b_u]))
    i, fl, fr, o, u = np.split(gates, 5, axis=-1)
    cell = nn.sigmoid(i) * np.tanh(u) + nn.sigmoid(fl) * left_cell + nn.sigmoid(fr) * right_cell
    return nn.sigmoid(o) * np.tanh(cell), cell


def state_of(p: Arrays, vectors: Vectors, tree: Tree) -> State:
    """The state of a tree, by recursion."""
    if tree.left is None or tree.right is None:
        hidden, cell = at_leaves(p, vectors[tree.word or ""])
        below = 0.0
    else:
        left, right = state_of(p, vectors, tree.left), state_of(p, vectors, tree.right)
        hidden, cell = at_nodes(p, left.hidden, right.hidden, left.cell, right.cell)
        below = left.loss + right.loss
    scores = nn.log_softmax(nn.linear(hidden, p["score"], p["score.bias"]))
    return State(hidden, cell, below - scores[tree.score])


def loss_of(p: Arrays, vectors: Vectors, forest: list[Tree]) -> np.ndarray:
    """The sum, over all nodes of the trees, of the negative log likelihoods of their scores."""
    return sum(state_of(p, vectors, tree).loss for tree in forest)


class Layer(NamedTuple):
    """The nodes of one height: their numbers, and those of their children. Leaves have no children."""

    numbers: np.ndarray
    left: np.ndarray
    right: np.ndarray


class Schedule(NamedTuple):
    """A forest, ready to be carried out layer by layer: the vectors of its leaves, its layers, and all scores."""

    leaves: np.ndarray
    layers: list[Layer]
    scores: np.ndarray


def scheduled(vectors: Vectors, forest: list[Tree]) -> Schedule:
    """The layers of a forest. Leaves come first, and a node after its children."""
    by_height: list[list[tuple[Tree, int, int]]] = []
    places: dict[int, tuple[int, int]] = {}  # of each node: its height, and its place in the layer
    for tree in forest:
        for node in trees.nodes(tree):
            height, children = 0, (-1, -1)
            if node.left is not None and node.right is not None:
                left, right = places[id(node.left)], places[id(node.right)]
                height = 1 + max(left[0], right[0])
                children = id(node.left), id(node.right)
            while len(by_height) <= height:
                by_height.append([])
            places[id(node)] = height, len(by_height[height])
            by_height[height].append((node, *children))
    starts = np.cumsum([0, *map(len, by_height)])
    number = {key: int(starts[height]) + place for key, (height, place) in places.items()}
    layers = [
        Layer(
            np.arange(starts[height], starts[height + 1]),
            np.array([number[left] for _, left, _ in layer]),
            np.array([number[right] for _, _, right in layer]),
        )
        for height, layer in enumerate(by_height)
        if height
    ]
    leaves = np.stack([vectors[node.word or ""] for node, _, _ in by_height[0]])
    return Schedule(leaves, layers, np.array([node.score for layer in by_height for node, _, _ in layer]))


def batched_loss(p: Arrays, schedule: Schedule) -> np.ndarray:
    """The loss of `loss_of`, with all nodes of a height at once. Each layer writes its states to one array."""
    size = p["score"].shape[1]
    hidden, cells = at_leaves(p, schedule.leaves)
    found = [hidden]
    states = np.zeros((len(schedule.scores), 2 * size), hidden.dtype)
    states = np.concatenate([np.concatenate([hidden, cells], axis=-1), states[len(hidden) :]])
    for layer in schedule.layers:
        left, right = states[layer.left], states[layer.right]
        hidden, cells = at_nodes(p, left[:, :size], right[:, :size], left[:, size:], right[:, size:])
        states[layer.numbers[0] : layer.numbers[-1] + 1] = np.concatenate([hidden, cells], axis=-1)
        found.append(hidden)
    scores = nn.linear(np.concatenate(found), p["score"], p["score.bias"])
    return nn.cross_entropy(scores, schedule.scores, reduction="sum")


def accuracy(p: Arrays, vectors: Vectors, forest: list[Tree]) -> float:
    """The share of all nodes whose score the network tells."""
    right = total = 0
    for tree in forest:
        schedule = scheduled(vectors, [tree])
        hidden = _hidden_states(p, schedule)
        told = np.argmax(nn.linear(hidden, p["score"], p["score.bias"]), axis=-1)
        right, total = right + int(np.sum(told == schedule.scores)), total + len(told)
    return right / total


def _hidden_states(p: Arrays, schedule: Schedule) -> np.ndarray:
    hidden, cells = at_leaves(p, schedule.leaves)
    for layer in schedule.layers:
        left, right = layer.left, layer.right
        new, new_cells = at_nodes(p, hidden[left], hidden[right], cells[left], cells[right])
        hidden, cells = np.concatenate([hidden, new]), np.concatenate([cells, new_cells])
    return hidden


def main() -> int:
    """Train."""
    parser = options(__doc__ or "", steps=60, batch=10)
    parser.add_argument("--batched", action="store_true", help="carry out nodes of equal height at once")
    given = parser.parse_args()
    forest = trees.read(given.data) if given.data else trees.synthetic(200)
    vectors = vectors_of(forest)
    training = begun(initial, given.checkpoint)
    print(f"tree LSTM, {count(training.parameters):,} parameters, {len(forest)} trees")

    def batches() -> Iterator[list[Tree]]:
        random = np.random.default_rng(42)
        for _ in range(given.steps):
            yield [forest[i] for i in random.integers(len(forest), size=given.batch)]

    def loss(p: Arrays, buffers: Arrays, batch: list[Tree]) -> tuple[np.ndarray, Arrays]:
        total = batched_loss(p, scheduled(vectors, batch)) if given.batched else loss_of(p, vectors, batch)
        return total / sum(1 for tree in batch for _ in trees.nodes(tree)), buffers

    training.run(loss, adagrad(0.05), batches(), given)
    right = accuracy(training.parameters, vectors, forest[:50])
    print(f"{right:.0%} of the scores are right, {1 / trees.SCORES:.0%} by chance")
    return finish(training, given.picture)


if __name__ == "__main__":
    sys.exit(main())
