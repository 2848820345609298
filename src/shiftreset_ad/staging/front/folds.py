"""Comprehensions that a function reduces at once are loops: `sum(f(x) for x in xs if x > 0)` adds up in a `for`.

A comprehension has as many items as its filters and ranges say, and a record can have no list of a length that depends
on values. A sum, a count, a truth or an extreme of the items needs no list. So such a call has a second form, a
function with a loop, which is rewritten as the user's functions are. It is called where the filters or the range may be
staged, and for a sum of very many items.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from typing import Any

from shiftreset_ad.staging.front import long_loops
from shiftreset_ad.staging.front.blocks import CodeBlock, RewrittenCode
from shiftreset_ad.staging.front.facts import load, place
from shiftreset_ad.staging.front.frames import FrameVariables
from shiftreset_ad.staging.front.names import has
from shiftreset_ad.staging.front.nodes import Transformer, all_nodes, copied
from shiftreset_ad.staging.front.refusals import NO_FLOATS
from shiftreset_ad.staging.front.sequences import Sequential, sequential
from shiftreset_ad.staging.front.session import current
from shiftreset_ad.staging.front.sites import Site
from shiftreset_ad.staging.front.truths import has_no_effects

ITEMS = "_sr_items"  # what the outermost loop goes over
ADDS_ONE_BY_ONE = sys.version_info < (3, 12)  # later versions keep the rounding errors of floats

TOTAL = """
def _sr_fold(_sr_items, _sr_other):
    for _sr_target in _sr_items:
        _sr_other = _sr_other + _sr_element
    return _sr_other
"""
COUNT = """
def _sr_fold(_sr_items):
    _sr_count = 0
    for _sr_target in _sr_items:
        _sr_one = _sr_element
        _sr_count = _sr_count + 1
    return _sr_count
"""
ANY = """
def _sr_fold(_sr_items):
    for _sr_target in _sr_items:
        if _sr_element:
            return True
    return False
"""
ALL = """
def _sr_fold(_sr_items):
    for _sr_target in _sr_items:
        if not _sr_element:
            return False
    return True
"""
EXTREME = """
def _sr_fold({parameters}):
    _sr_is_found, _sr_extreme = False, 0.0
    for _sr_target in _sr_items:
        _sr_one = _sr_float(_sr_element)
        if not _sr_is_found or _sr_one {sign} _sr_extreme:
            _sr_extreme = _sr_one
        _sr_is_found = True
{end}
"""
APPENDED = """
def _sr_fold(_sr_items, _sr_list):
    for _sr_target in _sr_items:
        _sr_list.append(_sr_element)
    return _sr_list
"""
OTHER_OF_NO_ITEMS = "    return _sr_extreme if _sr_is_found else _sr_other"
ERROR_OF_NO_ITEMS = """\
    if not _sr_is_found:
        raise ValueError("there is no item")  # the function itself runs then, and raises Python's own error
    return _sr_extreme"""
FORMS: dict[Any, str] = {sum: TOTAL, len: COUNT, any: ANY, all: ALL}
SIGNS: dict[Any, str] = {min: "<", max: ">"}
NAMES = {f.__name__: f for f in (*FORMS, *SIGNS)}


class FoldSite(Site):
    """A call of a function that reduces a comprehension."""

    def __init__(self, line: int, code: RewrittenCode, function: Any, is_certain: bool) -> None:
        super().__init__(line, code, None)
        self._function = function
        self._is_certain = is_certain  # whether the loop is called whatever the items are
        self.loop: FunctionBlock

    def is_a_loop(self, f: Any, items: Any) -> bool:
        """Whether to call the loop, and not the function."""
        session = current()
        if session is None or f is not self._function or self in session.refusals:
            return False
        found = None if self._is_certain else sequential(items, session.control)
        return self._is_certain or (found is not None and (found.is_counted or self._is_long(found)))

    def _is_long(self, items: Sequential) -> bool:
        """Whether the loop may be written down for its length. A `sum` of Python's own may round in another way."""
        return self._function is sum and ADDS_ONE_BY_ONE and items.count > long_loops.MOST_STEPS

    def answer(self, items: Any, seen: Any, *other: Any) -> Any:
        """The answer of the loop."""
        return self.loop.on(FrameVariables(seen).cells)(items, *other)

    def float_of(self, x: Any) -> Any:
        """A float, as the least or greatest of no items is one, too. Otherwise the function is called, and asks."""
        session = current()
        if session is not None and not issubclass(session.control.type_of(x), float):
            session.refuse(self, NO_FLOATS)
        return x


class FunctionBlock(CodeBlock):
    """A function over the cells of a frame, in its rewritten form."""

    def __init__(self, code: RewrittenCode, function: ast.FunctionDef) -> None:
        super().__init__(code, [], set())
        self._function = function

    def _tree(self, names: list[str]) -> ast.FunctionDef:
        found: ast.FunctionDef = copied(self._function)
        return found


def is_fold(call: ast.Call) -> bool:
    """Whether a call reduces a comprehension, as far as the source tells it."""
    if not isinstance(call.func, ast.Name) or call.func.id not in NAMES or not call.args:
        return False
    comprehension = call.args[0]
    if not isinstance(comprehension, ast.ListComp if call.func.id == "len" else ast.GeneratorExp | ast.ListComp):
        return False
    return is_usual(comprehension) and others_of(call) is not None


