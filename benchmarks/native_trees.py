"""Recursion on trees as native code against gradients in C++ by hand: a part of `native.py`.

The tree is that of Wang et al. (2019), section 4.4, in arrays: its nodes have children, and a child below 0 is an empty
tree. The gradient in C++ keeps two numbers of each node in a `std::vector`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import shiftreset_ad as sr

NODES = (25, 1_575, 70_000)

IN_C = """
#include <vector>
static std::vector<double> tape;
static const long *left, *right;
static const double *value;
static double total(long i, double x) {
    if (i < 0) return x;
    double l = total(left[i], x), r = total(right[i], x);
    tape.push_back(l); tape.push_back(r);
    return l * r * value[i];
}
static double slope(long i, double bar) {
    if (i < 0) return bar;
    double r = tape.back(); tape.pop_back();
    double l = tape.back(); tape.pop_back();
    bar = bar * value[i];
    double of_right = slope(right[i], bar * l);
    return of_right + slope(left[i], bar * r);
}
extern "C" double run(double x, const long* l, const long* r, const double* v, long n) {
    double sum = 0; left = l; right = r; value = v;
    for (long i = 0; i < n; ++i) { tape.clear(); total(0, x + 1e-300 * sum); sum = slope(0, 1.0); }
    return sum;
}"""


def product(left: Any, right: Any, value: Any, x: Any) -> Any:
    """The product of the values of a tree, and of `x` for each empty tree."""

    def total(i: Any, x: Any) -> Any:
        return x if i < 0 else total(left[i], x) * total(right[i], x) * value[i]

    return total(0, x)


slope = sr.grad(product, argnums=3)


def tree(nodes: int) -> tuple[Any, ...]:
    """The children of the nodes of a random search tree, and values near 1."""
    rng = np.random.default_rng(0)
    left, right = np.full(nodes, -1), np.full(nodes, -1)
    keys = rng.permutation(nodes)
    for new in range(1, nodes):
        node = 0
        while True:
            side = left if keys[new] < keys[node] else right
            if side[node] < 0:
                break
            node = side[node]
        side[node] = new
    return left, right, rng.uniform(0.999, 1.001, nodes)
