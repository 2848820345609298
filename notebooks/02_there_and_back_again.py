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
# # There and back again: from the chain rule to shift and reset
#
# This notebook builds reverse-mode differentiation from nothing, in the order of sections 2 and 3 of Wang, Zheng,
# Decker, Wu, Essertel and Rompf, *Demystifying Differentiable Programming: Shift/Reset the Penultimate
# Backpropagator* (ICFP 2019). Below, "the paper" is that one. Each step is a few lines of Python that you can change
# and run again. At the end we arrive at what `shiftreset_ad` does, and at a table of what the paper has besides.
#
# One program goes with us all the way, as in the paper: $f(x) = 2x + x^3$. Its derivative is $2 + 3x^2$, which is 29
# at $x = 3$.

# %%
import inspect
import itertools
from dataclasses import dataclass, field

import matplotlib.pyplot as plt
import numpy as np

import shiftreset_ad as sr
from shiftreset_ad import Prompt, grad, reset, shift
from shiftreset_ad.modes.reverse import backpropagation as reverse


def f(x):
    return 2 * x + x * x * x


# %% [markdown]
# ## 1. There: forward mode (section 2.3, Fig. 5)
#
# Give every number a second one, its *tangent*: how fast it changes when the input changes. The input itself has the
# tangent 1. A constant has the tangent 0. Each operation computes its answer and, by the rules of calculus, the
# tangent of its answer.


# %%
class NumF:
    """A number and its tangent."""

    def __init__(self, primal, tangent=0.0):
        self.primal, self.tangent = primal, tangent

    def __add__(self, other):
        a, b = self, as_num_f(other)
        return NumF(a.primal + b.primal, a.tangent + b.tangent)

    def __mul__(self, other):
        a, b = self, as_num_f(other)
        return NumF(a.primal * b.primal, a.tangent * b.primal + a.primal * b.tangent)

    __radd__, __rmul__ = __add__, __mul__


def as_num_f(x):
    return x if isinstance(x, NumF) else NumF(x)


def derivative(f):
    return lambda x: as_num_f(f(NumF(x, 1.0))).tangent


derivative(f)(3.0)

# %%
assert derivative(f)(3.0) == 29.0

# %% [markdown]
# That is the chain rule, and all of forward mode: the tangents go the same way as the program, from the input to the
# output. It has one drawback. With a thousand inputs, the program has to be run a thousand times, as each run follows
# one input.
#
# ## 2. Two derivatives at once, and a confusion (sections 2.4 and 2.5)
#
# `derivative` is a Python function, so it can be nested. Here is a small program with a derivative inside a
# derivative:
#
# $$\frac{d}{dx}\left( x \cdot \frac{d}{dy}(x + y)\Big|_{y=1} \right)\Bigg|_{x=1}$$
#
# The inner derivative is 1, whatever $x$ is. So the whole is the derivative of $x \cdot 1$, and that is 1. What does
# our code say?


# %%
def nested(derivative):
    return derivative(lambda x: x * derivative(lambda y: x + y)(1.0))(1.0)


nested(derivative)

# %%
assert nested(derivative) == 2.0  # wrong!

# %% [markdown]
# It says 2, and no error. Look at `x + y`: the tangent of `x` belongs to the outer derivative, that of `y` to the
# inner one, and the code adds them up as if they were of the same kind. This is called *perturbation confusion*.
#
# The remedy is to say what a tangent belongs to. Each call of `derivative` makes a fresh *tag*. An operation belongs
# to the newest tag among its operands, and a number with another tag is a constant to it. Its parts may be numbers
# themselves, of older tags.

# %%
newer = itertools.count(1)  # the newer the tag, the greater the number


class TaggedNumF:
    """A number, its tangent, and the derivative that the tangent belongs to."""

    def __init__(self, primal, tangent, tag):
        self.primal, self.tangent, self.tag = primal, tangent, tag

    def __add__(self, other):
        tag, a, a_dot, b, b_dot = split(self, other)
        return TaggedNumF(a + b, a_dot + b_dot, tag)

    def __mul__(self, other):
        tag, a, a_dot, b, b_dot = split(self, other)
        return TaggedNumF(a * b, a_dot * b + a * b_dot, tag)

    __radd__, __rmul__ = __add__, __mul__


