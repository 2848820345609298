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
# # Games: least for one, greatest for the other
#
# Two players choose a number each, $x$ and $y$. The payoff $f(x, y)$ is what the first player has to give to the second
# one. So the first player wants it to be small, and the second wants it to be great. Many problems are such games: a
# penalty kick, a design for the worst weather, a network that is trained against another. This notebook shows why
# plain gradient descent fails in a game, and three ways that work.

# %%
import matplotlib.pyplot as plt
import numpy as np

from shiftreset_ad import grad, jacobian, optimize

# %% [markdown]
# ## 1. In circles
#
# The simplest game is $f(x, y) = x y$. At $(0, 0)$ no player gains by moving alone: $f(x, 0) = 0$ for all $x$, and
# $f(0, y) = 0$ for all $y$. Such a point is called a *saddle point*. Can gradients find it? The first player goes down
# the slope, and the second player goes up.


# %%
def product(x, y):
    return x * y


def slopes(f, x, y):
    return grad(f, argnums=(0, 1))(x, y)


def play(f, x, y, rate, rounds):
    """Both players follow their gradients at the same time."""
    path = [(x, y)]
    for _ in range(rounds):
        x_slope, y_slope = slopes(f, x, y)
        x, y = x - rate * x_slope, y + rate * y_slope
        path.append((x, y))
    return path


circles = play(product, 1.0, 0.0, rate=0.2, rounds=60)
circles[-1]

# %% [markdown]
# They cannot. The players go around the saddle point, and each round takes them farther away: the square of the
# distance grows by the factor $1 + 0.2^2$.

# %%
distances = [x**2 + y**2 for x, y in circles]
assert np.allclose(distances, 1.04 ** np.arange(61))

# %% [markdown]
# ## 2. Look ahead
#
# A player who follows the slope of today answers what the other did before. It is better to look one step ahead: go a
# trial step, look at the slopes *there*, come back, and follow them. This is the *extragradient* method (Korpelevich,
# 1976).


# %%
def look_ahead(f, x, y, rate, rounds):
    path = [(x, y)]
    for _ in range(rounds):
        x_slope, y_slope = slopes(f, x, y)
        x_slope, y_slope = slopes(f, x - rate * x_slope, y + rate * y_slope)
        x, y = x - rate * x_slope, y + rate * y_slope
        path.append((x, y))
    return path


inwards = look_ahead(product, 1.0, 0.0, rate=0.2, rounds=60)
inwards[-1]

# %%
distances = [x**2 + y**2 for x, y in inwards]
assert np.allclose(distances, (1 - 0.2**2 + 0.2**4) ** np.arange(61))  # each round is a factor below 1

# %%
figure, panel = plt.subplots(figsize=(4.6, 4.4), layout="constrained")
panel.plot(*zip(*circles, strict=True), ".-", color="tab:red", label="follow the slopes")
panel.plot(*zip(*inwards, strict=True), ".-", color="tab:blue", label="look ahead")
panel.plot(0, 0, "*", color="black", markersize=12, label="the saddle point")
panel.set(xlabel="x, the first player", ylabel="y, the second player", title="the game x y", aspect="equal")
panel.legend(fontsize=8, loc="upper right")
plt.show()

# %% [markdown]
# `optimize.minimax` has this method. It looks for a good rate itself, and says whether it converged.

# %%
result = optimize.minimax(product, 1.0, 0.5)
result.converged, result.x, result.y

# %%
assert result.converged
assert abs(result.x) < 1e-6
assert abs(result.y) < 1e-6

# %% [markdown]
# ## 3. A penalty kick
#
# A kicker chooses a side of the goal, and so does the goalkeeper, without knowing the other's choice. Palacios-Huerta
# counted 1,417 kicks of professional players (*Professionals Play Minimax*, 2003). If both choose the left side, 58.30
# of 100 kicks are goals, and so on:
#
# | | goalkeeper: left | goalkeeper: right |
# |---|---|---|
# | kicker: left | 58.30 | 94.97 |
# | kicker: right | 92.91 | 69.92 |
#
# A kicker who always chooses the same side is easy to read. So both have to choose by chance, with probabilities. Each
# player's variables are two numbers that are at least 0 and add up to 1: a `Simplex`.

# %%
goals = np.array([[58.30, 94.97], [92.91, 69.92]])
even = np.array([0.5, 0.5])
probabilities = optimize.Simplex()


def match(goals):
    return optimize.minimax(
        lambda keeper, kicker: kicker @ goals @ keeper, even, even, constraints=(probabilities, probabilities)
    )


result = match(goals)
print("goalkeeper, left and right:", np.round(100 * result.x, 2))
print("kicker, left and right:    ", np.round(100 * result.y, 2))
print("goals in 100 kicks:        ", round(float(result.value), 2))

# %% [markdown]
# These are the probabilities in the paper: 41.99 and 58.01 for the goalkeeper, 38.54 and 61.46 for the kicker. The real
# goalkeepers chose 42.31 and 57.69, the real kickers 39.98 and 60.02.
#
# How do we know that the answer is right? At a saddle point neither side of the goal is better than the other.

# %%
assert np.allclose(100 * result.x, [41.99, 58.01], atol=0.005)
assert np.allclose(100 * result.y, [38.54, 61.46], atol=0.005)
assert np.allclose(goals @ result.x, result.value)  # for the kicker
assert np.allclose(result.y @ goals, result.value)  # for the goalkeeper

# %% [markdown]
# ## 4. What is worth training?
#
# The solution is a function of the table, and you can differentiate through it. Which number of the table is worth most
# to the kicker? The derivative of the value has a simple form: it is the probability that this case occurs.

