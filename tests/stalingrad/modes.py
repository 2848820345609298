"""A derivative by forward mode, F, and by reverse mode, R, for functions of a number and of a list."""

import itertools

from shiftreset_ad import grad, jvp


def derivative_forward(f):
    return lambda x: jvp(f, (x,), (1.0,))[1]


def gradient_forward(f):
    """One pass for each number of the list."""

    def gradient(x):
        units = [[float(i == j) for j in range(len(x))] for i in range(len(x))]
        return [jvp(f, (x,), (unit,))[1] for unit in units]

    return gradient


DERIVATIVE = {"F": derivative_forward, "R": grad}
GRADIENT = {"F": gradient_forward, "R": grad}


def mixes(order):
    """FF, FR, RF and RR, for the order 2: the outer mode first."""
    return ["".join(modes) for modes in itertools.product("FR", repeat=order)]


def derivatives(modes, f):
    """The derivative of the derivative of ... of f, the outer one first."""
    for mode in reversed(modes):
        f = DERIVATIVE[mode](f)
    return f


def gradient_ascent(gradient, f, x, steps, rate):
    slope = gradient(f)
    for _ in range(steps):
        x = [a + rate * b for a, b in zip(x, slope(x), strict=True)]
    return x
