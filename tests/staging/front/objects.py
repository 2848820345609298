"""Programs with a loop, or a branch, that changes attributes, items and variables of other functions.

Each is f(x, n): it differentiates in x, and n is the number of rounds.
"""

from collections import deque
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np

from shiftreset_ad import grad

DATA = np.array([0.3, 0.7, 1.2, 0.9, 1.4, 2.0, 1.1, 0.2, 0.6, 1.7])


class Oscillator:
    def __init__(self, x, v, k=1.0):
        self.x, self.v, self.k, self.t = x, v, k, 0.0

    def step(self, dt):
        self.v -= self.k * self.x * dt
        self.x += self.v * dt
        self.t += dt

    def energy(self):
        return 0.5 * self.v**2 + 0.5 * self.k * self.x**2


class Adam:
    def __init__(self, rate):
        self.rate, self.m, self.v, self.t = rate, 0.0, 0.0, 0

    def step(self, w, g):
        self.t += 1
        self.m = 0.9 * self.m + 0.1 * g
        self.v = 0.99 * self.v + 0.01 * g * g
        return w - self.rate * (self.m / (1 - 0.9**self.t)) / ((self.v / (1 - 0.99**self.t)) ** 0.5 + 1e-8)


class Controller:
    def __init__(self, p, i, d):
        self.p, self.i, self.d = p, i, d
        self.integral, self.previous = 0.0, 0.0

    def control(self, error, dt):
        self.integral += error * dt
        slope, self.previous = (error - self.previous) / dt, error
        return self.p * error + self.i * self.integral + self.d * slope


class LineSearch:
    def __init__(self, x):
        self.x, self.step, self.evaluations = x, 1.0, 0

    def cost(self, x):
        self.evaluations += 1
        return (x - 1.0) ** 2 + 0.1 * x**4

    def go(self):
        slope, now = 2 * (self.x - 1.0) + 0.4 * self.x**3, self.cost(self.x)
        while self.cost(self.x - self.step * slope) > now - 0.1 * self.step * slope * slope:
            self.step *= 0.5
        self.x, self.step = self.x - self.step * slope, 1.0


@dataclass
class Kalman:
    mean: float
    variance: float
    q: float
    log: float = 0.0

    def update(self, z):
        self.variance += self.q
        inner, gain = z - self.mean, self.variance / (self.variance + 0.5)
        self.log -= 0.5 * (np.log(self.variance + 0.5) + inner * inner / (self.variance + 0.5))
        self.mean += gain * inner
        self.variance *= 1 - gain


class Welford:
    __slots__ = ("m2", "mean", "n")

    def __init__(self):
        self.n, self.mean, self.m2 = 0, 0.0, 0.0

    def add(self, x):
        self.n += 1
        d = x - self.mean
        self.mean += d / self.n
        self.m2 += d * (x - self.mean)


class Particle:
    def __init__(self, x, v):
        self.x, self.v, self.bounces = x, v, 0

    def step(self, dt):
        self.x += self.v * dt
        if self.x > 1.0:
            self.x, self.v = 2.0 - self.x, -0.9 * self.v
            self.bounces += 1
        elif self.x < 0.0:
            self.x, self.v = -self.x, -0.9 * self.v
            self.bounces += 1


class World:
    def __init__(self, x):
        self.particles = [Particle(0.2, x), Particle(0.5, -1.3 * x), Particle(0.9, 0.4 * x)]
        self.steps = 0

    def advance(self, dt):
        for particle in self.particles:
            particle.step(dt)
        self.steps += 1


class Newton:
    def __init__(self, a):
        self.a, self.x, self.rounds, self.done = a, a, 0, False

    def residual(self):
        return self.x * self.x - self.a

    def solve(self, most):
        while not self.done:
            self.x = self.x - self.residual() / (2 * self.x)
            self.rounds += 1
            if abs(self.residual()) < 1e-12 or self.rounds >= most:
                self.done = True
        return self.x


