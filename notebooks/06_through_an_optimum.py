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
# # Through an optimum
#
# Much that a program computes is found by a search: where a structure comes to rest, which parameters fit best. How
# does the answer of a search change when the problem changes? This notebook shows the two ways to differentiate through
# a search, what each costs, and when each is right. The functions are those of `shiftreset_ad.optimize`.

# %%
import tracemalloc

import matplotlib.pyplot as plt
import numpy as np

from shiftreset_ad import grad, hessian, jacobian, optimize

# %% [markdown]
# ## 1. A lamp on a rope
#
# An elastic rope is tied to two posts, 2 m apart, and a lamp hangs in the middle of it. When the lamp hangs $d$ metres
# low, each half of the rope is longer by $\sqrt{1 + d^2} - 1$. The rope then holds the energy
# $c\,(\sqrt{1 + d^2} - 1)^2$, and the lamp of weight $w$ has lost the energy $w d$. The lamp comes to rest where the
# sum is least.


# %%
def energy(depth, weight, stiffness=1000.0):
    return stiffness * (np.sqrt(1 + depth**2) - 1) ** 2 - weight * depth


def rests_at(weight):
    return optimize.argmin(lambda depth: energy(depth, weight), 0.5)


depth = rests_at(20.0)
depth

# %% [markdown]
# At the minimum the slope is zero. The slope is $F(d) - w$, where $F$ is the force of the rope. So $F(d) = w$: the rope
# carries the lamp.


# %%
def force(depth):
    return grad(energy)(depth, 0.0)


assert np.isclose(force(depth), 20.0)

# %% [markdown]
# How much lower does the lamp hang with a heavier bulb? We want the derivative of `rests_at`. We know it from the
# forces, too: as $w = F(d)$, the derivative of $d$ in $w$ is $1 / F'(d)$. This will be our check.

# %%
grad(rests_at)(20.0), 1 / grad(force)(depth)

# %%
assert np.isclose(grad(rests_at)(20.0), 1 / grad(force)(depth))

# %% [markdown]
# ## 2. The first way: through the rounds
#
# A search is a loop, and a loop can be differentiated. This is gradient descent, written by hand. Its derivative goes
# through every round. The derivative of an *unrolled* search is that of the number that the search has found, however
# far it has come.


# %%
def descend(weight, rounds):
    depth = 0.5
    for _ in range(rounds):
        depth = depth - grad(energy)(depth, weight) / 4000
    return depth


counts = [5, 10, 20, 40, 80, 160, 320, 640]
found = [descend(20.0, n) for n in counts]
slopes = [grad(descend)(20.0, n) for n in counts]

# %%
exact = 1 / grad(force)(depth)
wrong_depth = [abs(d / depth - 1) for d in found]
wrong_slope = [abs(s / exact - 1) for s in slopes]
figure, panel = plt.subplots(figsize=(6, 3.4), layout="constrained")
panel.loglog(counts, wrong_depth, "o-", color="black", label="the depth")
panel.loglog(counts, wrong_slope, "s-", color="tab:red", label="its derivative in the weight")
panel.set(xlabel="rounds of gradient descent", ylabel="relative error", title="the derivative comes later")
panel.legend()
plt.show()

# %% [markdown]
# The derivative converges, too, but it comes later than the depth. After 80 rounds the depth is right to 1 %, and the
# derivative is wrong by nearly 5 %.

# %%
assert wrong_depth[4] < 0.01 < 0.04 < wrong_slope[4] < 0.05
assert all(slope > place for place, slope in zip(wrong_depth[:6], wrong_slope[:6], strict=True))
assert wrong_slope[-1] < 1e-9

