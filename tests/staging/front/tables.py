"""Programs that write to lists at an index that depends on the arguments. Each is f(x, n), with n up to 9."""

from types import SimpleNamespace

import numpy as np


def recurrence(x, n):
    table = [0.0] * 12
    table[0] = x
    for i in range(1, n):
        table[i] = table[i - 1] * 1.1 + 0.1
    return sum(table)


def fibonacci(x, n):
    f = [x] * 15
    for i in range(2, n + 2):
        f[i] = f[i - 1] + f[i - 2]
    return f[n]


def coins(x, n):
    best = [0.0] + [100.0] * 11
    for i in range(1, min(n + 3, 12)):
        for c in (1, 3, 4):
            if c <= i and best[i - c] + x * c < best[i]:
                best[i] = best[i - c] + x * c
    return best[n] + best[n // 2]


def knapsack(x, n):
    best = [0.0] * 10
    for weight, worth in ((2, x), (3, 1.5 * x), (4, x * x)):
        for c in range(n, weight - 1, -1):
            if best[c - weight] + worth > best[c]:
                best[c] = best[c - weight] + worth
    return best[n]


def histogram(x, n):
    h = [0.0, 0.0, 0.0]
    for i in range(n):
        h[i % 3] += x * i
        h[-1 - i % 2] *= 0.9
    return h[0] + 2 * h[1] + 3 * h[2]


def of_an_attribute(x, n):
    o = SimpleNamespace(t=[0.0] * 4, k=0)
    while o.k < n:
        o.t[o.k % 4] = o.t[(o.k + 1) % 4] + x
        o.t[(o.k * o.k) % 4] -= 0.1 * x
        o.k += 1
    return sum(o.t) + o.t[n % 4]


def swaps(x, n):
    a = [x, 2 * x, 3 * x, 4 * x]
    for i in range(n):
        j = (i * i + 1) % 4
        a[i % 4], a[j] = a[j], a[i % 4]
        a[0] = a[0] * 1.1
    return a[0] + 10 * a[1] + 100 * a[2]


def sieve(x, n):
    is_prime, s = [True] * 12, 0.0 * x
    for i in range(2, 12):
        if i > n:
            break
        if is_prime[i]:
            s, j = s + x * i, 2 * i
            while j < 12:
                is_prime[j] = False
                j += i
    return s


def with_other_names(x, n):
    a = [0.0] * 5
    b, c = a, {"k": a}
    for i in range(n):
        a[i % 5] = x + b[(i + 4) % 5]
        c["k"][(i + 2) % 5] += 1.0
    return sum(b) * c["k"][0]


def by_functions(x, n):
    memo = [0.0] * 12

    def put(i, v):
        memo[i] = v

    put(0, x)
    for i in range(1, n):
        put(i, memo[i - 1] * 1.1)
    return memo[n - 1 if n > 0 else 0]


def in_a_branch(x, n):
    a = [x] * 6
    if n > 2:
        a[n % 6] = x * x
    return a[0] + a[3] + 10 * a[4]


def from_the_end(x, n):
    a = [x] * 4
    for i in range(n):
        a[-1 - i % 4] = a[-i % 4] * 2.0
    return a[0] + 10 * a[1] + a[3]


def beyond_the_end(x, n):
    a = [x] * 4
    for i in range(n):
        a[i] = a[i - 1] * 2.0
    return sum(a)


def rows(x, n):
    g = [[0.0] * 3 for _ in range(3)]
    for i in range(n):
        g[i % 3][(i + 1) % 3] = x * i + g[(i + 2) % 3][0]
    return sum(sum(row) for row in g)


def unlike(x, n):
    a = [0.0, None, x]
    for i in range(n):
        a[2 * (i % 2)] = x * i
    return a[0] + a[2]


def integers_beside_floats(x, n):
    a = [0] * 4
    for i in range(n):
        a[i % 4] = x * i
    return a[0] + a[1]


def of_numpy(x, n):
    a = [0.0] * 4
    for i in range(n):
        a[i % 4] = np.sin(x * i)
    return a[0] + a[1]


def long(x, n):
    a = [0.0] * 100
    for i in range(n):
        a[i] = x * i
    return sum(a)


def slices(x, n):
    a = [x] * 6
    for i in range(n):
        a[i % 3 : i % 3 + 1] = [x * i]
    return sum(a) + len(a)


def dictionary(x, n):
    d = {0: x, 1: 2 * x, 2: 3 * x}
    for i in range(n):
        d[i % 3] = d[(i + 1) % 3] * 1.1
    return d[0] + d[1]


WRITTEN = [
    *(recurrence, fibonacci, coins, knapsack, histogram, of_an_attribute, swaps, sieve, with_other_names, by_functions),
    *(in_a_branch, from_the_end),
]
ASKED = [rows, unlike, integers_beside_floats, of_numpy, long, slices, dictionary]
