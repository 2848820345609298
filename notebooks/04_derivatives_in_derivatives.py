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
# # A derivative inside a derivative
#
# A program that is differentiated may use a derivative itself. The force on a particle is the derivative of an energy.
# A best reply in a game is found by derivatives. So in practice derivatives are nested, and a simple tool gets
# nested derivatives wrong, without a word. This notebook shows how that happens, what the remedy is, and how to use
# nested derivatives on a real problem: to aim a particle.

# %%
import matplotlib.pyplot as plt
import numpy as np

import shiftreset_ad as sr
from shiftreset_ad import grad, jvp, value

# %% [markdown]
# ## 1. A number with a slope
#
# The simplest way to differentiate a program gives each number a second number: its slope, that is, how fast it changes
# when the input changes. Multiplication is enough here.


# %%
class Dual:
    """A number and its slope."""

    def __init__(self, number, slope):
        self.number, self.slope = number, slope

    def __mul__(self, other):
        other = dual(other)
        return Dual(self.number * other.number, self.slope * other.number + self.number * other.slope)


def dual(x):
    return x if isinstance(x, Dual) else Dual(x, 0.0)  # a constant has the slope 0


def naive(f):
    return lambda x: dual(f(Dual(x, 1.0))).slope


naive(lambda x: x * x * x)(2.0)

# %%
assert naive(lambda x: x * x * x)(2.0) == 3 * 2.0**2

# %% [markdown]
# ## 2. The same slope means two things
#
# A spring of stiffness $k$ that is stretched by $x$ holds the energy $k x^2$ (we leave out the usual half). The force
# that stretches it is the derivative of the energy in $x$:
#
# $$F(k) = \frac{\partial}{\partial x}\, k x^2 \Big|_{x=5} = 2 k \cdot 5 = 10\,k$$
#
# By how much does the force grow when the spring becomes stiffer? By $F'(k) = 10$, whatever $k$ is. The program says
# just that, with a derivative inside a derivative.


# %%
def force_at_5(derivative):
    return lambda k: derivative(lambda x: k * x * x)(5.0)


def stiffening(derivative):
    return derivative(force_at_5(derivative))(3.0)


force_at_5(naive)(Dual(3.0, 1.0)), stiffening(naive)

# %%
assert force_at_5(naive)(Dual(3.0, 0.0)) == 30.0  # right, as long as nobody asks what happens when k changes
assert force_at_5(naive)(Dual(3.0, 1.0)) == 55.0  # wrong
assert stiffening(naive) == 0.0  # wrong, and no error

# %% [markdown]
# The answer is 0 instead of 10, and there are two mistakes in it. In `k * x * x` the number `k` has the slope 1, as the
# outer derivative asks what happens when $k$ changes. The number `x` also has the slope 1, as the inner derivative asks
# what happens when $x$ changes. The class cannot tell the two questions apart, and adds both changes up. So the inner
# derivative is $2kx + x^2 = 55$ instead of $2kx = 30$. This is called *perturbation confusion*. The second mistake: 55
# is a plain number. It does not say how it changes with $k$, so the outer derivative takes it for a constant.
#
# ## 3. A level for each derivative
#
# The remedy is to say which derivative a slope belongs to. Each derivative has a *level*: the outer one has level 1,
# the derivative inside has level 2, and so on. An operation works at the highest level among its operands. An operand
# of a lower level is a constant there. Its number may have a slope of its own, at the lower level: `number` and
# `slope` may be such objects themselves. As the slopes are added and multiplied, the class needs both operations.


# %%
class Leveled:
    """A number and its slope at one level; both may be numbers of lower levels."""

    def __init__(self, number, slope, level):
        self.number, self.slope, self.level = number, slope, level

    def __add__(self, other):
        level = max(level_of(self), level_of(other))
        (a, a_slope), (b, b_slope) = parts(self, level), parts(other, level)
        return Leveled(a + b, a_slope + b_slope, level)

    def __mul__(self, other):
        level = max(level_of(self), level_of(other))
        (a, a_slope), (b, b_slope) = parts(self, level), parts(other, level)
        return Leveled(a * b, a_slope * b + a * b_slope, level)

    __radd__, __rmul__ = __add__, __mul__


