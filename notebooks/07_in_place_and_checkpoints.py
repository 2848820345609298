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
# # Writing in place, memory and checkpoints
#
# Simulations write into their arrays: `u += ...`, `u[1:-1] = ...`. Reverse mode has to go back through such a program,
# although the old numbers have been overwritten. This notebook shows that you can write in place as usual, what a way
# back keeps in memory, and how to make do with less. The problem is heat that spreads in a rod.

# %%
import math
import tracemalloc

import matplotlib.pyplot as plt
import numpy as np

from shiftreset_ad import checkpoint, checkpointed_loop, grad, optimize, zeros

# %% [markdown]
# ## 1. Write as usual
#
# The rod has a temperature at each of its points. In a step, each inner point takes a quarter of the difference from
# each neighbour. NumPy writes this in one line, in place.


# %%
def spread(u):
    u[1:-1] += 0.25 * (u[2:] - 2 * u[1:-1] + u[:-2])


def after(u, steps):
    u = u.copy()  # the argument belongs to the caller
    for _ in range(steps):
        spread(u)
    return u


middle = grad(lambda u: after(u, 3)[4])(np.zeros(9))
middle

# %% [markdown]
# This gradient says how much each point at the start counts for the point in the middle after three steps. The step is
# linear, so we can write it as a matrix, and check: the gradient is a row of the third power.

# %%
matrix = np.stack([after(unit, 1) for unit in np.eye(9)], axis=1)
assert np.allclose(middle, np.linalg.matrix_power(matrix, 3)[4])

# %% [markdown]
# The line `u = u.copy()` is necessary. Without it the function would write to its argument, that is, to an array of the
# caller. There is an error instead of a wrong derivative.

# %%
try:
    grad(lambda u: spread(u) or u[4])(np.zeros(9))
except TypeError as error:
    print("TypeError:", error)
else:
    raise AssertionError("this was to fail")

# %% [markdown]
# ## 2. Views and buffers
#
# A slice of an array is a *view*: it shares the memory. So a write to the view is a write to the array, and the way
# back knows it.


# %%
def warmed(x):
    u = x.copy()
    left = u[:3]  # a view
    left *= 2.0
    return np.sum(u**2)  # 4 x² on the left, x² on the right


grad(warmed)(np.ones(5))

# %%
assert grad(warmed)(np.ones(5)).tolist() == [8.0, 8.0, 8.0, 2.0, 2.0]

# %% [markdown]
# A buffer for numbers comes from `zeros`. NumPy's own `np.zeros` makes an array of plain floats, which would lose the
# derivative. Again, there is an error, and it says what to write.


# %%
def powers(x, new):
    cells = new(4)
    for i in range(4):
        cells[i] = x**i
    return np.sum(cells)  # 1 + x + x² + x³


try:
    grad(powers)(2.0, np.zeros)
except TypeError as error:
    print("TypeError:", error)
else:
    raise AssertionError("this was to fail")

# %%
assert grad(powers)(2.0, zeros) == 1 + 2 * 2.0 + 3 * 2.0**2

# %% [markdown]
# ## 3. What the way back keeps
#
# A real rod conducts better where it is warm. Then a step is not linear: its derivative depends on the temperatures.
# The way back needs the temperatures of each step, so they have to be kept, and the memory grows with the number of
# steps. We count it in rods, that is, in the size of one array of temperatures.


# %%
def spread_warm(u, rate=0.2):
    conductivity = rate * (1.0 + 0.2 * u)
    u[1:-1] += np.diff((conductivity[1:] + conductivity[:-1]) / 2 * np.diff(u))


def plain_loop(u, steps):
    u = u.copy()
    for _ in range(steps):
        spread_warm(u)
    return u


rod = np.sin(np.linspace(0.0, np.pi, 2000))
weights = np.linspace(0.0, 1.0, 2000)


def measured(loop, steps):
    """The gradient of a sum of temperatures at the end, and the memory that it took, in rods."""
    tracemalloc.start()
    gradient = grad(lambda u: weights @ loop(u, steps))(rod)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return gradient, peak / rod.nbytes


reference, peak = measured(plain_loop, 400)
_, peak_of_100 = measured(plain_loop, 100)
print(f"400 steps keep more than {int(peak / 400)} rods in each step")

# %%
assert 3.5 < peak / peak_of_100 < 4.5  # four times as many steps, four times as much memory

# %% [markdown]
# ## 4. Compute it again
#
# Whoever has no room keeps less, and computes again what is missing. `checkpoint(f)` keeps the arguments of `f` only.
# On the way back it runs `f` once more. With 20 pieces of 20 steps, the memory holds 20 arrays and the inside of one
# piece.