def split(a, b):
    """The newest tag of two numbers, and what they are to it: values and tangents."""
    tag = max(x.tag for x in (a, b) if isinstance(x, TaggedNumF))
    return tag, *parts(a, tag), *parts(b, tag)


def parts(x, tag):
    return (x.primal, x.tangent) if isinstance(x, TaggedNumF) and x.tag == tag else (x, 0.0)


def tagged_derivative(f):
    def derivative_of_f(x):
        tag = next(newer)
        _, y_dot = parts(f(TaggedNumF(x, 1.0, tag)), tag)
        return y_dot

    return derivative_of_f


nested(tagged_derivative)

# %%
assert nested(tagged_derivative) == 1.0
assert nested(grad) == 1.0  # the library has tags, too
assert tagged_derivative(tagged_derivative(f))(3.0) == 6 * 3.0

# %% [markdown]
# ## 3. Back: the adjoint (section 3)
#
# Reverse mode asks the opposite question. Not: how does this number change when the input changes? But: how does the
# *result* change when this number changes? The answer is called the *adjoint* of the number. For $y$ it is written
# $\bar y$, which is $\partial\,\text{result} / \partial y$.
#
# Say that somewhere in the program there is $y = a \cdot b$, and that we know $\bar y$ already. When $a$ changes by a
# little, $y$ changes by $b$ times that, and the result by $\bar y$ times that. So $a$ has a share in the result
# through this operation, and so has $b$:
#
# $$\bar a \mathrel{+}= b \cdot \bar y \qquad\qquad \bar b \mathrel{+}= a \cdot \bar y$$
#
# It says `+=` as a number may be used several times, and each use adds its share. One way back gives the adjoints of
# *all* inputs. That is why neural networks are trained in this way.
#
# There is one difficulty. To know $\bar y$, everything that happens after this operation must have happened, and must
# have been gone through backwards. An operation needs its own *future*. In programming, the future of an operation,
# "the rest of the program", is called its *continuation*.
#
# ## 4. The rest of the program, by hand (section 3.1, Fig. 7)
#
# Let every operation take its continuation as one more argument, `k`. It computes its answer and calls `k` with it:
# that is the rest of the program. When `k` comes back, the future has happened, and the adjoint of the answer is
# known.


# %%
class NumR0:
    """A number and its adjoint, which the way back fills in."""

    def __init__(self, primal):
        self.primal, self.adjoint = primal, 0.0


def add(a, b, k):
    y = NumR0(a.primal + b.primal)  # there
    k(y)  # the rest of the program
    a.adjoint += y.adjoint  # and back again
    b.adjoint += y.adjoint


def multiply(a, b, k):
    y = NumR0(a.primal * b.primal)
    k(y)
    a.adjoint += b.primal * y.adjoint
    b.adjoint += a.primal * y.adjoint


# %% [markdown]
# The program must be written inside out: each operation is followed by a function of its answer, and nothing ever
# returns a value. This is *continuation-passing style*. At the end of the program stands the result. Its own adjoint
# is 1.


# %%
def f_by_hand(x, k):
    multiply(
        NumR0(2.0),
        x,
        lambda double: multiply(x, x, lambda square: multiply(square, x, lambda cube: add(double, cube, k))),
    )


def gradient_by_hand(f):
    def gradient_of_f(x):
        z = NumR0(x)

        def at_the_end(y):
            y.adjoint = 1.0

        f(z, at_the_end)
        return z.adjoint

    return gradient_of_f


gradient_by_hand(f_by_hand)(3.0)

# %%
assert gradient_by_hand(f_by_hand)(3.0) == 29.0

# %% [markdown]
# Nothing stores what has to be done on the way back: no tape, and no graph. The operations that wait for their `k` to
# return do that, and they wait in the right order, as the last to be called is the first to return.
#
# But nobody wants to write programs like that. And since nothing returns until the end, each operation takes a frame
# of Python's stack. A program of some thousand operations runs out of it.


# %%
def power_by_hand(n):
    def product(x, k):
        def go_on(i, y):
            if i == n:
                k(y)
            else:
                multiply(y, x, lambda y: go_on(i + 1, y))

        go_on(1, x)

    return product


