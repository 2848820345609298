"""The distributions of `scipy.stats`: those that have derivatives, as `shiftreset_ad.scipy.stats` has them.

`of_scipy` is what they share, and how everything else of SciPy's is kept from numbers; `univariate` makes one from the
derivatives of the logarithm of its density; `multivariate` has those of several variables.
"""
