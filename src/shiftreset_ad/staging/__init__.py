"""Functions that are written down when they are called: the steps of a derivative without its numbers and its control.

*   `trace`: the steps;
*   `values`: what writes them down, a value that NumPy's functions and the rules compute with;
*   `interface`: what such a value has of arrays and floats; `functions`: what is known of the functions that it meets;
*   `generation`: from the steps to a Python function; `elimination`: which need not be taken; `lowering`: how else some
    can be taken, in less time;
*   `recording`: one run that is written down; `ways`: the ways that a function has gone; `keys`: for which other
    arguments the steps hold;
*   `surroundings`: what a function sees beside its arguments, which has to stay as it is; `parts`: what it consists of;
*   `staged`: the operator.
"""

from shiftreset_ad.staging.staged import StagedFunction, StagingWarning, staged
from shiftreset_ad.staging.steps import interface  # noqa: F401  (which adds to the values what arrays have)

__all__ = ["StagedFunction", "StagingWarning", "staged"]
