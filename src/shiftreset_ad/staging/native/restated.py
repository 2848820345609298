"""Steps whose function is another one under a name of ours, or under a second name of NumPy's, with the same bits."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np

from shiftreset_ad.rules.conversion import constant_of
from shiftreset_ad.rules.same import SAME_FOR_ARRAYS
from shiftreset_ad.staging.native.formulas import FORMULAS
from shiftreset_ad.staging.steps.trace import Step

SECOND_NAMES: dict[Any, Any] = {np.amax: np.max, np.amin: np.min, np.around: np.round}


def restated(step: Step) -> Step:
    """The step with the function that it stands for: that of a constant, or another one for arrays."""
    function, args = step.function, step.args
    if function is constant_of and (isinstance(args[1], np.ufunc) or args[1] in FORMULAS):
        x, function, *more = args
        args = x, *more
    if function in SAME_FOR_ARRAYS:
        function = SAME_FOR_ARRAYS[function]()
    function = SECOND_NAMES.get(function, function)
    if function is step.function:
        return step
    new = copy(step)
    new.function, new.args = function, args
    return new
