"""Programs of the language that use `J` (Pearlmutter and Siskind 2008, section 5, and Newton's method
from the authors' distribution).

The authors' language has lists, and functions of several arguments. Here a point of the plane is a pair, and functions
are curried. The optimiser is steepest descent with a line search by mnbrak and golden, functions of Numerical Recipes.
As in the authors' program `saddle`, the line search starts from -100 and 100, and its tolerance is 0.001, whatever
epsilon is. The functions whose names end with `_by` take a gradient, for which there is forward mode, too.
"""

from __future__ import annotations

from shiftreset_ad.formulations.language.names import free_variables
from shiftreset_ad.formulations.language.parser import parse
from shiftreset_ad.formulations.language.terms import Let, Term

DEFINITIONS = {
    # The derivatives. One definition of the reverse derivative serves numbers and points.
    "gradient": """
        fun f -> fun x ->
          let (y, y_back) = (J f) (J x) in
          snd (y_back 1.0)
    """,
    "forward_derivative": """
        fun f -> fun x -> tangent ((J_forward f) (bundle (x, 1.0)))
    """,
    # Of a function on the plane, in two passes
    "forward_gradient": """
        fun f -> fun x ->
          let along = fun x_dot -> tangent ((J_forward f) (bundle (x, x_dot))) in
          (along (1.0, 0.0), along (0.0, 1.0))
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
    # Minimising along a line: a translation of mnbrak and golden of Numerical Recipes
    "mnbrak": """
        fun f -> fun ends ->
          let gold = 1.61803399 in
          let glimit = 100.0 in
          let tiny = 1.0e-20 in
          let with_sign = fun x -> fun y -> if y < 0.0 then -x else x in
          let at = fun x -> (x, f x) in
          let beyond = fun b -> fun c -> at (c + (c - b) * gold) in
          let rec loop state =
            let (a, rest) = state in
            let (b, c) = rest in
            let (ax, fa) = a in
            let (bx, fb) = b in
            let (cx, fc) = c in
            if fb < fc then (ax, (bx, cx)) else
              let r = (bx - ax) * (fb - fc) in
              let q = (bx - cx) * (fb - fa) in
              let ux = bx - ((bx - cx) * q - (bx - ax) * r)
                            / (with_sign (maximum (absolute (q - r)) tiny) (q - r) * 2.0) in
              let ul = bx + (cx - bx) * glimit in
              if (bx - ux) * (ux - cx) > 0.0 then
                let (ux, fu) = at ux in
                if fu < fc then (bx, (ux, cx)) else
                if fu > fb then (ax, (bx, ux)) else loop (b, (c, beyond bx cx))
              else if (cx - ux) * (ux - ul) > 0.0 then
                let (ux, fu) = at ux in
                if fu < fc then loop (c, ((ux, fu), beyond cx ux)) else loop (b, (c, (ux, fu)))
              else if (ux - ul) * (ul - cx) >= 0.0 then loop (b, (c, at ul))
              else loop (b, (c, beyond bx cx)) in
          let (a, b) = ends in
          let (ax, fa) = at a in
          let (bx, fb) = at b in
          if fb > fa then loop ((bx, fb), ((ax, fa), beyond bx ax)) else loop ((ax, fa), ((bx, fb), beyond ax bx))
    """,
    "golden": """
        fun f -> fun tolerance -> fun points ->
          let (ax, rest) = points in
          let (bx, cx) = rest in
          let r = 1.61803399 - 1.0 in
          let c = 1.0 - r in
          let at = fun x -> (x, f x) in
          let rec loop state =
            let (x0, rest) = state in
            let (p1, rest) = rest in
            let (p2, x3) = rest in
            let (x1, f1) = p1 in
            let (x2, f2) = p2 in
            if absolute (x3 - x0) <= tolerance * (absolute x1 + absolute x2) then
              if f1 < f2 then x1 else x2
            else
              if f2 < f1
              then loop (x1, (p2, (at (r * x2 + c * x3), x3)))
              else loop (x0, (at (r * x1 + c * x0), (p1, x2))) in
          let (x1, x2) =
            if absolute (cx - bx) > absolute (bx - ax)
            then (bx, bx + c * (cx - bx))
            else (bx - c * (bx - ax), bx) in
          loop (ax, (at x1, (at x2, cx)))
    """,
    "univariate_argmin": """
        fun f -> fun epsilon -> golden f 0.001 (mnbrak f (-100.0, 100.0))
    """,
    # Minimising in the plane, by a gradient of any mode
    "argmin_by": """
        fun gradient -> fun f -> fun x0 -> fun epsilon ->
          let rec argmin x0 =
            let g = gradient f x0 in
            if hypot (fst g) (snd g) <= epsilon then x0 else
              let along = fun k -> (fst x0 + k * fst g, snd x0 + k * snd g) in
              argmin (along (univariate_argmin (fun k -> f (along k)) epsilon)) in
          argmin x0
    """,
    "argmax_by": """
        fun gradient -> fun f -> fun x0 -> fun epsilon -> argmin_by gradient (fun x -> -(f x)) x0 epsilon
    """,
    "argmin": "argmin_by gradient",
    "argmax": "argmax_by gradient",
    "max": """
        fun f -> fun x0 -> fun epsilon -> f (argmax f x0 epsilon)
    """,
    # Two players: one minimises what the other maximises
    "payoff": """
        fun both ->
          let (x, y) = both in
          let (s, t) = x in
          let (u, v) = y in
          s * s + t * t - u * u - v * v
    """,
    "saddle_by": """
        fun outer -> fun inner -> fun payoff -> fun x0 -> fun y0 -> fun epsilon ->
          let argmax = fun x -> argmax_by inner (fun y -> payoff (x, y)) y0 epsilon in
          let x = argmin_by outer (fun x -> payoff (x, argmax x)) x0 epsilon in
          (x, argmax x)
    """,
    "saddle": """
        fun payoff -> fun x0 -> fun y0 -> fun epsilon ->
          let x = argmin (fun x -> max (fun y -> payoff (x, y)) y0 epsilon) x0 epsilon in
          (x, argmax (fun y -> payoff (x, y)) y0 epsilon)
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


SADDLE = program("saddle payoff (1.0, 1.0) (1.0, 1.0) 0.01")
