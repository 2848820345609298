"""The transformations for derivatives extend these standard ones (Wang et al. 2019, supplement).

Danvy and Filinski have them first.

Three functions from terms to terms; the second and the third remove shift and reset from the program:

    metacircular          "Standard metacircular transformation": each construct is translated to itself.
    cps_by_shift_reset    "Standard CPS transformation using shift/reset": the translator, here Python, uses the
                          library's own shift and reset while it builds the term. Fig. 10 extends it.
    cps                   "Standard CPS transformation": the translator is itself in continuation-passing style.
                          Fig. 11 extends it.

An overline marks what happens in the translator, angle brackets are its reset, and the rest is the term that it builds:

                          cps_by_shift_reset                          cps
    [c], [y]              c, y                                        λ‾κ. κ c, λ‾κ. κ y
    [e1 + e2]             [e1] + [e2]                                 λ‾κ. [e1] (λ‾y1. [e2] (λ‾y2. κ (y1 + y2)))
    [λy. e]               λy. λk. <k @~ [e]>‾                         λ‾κ. κ (λy. λk. [e] (λ‾m. k @~ m))
    [e1 e2]               shift‾ k in‾ ([e1] [e2]) (λ~a. k @‾ a)      λ‾κ. [e1] (λ‾m. [e2] (λ‾n. (m n) (λ~a. κ a)))
    [let y = e1 in e2]    shift‾ k in‾ let y = [e1] in <k @‾ [e2]>‾   λ‾κ. [e1] (λ‾y1. let y = y1 in [e2] κ)
    [case e of y1 -> e1   shift‾ k in‾ let~ k1 = λ~a. k @‾ a in       λ‾κ. let~ k = λ~a. κ a in [e] (λ‾v.
             | y2 -> e2]      case [e] of y1 -> <k1 @~ [e1]>‾             case v of y1 -> [e1] (λ‾m. k @~ m)
                                        | y2 -> <k1 @~ [e2]>‾                     | y2 -> [e2] (λ‾n. k @~ n))
    [shift k in e]        shift‾ k1 in‾                               λ‾κ. let k = λa. λk1. k1 (κ a) in
                              let k = λv. λk2. k2 (k1 @‾ v) in            [e] (λ‾m. m)
                              <[e]>‾
    [reset e]             <[e]>‾                                      λ‾κ. κ ([e] (λ‾m. m))

One thing is not in the figures. `[!r + f x]` puts the code of the call around `!r`. So `!r` would be read after the
call, and would see what f writes; and if f captures its continuation and calls it twice, `!r` would be read twice.
Therefore a first operand that uses memory, or runs code, gets a name, by let, before the code of the second operand.

None of the three changes the value of a program, except that functions have the style of the target: a function takes
its argument, and then its continuation. `direct` is `cps` of a function, made so that it can be called as before.
"""

from shiftreset_ad.formulations.wang.cps.by_continuations import cps, direct
from shiftreset_ad.formulations.wang.cps.by_shift_reset import cps_by_shift_reset
from shiftreset_ad.formulations.wang.cps.metacircular import metacircular

__all__ = ["cps", "cps_by_shift_reset", "direct", "metacircular"]
