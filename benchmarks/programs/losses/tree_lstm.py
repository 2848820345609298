"""A tree-LSTM that reads four sentences as binary trees of ten words, by recursion, and names the mood of a phrase."""

from __future__ import annotations

from typing import Any

from benchmarks.programs.formulas import log_softmax, sigmoid

GATES = "forget left", "forget right", "input", "output", "change"
MOODS = 5


def arguments(rng: Any, small: bool) -> tuple[Any, Any]:
    sentences, length, words, hidden = (2, 3, 4, 3) if small else (4, 10, 200, 32)

    def tree(leaves: int) -> Any:
        """A word, or a mood and two parts."""
        if leaves == 1:
            return int(rng.integers(words))
        left = int(rng.integers(1, leaves))
        return int(rng.integers(MOODS)), tree(left), tree(leaves - left)

    parameters = {
        "words": rng.normal(size=(words, hidden)),
        "weights": {gate: rng.normal(size=(2 * hidden, hidden)) / hidden**0.5 for gate in GATES},
        "biases": {gate: 0.1 * rng.normal(size=hidden) for gate in GATES},
        "moods": rng.normal(size=(hidden, MOODS)) / hidden**0.5,
    }
    return parameters, [tree(length) for _ in range(sentences)]


def read(np: Any, parameters: Any, tree: Any) -> tuple[Any, Any, Any]:
    """The hidden state, the cell and the loss of a phrase."""
    if isinstance(tree, int):
        word = parameters["words"][tree]
        return np.tanh(word), word, 0.0
    mood, left, right = tree
    left_hidden, left_cell, left_loss = read(np, parameters, left)
    right_hidden, right_cell, right_loss = read(np, parameters, right)
    both = np.concatenate((left_hidden, right_hidden), axis=0)
    scores = [both @ parameters["weights"][gate] + parameters["biases"][gate] for gate in GATES]
    forget_left, forget_right, take, give = (sigmoid(np, score) for score in scores[:4])
    cell = forget_left * left_cell + forget_right * right_cell + take * np.tanh(scores[4])
    hidden = give * np.tanh(cell)
    return hidden, cell, left_loss + right_loss - log_softmax(np, hidden @ parameters["moods"])[mood]


def loss(np: Any, parameters: Any, trees: Any) -> Any:
    return sum(read(np, parameters, tree)[2] for tree in trees) / len(trees)
