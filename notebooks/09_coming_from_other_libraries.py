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
# # Coming from autograd, JAX or PyTorch
#
# You know another library, and want to know what is different here. This notebook solves one problem in all four
# libraries, and then takes them one by one: the same few lines there and here. The code of the other libraries stands
# in the text, with what it prints, so you need not install them (HIPS autograd 1.9, JAX 0.10, PyTorch 2.13).

# %%
import numpy as np

import shiftreset_ad as sr
from shiftreset_ad import grad, hvp, staged, value, value_and_grad, vjp, vmap

# %% [markdown]
# ## 1. One problem, four times
#
# Ten students prepare for an examination, for some hours each, and some of them pass. How does the chance to pass
# depend on the hours? Logistic regression finds two numbers, a slope and a shift, by gradient descent. Here it is:

# %%
hours = np.array([0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0])
passed = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 1.0, 1.0])


def loss(p):
    score = p["slope"] * hours + p["shift"]
    return np.mean(np.logaddexp(0.0, score) - passed * score)


p = {"slope": 0.0, "shift": 0.0}
for _ in range(2000):
    slopes = grad(loss)(p)
    p = {name: p[name] - 0.3 * slopes[name] for name in p}

print(round(p["slope"], 4), round(p["shift"], 4))

# %%
assert np.allclose([p["slope"], p["shift"]], [1.3534, -3.7218], atol=1e-4)

# %% [markdown]
# **HIPS autograd** has another import. The rest is the same.
#
# ```python
# import autograd.numpy as np
# from autograd import grad
#
# hours = np.array([0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0])
# passed = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 1.0, 1.0])
#
# def loss(p):
#     score = p["slope"] * hours + p["shift"]
#     return np.mean(np.logaddexp(0.0, score) - passed * score)
#
# p = {"slope": 0.0, "shift": 0.0}
# for _ in range(2000):
#     slopes = grad(loss)(p)
#     p = {name: p[name] - 0.3 * slopes[name] for name in p}
#
# print(round(float(p["slope"]), 4), round(float(p["shift"]), 4))     # 1.3534 -3.7218
# ```
#
# **JAX** has its own NumPy, too, and 32 bits unless told otherwise. `jit` compiles the step.
#
# ```python
# import jax
# import jax.numpy as jnp
#
# hours = jnp.array([0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0])
# passed = jnp.array([0.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 1.0, 1.0])
#
# def loss(p):
#     score = p["slope"] * hours + p["shift"]
#     return jnp.mean(jnp.logaddexp(0.0, score) - passed * score)
#
# @jax.jit
# def step(p):
#     return jax.tree.map(lambda x, slope: x - 0.3 * slope, p, jax.grad(loss)(p))
#
# p = {"slope": 0.0, "shift": 0.0}
# for _ in range(2000):
#     p = step(p)
#
# print(round(float(p["slope"]), 3), round(float(p["shift"]), 3))     # 1.353 -3.722
# ```
#
# **PyTorch** has tensors that collect their own gradients. The gradients are set to zero in each round.
#
# ```python
# import torch
#
# hours = torch.tensor([0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0], dtype=torch.float64)
# passed = torch.tensor([0.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 1.0, 1.0], dtype=torch.float64)
# slope = torch.zeros((), dtype=torch.float64, requires_grad=True)
# shift = torch.zeros((), dtype=torch.float64, requires_grad=True)
# optimizer = torch.optim.SGD([slope, shift], lr=0.3)
#
# for _ in range(2000):
#     optimizer.zero_grad()
#     score = slope * hours + shift
#     torch.mean(torch.nn.functional.softplus(score) - passed * score).backward()
#     optimizer.step()
#
# print(round(slope.item(), 4), round(shift.item(), 4))               # 1.3534 -3.7218
# ```

