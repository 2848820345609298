"""Functions with derivative rules of the user's own.

`decorators` has the decorators. `rules` calls the rules and checks what they return. `calls` says how each mode uses
them, and `paths` has their Taylor series. `closures` finds what a function closes over, and `levels` has the numbers in
it. `transposition` derives the rule of one mode from the rule of the other mode.
"""

from shiftreset_ad.transforms.custom.decorators import custom_derivative, custom_jvp, custom_vjp

__all__ = ["custom_derivative", "custom_jvp", "custom_vjp"]