# %%
def in_pieces(u, steps):
    pieces = int(np.sqrt(steps))
    for _ in range(pieces):
        u = checkpoint(lambda u: plain_loop(u, steps // pieces))(u)
    return u


gradient, smaller = measured(in_pieces, 400)
print(f"at most one tenth of the memory: {smaller < peak / 10}")

# %%
assert np.array_equal(gradient, reference)  # the same bits
assert smaller < peak / 10

# %% [markdown]
# `checkpointed_loop` knows how to place any given number of snapshots best: Griewank and Walther's *revolve*. Its step
# is run again, so it takes a state and returns a new one. Fewer snapshots mean more steps. Here we count both.

# %%
runs = [0]


def step(_, u):
    runs[0] += 1
    u = u.copy()
    spread_warm(u)
    return u


rows = []
for snapshots in (5, 10, 20, 40):
    runs[0] = 0
    gradient, memory = measured(lambda u, steps, s=snapshots: checkpointed_loop(step, u, steps, snapshots=s), 400)
    assert np.array_equal(gradient, reference)
    rows.append((snapshots, memory, runs[0]))

figure, panel = plt.subplots(figsize=(6, 3.4), layout="constrained")
panel.semilogx([memory for _, memory, _ in rows], [n / 400 for _, _, n in rows], "o-", color="tab:blue")
for snapshots, memory, n in rows:
    panel.annotate(f"{snapshots} snapshots", (memory, n / 400), (6, 4), textcoords="offset points", fontsize=8)
panel.plot(peak, 1, "s", color="black")
panel.annotate("keep everything", (peak, 1), (-8, 6), textcoords="offset points", fontsize=8, ha="right")
panel.set(xlabel="memory, in rods", ylabel="runs of each step", title="memory against time, 400 steps", ylim=(0, 7))
plt.show()

# %%
memories, counts = [memory for _, memory, _ in rows], [n for _, _, n in rows]
assert counts == sorted(counts, reverse=True)
assert max(memories) < peak / 10
assert counts[-1] < 3 * 400  # with 40 snapshots, each step runs less than three times in the mean

# %% [markdown]
# The step may not write to the state that it is given, as the state is a snapshot, and will be needed again.

# %%
try:
    grad(lambda u: weights @ checkpointed_loop(lambda _, u: spread_warm(u) or u, u, 10, snapshots=3))(rod)
except TypeError as error:
    print("TypeError:", error)
else:
    raise AssertionError("this was to fail")

# %% [markdown]
# ## 5. What is the rod made of?
#
# Now the simulation serves. We know the temperatures at the start, and we measure some of them after 300 steps, with a
# small error. How well does the rod conduct? The gradient goes back through all steps, and through each write in them.

# %%
start = np.where(np.arange(60) < 20, 3.0, 0.0)


def simulate(rate, steps=300):
    u = zeros(60) + start
    for _ in range(steps):
        spread_warm(u, rate)
    return u


sensors = np.arange(5, 60, 10)
readings = simulate(0.123)[sensors] + 0.01 * np.random.default_rng(0).normal(size=6)


def misfit(rate):
    return np.sum((simulate(rate)[sensors] - readings) ** 2)


fit = optimize.minimize(misfit, 0.05, constraint=optimize.Box(0.0, 0.3))  # beyond 0.3 the simulation is not stable
fit.converged, fit.x

# %%
assert fit.converged
assert abs(fit.x - 0.123) < 0.01

# %%
figure, panel = plt.subplots(figsize=(6, 3.2), layout="constrained")
for steps, shade in ((0, "0.8"), (30, "0.65"), (100, "0.5"), (300, "tab:blue")):
    panel.plot(simulate(fit.x, steps), color=shade, label=f"after {steps} steps")
panel.plot(sensors, readings, "o", color="black", markersize=4, label="measured at the end")
panel.set(xlabel="point of the rod", ylabel="temperature", title="the fitted rod")
panel.legend(fontsize=8)
plt.show()

# %% [markdown]
# ## Exercises
#
# 1. Write the prefix sums of an array in place: `for i in range(1, n): u[i] += u[i - 1]`. What is the gradient of the
#    last element? And that of the sum of all?
# 2. Compute $x^{1000}$ by a `checkpointed_loop` with 5 snapshots, and count how often the step runs for the gradient.
#    Compare with the formula in `help(checkpointed_loop)`. How often does it run with 1 snapshot, for $x^{100}$?
# 3. The end of the rod at point 0 is warm in section 5. At which points would more heat at the start raise the
#    temperature of point 30 after 300 steps the most? Compute the gradient in the start, for `rate` 0.123.
#
# ## Answers


# %% jupyter={"source_hidden": true}
# 1. The last element is the sum of all. In the sum of all, u[0] counts n times, and the last element once.
def prefix_sums(x):
    u = x.copy()
    for i in range(1, len(u)):
        u[i] += u[i - 1]
    return u


assert grad(lambda x: prefix_sums(x)[-1])(np.ones(4)).tolist() == [1.0, 1.0, 1.0, 1.0]
assert grad(lambda x: np.sum(prefix_sums(x)))(np.ones(4)).tolist() == [4.0, 3.0, 2.0, 1.0]


# %% jupyter={"source_hidden": true}
# 2. With a single snapshot, the start, the loop runs from the start for each step: the number of runs grows with n².
def power(x, n, snapshots):
    def times(_, y):
        runs[0] += 1
        return x * y

    return checkpointed_loop(times, 1.0, n, snapshots=snapshots)


for n, s, r in ((1000, 5, 8), (100, 1, 99)):
    assert math.comb(s + r, s) >= n > math.comb(s + r - 1, s)  # so r is the least number that the formula asks for
    runs[0] = 0
    assert grad(power)(1.0, n, s) == n
    assert runs[0] == r * n - math.comb(s + r, r - 1) + 1 + n
    print(f"{n} steps, snapshots: {s}, runs of the step: {runs[0]}")


# %% jupyter={"source_hidden": true}
# 3. Point 30 itself. On its warm side the rod conducts better, so the five nearest points there count more than their
#    mirror images.
def at_30(u):
    u = u.copy()
    for _ in range(300):
        spread_warm(u, 0.123)
    return u[30]


shares = grad(at_30)(start)
h = 1e-5 * (np.arange(60) == 25)
assert np.isclose(shares[25], (at_30(start + h) - at_30(start - h)) / 2e-5, rtol=1e-4)
assert shares.argmax() == 30
assert (shares[25:30] > shares[35:30:-1]).all()
