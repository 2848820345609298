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
# # Five minutes: differentiate your own Python
#
# `grad(f)` is a function that computes the derivative of `f`. The function `f` is ordinary Python: there is no
# special language to write it in, no graph to build, and no other NumPy to import. You need to know Python and what a
# derivative is.

# %%
import math
import textwrap
from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np

from shiftreset_ad import grad, value, value_and_grad

# %% [markdown]
# ## One function, one number
#
# Take $f(x) = 2x + x^3$. Calculus says $f'(x) = 2 + 3x^2$, so $f'(3) = 29$.


# %%
def f(x):
    return 2 * x + x**3


grad(f)(3.0)

# %%
assert grad(f)(3.0) == 2 + 3 * 3.0**2
value_and_grad(f)(3.0)  # the value comes for free

# %% [markdown]
# The answer is exact up to rounding. It does not come from a small difference quotient, and it does not come from
# algebra on the source code. `f` is run once, on a number that remembers what is done to it.
#
# ## Loops and branches
#
# So it does not matter how `f` computes what it computes. Here is the square root as Heron of Alexandria computed it.
# How often the loop runs depends on the number.


# %%
def heron(a):
    x = a
    while abs(x * x - a) > 1e-12 * a:
        x = (x + a / x) / 2
    return x


heron(2.0), grad(heron)(2.0)

# %%
assert np.isclose(grad(heron)(2.0), 1 / (2 * np.sqrt(2.0)), rtol=1e-12)  # the derivative of sqrt(a) is 1 / (2 sqrt(a))

# %% [markdown]
# Only the branch that is taken is differentiated. This is the Huber loss: a parabola near zero, and straight lines
# outside.


# %%
def huber(x):
    return x**2 / 2 if abs(x) < 1 else abs(x) - 0.5


[grad(huber)(x) for x in (-3.0, -0.5, 0.0, 0.5, 3.0)]

# %%
assert [grad(huber)(x) for x in (-3.0, -0.5, 0.0, 0.5, 3.0)] == [-1.0, -0.5, 0.0, 0.5, 1.0]

# %% [markdown]
# ## Recursion and data structures
#
# An expression as a tree: a leaf is a name, a node is an operator and two branches. `evaluate` walks the tree and
# looks the names up in a dict. The derivative of a function of a dict is a dict with the same keys.

# %%
tree = ("+", ("*", "a", "b"), ("*", "b", "b"))  # a b + b²


def evaluate(environment, tree):
    if isinstance(tree, str):
        return environment[tree]
    operator, left, right = tree
    left, right = evaluate(environment, left), evaluate(environment, right)
    return left + right if operator == "+" else left * right


gradient = grad(evaluate)({"a": 2.0, "b": 5.0, "unused": 1.0}, tree)
gradient

# %%
assert gradient == {"a": 5.0, "b": 2.0 + 2 * 5.0, "unused": 0.0}

# %% [markdown]
# Tuples, lists and dataclasses work in the same way, nested as you like. Only the first argument is differentiated,
# unless you ask for others: `grad(f, argnums=(0, 1))`.


# %%
@dataclass
class Ellipse:
    center: tuple[float, float]
    radii: list[float]

    def contains(self, x, y):
        """Below 1 inside, above 1 outside."""
        return sum(((p - c) / r) ** 2 for p, c, r in zip((x, y), self.center, self.radii, strict=True))


grad(Ellipse.contains, argnums=(0, 1))(Ellipse((0.0, 1.0), [2.0, 1.0]), 1.0, 2.0)

# %% [markdown]
# Inside the function you may fill lists, sort, and write to dicts. Here the two largest of three numbers count.


# %%
def two_largest(numbers):
    chosen = []
    for x in sorted(numbers, reverse=True):
        if len(chosen) < 2:
            chosen.append(x)
    return chosen[0] * chosen[1]


grad(two_largest)([3.0, 1.0, 4.0])

# %%
assert grad(two_largest)([3.0, 1.0, 4.0]) == [4.0, 0.0, 3.0]

# %% [markdown]
# ## Closures and exceptions
#
# `line_through` returns a function that remembers a point. The derivative goes through what a function remembers,
# too.


# %%
def line_through(x0, y0):
    def slope_to(x, y):
        return (y - y0) / (x - x0)

    return slope_to


def slope(x0):
    return line_through(x0, 1.0)(4.0, 7.0)


slope(1.0), grad(slope)(1.0)  # (7 - 1) / (4 - x0) has the derivative 6 / (4 - x0)²

# %%
assert np.isclose(grad(slope)(1.0), 6 / 9)

# %% [markdown]
# An operation that fails raises its error where you wrote it. So `try` and `except` do what they say.


