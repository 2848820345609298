"""Reverse mode, number 3, as printed: types, the monad, and `Let` (Krawiec et al. 2022, Fig. 9 to 11, and 16).

1. `delta`: Delta terms and their evaluation in a map (Fig. 11).
2. `monad`: names for Delta terms, and the constants of the target language with their types (Fig. 11).
3. `translation`: the translation of types and of terms (Fig. 9).
4. `wrapper`: the reverse derivative from any first-order S to any first-order T, as a term (Fig. 16).
5. `meaning`: the vectors that Delta terms stand for (section 7).
6. `notation`: Delta terms as Fig. 12 prints them.
7. `fused`: a straight-line function that leaves one binding (Fig. 15).
8. `vectors`: two designs of vectors, as definitions that are linked to a program (8.3).
9. `primitive_vectors`: the third design, with vectors as primitive data (8.3).

The rooms `sharing` and `source_sharing` have the same construction in other clothes: by overloading, and with Delta
terms as values of the core language. The order of derivatives is one, as the target has constants that the source has
not (8.6).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shiftreset_ad.formulations.krawiec.monadic.delta import Var, Zero, empty_map, evaluated, lookup_or_zero
from shiftreset_ad.formulations.krawiec.monadic.monad import CONSTANTS, run_delta
from shiftreset_ad.formulations.krawiec.monadic.translation import translate
from shiftreset_ad.formulations.language import Term, free_variables, parse, run
from shiftreset_ad.formulations.language.discrete import Integer
from shiftreset_ad.formulations.language.sources import is_real
from shiftreset_ad.formulations.structures import Structure

APPLIED = parse("bind computation (fun f -> f x)")  # D{e} s0, where D{e} computes a function


def computation(f: Term) -> Callable[[Any], Any]:
    """The function that applies D{e} to a dual argument: its value is a computation.

    Raises TypeError if `f` is not a term, NameError for a free variable.
    """
    if not isinstance(f, Term):
        raise TypeError(f"grad: this room translates terms, and takes a term for a function; got {f!r}")
    free = sorted(free_variables(f))
    if free:
        raise NameError(f"grad: the term has the free variables {', '.join(free)}; bind them by let")
    translated = run(translate(f), CONSTANTS)
    return lambda x: run(APPLIED, {**CONSTANTS, "computation": translated, "x": x})


def grad(f: Term) -> Callable[[Any], Any]:
    """The gradient of the function that a closed term denotes, in the structure of its argument (Fig. 10).

    An integer in the argument is a real number that is held constant. Raises TypeError if `f` is not a term, for shift
    and reset, and for a result that is not a number.

    >>> grad(parse("fun x -> fst x * snd x"))((2.0, 3.0))
    (3.0, 2.0)
    """
    applied = computation(f)

    def gradient(x: Any) -> Any:
        inputs = Structure(x)
        names = [Integer(i + 1) for i in range(len(inputs.numbers))]
        duals = [(s, Var(uid)) for s, uid in zip(inputs.numbers, names, strict=True)]
        s0 = inputs.with_numbers(duals, lambda leaf: (leaf, Zero()) if is_real(leaf) else leaf)
        _, u = run_delta(Integer(len(names) + 1), applied(s0))
        final_map = evaluated(1.0, u, empty_map())
        return inputs.derivative([lookup_or_zero(uid, final_map) for uid in names])

    return gradient
