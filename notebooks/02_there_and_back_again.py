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
# # There and back again: the papers, step by step
#
# This notebook follows Wang, Zheng, Decker, Wu, Essertel and Rompf, *Demystifying Differentiable Programming:
# Shift/Reset the Penultimate Backpropagator* (ICFP 2019), in the paper's own order; a section here has the number and
# the figures of the section there. "The paper" is that one. After it there are two more, in their own order, too:
# Pearlmutter and Siskind (TOPLAS 2008), and Krawiec and others (POPL 2022).
#
# Each step is either a few lines of Python that you can change and run again, or the code of its *room* in
# `shiftreset_ad.formulations`. A room is a small module to be read beside its figure. `docs/papers.md` has the whole
# list.
#
# One program goes with us all the way, as in the paper: $f(x) = 2x + x^3$. Its derivative is $2 + 3x^2$, which is 29 at
# $x = 3$.

# %%
import inspect
import itertools

import numpy as np

import shiftreset_ad as sr
from shiftreset_ad import Prompt, grad, reset, shift, trace
from shiftreset_ad.formulations.language import evaluate, parse, show
from shiftreset_ad.formulations.language.anf import to_anf


def f(x):
    return 2 * x + x * x * x


# The same as a program of the core language, which the paper's transformations read.
polynomial = parse("fun x -> 2.0 * x + x * x * x")


def code(room):
    """Print the code of a room."""
    print(inspect.getsource(room))


# %% [markdown]
# ## 2 What derivatives are for
#
# A program has parameters $w$, and a loss $L(w)$ that should be small. A step of gradient descent goes against the
# gradient: $w' = w - r \, \nabla L(w)$. So all that is needed is $\nabla L$, for a loss that is a program.

# %%
w = 3.0
for _ in range(50):
    w = w - 0.1 * grad(lambda w: (w - 1.0) * (w - 1.0))(w)
assert np.isclose(w, 1.0, atol=1e-4)

# %% [markdown]
# ## 2.1 Symbolic differentiation, and names (Fig. 1 and 2)
#
# The rule for products writes each factor twice: $(uv)' = u'v + uv'$. So the derivative of a product of n factors has n
# products of n factors. This explosion is not in the rules, but in the programs: they have no names for what they
# compute. The rooms are `wang/symbolic.py`, and `to_anf`, which gives each intermediate result a name.

# %%
from shiftreset_ad.formulations.wang import symbolic

code(symbolic._derivative)
product = parse("fun x -> x * sin x * exp x * x")
print(show(symbolic.symbolic(product)))

# %%
print(show(symbolic.symbolic(to_anf(product))))

# %% [markdown]
# With names, each `let` has one more beside it: the name with a prime is its derivative. That is no longer what you
# know as symbolic differentiation. It is forward mode. Fig. 2 has two forms of it. In the second, a step and its
# derivative are one step on pairs, and that is what an overloaded operator can do (2.3).

# %%
from shiftreset_ad.formulations.wang import straight_line

print(show(straight_line.forward_1(polynomial)))
print(show(straight_line.forward_2(polynomial)))


# %%
def size(n):
    """The length of the derivative of a product of n factors, without and with names."""
    program = parse("fun x -> " + " * ".join(["sin x"] * n))
    return [len(show(symbolic.symbolic(form))) for form in (program, to_anf(program))]


without, with_names = np.array([size(n) for n in (10, 20, 40)]).T
print(without, with_names)
assert without[2] / without[1] > 3.5  # quadratic: twice the factors, four times the text
assert with_names[2] / with_names[1] < 2.3  # linear

# %% [markdown]
# **Exercise.** Differentiate the derivative of `fun x -> x * x * x` in A-normal form once more. How many `let` does
# each derivative have?

# %%
# Answer: twice as many each time, as each `let` gets one beside it.
once = to_anf(symbolic.symbolic(to_anf(parse("fun x -> let y = x * x in y * x"))))
print(show(symbolic.symbolic(to_anf(parse("fun x -> let y = x * x in y * x")))))
lets = [show(term).count("let ") for term in (symbolic.symbolic(once), once)]
assert lets[0] == 2 * lets[1]

# %% [markdown]
# ## 2.2 Forward mode of functions (Fig. 3 and 4)
#
# Fig. 3 is the core language: functions, pairs, sums and references. Fig. 4 transforms its programs: each number
# becomes a pair of the number and its tangent, and everything else stays what it is. The room is
# `wang/source_forward.py`.

# %%
from shiftreset_ad.formulations.wang import source_forward

code(source_forward.forward)
print(source_forward.transform(parse("fun x -> x * x")))
assert source_forward.grad(polynomial)(3.0) == 29.0