class Model:
    def __init__(self, w):
        self.w, self.b = w, np.zeros(2)

    def fit(self, x, n):
        for _ in range(n):
            error = self.w * x + self.b - 1.0
            self.w = self.w - 0.1 * (error * x)
            self.b = self.b - 0.1 * error


class Base:
    def step(self):
        self.x = self.x * 1.1


class Derived(Base):
    def __init__(self, x):
        self.x = x

    def step(self):
        Base.step(self)
        self.x = self.x + 0.1


def harmonic(x, n):
    o = Oscillator(x, 0.3 * x, 2.0)
    for _ in range(n):
        o.step(0.05)
    return o.x + o.energy() * o.t


def harmonic_until(x, n):
    o = Oscillator(x, 1.0)
    while o.t < 0.1 * n:
        o.step(0.03)
    return o.x * o.v


def leaving_early(x, n):
    o = Oscillator(x, 1.0)
    for _ in range(n):
        o.step(0.1)
        if o.x > 1.5:
            break
        if o.v < 0.0:
            o.v *= 0.5
            continue
        if o.t > 0.65:
            return o.x * o.t
        o.k *= 1.01
    return o.x * o.t + o.k


def adam(x, n):
    optimizer, w = Adam(0.05 * x), 2.0
    for _ in range(n):
        w = optimizer.step(w, 2 * (w - x))
    return w * w


def adam_of_a_derivative(x, n):
    optimizer, w = Adam(0.05), 2.0 * x
    for _ in range(n):
        w = optimizer.step(w, grad(lambda w: (w - x) ** 2 * (w + 1.0))(w))
    return w * w


def controlled(x, n):
    controller, y, cost = Controller(x, 0.1, 0.05), 0.0, 0.0
    for _ in range(n):
        error = 1.0 - y
        y = y + 0.1 * (controller.control(error, 0.1) - y)
        cost += error * error
    return cost


def line_search(x, n):
    search = LineSearch(x)
    for _ in range(n):
        search.go()
    return search.x * search.evaluations


def kalman(x, n):
    state = Kalman(0.0, 1.0, x)
    for i in range(n):
        state.update(DATA[i])
    return state.log + state.mean


def welford(x, n):
    seen = Welford()
    for i in range(n):
        seen.add(x * i * i)
    return seen.mean + (seen.m2 / seen.n if seen.n > 1 else 0.0 * x)


def namespace(x, n):
    s = SimpleNamespace(a=x, b=1.0, k=0)
    while s.k < n:
        s.a, s.b = s.a * 0.9 + s.b, s.a * s.b * 0.1
        s.k += 1
    return s.a * s.b


def fibonacci(x, n):
    f = [x, x]
    for _ in range(n):
        f[0], f[1] = f[1], f[0] + f[1]
    return f[1] * f[0]


def window(x, n):
    recent = deque([x, x, x], maxlen=3)
    for i in range(n):
        recent.append(0.5 * recent[0] + 0.3 * recent[1] + 0.1 * i * x)
    return sum(recent)


def queue(x, n):
    items = [x, 2 * x, 3 * x]
    for _ in range(n):
        items.append(items.pop(0) * 1.1)
    return items[0] - items[1] * items[2]


def dictionary(x, n):
    s = {"x": x, "v": 0.0}
    for _ in range(n):
        s["v"] -= s["x"] * 0.1
        s["x"] += s["v"] * 0.1
    return s["x"] * s["v"]


def dict_of_attributes(x, n):
    o = Particle(x, 1.0)
    for _ in range(n):
        o.__dict__["x"] = o.x * 1.1
        vars(o)["v"] = o.v + o.x
        setattr(o, "x", getattr(o, "x") - 0.01)  # noqa: B009, B010
    return o.x * o.v


def world(x, n):
    w = World(x)
    for _ in range(n):
        w.advance(0.1)
    return sum(p.x * p.v for p in w.particles) + w.particles[0].bounces * x + w.steps


def newton(x, n):
    solver = Newton(x)
    return solver.solve(n + 1) * solver.rounds


