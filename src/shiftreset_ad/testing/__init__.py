"""Checks of derivatives, for the tests of those who use this library; names and arguments are those of jax.test_util.

`check` has the public functions; `comparisons`, what is compared, and the search for the element that is wrong;
`points`, a function at its arguments; `numerical`, derivatives from values alone; `coordinates`, structures as vectors.
"""

from shiftreset_ad.testing.check import check_grads, check_jvp, check_vjp

__all__ = ["check_grads", "check_jvp", "check_vjp"]