# %% [markdown]
# ## 2.3 Forward mode by overloading (Fig. 5)
#
# Give every number a second one, its *tangent*: how fast it changes when the input changes. The input itself has the
# tangent 1. A constant has the tangent 0. Each operation computes its answer and, by the rules of calculus, the tangent
# of its answer. `wang/classes.py` has the class as printed.


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
# The tangents go the same way as the program, from the input to the output. It has one drawback. With a thousand
# inputs, the program has to be run a thousand times, as each run follows one input.
#
# ## 2.4 Two derivatives at once, and a confusion
#
# `derivative` is a Python function, so it can be nested. Here is a small program with a derivative inside a derivative:
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
# It says 2, and no error. Look at `x + y`: the tangent of `x` belongs to the outer derivative, that of `y` to the inner
# one, and the code adds them up as if they were of the same kind. This is called *perturbation confusion*.
#
# ## 2.5 Tags
#
# The remedy is to say what a tangent belongs to. Each call of `derivative` makes a fresh *tag*. An operation belongs to
# the newest tag among its operands, and a number with another tag is a constant to it. Its parts may be numbers
# themselves, of older tags. The paper has three classes, `Num`, `NumV` and `NumF`. This is the product of two of them:

# %%
from shiftreset_ad.formulations.wang import classes

code(classes.multiply)
assert nested(lambda f: lambda x: classes.grad(f)(x)).x == 1.0
assert classes.grad(classes.grad(f))(3.0).x == 6 * 3.0
assert nested(grad) == 1.0  # the library has tags, too

# %% [markdown]
# **Exercise.** The tags are numbers, and a newer derivative has a greater one. Would it be enough if tags could only be
# told apart? Find a program of two derivatives in which an operation has operands of both.

# %%
# Answer: no. In d/dx (d/dy x * y * y), the product x * y has operands of both, and belongs to the inner derivative.
# If it belonged to the outer one, the inner derivative would take its result for a constant.
assert classes.grad(lambda x: classes.grad(lambda y: x * y * y)(3.0))(2.0).x == 6.0

# %% [markdown]
# ## 3 There and back again (Fig. 6)
#
# Reverse mode asks the opposite question. Not: how does this number change when the input changes? But: how does the
# *result* change when this number changes? The answer is called the *adjoint* of the number. For $y$ it is written
# $\bar y$, which is $\partial\,\text{result} / \partial y$.
#
# Say that somewhere in the program there is $y = a \cdot b$, and that we know $\bar y$ already. When $a$ changes by a
# little, $y$ changes by $b$ times that, and the result by $\bar y$ times that. So $a$ has a share in the result through
# this operation, and so has $b$:
#
# $$\bar a \mathrel{+}= b \cdot \bar y \qquad\qquad \bar b \mathrel{+}= a \cdot \bar y$$
#
# It says `+=` as a number may be used several times, and each use adds its share. One way back gives the adjoints of
# *all* inputs.
#
# Fig. 6 has the running example in two columns. The left column is read downwards, and the right column upwards. The
# room is `wang/straight_line.py`.

# %%
code(straight_line.reverse_1)
print(straight_line.reverse_2(parse("fun x -> let y1 = 2.0 * x in let y2 = x * x in let y3 = y2 * x in y1 + y3")))

# %% [markdown]
# To know $\bar y$, everything that happens after this operation must have happened, and must have been gone through
# backwards. An operation needs its own *future*. In programming, the future of an operation, "the rest of the program",
# is called its *continuation*. The third form of Fig. 6 gives each future a name, `k1`, `k2` and so on:

# %%
print(show(straight_line.reverse_3(parse("fun x -> let y = x * x in y * x"))))

# %% [markdown]
# The library can show the same of a run. `trace` calls a derivative, and returns what happened. The grey bars are
# operations that wait for their future.


# %%
def in_steps(x):
    a = 2 * x
    b = x * x
    c = b * x
    return a + c


seen = trace(grad(in_steps), 3.0)
seen.there_and_back_again

# %%
print(seen)
assert seen.answer == 29.0
assert [step.resumed for step in seen] == [3, 2, 1, 0]  # last in, first out
(x,) = set(seen[0].uses)  # the number of the input
assert [after for step in seen.way_back for number, _, after in step.shares if number == x] == [9.0, 27.0, 29.0]

# %% [markdown]
# Read the picture from the top. On the way down, each operation computes its value, and waits. At the bottom the
# program has come to its end. On the way up, the operations are resumed, last in, first out. Each knows the adjoint of
# its answer by then. The last column has the adjoints of the operands, before and after. Read it from the bottom up:
# the adjoint of `x` grows to 9, to 27, and to 29.
#
# ## 3.1 The rest of the program, by hand (Fig. 7)
#
# Let every operation take its continuation as one more argument, `k`. It computes its answer and calls `k` with it:
# that is the rest of the program. When `k` comes back, the future has happened, and the adjoint of the answer is known.
# The room is `wang/explicit_cps.py`, and `wang/as_printed.py` has the class of the figure, with the paper's names.


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
# ## 3.2 Shift and reset (Fig. 8)
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
# Now the operators can be written as in 3.1, and the program as usual. On the right is the multiplication of Fig. 8,
# which is in Scala. The room is `wang/shift_reset.py`.
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
# **Exercise.** Let `sin` be an operation of `NumR`, in the form with a `yield`. Differentiate `sin(x * x)` at 2.


