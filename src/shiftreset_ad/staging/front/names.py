"""The names that a block binds and reads, in its own scope, and those that the functions in it share."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Set
from typing import Any, NamedTuple

from shiftreset_ad.staging.front.facts import facts
from shiftreset_ad.staging.front.nodes import Transformer, all_nodes, children_of

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
SCOPES = (*FUNCTIONS, ast.ClassDef)
BINDING = {
    *(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.alias, ast.Expr, ast.ExceptHandler),
    *(ast.MatchAs, ast.MatchStar, ast.MatchMapping),
}
LOOPS = (ast.While, ast.For)
INSIDE = (ast.With, ast.Try)  # statements that have something to do when they are left
LOOKS_UP_NAMES = {"locals", "vars", "dir", "eval", "exec"}  # functions that see variables by their names
SEES_ITS_FRAME = LOOKS_UP_NAMES | {"super", "globals"}


def in_scope(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """The nodes that are carried out in the scope of these nodes: not those in the bodies of functions and classes."""
    waiting = [*nodes][::-1]
    while waiting:
        yield (node := waiting.pop())
        waiting += reversed(parts_in_scope(node))


def statements_in_scope(nodes: Iterable[ast.AST]) -> Iterator[ast.stmt]:
    """The statements among these nodes, and those in their blocks, in the same scope."""
    waiting = [node for node in nodes if isinstance(node, ast.stmt)][::-1]
    while waiting:
        yield (statement := waiting.pop())
        for block in reversed(blocks_of(statement)):
            waiting += reversed(block)


class InScope(Transformer):
    """It leaves functions and classes alone."""

    def visit(self, node: ast.AST) -> Any:
        return node if isinstance(node, SCOPES) else super().visit(node)


def parts_in_scope(node: ast.AST) -> list[ast.AST]:
    """The parts of a node that are carried out in the scope of the node."""
    if type(node) not in SCOPES:  # the usual case, for speed
        return children_of(node)
    if isinstance(node, ast.ClassDef):
        return [*node.decorator_list, *node.bases, *node.keywords]
    if isinstance(node, FUNCTIONS):
        arguments = node.args
        defaults = [*arguments.defaults, *[default for default in arguments.kw_defaults if default is not None]]
        return [*defaults, *([] if isinstance(node, ast.Lambda) else node.decorator_list)]
    return children_of(node)


def bound_by(nodes: Iterable[ast.AST]) -> set[str]:
    """The names that these nodes bind, or delete, in their own scope."""
    found: set[str] = set()
    waiting = [*nodes]
    while waiting:
        node = waiting.pop()
        kind = type(node)
        if kind is ast.Name:
            if type(node.ctx) is not ast.Load:  # type: ignore[attr-defined]
                found.add(node.id)  # type: ignore[attr-defined]
        elif kind in COMPREHENSIONS:  # its own variables are not of this scope
            found.update(part.target.id for part in in_scope([node]) if isinstance(part, ast.NamedExpr))
        else:
            if kind in BINDING:
                found |= _bound_by_one(node)
            waiting += parts_in_scope(node)
    return found


def _bound_by_one(node: Any) -> Set[str]:
    """The names that a node of these kinds binds, beside those in it that are stored to."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {facts(node).variable or node.name}
    if isinstance(node, ast.alias):
        return {(node.asname or node.name).partition(".")[0]}
    if isinstance(node, ast.Expr):
        return facts(node).visits or frozenset()
    name = node.rest if isinstance(node, ast.MatchMapping) else node.name
    return set() if name is None else {name}


def written_by(nodes: Iterable[ast.AST]) -> set[str]:
    """The names of the arrays, lists and dicts to which these nodes may write in place."""
    found: set[str] = set()
    for node in in_scope(nodes):
        if (statement := write_in_place(node)) is not None:
            found.add(statement.name)
        found |= items_written_together(node)
    return found


def items_written_together(node: ast.AST) -> set[str]:
    """The names whose items a statement with several targets writes to, such as `x[i], x[j] = x[j], x[i]`."""
    if not isinstance(node, ast.Assign):
        return set()
    names = {name.id for name in _containers_together(node) if isinstance(name, ast.Name)}
    return names - bound_by(node.targets)


def parts_written_together(node: ast.Assign) -> list[ast.expr]:
    """The attributes and items whose items such a statement writes to: `o.x` and `o.y` of `o.x[i], o.y[i] = a, b`."""
    return [part for part in _containers_together(node) if not isinstance(part, ast.Name) and _is_path(part)]


