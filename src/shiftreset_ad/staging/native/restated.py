"""Steps whose function is another one under a name of ours, with the same bits."""

from __future__ import annotations

from copy import copy

import numpy as np

from shiftreset_ad.rules.conversion import constant_of
from shiftreset_ad.rules.ufuncs import UFUNCS
from shiftreset_ad.staging.native.formulas import FORMULAS
from shiftreset_ad.staging.steps.trace import Step


def restated(step: Step) -> Step:
    """The step with the function that it stands for: the function itself of what is constant, or a ufunc."""
    function, args = step.function, step.args
    if function is constant_of and (isinstance(args[1], np.ufunc) or args[1] in FORMULAS):
        x, function, *more = args
        args = x, *more
    if function in UFUNCS:
        function = UFUNCS[function]()
    if function is step.function:
        return step
    new = copy(step)
    new.function, new.args = function, args
    return new
