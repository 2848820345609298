"""Functions with rules of their own, those of one mode or of both."""

from __future__ import annotations

from shiftreset_ad.transforms.custom import custom_derivative, custom_jvp, custom_vjp


def with_rules(kind, f, fwd, bwd, rule):
    """`f` with these rules, those of one mode or of both."""
    decorated = {"vjp": custom_vjp, "jvp": custom_jvp, "both": custom_derivative}[kind](f)
    if kind != "jvp":
        decorated.defvjp(fwd, bwd)
    if kind != "vjp":
        decorated.defjvp(rule)
    return decorated
