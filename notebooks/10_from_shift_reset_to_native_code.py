# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     notebook_metadata_filter: -jupytext.text_representation.jupytext_version
#     text_representation:
#       extension: .py
#       format_name: percent
#       format_version: '1.3'
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # From shift/reset to native code
#
# A derivative by operator overloading computes as the program runs. The same operators can *write the program down*
# instead: with its way back, as a program of plain numbers. This is section 4 of Wang, Zheng, Decker, Wu, Essertel and
# Rompf, *Demystifying Differentiable Programming: Shift/Reset the Penultimate Backpropagator* (ICFP 2019). Below, "the
# paper" is that one. Its four examples are straight-line code, a branch, a loop, and a recursion over a tree. They
# come here in this order, each as this library writes it down.
#
# The notebook *There and back again* explains the operators and the continuations. It is good to read it first.

# %%
import matplotlib.pyplot as plt
import numpy as np

from shiftreset_ad import grad, hvp, reset, shift, staged

# %% [markdown]
# ## 1. A number that writes down
#
# Here is the number of that notebook, with multiplication alone. It computes its answer, hands it to the rest of the
# program, and adds to the adjoints of its operands when the rest has ended.


# %%
class Num:
    """A number `x`, and its adjoint `d`."""

    def __init__(self, x):
        self.x, self.d = x, 0.0

    def __mul__(self, that):
        def handler():
            y = Num(self.x * that.x)
            yield y  # the rest of the program
            self.d = self.d + that.x * y.d
            that.d = that.d + self.x * y.d

        return shift(handler)


def gradient(f, x):
    z = Num(x)

    def program():
        f(z).d = 1.0

    reset(program)
    return z.d


gradient(lambda x: x * x, 3.0)

# %%
assert gradient(lambda x: x * x, 3.0) == 6.0

# %% [markdown]
# `Num` never asks what `x` is. It only multiplies and adds. So `x` may be a name in place of a value: a `Rep`, short
# for *representation*, as in the paper. Its operators compute nothing. They write a line of code, and answer with the
# name of the result.


# %%
class Rep:
    """A value that the written program will have when it runs."""

    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return self.name

    def __add__(self, other):
        return written(f"{self} + {other}")

    def __radd__(self, other):
        return written(f"{other} + {self}")

    def __mul__(self, other):
        return written(f"{self} * {other}")

    __rmul__ = __mul__


code = []


def written(expression):
    name = f"v{len(code)}"
    code.append(f"{name} = {expression}")
    return Rep(name)


answer = gradient(lambda x: x * x, Rep("x"))
print("\n".join(code), f"return {answer}", sep="\n")

# %%
assert code == ["v0 = x * x", "v1 = x * 1.0", "v2 = 0.0 + v1", "v3 = x * 1.0", "v4 = v2 + v3"]

# %% [markdown]
# The numbers and the continuations are gone. They did their work while the code was written. What is left is
# arithmetic, in the order of there and back again. In the words of the paper, `Num` belongs to the first stage, and
# `Rep` to the second.
#
# ## 2. Straight-line code (section 4.1)
#
# `staged(f)` does this for any function of this library. `f.sources` shows what it has written down. Lines that nobody
# needs are left out, and so are `1.0 *` and `0.0 +`, which change nothing.

# %%
slope = staged(grad(lambda x: x * x))
print([slope(x) for x in (3.0, 4.0, -1.0)])
print(slope.sources[0])

# %%
assert slope(3.0) == 6.0
assert "v0 + v0" in slope.sources[0]

# %% [markdown]
# ## 3. A branch (section 4.2)
#
# A name has no truth, so Python cannot decide `if x > 0.0` for a `Rep`. The paper has an operator `IF` for that. Here,
# `if` itself is enough: `staged` reads the source of the function, and writes both branches down. The way back takes
# the same branch.


# %%
def bent(x):
    if x > 0.0:
        return -1.0 * x * x
    return x * x


