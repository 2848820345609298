"""Programs of the language that use `J` (Pearlmutter and Siskind 2008, section 5, and Newton's method
from the authors' distribution).

The authors' language has lists, and functions of several arguments. Here a point of the plane is a pair, and functions
are curried. The optimiser is steepest descent, with a golden-section search along each line. The paper's has the
functions mnbrak and golden of Numerical Recipes; mnbrak has parabolic steps, too, which are left out here.
"""

from __future__ import annotations

from shiftreset_ad.formulations.language.names import free_variables
from shiftreset_ad.formulations.language.parser import parse
from shiftreset_ad.formulations.language.terms import Let, Term

DEFINITIONS = {
    # The derivatives. One definition serves numbers and points.
    "gradient": """
        fun f -> fun x ->
          let (y, y_back) = (J f) (J x) in
          snd (y_back 1.0)
    """,
    "dot": """
        fun u -> fun v -> fst u * fst v + snd u * snd v
    """,
    "hessian_vector": """
        fun f -> fun x -> fun v ->
          gradient (fun x -> dot (gradient f x) v) x
    """,
    # Newton's method
    "root": """
        fun f -> fun start -> fun tolerance ->
          let rec improve x =
            let next = x - f x / gradient f x in
            if absolute (x - next) <= tolerance then next else improve next in
          improve start
    """,
    # Minimising along a line
    "bracket": """
        fun f -> fun ends ->
          let (l, u) = ends in
          let rec downhill state =
            let (a, rest) = state in
            let (b, f_b) = rest in
            let c = b + 1.61803399 * (b - a) in
            let f_c = f c in
            if f_b < f_c then (a, (b, c)) else downhill (b, (c, f_c)) in
          let f_l = f l in
          let f_u = f u in
          if f_u > f_l then downhill (u, (l, f_l)) else downhill (l, (u, f_u))
    """,
    "golden_section": """
        fun f -> fun points ->
          let (a, rest) = points in
          let (b, c) = rest in
          let long = 1.61803399 - 1.0 in
          let short = 1.0 - long in
          let rec narrow state =
            let (a, rest) = state in
            let (left_point, rest) = rest in
            let (right_point, c) = rest in
            let (left, f_left) = left_point in
            let (right, f_right) = right_point in
            if absolute (c - a) <= 0.001 * (absolute left + absolute right) then
              if f_left < f_right then left else right
            else
              if f_right < f_left then
                let new = long * right + short * c in
                narrow (left, (right_point, ((new, f new), c)))
              else
                let new = long * left + short * a in
                narrow (a, ((new, f new), (left_point, right))) in
          let inside =
            if absolute (c - b) > absolute (b - a)
            then (b, b + short * (c - b))
            else (b - short * (b - a), b) in
          let (left, right) = inside in
          narrow (a, ((left, f left), ((right, f right), c)))
    """,
    # Minimising in the plane
    "argmin": """
        fun f -> fun start -> fun epsilon ->
          let rec descend x =
            let slope = gradient f x in
            if hypot (fst slope) (snd slope) <= epsilon then x else
              let along = fun step -> (fst x + step * fst slope, snd x + step * snd slope) in
              let f_along = fun step -> f (along step) in
              descend (along (golden_section f_along (bracket f_along (-100.0, 100.0)))) in
          descend start
    """,
    "argmax": """
        fun f -> fun start -> fun epsilon -> argmin (fun x -> -(f x)) start epsilon
    """,
    "max": """
        fun f -> fun start -> fun epsilon -> f (argmax f start epsilon)
    """,
    # Two players: one minimises what the other maximises
    "saddle": """
        fun f -> fun start -> fun epsilon ->
          let x = argmin (fun x -> max (f x) start epsilon) start epsilon in
          (x, argmax (f x) start epsilon)
    """,
    "payoff": """
        fun x -> fun y ->
          let (s, t) = x in
          let (u, v) = y in
          s * s + t * t - (u * u + v * v)
    """,
}


def program(text: str) -> Term:
    """The term of a text, inside the definitions that it uses.

    >>> from shiftreset_ad.formulations.pearlmutter_siskind import run
    >>> run(program("gradient (gradient (fun x -> x * x * x)) 2.0"))
    np.float64(12.0)
    """
    term = parse(text)
    for name, definition in reversed(DEFINITIONS.items()):
        if name in free_variables(term):
            term = Let(name, parse(definition), term)
    return term


SADDLE = program("saddle payoff (1.0, 1.0) 0.01")
