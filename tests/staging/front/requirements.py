"""Programs that raise errors under tests. They have a file of their own, as pytest rewrites the `assert` of tests."""

import numpy as np


def in_rounds(x, n):
    y, k = x, 0
    while abs(y * y - x) > 1e-9:
        y = 0.5 * (y + x / y)
        k += 1
        if k > 50:
            raise RuntimeError("no convergence")
    return y * n


def at_the_end_of_a_chain(x, n):
    t, k = x - 1.0, 0
    while k < 2 * n:
        k += 1
        if t > 1.0:
            t = t * 0.3
        elif t < -5.0:
            t = -t
        elif t < 0.9:
            t = t * 1.5 + x
        elif t < 1e9:
            t = t + 0.5
        else:
            raise ValueError("neither small nor large")
    return t


def in_a_branch_of_a_branch(x, n):
    t = x
    for _ in range(n):
        if t > 1.0:
            assert t < 100.0, t
            if t > 50.0:
                raise ValueError("too large")
            t = t * 0.4
        elif t < -1.0:
            if t < -3.0:
                raise ValueError("too small")
            t = t * 0.5
        else:
            t = t + x * x * 1.3
    return t


def after_the_rounds(x, n):
    def root(z):
        for _ in range(40):
            y = 0.5 * (z + 2.0 / z)
            if abs(y - z) < 1e-9:
                return y
            z = y
        raise RuntimeError("no convergence")

    total = 0.0
    while total < n + 0.5:
        total = total + root(x + total)
    return total * x


def of_values_that_are_bound(x, n):
    s, t = 0.0, x
    while t < n + 0.1:
        if t < 1.0:
            y = t * t
        elif t < 4.0:
            y = np.sin(t)
        elif t < 12.0:
            y = t
        else:
            raise ValueError(f"outside: {t}")
        s = s + y
        t = t * 1.3 + 0.1
    return s + t


def in_rounds_that_are_not_reached(x, n):
    """With 0.7 for u, the loop in the branch would go on without end: its assertion ends it."""
    t = x
    for _ in range(2 * n):
        if t > 1.5:
            u = t
            while u < 3.0:
                assert u > 1.5
                u = u * 1.0 if u < 1.5 else u + 0.5
            t = u * 0.3
        else:
            t = t * 1.4 + 0.1
    return t


def in_calls_that_are_not_reached(x, n):
    """So would the calls."""

    def up(a, d):
        assert a > 1.0
        if a > 8.0:
            return d * 0.1 + a
        return up(a * a, d + 1) * 0.5

    t = x
    for _ in range(2 * n):
        if t > 1.5:
            t = up(t, 0) * 0.1
        else:
            t = t * 1.4 + 0.1
    return t


def of_a_match(x, n):
    t, k = x, 0
    while t < 2.0 * n:
        match k:
            case 0:
                t = t + x
            case 1:
                t = t * 1.1
            case 2:
                t = t + 0.5
            case _:
                raise ValueError("no such case")
        k = (k + 1) % 3 if t < 4.0 + k else 0
    return t


def in_a_statement_with_an_end(x, n):
    t = x
    while t < n:
        try:
            if t > 19.5:
                raise ValueError("too large")
            t = t * 1.2 + 0.1
        finally:
            t = t + 0.01
    return t


def after_a_return(x, n):
    """A branch that returns before it raises is no requirement."""
    t = x
    for _ in range(2 * n):
        if t > 2.0:
            for v in (t, t * 1.5, t * 2.0):
                if v > 3.0:
                    return v
            raise ValueError("too small")
        t = t * 1.4 + 0.1
    return t


PROGRAMS = (
    *(in_rounds, at_the_end_of_a_chain, in_a_branch_of_a_branch, after_the_rounds, of_values_that_are_bound),
    *(in_rounds_that_are_not_reached, in_calls_that_are_not_reached, of_a_match, in_a_statement_with_an_end),
)


def checked(x, n):
    for k in range(n):
        assert x < 3.0, f"{x:.1f} in round {k}"
        if x < -2.0:
            raise ValueError(f"{x:.1f} in round {k}")
        x = x * 1.5 if x > 0.0 else x - 0.7
    return x


def asked_outside_with_another_answer(x, n):
    """The test is asked before the loop, and raises in a branch that the first calls do not reach."""
    t = x
    y = 0.0
    if x > 0.0:
        print("", end="")  # noqa: T201 (it asks the test)
        y = 1.0
    while t < n:
        if t > 5.0:
            if x > 0.0:
                raise ValueError("positive")
            t = t + 1.0
        else:
            t = t + 3.9
    return t + y