def level_of(x):
    return x.level if isinstance(x, Leveled) else 0


def parts(x, level):
    return (x.number, x.slope) if level_of(x) == level else (x, 0.0)


running = []  # the derivatives that are being computed


def leveled(f):
    def derivative_of_f(x):
        running.append(f)
        level = len(running)
        slope = parts(f(Leveled(x, 1.0, level)), level)[1]
        running.pop()
        return slope

    return derivative_of_f


stiffening(leveled)

# %%
assert stiffening(leveled) == 10.0
assert leveled(leveled(lambda x: x * x * x))(2.0) == 6 * 2.0

# %% [markdown]
# This library does the same. A number prints its level, so you can watch it. Here `k` and `x` meet in a product. The
# product has level 2, and to it `k` is a constant.

# %%
seen = []


def energy(k, x):
    seen.extend([repr(k), repr(x), repr(k * x)])
    return k * x * x


answer = grad(lambda k: grad(lambda x: energy(k, x))(5.0))(3.0)
seen, answer

# %%
assert answer == 10.0
assert seen == ["NumR(3.0, level=1)", "NumR(5.0, level=2)", "NumR(15.0, level=2)"]

# %% [markdown]
# ## 4. Four ways to nest two derivatives
#
# There are two modes. Forward mode (`jvp`) carries slopes along with the program. Reverse mode (`grad`) goes back
# through the program. Both have levels, and each can stand inside the other, so there are four ways to compute a
# second derivative. All four give the same number.


# %%
def forward(f):
    return lambda x: jvp(f, (x,), (1.0,))[1]


ways = {"ff": (forward, forward), "fr": (forward, grad), "rf": (grad, forward), "rr": (grad, grad)}


answers = {
    way: outer(lambda k, inner=inner: inner(lambda x: k * x * x)(5.0))(3.0) for way, (outer, inner) in ways.items()
}
answers

# %%
assert set(answers.values()) == {10.0}

# %% [markdown]
# Which way is fast? Reverse mode is for many inputs and one output, forward mode for one input and many outputs. A
# Hessian times a vector is a direction (forward) through a gradient (reverse), so `hvp` is the way "fr".
#
# ## 5. Aim a particle
#
# This problem is from Siskind and Pearlmutter, who use it to compare tools. A charged particle starts at $(0, 8)$ and
# flies to the right. Two charges push it away: one at $(10, 0)$, and one at $(10, 10 - w)$, which we may move. Where
# does the particle hit the ground, and which $w$ makes it hit the ground at 0?
#
# The force is minus the gradient of the potential. So each step of the flight takes a derivative, and the aim takes a
# derivative through all steps.


# %%
def distance(a, b):
    return ((a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2) ** 0.5


def potential(x, y, w):
    return 1.0 / distance((x, y), (10.0, 10.0 - w)) + 1.0 / distance((x, y), (10.0, 0.0))


def force(x, y, w, derivative):
    return -derivative(lambda x: potential(x, y, w))(x), -derivative(lambda y: potential(x, y, w))(y)


def flight(w, derivative=grad):
    """The points of the flight in steps of 0.1, the last one on the ground."""
    points, (x, y), (u, v) = [(0.0, 8.0)], (0.0, 8.0), (0.75, 0.0)
    while y + 0.1 * v > 0.0:
        force_x, force_y = force(x, y, w, derivative)
        x, y = x + 0.1 * u, y + 0.1 * v
        u, v = u + 0.1 * force_x, v + 0.1 * force_y
        points.append((x, y))
    return [*points, (x - y / v * u, 0.0)]


def lands_at(w, derivative=grad):
    return flight(w, derivative)[-1][0]


lands_at(0.0), grad(lands_at)(0.0)

# %%
h = 1e-6
assert np.isclose(grad(lands_at)(0.0), (lands_at(h) - lands_at(-h)) / (2 * h), rtol=1e-5)

# %% [markdown]
# Now Newton's method. In each round it goes to where the tangent is zero.

# %%
w, aims = 0.2, [0.2]
while abs(lands_at(w)) > 1e-9:
    w = w - lands_at(w) / grad(lands_at)(w)
    aims.append(w)
aims

# %%
assert abs(w - 0.20719187464861194) < 1e-5  # the answer in the literature, whose descent ends at steps of 1e-5
assert len(aims) <= 5

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.4), layout="constrained")
for a, color in ((0.0, "0.6"), (0.15, "tab:orange"), (w, "tab:blue")):
    left.plot(*zip(*flight(a), strict=True), color=color, label=f"w = {a:.4f}")