assert gradient_by_hand(power_by_hand(3))(2.0) == 12.0
try:
    gradient_by_hand(power_by_hand(100_000))(1.0)
except RecursionError as error:
    print("RecursionError:", error)
else:
    raise AssertionError("this was to fail")

# %% [markdown]
# ## 5. Shift and reset (section 3.2)
#
# What we want is to write `a * b` as usual, and to *get hold of* the rest of the program, instead of passing it on.
# There is a pair of operators for just that (Danvy and Filinski, *Abstracting Control*, 1990):
#
# - `reset(body)` runs `body()`, and marks how far "the rest of the program" goes;
# - `shift(handler)` leaves `body` in the middle of an expression, and calls `handler(k)` in its place. The function `k`
#   is the rest of the body: `k(4)` goes on as if `shift` had returned 4, and returns what the body returns.

# %%
reset(lambda: 10 * shift(lambda k: 1 + k(4)))  # here k(value) is 10 * value

# %%
assert reset(lambda: 10 * shift(lambda k: 1 + k(4))) == 41
assert reset(lambda: 10 * shift(lambda k: -1)) == -1  # the rest of the body is never run

# %% [markdown]
# In this library, `k` can be called once. The suspended body *is* the continuation, and running it uses it up.

# %%
try:
    reset(lambda: 10 * shift(lambda k: k(k(4))))
except sr.ContinuationUsedError as error:
    print("ContinuationUsedError:", error)
else:
    raise AssertionError("this was to fail")

# %% [markdown]
# Python has a construct that looks much like a handler: a generator stops at its `yield`, and goes on later. So a
# handler may also be a generator function with one `yield`. The `yield` is the call of `k`.


# %%
def handler():
    answer = yield 4  # k(4)
    return 1 + answer


reset(lambda: 10 * shift(handler))

# %%
assert reset(lambda: 10 * shift(handler)) == 41

# %% [markdown]
# ## 6. Reverse mode in ten lines (section 3.2, Fig. 8)
#
# Now the operators can be written as in section 4, and the program as usual. On the right is the multiplication of
# the paper, which is in Scala.
#
# ```
# def __mul__(self, other):                           def *(that: NumR) = shift { (k: NumR => Unit) =>
#     def handler(k):
#         y = NumR(self.primal * other.primal)          val y = new NumR(x * that.x, 0.0)
#         k(y)                                          k(y)
#         self.adjoint += other.primal * y.adjoint      this.d += that.x * y.d
#         other.adjoint += self.primal * y.adjoint      that.d += this.x * y.d
#     return shift(handler)                           }
# ```


# %%
class NumR:
    """A number and its adjoint, which the way back fills in."""

    def __init__(self, primal):
        self.primal, self.adjoint = primal, 0.0

    def __add__(self, other):
        def handler(k):
            y = NumR(self.primal + other.primal)
            k(y)
            self.adjoint += y.adjoint
            other.adjoint += y.adjoint

        return shift(handler)

    def __mul__(self, other):
        def handler(k):
            y = NumR(self.primal * other.primal)
            k(y)
            self.adjoint += other.primal * y.adjoint
            other.adjoint += self.primal * y.adjoint

        return shift(handler)

    def __rmul__(self, other):
        return NumR(other) * self


def gradient(f):
    def gradient_of_f(x):
        z = NumR(x)

        def program():
            f(z).adjoint = 1.0

        reset(program)
        return z.adjoint

    return gradient_of_f


gradient(f)(3.0)

# %%
assert gradient(f)(3.0) == 29.0

# %% [markdown]
# This is the same `f` that we started with. It knows nothing of continuations, and it is free to use loops, branches
# and calls.
#
# The operations are even shorter with generators: the handler reads like a diary. Everything above the `yield`
# happens on the way there, and everything below it on the way back. Generators also wait in a list, and not on
# Python's stack, so there may be any number of them.


# %%
def plus(self, other):
    def handler():
        y = NumR(self.primal + other.primal)
        yield y
        self.adjoint += y.adjoint
        other.adjoint += y.adjoint

    return shift(handler)


def times(self, other):
    def handler():
        y = NumR(self.primal * other.primal)
        yield y
        self.adjoint += other.primal * y.adjoint
        other.adjoint += self.primal * y.adjoint

    return shift(handler)