def arrays(x, n):
    model = Model(np.array([1.0, -0.5]) * x)
    model.fit(np.array([0.3, 0.8]), n)
    return np.sum(model.w * model.b) + np.sum(model.w)


def inherited(x, n):
    o = Derived(x)
    for _ in range(n):
        o.step()
    return o.x * o.x


def counter(x, n):
    def made():
        total = 0.0

        def add(v):
            nonlocal total
            total = total + v
            return total

        return add

    add, s = made(), 0.0
    for i in range(n):
        s = s + add(x * i)
    return s + add(x)


def two_loops(x, n):
    o = Particle(x, 1.0)
    for _ in range(n):
        o.x = o.x * 1.1
    for _ in range(n):
        o.v = o.v + o.x
    return o.x * o.v


def nested(x, n):
    o = Particle(x, 1.0)
    for i in range(n):
        j = 0
        while j < i:
            o.v = o.v * 1.01 + 0.1 * o.x
            j = j + 1
        o.x = o.x * 0.9 + 0.01 * o.v
    return o.x * o.v


def branch(x, n):
    o = SimpleNamespace(x=x, k=0.0 * x)
    if n > 3:
        o.k = o.x * n
        o.x = o.x + 1.0
    return o.k + o.x


def integer_becomes_float(x, n):
    o = SimpleNamespace(a=0, b=1)
    for _ in range(n):
        o.a = o.a + x
        o.b = o.b * 2
    return o.a * o.b


def tuple_of_state(x, n):
    o = SimpleNamespace(s=(x, 1.0))
    for _ in range(n):
        a, b = o.s
        o.s = (a * 0.9 + b * 0.1, b * 1.1)
    return o.s[0] * o.s[1]


def test_that_acts(x, n):
    o = SimpleNamespace(x=x, k=0)

    def step():
        o.k += 1
        o.x = o.x * 0.9 + 0.1
        return o.k

    total = 0.0
    while o.x > -1.0 and step() <= n:
        total = total + o.x
    return total * o.x + o.k


def expression_that_acts(x, n):
    o = SimpleNamespace(x=x, k=0.0)

    def counted():
        o.k = o.k + o.x
        return o.x

    total = 0.0 * x
    for i in range(n):
        total = total + (counted() if i % 2 == 0 else 0.1 * x)
    return total * o.k


def derivative_that_acts(x, n):
    o = SimpleNamespace(w=2.0 * x, calls=0)

    def loss(w):
        o.calls += 1
        return (w - x) ** 2

    for _ in range(n):
        o.w = o.w - 0.1 * grad(loss)(o.w)
    return o.w * o.calls


def error_that_is_caught(x, n):
    o = SimpleNamespace(x=x, k=3)
    try:
        for _ in range(n):
            o.k = o.k - 1
            o.x = o.x + x / o.k
    except ZeroDivisionError:
        return o.x * 100 + o.k
    return o.x


# The object has more than one name.


def in_a_list(x, n):
    o = Particle(x, 1.0)
    items = [o, o, Particle(2 * x, 1.0)]
    for _ in range(n):
        items[0].x = items[1].x * 1.1
        o.x = o.x + items[2].x
        items[2].x = items[2].x * 0.9
    return items[1].x + o.x * items[2].x


def in_a_closure(x, n):
    o = Particle(x, 1.0)

    def get():
        return o.x

    def grow(v):
        o.x = get() * v

    for _ in range(n):
        grow(1.1)
    return get() + o.x


def returned(x, n):
    def grown(o, n):
        for _ in range(n):
            o.x = o.x * 1.3
        return o

    o = Particle(x, 1.0)
    same = grown(o, n)
    same.x = same.x + 1.0
    return o.x * same.x


def in_two_objects(x, n):
    shared = SimpleNamespace(v=x)
    one, other = SimpleNamespace(s=shared), SimpleNamespace(s=shared)
    for _ in range(n):
        one.s.v = one.s.v * 1.1
        other.s.v = other.s.v + 0.1
    return shared.v