# %% [markdown]
# ## 3. The second way: through the condition
#
# It does not matter how the minimum was found. At the minimum the slope $E_d$ of the energy is zero, and it stays zero
# when the weight changes and the lamp follows:
#
# $$E_d(d, w) = 0 \quad\Rightarrow\quad E_{dd}\, \frac{\mathrm{d}d}{\mathrm{d}w} + E_{dw} = 0 \quad\Rightarrow\quad
# \frac{\mathrm{d}d}{\mathrm{d}w} = -\frac{E_{dw}}{E_{dd}}$$
#
# This is the *implicit function theorem*. The search itself does not appear in it.

# %%
e_dd = grad(grad(energy))(depth, 20.0)
e_dw = grad(lambda w: grad(energy)(depth, w))(20.0)
-e_dw / e_dd

# %%
assert np.isclose(-e_dw / e_dd, exact)

# %% [markdown]
# `optimize.argmin` does this. It is the usual way, `derivative="implicit"`. The first way is `derivative="unrolled"`.


# %%
def by(derivative):
    return lambda w: optimize.argmin(lambda d: energy(d, w), 0.5, derivative=derivative, tolerance=1e-10)


[(way, grad(by(way))(20.0), grad(grad(by(way)))(20.0)) for way in ("implicit", "unrolled")]

# %%
second = -grad(grad(force))(depth) / grad(force)(depth) ** 3  # of the inverse function, from a table of formulas
for way in ("implicit", "unrolled"):
    assert np.isclose(grad(by(way))(20.0), exact)
    assert np.isclose(grad(grad(by(way)))(20.0), second)

# %% [markdown]
# ## 4. Many variables
#
# Now nine lamps hang on the rope, in equal distances. There is a depth for each, and the implicit way has to solve a
# system of linear equations, with the matrix of second derivatives. The library never forms this matrix: it solves the
# system by products. Here we form it once, to compare.


# %%
def rope(depths, weights):
    """Ten pieces of rope, each 0.1 m wide; the posts are at depth 0."""
    steps = np.diff(np.concatenate([[0.0], depths, [0.0]]))
    stretch = np.sqrt(0.1**2 + steps**2) - 0.1
    return 5000.0 * np.sum(stretch**2) - weights @ depths


def hang(weights):
    return optimize.argmin(lambda depths: rope(depths, weights), 0.05 * np.ones(9), tolerance=1e-9)


weights = np.full(9, 5.0)
depths = hang(weights)
changes = jacobian(hang)(weights)
changes.shape

# %%
assert np.allclose(changes, np.linalg.inv(hessian(rope)(depths, weights)), rtol=1e-6)

# %% [markdown]
# Row by row: a heavier lamp pulls itself down, and all others with it.

# %%
assert (changes > 0).all()
assert (changes.argmax(axis=1) == np.arange(9)).all()

# %% [markdown]
# ## 5. A search around a search
#
# How heavy do the lamps have to be so that the rope hangs in the shape of an arc? That is a search for the weights, and
# each of its rounds searches for the depths. The outer search needs the gradient through the inner one.

# %%
arc = 0.2 * np.sin(np.pi * np.arange(1, 10) / 10)


def distance(weights):
    return np.sum((hang(weights) - arc) ** 2)


chosen = optimize.minimize(distance, weights, tolerance=1e-7).x
np.round(chosen, 2)

# %%
assert np.allclose(hang(chosen), arc, atol=1e-3)
carried = grad(rope)(arc, np.zeros(9))  # the weights that the arc carries, by the forces
assert np.allclose(chosen, carried, rtol=0.05)

# %%
figure, panel = plt.subplots(figsize=(6, 3), layout="constrained")
places = np.linspace(0, 1, 11)
for shape, name, color in ((depths, "equal weights", "0.6"), (hang(chosen), "chosen weights", "tab:blue")):
    panel.plot(places, -np.concatenate([[0.0], shape, [0.0]]), "o-", color=color, label=name)
panel.plot(places[1:-1], -arc, "x", color="tab:red", label="the arc that we want")
panel.set(xlabel="place (m)", ylabel="height (m)", title="nine lamps on a rope")
panel.legend(fontsize=8)
plt.show()