# %%
def safe_ratio(a, b):
    try:
        return a / b
    except ZeroDivisionError:
        return 10 * a


grad(safe_ratio)(3.0, 2.0), grad(safe_ratio)(3.0, 0.0)

# %%
assert grad(safe_ratio)(3.0, 2.0) == 0.5
assert grad(safe_ratio)(3.0, 0.0) == 10.0

# %% [markdown]
# ## Arrays
#
# `import numpy as np` is the usual NumPy. The gradient with respect to an array is an array of the same shape. Here
# is the energy of four springs in a row, with three masses between them. The force on each mass is minus the
# gradient.


# %%
def energy(positions):
    lengths = np.diff(np.concatenate([[0.0], positions, [1.0]]))
    return np.sum(lengths**2) / 2


positions = np.array([0.1, 0.5, 0.7])
force = -grad(energy)(positions)
force

# %%
left, right = np.array([0.0, 0.1, 0.5]), np.array([0.5, 0.7, 1.0])  # the neighbours of each mass
assert np.allclose(force, (right - positions) - (positions - left))

# %% [markdown]
# A loop over the elements of an array is fine too. Its gradient costs a constant number of times what the loop costs,
# and does not grow with the square of the length.


# %%
def smooth(signal):
    """An exponential average of a signal, at its end."""
    average = signal[0]
    for x in signal[1:]:
        average = 0.9 * average + 0.1 * x
    return average


gradient = grad(smooth)(np.ones(50))

# %%
assert np.isclose(gradient.sum(), 1.0)  # an average
assert np.allclose(gradient[1:], 0.1 * 0.9 ** np.arange(48, -1, -1))
gradient[-3:]

# %% [markdown]
# ## A fit
#
# A pendulum swings and comes to rest: $a\,e^{-t/\tau}\cos(\omega t)$. We make up forty noisy measurements with $a =
# 1$, $\tau = 4$, $\omega = 3$, and find the three numbers again by gradient descent on the mean square error. The
# parameters are a dict, and so is the gradient.

# %%
times = np.linspace(0.0, 8.0, 40)
truth = {"amplitude": 1.0, "decay time": 4.0, "frequency": 3.0}


def swing(p, t):
    return p["amplitude"] * np.exp(-t / p["decay time"]) * np.cos(p["frequency"] * t)


measured = swing(truth, times) + np.random.default_rng(seed=0).normal(scale=0.05, size=times.shape)


def error(p):
    return np.mean((swing(p, times) - measured) ** 2)


guess = {"amplitude": 0.6, "decay time": 2.0, "frequency": 2.8}
found, errors = dict(guess), []
for _ in range(1000):
    loss, gradient = value_and_grad(error)(found)
    errors.append(loss)
    found = {name: p - gradient[name] for name, p in found.items()}
found

# %%
assert errors[-1] < 0.05**2  # no worse than the noise
assert all(abs(found[name] - truth[name]) < 0.1 * truth[name] for name in truth)

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.2), layout="constrained")
fine = np.linspace(0.0, 8.0, 400)
left.plot(fine, swing(guess, fine), ":", color="0.5", label="first guess")
left.plot(fine, swing(found, fine), color="tab:blue", label="fitted")
left.plot(times, measured, ".", color="black", label="measured")
left.set(xlabel="time (s)", ylabel="displacement (m)", title="the pendulum")
left.legend()
right.semilogy(errors, color="tab:blue")
right.axhline(0.05**2, color="black", linestyle="--", linewidth=0.9)
right.annotate("variance of the noise", (1000, 0.05**2), (0, 4), textcoords="offset points", ha="right")
right.set(xlabel="steps of gradient descent", ylabel="mean square error (m²)", title="the fit")
plt.show()

# %% [markdown]
# ## Derivatives of derivatives
#
# `grad(f)` is a Python function like any other. So it can be differentiated.

# %%
f(3.0), grad(f)(3.0), grad(grad(f))(3.0), grad(grad(grad(f)))(3.0)  # x³ + 2x, 3x² + 2, 6x, 6

# %%
assert (grad(f)(3.0), grad(grad(f))(3.0), grad(grad(grad(f)))(3.0)) == (29.0, 18.0, 6.0)

# %% [markdown]
# Here are tanh and its first three derivatives.

# %%
xs = np.linspace(-3.0, 3.0, 121)
g, names = np.tanh, ["tanh", "first derivative", "second derivative", "third derivative"]
figure, panel = plt.subplots(figsize=(7, 3.2), layout="constrained")
for name in names:
    panel.plot(xs, [g(float(x)) for x in xs], label=name)
    g = grad(g)
