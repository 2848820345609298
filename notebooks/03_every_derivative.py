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
# # Every derivative
#
# A gradient is one of many derivatives. This notebook goes through the others: directions, pullbacks, Jacobians,
# Hessians, Taylor series, rules of your own, and long loops in little memory. All of them are ordinary functions of
# functions, so each can be used inside any other.

# %%
import tracemalloc
from functools import partial

import matplotlib.pyplot as plt
import numpy as np

import shiftreset_ad as sr

# %% [markdown]
# ## There, and back
#
# A derivative is a linear map. For $f: \mathbb{R}^n \to \mathbb{R}^m$ it is the Jacobian $J$, and there are two cheap
# things to do with it. `jvp` sends a direction through it, $\dot y = J \dot x$, in one pass along with `f`. `vjp` sends
# a cotangent back, $\bar x = J^T \bar y$.


# %%
def polar(p):
    r, angle = p
    return np.stack([r * np.cos(angle), r * np.sin(angle)])


p, direction, weights = np.array([2.0, 0.5]), np.array([1.0, 0.0]), np.array([0.0, 1.0])
y, y_dot = sr.jvp(polar, (p,), (direction,))
y, pullback = sr.vjp(polar, p)
(p_bar,) = pullback(weights)
y_dot, p_bar

# %% [markdown]
# They are two sides of one thing: $\bar y \cdot \dot y = \bar x \cdot \dot x$.

# %%
assert np.isclose(weights @ y_dot, p_bar @ direction)

# %% [markdown]
# The whole matrix takes one pass too: all unit directions go through the program together.

# %%
sr.jacobian(polar)(p)

# %% [markdown]
# Its determinant is $r$, as every student of integrals knows.

# %%
assert np.isclose(np.linalg.det(sr.jacobian(polar)(p)), p[0])

# %% [markdown]
# ## Newton's method
#
# The Hessian is the Jacobian of the gradient. Newton's method needs it, or only its product with a vector, `hvp`, which
# costs a few times the function whatever the number of variables. Here is the valley of Rosenbrock.