slope = staged(grad(bent))
print([slope(x) for x in (3.0, -3.0, 0.0)])
print(slope.sources[0])

# %%
assert [slope(x) for x in (3.0, -3.0, 0.0)] == [-6.0, -6.0, 0.0]
assert len(slope.sources) == 1

# %% [markdown]
# ## 4. A loop (section 4.3)
#
# The number of rounds depends on `x`. One record serves for all of them. There, each round keeps what the way back
# needs. Back, the rounds come in the other order.


# %%
def halved(x):
    while x > 1.0:
        x = x * 0.5
    return x


slope = staged(grad(halved))
print([slope(x) for x in (0.5, 1.0, 5.0, 1e6)])
print(slope.sources[0])

# %%
assert [slope(x) for x in (0.5, 1.0, 5.0)] == [1.0, 1.0, 0.125]
assert slope(1e6) == 0.5**20
assert len(slope.sources) == 1

# %% [markdown]
# In the loop above a round keeps nothing, as its derivative is 0.5 whatever `x` is. This one keeps the `y` of each
# round:


# %%
def powers(x):
    y = x
    while y < 100.0:
        y = y * x + 1.0
    return y


slope = staged(grad(powers))
assert [slope(x) for x in (2.0, 3.0, 1.7)] == [grad(powers)(x) for x in (2.0, 3.0, 1.7)]
print(slope.sources[0])

# %% [markdown]
# A picture of a program with a loop, and of its derivative. The rounds change the curve from one piece to the next,
# and each point of both curves comes from the same record.

# %%
xs = np.linspace(1.3, 4.0, 400).tolist()
value = staged(powers)
figure, (above, below) = plt.subplots(2, sharex=True, figsize=(7, 4.5), layout="constrained")
above.plot(xs, [value(x) for x in xs], ".", markersize=2)
above.set_ylabel("powers(x)")
below.plot(xs, [slope(x) for x in xs], ".", markersize=2, color="C1")
below.set(xlabel="x", ylabel="derivative")
plt.show()

# %%
assert len(value.sources) == len(slope.sources) == 1

# %% [markdown]
# ## 5. Recursion (section 4.4, Fig. 14)
#
# The paper's last example walks over a tree, and multiplies the values of its nodes. The shape of the tree is known
# only when the program runs. Here the tree is three arrays: the left child of each node, the right child, and the
# value. The index -1 is the empty tree, which stands for $x$. A function that calls itself is written down as a
# function. Its way back is a function, too, which calls itself in the same places.


# %%
def product(left, right, value, x):
    def total(i, x):
        if i < 0:
            return x
        return total(left[i], x) * total(right[i], x) * value[i]

    return total(0, x)


value = np.array([1.0, 2.0, 3.0])
full = np.array([1, -1, -1]), np.array([2, -1, -1])  # two nodes below the first one
path = np.array([1, 2, -1]), np.array([-1, -1, -1])  # one below the other
single = np.array([-1, -1, -1]), np.array([-1, -1, -1])

slope = staged(grad(product, argnums=3))
print([slope(*tree, value, 2.0) for tree in (full, path, single)])
print(slope.sources[0])

# %%
assert [slope(*tree, value, 2.0) for tree in (full, path, single)] == [192.0, 192.0, 4.0]
assert len(slope.sources) == 1

# %% [markdown]
# A tree with $n$ nodes has $n + 1$ empty trees, so the product is $x^{n+1}$ times all values, and its derivative is
# $(n + 1)\, x^n$ times all values: $4 \cdot 8 \cdot 6 = 192$ above. The code is the same for all trees.
#
# ## 6. Derivatives of derivatives
#
# The rules of derivatives do not know that their numbers write down. So every mix of derivatives is written down in
# the same way. Here is forward over reverse mode through a loop that stops when it has converged: the second
# derivative of a square root.


# %%
def newton_sqrt(a):
    x = a
    while abs(x * x - a) > 1e-12:
        x = (x + a / x) / 2
    return x


