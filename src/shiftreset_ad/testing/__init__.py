"""Checks of derivatives, for the users' own tests. The names and arguments are those of jax.test_util.

`check` has the public functions. `comparisons` compares derivatives and searches for the wrong element. `points` has a
function at its arguments, `numerical` has derivatives from values alone, and `coordinates` has structures as vectors.
"""

from shiftreset_ad.testing.check import check_grads, check_jvp, check_vjp

__all__ = ["check_grads", "check_jvp", "check_vjp"]
