"""Wang et al. 2019: each construction of the paper has a room.

Wang, Zheng, Decker, Wu, Essertel, Rompf: Demystifying Differentiable Programming: Shift/Reset the Penultimate
Backpropagator. ICFP 2019.

By operator overloading:

    classes                 Fig. 5, 2.5      the classes of forward mode, as printed
    as_printed              Fig. 7, 8, 12    the classes of reverse mode, as printed
    forward                 2.3 to 2.5       forward mode, and tags that keep nested derivatives apart
    explicit_cps            3.1, Fig. 7      an operation is handed the rest of the program
    shift_reset             3.2, Fig. 8      an operation captures the rest of the program
    prompts                 3.7              the same with a prompt for each derivative, so that they nest
    tape                    3.5, Fig. 12     the way back as one function that grows
    defunctionalised_tape   3.5              the same as data, with an interpreter
    store_passing           3.6              no mutation: the adjoints are in an immutable store
    updates                 3.6              the same, with continuations that return a map of updates
    shift2                  3.7, Fig. 13     second derivatives: two levels of capture by one kind of shift
    cps_inside_shift_reset  supplement       the same the other way round: explicit CPS and shift/reset
    forward_over_reverse    3.7              tangents of adjoints: a Hessian times a vector

By transformation of terms of the core language:

    symbolic                2.1, Fig. 1      symbolic differentiation with a rule for let
    source_forward          Fig. 4           forward mode
    straight_line           3, Fig. 6        reverse mode of straight-line programs, in three forms
    source_shift_reset      Fig. 9           reverse mode, with shift and reset in the target language
    source_meta             Fig. 10          the same, with shift and reset in the translator
    letrec                  4.3              the same with rules for letrec, and for loops
    source_cps              Fig. 11          the same, with the translator in continuation-passing style

By generation of code:

    staged                  4                reverse mode with control flow, as pseudo-code, C++ and Python

In all reverse modes the adjoint of a result that nobody uses is 0.0, as in the paper. If such a result has an infinite
slope, such as sqrt at 0, the gradient is NaN; `shiftreset_ad.grad` gives zero there.
"""
