"""Each formulation of differentiation in the papers is a room, and all rooms use one table of partial derivatives.

A room is small, stands alone, and can be read beside its paper; `ROOMS` is the table of all rooms. They have a common
interface, `grad(f)` for a function of one structured argument. So they are oracles for one another, and for the
library's own `grad`: the tests run the same random programs through all of them. Rooms share only syntax: Python's
(`overloading`, `structures`), and the core language in which the papers write transformations (`language`).

>>> from shiftreset_ad.formulations import ROOMS
>>> program = "fun x -> let y = x * x in y * sin y"
>>> from shiftreset_ad.formulations.language import parse
>>> {round(float(room.grad(parse(program))(1.5)), 12) for room in ROOMS}
{-1.905952362715}
"""

from shiftreset_ad.formulations.rooms import Room

WANG = "Wang et al. 2019"
PEARLMUTTER_SISKIND = "Pearlmutter and Siskind 2008"
KRAWIEC = "Krawiec et al. 2022"
NO_REFERENCES = frozenset({"references"})

ROOMS = (
    Room(
        "forward mode with tags",
        "wang.forward",
        WANG,
        "2.3 to 2.5",
        "a number carries its derivative; tags keep nested derivatives apart",
        "a pass for each input",
    ),
    Room(
        "explicit CPS",
        "wang.explicit_cps",
        WANG,
        "3.1, Fig. 7",
        "an operation is handed the rest of the program, runs it, and then accumulates",
        "programs must be written in continuation-passing style; nests on Python's stack",
        style="cps",
        order=1,
    ),
    Room(
        "shift and reset",
        "wang.shift_reset",
        WANG,
        "3.2, Fig. 8",
        "the same for programs in direct style: an operation captures the rest of the program",
        "derivatives of derivatives: there is one level",
        order=1,
    ),
    Room(
        "prompts",
        "wang.prompts",
        WANG,
        "3.7",
        "each derivative has a prompt of its own, and so they nest",
        "",
    ),
    Room(
        "tape of closures",
        "wang.tape",
        WANG,
        "3.5, Fig. 12",
        "the way back as one function that grows: the continuations, refunctionalised",
        "",
    ),
    Room(
        "tape of data",
        "wang.defunctionalised_tape",
        WANG,
        "3.5",
        "the same as a list of entries with an interpreter: the usual tape",
        "",
    ),
    Room(
        "store passing",
        "wang.store_passing",
        WANG,
        "3.6",
        "no mutation: adjoints are in an immutable store, which is passed along",
        "programs must be written in continuation-passing style; nests on Python's stack",
        style="cps",
        order=1,
    ),
    Room(
        "CPS inside shift/reset",
        "wang.cps_inside_shift_reset",
        WANG,
        "3.7, supplement",
        "second derivatives by two ways of capturing the rest of the program",
        "grad of grad: second order is by hvp, second_derivative and hessian; nests on Python's stack",
        order=1,
    ),
    Room(
        "forward over reverse",
        "wang.forward_over_reverse",
        WANG,
        "3.7",
        "tangents of adjoints: a Hessian times a vector in one pass",
        "",
    ),
    Room(
        "source: forward",
        "wang.source_forward",
        WANG,
        "Fig. 4",
        "forward mode as a map from terms to terms",
        "a pass for each input",
        style="terms",
        derivative_by="transform",
    ),
    Room(
        "source: shift/reset in the target",
        "wang.source_shift_reset",
        WANG,
        "Fig. 9",
        "reverse mode as a map from terms to terms with shift and reset",
        "a transformation of its own output, as the source language has no shift and reset",
        style="terms",
        order=1,
    ),
    Room(
        "source: shift/reset in the translator",
        "wang.source_meta",
        WANG,
        "Fig. 10",
        "the translator captures its own continuation, and the target is in CPS",
        "",
        style="terms",
        derivative_by="transform",
    ),
    Room(
        "source: CPS",
        "wang.source_cps",
        WANG,
        "Fig. 11",
        "the same with a translator in CPS: no shift and reset anywhere",
        "",
        style="terms",
        derivative_by="transform",
    ),
    Room(
        "backpropagators",
        "pearlmutter_siskind",
        PEARLMUTTER_SISKIND,
        "4",
        "J is a function of the language, and applies to closures and to itself",
        "references",
        style="terms",
        without=NO_REFERENCES,
    ),
    Room(
        "reverse by closures",
        "karczmarczuk",
        "Karczmarczuk 2000, in Pearlmutter and Siskind's slides",
        "a fatal flaw",
        "a number carries its backpropagator: correct, and exponential where results are shared",
        "anything large",
    ),
    Room(
        "duals",
        "krawiec.duals",
        KRAWIEC,
        "4, Fig. 3 and 4",
        "forward mode by dual numbers",
        "a pass for each input",
    ),
    Room(
        "source: duals",
        "krawiec.source_duals",
        KRAWIEC,
        "4, Fig. 3 and 4",
        "the same as a map from terms to terms",
        "a pass for each input",
        style="terms",
        order=1,
    ),
    Room(
        "dense vectors",
        "krawiec.dense",
        KRAWIEC,
        "5.1, Fig. 5 and 6",
        "the tangent is the whole gradient: reverse mode, number 1",
        "an operation costs as much as there are inputs",
    ),
    Room(
        "Delta terms",
        "krawiec.delta",
        KRAWIEC,
        "5.2, Fig. 7 and 8",
        "the gradient as a term that is evaluated at the end: reverse mode, number 2",
        "exponential where results are shared",
    ),
    Room(
        "Delta terms with sharing",
        "krawiec.sharing",
        KRAWIEC,
        "5.3, Fig. 9 to 11",
        "a monad names each result, and evaluation visits each name once: linear time",
        "",
    ),
    Room(
        "source: sharing",
        "krawiec.source_sharing",
        KRAWIEC,
        "5.3, Fig. 9 to 11",
        "the monadic translation, as a map from terms to terms",
        "derivatives of derivatives: the way back is no term; programs with shift and reset",
        style="terms",
        order=1,
    ),
    Room(
        "monadic translation with Let",
        "krawiec.monadic",
        KRAWIEC,
        "5.3, Fig. 9 to 11; 9, Fig. 16",
        "the paper's figures as they are printed, with types: the reverse derivative of a term is a term",
        "derivatives of derivatives: the target has constants that the source has not; programs with shift and reset",
        style="terms",
        order=1,
    ),
    Room(
        "array-backed",
        "krawiec.array_backed",
        KRAWIEC,
        "5.3.3",
        "the same with mutable arrays in place of maps",
        "",
    ),
    Room(
        "structured",
        "krawiec.structured",
        KRAWIEC,
        "9, Fig. 16",
        "structured arguments and results: pullbacks and rows of the Jacobian",
        "",
    ),
    Room(
        "arrays",
        "krawiec.arrays",
        KRAWIEC,
        "8.3",
        "arrays by build and index, where an index costs O(1) on the way back",
        "arrays of more than one dimension",
    ),
    Room(
        "fusion",
        "krawiec.fusion",
        KRAWIEC,
        "8.7, Fig. 15",
        "a function whose own way back runs at once, and leaves one binding",
        "fused functions that use active numbers from outside",
    ),
)

__all__ = ["ROOMS", "Room"]