def is_usual(comprehension: ast.GeneratorExp | ast.ListComp) -> bool:
    """Whether a loop can do what a comprehension does: nothing in it is bound outside of it, or waits."""
    is_unusual = has([comprehension], (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom))
    return not is_unusual and not any(part.is_async for part in comprehension.generators)


def loop_of(call: ast.Call, site: ast.expr) -> ast.FunctionDef:
    """The function with a loop that answers what a call answers; `site` stands for the site of the call.

    Its parameters are what the outermost loop goes over, and the second argument of the call, if there is one.
    """
    function, comprehension, others = NAMES[call.func.id], call.args[0], others_of(call)  # type: ignore[attr-defined]
    text = _extreme(function, bool(others)) if function in SIGNS else FORMS[function]
    return _loop_over(comprehension, text, site)


def loop_that_appends(comprehension: ast.ListComp) -> ast.FunctionDef:
    """The function with a loop that appends what a comprehension lists to a list.

    Its parameters are what the outermost loop goes over, and the list.
    """
    return _loop_over(comprehension, APPENDED, None)


def _loop_over(comprehension: Any, text: str, site: ast.expr | None) -> ast.FunctionDef:
    (loop,) = ast.parse(text).body
    for node in all_nodes(loop):
        for name in ("lineno", "col_offset", "end_lineno", "end_col_offset"):
            vars(node).pop(name, None)
    found: ast.FunctionDef = place(_Filled(comprehension, site).visit(loop), comprehension)
    return found


def fold_site(call: ast.Call, code: RewrittenCode, rewrite: Callable[[ast.FunctionDef], Any]) -> FoldSite:
    """The site of a call that reduces a comprehension, with the loop in its rewritten form."""
    site = FoldSite(call.lineno, code, NAMES[call.func.id], is_certain(call))  # type: ignore[attr-defined]
    site.loop = FunctionBlock(code, rewrite(loop_of(call, code.constant(site))))
    return site


def is_certain(call: ast.Call) -> bool:
    """Whether the loop of a call is called whatever the items are: there are filters, or effects, or inner ranges."""
    comprehension: Any = call.args[0]
    first, *inner = comprehension.generators
    is_truth = call.func.id in ("any", "all")  # type: ignore[attr-defined]
    if is_truth and isinstance(comprehension, ast.GeneratorExp):
        return not has_no_effects(comprehension)
    return bool(first.ifs) or any(part.ifs or _is_range(part.iter) for part in inner)


def without_filters(call: ast.Call) -> ast.Call:
    """A call of `any` or `all` whose filters are a part of the items, which are true or false."""
    comprehension: Any = call.args[0]
    (part,) = comprehension.generators
    if part.ifs and call.func.id == "any":  # type: ignore[attr-defined]
        comprehension.elt = ast.BoolOp(ast.And(), [*part.ifs, comprehension.elt])
    elif part.ifs:
        not_there: list[ast.expr] = [ast.UnaryOp(ast.Not(), test) for test in part.ifs]
        comprehension.elt = ast.BoolOp(ast.Or(), [*not_there, comprehension.elt])
    part.ifs = []
    return place(call, call)  # type: ignore[no-any-return]


def others_of(call: ast.Call) -> list[ast.expr] | None:
    """The second argument of a call, if it has one, or a sum's start; None if there are other arguments."""
    name = call.func.id  # type: ignore[attr-defined]
    if name == "sum" and len(call.args) == 2 and not call.keywords:
        others = call.args[1:]
    elif name in ("min", "max") and len(call.args) == 1 and [word.arg for word in call.keywords] == ["default"]:
        others = [call.keywords[0].value]
    elif len(call.args) == 1 and not call.keywords:
        others = [ast.Constant(0)] if name == "sum" else []
    else:
        return None
    return others if all(isinstance(other, ast.Constant | ast.Name | ast.UnaryOp) for other in others) else None


def _extreme(function: Any, has_other: bool) -> str:
    """The text of the loop for the least or the greatest item, or for another value where there is no item."""
    return EXTREME.format(
        parameters="_sr_items, _sr_other" if has_other else "_sr_items",
        sign=SIGNS[function],
        end=OTHER_OF_NO_ITEMS if has_other else ERROR_OF_NO_ITEMS,
    )


def _is_range(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range"


class _Filled(Transformer):
    """The loop with the parts of a comprehension in it."""

    def __init__(self, comprehension: Any, site: ast.expr | None) -> None:
        self._site = site
        self._generators = comprehension.generators
        self._element = comprehension.elt

    def visit_For(self, node: ast.For) -> Any:
        self.generic_visit(node)
        body = node.body
        for i, part in reversed([*enumerate(self._generators)]):
            for test in reversed(part.ifs):
                body = [ast.If(copied(test), body, [])]
            items = copied(part.iter) if i else load(ITEMS)
            body = [ast.For(copied(part.target), items, body, [])]
        return body[0]

    def visit_Name(self, node: ast.Name) -> Any:
        if node.id == "_sr_element":
            return copied(self._element)
        if node.id == "_sr_float" and self._site is not None:
            return ast.Attribute(self._site, "float_of", ast.Load())
        return node


class CallsAlone(Transformer):
    """The calls in what a comprehension goes over, in which Python allows no `:=`: each calls what `called` gives."""

    def __init__(self, called: Callable[[ast.expr], ast.expr]) -> None:
        self._called = called

    def visit_Call(self, node: ast.Call) -> Any:
        self.generic_visit(node)
        node.func = place(self._called(node.func), node.func)
        return node