# %%
worth = grad(lambda goals: match(goals).value)(goals)
worth

# %%
assert np.allclose(worth, np.outer(result.y, result.x), atol=1e-6)
assert worth.argmax() == 3  # both to the right

# %% [markdown]
# And should the kicker shoot to the left more often after training the left side? The answer of the derivative is a
# surprise: a kicker who gets better where both choose left will choose left *more* often; a kicker who gets better
# where they beat the goalkeeper, left against right, will choose left *less* often.

# %%
changes = jacobian(lambda goals: match(goals).y[0])(goals)
changes

# %%
assert changes[0, 0] > 0 > changes[0, 1]
better = goals + np.array([[1.0, 0.0], [0.0, 0.0]])
assert np.isclose(match(better).y[0] - result.y[0], changes[0, 0], rtol=0.05)

# %% [markdown]
# ## 5. One after the other
#
# There is another kind of game: the first player moves, the second one sees it and answers. So the first player
# minimises the *worst case* $\max_y f(x, y)$. Pearlmutter and Siskind write it as it is said: a minimum over $x$ of a
# maximum over $y$, each found by gradients. The outer gradient goes through the whole inner search.
#
# Here is such a program by hand. Ten steps find the best answer, and the outer gradient goes back through them.


# %%
def payoff(x, y):
    return x**2 + x * y - y**2 + x


def best_answer(x):
    y = 0.0
    for _ in range(10):
        y = y + 0.4 * grad(lambda y: payoff(x, y))(y)
    return y


def worst_case(x):
    return payoff(x, best_answer(x))


x = 1.0
for _ in range(30):
    x = x - 0.3 * grad(worst_case)(x)
x, best_answer(x)

# %% [markdown]
# On paper: the best answer is $y = x / 2$, so the worst case is $\frac54 x^2 + x$, and it is least at $x = -0.4$.

# %%
assert np.isclose(x, -0.4, atol=1e-6)
assert np.isclose(best_answer(x), -0.2, atol=1e-6)

# %% [markdown]
# The functions of `optimize` nest in the same way. They need no rates, and they do not keep the steps of the inner
# search: the slope of a maximum is the slope of the payoff at the best answer.

# %%
x = optimize.argmin(lambda x: optimize.maximize(lambda y: payoff(x, y), 0.0).value, 1.0)
game = optimize.minimax(payoff, 1.0, 0.0)
x, game.x

# %%
assert np.isclose(x, -0.4, atol=1e-6)
assert np.isclose(game.x, -0.4, atol=1e-6)

# %% [markdown]
# ## 6. When the order counts
#
# Above, both kinds of game have the same answer. It is so wherever the payoff is convex in $x$ and concave in $y$. In
# other games it is an advantage to move second. In $\sin(x + y)$ the second player can always reach 1 if they see $x$,
# and the first player can always reach -1 if they see $y$. There is no saddle point, and `minimax` says so.

# %%
last_is_y = [optimize.maximize(lambda y, x=x: np.sin(x + y), 0.2).value for x in (0.0, 1.0, 2.0)]
last_is_x = [optimize.minimize(lambda x, y=y: np.sin(x + y), 0.2).value for y in (0.0, 1.0, 2.0)]
together = optimize.minimax(lambda x, y: np.sin(x + y), 0.3, 0.2, rounds=200)
print(last_is_y, last_is_x)
print(together.converged, together.message)

# %%
assert np.allclose(last_is_y, 1.0)
assert np.allclose(last_is_x, -1.0)
assert not together.converged

# %% [markdown]
# ## Exercises
#
# 1. The *optimistic* method needs only one pair of slopes in a round: it follows twice the new slope minus the slope of
#    the round before. Write it, and let it play $x y$ from $(1, 0)$.
# 2. In rock, paper, scissors, scissors that beat paper shall count double. With which probabilities do you play?
# 3. A goalkeeper learns to save more kicks if both choose left: 40 goals in 100 instead of 58.30. What does the
#    derivative in section 4 predict for the value, and what is it?
#
# ## Answers

# %% jupyter={"source_hidden": true}
# 1. The slope of the round before stands for the step ahead.


def optimistic(f, x, y, rate, rounds):
    x_before, y_before = slopes(f, x, y)
    for _ in range(rounds):
        x_slope, y_slope = slopes(f, x, y)
        x, y = x - rate * (2 * x_slope - x_before), y + rate * (2 * y_slope - y_before)
        x_before, y_before = x_slope, y_slope
    return x, y


assert np.hypot(*optimistic(product, 1.0, 0.0, rate=0.2, rounds=500)) < 1e-3

# %% jupyter={"source_hidden": true}
# 2. Paper has more to lose, so it becomes rarer, and rock becomes more frequent.
gain = np.array([[0.0, -1.0, 1.0], [1.0, 0.0, -2.0], [-1.0, 2.0, 0.0]])  # of the second player, who has the rows
third = np.full(3, 1 / 3)
game = optimize.minimax(lambda x, y: y @ gain @ x, third, third, constraints=(probabilities, probabilities))
assert np.allclose(game.y, [0.5, 0.25, 0.25], atol=1e-5)

# %% jupyter={"source_hidden": true}
# 3. The prediction is a straight line. The value falls a little more slowly, as both players adapt.
prediction = result.value + worth[0, 0] * (40.0 - goals[0, 0])
saved = match(np.array([[40.0, 94.97], [92.91, 69.92]])).value
print(prediction, saved)
assert prediction < saved < result.value
assert saved - prediction < 1.0
