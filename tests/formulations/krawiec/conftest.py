"""A number that counts its operations."""

import pytest

from shiftreset_ad.formulations.overloading import Overloaded


class Counting(Overloaded):
    """A float; each operation on it adds one to `operations`, which all numbers of one count share."""

    def __init__(self, primal, operations):
        self.primal, self.operations = primal, operations

    def operate(self, function, *operands):
        self.operations[0] += 1
        return Counting(function(*(x.primal if isinstance(x, Counting) else x for x in operands)), self.operations)


@pytest.fixture
def count():
    """How many operations f(x) takes, for x a float or a list of floats."""

    def operations(f, x):
        total = [0]
        f([Counting(v, total) for v in x] if isinstance(x, list) else Counting(x, total))
        return total[0]

    return operations
