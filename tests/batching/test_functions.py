"""Every function of the coverage table, for all rows of a batch, against a loop over the rows."""

import warnings

import numpy as np
import pytest

from shiftreset_ad import grad, jvp, vmap
from shiftreset_ad.batching.axes import is_value
from shiftreset_ad.boundary import trees
from shiftreset_ad.rules.broadcasting import dtype_of, shape_of
from tests.docs import module

COVERAGE = module("docs/coverage.py")
EXAMPLES = module("docs/coverage_examples.py")
