"""The four examples of section 4, and values that they must have."""

from shiftreset_ad.formulations.wang.staged import EMPTY, IF, INPUT, NODE, TREE, WHILE, Symbol, Tree, generate, grad


def snippet(f, *parameters, name="snippet"):
    return generate(f, *parameters, name=name)


STRAIGHT = snippet(grad(lambda x: x * x))
CONDITIONAL = snippet(grad(lambda x: IF(x > 0.0, lambda: -1.0 * x * x, lambda: x * x)))
LOOP = snippet(grad(lambda x: WHILE(x, lambda t: t > 1.0, lambda t: t * 0.5)))
RECURSION = snippet(
    lambda tree, x: grad(lambda x: TREE(x, tree, lambda left, right, node: left * right * node.value))(x),
    Symbol("tree", NODE),
    INPUT,
)


def leaf(value):
    return Tree(EMPTY, value, EMPTY)


EXAMPLES = {"4.1": STRAIGHT, "4.2": CONDITIONAL, "4.3": LOOP, "4.4": RECURSION}
VALUES = {  # of n nodes with values v: (n + 1) * x**n * the product of all v
    "4.1": [((3.0,), 6.0)],
    "4.2": [((3.0,), -6.0), ((-3.0,), -6.0), ((0.0,), 0.0)],
    "4.3": [((0.5,), 1.0), ((1.0,), 1.0), ((5.0,), 0.125)],
    "4.4": [
        ((Tree(EMPTY, 5.0, leaf(3.0)), 2.0), 180.0),
        ((EMPTY, 2.0), 1.0),
        ((Tree(leaf(2.0), 5.0, leaf(3.0)), 2.0), 4 * 8.0 * 30.0),
    ],
}
