"""Krawiec et al. 2022, Fig. 17: properties of works on differentiation; and the same columns for the rooms.

`python -m tests.formulations.fig_17` prints the table of docs/papers.md. Of the rooms, the first three columns are what
tests show: whether one run is enough whatever the number of inputs, a program with functions of functions, and counted
operations. No room comes with a proof.
"""

from shiftreset_ad.formulations import ROOMS
from tests.formulations.test_cost import FACTORS, TIMES_INPUTS
from tests.formulations.test_rooms import PROGRAMS

COLUMNS = ("reverse mode", "higher order", "asymptotically efficient", "correctness proof")
PAPER = {
    "Pearlmutter and Siskind 2008": "yes yes yes no",
    "Elliott 2018": "yes no no yes",
    "Wang et al. 2019": "yes yes yes no",
    "Plotkin and Abadi 2020": "yes no yes yes",
    "Sherman et al. 2021": "yes yes yes no",
    "Huot et al. 2020": "yes yes no no",
    "Mazza and Pagani 2021": "yes yes no yes",
    "Krawiec et al. 2022": "yes yes yes yes",
}
# One run, in which each operation costs as much as there are inputs.
REVERSE_BY_VECTORS = {"krawiec.dense", "krawiec.source_dense"}


def properties(room):
    """The columns for a room."""
    forward = room.path in TIMES_INPUTS and room.path not in REVERSE_BY_VECTORS
    higher_order = "a function of functions" in PROGRAMS  # test_rooms.py runs it in every room
    return tuple("yes" if holds else "no" for holds in (not forward, higher_order, room.path in FACTORS, False))


def table() -> str:
    rows = [(work, *columns.split()) for work, columns in PAPER.items()]
    rows += [(f"`{room.path}`", *properties(room)) for room in ROOMS]
    lines = [("work, or room", *COLUMNS), ("---",) * 5, *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    print(table())