left.plot([10, 10], [10 - w, 0], "o", color="black", markersize=5)
left.annotate("the charges", (10, 0), (-6, 6), textcoords="offset points", ha="right")
left.axhline(0, color="0.8", linewidth=0.8)
left.set(xlabel="x", ylabel="y", title="the flight of the particle")
left.legend(fontsize=8)
places = np.linspace(0.0, 0.3, 13).tolist()
right.plot(places, [lands_at(a) for a in places], color="black", label="where it lands")
right.plot(places, [grad(lands_at)(a) for a in places], color="tab:red", label="the derivative of that")
right.axhline(0, color="0.8", linewidth=0.8)
right.plot(w, 0, "o", color="tab:blue")
right.set(xlabel="w, the place of the charge", title="the aim")
right.legend(fontsize=8)
plt.show()

# %% [markdown]
# All four ways agree here, too, through a flight of more than fifty steps with two derivatives in each.

# %%
slopes = {way: outer(lambda w, inner=inner: lands_at(w, inner))(0.2) for way, (outer, inner) in ways.items()}
slopes

# %%
assert np.allclose(list(slopes.values()), slopes["rr"], rtol=1e-12)
assert len(flight(0.2)) > 52

# %% [markdown]
# ## 6. What may not leave
#
# A number of an inner derivative means nothing outside of it. If a program keeps one, and uses it later, the library
# says so. `value` is the way to keep a plain number.

# %%
kept, plain = [], []


def keeper(x):
    kept.append(x * x)
    plain.append(value(x * x))
    return x * x


grad(keeper)(3.0)
try:
    kept[0] + 1.0
except sr.EscapedNumberError as error:
    print("EscapedNumberError:", error)
else:
    raise AssertionError("this was to fail")

# %%
assert plain == [9.0]

# %% [markdown]
# The same danger has a second form, in which levels alone do not help: a function that *returns a function*. The
# returned function would hold a number whose derivative is over. `grad` takes no such function.

# %%
try:
    grad(lambda u: lambda x: u * x)(1.0)
except TypeError as error:
    print("TypeError:", error)
else:
    raise AssertionError("this was to fail")

# %% [markdown]
# ## Exercises
#
# 1. What is $\frac{d}{dx}\left(x \cdot \frac{d}{dy}\, x y^2\right)$ at $x = 2$, $y = 3$, on paper? What do `naive`,
#    `leveled` and `grad` say?
# 2. Compute the third derivative of $x^4$ at 2 by all eight ways to nest `forward` and `grad`.
# 3. At which $w$ does the particle land at 1? Find it by Newton's method on `lands_at(w) - 1`. Then say by how much $w$
#    has to change for the particle to land at 1.01, without solving again.
#
# ## Answers

# %% jupyter={"source_hidden": true}
# 1. The inner derivative is 2 x y, so the whole is d/dx 2 x² y = 4 x y.


def exercise(derivative):
    return derivative(lambda x: x * derivative(lambda y: x * y * y)(3.0))(2.0)


assert exercise(leveled) == exercise(grad) == 4 * 2.0 * 3.0
assert exercise(naive) == 2 * 2.0 * 3.0 + 3.0**2  # the derivative in y and in x at once; the outer factor x is 1

# %% jupyter={"source_hidden": true}
# 2. The answer is 24 x.
for one in (forward, grad):
    for two in (forward, grad):
        for three in (forward, grad):
            assert one(two(three(lambda x: x**4)))(2.0) == 24 * 2.0

# %% jupyter={"source_hidden": true}
# 3. The derivative of the inverse function is one over the derivative.
w1 = 0.1
while abs(lands_at(w1) - 1.0) > 1e-9:
    w1 = w1 - (lands_at(w1) - 1.0) / grad(lands_at)(w1)
change = 0.01 / grad(lands_at)(w1)
assert abs(lands_at(w1 + change) - 1.01) < 1e-4
print(w1, change)