# %%
def sine(x):  # the answer
    def handler():
        y = NumR(np.sin(x.primal))
        yield y
        x.adjoint += np.cos(x.primal) * y.adjoint

    return shift(handler)


assert np.isclose(gradient(lambda x: sine(x * x))(2.0), 4.0 * np.cos(4.0))

# %% [markdown]
# ## 3.3 Transformations of programs (Fig. 9 to 11)
#
# The same as maps from programs to programs. In Fig. 9 the gradient is a program with `shift` and `reset` in it. In
# Fig. 10 the *translator* uses `shift` and `reset`, so the gradient has none: it is in continuation-passing style. Fig.
# 11 has a translator without them, too. The rooms are `wang/source_shift_reset.py`, `source_meta.py` and
# `source_cps.py`.

# %%
from shiftreset_ad.formulations.wang import source_cps, source_meta, source_shift_reset

code(source_shift_reset.operation)  # the rule for + and *, line by line
print(source_shift_reset.transform(parse("fun x -> x * x")))

# %%
print(source_meta.transform(parse("fun x -> x * x")))
assert show(source_meta.transform(polynomial)) == show(source_cps.transform(polynomial))  # Fig. 10 is Fig. 11
assert source_meta.grad(source_meta.transform(polynomial))(3.0) == 18.0  # the gradient is a program: once more

# %% [markdown]
# **Exercise.** Write the program `fun x -> if x > 0.0 then -1.0 * x * x else x * x`, the conditional of 4.2, and
# differentiate it by Fig. 9 on both sides of zero. What becomes of the comparison?

# %%
# Answer: the branches are translated, and the comparison looks at the value.
conditional = parse("fun x -> if x > 0.0 then -1.0 * x * x else x * x")
assert [source_shift_reset.grad(conditional)(x) for x in (3.0, -3.0)] == [-6.0, -6.0]
print(source_shift_reset.transform(conditional))

# %% [markdown]
# ## 3.4 The relation to Pearlmutter and Siskind
#
# Their transformation keeps no continuation. A function returns its answer together with a *backpropagator*, and so the
# whole program must be rewritten for it: it is a *non-local* transformation. The one of Fig. 8 is local: each operation
# is replaced by itself. The last part of this notebook comes back to it.
#
# ## 3.5 The tape (Fig. 12)
#
# An operation need not wait in its own frame. It may leave what it has to do on the way back in a global function, the
# *tape*, which it makes longer. That is the continuations, refunctionalised. The room is `wang/tape.py`, and this is
# the idea:


# %%
class NumB:
    """A number and its adjoint; operations make the tape longer."""

    tape = staticmethod(lambda: None)

    def __init__(self, primal):
        self.primal, self.adjoint = primal, 0.0

    def __mul__(self, other):
        y, before = NumB(self.primal * other.primal), NumB.tape

        def tape():
            self.adjoint += other.primal * y.adjoint
            other.adjoint += self.primal * y.adjoint
            before()

        NumB.tape = staticmethod(tape)
        return y


x = NumB(3.0)
y = x * x * x
y.adjoint = 1.0
NumB.tape()
assert x.adjoint == 27.0

# %% [markdown]
# As data in place of functions, an entry has the places of the operands and the slopes, and an interpreter goes through
# the entries from the last to the first: `wang/defunctionalised_tape.py`. This is the usual tape. The library keeps a
# list of waiting handlers, which is the same:

# %%
from shiftreset_ad.formulations.wang import defunctionalised_tape
from shiftreset_ad.modes.reverse import backpropagation

code(defunctionalised_tape.adjoints)
code(backpropagation.backward)

# %% [markdown]
# ## 3.6 No mutation
#
# `x.adjoint +=` is an assignment. A continuation may return a map of updates instead, from numbers to what is added to
# their adjoints. The room is `wang/updates.py`. In short:

# %%
names = itertools.count()


class Named:
    """A number with a name, and no adjoint."""

    def __init__(self, primal):
        self.primal, self.name = primal, next(names)


def multiply_purely(a, b, k):
    y = Named(a.primal * b.primal)
    updates = k(y)
    y_bar = updates.get(y.name, 0.0)
    for x, slope in ((a, b.primal), (b, a.primal)):
        updates = {**updates, x.name: updates.get(x.name, 0.0) + slope * y_bar}
    return updates


x = Named(3.0)
updates = multiply_purely(x, x, lambda y: multiply_purely(y, x, lambda z: {z.name: 1.0}))
assert updates[x.name] == 27.0

