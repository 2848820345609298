"""A tree LSTM (Tai, Socher and Manning 2015) by plain recursion: a network learns what formulas of logic mean.

A formula is a tree: a leaf is true or false, and a node is "and", "or" or "xor" of two formulas. The network goes
through a tree as an interpreter does, by recursion, and no two trees have the same shape. So the gradient has to follow
each tree.

Known: the truth of each formula, by Python's own operators. The network must also get formulas right that it has not
seen, and that are deeper than all formulas it was trained on.

    python examples/tree_lstm.py
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from known import compare

from shiftreset_ad import optimize, value_and_grad

Tree: TypeAlias = "bool | tuple[str, Tree, Tree]"
Weights: TypeAlias = dict[str, np.ndarray]

OPERATORS = {"and": lambda a, b: a and b, "or": lambda a, b: a or b, "xor": lambda a, b: a != b}
NAMES = list(OPERATORS)
SIZE = 8  # of the state and of the memory
STEPS, BATCH = 400, 24


def random_tree(random: np.random.Generator, depth: int) -> Tree:
    """A formula of this depth; one of its two halves may be less deep."""
    if depth == 0:
        return bool(random.integers(2))
    halves = [random_tree(random, depth - 1), random_tree(random, int(random.integers(depth)))]
    random.shuffle(halves)
    return (NAMES[random.integers(3)], *halves)


def truth(tree: Tree) -> bool:
    """What the formula means."""
    if isinstance(tree, bool):
        return tree
    operator, left, right = tree
    return OPERATORS[operator](truth(left), truth(right))


def initial(random: np.random.Generator) -> Weights:
    """The weights before training: for leaves, for each operator, and for the answer."""
    nodes = {name: 0.3 * random.normal(size=(5 * SIZE, 2 * SIZE)) for name in NAMES}
    biases = {f"{name} bias": np.zeros(5 * SIZE) for name in NAMES}
    return {
        **nodes,
        **biases,
        "leaves": 0.5 * random.normal(size=(2, 2, SIZE)),
        "answer": 0.3 * random.normal(size=SIZE),
    }


def sigmoid(x: np.ndarray) -> np.ndarray:
    """From 0 to 1."""
    return 0.5 + 0.5 * np.tanh(0.5 * x)


def read(weights: Weights, tree: Tree) -> tuple[np.ndarray, np.ndarray]:
    """The state and the memory after reading a formula."""
    if isinstance(tree, bool):
        state, memory = weights["leaves"][int(tree)]
        return state, memory
    operator, left, right = tree
    left_state, left_memory = read(weights, left)
    right_state, right_memory = read(weights, right)
    sums = weights[operator] @ np.concatenate([left_state, right_state]) + weights[f"{operator} bias"]
    enter, leave, keep_left, keep_right = sigmoid(sums[: 4 * SIZE]).reshape(4, SIZE)
    memory = enter * np.tanh(sums[4 * SIZE :]) + keep_left * left_memory + keep_right * right_memory
    return leave * np.tanh(memory), memory


def log_odds(weights: Weights, tree: Tree) -> float:
    """The logarithm of the odds that the formula is true."""
    return 8.0 * weights["answer"] @ read(weights, tree)[0]


def loss(weights: Weights, trees: list[Tree]) -> float:
    """The mean of the negative log-likelihood of the truths."""
    return sum(np.logaddexp(0.0, (1 - 2 * truth(tree)) * log_odds(weights, tree)) for tree in trees) / len(trees)


def main() -> int:
    """Train, and count the right answers on other formulas."""
    random = np.random.default_rng(1)
    weights = initial(random)
    optimizer = optimize.adam(optimize.cosine_decay(0.03, STEPS))
    state = optimizer.init(weights)
    for step in range(STEPS):
        trees = [random_tree(random, int(random.integers(1, 4))) for _ in range(BATCH)]
        error, gradient = value_and_grad(loss)(weights, trees)
        weights, state = optimizer.step(gradient, weights, state)
        if step % 100 == 0:
            print(f"step {step}: loss {error:.4f}")
    rows = []
    for depth in (1, 3, 5):
        trees = [random_tree(random, depth) for _ in range(300)]
        right = np.mean([(log_odds(weights, tree) > 0.0) == truth(tree) for tree in trees])
        rows.append((f"right answers at depth {depth}", right, 1.0, 0.02))
    return compare("a tree LSTM that reads logic", rows)


if __name__ == "__main__":
    raise SystemExit(main())