# %% [markdown]
# ## 2. Coming from autograd
#
# Drop the import of `autograd.numpy`, and write `import numpy as np`. `grad`, `value_and_grad`, `elementwise_grad`,
# `jacobian` and `hessian` have the same names. Others have JAX's names:
#
# | autograd | here |
# |---|---|
# | `make_vjp(f)(x)` is `(pullback, y)` | `vjp(f, x)` is `(y, pullback)`, and the pullback returns a tuple |
# | `make_jvp(f)(x)(v)` is `(y, y_dot)` | `jvp(f, (x,), (v,))` is `(y, y_dot)` |
# | `hessian_vector_product(f)(x, v)` | `hvp(f, (x,), (v,))` |
# | `@primitive` and `defvjp` | `@custom_vjp` and `f.defvjp(fwd, bwd)` |
#
# ```python
# import autograd.numpy as np
# from autograd import grad, hessian_vector_product, make_vjp
#
# pullback, y = make_vjp(lambda x: x**2)(np.array([1.0, 2.0]))
# print(pullback(np.ones(2)))                                         # [2. 4.]
# print(hessian_vector_product(lambda x: np.sum(x**3))(np.ones(2), np.array([1.0, 0.0])))     # [6. 0.]
# ```

# %%
y, pullback = vjp(lambda x: x**2, np.array([1.0, 2.0]))
(x_bar,) = pullback(np.ones(2))
column = hvp(lambda x: np.sum(x**3), (np.ones(2),), (np.array([1.0, 0.0]),))
x_bar, column

# %%
assert x_bar.tolist() == [2.0, 4.0]
assert column.tolist() == [6.0, 0.0]

# %% [markdown]
# You may assign to arrays. In autograd this is an error. If an operation is given a buffer that changes later, autograd
# gives a wrong gradient:
#
# ```python
# def fill(x):
#     y = np.zeros_like(x)
#     y[0] = x[0] ** 2
#     return np.sum(y)
#
# try:
#     grad(fill)(np.ones(2))
# except ValueError as error:
#     print(error)                                                    # setting an array element with a sequence.
#
# def buffered(x):
#     buffer = np.empty(3)
#     return sum(np.sum(x * np.add(k, 0, out=buffer)) for k in (1, 2, 3))
#
# print(grad(buffered)(np.ones(3)))                                   # [9. 9. 9.]
# ```


# %%
def fill(x):
    y = np.zeros_like(x)
    y[0] = x[0] ** 2
    return np.sum(y)


def buffered(x):
    buffer = np.empty(3)
    return sum(np.sum(x * np.add(k, 0, out=buffer)) for k in (1, 2, 3))


grad(fill)(np.ones(2)), grad(buffered)(np.ones(3))

# %%
assert grad(fill)(np.ones(2)).tolist() == [2.0, 0.0]
assert grad(buffered)(np.ones(3)).tolist() == [6.0, 6.0, 6.0]  # x is multiplied by 1 + 2 + 3

# %% [markdown]
# ## 3. Coming from JAX
#
# The operators have JAX's names and JAX's order of arguments: `grad`, `vjp`, `jvp`, `linearize`, `hessian`, `jacfwd`,
# `jacrev`, `custom_vjp`, `custom_jvp`, `checkpoint`. So do the conventions for complex numbers. What differs is the
# program inside. Arrays are NumPy's: they can be written to, and have 64 bits.
#
# ```python
# try:
#     jax.grad(lambda x: jnp.zeros(2).__setitem__(0, x))(1.0)
# except TypeError as error:
#     print(str(error)[:24])                                          # JAX arrays are immutable
#
# print(jax.grad(lambda x: jnp.sum(jnp.zeros(2).at[0].set(x)))(1.0))  # 1.0
# print(jax.grad(lambda x: x**3)(0.1).dtype)                          # float32
# ```
#
# Loops are Python's. In JAX a `while` on values runs, as long as nobody compiles it. Its compiled form is `while_loop`,
# and this has no reverse mode.
#
# ```python
# def newton(a):
#     x = a
#     while abs(x * x - a) > 1e-6:
#         x = (x + a / x) / 2
#     return x
#
# print(jax.grad(newton)(2.0))                                        # 0.35355338
# try:
#     jax.jit(jax.grad(newton))(2.0)
# except jax.errors.TracerBoolConversionError:
#     print("no value to decide on")                                  # no value to decide on
#
# def compiled(a):
#     return jax.lax.while_loop(lambda x: abs(x * x - a) > 1e-6, lambda x: (x + a / x) / 2, a)
#
# try:
#     jax.grad(compiled)(2.0)
# except ValueError as error:
#     print(str(error)[:42])                                          # Reverse-mode differentiation does not work
# ```
#
# Here `staged` takes the place of `jit`. It takes the loop as it is, with its gradient.


