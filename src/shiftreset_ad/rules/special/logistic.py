"""The logistic function, its logarithm and its inverse."""

from __future__ import annotations

from shiftreset_ad.rules.special.table import rule, special

rule("expit(x)", x=lambda y, x: y * special.expit(-x))  # y (1 - y), exact also where y is close to 1
rule("logit(x)", x=lambda y, x: 1.0 / (x * (1.0 - x)))
rule("log_expit(x)", x=lambda y, x: special.expit(-x))
