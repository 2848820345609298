"""Calls whose arguments differ by what `==` does not tell take ways of their own."""

from __future__ import annotations

from typing import Any

import numpy as np
import optree
import pytest

from tests.staging.in_turns import beside_a_test, is_refused, stays_staged, under_a_test


class Node:
    def __init__(self, content: Any, metadata: Any) -> None:
        self.content, self.metadata = content, metadata


optree.register_pytree_node(
    Node,
    lambda node: ((node.content,), node.metadata),
    lambda metadata, children: Node(children[0], metadata),
    namespace="shiftreset_ad",
)


def by_type(node):
    return node.content * (2.0 if isinstance(node.metadata, bool) else 3.0 if isinstance(node.metadata, int) else 5.0)


@pytest.mark.parametrize(
    ("f", "one", "other"),
    [
        (by_type, Node(1.0, 1), Node(1.0, True)),
        (by_type, Node(1.0, 2), Node(1.0, 2.0)),
        (lambda node: np.copysign(node.content, node.metadata), Node(1.0, 0.0), Node(1.0, -0.0)),
        (lambda node: by_type(Node(1.0, node.metadata["k"][0])), Node(1.0, {"k": [1]}), Node(1.0, {"k": [True]})),
        (lambda p: p[1] * (2.0 if any(k is True for k in p) else 3.0), {1: 1.0}, {True: 1.0}),
        (lambda p: p["a"][1] * (2.0 if any(k is True for k in p["a"]) else 3.0), {"a": {1: 1.0}}, {"a": {True: 1.0}}),
        (lambda p: np.copysign(p[0.0], next(iter(p))), {0.0: 1.0}, {-0.0: 1.0}),
    ],
)  # fmt: skip
def test_values_that_are_equal_and_not_the_same(f, one, other):
    calls = [*[(one,)] * 3, *[(other,)] * 3, (one,), (other,)]
    stays_staged(f, *calls, ways=2)
    stays_staged(lambda x, y: beside_a_test(lambda _: f(y))(x), *[(1.0, *call) for call in calls], ways=2)
    stays_staged(lambda flag, x, y: under_a_test(lambda _: f(y))(flag, x), *[(-1.0, 1.0, *call) for call in calls])


def test_metadata_that_changes():
    metadata = {"k": 1.0}
    node = Node(1.0, metadata)
    stays_staged(
        lambda node: node.content * node.metadata["k"], *[(node,)] * 3, lambda: metadata.update(k=2.0), (node,)
    )


def test_the_memory_that_arguments_share():
    x = np.ones(4)
    for function in (np.shares_memory, np.may_share_memory):
        is_refused(
            lambda x, y, function=function: x * 2 if function(x, y) else x * 3,
            "looks at the memory",
            *[(x[:2], np.ones(2))] * 3,
            (x[:2], x[:2].view()),
        )
