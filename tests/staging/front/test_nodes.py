"""Children, all nodes and copies of syntax trees: those of `ast` and of `copy`."""

import ast
import inspect
from copy import deepcopy

import pytest

from shiftreset_ad.staging.front import blocks, names
from shiftreset_ad.staging.front.facts import facts
from shiftreset_ad.staging.front.nodes import after_docstring, all_nodes, children_of, copied

TREES = [
    ast.parse(text)
    for text in (
        inspect.getsource(names),
        inspect.getsource(blocks),
        "async def f(x, *y, z=1):\n match x:\n  case [1, *_] | {'a': 2, **r}: return (yield)\n return f'{x!r:>{y}}'",
        "try: x = -1.5j, b'', ..., None\nexcept* E as e: del e\nglobal g\nimport a as b",
    )
]


@pytest.mark.parametrize("tree", TREES)
def test_the_nodes_are_those_of_ast(tree):
    nodes = list(ast.walk(tree))
    assert list(map(id, all_nodes(tree))) == list(map(id, nodes))
    for node in nodes:
        assert list(map(id, children_of(node))) == list(map(id, ast.iter_child_nodes(node)))


@pytest.mark.parametrize("tree", TREES)
def test_a_copy_is_that_of_deepcopy(tree):
    assert ast.dump(copied(tree), include_attributes=True) == ast.dump(deepcopy(tree), include_attributes=True)
    mine = {id(node) for node in all_nodes(tree) if node._attributes}
    assert mine.isdisjoint(map(id, all_nodes(copied(tree))))
    assert [ast.dump(part) for part in copied(tree.body)] == [ast.dump(part) for part in tree.body]


def test_a_copy_has_facts_of_its_own():
    (statement,) = ast.parse("return_here()").body
    facts(statement).flag = "one"
    other = copied(statement)
    assert facts(other) == facts(statement)
    facts(other).flag = "two"
    assert facts(statement).flag == "one"


@pytest.mark.parametrize(("text", "first"), [("def f():\n 'A.'\n return 1", 1), ("def f():\n return 1", 0)])
def test_a_function_begins_after_its_docstring(text, first):
    assert after_docstring(ast.parse(text).body[0]) == first