NumR.__add__, NumR.__mul__ = plus, times


def power(x, n):
    y = x
    for _ in range(n - 1):
        y = y * x
    return y


gradient(f)(3.0), gradient(lambda x: power(x, 100_000))(1.0)

# %%
assert gradient(f)(3.0) == 29.0
assert gradient(lambda x: power(x, 100_000))(1.0) == 100_000.0

# %% [markdown]
# ## 7. The picture (section 3, Fig. 6)
#
# To see it happen, let each operation write down when it is captured, when it is resumed, and what it does. It is the
# same code with a log in it. The log counts the operations that wait: each capture adds one, and each resume takes
# one away.

# %%


@dataclass
class Trip:
    """One operation, there and back again."""

    name: str
    expression: str
    value: float
    depth: int  # how many operations wait, this one included
    captured: int
    resumed: int = 0
    adjoint: float = 0.0
    shares: list = field(default_factory=list)  # (operand, partial derivative, the operand's adjoint afterwards)


class Log:
    """What happens, in the order in which it happens."""

    def __init__(self):
        self.time, self.waiting, self.trips = 0, 0, []

    def capture(self, expression, value):
        self.time, self.waiting = self.time + 1, self.waiting + 1
        trip = Trip("abcdefghij"[len(self.trips)], expression, value, self.waiting, self.time)
        self.trips.append(trip)
        return trip

    def at_the_end(self):
        self.time += 1
        self.ended = self.time

    def resume(self, trip, adjoint, shares):
        assert trip.depth == self.waiting  # last in, first out
        self.time, self.waiting = self.time + 1, self.waiting - 1
        trip.resumed, trip.adjoint, trip.shares = self.time, adjoint, shares


class LoggedNumR:
    """A number with its adjoint and its name, whose operations are logged."""

    def __init__(self, primal, name, log):
        self.primal, self.adjoint, self.name, self.log = primal, 0.0, name, log

    def __add__(self, other):
        expression = f"{self.name} + {other.name}"
        return self.operation(expression, self.primal + other.primal, (self, 1.0), (other, 1.0))

    def __mul__(self, other):
        expression = f"{self.name}·{other.name}"
        return self.operation(expression, self.primal * other.primal, (self, other.primal), (other, self.primal))

    def __rmul__(self, constant):
        return self.operation(f"{constant:g}·{self.name}", constant * self.primal, (self, constant))

    def operation(self, expression, primal, *operands):
        def handler():
            trip = self.log.capture(expression, primal)
            y = LoggedNumR(primal, trip.name, self.log)
            yield y
            shares = []
            for x, partial in operands:
                x.adjoint += partial * y.adjoint
                shares.append((x.name, partial, x.adjoint))
            self.log.resume(trip, y.adjoint, shares)

        return shift(handler)


log = Log()
z = LoggedNumR(3.0, "x", log)


def program():
    y = f(z)
    log.at_the_end()
    y.adjoint = 1.0


reset(program)
for trip in log.trips:
    print(f"captured at {trip.captured}, resumed at {trip.resumed}:  {trip.name} = {trip.expression} = {trip.value:g}")

# %%
assert z.adjoint == 29.0
assert [trip.captured for trip in log.trips] == [1, 2, 3, 4]
assert [trip.resumed for trip in log.trips] == [9, 8, 7, 6]


# %%
def bar(name):
    return rf"\bar{{{name}}}"