# %% [markdown]
# ## 3.7 Reverse of reverse (Fig. 13)
#
# A derivative of a derivative needs two journeys at once. Fig. 13 builds a second level of capture, `shift2`, out of
# one kind of `shift` and `reset`: what the inner `reset` returns is a program in continuation-passing style. The room
# is `wang/shift2.py`, and the example is that of the paper:

# %%
from shiftreset_ad.formulations.wang.shift2 import gradR, gradRR, shift2

code(shift2)
assert [gradR(gradRR(f))(x) for x in (0.0, 1.0, 2.0, -3.0)] == [0.0, 6.0, 12.0, -18.0]

# %% [markdown]
# This has two levels, and a third one would need a `shift3`. The paper names another way, with several levels of
# control. Each call of `gradient` makes a tag, as in 2.5, and a tag now has a `Prompt` of its own. `reset(body,
# prompt)` marks the end of one program, and `shift(handler, prompt)` captures the rest of *that* program, straight
# through any other `reset` between. The room is `wang/prompts.py`.
#
# The values and adjoints of inner numbers may be outer numbers. So the arithmetic in a handler is done by the operators
# `*` and `+`, and it is captured by the outer program as any other operation is. No more is needed.

# %%
newer = itertools.count(1)  # the newer the tag, the greater the number


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
        yield y
        for x, partial in zip((a, b), partials, strict=True):
            if belongs(x, tag):
                x.adjoint = x.adjoint + partial(*values) * y.adjoint  # these, too

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


tagged_gradient(tagged_gradient(f))(3.0), nested(tagged_gradient)

# %%
assert tagged_gradient(f)(3.0) == 29.0
assert tagged_gradient(tagged_gradient(f))(3.0) == 18.0  # 6x
assert tagged_gradient(tagged_gradient(tagged_gradient(f)))(3.0) == 6.0
assert nested(tagged_gradient) == 1.0  # no confusion
assert grad(grad(f))(3.0) == 18.0 and nested(grad) == 1.0  # noqa: PT018

# %% [markdown]
# A trace of the library's own second derivative shows both journeys. While the inner derivative, of level 2, goes there
# *and back*, the outer program only goes there: the inner one's arithmetic is operations of level 1, on both ways. The
# outer program goes back when the inner one has finished.


# %%
def cube(x):
    square = x * x
    return square * x


second = trace(grad(grad(cube)), 3.0)
print(second)

# %%
second.there_and_back_again

# %%
levels = [(way, second[index].level) for way, index in second.order]
first_back = levels.index(("back", 1))
assert second.answer == 18.0
assert ("there", 1) not in levels[first_back:]  # the outer program goes back when all else is done
assert {level for way, level in levels[:first_back] if way == "back"} == {2}

# %% [markdown]
# **Exercise.** Count the operations of the first four derivatives of $f$ by a handler of your own (`handling`, in
# `docs/handlers.md`). How do they grow?


# %%
class Count(sr.Handler):  # the answer
    n = 0

    def there(self, step):
        self.n += 1


counts, derivative_of_f = [], f
for _ in range(4):
    derivative_of_f = grad(derivative_of_f)
    with sr.handling(count := Count()):
        derivative_of_f(3.0)
    counts.append(count.n)
print(counts)
assert counts[0] == 4
assert all(4 * a > b > a for a, b in itertools.pairwise(counts))

# %% [markdown]
# ## 4 Staging (4.1 to 4.4, Fig. 14)
#
# The program runs twice. First it runs on values that are not known yet, and writes a program. `shift` and `reset` run
# here, and are gone from the program that is written. The room is the package `wang/staged/`. The four examples of the
# paper are a product, a conditional, a loop and a recursion over trees.

# %%
from shiftreset_ad.formulations.wang import staged

code(staged.IF)
square = staged.generate(staged.grad(lambda x: x * x))
print(staged.pseudo.show(staged.simplify(square)))
print(staged.cpp.show(staged.optimise(square)))

# %%
branches = staged.generate(staged.grad(lambda x: staged.IF(x > 0.0, lambda: -1.0 * x * x, lambda: x * x)))
loop = staged.generate(staged.grad(lambda x: staged.WHILE(x, lambda t: t > 1.0, lambda t: t * 0.5)))
print(staged.cpp.show(staged.optimise(loop)))
assert staged.python.compiled(loop)(5.0) == 0.125
assert staged.python.compiled(branches)(3.0) == staged.python.compiled(branches)(-3.0) == -6.0

# %%
code(staged.FUN)
code(staged.TREE)
tree = staged.Symbol("tree", staged.NODE)
fold = staged.generate(
    lambda tree, x: staged.grad(lambda x: staged.TREE(x, tree, lambda left, right, node: left * right * node.value))(x),
    tree,
    staged.INPUT,
)
print(staged.cpp.show(staged.optimise(fold)))
leaf = staged.Tree(staged.EMPTY, 3.0, staged.EMPTY)
assert staged.python.compiled(fold)(staged.Tree(staged.EMPTY, 5.0, leaf), 2.0) == 180.0

