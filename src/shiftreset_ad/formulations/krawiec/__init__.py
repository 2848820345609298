"""Krawiec et al. 2022: reverse mode is made from forward mode, one step at a time, and each step is a room.

"Provably Correct, Asymptotically Efficient, Higher-Order Reverse-Mode Automatic Differentiation", POPL 2022.

1. `duals`: forward mode, a number beside its tangent (Fig. 3 and 4); `source_duals` as a map from terms to terms.
2. `dense`: the tangent is the whole gradient, a dense vector (Fig. 5 and 6).
3. `delta`: the vector is not computed; it is a term, which is evaluated at the end (Fig. 7 and 8).
4. `sharing`: results get names, so evaluation visits each result once (Fig. 9 to 11); `source_sharing` is the monadic
   translation of terms, and `monadic` has the figures as they are printed, with types; `array_backed` has mutable
   arrays in place of maps (5.3.3).
5. `structured`: any structure as argument and as result (Fig. 16).
6. `arrays`: build and index (8.3); `fusion`: a whole function as one operation (Fig. 15).
7. `rounding`: a bound for the error of floating-point arithmetic (8.4); `towers`: all derivatives of a number (8.6).
"""