panel.set(xlabel="x", title="tanh, differentiated by nested grad")
panel.legend(fontsize=8)
plt.show()

# %%
y = np.tanh(0.5)
assert np.isclose(grad(grad(grad(np.tanh)))(0.5), (1 - y**2) * (6 * y**2 - 2))

# %% [markdown]
# A `grad` may also stand in the middle of a function that is differentiated. A Hessian is a matrix of second
# derivatives, and its product with a vector is the gradient of a scalar product: no matrix is ever formed.


# %%
def hessian_times(f, x, v):
    return grad(lambda x: np.dot(grad(f)(x), v))(x)


def quadratic(p):
    return 2 * p[0] ** 2 + 3 * p[0] * p[1] + 4 * p[1] ** 2


hessian_times(quadratic, np.array([3.0, 4.0]), np.array([7.0, 8.0]))  # [[4, 3], [3, 8]] times [7, 8]

# %%
assert hessian_times(quadratic, np.array([3.0, 4.0]), np.array([7.0, 8.0])).tolist() == [52.0, 85.0]

# %% [markdown]
# ## Looking inside
#
# You may print the numbers while they are being differentiated. They show their value, and how deep the `grad` is
# nested to which they belong. `value` gives the plain number, for a log or a plot.

# %%
log = []


def watched(x):
    print(x)
    y = x * x
    log.append(value(y))
    return y


grad(watched)(3.0), log

# %% [markdown]
# ## What errors look like
#
# A derivative that is silently wrong is worse than none. Where the library would have to guess, it stops and says
# what to do.


# %%
def show_error(f, *arguments):
    try:
        f(*arguments)
    except Exception as error:
        print(textwrap.fill(f"{type(error).__name__}: {error}", width=100), end="\n\n")
        return
    raise AssertionError("this was to fail")


# An integer has no derivative.
show_error(grad(f), 3)

# The functions of `math` return plain floats, and would lose the derivative.
show_error(grad(lambda x: math.sin(x)), 1.0)

# A gradient is of one number.
show_error(grad(lambda x: 2 * x), np.ones(3))


# A plain array takes no number; `shiftreset_ad.zeros` makes one that does.
def doubled(x):
    cells = np.zeros(3)
    cells[0] = 2 * x
    return cells[0]


show_error(grad(doubled), 1.0)

# %% [markdown]
# Errors of your own code come out as they are. The traceback shows your lines, as if `f` had been called without
# `grad`.

# %%
show_error(grad(lambda prices: prices["pear"] * 2), {"apple": 3.0})

# %% [markdown]
# That is all that you need to use it. How it works, in a few lines each, is in the next notebook,
# `02_there_and_back_again`.

# %% [markdown]
# ## Exercises
#
# 1. You put 1000 into a bank at 3 % a year. Write a loop that adds the interest of ten years, one by one. By how much
#    does the result grow for each per cent more of interest?
# 2. A dict has the places of two points, `{"a": (0.0, 0.0), "b": (3.0, 4.0)}`. Write the distance between them, and
#    compute its gradient. In which direction do the points move apart fastest?
# 3. Fit a straight line to the points `x = [0, 1, 2, 3]`, `y = [1, 3, 4, 8]` by gradient descent. Compare with
#    `np.polyfit`.
#
# ## Answers


# %% jupyter={"source_hidden": true}
# 1. The result is 1000 (1 + r)¹⁰, and its derivative in r is 10000 (1 + r)⁹. A per cent is 0.01.
def saved(rate):
    money = 1000.0
    for _ in range(10):
        money += rate * money
    return money


assert np.isclose(grad(saved)(0.03), 10_000 * 1.03**9)
print("for each per cent:", round(0.01 * grad(saved)(0.03), 2))


# %% jupyter={"source_hidden": true}
# 2. Straight away from each other: the gradient in a point is a vector of length 1 on the line through both points.
def distance(points):
    (ax, ay), (bx, by) = points["a"], points["b"]
    return np.sqrt((bx - ax) ** 2 + (by - ay) ** 2)


gradient = grad(distance)({"a": (0.0, 0.0), "b": (3.0, 4.0)})
assert np.allclose([*gradient["a"], *gradient["b"]], [-0.6, -0.8, 0.6, 0.8])

# %% jupyter={"source_hidden": true}
# 3. The mean square error of a line has one minimum, so gradient descent finds it.
x, y = np.array([0.0, 1.0, 2.0, 3.0]), np.array([1.0, 3.0, 4.0, 8.0])
line = np.zeros(2)
for _ in range(1000):
    line = line - 0.1 * grad(lambda line: np.mean((line[0] * x + line[1] - y) ** 2))(line)
assert np.allclose(line, np.polyfit(x, y, 1))
