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
# # Your own rules, and finding NaN
#
# The chain rule is blind: it differentiates what the program *does*. Sometimes you know better. A formula may be right
# on paper and overflow in a program. A piece of code may be foreign, and cannot be differentiated at all. Or the
# derivative is NaN, and you want to know which line made it. This notebook is about these three cases.

# %%
import math

import matplotlib.pyplot as plt
import numpy as np

from shiftreset_ad import custom_jvp, custom_vjp, debug, grad, hessian, jvp
from shiftreset_ad.testing import check_grads

# %% [markdown]
# ## 1. A rule for a direction
#
# The function $\log(1 + e^x)$ is called *softplus*. Its derivative is $1 / (1 + e^{-x})$, a number between 0 and 1. But
# $e^{800}$ is too great for a float, so the chain rule meets infinity divided by infinity.


# %%
def softplus_on_paper(x):
    return np.log(1.0 + np.exp(x))


with np.errstate(over="ignore"):
    naive = softplus_on_paper(800.0), grad(softplus_on_paper)(800.0)
naive

# %%
assert math.isinf(naive[0])
assert math.isnan(naive[1])

# %% [markdown]
# We write the value in a way that does not overflow, and give the function a rule. The rule of `custom_jvp` gets the
# arguments and the direction in which they change, and returns the value and its change. The way back follows from it,
# and so do second derivatives, as the rule is a program like any other.


# %%
@custom_jvp
def softplus(x):
    return np.maximum(x, 0.0) + np.log1p(np.exp(-np.abs(x)))


@softplus.defjvp
def softplus_rule(primals, tangents):
    (x,), (x_dot,) = primals, tangents
    return softplus(x), x_dot * (0.5 + 0.5 * np.tanh(x / 2))  # the same as 1 / (1 + exp(-x)), without overflow


print(softplus(800.0), grad(softplus)(800.0), grad(grad(softplus))(0.0))

# %%
assert softplus(800.0) == 800.0
assert grad(softplus)(800.0) == 1.0
assert np.isclose(grad(softplus)(0.7), grad(softplus_on_paper)(0.7))
assert np.isclose(grad(grad(softplus))(0.7), grad(grad(softplus_on_paper))(0.7))

# %% [markdown]
# ## 2. A rule for the way back, around foreign code
#
# Where is a planet at a given time? Kepler's equation says $E - e \sin E = M$: the angle $M$ grows with time, $e$ is
# the eccentricity of the orbit, and $E$ says where the planet is. The solver below is foreign: it uses the module
# `math`, which makes plain floats of its arguments, so no derivative can pass through.


# %%
def kepler_solver(m, e):
    angle = m
    for _ in range(50):
        angle -= (angle - e * math.sin(angle) - m) / (1.0 - e * math.cos(angle))
    return angle


try:
    grad(kepler_solver)(1.0, 0.3)
except TypeError as error:
    print("TypeError:", str(error)[:100], "...")
else:
    raise AssertionError("this was to fail")

# %% [markdown]
# But we know the derivative. From $E - e \sin E = M$ it follows that $\mathrm{d}E\,(1 - e \cos E) = \mathrm{d}M +
# \sin E\,\mathrm{d}e$. A rule of `custom_vjp` has two halves. The first computes the value, and says what to keep. The
# second gets what was kept, and the adjoint of the value. It returns an adjoint for each argument.


# %%
@custom_vjp
def kepler(m, e):
    return kepler_solver(m, e)


def there(m, e):
    angle = kepler(m, e)
    return angle, (angle, e)


def back(kept, angle_bar):
    angle, e = kept
    m_bar = angle_bar / (1.0 - e * np.cos(angle))
    return m_bar, m_bar * np.sin(angle)


kepler.defvjp(there, back)
grad(kepler, argnums=(0, 1))(1.0, 0.3)

# %% [markdown]
# With this rule the function can be used everywhere: in a Hessian, and in forward mode, whose rule is the transpose.

# %%
h = 1e-6
assert np.isclose(grad(kepler)(1.0, 0.3), (kepler_solver(1.0 + h, 0.3) - kepler_solver(1.0 - h, 0.3)) / (2 * h))
assert np.isclose(jvp(kepler, (1.0, 0.3), (0.0, 1.0))[1], grad(kepler, argnums=1)(1.0, 0.3))
((e_mm, e_me), (e_em, e_ee)) = hessian(kepler, argnums=(0, 1))(1.0, 0.3)
assert np.isclose(e_me, e_em)

