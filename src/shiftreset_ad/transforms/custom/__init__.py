"""Functions with derivative rules of the user's own.

`decorators` is what a user writes; `rules` calls the rules and checks what they return; `calls` says how each mode uses
them; `closures` finds what a function closes over, and `levels` says what becomes of numbers in it; `transposition`
derives one mode's rule from the other's.
"""

from shiftreset_ad.transforms.custom.decorators import custom_derivative, custom_jvp, custom_vjp

__all__ = ["custom_derivative", "custom_jvp", "custom_vjp"]
