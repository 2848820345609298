"""Inverse heat conduction: the heat that entered a rod, from a thermometer inside it.

A rod is heated at its left end, and a thermometer at a quarter of its length records the temperature. The flux of heat
at the end is wanted, as a function of time. The simulation is explicit, and writes the temperatures in place. The flux
is the minimum of the squared errors, with a small penalty on its second differences, as noise in the record would
otherwise be amplified.

Known: the record is simulated with the triangular flux of Beck, Blackwell and St. Clair (1985), so the flux is known.
The simulation is linear in the flux, so the minimum is also the solution of linear equations.

    python examples/inverse_heat.py
"""

from __future__ import annotations

import numpy as np
from known import compare

from shiftreset_ad import jacfwd, optimize, zeros

CELLS, THERMOMETER = 14, 3
FLUXES, STEPS_PER_FLUX = 30, 10  # the flux is constant for so many steps
WIDTH = 1.0 / CELLS
STEP = 0.4 * WIDTH**2  # of time; above 0.5 the explicit simulation is not stable
PENALTY = 1e-7


def record(flux: np.ndarray) -> np.ndarray:
    """What the thermometer shows at the end of each constant flux; the right end is insulated."""
    temperature, shown = zeros(CELLS), zeros(FLUXES)
    for i in range(FLUXES):
        for _ in range(STEPS_PER_FLUX):
            flow = np.diff(temperature) / WIDTH
            temperature[:-1] += STEP / WIDTH * flow
            temperature[1:] -= STEP / WIDTH * flow
            temperature[0] += STEP / WIDTH * flux[i]
        shown[i] = temperature[THERMOMETER]
    return shown


def triangle() -> np.ndarray:
    """A flux that rises from 0 to 1, and falls to 0 again."""
    time = (np.arange(FLUXES) + 0.5) / FLUXES
    return np.maximum(0.0, 1.0 - 3.0 * np.abs(time - 0.45))


def main() -> int:
    """Find the flux, and compare."""
    flux = triangle()
    shown = record(flux)

    def loss(x: np.ndarray) -> float:
        return np.sum((record(x) - shown) ** 2) + PENALTY * np.sum(np.diff(x, 2) ** 2)

    result = optimize.minimize(loss, np.zeros(FLUXES), method="newton-cg", tolerance=1e-10)
    response = jacfwd(record)(np.zeros(FLUXES))  # a column for each flux
    bends = np.diff(np.eye(FLUXES), 2, axis=0)
    solution = np.linalg.solve(response.T @ response + PENALTY * bends.T @ bends, response.T @ shown)
    return compare(
        "the heat that entered a rod",
        [
            ("flux, by equations", result.x, solution, 1e-4),
            ("flux, the true one", result.x, flux, 0.1),
            ("interval of the peak", np.argmax(result.x), np.argmax(flux), 0),
            ("mean flux", np.mean(result.x), np.mean(flux), 1e-3),
        ],
    )


if __name__ == "__main__":
    raise SystemExit(main())