# %% [markdown]
# The speed of the planet is a derivative of its place. Here is the orbit, and arrows for the speed. Close to the sun,
# the planet is fast.


# %%
def place(m, e=0.6):
    angle = kepler(m, e)
    return np.stack([np.cos(angle) - e, np.sqrt(1 - e * e) * np.sin(angle)])


times = np.linspace(0.0, 2 * np.pi, 24, endpoint=False).tolist()
places = np.array([place(m) for m in times])
speeds = np.array([jvp(place, (m,), (1.0,))[1] for m in times])
figure, panel = plt.subplots(figsize=(6, 3.6), layout="constrained")
panel.plot(0, 0, "o", color="gold", markeredgecolor="black", markersize=12)
panel.annotate("the sun", (0, 0), (0, -18), textcoords="offset points", ha="center")
panel.plot(*places.T, "o", color="tab:blue", markersize=4)
panel.quiver(*places.T, *speeds.T, color="tab:blue", alpha=0.5, width=0.004, angles="xy")
panel.set(xlabel="x", ylabel="y", title="a planet at equal intervals of time", aspect="equal")
plt.show()

# %%
areas = places[:, 0] * speeds[:, 1] - places[:, 1] * speeds[:, 0]
assert np.allclose(areas, areas[0])  # Kepler's second law: equal areas in equal times

# %% [markdown]
# ## 3. Is the rule right?
#
# A wrong rule is worse than none, so check each rule that you write. `check_grads` compares it with differences, and
# the modes with each other. Here is the rule again, with a wrong sign.


# %%
@custom_vjp
def wrong(m, e):
    return kepler_solver(m, e)


wrong.defvjp(there, lambda kept, angle_bar: back((kept[0], -kept[1]), angle_bar))

check_grads(kepler, (1.0, 0.3), order=2)  # no error: the rule is right
try:
    check_grads(wrong, (1.0, 0.3), order=1)
except AssertionError as error:
    print("AssertionError:", str(error).splitlines()[0])
else:
    raise ValueError("this was to fail")

# %% [markdown]
# A rule may also be wrong on purpose. The derivative of rounding is 0 almost everywhere, which is of no use to gradient
# descent. Machine learning often takes 1 instead, the *straight-through* rule.


# %%
@custom_vjp
def rounded(x):
    return np.round(x)


rounded.defvjp(lambda x: (rounded(x), None), lambda _, y_bar: (y_bar,))
grad(lambda x: (np.round(x) - 3.0) ** 2)(1.4), grad(lambda x: (rounded(x) - 3.0) ** 2)(1.4)

# %%
assert grad(lambda x: (np.round(x) - 3.0) ** 2)(1.4) == 0.0
assert grad(lambda x: (rounded(x) - 3.0) ** 2)(1.4) == 2 * (1.0 - 3.0)

# %% [markdown]
# ## 4. Who made this NaN?
#
# Three atoms would like to be at distance 1 from each other. Their energy is a sum over all pairs, and the forces on
# them are NaN.


# %%
def distances(atoms):
    ways = atoms[:, None] - atoms[None, :]
    return np.sqrt(np.sum(ways**2, axis=-1))


def energy(atoms):
    return np.sum((distances(atoms) - 1.0) ** 2)


atoms = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]])
energy(atoms), grad(energy)(atoms)

# %%
assert np.isfinite(energy(atoms))
assert np.isnan(grad(energy)(atoms)).all()

# %% [markdown]
# The energy is finite, so printing numbers in the program does not help: the NaN comes on the way back. `debug` watches
# the way there and the way back, and stops at the first infinity or NaN.

# %%
try:
    with debug():
        grad(energy)(atoms)
except FloatingPointError as error:
    report = str(error)
    print(report[: report.index("  File")], *report.splitlines()[2:3], sep="")
else:
    raise AssertionError("this was to fail")

# %%
assert "on the way back through numpy.sqrt" in report
assert "return np.sqrt(np.sum(ways**2, axis=-1))" in report

