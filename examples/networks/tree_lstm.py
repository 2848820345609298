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

from shiftreset_ad import nn, zeros

EMBEDDING, HIDDEN = 300, 150
PARAMETERS = 361_805
Vectors = dict[str, np.ndarray]


class State(NamedTuple):
    """What a node hands on: its hidden state and its memory cell."""

    hidden: np.ndarray
    cell: np.ndarray


def initial(seed: int = 42, embedding: int = EMBEDDING, hidden: int = HIDDEN) -> tuple[Arrays, Arrays]:
    """The first parameters, and no buffers. The gates lie one below another in a matrix."""
    random = np.random.default_rng(seed)
    return {
        "leaf": 0.01 * random.normal(size=(3 * hidden, embedding)),  # input, output, update
        "leaf.bias": np.zeros(3 * hidden),
        "node": 0.01 * random.normal(size=(5 * hidden, 2 * hidden)),  # input, both forget gates, output, update
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


def with_all_biases(p: Arrays) -> Arrays:
    """The parameters with a bias for each gate, as both forget gates share theirs."""
    size = len(p["node.bias"]) // 4
    shared = p["node.bias"][size : 2 * size]
    return p | {"node.bias": np.concatenate([p["node.bias"][: 2 * size], shared, p["node.bias"][2 * size :]])}


def at_leaves(p: Arrays, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The hidden states and cells of words, of their vectors (..., embedding)."""
    return nn.tree_lstm_cell([x], p["leaf"], p["leaf.bias"], update_last=True)


def at_nodes(p: Arrays, hidden: list[np.ndarray], cells: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """The hidden states and cells of nodes, of the hidden states and the cells of their children."""
    return nn.tree_lstm_cell(hidden, p["node"], p["node.bias"], cells, update_last=True)


def state_of(p: Arrays, vectors: Vectors, tree: Tree, found: list[np.ndarray]) -> State:
    """The state of a tree, by recursion. `found` gets the hidden state of each node, after those of its children."""
    if tree.left is None or tree.right is None:
        state = State(*at_leaves(p, vectors[tree.word or ""]))
    else:
        left, right = state_of(p, vectors, tree.left, found), state_of(p, vectors, tree.right, found)
        state = State(*at_nodes(p, [left.hidden, right.hidden], [left.cell, right.cell]))
    found.append(state.hidden)
    return state


def loss_of(p: Arrays, vectors: Vectors, forest: list[Tree]) -> np.ndarray:
    """The sum, over all nodes of the trees, of the negative log likelihoods of their scores."""
    p, total = with_all_biases(p), 0.0
    for tree in forest:
        hidden: list[np.ndarray] = []
        state_of(p, vectors, tree, hidden)
        scores = nn.linear(np.stack(hidden), p["score"], p["score.bias"])
        total = total + nn.cross_entropy(scores, [node.score for node in trees.nodes(tree)], reduction="sum")
    return total


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


def hidden_states(p: Arrays, schedule: Schedule) -> np.ndarray:
    """The hidden states of all nodes, a layer at a time. Each layer writes its states to one array, and reads them."""
    p, size = with_all_biases(p), p["score"].shape[1]
    hidden = zeros((len(schedule.scores), size))
    cells = zeros((len(schedule.scores), size))
    count = len(schedule.leaves)
    hidden[:count], cells[:count] = at_leaves(p, schedule.leaves)
    for numbers, left, right in schedule.layers:
        layer = slice(numbers[0], numbers[-1] + 1)
        children = [hidden[left], hidden[right]], [cells[left], cells[right]]
        hidden[layer], cells[layer] = at_nodes(p, *children)
    return hidden


def batched_loss(p: Arrays, schedule: Schedule) -> np.ndarray:
    """The loss of `loss_of`, with all nodes of a height at once."""
    scores = nn.linear(hidden_states(p, schedule), p["score"], p["score.bias"])
    return nn.cross_entropy(scores, schedule.scores, reduction="sum")


def accuracy(p: Arrays, vectors: Vectors, forest: list[Tree]) -> float:
    """The share of all nodes whose score the network tells."""
    schedule = scheduled(vectors, forest)
    told = np.argmax(nn.linear(hidden_states(p, schedule), p["score"], p["score.bias"]), axis=-1)
    return float(np.mean(told == schedule.scores))


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
