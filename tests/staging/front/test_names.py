"""The names that statements bind in their own scope."""

import ast

import pytest

from shiftreset_ad.staging.front.names import bound_by, declared, is_left_by_a_jump, own_names


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a = b.c = d[e] = 1", {"a"}),
        ("for a, (b, *c) in d:\n e += 1", {"a", "b", "c", "e"}),
        ("[(a := b) for b in c if (d := b)]", {"a", "d"}),
        ("{a: [(b := a) for c in a] for a in d}", {"b"}),
        ("f(lambda a: (b := a), (c := 1))", {"c"}),
        ("def f(a=(b := 1)):\n c = 1", {"f", "b"}),
        ("@(a := f)\nclass C(b := D, e=(g := 1)):\n c = 1", {"C", "a", "b", "g"}),
        ("import a.b, c as d\nfrom e import g", {"a", "d", "g"}),
        ("try: pass\nexcept E as a: b = 1\nexcept F: c = 1", {"a", "b", "c"}),
        ("match x:\n case {'k': a, **b}: pass\n case [c, *d] | C(e=(1 as d)): pass\n case [*_]: pass", set("abcd")),
        ("with f() as (a, b): del c", {"a", "b", "c"}),
    ],
)
def test_bound_names(text, names):
    assert bound_by(ast.parse(text).body) == names


def test_declarations_are_found_in_all_blocks_of_the_scope():
    text = (
        "def f(x):\n if x:\n  global a\n  a = b = 1\n else:\n  while x:\n   try: pass\n   finally:\n    global c\n"
        " match x:\n  case 1:\n   global d\n def g():\n  global e\n c = d = e = 1"
    )
    (function,) = ast.parse(text).body
    assert declared(function.body, ast.Global) == {"a", "c", "d"}
    assert own_names(function) == {"x", "b", "g", "e"}


@pytest.mark.parametrize(
    ("text", "is_left"),
    [
        ("if x: return", True),
        ("if x:\n def f(): return 1", False),
        ("while x:\n break\nelse: pass", False),
        ("while x: pass\nelse: continue", True),
        ("for x in y:\n with z: return", True),
        ("try: pass\nexcept E: break", True),
        ("match x:\n case 1: break", True),
    ],
)
def test_jumps_out_of_a_statement(text, is_left):
    assert is_left_by_a_jump(ast.parse(text).body[0]) == is_left
