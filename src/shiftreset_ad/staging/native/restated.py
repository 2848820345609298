"""Steps whose function is another one under a name of ours, with the same bits."""

from __future__ import annotations

from copy import copy

import numpy as np

from shiftreset_ad.rules.conversion import constant_of
from shiftreset_ad.rules.same import SAME_FOR_ARRAYS
from shiftreset_ad.staging.native.formulas import FORMULAS
from shiftreset_ad.staging.steps.trace import Step


def restated(step: Step) -> Step:
    """The step with the function that it stands for: that of a constant, or another one for arrays."""
    function, args = step.function, step.args
    if function is constant_of and (isinstance(args[1], np.ufunc) or args[1] in FORMULAS):
        x, function, *more = args
        args = x, *more
    if function in SAME_FOR_ARRAYS:
        function = SAME_FOR_ARRAYS[function]()
    if function is step.function:
        return step
    new = copy(step)
    new.function, new.args = function, args
    return new
