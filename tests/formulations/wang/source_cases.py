"""Programs, terms up to the names of their variables, and their sizes: for the tests of the source transformations."""

import numpy as np

from shiftreset_ad.formulations.language import (
    Const,
    Lam,
    Left,
    Let,
    Right,
    Term,
    Var,
    children,
    distinct,
    free_variables,
    parse,
)

PROGRAMS = {
    "2x + x^3": ("fun x -> 2.0 * x + x * x * x", 3.0),
    "the argument": ("fun x -> x", 3.0),
    "a constant": ("fun x -> 2.0", 3.0),
    "an integer": ("fun x -> x * three", 3.0),
    "an answer in its own derivative": ("fun x -> exp x * sqrt x / tanh x", 0.7),
    "constant bases and exponents": ("fun x -> power x 2.0 + power 2.0 x + power x 3.0", -1.5),
    "a primitive of two": ("fun x -> arctan2 x (hypot x 2.0) - maximum x 1.0", 1.3),
    "steps have no derivative": ("fun x -> x * floor x + x * sign (-x)", 2.5),
    "shadowed names": ("fun x -> let x = x * x in let y = x in let x = sin x in (fun x -> x * y) x", 0.7),
    "names of the translation": ("fun y -> let k = y * y in let a = fun k -> k * y in let y' = a k in a y'", 1.1),
    "a program that is a let": ("let c = 3.0 * 2.0 in fun x -> c * x", 1.1),
    "a program that is a call": ("(fun c -> fun x -> c * x * x) 3.0", 1.1),
    "a function that captures": ("fun x -> let f = fun y -> x * y in f (f 2.0) + f x", 1.5),
    "functions of functions": (
        "fun x -> let twice = fun f -> fun y -> f (f y) in twice (twice (fun z -> sin z)) x",
        1.5,
    ),
    "functions in pairs": ("fun x -> let p = (fun y -> y * x, fun y -> y + x) in fst p (snd p x)", 1.5),
    "a conditional": ("fun x -> if x * x < 2.0 then x * x else sin x", 1.2),
    "a conditional that is an operand": ("fun x -> (if x < 1.0 then x * x else x) * (if x > 1.0 then 2.0 else x)", 1.2),
    "a call that is a condition": ("fun x -> let f = fun y -> y * x < 3.0 in if f x then f (x * x); x else x * x", 1.2),
    "a case of a call": (
        "fun x -> let f = fun y -> inr (y, x) in x * (case f (x * x) of a -> 1.0 | b -> fst b * snd b)",
        1.2,
    ),
    "recursion": ("fun x -> let rec f n = if n < 1.0 then 1.0 else x * f (n - 1.0) in f 5.0", 1.1),
    "a constant that is a list": (
        "fun x -> case numbers of a -> 1.0 | b -> fst b * x + (case snd b of c -> x | d -> 1.0)",
        1.1,
    ),
    "a cell": ("fun x -> let r = ref x in r := !r * x; r := !r * x; !r", 1.5),
    "a cell in a cell": ("fun x -> let r = ref (ref x) in !r := x * x; let s = !r in r := ref 2.0; !s * ! !r", 1.5),
    "a read before a write": ("fun x -> let r = ref x in !r * (r := x * x; !r) + !r", 1.5),
    "a read before a call": ("fun x -> let r = ref x in let f = fun y -> r := y * y; y in !r * f 3.0 * !r", 1.5),
    "a write before a read": ("fun x -> let r = ref x in let f = fun y -> !r * y in fst (!r, r := x * x) * f x", 1.5),
    "a function from a cell": (
        "fun x -> let r = ref (fun y -> y * x) in let f = fun y -> r := (fun z -> z); y * y in !r (f x) + !r x",
        1.5,
    ),
    "a cell to write to from a cell": (
        "fun x -> let r = ref (ref x) in let f = fun y -> r := ref 2.0; y in let s = !r in !r := f 3.0; x * !s * ! !r",
        1.5,
    ),
    "a comparison of what a call changes": (
        "fun x -> let r = ref x in let f = fun y -> r := 9.0; y in if !r < f 2.0 then x * x else x * !r",
        1.5,
    ),
    "a counter": ("fun x -> let r = ref 1.0 in let f = fun y -> r := !r * y; !r in f x + f x + f x", 1.5),
}
STRUCTURES = {
    "a pair": ("fun p -> fst p * sin (snd p)", (2.0, 0.5)),
    "nested pairs": ("fun p -> fst (snd p) * snd (snd p) * fst p", (2.0, (0.5, 3.0))),
    "one that is not used": ("fun p -> fst p * fst p", (2.0, 0.5)),
    "a unit": ("fun p -> fst p * fst p", (2.0, ())),
}
# Terms without arithmetic and numbers, to which the homomorphic rules of Fig. 4 and 9 leave each construct.
HOMOMORPHIC = [
    "case p of a -> fst a | b -> snd b",
    "case f (inl x) of a -> f (a, a) | b -> b",
    "let y = f x in (y, fun z -> g y z)",
    "let r = ref x in r := !s; !r",
    "(inl x, inr (fst p, snd p))",
    "fun f -> f (fun x -> f x)",
]
CONSTANTS = {"three": 3, "numbers": Right((2.0, Left(True)))}


def program(text: str) -> Term:
    """The term, in which constants that have no text are bound."""
    term = parse(text)
    for name in sorted(free_variables(term)):
        term = Let(name, Const(CONSTANTS[name]), term)
    return term


def same_up_to_names(a: Term, b: Term) -> bool:
    """Whether two terms differ only in the names of bound variables: with distinct names, the names correspond."""
    there, back = {}, {}
    waiting = [(distinct(a), distinct(b))]
    while waiting:
        a, b = waiting.pop()
        if type(a) is not type(b):
            return False
        for field in a.__match_args__:
            p, q = getattr(a, field), getattr(b, field)
            if isinstance(p, str) and not isinstance(a, Const):
                if there.setdefault(p, q) != q or back.setdefault(q, p) != p:
                    return False
            elif not isinstance(p, (Term, tuple)) and p != q:
                return False
        if len(children(a)) != len(children(b)):
            return False
        waiting.extend(zip(children(a), children(b), strict=True))
    return True


def size(term: Term) -> int:
    """The number of constructs in a term."""
    number, waiting = 0, [term]
    while waiting:
        number += 1
        waiting.extend(children(waiting.pop()))
    return number


def chain(n: int) -> Term:
    """fun x -> let x = 0.9 * sin x in let x = ... in x"""
    body: Term = Var("x")
    for _ in range(n):
        body = Let("x", 0.9 * np.sin(Var("x")), body)
    return Lam("x", body)


def chain_slope(n: int, x: float) -> float:
    """Its derivative."""
    slope = 1.0
    for _ in range(n):
        slope, x = slope * 0.9 * np.cos(x), 0.9 * np.sin(x)
    return slope