def linked(x, n):
    a = SimpleNamespace(v=x)
    a.next = SimpleNamespace(v=2 * x, next=a)
    b = a.next
    for _ in range(n):
        a.next.v = a.v * 0.5
        b.next.v = b.v + 0.1
    return a.v * b.v


def old_value(x, n):
    o = Particle(x, 1.0)
    old = o.x
    for _ in range(n):
        o.x = o.x * 1.1
    o.x = o.x + old
    return o.x


def list_with_two_names(x, n):
    o = SimpleNamespace(w=[x, 2 * x])
    w = o.w
    for _ in range(n):
        o.w[0] = o.w[0] * 1.1
        w[1] = w[1] + o.w[0]
    return sum(o.w) + 10 * sum(w)


def new_list(x, n):
    o = SimpleNamespace(w=[x, 2 * x])
    old = o.w
    for _ in range(n):
        o.w = [a * 1.1 for a in o.w]
    return sum(o.w) + 10 * sum(old)


def parts_of_a_dict(x, n):
    d = {"a": Particle(x, 1.0), "b": Particle(2 * x, 1.0)}
    for _ in range(n):
        for k in d:
            d[k].x = d[k].x * 1.1
        d["a"].v = d["b"].x
    return d["a"].x * d["b"].x * d["a"].v


# One round is asked, as something has no value before it.


def unset(x, n):
    o = Particle(x, 1.0)
    for _ in range(n):
        o.z = o.x * 2.0
        o.x = o.x + 0.1 * o.z
    return o.z if n > 0 else o.x


def unset_slot(x, n):
    o = Welford.__new__(Welford)
    o.n = x
    for _ in range(n):
        o.n = o.n * 1.1
        o.mean = o.n
    return o.n


def of_the_class(x, n):
    class Total:
        total = 1.0

        def add(self, v):
            self.total = self.total + v

    a, b = Total(), Total()
    for i in range(n):
        a.add(x * i)
    return a.total * b.total * x


def none_at_first(x, n):
    o = SimpleNamespace(previous=None, s=0.0 * x)
    for _ in range(n):
        o.s = o.s + (x if o.previous is None else x * o.previous)
        o.previous = o.s * 0.5
    return o.s


def variable_that_is_none_at_first(x, n):
    previous, s = None, 0.0 * x
    for _ in range(n):
        if previous is None:
            s = s + x
        else:
            s = s + x * previous
        previous = s * 0.5
    return s


def with_a_property(x, n):
    class Holder:
        def __init__(self, v):
            self._v, self.count = v, 0

        @property
        def v(self):
            self.count += 1
            return self._v

        @v.setter
        def v(self, v):
            self._v = v * 1.01

    o = Holder(x)
    for _ in range(n):
        o.v = o.v * 1.1
    return o.v * o.count


# What is asked.


def with_setattr(x, n):
    class Counting:
        def __init__(self, v):
            self.v = v

        def __setattr__(self, name, v):
            object.__setattr__(self, name, v)
            object.__setattr__(self, "sets", getattr(self, "sets", 0) + 1)

    o = Counting(x)
    for _ in range(n):
        o.v = o.v * 1.1
    return o.v * o.sets


def with_getattr(x, n):
    class Guessing:
        def __init__(self, v):
            self.v = v

        def __getattr__(self, name):
            return 0.5

    o = Guessing(x)
    for _ in range(n):
        o.v = o.v * 1.1 + o.w
        o.w = o.v * 0.1
    return o.v


def of_the_class_itself(x, n):
    class Total:
        total = 1.0

    for _ in range(n):
        Total.total = Total.total + x
    return Total().total * x


def other_dict(x, n):
    o = Particle(x, 1.0)
    for _ in range(n):
        o.__dict__ = {"x": o.x * 1.1, "v": o.v, "bounces": 0}
    return o.x * o.v


class Faster(Particle):
    def step(self, dt):
        Particle.step(self, 2 * dt)


def other_class(x, n):
    o = Particle(x, 1.0)
    for _ in range(n):
        o.step(0.1)
        o.__class__ = Faster
    return o.x * o.v


