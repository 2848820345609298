"""Programs that put staged values in order, call functions of Python's on them, and look them up in dicts."""

import math

import numpy as np

from shiftreset_ad import value
from tests.staging.front.new_objects import Vec

TABLE = {0: 0.5, 1: 2.0, 2: -1.0}
ROWS = {0: (0.5, 1), 1: (2.0, 2), 5: (-1.0, 3)}


def min_key(x, n):
    s = 0.0
    for k in range(n):
        cands = [x * k, x - k, x + 0.5 * k]
        s += min(cands, key=lambda c: abs(c - 1.0))
    return s


def max_key_pairs(x, n):
    s = 0.0
    for k in range(n):
        a, b = max([(x, 1.0), (x * k, 2.0), (1.5, 3.0)], key=lambda p: p[0])
        s += a * b
    return s


def sorted_values(x, n):
    s = 0.0
    for k in range(n):
        a, b, c = sorted([x * k, x, 1.0])
        s += a + 2 * b + 3 * c
    return s


def sorted_key(x, n):
    s = 0.0
    for k in range(n):
        v = sorted([x * k, x, 1.0], key=lambda t: -t)
        s += v[0] + 2 * v[1]
    return s


def any_gen(x, n):
    s = x
    for _k in range(n):
        if any(s > t for t in (1.0, 2.0, 3.0)):
            s = s * 0.5
        else:
            s = s + 0.3
    return s


def all_gen(x, n):
    s = x
    while all(s < lim for lim in (5.0, n + 1.0)):
        s = s * 1.5
    return s


def math_fns(x, n):
    s = x
    for _k in range(n):
        v = value(s)
        m, e = math.frexp(v)
        f, i = math.modf(v)
        s = s * 0.9 + 0.01 * (m + e + f + i)
    return s


def fsum(x, n):
    s = x
    for k in range(n):
        s = s * 0.9 + math.fsum([value(s), 0.1, k])
    return s


def dist(x, n):
    s = x
    for k in range(n):
        s = s * 0.9 + 0.1 * math.dist((value(s), 1.0), (0.0, k))
    return s


def ldexp(x, n):
    s = x
    for k in range(n):
        s = s * 0.9 + 0.1 * math.ldexp(value(s), -k)
    return s


def gcd(x, n):
    s = x
    for k in range(n):
        s = s * 0.9 + math.gcd(k, 12)
    return s


def gcd_while(x, n):
    s = x
    k = 0
    while k < n:
        s = s * 0.9 + math.gcd(k, 12) + math.comb(5, 2)
        k += 1
    return s


def complex_state(x, n):
    z = complex(0.1, 0.2)
    s = 0.0
    for k in range(n):
        z = z * z + complex(0.1 * k, 0.1)
        s = s + x * z.real
    return s


def median3(x, n):
    s = 0.0
    for k in range(n):
        s = s + sorted([x * k, 1.0 + 0.3 * k, x + 0.2])[1]
    return s


def sorted_ties(x, n):
    s = 0.0
    for k in range(n):
        v = sorted([(x, 1.0), (x * k, 2.0), (x, 3.0), (0.5, 4.0)], key=lambda p: p[0])
        s = s + v[0][1] + 10 * v[1][1] + 100 * v[2][1] + v[0][0]
    return s


def sorted_reverse_ties(x, n):
    s = 0.0
    for k in range(n):
        v = sorted([(x, 1.0), (x * k, 2.0), (x, 3.0), (0.5, 4.0)], key=lambda p: p[0], reverse=True)
        s = s + v[0][1] + 10 * v[1][1] + 100 * v[2][1] + v[3][0]
    return s


def sorted_objects(x, n):
    vs = [Vec(x, 1.0), Vec(0.8, x), Vec(1.0, 0.1)]
    for _k in range(n):
        vs = sorted(vs, key=lambda v: v.norm())
        vs = [vs[0] * 1.5, vs[1], vs[2] * 0.7]
    return vs[0].x * vs[1].y + vs[2].x


def min_two_key(x, n):
    s = 0.0
    for k in range(n):
        s = s + min(x * k, 1.0, key=abs)
    return s


def min_args(x, n):
    s = x
    for k in range(n):
        s = min(s * 1.5, 3.0, x + k) + max(0.1, s - 1.0)
    return s


def min_default(x, n):
    s = 0.0
    for k in range(n):
        s = s + min([x, x * k], default=0.0) + max([], default=x)
    return s


def argsort(x, n):
    s = 0.0
    for k in range(n):
        d = [abs(x - 0.3 * i * k) for i in range(4)]
        order = sorted(range(4), key=d.__getitem__)
        s = s + order[0] + 10 * order[-1] + x
    return s


def sort_method(x, n):
    s = 0.0
    for k in range(n):
        v = [x * k, 1.0, x]
        v.sort()
        s = s + v[0] - v[2]
    return s


