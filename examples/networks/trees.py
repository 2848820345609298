"""Trees in the format of the Stanford Sentiment Treebank: `(3 (2 It) (4 works))`, with a score at every node."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

SCORES = 5
WORDS = 1000  # of the synthetic language


class Tree(NamedTuple):
    """A node: its score, and a word, or two trees."""

    score: int
    word: str | None
    left: Tree | None = None
    right: Tree | None = None


def parse(line: str) -> Tree:
    """The tree that a line is. ValueError, with the place, for anything else."""
    tokens = line.replace("(", " ( ").replace(")", " ) ").split()
    waiting: list[list[Tree | str]] = [[]]
    for i, token in enumerate(tokens):
        if token == "(":
            waiting.append([])
        elif token == ")" and len(waiting) > 1:
            waiting[-2].append(_node(waiting.pop(), i))
        else:
            waiting[-1].append(token)
    if len(waiting) != 1 or len(waiting[0]) != 1 or not isinstance(waiting[0][0], Tree):
        raise ValueError(f"this is no tree: {line!r:.60}")
    return waiting[0][0]


def _node(parts: list[Tree | str], place: int) -> Tree:
    score, *rest = parts or [""]
    if not isinstance(score, str) or not score.isdigit() or int(score) >= SCORES:
        raise ValueError(
            f"token {place}: a node begins with a score from 0 to {SCORES - 1}, and not with {score!r:.40}"
        )
    if len(rest) == 1 and isinstance(rest[0], str):
        return Tree(int(score), rest[0])
    if len(rest) == 2 and isinstance(rest[0], Tree) and isinstance(rest[1], Tree):
        return Tree(int(score), None, *rest)
    raise ValueError(f"token {place}: a node has a word, or two nodes")


def text(tree: Tree) -> str:
    """A tree as a line."""
    if tree.left is None or tree.right is None:
        return f"({tree.score} {tree.word})"
    return f"({tree.score} {text(tree.left)} {text(tree.right)})"


def read(file: Path) -> list[Tree]:
    """The trees of a file, one in each line."""
    return [parse(line) for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]


def nodes(tree: Tree) -> Iterator[Tree]:
    """All nodes, each after its children."""
    if tree.left is not None and tree.right is not None:
        yield from nodes(tree.left)
        yield from nodes(tree.right)
    yield tree


def synthetic(count: int, seed: int = 0) -> list[Tree]:
    """Sentences of 1 to 40 words, 19 in the mean, as trees whose scores are known.

    A word has a mood from -1 to 1, and the words "not ..." turn the mood of their neighbour round. The mood of a node
    is the mean of those of its halves, and its score is the mood in five steps.
    """
    random = np.random.default_rng(seed)
    return [_sentence(random, int(length))[0] for length in np.clip(random.poisson(19, count), 1, 40)]


def _sentence(random: np.random.Generator, length: int) -> tuple[Tree, float]:
    if length == 1:
        word = int(random.integers(WORDS))
        mood = np.cos(word) if word % 10 else 0.0  # every tenth word negates
        return Tree(_score(mood), f"{'not' if word % 10 == 0 else 'word'}{word}"), mood
    cut = int(random.integers(1, length))
    (left, a), (right, b) = _sentence(random, cut), _sentence(random, length - cut)
    negates = left.word is not None and left.word.startswith("not")
    mood = -b if negates else (a + b) / 2.0
    return Tree(_score(mood), None, left, right), mood


def _score(mood: float) -> int:
    return int(np.clip((mood + 1.0) * SCORES / 2.0, 0, SCORES - 1))
