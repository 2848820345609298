"""A pipeline of xarray with our gradients: which station, in which month, moves the answer by how much?

Temperatures at three stations over two years are a `DataArray` with named dimensions and labels. The pipeline subtracts
the mean of each month (the climate), weighs the stations by the area they stand for, and gives the trend and the size
of the anomalies. The gradient of each answer has the labels of the data again, so that it can be read. The example
needs `pip install xarray`.

Known: the trend is linear in the temperatures, so its gradient has a formula. Moving the climate changes no anomaly, so
the gradients sum to zero over the years.

    python examples/xarray_pipeline.py
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import xarray as xr
from known import compare

from shiftreset_ad import grad, optimize

STATIONS, YEARS, MONTHS = ["coast", "valley", "summit"], [2021, 2022, 2023], list(range(1, 13))
AREAS = xr.DataArray([0.5, 0.3, 0.2], dims="station", coords={"station": STATIONS})
LABELS = {"station": STATIONS, "year": YEARS, "month": MONTHS}


def labelled(values: np.ndarray) -> xr.DataArray:
    """Temperatures, or the gradient in them, under their labels."""
    return xr.DataArray(values, dims=tuple(LABELS), coords=LABELS)


def temperatures() -> np.ndarray:
    """Seasons and heights, some warming, and weather."""
    random = np.random.default_rng(5)
    seasons = -8.0 * np.cos(2.0 * np.pi * (np.array(MONTHS) - 1) / 12)
    heights, warming = np.array([12.0, 9.0, -2.0]), 0.4 * np.arange(len(YEARS))
    return heights[:, None, None] + warming[:, None] + seasons + random.normal(size=(3, 3, 12))


def anomalies(field: xr.DataArray) -> xr.DataArray:
    """The mean over the stations of what differs from the climate of each month."""
    return ((field - field.mean("year")) * AREAS).sum("station")


def trend(values: np.ndarray) -> float:
    """The warming in degrees per year, by a line through the mean of each year."""
    means = anomalies(labelled(values)).mean("month")
    years = xr.DataArray(np.array(YEARS) - np.mean(YEARS), dims="year", coords={"year": YEARS})
    return ((means * years).sum("year") / (years**2).sum("year")).data[()]


def roughness(values: np.ndarray) -> float:
    """The mean square of the anomalies."""
    return (anomalies(labelled(values)) ** 2).mean(("year", "month")).data[()]


def gradient_of(f: Callable[[np.ndarray], float], values: np.ndarray) -> xr.DataArray:
    """The gradient under the labels of the data."""
    return labelled(grad(f)(values))


def main() -> int:
    """Differentiate the pipeline, and compare."""
    values = temperatures()
    of_trend, of_roughness = gradient_of(trend, values), gradient_of(roughness, values)
    print(of_trend.mean("month").to_pandas().round(4))

    weights = (np.array(YEARS) - 2022.0) / 2.0 / len(MONTHS)  # of a month in the slope of a line
    known_trend = AREAS.data[:, None, None] * weights[:, None] * np.ones(len(MONTHS))
    mean = anomalies(labelled(values)).data  # the rows are years
    known_roughness = AREAS.data[:, None, None] * 2.0 * mean / mean.size

    # How much must one reading be wrong to explain the whole trend? A root of the pipeline.
    def corrected(error: float) -> float:
        mask = np.zeros_like(values)
        mask[0, 2, 6] = 1.0
        return trend(values - error * mask)

    reading = of_trend.sel(station="coast", year=2023, month=7).item()
    return compare(
        "a pipeline of xarray",
        [
            ("gradient of the trend", of_trend.data, known_trend, 1e-12),
            ("gradient of the size", of_roughness.data, known_roughness, 1e-12),
            ("its sum over years", of_roughness.sum("year").data, 0.0, 1e-12),
            ("error for no trend", optimize.root(corrected, 0.0), trend(values) / reading, 1e-6),
        ],
    )


if __name__ == "__main__":
    raise SystemExit(main())