# %%
def rosenbrock(x):
    return (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2


x = np.array([-1.2, 1.0])
path = [x]
for _ in range(6):
    x = x - np.linalg.solve(sr.hessian(rosenbrock)(x), sr.grad(rosenbrock)(x))
    path.append(x)
path = np.array(path)

a, b = np.meshgrid(np.linspace(-2, 2, 200), np.linspace(-4.2, 2, 200))
fig, ax = plt.subplots(figsize=(6, 3.6))
ax.contour(a, b, rosenbrock([a, b]), levels=np.geomspace(0.1, 3000, 12), colors="0.75", linewidths=0.8)
ax.plot(*path.T, "o-", color="tab:red", markersize=4)
ax.plot(1, 1, "*", color="black", markersize=12)
ax.set(xlabel="$x_0$", ylabel="$x_1$", title="Newton's method: six steps to the minimum")
plt.show()

# %%
assert np.allclose(x, 1.0)
sr.hvp(rosenbrock, (x,), (np.array([1.0, 0.0]),))  # the first column of the Hessian, without the Hessian

# %% [markdown]
# ## Any order at once
#
# Differentiating $n$ times, one derivative inside the other, costs a factor for each. `taylor` carries all orders along
# in a single pass: twenty coefficients of $\sin(e^x)$ take about as long as a few gradients.


# %%
def wiggle(x):
    return np.sin(np.exp(x))


coefficients = sr.taylor(wiggle, 0.0, 20)
xs = np.linspace(-2, 2, 400)
fig, ax = plt.subplots(figsize=(6, 3.6))
ax.plot(xs, wiggle(xs), color="black", linewidth=2, label=r"$\sin(e^x)$")
for order in (2, 5, 10, 20):
    ax.plot(xs, np.polynomial.polynomial.polyval(xs, coefficients[: order + 1]), label=f"order {order}")
ax.set(ylim=(-1.5, 1.5), xlabel="$x$", title="Taylor polynomials around 0")
ax.legend(loc="lower left", fontsize=8)
plt.show()

# %%
assert np.isclose(np.polynomial.polynomial.polyval(1.0, coefficients), wiggle(1.0), atol=2e-4)
sr.derivative(np.tan, 7)(0.0)  # 272, the seventh tangent number

# %% [markdown]
# ## A rule of your own
#
# The derivative of $\log(1 + e^x)$ is right on paper and overflows in a program. Where you know better than the chain
# rule, say so; `custom_jvp` takes a rule for a direction, and the way back follows from it.


# %%
@sr.custom_jvp
def softplus(x):
    return np.log(1 + np.exp(x))


@softplus.defjvp
def softplus_jvp(primals, tangents):
    (x,), (x_dot,) = primals, tangents
    return softplus(x), x_dot / (1 + np.exp(-x))


with np.errstate(over="ignore"):
    print(sr.grad(softplus)(800.0), sr.grad(sr.grad(softplus))(0.0))

# %% [markdown]
# ## A long way in little memory
#
# Reverse mode remembers what the program did. For a simulation of ten thousand steps that can be too much.
# `checkpointed_loop` keeps a given number of states only, and computes the others again, by a schedule that needs the
# fewest steps possible (Griewank and Walther's *revolve*). Here a planet goes around its sun, and we ask how its final
# distance depends on its speed at the start.


# %%
def leapfrog(_, state):
    position, velocity = state
    velocity = velocity - 0.001 * position / np.sum(position**2) ** 1.5
    return position + 0.001 * velocity, velocity


def distance(speed, loop):
    start = np.array([1.0, 0.0]), speed * np.array([0.0, 1.0])
    return np.sqrt(np.sum(loop(leapfrog, start, 2000)[0] ** 2))


def plain_loop(step, state, n):
    for k in range(n):
        state = step(k, state)
    return state


def measured(loop):
    tracemalloc.start()
    derivative = sr.grad(distance)(1.1, loop)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return derivative, peak


plain, memory = measured(plain_loop)
small, less_memory = measured(partial(sr.checkpointed_loop, snapshots=14))
print(f"plain loop:   {plain:.10f}")
print(f"14 snapshots: {small:.10f}, in {'less than a tenth' if less_memory < memory / 10 else 'most'} of the memory")

# %%
assert np.isclose(plain, small, rtol=1e-12)

# %% [markdown]
# ## All of it together
#
# Nothing above is special to the outermost level. This is the derivative, with respect to a spring's stiffness, of the
# largest eigenvalue of a Hessian, found by power iteration with `hvp`: reverse over forward over reverse mode.


# %%
def energy(x, stiffness):
    return np.sum(stiffness * np.diff(x) ** 2) / 2 + np.sum(x**4) / 4


def stiffest(stiffness, x):
    v = np.cos(np.arange(5.0))
    for _ in range(200):
        v = sr.hvp(lambda x: energy(x, stiffness), (x,), (v,))
        v = v / np.sqrt(np.sum(v * v))
    return v @ sr.hvp(lambda x: energy(x, stiffness), (x,), (v,))


x = np.linspace(-1, 1, 5)
sr.value_and_grad(stiffest)(2.0, x)

# %%
h = 1e-5
assert np.isclose(sr.grad(stiffest)(2.0, x), (stiffest(2.0 + h, x) - stiffest(2.0 - h, x)) / (2 * h))

# %% [markdown]
# ## Staged
#
# A function that is called often, such as the step of an optimiser, need not be differentiated anew each time. `staged`
# writes down what its derivatives come down to, functions of NumPy on plain arrays, and takes these steps from then on.


# %%
def loss(w):
    return np.sum(np.where(w > 0, w**2, np.exp(w) - 1))


step = sr.staged(lambda w, v: w - 0.1 * sr.hvp(loss, (w,), (v,)))
w, v = np.array([-1.0, 0.5, 2.0]), np.ones(3)
print(step(w, v))
print(step.sources[0])

# %% [markdown]
# A branch that depends on a value is looked at in each call. Newton's square root takes more rounds for some numbers
# than for others, and each count of rounds is a way of its own.


# %%
def newton_sqrt(a):
    x = a
    while abs(x * x - a) > 1e-12:
        x = (x + a / x) / 2
    return x


slope = sr.staged(sr.grad(newton_sqrt))
slopes = [slope(float(a)) for a in range(2, 50)]
len(slope.sources)

# %%
assert np.allclose(slopes, 0.5 / np.sqrt(np.arange(2, 50)))

# %% [markdown]
# ## Exercises
#
# 1. The function $x^4 + y^4 - 4xy$ has a flat point near $(0.8, 1.2)$ and one at $(0, 0)$. Find the first by Newton's
#    method. Which of the two is a minimum? The eigenvalues of the Hessian say it.
# 2. What are the Taylor coefficients of $e^{\sin x}$ at 0, up to the fifth? Compute them by `taylor`, and the fifth by
#    `derivative`, too.
# 3. A point runs along an ellipse, $(a \cos t, b \sin t)$. The curvature of its path is $(x'y'' - y'x'') / (x'^2 +
#    y'^2)^{3/2}$. Compute it by `jvp` inside `jvp`, for $a = 3$, $b = 2$, at $t = 0$. (It is $a / b^2$ there.)
#
# ## Answers


# %% jupyter={"source_hidden": true}
# 1. At the minimum (1, 1) both eigenvalues are positive. At (0, 0) one of them is negative: a saddle point.
def quartic(p):
    return p[0] ** 4 + p[1] ** 4 - 4 * p[0] * p[1]


p = np.array([0.8, 1.2])
for _ in range(8):
    p = p - np.linalg.solve(sr.hessian(quartic)(p), sr.grad(quartic)(p))
assert np.allclose(p, [1.0, 1.0])
assert (np.linalg.eigvalsh(sr.hessian(quartic)(p)) > 0).all()
assert np.allclose(np.linalg.eigvalsh(sr.hessian(quartic)(np.zeros(2))), [-4.0, 4.0])


# %% jupyter={"source_hidden": true}
# 2. A coefficient is the derivative divided by the factorial.
def wave(x):
    return np.exp(np.sin(x))


assert np.allclose(sr.taylor(wave, 0.0, 5), [1, 1, 1 / 2, 0, -1 / 8, -1 / 15])
assert np.isclose(sr.derivative(wave, 5)(0.0) / 120, -1 / 15)


# %% jupyter={"source_hidden": true}
# 3. The inner `jvp` gives the velocity, the outer one the acceleration beside it.
def ellipse(t):
    return np.stack([3 * np.cos(t), 2 * np.sin(t)])


def velocity(t):
    return sr.jvp(ellipse, (t,), (1.0,))[1]


(x1, y1), (x2, y2) = sr.jvp(velocity, (0.0,), (1.0,))
assert np.isclose((x1 * y2 - y1 * x2) / (x1**2 + y1**2) ** 1.5, 3 / 2**2)