# %% [markdown]
# ## 6. Which way to take
#
# The implicit way needs no memory for the rounds. The unrolled way keeps all of them.


# %%
def memory(function, *arguments):
    tracemalloc.start()
    grad(function)(*arguments)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


memory(rests_at, 20.0)  # the first call also imports modules
peaks = {"80 rounds": memory(descend, 20.0, 80), "640 rounds": memory(descend, 20.0, 640)}
peaks["implicit"] = memory(rests_at, 20.0)

# %%
assert peaks["640 rounds"] > 4 * peaks["80 rounds"]
assert peaks["640 rounds"] > 10 * peaks["implicit"]

# %% [markdown]
# The implicit way needs a point that *is* a minimum. At any other point the formula of section 3 gives a number that
# means nothing. So there is an error if the search has not converged.

# %%
try:
    grad(lambda w: optimize.argmin(lambda d: energy(d, w), 0.5, rounds=1))(20.0)
except optimize.NotConvergedError as error:
    print("NotConvergedError:", error)
else:
    raise AssertionError("this was to fail")

# %% [markdown]
# The unrolled way is right where the rounds themselves are the question. Which rate is best for ten rounds of gradient
# descent? The minimum does not depend on the rate, and the ten rounds do.


# %%
def after_ten(rate):
    d = 0.5
    for _ in range(10):
        d = d - rate * grad(energy)(d, 20.0)
    return energy(d, 20.0)


start = 1 / 4000
slope = grad(after_ten)(start)
better = start - 1e-4 * np.sign(slope)
after_ten(start), after_ten(better), energy(depth, 20.0)

# %%
assert energy(depth, 20.0) < after_ten(better) < after_ten(start)

# %% [markdown]
# ## Exercises
#
# 1. The least energy itself is a function of the weight. What is its derivative? Compute it, and explain why the answer
#    is so simple.
# 2. Under the lamp is a table, 0.2 m below the posts. Find the depth of the lamp with a `Box`. How does the depth
#    change with the weight for $w = 5$ and for $w = 20$? How does it change with the height of the table?
# 3. The square root of $a$ is the fixed point of $x \mapsto (x + a / x) / 2$. Differentiate
#    `optimize.fixed_point` of it by both ways, twice, at $a = 2$.
#
# ## Answers

# %% jupyter={"source_hidden": true}
# 1. The lamp moves, but the energy is flat there. So only the weight counts, and the derivative is -d. This is called
#    the envelope theorem.
least = grad(lambda w: optimize.minimize(lambda d: energy(d, w), 0.5).value)(20.0)
assert np.isclose(least, -depth)


# %% jupyter={"source_hidden": true}
# 2. The light lamp does not reach the table. The heavy lamp lies on it: it moves with the table, not with the weight.
def above_the_table(weight, table):
    return optimize.argmin(lambda d: energy(d, weight), 0.1, constraint=optimize.Box(0.0, table))


assert above_the_table(20.0, 0.2) == 0.2
assert np.isclose(grad(above_the_table)(5.0, 0.2), grad(rests_at)(5.0))
assert grad(above_the_table)(20.0, 0.2) == 0.0
assert grad(above_the_table, argnums=1)(20.0, 0.2) == 1.0


# %% jupyter={"source_hidden": true}
# 3. The derivatives of the square root are 1 / (2 sqrt(a)) and -1 / (4 a sqrt(a)).
def root(derivative):
    return lambda a: optimize.fixed_point(lambda x: (x + a / x) / 2, 1.0, method="iteration", derivative=derivative)


for way in ("implicit", "unrolled"):
    assert np.isclose(grad(root(way))(2.0), 1 / (2 * np.sqrt(2)))
    assert np.isclose(grad(grad(root(way)))(2.0), -1 / (8 * np.sqrt(2)))