def _containers_together(node: ast.Assign) -> list[ast.expr]:
    """The containers whose items a statement with several targets writes to."""
    if not has_several_targets(node) or any(isinstance(part, ast.NamedExpr) for part in all_nodes(node)):
        return []
    parts = [part for target in node.targets for part in all_nodes(target)]
    return [_container(part) for part in parts if isinstance(part, ast.Subscript) and isinstance(part.ctx, ast.Store)]


def has_several_targets(node: ast.Assign) -> bool:
    return len(node.targets) > 1 or isinstance(node.targets[0], ast.Tuple | ast.List)


class WriteInPlace(NamedTuple):
    """`x[at] = value`, `x[at] += value`, or `x += value`: the name, and what the statement has of the others."""

    name: str
    at: ast.expr | None
    value: ast.expr
    operator: ast.operator | None


def write_in_place(node: ast.AST) -> WriteInPlace | None:
    """The parts of a statement that may write to the array of a variable; None if it is no such statement."""
    if not isinstance(node, ast.AugAssign) and not (isinstance(node, ast.Assign) and len(node.targets) == 1):
        return None
    target = node.target if isinstance(node, ast.AugAssign) else node.targets[0]
    operator = node.op if isinstance(node, ast.AugAssign) else None
    if any(isinstance(part, ast.NamedExpr) for part in all_nodes(node)):
        return None
    if isinstance(target, ast.Subscript) and isinstance(name := _container(target), ast.Name):
        return WriteInPlace(name.id, target.slice, node.value, operator)
    if isinstance(target, ast.Name) and operator is not None:
        return WriteInPlace(target.id, None, node.value, operator)
    return None


class WriteToAPart(NamedTuple):
    """`o.x[at] = value`, `o.x[at] += value`, or `o.x += value`: the `holder` of what is written to, or `o.x` itself."""

    holder: ast.expr
    at: ast.expr | None
    value: ast.expr
    operator: ast.operator | None
    target: ast.expr


def write_to_a_part(node: ast.Assign | ast.AugAssign) -> WriteToAPart | None:
    """The parts of a statement that may write to an array that an attribute or an item holds.

    None if it is no such statement, or calls something to find the array: then the call would be made twice.
    """
    if isinstance(node, ast.Assign) and len(node.targets) != 1:
        return None
    target = node.target if isinstance(node, ast.AugAssign) else node.targets[0]
    operator = node.op if isinstance(node, ast.AugAssign) else None
    if isinstance(target, ast.Subscript):
        holder, at = _container(target), target.slice
        is_found_again = _is_path(holder) and (operator is None or _is_path(at))
    elif isinstance(target, ast.Attribute) and operator is not None:
        holder, at = ast.Attribute(unwrapped(target.value), target.attr, ast.Load()), None
        is_found_again = _is_path(holder)
    else:
        return None
    return WriteToAPart(holder, at, node.value, operator, target) if is_found_again else None


def _is_path(node: ast.expr) -> bool:
    """Whether an expression looks things up, and calls nothing but functions of the front end."""
    calls = [part for part in all_nodes(node) if isinstance(part, ast.Call)]
    return all(
        isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Constant) for call in calls
    ) and not any(isinstance(part, ast.NamedExpr | ast.Lambda | ast.Await) for part in all_nodes(node))


def unwrapped(holder: ast.expr) -> ast.expr:
    """The holder of an attribute or an item that is written to, without what stands for it."""
    is_wrapped = isinstance(holder, ast.Call) and isinstance(holder.func, ast.Attribute)
    is_ours = is_wrapped and holder.func.attr in ("changing", "writable", "writable_rows")  # type: ignore[attr-defined]
    return holder.args[0] if is_ours else holder  # type: ignore[attr-defined]


def _container(target: ast.Subscript) -> ast.expr:
    """The container of an item that is written to."""
    is_wrapped = facts(target).is_written and isinstance(target.value, ast.Call)
    return target.value.args[0] if is_wrapped else target.value  # type: ignore[attr-defined]


def read_by(nodes: Iterable[ast.AST]) -> set[str]:
    """The names that these nodes read, and that the functions in them see from outside."""
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, FUNCTIONS):
            found |= read_by(parts_in_scope(node)) | free_in(node)
        elif isinstance(node, COMPREHENSIONS):
            parts = list(children_of(node))
            found |= read_by(parts) - {name for part in node.generators for name in bound_by([part.target])}
            found |= read_by([node.generators[0].iter])
        elif isinstance(node, ast.Name):
            if not isinstance(node.ctx, ast.Store):
                found.add(node.id)
        else:
            if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
                found.add(node.target.id)
            found |= read_by(children_of(node))
    return found


def free_in(function: ast.AST) -> set[str]:
    """The names that a function sees from outside, or binds outside."""
    body = body_of(function)
    return (read_by(body) | declared(body, ast.Nonlocal)) - own_names(function)


