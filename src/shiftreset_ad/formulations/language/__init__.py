"""The core language of Wang et al. 2019, Fig. 3: syntax, text, and two interpreters.

`parse` and `show` turn text into terms and back; `evaluate` runs a term as Python, and `run` on a machine whose
continuations are values. The source transformations of the papers are functions from terms to terms.
"""

from shiftreset_ad.formulations.language.derived import (
    FALSE,
    TRUE,
    UNIT,
    add_to,
    branch,
    if_then_else,
    leaf,
    let_pair,
    letrec,
    list_of,
    repeat,
    sequence,
    unary,
)
from shiftreset_ad.formulations.language.interpreter import as_function, evaluate
from shiftreset_ad.formulations.language.machine import call, run
from shiftreset_ad.formulations.language.names import (
    Names,
    distinct,
    free_variables,
    renamed,
    with_children,
    with_parts,
)
from shiftreset_ad.formulations.language.parser import parse
from shiftreset_ad.formulations.language.printer import show
from shiftreset_ad.formulations.language.recursion import Recursion, answer_of, for_each
from shiftreset_ad.formulations.language.symbols import partial_terms
from shiftreset_ad.formulations.language.terms import (
    App,
    Assign,
    Case,
    Const,
    Deref,
    Fst,
    Inl,
    Inr,
    Lam,
    Let,
    Pair,
    Primitive,
    Ref,
    Reset,
    Shift,
    Snd,
    Term,
    Var,
    children,
)
from shiftreset_ad.formulations.language.values import Cell, Left, Right

__all__ = [
    "FALSE",
    "TRUE",
    "UNIT",
    "App",
    "Assign",
    "Case",
    "Cell",
    "Const",
    "Deref",
    "Fst",
    "Inl",
    "Inr",
    "Lam",
    "Left",
    "Let",
    "Names",
    "Pair",
    "Primitive",
    "Recursion",
    "Ref",
    "Reset",
    "Right",
    "Shift",
    "Snd",
    "Term",
    "Var",
    "add_to",
    "answer_of",
    "as_function",
    "branch",
    "call",
    "children",
    "distinct",
    "evaluate",
    "for_each",
    "free_variables",
    "if_then_else",
    "leaf",
    "let_pair",
    "letrec",
    "list_of",
    "parse",
    "partial_terms",
    "renamed",
    "repeat",
    "run",
    "sequence",
    "show",
    "unary",
    "with_children",
    "with_parts",
]

# The text of a term is the text that `parse` takes. It is set here, where the language is put together.
Term.__str__ = show  # type: ignore[assignment]