# %% [markdown]
# The loop is a function that calls itself, and its way back is the code after the call. The size of the code does not
# depend on the number of rounds, or on the shape of the tree.
#
# **Exercise.** Write a loop with a conditional inside. How long is its code, compared with the loop alone?

# %%
# Answer: the code is a sum, and not a product, as the rest of the program after a conditional is a function, too.
both = staged.generate(
    staged.grad(
        lambda x: staged.WHILE(x, lambda t: t > 1.0, lambda t: staged.IF(t > 8.0, lambda: t * 0.25, lambda: t * 0.5))
    )
)
sizes = [staged.size(program.body) for program in (loop, branches, both)]
print(sizes)
assert sizes[2] <= sizes[0] + sizes[1]
assert staged.python.compiled(both)(20.0) == 0.25 * 0.5**3

# %% [markdown]
# **5 Evaluation (Fig. 15 to 17).** The paper's networks are in `examples/networks/`: a TreeLSTM, SqueezeNet, ResNet50
# and DeepSpeech2, over the functions of `shiftreset_ad.nn`. Notebook 11 trains some of them, and `docs/performance.md`
# has their times beside PyTorch's. A generator of code for tensors, as in the paper, is not built.

# %% [markdown]
# # Pearlmutter and Siskind: a backpropagator for each function
#
# *Reverse-Mode AD in a Functional Framework: Lambda the Ultimate Backpropagator*, TOPLAS 2008. "The paper" is this one
# from here on. Its text has arrows over its letters; here `x'` is transformed, `x_sens` is a sensitivity, and `x_back`
# a backpropagator. The rooms are in `formulations/pearlmutter_siskind/`.
#
# ## 2 A brief tutorial (Fig. 1 to 4)
#
# A program is a row of states of a machine. A step changes one element (Fig. 1), so its Jacobian is the identity but
# for a row (Fig. 2). A perturbation of the new element is computed from those of the operands (Fig. 3). The way back
# adds to the sensitivities of the operands, and sets the one of the new element to zero, as it has overwritten
# something (Fig. 4).

# %%
from shiftreset_ad.formulations.pearlmutter_siskind.machine import Binary, Unary, picture
from shiftreset_ad.formulations.pearlmutter_siskind.phases import backpropagators

code(Binary.reverse)
step = Binary(2, 0, 1, np.multiply)
print(step)
print(picture(step, 4))
print("perturbations:", step.forward([10.0, 100.0], [1.0, 2.0, 3.0, 4.0]))
print("sensitivities:", step.reverse([10.0, 100.0], [1.0, 2.0, 3.0, 4.0]))

# x[1] := x[0] * x[0]; x[1] := x[1] * x[0]; x[0] := 2 x[0], as x[0] + x[0]; x[0] := x[0] + x[1]
program = [Binary(1, 0, 0, np.multiply), Binary(1, 1, 0, np.multiply), Binary(0, 0, 0, np.add), Binary(0, 0, 1, np.add)]
state, back = backpropagators(program, [3.0, 0.0])
assert (state[0], back([1.0, 0.0])[0]) == (33.0, 29.0)

# %% [markdown]
# **Exercise.** The figures assume that the new element is not an operand. What are the sensitivities of a step
# `x[0] := sin x[0]`?

# %%
# Answer: the step overwrites its operand, so nothing is added: the sensitivity is multiplied by the slope.
overwriting = Unary(0, 0, np.sin)
print(picture(overwriting, 2))
assert overwriting.reverse([0.5], [10.0, 3.0]) == [5.0, 3.0]

# %% [markdown]
# ## 3 An informal overview
#
# Section 3 comes to the lambda calculus in steps. Each form of a straight-line program is made from the one before. The
# module is `successive.py`; here are the first, the third and the last form of a program of two steps.

# %%
from shiftreset_ad.formulations.pearlmutter_siskind import successive

steps = [successive.Step("x1", "sin", "x0"), successive.Step("x2", "exp", "x1")]
for form in (successive.tapeless, successive.backpropagator_variables, successive.arbitrary_values):
    print(f"{form.__name__}:", *form(steps), sep="\n  ")

# %% [markdown]
# Then each function of a program gets such a body. The paper's example is `fun a -> ((fun b -> fun c -> b) a) 1`, which
# is the identity. Its value takes a way that is easily forgotten: into the environment of a function, and out again by
# a call. So the paper's second version has the derivative 0, without an error. The slides walk through it, and
# `walk.py` writes the value of each variable beside it.

# %%
from shiftreset_ad.formulations.pearlmutter_siskind.as_printed import Version, example
from shiftreset_ad.formulations.pearlmutter_siskind.walk import Walk

bug = Walk(example(), Version.ZEROS)
assert bug(4.0, 1.0) == (4.0, 0.0)
print(bug.annotated())

# %%
correct = Walk(example(), Version.CORRECT)
assert correct(4.0, 1.0)[0] == 4.0
print(correct.annotated())