def body_of(function: Any) -> list[ast.AST]:
    return [function.body] if isinstance(function, ast.Lambda) else list(function.body)


def own_names(function: Any) -> set[str]:
    """The local variables of a function."""
    body = body_of(function)
    return (parameters_of(function) | bound_by(body)) - declared(body, ast.Nonlocal) - declared(body, ast.Global)


def parameters_of(function: Any) -> set[str]:
    """The names of the parameters of a function."""
    arguments = function.args
    parameters = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
    return {parameter.arg for parameter in parameters if parameter is not None}


def declared(nodes: Iterable[ast.AST], kind: type[ast.Global] | type[ast.Nonlocal]) -> set[str]:
    """The names that are declared in this scope to be global, or not local."""
    return {name for node in statements_in_scope(nodes) if isinstance(node, kind) for name in node.names}


def captured_in(nodes: Iterable[ast.AST]) -> set[str]:
    """The names that functions and classes in these nodes see from outside: they may read them at any time.

    The body of a loop is not called but by the loop.
    """
    found: set[str] = set()
    for node in in_scope(nodes):
        if isinstance(node, FUNCTIONS):
            is_of_a_loop = facts(node).visits is not None
            found |= captured_in(body_of(node)) - own_names(node) if is_of_a_loop else free_in(node)
        elif isinstance(node, ast.ClassDef):
            found |= read_by(node.body)
        elif isinstance(node, ast.GeneratorExp):
            found |= read_by([node])
    return found


def rebound_in(nodes: Iterable[ast.AST]) -> set[str]:
    """The names of this scope that functions in these nodes bind, by `nonlocal`."""
    found: set[str] = set()
    for node in in_scope(nodes):
        if isinstance(node, FUNCTIONS):
            body = body_of(node)
            is_of_a_loop = facts(node).visits is not None
            found |= (rebound_in(body) | (set() if is_of_a_loop else declared(body, ast.Nonlocal))) - own_names(node)
        elif isinstance(node, ast.ClassDef):
            found |= rebound_in(node.body) | declared(node.body, ast.Nonlocal)
    return found


def surely_bound_by(body: Iterable[ast.stmt]) -> set[str]:
    """The names that have a value after these statements, whatever way they have taken."""
    found: set[str] = set()
    for statement in body:
        if isinstance(statement, ast.If):
            goes_on = [surely_bound_by(part) for part in (statement.body, statement.orelse) if not always_raises(part)]
            found |= set.intersection(*goes_on) if goes_on else set()
        elif isinstance(statement, ast.With):
            found |= bound_by(statement.items)
        elif not isinstance(statement, ast.While | ast.For | ast.Try | ast.TryStar | ast.Match):
            found |= bound_by([statement])
    return found


def always_raises(body: Iterable[ast.stmt]) -> bool:
    """Whether these statements end with an error, by `raise`, whatever way they take."""
    for statement in body:
        if is_left_by_a_jump(statement):
            return False
        if isinstance(statement, ast.Raise):
            return True
        if isinstance(statement, ast.If) and always_raises(statement.body) and always_raises(statement.orelse):
            return True
    return False


def has(nodes: Iterable[ast.AST], kinds: Any) -> bool:
    """Whether there is a node of these kinds in this scope."""
    return any(isinstance(node, kinds) for node in in_scope(nodes))


def deletes_what_lives(nodes: Iterable[ast.AST], live: Collection[str]) -> bool:
    """Whether these nodes delete an item or an attribute, or a variable that is read later."""
    deletions = [node for node in in_scope(nodes) if isinstance(node, ast.Delete)]
    targets = [target for node in deletions for target in node.targets]
    return any(not isinstance(target, ast.Name) or target.id in live for target in targets)


def is_left_by_a_jump(statement: ast.stmt) -> bool:
    """Whether a `return`, `break` or `continue` in a statement leaves the statement."""
    return _has_jump([statement], False)


def _has_jump(statements: Iterable[ast.stmt], in_loop: bool) -> bool:
    for statement in statements:
        if isinstance(statement, ast.Return) or (isinstance(statement, ast.Break | ast.Continue) and not in_loop):
            return True
        if isinstance(statement, LOOPS):
            if _has_jump(statement.body, True) or _has_jump(statement.orelse, in_loop):
                return True
        elif any(_has_jump(block, in_loop) for block in blocks_of(statement)):
            return True
    return False


def blocks_of(statement: ast.stmt) -> list[list[ast.stmt]]:
    """The blocks of statements in a statement, in the same scope."""
    if isinstance(statement, SCOPES):
        return []
    parts = [statement, *getattr(statement, "handlers", []), *getattr(statement, "cases", [])]
    return [getattr(part, field) for part in parts for field in ("body", "orelse", "finalbody") if hasattr(part, field)]
