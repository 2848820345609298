"""A function is recorded when it is called, and replayed: a derivative becomes steps, without numbers and control.

*   `staged`: the operator; `records`: what is known of a function; `recording`: one run that is recorded; `ways`: the
    ways that a function has taken; `shortcuts`: calls like earlier ones go to native code without Python.
*   `front/`: plain Python is rewritten, so that branches and loops are written down; `forms` records a function as it
    is, and rewritten.
*   `steps/`: `trace` has the steps; `values` has the values that record steps, which NumPy's functions and the rules
    compute with; `interface` gives these values the attributes and operators of arrays and floats; `functions` knows
    the functions that are recorded; `blocks` has the steps of control.
*   `control/`: `combinators` has `while_loop` and its kin; `levels` takes them through the levels of numbers, whose
    `kinds` it finds; `reverse` has the way back, and `gathering` that of `scan`; `writing` writes the steps down, and
    `execution` carries them out.
*   `seen/`: `keys` says for which other arguments the steps hold; `watching` watches the recorded run, with `stack`,
    `instructions` and `calls`; `reads` makes `guards` of what it reads; `surroundings` and `parts` search for all that
    can be reached. `reports` says what runs in steps; `ir` is the text of the
    steps, and `pictures` draws it.
*   `python/`: `generation` makes a Python function of the steps; `elimination` leaves out steps; `lowering` replaces
    steps by quicker ones; `control` prints loops and branches, and `uses` says which values their frames keep.
*   `native/`: steps become native code, where `llvmlite` is installed.
"""

from shiftreset_ad.staging.records import StagingWarning
from shiftreset_ad.staging.staged import StagedFunction, staged
from shiftreset_ad.staging.steps import interface  # noqa: F401  (which adds to the values what arrays have)

__all__ = ["StagedFunction", "StagingWarning", "staged"]