# %% [markdown]
# **Exercise.** What are the three changes between the two listings?

# %%
# Answer: a backpropagator returns the sensitivities of its environment, too, in a list; a call adds to the sensitivity
# of its function, and not only to that of its argument; a function adds its sensitivity to those of its free variables.
# `incorrect.py` leaves out one of them at a time, and each time the derivative is 0.
from shiftreset_ad.formulations.pearlmutter_siskind import incorrect

for transform in (incorrect.ArgumentOnly, incorrect.FunctionIgnored, incorrect.ClosureIgnored):
    assert incorrect.derivative(transform, incorrect.EXAMPLE)(4.0) == 0.0

# %% [markdown]
# ## 4 The technical details: J
#
# J is a function of the language. It transforms a function together with its environment, and so it applies to
# closures, to its own results, and to itself. A gradient is a program:

# %%
from shiftreset_ad.formulations import pearlmutter_siskind
from shiftreset_ad.formulations.pearlmutter_siskind.programs import DEFINITIONS
from shiftreset_ad.formulations.pearlmutter_siskind.programs import program as with_definitions

code(pearlmutter_siskind.reverse.Transform.backward)
print(DEFINITIONS["gradient"])
print(show(pearlmutter_siskind.transform(parse("fun x -> x * x"))))
assert pearlmutter_siskind.grad(polynomial)(3.0) == 29.0
assert pearlmutter_siskind.grad(pearlmutter_siskind.grad(polynomial))(3.0) == 18.0
assert pearlmutter_siskind.run(with_definitions("gradient (gradient (fun x -> x * x * x)) 2.0")) == 12.0

# %% [markdown]
# **Exercise.** Here `J 3.0` is 3.0. In the paper it is a tagged number. Look at it in `vlad/`, which has section 4 to
# the letter. What is it good for?

# %%
# Answer: J_inverse undoes J, and must not be applied to what J has not made. With tags, this is an error for numbers,
# too; without tags, functions alone say what they are.
from shiftreset_ad.formulations.pearlmutter_siskind import vlad

print(vlad.run(parse("J 3.0")), vlad.run(parse("J (J 3.0)")))
assert vlad.run(parse("J_inverse (J 3.0)")) == 3.0
assert vlad.run(parse("snd ((snd ((J (fun x -> x * x)) (J 3.0))) 1.0)")) == 6.0

# %% [markdown]
# ## 5 Examples of the utility
#
# The second example is a Hessian times a vector, without the Hessian: J is applied to a function that uses J. The first
# example is a minimum of a maximum, where a line search differentiates, and is differentiated. It takes longer:
# `python -m pytest tests/formulations/pearlmutter_siskind/test_programs.py` runs it in all mixes of modes.

# %%
hessian_times = parse("""
    fun v -> fun f -> fun x ->
      let gradient = fun f -> fun x -> snd ((snd ((J f) (J x))) 1.0) in
      gradient (fun x -> let g = gradient f x in fst g * fst v + snd g * snd v) x
""")
quadratic = "fun p -> 2.0 * fst p * fst p + 3.0 * fst p * snd p + 4.0 * snd p * snd p"
answer = pearlmutter_siskind.run(hessian_times(parse("(7.0, 8.0)"))(parse(quadratic))(parse("(3.0, 4.0)")))
print(answer)
assert answer == (52.0, 85.0)

# %%
best = pearlmutter_siskind.run(with_definitions("argmin (fun p -> fst p * fst p + snd p * snd p) (1.0, 1.0) 0.01"))
print(best)
assert max(map(abs, best)) < 0.01

# %% [markdown]
# ## 6 Prior work: numbers that wait
#
# Karczmarczuk's numbers carry a function for each input. All arithmetic waits until these functions are applied to 1.
# The gradients are right, but it is not reverse mode. The room is `deferred.py`; `karczmarczuk.py` is the variant of
# the slides, with a fatal flaw.

# %%
from shiftreset_ad.formulations import deferred, karczmarczuk
from shiftreset_ad.formulations.counting import count


def squares(n):
    """x_n = x_(n-1) * x_(n-1)"""

    def f(x):
        for _ in range(n):
            x = x * x
        return x

    return f


code(deferred.times)
code(deferred.plus)


def operations(gradient):
    return [count(gradient(n), 1.0).operations for n in (2, 4, 8)]


print(operations(lambda n: deferred.grad(squares(n))), operations(lambda n: karczmarczuk.grad(squares(n))))
assert operations(lambda n: deferred.grad(squares(n)))[2] > 2**8

# %% [markdown]
# ## 7 Discussion (Fig. 5)
#
# A value that is used twice gets the sum of two sensitivities, and its backpropagator is called once, with the sum. So
# the cost is linear, where it doubles with each step in section 6.