def other_object(x, n):
    a, b = Particle(x, 1.0), Particle(2 * x, 1.0)
    for _ in range(n):
        a, b = b, a
        a.x = a.x * 1.1
    return a.x + 10 * b.x


def list_that_is_changed_and_bound(x, n):
    o = SimpleNamespace(w=[x, 2 * x])
    w = o.w
    for _ in range(n):
        o.w[0] = o.w[0] * 1.1
        o.w = [o.w[0], o.w[1]]
    return sum(o.w) + 10 * sum(w)


def list_that_is_bound_to_itself(x, n):
    xs, i = [x, 2.0 * x], 0
    ys = xs
    while i < n:
        ys[0] = ys[0] * 1.5
        ys = ys  # so the variable is a part of the state
        i = i + 1
    return xs[0] + 10 * ys[0]


def dataclass_that_is_bound_to_itself(x, n):
    state, i = Kalman(x, 1.0, 0.5), 0
    same = state
    while i < n:
        state.mean = state.mean * 1.5
        state = state
        i = i + 1
    return state.mean + 10 * same.mean


def dataclass_that_a_branch_hands_on(x, n):
    state = Kalman(x, 1.0, 0.5)
    same = state if n > 2 else Kalman(2 * x, 1.0, 0.5)
    same.mean = same.mean + 1.0
    return 10 * state.mean + same.mean


def array_with_two_names(x, n):
    y = np.array([1.0, 2.0]) * x
    o = SimpleNamespace(a=y, s=0.0 * x)
    for _ in range(n):
        y[0] = y[0] * 1.1
        o.s = o.s + o.a[0]
    return o.s + np.sum(o.a * y)


def array_that_gets_a_name(x, n):
    y = np.array([1.0, 2.0]) * x
    o = SimpleNamespace(a=y, s=0.0 * x)
    for _ in range(n):
        y[0] = y[0] * 1.1
        o.a = y
        o.s = o.s + 1.0
    y[1] = 5.0 * x
    return o.s + np.sum(o.a * y)


def array_that_is_written_to_afterwards(x, n):
    y = np.array([1.0, 2.0]) * x
    o = SimpleNamespace(a=y)
    for _ in range(n):
        o.a = o.a * 1.1
    y[1] = 5.0 * x
    return np.sum(o.a * y)


def function_of_itself(x, n):
    o = SimpleNamespace(x=x)

    def go(o, m):
        if m < 1:
            return o.x
        k = 0
        while k < m:
            o.x = o.x * 1.1
            k = k + 1
        return go(o, m - 1)

    return go(o, n) + 10 * o.x


WRITTEN = [
    *(harmonic, harmonic_until, leaving_early, adam, adam_of_a_derivative, controlled, line_search, kalman, welford),
    *(namespace, fibonacci, window, queue, dictionary, dict_of_attributes, world, newton, arrays, inherited, counter),
    *(two_loops, nested, branch, integer_becomes_float, tuple_of_state, test_that_acts, expression_that_acts),
    *(derivative_that_acts, in_a_list, in_a_closure, returned, in_two_objects, linked, old_value),
    *(list_with_two_names, new_list, parts_of_a_dict, array_with_two_names, array_that_gets_a_name, with_a_property),
    list_that_is_bound_to_itself,
]
AFTER_A_ROUND = [unset, unset_slot, of_the_class, none_at_first, variable_that_is_none_at_first]
ASKED = {
    with_setattr: "runs '__setattr__', which is not looked into",
    with_getattr: "runs '__getattr__', which is not looked into",
    of_the_class_itself: "changes 'Total', which is seen outside",
    other_dict: "changes 'o', which is seen outside",
    other_class: "changes 'o', which is seen outside",
    other_object: "changes afterwards, and may have another name",
    list_that_is_changed_and_bound: "changes afterwards, and may have another name",
    dataclass_that_is_bound_to_itself: "changes afterwards, and may have another name",
    dataclass_that_a_branch_hands_on: "",
    array_that_is_written_to_afterwards: "",
    function_of_itself: "the function calls itself on each path",
}
