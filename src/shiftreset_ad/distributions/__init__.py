"""The distributions of `scipy.stats`: those that have derivatives, as `shiftreset_ad.scipy.stats` has them.

`of_scipy` is what they share, and how everything else of SciPy's is kept from numbers. `located` gives a method a
location and a scale. `continuous` and `discrete` make a distribution of one variable from the derivatives of its
logarithmic density; `on_line`, `on_half_line`, `on_interval` and `counts` have these. `elliptical`, with
`normal_density`, and `dirichlet` are those of several variables.
"""