# %% [markdown]
# The report names the line, the element $(0, 0)$, and the reason: the distance of an atom to itself is 0, and a square
# root has an infinite slope there. The infinity is multiplied by a zero in `ways**2`, and this gives NaN. There are two
# remedies. We may leave out the pairs of an atom with itself, or use the function that means a length: `norm` has the
# derivative 0 at 0.


# %%
def by_pairs(atoms):
    i, j = np.triu_indices(len(atoms), k=1)
    return 2.0 * np.sum((np.sqrt(np.sum((atoms[i] - atoms[j]) ** 2, axis=-1)) - 1.0) ** 2)


def by_norm(atoms):
    return np.sum((np.linalg.norm(atoms[:, None] - atoms[None, :], axis=-1) - 1.0) ** 2)


forces = -grad(by_norm)(atoms)
forces

# %%
assert np.allclose(forces, -grad(by_pairs)(atoms))
assert np.allclose(forces.sum(axis=0), 0.0)  # action and reaction

# %% [markdown]
# ## 5. What is not chosen
#
# In other tools `np.where` is a well-known source of NaN: the branch that is *not* chosen has an infinite slope, and a
# zero times infinity is NaN. Here, what is not chosen has no share in the derivative.

# %%
grad(lambda x: np.sum(np.where(x > 0, np.sqrt(x), 0.0)))(np.array([0.0, 4.0]))

# %%
assert grad(lambda x: np.sum(np.where(x > 0, np.sqrt(x), 0.0)))(np.array([0.0, 4.0])).tolist() == [0.0, 0.25]

# %% [markdown]
# A zero that comes from *arithmetic* is another matter. The chain rule does not know that $\sqrt{x}^2$ is $x$.

# %%
assert math.isnan(grad(lambda x: np.sqrt(x) ** 2)(0.0))

# %% [markdown]
# ## Exercises
#
# 1. Write a function whose value is $x$, and whose adjoint is never longer than 1: *gradient clipping*. Use it in
#    `grad(lambda x: clipped(x) ** 2)`.
# 2. The length of a function's answer may be 0: let `length(x)` be `np.sqrt(np.sum(x**2))`, with a rule that gives the
#    gradient $x / |x|$, and 0 at $x = 0$. Check it at a point other than 0 by `check_grads`.
# 3. The function $\sin(x) / x$ is 1 at 0, and the program says NaN. Find out by `debug` where the NaN is made when
#    `grad` runs at 0, on the way there or on the way back. Which function of NumPy would you use?
#
# ## Answers


# %% jupyter={"source_hidden": true}
# 1. The rule keeps nothing.
@custom_vjp
def clipped(x):
    return x


clipped.defvjp(lambda x: (x, None), lambda _, y_bar: (y_bar / np.maximum(1.0, np.sqrt(np.sum(y_bar**2))),))
assert grad(lambda x: clipped(x) ** 2)(3.0) == 1.0
assert grad(lambda x: clipped(x) ** 2)(0.25) == 0.5


# %% jupyter={"source_hidden": true}
# 2. The divisor is never 0, and where x is 0, so is the answer.
@custom_vjp
def length(x):
    return np.sqrt(np.sum(x**2))


def length_back(kept, y_bar):
    x, y = kept
    return (y_bar * x / np.where(y > 0, y, 1.0),)


length.defvjp(lambda x: (length(x), (x, length(x))), length_back)
check_grads(length, (np.array([3.0, 4.0]),), order=2)
assert grad(length)(np.array([3.0, 4.0])).tolist() == [0.6, 0.8]
assert grad(length)(np.zeros(2)).tolist() == [0.0, 0.0]

# %% jupyter={"source_hidden": true}
# 3. It is made on the way there, by the division. `np.sinc(x)` is sin(pi x) / (pi x), and knows what happens at 0.
try:
    with debug(), np.errstate(invalid="ignore"):
        grad(lambda x: np.sin(x) / x)(np.float64(0.0))
except FloatingPointError as error:
    report = str(error)
else:
    raise AssertionError("this was to fail")
assert report.startswith("/: its answer is nan")
assert grad(lambda x: np.sinc(x / np.pi))(0.0) == 0.0
assert np.isclose(grad(lambda x: np.sinc(x / np.pi))(0.5), (0.5 * np.cos(0.5) - np.sin(0.5)) / 0.25)