# %%
def newton(a):
    x = a
    while abs(x * x - a) > 1e-6:
        x = (x + a / x) / 2
    return x


fast = staged(grad(newton))
grad(newton)(2.0), fast(2.0), fast(50.0)

# %%
assert np.isclose(grad(newton)(2.0), 1 / (2 * np.sqrt(2.0)), rtol=1e-5)
assert np.allclose([fast(2.0), fast(50.0)], [grad(newton)(2.0), grad(newton)(50.0)], rtol=1e-14)
assert len(fast.sources) == 1  # one record for any number of rounds

# %% [markdown]
# A function compiled by `jit` keeps the value that a global variable had when it was compiled. A staged function looks
# whether the variable has changed.
#
# ```python
# rate = 2.0
# scaled = jax.jit(lambda x: rate * x)
# scaled(1.0)
# rate = 5.0
# print(scaled(1.0))                                                  # 2.0
# ```

# %%
rate = 2.0
scaled = staged(lambda x: rate * x)
before = scaled(1.0)
rate = 5.0
before, scaled(1.0)

# %%
assert (before, scaled(1.0)) == (2.0, 5.0)

# %% [markdown]
# And a branch of `where` that is not chosen makes no NaN.
#
# ```python
# print(jax.grad(lambda x: jnp.sum(jnp.where(x > 0, jnp.sqrt(x), 0.0)))(jnp.array([0.0, 4.0])))   # [ nan 0.25]
# ```

# %%
assert grad(lambda x: np.sum(np.where(x > 0, np.sqrt(x), 0.0)))(np.array([0.0, 4.0])).tolist() == [0.0, 0.25]

# %% [markdown]
# `vmap` takes `in_axes` and `out_axes` as in JAX. Here it answers one gradient for each row, with all rows computed
# at once.
#
# ```python
# print(jax.vmap(jax.grad(lambda w, x: jnp.tanh(x @ w)), in_axes=(None, 0))(w, rows))  # one gradient a row
# ```


# %%
def response(w, x):
    return np.tanh(x @ w)


w, rows = np.array([0.5, -1.0]), np.array([[1.0, 0.5], [0.0, 2.0], [3.0, 1.0]])
each_row = vmap(grad(response), in_axes=(None, 0))(w, rows)
each_row

# %%
np.testing.assert_allclose(each_row, [grad(response)(w, x) for x in rows])

# %% [markdown]
# What JAX has and this library does not: TPUs. A GPU comes by way of PyTorch's tensors. Compiled JAX is faster than
# plain calls of this library on many programs; `docs/performance.md` has the measurements.

# %% [markdown]
# ## 4. Coming from PyTorch
#
# There is no `requires_grad` and no `backward()`. A gradient is the answer of a function, not an attribute of a tensor.
# So gradients do not add up from call to call, and a second derivative needs no `create_graph`.
#
# ```python
# x = torch.tensor(2.0, requires_grad=True)
# (x**3).backward()
# (x**3).backward()
# print(x.grad)                                                       # tensor(24.)
#
# x = torch.tensor(2.0, requires_grad=True)
# (first,) = torch.autograd.grad(x**3, x, create_graph=True)
# (second,) = torch.autograd.grad(first, x)
# print(second)                                                       # tensor(12.)
# ```

# %%
assert grad(lambda x: x**3)(2.0) == 12.0
assert grad(lambda x: x**3)(2.0) == 12.0  # again 12, and not 24
assert grad(grad(lambda x: x**3))(2.0) == 12.0