def draw(log, x):
    figure, axes = plt.subplots(figsize=(11, 5.6), layout="constrained")
    there, back = "tab:blue", "tab:red"
    home = log.time + 1
    up = [(0, 0), *((t.captured, t.depth) for t in log.trips)]
    down = [*((t.resumed, t.depth) for t in reversed(log.trips)), (home, 0)]
    top = (log.ended, len(log.trips) + 1)

    for trip in log.trips:
        axes.plot(
            [trip.captured, trip.resumed], [trip.depth] * 2, color="0.88", linewidth=9, solid_capstyle="butt", zorder=0
        )
        axes.text(
            (trip.captured + trip.resumed) / 2, trip.depth, f"{trip.name} waits", color="0.45", ha="center", va="center"
        )
        axes.annotate(
            f"{trip.name} = {trip.expression} = {trip.value:g}",
            (trip.captured, trip.depth), (-9, 4), textcoords="offset points", ha="right", color=there, fontsize=12,
        )  # fmt: skip
        y_bar = bar(trip.name)
        shares = [
            rf"${bar(x)}$ += {partial:g}·${y_bar}$ = {partial * trip.adjoint:g}, so ${bar(x)}$ = {total:g}"
            for x, partial, total in trip.shares
        ]
        for offset, text in ((9, rf"${y_bar}$ = {trip.adjoint:g}"), (62, "\n".join(shares))):
            axes.annotate(
                text, (trip.resumed, trip.depth), (offset, 4), textcoords="offset points", color=back, fontsize=12,
            )  # fmt: skip
    for points, color, label in (
        ([*up, top], there, "there: captures"),
        ([top, *down], back, "and back again: resumes"),
    ):
        times, depths = np.array(points).T
        axes.quiver(
            times[:-1], depths[:-1], np.diff(times), np.diff(depths),
            angles="xy", scale_units="xy", scale=1, color=color, width=0.003, label=label,
        )  # fmt: skip
        axes.plot(times, depths, "o", color=color, markersize=6)
    result = log.trips[-1]
    axes.plot(*top, "*", color="black", markersize=14)
    axes.annotate(
        rf"the result is {result.name} = {result.value:g}: set ${bar(result.name)}$ = 1",
        top, (0, 12), textcoords="offset points", ha="center", fontsize=12,
    )  # fmt: skip
    axes.annotate(
        f"x = {x.primal:g}", (0, 0), (-9, 0), textcoords="offset points", ha="right", va="center", fontsize=12
    )
    axes.annotate(
        rf"${bar('x')}$ = {x.adjoint:g}, the derivative",
        (home, 0), (9, 0), textcoords="offset points", va="center", fontsize=12,
    )  # fmt: skip
    axes.set(xlim=(-1.6, home + 3.4), ylim=(-0.5, top[1] + 0.8), xticks=range(home + 1), yticks=range(top[1] + 1))
    axes.set(xlabel="time (events, in the order in which they happened)", ylabel="nesting of the continuations")
    axes.legend(loc="upper left", frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title(r"There and back again: $f(x) = 2x + x^3$ at $x = 3$, drawn from a run")
    return figure


draw(log, z)
plt.show()

# %% [markdown]
# Read it from left to right. On the way up, each operation computes its value, is captured, and waits: the grey bar.
# At the top the program has come to its end. On the way down, the operations are resumed, last in, first out. Each
# knows the adjoint of its answer by then, as everything that came later has been resumed before it. It adds a share
# to the adjoint of each operand. You can see $\bar x$ grow: 9, 18, 27, 29.
#
# ## 8. What the library does
#
# `grad` follows the same path, with arrays, structures, errors, threads and speed looked after. Its numbers are
# called `NumR` too. If we keep some, we can look at their adjoints after the way back:

# %%
kept = {}


def f_with_names(x):
    a = 2 * x
    b = x * x
    c = b * x
    d = a + c
    kept.update(a=a, b=b, c=c, d=d)
    return d


grad(f_with_names)(3.0), {name: (number.primal, number.adjoint) for name, number in kept.items()}

# %%
assert [kept[t.name].primal for t in log.trips] == [t.value for t in log.trips]
assert [kept[t.name].adjoint for t in log.trips] == [t.adjoint for t in log.trips]

# %% [markdown]
# They are the numbers of the picture. The module `shiftreset_ad.modes.reverse.backpropagation` tells the story from
# top to bottom. There, an operation leaves its program with a tuple that says how to go back, which is cheaper than a
# generator, and one list holds them all:

# %%
print(inspect.getsource(reverse.backward))

# %% [markdown]
# A number that has outlived its `grad` has nobody to tell its adjoint. Using it is an error, and not a silent zero:

# %%
try:
    kept["a"] * 2
except sr.EscapedNumberError as error:
    print("EscapedNumberError:", error)
else:
    raise AssertionError("this was to fail")

# %% [markdown]
# ## 9. Reverse of reverse (section 3.7)
#
# A derivative of a derivative needs two journeys at once. Each call of `gradient` makes a tag, as in section 2 above.
# A tag now has a `Prompt` of its own. `reset(body, prompt)` marks the end of one program, and `shift(handler,
# prompt)` captures the rest of *that* program, straight through any other `reset` between.
#
# The values and adjoints of inner numbers may be outer numbers. So the arithmetic in a handler is done by the
# operators `*` and `+`, and it is captured by the outer program as any other operation is. No more is needed.


# %%
class Tag:
    def __init__(self):
        self.age, self.prompt = next(newer), Prompt()


class TaggedNumR:
    """A number, its adjoint, and the gradient that the adjoint belongs to."""

    def __init__(self, primal, tag):
        self.primal, self.adjoint, self.tag = primal, 0.0, tag

    def __add__(self, other):
        return operation(self, other, lambda a, b: a + b, lambda a, b: 1.0, lambda a, b: 1.0)

    def __mul__(self, other):
        return operation(self, other, lambda a, b: a * b, lambda a, b: b, lambda a, b: a)

    __radd__, __rmul__ = __add__, __mul__  # the order does not matter to sums and products


def belongs(x, tag):
    return isinstance(x, TaggedNumR) and x.tag is tag


def operation(a, b, function, *partials):
    tag = max((x.tag for x in (a, b) if isinstance(x, TaggedNumR)), key=lambda tag: tag.age)
    values = [x.primal if belongs(x, tag) else x for x in (a, b)]

    def handler():
        y = TaggedNumR(function(*values), tag)  # an operation of the outer program, if the values are its numbers
        travels.append((tag, +1))
        yield y
        for x, partial in zip((a, b), partials, strict=True):
            if belongs(x, tag):
                x.adjoint = x.adjoint + partial(*values) * y.adjoint  # these, too
        travels.append((tag, -1))

    return shift(handler, tag.prompt)


def tagged_gradient(f):
    def gradient_of_f(x):
        tag = Tag()
        z = TaggedNumR(x, tag)

        def program():
            y = f(z)
            if belongs(y, tag):
                y.adjoint = 1.0

        reset(program, tag.prompt)
        return z.adjoint

    return gradient_of_f


travels = []  # for the picture below: which tag's program gets deeper by one, or less deep
tagged_gradient(tagged_gradient(f))(3.0), nested(tagged_gradient)

# %%
assert tagged_gradient(f)(3.0) == 29.0
assert tagged_gradient(tagged_gradient(f))(3.0) == 18.0  # 6x
assert tagged_gradient(tagged_gradient(tagged_gradient(f)))(3.0) == 6.0
assert nested(tagged_gradient) == 1.0  # no confusion
assert grad(grad(f))(3.0) == 18.0 and nested(grad) == 1.0  # noqa: PT018

# %% [markdown]
# Here are both journeys of the second derivative, from a run. While the inner program goes there *and back*, the
# outer program only goes there: it captures the inner one's arithmetic, on both of its ways. It goes back when the
# inner one has finished.

# %%
travels = []
assert tagged_gradient(tagged_gradient(f))(3.0) == 18.0

outer, inner = sorted({tag for tag, _ in travels}, key=lambda tag: tag.age)
depths = {tag: np.cumsum([0] + [step if mover is tag else 0 for mover, step in travels]) for tag in (outer, inner)}
moments = np.arange(len(travels) + 1)
turn = {tag: int(np.argmax(depths[tag])) for tag in (outer, inner)}  # where the way back begins
inner_done = max(time for time, (tag, _) in enumerate(travels, 1) if tag is inner)

figure, panels = plt.subplots(2, 1, figsize=(11, 5.2), sharex=True, layout="constrained", height_ratios=[1, 2])
for panel, tag, name in zip(panels, (inner, outer), ("inner program", "outer program"), strict=True):
    there, back = moments <= turn[tag], moments >= turn[tag]
    panel.step(moments[there], depths[tag][there], where="post", color="tab:blue", label="there: captures")
    panel.step(moments[back], depths[tag][back], where="post", color="tab:red", label="and back again: resumes")
    panel.fill_between(moments, depths[tag], step="post", color="0.92")
    panel.set(title=name, ylabel="operations waiting", ylim=(0, depths[tag].max() + 1.5))
    panel.spines[["top", "right"]].set_visible(False)
    for time in (turn[inner], inner_done):
        panel.axvline(time, color="0.5", linestyle=":", linewidth=1)
panels[0].legend(loc="upper right", frameon=False)
panels[1].set(xlabel="time (events, in the order in which they happened)", xlim=(0, len(travels)))
phases = [
    (0, turn[inner], "the values of f"),
    (turn[inner], inner_done, "the adjoints of f"),
    (inner_done, len(travels), "the adjoints of all that"),
]
for start, stop, text in phases:
    panels[1].annotate(text, ((start + stop) / 2, depths[outer].max() + 1), ha="center", va="top", fontsize=10)
plt.show()

# %%
assert depths[inner][-1] == depths[outer][-1] == 0  # everyone is home
assert all(np.diff(depths[outer][: inner_done + 1]) >= 0)  # the outer program only goes there ...
assert all(np.diff(depths[outer][inner_done:]) <= 0)  # ... until the inner one is back

# %% [markdown]
# ## 10. Every section, and its code
#
# This notebook goes the short way. The paper has more on its way, and each step is a *room* of its own in
# `shiftreset_ad.formulations`: code to be read beside the figure.
#
# | section | what it is | room, in `formulations/wang/` |
# |---|---|---|
# | 2.1, Fig. 1 and 2 | symbolic differentiation, and how names keep it small | `symbolic` |
# | 2.2, Fig. 4 | forward mode as a map from terms to terms | `source_forward` |
# | 2.3 to 2.5, Fig. 5 | forward mode, confusion, tags: sections 1 and 2 above | `forward` |
# | 3, Fig. 6 | straight-line programs, there and back: sections 3 and 7 above | `straight_line` |
# | 3.1, Fig. 7 | explicit continuations: section 4 above | `explicit_cps` |
# | 3.2, Fig. 8 | shift and reset: sections 5 and 6 above | `shift_reset` |
# | 3.3, Fig. 9 | reverse mode as a map from terms to terms, with shift and reset in the result | `source_shift_reset` |
# | 3.3, Fig. 10 and 11 | the same without shift and reset in the result | `source_meta`, `source_cps` |
# | 3.5, Fig. 12 | the way back as one function, and as data: the tape | `tape`, `defunctionalised_tape` |
# | 3.6 | no mutation: continuations return a map of updates | `updates` |
# | 3.7, Fig. 13 | second derivatives: section 9 above | `shift2`, `prompts`, `forward_over_reverse` |
# | 4, Fig. 14 | the same while code is generated | `staged`, `letrec` |
#
# They all take programs of the paper's core language, and they all agree:

# %%
from shiftreset_ad.formulations import ROOMS
from shiftreset_ad.formulations.language import parse

polynomial = parse("fun x -> 2.0 * x + x * x * x")
for room in ROOMS:
    if room.paper.startswith("Wang"):
        print(f"{room.section:20}{room.path.removeprefix('wang.'):24}{float(room.grad(polynomial)(3.0))}")

# %% [markdown]
# Here is Fig. 9, of the smallest program. The gradient is a program, with `shift` and `reset` in it:

# %%
from shiftreset_ad.formulations.wang import source_shift_reset

print(source_shift_reset.transform(parse("fun x -> x * x")))

# %% [markdown]
# An exercise: write the program `fun x -> if x > 0.0 then x * x else -1.0 * x * x`, and differentiate it by a room of
# your choice, on both sides of zero. What does Fig. 9 make of the conditional? The answer:

# %%
conditional = parse("fun x -> if x > 0.0 then x * x else -1.0 * x * x")
assert [source_shift_reset.grad(conditional)(x) for x in (3.0, -3.0)] == [6.0, 6.0]
print(source_shift_reset.transform(conditional))  # the branches are translated, and the comparison looks at the value

# %% [markdown]
# ## Where to go from here
#
# - `src/shiftreset_ad/modes/reverse/backpropagation.py` is this notebook as a library. `control/` has `reset`
#   and `shift` and no calculus. `rules/` has the calculus and no control.
# - Pearlmutter and Siskind, *Reverse-Mode AD in a Functional Framework: Lambda the Ultimate Backpropagator* (TOPLAS
#   2008), take another road to the same place. `examples/saddle_point.py` runs their minimum over maxima.
