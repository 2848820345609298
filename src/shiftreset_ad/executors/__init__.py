"""Sums over data on an engine that exists: threads, processes, Dask, MPI and Ray, with the same bits on each."""

from shiftreset_ad.executors.sums import Mean, Sum, SumOfSquares

__all__ = ["Mean", "Sum", "SumOfSquares"]
