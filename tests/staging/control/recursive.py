"""Functions that call themselves: of a number, of a depth, and of trees as arrays."""

import numpy as np

from shiftreset_ad import scan


def nested_sines(n, x):
    return x if n <= 0 else np.sin(nested_sines(n - 1, x) * x)


def two_calls(n, x):
    """The integer of the empty case becomes a float. One of the numbers from outside is used beside the calls."""
    if n < 2:
        return n
    return two_calls(n - 1, x) * 0.7 + np.cos(two_calls(n - 2, x) * x) + x


def after_the_call(n, x):
    """The variable is a number from outside in one of the branches."""

    def go(n, y):
        r = y
        if n > 0:
            r = go(n - 1, np.sin(y))
        return r * y + x

    return go(n, x)


def in_its_own_argument(n, x):
    def m(n, y):
        return (n - 10, y) if n > 100 else m(*m(n + 11, y * 0.9 + x * 0.1))

    found = m(n + 96, x)
    return found[0] * 0.01 + found[1]


def in_a_loop(n, x):
    """A loop in the function has calls, and a loop calls the function."""

    def go(n, x):
        if n <= 0:
            return x
        s = 0.0
        for k in range(n):
            s = s + go(n - 1 - k, x * 0.5) * np.sin(x + k)
        return s

    total = 1.0
    for k in range(n):
        total = total + go(k, x) * np.sin(total)
    return total


def functions_in_functions(n, x):
    def inner(k, y, z):
        return y * z if k <= 0 else np.cos(inner(k - 1, y, z) * z + y)

    def outer(n, y):
        return y if n <= 0 else inner(n, outer(n - 1, y), y * y) + outer(n - 1, y * 0.3)

    return outer(n, x)


def with_a_function_of_its_own(n, x):
    def outer(n, y):
        def inner(k, z):
            return y * z if k <= 0 else outer(n - 1, inner(k - 1, z) * y)

        return y if n <= 0 else inner(2, y) * 0.5

    return outer(n, x)


def with_arrays(n, x):
    def go(n, v):
        return v if n <= 0 else np.tanh(go(n - 1, v * 0.9) + x * v)

    return np.sum(go(n, np.array([1.0, 2.0, 3.0]) * x))


def with_a_scan(n, x):
    def go(n, y):
        if n <= 0:
            return y
        last, ys = scan(lambda c, v: (c * v + y, c * c), go(n - 1, y * 0.5), np.array([0.1, 0.2, 0.3]))
        return last + np.sum(ys)

    return go(n, x)


def with_unused_answers(n, x):
    def go(n, y):
        if n <= 0:
            return y, y * y
        a, _ = go(n - 1, y * 0.7)
        return a * x, y

    return go(n, x)[0]


def with_keywords(n, x):
    def go(y, *, n, scale=2.0):
        return y if n <= 0 else scale * go(y * y * 0.3, n=n - 1, scale=scale * 0.5)

    return go(x, n=n)


def with_structures(n, x):
    def go(n, a, b):
        if n <= 0:
            return {"a": a, "b": b}
        inner = go(n - 1, b * np.sin(a), a)
        return {"a": inner["a"] * b + inner["b"], "b": inner["b"]}

    found = go(n, x, 2.0)
    return found["a"] + found["b"] ** 2


def is_even(n, x):
    return x * x if n == 0 else is_odd(n - 1, np.sin(x))


def is_odd(n, x):
    return x if n == 0 else is_even(n - 1, x * 1.5)


def simpson(n, x):
    """An integral, on halves of the interval until it is exact enough."""

    def f(t):
        return np.sin(t * x) * t

    def area(a, b, fa, fb, depth):
        m = (a + b) / 2
        fm = f(m)
        rough, fine = (b - a) * (fa + fb) / 2, (b - a) * (fa + 2 * fm + fb) / 4
        if (abs(rough - fine) < 1e-2) | (depth > 3):
            return fine
        return area(a, m, fa, fm, depth + 1) + area(m, b, fm, fb, depth + 1)

    return area(0.0, 1.0 * n, f(0.0), f(1.0 * n), 0)


OF_A_DEPTH = (
    *(nested_sines, two_calls, after_the_call, in_its_own_argument, in_a_loop, functions_in_functions),
    *(with_a_function_of_its_own, with_arrays, with_a_scan, with_unused_answers, with_keywords, with_structures),
    *(is_even, simpson),
)


def of_a_tree(left, right, value, x):
    """The product of a tree (Wang et al. 2019, section 4.4)."""

    def total(i, x):
        return x if i < 0 else total(left[i], x) * total(right[i], x) * value[i]

    return total(0, x)


def of_states_of_a_tree(left, right, value, w):
    """A state for each node, as in a recursive neural network."""

    def state(i):
        if i < 0:
            return w[0] * 0.1
        return np.tanh(w @ np.stack([state(left[i]), state(right[i]), w[1] * value[i]]).sum(axis=0))

    return np.sum(state(0))


def random_tree(random, count):
    """The left and the right children and the values of nodes, of which the first is the root; -1 is an empty tree."""
    left, right = np.full(count, -1), np.full(count, -1)
    for new in range(1, count):
        node = 0
        while True:
            side = left if random.random() < 0.5 else right
            if side[node] < 0:
                break
            node = side[node]
        side[node] = new
    return left, right, random.uniform(0.5, 1.5, count)
