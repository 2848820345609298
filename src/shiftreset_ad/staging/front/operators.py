"""A function is rewritten so that operators, attributes and items of objects are looked into, too (`objects.py`)."""

from __future__ import annotations

import ast
from types import ModuleType
from typing import Any

from shiftreset_ad.staging.front.facts import place
from shiftreset_ad.staging.front.indices import outside_brackets
from shiftreset_ad.staging.front.items import ItemSite
from shiftreset_ad.staging.front.names import unwrapped, write_to_a_part
from shiftreset_ad.staging.front.nodes import copied
from shiftreset_ad.staging.front.rewriting import Rewriter
from shiftreset_ad.staging.front.versions import OPERATORS

ALONE = {ast.USub: "neg", ast.UAdd: "pos", ast.Invert: "invert"}
COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Lt: "lt",
    ast.LtE: "le",
    ast.Gt: "gt",
    ast.GtE: "ge",
    ast.Eq: "eq",
    ast.NotEq: "ne",
    ast.In: "in",
    ast.NotIn: "not in",
}


class ObjectRewriter(Rewriter):
    """The rewriting of one function that looks into objects."""

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        self.generic_visit(node)
        return self._operated("operated", OPERATORS[type(node.op)], node, node.left, node.right)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        if isinstance(node.op, ast.Not):
            return super().visit_UnaryOp(node)
        self.generic_visit(node)
        return self._operated("operated_alone", ALONE[type(node.op)], node, node.operand)

    def visit_Compare(self, node: ast.Compare) -> Any:
        name = COMPARISONS.get(type(node.ops[0]))
        if name is None or len(node.ops) > 1:
            return super().visit_Compare(node)
        self.generic_visit(node)
        return self._operated("compared", name, node, node.left, node.comparators[0])

    def visit_Assign(self, node: ast.Assign) -> Any:
        """`o.v = value`, where `v` may be a property."""
        self.generic_visit(node)
        target = node.targets[0]
        if len(node.targets) > 1 or not isinstance(target, ast.Attribute) or _is_private(target):
            return node
        return place(ast.Expr(self._run("assigned", node.value, target.value, ast.Constant(target.attr))), node)

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        """`x += v`, which may be a method of the class of `x`. To look at `x` first, it is found twice."""
        super().visit_AugAssign(node)
        if isinstance(node.target, ast.Name):
            found: ast.expr = ast.Name(node.target.id, ast.Load())
        elif (write := write_to_a_part(node)) is None:
            return node
        elif write.at is None:
            found = write.holder
        else:
            found = ast.Subscript(write.holder, write.at, ast.Load())
        new = self._run("augmented_object", ast.Constant(OPERATORS[type(node.op)]), copied(found), copied(node.value))
        version = ast.Assign([copied(node.target)], new)
        done = place(ast.If(self._run("is_object", found), [version], [node]), node)
        if not isinstance(node.target, ast.Attribute) or _is_private(node.target):
            return done
        at = [unwrapped(node.target.value), ast.Constant(node.target.attr)]
        again = self._run("operated", new.args[0], self._run("attribute", *at), node.value)
        assigned = ast.Expr(self._run("assigned", again, node.target.value, at[1]))
        return place(ast.If(self._run("has_setter", *at), copied([assigned]), [done]), node)

    def test(self, node: ast.expr) -> ast.expr:
        found = super().test(node)
        is_known = isinstance(node, ast.BoolOp | ast.Compare | ast.Constant)
        return found if is_known else place(self._run("truth_of", found), node)

    def _iterable(self, node: ast.expr, counted: set[str], *around: ast.expr) -> Any:
        return place(self._run("iterated", super()._iterable(node, counted, *around)), node)

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        if not isinstance(node.ctx, ast.Load) or _is_private(node) or self._is_of_a_module(node):
            return super().visit_Attribute(node)
        self.generic_visit(node)
        return place(self._run("attribute", node.value, ast.Constant(node.attr)), node)

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        if not isinstance(node.ctx, ast.Load):
            return super().visit_Subscript(node)
        self.generic_visit(node)
        site = self._code.constant(ItemSite(node.lineno, self._code, None))
        index = outside_brackets(node.slice, self._code.constant(self._code.running))
        return place(self._run("item_at", site, node.value, index), node)

    def visit_Set(self, node: ast.Set) -> Any:
        self.generic_visit(node)
        node.elts = [self._hashed(part) for part in node.elts]
        return node

    def visit_Dict(self, node: ast.Dict) -> Any:
        self.generic_visit(node)
        node.keys = [part if part is None else self._hashed(part) for part in node.keys]
        return node

    def visit_SetComp(self, node: ast.SetComp) -> Any:
        super().visit_SetComp(node)
        node.elt = self._hashed(node.elt)
        return node

    def visit_DictComp(self, node: ast.DictComp) -> Any:
        super().visit_DictComp(node)
        node.key = self._hashed(node.key)
        return node

    def visit_MatchValue(self, node: ast.MatchValue) -> Any:
        return node  # a pattern has no calls in it

    def visit_MatchClass(self, node: ast.MatchClass) -> Any:
        return node

    def visit_MatchMapping(self, node: ast.MatchMapping) -> Any:
        return node

    def _operated(self, function: str, name: str, node: ast.expr, *operands: ast.expr) -> Any:
        if all(isinstance(operand, ast.Constant) for operand in operands):
            return node
        return place(self._run(function, ast.Constant(name), *operands), node)

    def _hashed(self, node: ast.expr) -> ast.expr:
        if isinstance(node, ast.Constant | ast.Starred):
            return node
        found: ast.expr = place(self._run("hashed", node), node)
        return found

    def _is_of_a_module(self, node: ast.Attribute) -> bool:
        """Whether this is `np.sin`, for example."""
        holder = node.value
        return (
            isinstance(holder, ast.Name)
            and holder.id not in self._visible
            and type(self._code.globals.get(holder.id)) is ModuleType
        )


def _is_private(node: ast.Attribute) -> bool:
    """Whether the compiler completes the name."""
    return node.attr.startswith("__") and not node.attr.endswith("__")
