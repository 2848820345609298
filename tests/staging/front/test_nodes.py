"""Children, all nodes and copies of syntax trees: those of `ast` and of `copy`."""

import ast
import inspect
from copy import deepcopy

import pytest

from shiftreset_ad.staging.front import blocks, names
from shiftreset_ad.staging.front.facts import facts
from shiftreset_ad.staging.front.nodes import Transformer, after_docstring, all_nodes, children_of, copied, with_places

TREES = [
    ast.parse(text)
    for text in (
        inspect.getsource(names),
        inspect.getsource(blocks),
        "async def f(x, *y, z=1):\n match x:\n  case [1, *_] | {'a': 2, **r}: return (yield)\n return f'{x!r:>{y}}'",
        "try: x = -1.5j, b'', ..., None\nexcept* E as e: del e\nglobal g\nimport a as b",
    )
]


PLAIN = {
    *("identifier", "int", "string", "constant"),
    *("expr_context", "operator", "unaryop", "boolop", "cmpop"),
}
SIGNS = (ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop)


def ids_without_signs(nodes):
    return [id(node) for node in nodes if not isinstance(node, SIGNS)]


@pytest.mark.parametrize("tree", TREES)
def test_the_nodes_are_those_of_ast_without_contexts_and_operators(tree):
    assert list(map(id, all_nodes(tree))) == ids_without_signs(ast.walk(tree))
    for node in ast.walk(tree):
        assert list(map(id, children_of(node))) == ids_without_signs(ast.iter_child_nodes(node))


def test_each_field_that_may_have_nodes_is_known():
    """By the fields of each kind, as its docstring has them: `Name(identifier id, expr_context ctx)`."""
    kinds = [x for x in vars(ast).values() if isinstance(x, type) and issubclass(x, ast.AST) and x._fields]
    found = 0
    for kind in kinds:
        _, _, fields = (kind.__doc__ or "").replace("\n", " ").partition(f"{kind.__name__}(")
        for field in filter(None, fields.rstrip(" )").split(",")):
            of, name = field.split()
            if of.rstrip("?*") not in PLAIN:
                node, child = kind.__new__(kind), ast.Pass()
                setattr(node, name, [child] if of.endswith("*") else child)
                assert children_of(node) == [child]
                found += 1
    assert found > 80


def test_what_is_no_node_among_nodes_is_left_out():
    assert children_of(ast.parse("global g, h").body[0]) == []
    display = ast.parse("{**x}", mode="eval").body
    assert children_of(display) == display.values


class _Twice(ast.NodeTransformer):
    """It doubles statements and turns names into other ones."""

    def visit_Assign(self, node):
        self.generic_visit(node)
        return [node, copied(node)]

    def visit_Name(self, node):
        return ast.copy_location(ast.Name(f"{node.id}_", node.ctx), node)


class _MineTwice(Transformer):
    visit_Assign, visit_Name = _Twice.visit_Assign, _Twice.visit_Name


@pytest.mark.parametrize("tree", TREES)
def test_a_transformer_does_what_that_of_ast_does(tree):
    mine, other = _MineTwice().visit(copied(tree)), _Twice().visit(copied(tree))
    assert ast.dump(mine, include_attributes=True) == ast.dump(other, include_attributes=True)
    assert ast.dump(mine) != ast.dump(tree)


@pytest.mark.parametrize("tree", TREES)
def test_places_are_those_of_ast(tree):
    bare = [copied(tree), copied(tree)]
    for one in bare:
        for i, node in enumerate(ast.walk(one)):
            for name in node._attributes:
                if i % 3 == 0 or (i % 3 == 1 and name.startswith("end")):
                    vars(node).pop(name, None)
    mine, other = with_places(bare[0]), ast.fix_missing_locations(bare[1])
    assert ast.dump(mine, include_attributes=True) == ast.dump(other, include_attributes=True)


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