# %%
by_j = operations(lambda n: pearlmutter_siskind.grad(parse("fun x -> " + "let x = x * x in " * n + "x")))
print(by_j)
assert by_j[2] - by_j[1] == 2 * (by_j[1] - by_j[0])  # linear

# %% [markdown]
# # Krawiec and others: a term that says how to go back
#
# *Provably Correct, Asymptotically Efficient, Higher-Order Reverse-Mode Automatic Differentiation*, POPL 2022. "The
# paper" is this one from here on. Its rooms are in `formulations/krawiec/`.
#
# ## 2 The language of study (Fig. 1)
#
# The language has types, and so derivatives of terms can be held to derivatives of types.

# %%
from shiftreset_ad.formulations.krawiec import source_duals
from shiftreset_ad.formulations.language.checker import infer

pairs = parse("fun x -> (fst x * snd x, sin (fst x))")
print(infer(pairs))

# %% [markdown]
# ## 3 The main expression and its derivatives (Fig. 2, Lemma 1)
#
# A derivative of $e : S \to T$ is $F\{e\}(s, \dot s) = J \dot s$ forwards, and $R\{e\}(s, \bar t) = \bar t J$ in
# reverse. The Forward Plan takes the columns of the Jacobian J by F, and the Reverse Plan its rows by R. `plans.py` has
# both for every room. By Lemma 1, $\bar t \cdot F\{e\}(s, \dot s) = R\{e\}(s, \bar t) \cdot \dot s$.

# %%
from shiftreset_ad.formulations import ROOMS, plans

room = next(room for room in ROOMS if room.path == "krawiec.monadic")
t = infer(pairs)
print(np.array(plans.forward_plan(room, pairs, t)((0.5, 3.0))))
print(np.array(plans.reverse_plan(room, pairs, t)((0.5, 3.0))))

# %% [markdown]
# **Exercise.** Check Lemma 1 at a point of your choice.

# %%
# Answer:
s, s_dot, t_bar = (0.5, 3.0), (1.0, -2.0), (10.0, 0.1)
along = np.dot(t_bar, plans.forward(room, pairs, t)(s, s_dot))
back_along = np.dot(plans.reverse(room, pairs, t)(s, t_bar), s_dot)
assert np.isclose(along, back_along)

# %% [markdown]
# ## 4 Forward mode (Fig. 3 and 4)
#
# A number becomes a pair of a number and its tangent, and every other type stays as it is. The translation of a term
# has the translated type.

# %%
square = parse("fun x -> x * x")
code(source_duals.of_type)
print(infer(square), "becomes", source_duals.of_type(infer(square)))
print(show(source_duals.transform(square)))

# %% [markdown]
# ## 5.1 One pass in place of many (Fig. 5 and 6)
#
# The tangent may be any vector. If it is as long as the input, one pass gives the whole gradient; but then each
# operation costs as much as there are inputs. The rooms are `source_dense.py` and `dense.py`.

# %%
from shiftreset_ad.formulations.krawiec import delta, dense, monadic, sharing

code(dense.DenseNumber.operate)
print(dense.grad(lambda p: p[0] * p[1] + p[2])((2.0, 3.0, 4.0)))

# %% [markdown]
# ## 5.2 Updates that are put off (Fig. 7 and 8)
#
# A *Delta term* says what to do with vectors: `Zero`, `OneHot`, `Scale` and `Add`. `eval` goes through it once, with a
# number, from the result down to the inputs. That is reverse mode. But what is shared is in the term twice.

# %%
code(delta.eval_delta)
print([count(delta.grad(squares(n)), 1.0).operations for n in (2, 4, 8)])

# %% [markdown]
# ## 5.3 Finally efficient (Fig. 9 to 11)
#
# Names make the difference once more. A result gets a name by `deltaLet`, in a monad, so a Delta term has `Var` and
# `Let`. (`Linear`, the last case, is for the vectors of 8.3.)

# %%
code(monadic.translation._Translation.of)
print(show(monadic.translation.translate(square)))

# %%
code(monadic.monad.delta_let)
code(monadic.delta._eval)
assert monadic.grad(polynomial)(3.0) == 29.0

# %%
with_sharing = [count(sharing.grad(squares(n)), 1.0).operations for n in (2, 4, 8)]
print(with_sharing)
assert with_sharing[2] - with_sharing[1] == 2 * (with_sharing[1] - with_sharing[0])  # linear

# %% [markdown]
# **Exercise.** In `_eval`, the case of `Let` takes the sensitivity of its name out of the map. Why is it complete
# there?

# %%
# Answer: a name is used only inside of its `Let`, and the inside is evaluated first. So all uses have been visited.
from shiftreset_ad.formulations.krawiec.monadic.delta import Add, Let, Scale, Var
from shiftreset_ad.formulations.language.discrete import Integer

x, y = Var(Integer(1)), Var(Integer(2))
assert monadic.delta.evaluated(10.0, Let(Integer(2), Scale(3.0, x), Add(y, y)), {}) == {Integer(1): 60.0}