def sort_method_reverse(x, n):
    s = 0.0
    for k in range(n):
        v = [x * k, 1.0, x]
        v.sort(reverse=True, key=lambda t: t * t)
        s = s + v[0] - v[2]
    return s


def sort_alias(x, n):
    v = [x, 1.0, 0.5]
    w = v
    for _k in range(n):
        v[0] = v[0] * 1.3
        w.sort()
    return v[0] + 2 * v[1] + 3 * w[2]


def sorted_ints(x, n):
    s = x
    for k in range(n):
        a = sorted([k % 3, 1, k % 2])
        s = s + a[0] + 2 * a[2]
    return s


def floor_ceil(x, n):
    s = x
    for _k in range(n):
        v = value(s)
        s = s * 0.9 + math.floor(v * 3) + math.ceil(v) + math.trunc(v * 2.5) + round(v) + int(v)
    return s


def isqrt(x, n):
    s = x
    for k in range(n):
        s = s * 0.9 + math.isqrt(k) + math.factorial(k % 4) + math.lcm(k, 4)
    return s


def frexp_branch(x, n):
    s = x
    for _k in range(n):
        m, e = math.frexp(value(s) * 3)
        s = s * 0.5 if e > 1 else s + m
    return s


def complex_abs(x, n):
    z = complex(value(x), 0.2)
    s = x
    for _k in range(n):
        if abs(z) > 2:
            s = s + 1.0
        z = z * z + complex(0.1, value(x))
        s = s * 0.9
    return s


def all_list(x, n):
    s = x
    for k in range(n):
        s = s * 1.1 if all([s < 2.0, s > 0.1, k < 4]) else s * 0.5
    return s


def dict_key(x, n):
    table = {0: 0.5, 1: 2.0, 2: -1.0}
    s = x
    for k in range(n):
        s = s + table[k % 3] * x
    return s


def dict_global(x, n):
    s = x
    for k in range(n):
        s = s + TABLE[k % 3] * x
    return s


def dict_rows(x, n):
    s = x
    for k in range(n):
        a, b = ROWS[(k % 2) * 5]
        s = s * 0.5 + a * x**b
    return s


def dict_missing(x, n):
    s = x
    for k in range(n):
        try:
            s = s + TABLE[k] * x
        except KeyError:
            s = s * 2
    return s


def dict_staged_values(x, n):
    t = {0: x, 1: x * x, 2: 1.0}
    s = 0.0
    for k in range(n):
        s = s + t[k % 3]
    return s


def dict_changed_in_round(x, n):
    t = {0: x, 1: x * x, 2: 1.0}
    s = 0.0
    for k in range(n):
        s = s + t[k % 3]
        t[0] = t[0] * 0.5
    return s


def dict_changed_after(x, n):
    t = {0: x, 1: x * x, 2: 1.0}
    s = 0.0
    for k in range(n):
        s = s + t[k % 3]
    t[0] = 5.0
    return s + t[0]


def minmax_tuple(x, n):
    s = 0.0
    for k in range(n):
        s = s + min((x * k, 1.0), (1.0, 2.0))[1]
    return s


def any_user(x, n):
    def near(a, b):
        return abs(a - b) < 0.2

    s = x
    for _k in range(n):
        if any(near(s, c) for c in [0.5, 1.0, 1.5]):
            s = s + 0.25
        else:
            s = s - 0.1
    return s


def filter_list(x, n):
    s = x
    for _k in range(n):
        s = s + len([t for t in (0.5, 1.0, 2.0) if t < s]) * 0.1
    return s


def sum_cond(x, n):
    s = x
    for _k in range(n):
        s = s + sum(1 for t in (0.5, 1.0, 2.0) if t < s) * 0.1
    return s


def dict_write_staged(x, n):
    t = {0: 0.0, 1: 0.0, 2: 0.0}
    for k in range(n):
        t[k % 3] += x * k
    return t[0] + 2 * t[1] + 3 * t[2]


def dict_fn(x, n):
    table = {0: lambda t: t * 0.5, 1: lambda t: np.sin(t), 2: lambda t: t + 1}
    s = x
    for k in range(n):
        s = table[k % 3](s)
    return s


WRITTEN = [
    *(min_key, max_key_pairs, sorted_values, sorted_key, any_gen, all_gen, math_fns, fsum, dist, ldexp, gcd),
    *(gcd_while, complex_state, median3, sorted_ties, sorted_reverse_ties, sorted_objects, min_two_key, min_args),
    *(min_default, argsort, sort_method, sort_method_reverse, sort_alias, sorted_ints, floor_ceil, isqrt),
    *(frexp_branch, complex_abs, all_list, dict_key, dict_global, dict_rows, dict_missing, dict_staged_values),
    *(dict_changed_in_round, dict_changed_after, any_user, filter_list, sum_cond, minmax_tuple),
]
ASKED = [dict_write_staged, dict_fn]
