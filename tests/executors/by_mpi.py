"""What the ranks of MPI run in a test: prints a line for the bits, an error, an unpicklable shard and a time limit.

With a folder as its argument, a rank is killed instead, which ends the whole job.
"""

import sys

from shiftreset_ad.executors import Sum
from tests.executors.programs import (
    PARAMS,
    SHARDS,
    Rows,
    Unpicklable,
    dies_once,
    dozes,
    fails_at_five,
    loss,
)


def main() -> None:
    from mpi4py.futures import MPIPoolExecutor  # here, as the module is read where there is no MPI, too

    rows = [Rows(number, data, *sys.argv[1:]) for number, data in enumerate(SHARDS)]
    with MPIPoolExecutor() as executor:
        if sys.argv[1:]:
            print(Sum(dies_once, rows, executor)(PARAMS))
            return
        total = Sum(loss, SHARDS, executor)
        value, gradient = total.value_and_grad(PARAMS)
        print(repr(float(value)), *map(repr, gradient["w"].tolist()))
        try:
            Sum(fails_at_five, rows, executor)(PARAMS)
        except KeyError as error:
            print(error.__notes__[0])
        try:
            Sum(fails_at_five, [*rows[:2], Unpicklable(8, SHARDS[0])], executor)(PARAMS)
        except TypeError as error:
            print(error.__notes__[0])
        try:
            Sum(dozes, rows[:2], executor, timeout=0.5)(PARAMS)
        except TimeoutError as error:
            print(error)
        print(total(PARAMS) == value)  # the ranks go on


if __name__ == "__main__":
    main()