curvature = staged(lambda a: hvp(newton_sqrt, (a,), (1.0,)))
print([curvature(a) for a in (2.0, 3.0, 50.0)])

# %%
np.testing.assert_allclose([curvature(a) for a in (2.0, 3.0, 50.0)], [-0.25 * a**-1.5 for a in (2.0, 3.0, 50.0)])
assert len(curvature.sources) == 1
assert "reversed" in curvature.sources[0]

# %% [markdown]
# ## 7. Native code
#
# The paper's system hands its code to a compiler for C++. Here the compiler is LLVM, if the package `llvmlite` is
# installed. The derivative of $x^2$ is one addition, between the checks of the argument and the answer:

# %%
slope = staged(grad(lambda x: x * x))
for x in (1.0, 2.0, 3.0):
    slope(x)
print([line.strip() for line in slope.llvm[0].splitlines() if "fadd" in line] or slope.llvm[0])

# %% [markdown]
# There is no fast mathematics in it: the answers have the same bits as those of the steps above. Where Python would
# raise an error, native code leaves, and Python's own steps raise it.
#
# The loop of section 4 is native code, too, with the way back. This is its arithmetic, the test of each round first:

# %%
slope = staged(grad(powers))
for x in (2.0, 3.0, 1.7):
    slope(x)
lines = [line.strip() for line in slope.llvm[0].splitlines()]
print("\n".join(line for line in lines if " = f" in line) or slope.llvm[0])

# %% [markdown]
# ## 8. It stays right
#
# A record holds for the values that the program has looked at. Each call compares them, and if one has changed, the
# program is written down again. `report` says how it runs, and has the lines of the program that were written down.

# %%
rate = 2.0
scaled = staged(lambda x: rate * x * x)
assert [scaled(x) for x in (1.0, 2.0, 3.0)] == [2.0, 8.0, 18.0]
rate = 5.0
assert scaled(3.0) == 45.0
print(scaled.report().splitlines()[1])

# %% [markdown]
# ## Exercises
#
# 1. Let `gradient` and `Rep` of section 1 write down the derivative of $x^3$. Run the lines with `exec` at $x = 2$.
# 2. `staged` takes nested derivatives of a loop. Compare `staged(grad(grad(powers)))` at 2 and at 3 with the second
#    derivative on paper. Is one record enough for both?
# 3. Differentiate the product over the tree of section 5 in the values of the nodes. What is the derivative on paper?
#
# ## Answers

# %% jupyter={"source_hidden": true}
# 1. The lines are a program of their own. They need the name x, and nothing else.
code.clear()
answer = gradient(lambda x: x * x * x, Rep("x"))
names = {"x": 2.0}
exec("\n".join(code), names)
assert names[answer.name] == 3 * 2.0**2

# %% jupyter={"source_hidden": true}
# 2. It is enough, although the loop runs six times for 2, which gives x⁷ + x⁵ + x⁴ + x³ + x² + x + 1, and four times
#    for 3, which gives x⁵ + x³ + x² + x + 1.
curvature = staged(grad(grad(powers)))
assert powers(2.0) == np.polyval([1, 0, 1, 1, 1, 1, 1, 1], 2.0)
assert powers(3.0) == np.polyval([1, 0, 1, 1, 1, 1], 3.0)
for _ in range(3):  # from the second call on, the record serves
    assert np.isclose(curvature(2.0), 42 * 2.0**5 + 20 * 2.0**3 + 12 * 2.0**2 + 6 * 2.0 + 2)
    assert np.isclose(curvature(3.0), 20 * 3.0**3 + 6 * 3.0 + 2)
assert len(curvature.sources) == 1

# %% jupyter={"source_hidden": true}
# 3. The product without the node: the whole product, divided by the value of the node.
in_values = staged(grad(product, argnums=2))
nodes = np.array([1.0, 2.0, 3.0])
for left, right in (full, path):
    assert np.allclose(in_values(left, right, nodes, 2.0), product(left, right, nodes, 2.0) / nodes)
assert len(in_values.sources) == 1