# %% [markdown]
# ## 6 Implementation (Fig. 12)
#
# Fig. 12 rotates a vector by a quaternion, and prints the Delta term of the result: forty lines, whatever the sharing.
# `tests/formulations/krawiec/monadic/test_fig_12.py` has the program and compares each line. This is the notation, for
# our program:

# %%
from shiftreset_ad.formulations.krawiec.monadic.monad import run_delta
from shiftreset_ad.formulations.krawiec.monadic.notation import lines

value, u = run_delta(Integer(2), monadic.computation(polynomial)((3.0, Var(Integer(1)))))
print(value, *lines(u, ["x"]), sep="\n")

# %% [markdown]
# ## 7 Correctness (Fig. 13)
#
# The meaning of a Delta term is a vector. By Lemma 10, `eval` computes it without any vector, and by Theorem 9 it is
# the gradient. The tests have each lemma and theorem as a statement on random terms
# (`tests/formulations/krawiec/monadic/test_section_7.py`); they are no proof.

# %%
from shiftreset_ad.formulations.krawiec.monadic.meaning import meaning, unit_vectors

code(monadic.meaning._meaning)
print(meaning(u, unit_vectors(1)), monadic.delta.evaluated(1.0, u, {}))
assert meaning(u, unit_vectors(1)) == [29.0]

# %% [markdown]
# ## 8.3 Arrays
#
# Section 8 adds to the language: separate compilation (8.1), other primitives and primitives with several results (8.2,
# Fig. 14), arrays (8.3), recursion (8.5) and higher derivatives (8.6). The paper has three designs of arrays, and the
# room `arrays.py` is a fourth one. They differ in what has a name: each element, or the whole array.

# %%
from shiftreset_ad.formulations.krawiec import arrays

print(arrays.grad(lambda a: (a * a).sum() + a[0])(arrays.Array([2.0, 3.0])))

# %% [markdown]
# **Exercise.** An index $a_i$ hands a sensitivity back to the array. How long does this take, if the sensitivity of an
# array is an array of zeros but for the place i? How does `arrays.py` avoid it?

# %%
# Answer: as long as the array is, for each index. In `arrays.py` the sensitivity is a map from places to numbers.
state = arrays.DeltaState()
second = state.input(arrays.Array([1.0] * 1000))[1]
assert arrays.run_delta(state, 3.0, second.delta) == {0: {1: 3.0}}

# %% [markdown]
# ## 8.7 Selective fusion (Fig. 15)
#
# The partial derivatives of a small function are few numbers. If its way back is run at once, when the program is
# translated, one binding is left.

# %%
from shiftreset_ad.formulations.krawiec.monadic.fused import fused

small = parse("fun x -> x * sin x")
print(show(fused(small, infer(small))))

# %% [markdown]
# **Exercise.** How many bindings has the trace of `small` without fusion?

# %%
# Answer: one for each operation, and here there are two.
_, trace_of_small = run_delta(Integer(2), monadic.computation(small)((0.7, Var(Integer(1)))))
print(*lines(trace_of_small, ["x"]), sep="\n")
assert len(lines(trace_of_small, ["x"])) == 2 + 1

# %% [markdown]
# ## 9 Arbitrary S and T (Fig. 16)
#
# With functions that are defined by the structure of a type, R{e} is a term for any first-order S and T: here for a
# pair and a sum.

# %%
from shiftreset_ad.formulations.krawiec.monadic.wrapper import vjp

choice = parse("fun x -> if fst x < 1.0 then inl (fst x * snd x) else inr (snd x, fst x)")
code(monadic.wrapper.reverse)
print(infer(choice))
pulled = vjp(choice)((0.5, 3.0), evaluate(parse("inl 10.0")))
print(pulled)
assert pulled == (30.0, 5.0)

# %% [markdown]
# ## 10 Related work (Fig. 17)
#
# Fig. 17 compares works by four properties. `docs/papers.md` has its rows, and the rooms beside them.
#
# **Exercise.** All rooms of all papers should agree. Do they, on a program of your choice?

# %%
# Answer: `python -m tests.formulations.agreement 20000` asks this of 20,000 random programs.
mine = parse("fun x -> let twice = fun f -> fun y -> f (f y) in twice (fun y -> sin y * x) x")
answers = {room.path: float(room.grad(mine)(1.5)) for room in ROOMS}
for path, answer in answers.items():
    print(f"{path:35}{answer:.12f}")
assert len({round(answer, 10) for answer in answers.values()}) == 1

# %% [markdown]
# ## Where to go from here
#
# - `src/shiftreset_ad/modes/reverse/backpropagation.py` is this notebook as a library. `control/` has `reset`
#   and `shift` and no calculus. `rules/` has the calculus and no control.
# - `docs/papers.md` has a row for each figure, theorem and example of the three papers.
# - `examples/saddle_point.py` runs the minimum over maxima of Pearlmutter and Siskind's section 5.