# %% [markdown]
# In PyTorch `detach()` makes a constant on purpose, and `item()` and `float()` make one by accident. The derivative of
# $x \cdot x$ at 3 is 6. Here a conversion to a float is an error, and `value` or `stop_gradient` says that it is meant.
#
# ```python
# x = torch.tensor(3.0, requires_grad=True)
# (x * x.item()).backward()
# print(x.grad)                                                       # tensor(3.)
# ```

# %%
try:
    grad(lambda x: x * float(x))(3.0)
except TypeError as error:
    print("TypeError:", str(error)[:60], "...")
else:
    raise AssertionError("this was to fail")

# %%
assert grad(lambda x: x * value(x))(3.0) == 3.0

# %% [markdown]
# PyTorch writes in place, too, but not over a number that the way back needs. Here the old number is kept for it.
#
# ```python
# x = torch.zeros(2, requires_grad=True)
# y = torch.exp(x)
# y[0] = 0.0
# try:
#     y.sum().backward()
# except RuntimeError as error:
#     print(str(error)[:52])                              # one of the variables needed for gradient computation
# ```


# %%
def overwritten(x):
    y = np.exp(x)
    y[0] = 0.0
    return np.sum(y)


assert grad(overwritten)(np.zeros(2)).tolist() == [0.0, 1.0]

# %% [markdown]
# The gradient of a real function of a complex number is the conjugate of PyTorch's. Descent goes along its conjugate.
#
# ```python
# z = torch.tensor(1 + 2j, requires_grad=True)
# (z.abs() ** 2).backward()
# print(z.grad)                                                       # tensor(2.+4.j)
# ```

# %%
assert grad(lambda z: np.abs(z) ** 2)(1 + 2j) == 2 - 4j

# %% [markdown]
# Tensors of PyTorch may go in, and tensors come out; `docs/libraries.md` says more. There are no layers and no data
# loaders here, but optimisers: `optimize.adam` and `optimize.sgd` make steps on any structure.

# %% [markdown]
# ## Exercises
#
# 1. Write the loop of section 1 with `sr.optimize.adam(0.1)`, whose use is `state = optimizer.init(p)` and
#    `p, state = optimizer.step(gradient, p, state)`. Does it find the same two numbers?
# 2. This is JAX: `x.at[1].add(x[0]).at[0].set(0.0)`. Write it as NumPy does. What is the gradient of the sum of
#    squares of the answer, at `[3.0, 1.0]`?
# 3. This is PyTorch, for the product of a Hessian with a vector: two calls of `torch.autograd.grad`, the first with
#    `create_graph=True`. What is it here, for the loss of section 1 and the direction `{"slope": 1.0, "shift": 0.0}`?
#
# ## Answers

# %% jupyter={"source_hidden": true}
# 1. It does.
optimizer = sr.optimize.adam(0.1)
q = {"slope": 0.0, "shift": 0.0}
state = optimizer.init(q)
for _ in range(2000):
    last, slopes = value_and_grad(loss)(q)
    q, state = optimizer.step(slopes, q, state)
assert np.allclose([q["slope"], q["shift"]], [p["slope"], p["shift"]], atol=1e-3)


# %% jupyter={"source_hidden": true}
# 2. The answer is [0, x0 + x1], so the gradient is 2 (x0 + x1) in both.
def moved(x):
    y = x.copy()
    y[1] += y[0]
    y[0] = 0.0
    return np.sum(y**2)


assert grad(moved)(np.array([3.0, 1.0])).tolist() == [8.0, 8.0]

# %% jupyter={"source_hidden": true}
# 3. One call.
column = hvp(loss, (p,), ({"slope": 1.0, "shift": 0.0},))
h = 1e-5
up, down = (grad(loss)({"slope": p["slope"] + d, "shift": p["shift"]}) for d in (h, -h))
assert all(np.isclose(column[name], (up[name] - down[name]) / (2 * h)) for name in p)
