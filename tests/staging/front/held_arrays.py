"""Programs that write to arrays which attributes, lists, dicts and parameters hold, in staged loops and branches."""

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np

from shiftreset_ad import fori_loop, grad, zeros


class Oscillators:
    def __init__(self, x):
        self.x = x * 1.0
        self.v = np.zeros_like(x)
        self.t = 0.0

    def step(self, dt):
        self.v += -self.x * dt
        self.x += self.v * dt
        self.t += dt


class OscillatorsBySlices(Oscillators):
    def step(self, dt):
        self.v[:] = self.v - self.x * dt
        self.x[:] = self.x + self.v * dt


class Heat:
    def __init__(self, x):
        self.u = x * 1.0

    def step(self):
        u = self.u
        u[1:-1] += 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])


class HeatByAttributes(Heat):
    def step(self):
        self.u[1:-1] += 0.1 * (self.u[2:] - 2 * self.u[1:-1] + self.u[:-2])


class Adam:
    def __init__(self, shape):
        self.m = zeros(shape)
        self.v = zeros(shape)
        self.t = 0

    def update(self, p, g):
        self.t += 1
        self.m *= 0.9
        self.m += 0.1 * g
        self.v *= 0.99
        self.v += 0.01 * g * g
        p -= 0.1 * self.m / (np.sqrt(self.v) + 1e-2)


class Momentum:
    def __init__(self, params):
        self.params = params
        self.vel = [np.zeros_like(p) for p in params]

    def step(self, grads):
        for p, v, g in zip(self.params, self.vel, grads, strict=False):
            v *= 0.9
            v -= 0.1 * g
            p += v


@dataclass
class State:
    pos: np.ndarray
    vel: np.ndarray
    t: float = 0.0


def verlet_inplace(x, n):
    s = Oscillators(x)
    for _ in range(n):
        s.step(0.1)
    return np.sum(s.x * s.x) + s.t


def slice_assign(x, n):
    s = OscillatorsBySlices(x)
    for _ in range(n):
        s.step(0.1)
    return np.sum(s.x * s.v)


def heat_alias(x, n):
    h = Heat(x)
    for _ in range(n):
        h.step()
    return np.sum(h.u**2)


def heat_attr(x, n):
    h = HeatByAttributes(x)
    for _ in range(n):
        h.step()
    return np.sum(h.u**2)


def dict_state(x, n):
    state = {"u": x * 1.0, "k": 0}
    while state["k"] < n:
        state["u"][1:-1] += 0.1 * (state["u"][2:] - state["u"][:-2])
        state["k"] += 1
    return np.sum(state["u"] ** 2)


def adam_inplace(x, n):
    opt, p = Adam(4), zeros(4) + 1.0
    for _ in range(n):
        opt.update(p, 2 * (p - x))
    return np.sum(p * p)


def momentum_lists(x, n):
    params = [x * 1.0, x[:2] * 2.0]
    opt = Momentum(params)
    for _ in range(n):
        opt.step([params[0] * 2, params[1] * 3])
    return np.sum(params[0] ** 2) + np.sum(params[1])


def list_items_aug(x, n):
    us = [x * 1.0, x * 2.0]
    for k in range(n):
        us[0] += 0.1 * us[1]
        us[1][k % 4] *= 0.9
    return np.sum(us[0] * us[1])


def list_item_index(x, n):
    us = [x * 1.0, x * 2.0]
    for k in range(n):
        us[0][k % 4] += 0.1 * us[1][0]
        us[1][:2] = us[0][2:] * 0.5
    return np.sum(us[0] * us[1])


def branch_attr_write(x, n):
    s = Oscillators(x)
    if x[0] > 0.75:
        s.x[0] = s.x[1] * s.x[2]
    else:
        s.x[1:] *= 2.0
    for _ in range(n):
        s.x[0] += 0.1
    return np.sum(s.x**2)


def collision(x, n):
    s = Oscillators(x)
    for _ in range(n):
        s.v -= 0.2
        s.x += s.v
        if s.x[0] < 0.0:
            s.x[0] = -s.x[0]
            s.v[0] = -0.9 * s.v[0]
    return np.sum(s.x**2) + np.sum(s.v)


def other_name_after(x, n):
    s = Oscillators(x)
    y = s.x
    for _ in range(n):
        s.x *= 0.9
    return np.sum(y * y)


def view_after(x, n):
    s = Oscillators(x)
    y = s.x[1:]
    for _ in range(n):
        s.x *= 0.9
    return np.sum(y * y) + s.x[0]


def other_name_inside(x, n):
    s = Oscillators(x)
    y = s.x
    for _ in range(n):
        s.x *= 0.9
        s.v += y
    return np.sum(s.v * y)


def two_objects(x, n):
    a, b = Oscillators(x), Oscillators(x * 2)
    for _ in range(n):
        a.x += 0.1 * b.x
        b.x -= 0.1 * a.x
    return np.sum(a.x * b.x)


def dataclass_state(x, n):
    st = State(x * 1.0, np.zeros_like(x))
    for _ in range(n):
        st.vel -= 0.1 * st.pos
        st.pos += 0.1 * st.vel
        st.t += 0.1
    return np.sum(st.pos) + st.t


def shared_two_attrs(x, n):
    s = Oscillators(x)
    s.v = s.x  # the same array under two attributes
    for _ in range(n):
        s.x *= 0.9
        s.v += 0.1
    return np.sum(s.x) + np.sum(s.v)


def loop_in_loop(x, n):
    h = HeatByAttributes(x)
    for _ in range(n):
        k = 0
        while k < n:
            h.step()
            k += 1
        h.u[0] = h.u[1]
    return np.sum(h.u**2)


def nested_attr(x, n):
    h = SimpleNamespace()
    h.sim = Oscillators(x)
    for _ in range(n):
        h.sim.x[0] *= 0.5
        h.sim.v += h.sim.x
    return np.sum(h.sim.v)


def history_buffer(x, n):
    s = Oscillators(x)
    hist = zeros((10, 4))
    for k in range(n):
        s.x *= 0.9
        hist[k] = s.x
    return np.sum(hist**2)


def rebind_then_write(x, n):
    s = Oscillators(x)
    for _ in range(n):
        s.x = s.x * 0.9
        s.x[0] += 1.0
    return np.sum(s.x**2)


def func_given_attr(x, n):
    s = Oscillators(x)

    def kick(v, a):
        v += a

    for _ in range(n):
        kick(s.v, -s.x * 0.1)
        kick(s.x, s.v * 0.1)
    return np.sum(s.x**2)


def func_given_var(x, n):
    y = x * 1.0

    def relax(u):
        u[1:-1] = 0.5 * (u[:-2] + u[2:])

    for _ in range(n):
        relax(y)
    return np.sum(y**2)


def alias_both_written(x, n):
    o = SimpleNamespace(a=x * 1.0)
    y = o.a
    for k in range(n):
        o.a[k % 4] += 0.5
        y[0] *= 1.1
        o.a += y
    return np.sum(o.a * y)


def alias_var_aug(x, n):
    o = SimpleNamespace(a=x * 1.0)
    y = o.a
    for _k in range(n):
        y += 0.1
        o.a[1] = y[0] * 2
    return np.sum(o.a) + np.sum(y * y)


def alias_dropped_before_write(x, n):
    o = SimpleNamespace(a=x * 1.0)
    y = o.a
    for _k in range(n):
        o.a = o.a * 2.0
        o.a[0] += 1.0
    return np.sum(o.a) + np.sum(y)


def list_same_twice(x, n):
    y = x * 1.0
    us = [y, y]
    for k in range(n):
        us[0] += us[1]
        us[1][k % 4] -= 0.5
    return np.sum(us[0] * us[1] + y)


def return_same(x, n):
    o = SimpleNamespace(a=x * 1.0)

    def f(u):
        u += 0.1
        return u

    for _k in range(n):
        v = f(o.a)
        o.a[0] = v[1] * 0.5
    return np.sum(o.a)


def store_copy(x, n):
    o = SimpleNamespace(a=x * 1.0, old=x * 0.0)
    for _k in range(n):
        o.old[:] = o.a
        o.a *= 0.9
    return np.sum(o.a * o.old)


def reshape_alias(x, n):
    o = SimpleNamespace(a=x * 1.0)
    o.m = o.a.reshape(2, 2)
    for _k in range(n):
        o.m[0] += o.m[1]
    return np.sum(o.a**2)


def mixed_scalar(x, n):
    o = SimpleNamespace(a=x * 1.0, s=0.0, k=0)
    while o.k < n and np.sum(o.a) < 30.0:
        o.a[o.k % 4] *= 1.5
        o.s += o.a[o.k % 4]
        o.k += 1
    return np.sum(o.a) * o.s


def in_dict_of_lists(x, n):
    d = {"w": [x * 1.0, x * 2.0], "b": zeros(4)}
    for _k in range(n):
        for i, w in enumerate(d["w"]):
            w -= 0.1 * w * (i + 1)
            d["b"] += w
        d["b"][0] = 0.0
    return np.sum(d["b"] * d["w"][0])


def nested_if_loops(x, n):
    o = SimpleNamespace(a=x * 1.0)
    for k in range(n):
        j = 0
        while j < k:
            if o.a[j % 4] > 0.6:
                o.a[j % 4] *= 0.9
            else:
                o.a[(j + 1) % 4] += 0.05
            j += 1
    return np.sum(o.a**3)


def early_return(x, n):
    o = SimpleNamespace(a=x * 1.0)
    for _k in range(n):
        o.a += 0.2
        if np.sum(o.a) > 5.0:
            return np.sum(o.a**2)
    return o.a[0]


def leaving_early(x, n):
    o = SimpleNamespace(a=x * 1.0)
    y = o.a
    for _k in range(n):
        o.a += 0.2
        if np.sum(y) > 5.0:
            break
        y[0] -= 0.1
    return np.sum(o.a**2)


def property_target(x, n):
    class P:
        def __init__(self):
            self._a = x * 1.0
            self.count = 0

        @property
        def a(self):
            self.count += 1
            return self._a

        @a.setter
        def a(self, v):
            self._a = v

    p = P()
    for _k in range(3):
        p.a[0] += 1.0
        p.a += 0.5
    return np.sum(p.a) + p.count + n


def outer_grad_inner(x, n):
    o = SimpleNamespace(w=zeros(4) + 1.0)
    for _k in range(n):
        g = grad(lambda w: np.sum((w - x) ** 2 * w))(o.w)
        o.w -= 0.05 * g
    return np.sum(o.w**2)


def write_then_kind(x, n):
    o = SimpleNamespace(a=np.zeros_like(x))
    for k in range(n):
        o.a[0] = k
        o.a[1] += x[0] * k
    return np.sum(o.a)


def view_inside(x, n):
    s = Oscillators(x)
    left = s.x[:2]
    for _ in range(n):
        s.x *= 0.9
        s.v[:2] += left
    return np.sum(s.v * s.x)


def row_view(x, n):
    grid = zeros((2, 4))
    grid[0] = x
    row = grid[1]
    for _k in range(n):
        row[:] = grid[0] * 0.5
        grid[0] += row * 0.1
    return np.sum(grid)


def swap_buffers(x, n):
    s = Oscillators(x)
    s.old, s.new = x * 1.0, np.zeros_like(x)
    for _ in range(n):
        s.new[1:] = s.old[:-1] * 0.5
        s.new[0] = s.old[0]
        s.old, s.new = s.new, s.old
    return np.sum(s.old**2)


def tuple_of_arrays(x, n):
    t = (x * 1.0, x * 2.0)
    for _ in range(n):
        t[0][:] += 0.1 * t[1]
        t[1][1:] *= 0.9
    return np.sum(t[0] * t[1])


def alias_dropped_in_loop(x, n):
    o = SimpleNamespace(a=x * 1.0)
    y = o.a
    for _k in range(n):
        o.a[0] += 1.0
        y = y * 0.5
    return np.sum(o.a) + np.sum(y)


def branch_rebind_other(x, n):
    o = SimpleNamespace(a=x * 1.0)
    for k in range(n):
        if k % 2 == 0:
            o.a[0] += x[1]
        else:
            o.a = o.a * 0.9
    return np.sum(o.a**2)


def param_alias_chain(x, n):
    o = SimpleNamespace(a=x * 1.0)

    def f(u):
        g(u)
        return np.sum(u)

    def g(w):
        w *= 0.9
        w[0] += 0.2

    s = 0.0
    for _k in range(n):
        s = s + f(o.a)
    return s + np.sum(o.a)


def kept_elsewhere(x, n):
    o = SimpleNamespace(a=x * 1.0)
    log = [None]
    for _k in range(n):
        log[0] = o.a
        o.a *= 0.9
    return np.sum(o.a) + (0.0 if log[0] is None else np.sum(log[0]))


def store_no_copy(x, n):
    o = SimpleNamespace(a=x * 1.0, old=x * 0.0)
    for _k in range(n):
        o.old = o.a
        o.a *= 0.9
    return np.sum(o.a * o.old)


def view_made_in_round(x, n):
    o = SimpleNamespace(a=x * 1.0)
    for _k in range(n):
        v = o.a[1:3]
        v[:] = v * 0.5
        o.a[0] += v[0]
    return np.sum(o.a**2)


def choice_expr(x, n):
    o = SimpleNamespace(a=x * 1.0)

    def bump():
        o.a[0] += 1.0
        return o.a[0]

    s = 0.0
    for k in range(n):
        s = s + (bump() if k % 2 == 0 else 0.5)
    return s + np.sum(o.a)


def self_returned_arr(x, n):
    class C:
        def __init__(self):
            self.a = x * 1.0

        def get(self):
            return self.a

    c = C()
    for _k in range(n):
        c.get()[0] += 0.5
        c.get()[1:] *= 0.9
    return np.sum(c.a)


def args_order(x, n):
    o = SimpleNamespace(a=x * 1.0, b=x * 2.0)

    def swap():
        o.a = o.b * 1.0
        return 0.5

    for _k in range(n):
        o.a[0] = swap()
    return np.sum(o.a) + np.sum(o.b)


def args_order_aug(x, n):
    o = SimpleNamespace(a=x * 1.0, b=x * 2.0)

    def swap():
        o.a = o.b * 1.0
        return 0.5

    for _k in range(n):
        o.a[0] += swap()
    return np.sum(o.a) + np.sum(o.b)


def carried_obj_with_array_written(x, n):
    class P:
        def __init__(self, a):
            self.a = a

        def next(self):
            return P(self.a * 0.9)

    p = P(x * 1.0)
    for _k in range(n):
        p = p.next()
        p.a[0] += 1.0
    return np.sum(p.a**2)


def overlap(x, n):
    o = SimpleNamespace(a=x * 1.0)
    for _k in range(n):
        o.a[1:] += o.a[:-1]
        o.a[:] = o.a[::-1]
    return np.sum(o.a * x)


def matrix(x, n):
    o = SimpleNamespace(m=np.outer(x, x))
    for k in range(n):
        o.m[:, 0] = o.m[1] * 0.5
        o.m[k % 4, 1:] += 1.0
        o.m *= 0.9
    return np.sum(o.m)


def slots(x, n):
    class S:
        __slots__ = ("u", "w")

        def __init__(self):
            self.u, self.w = x * 1.0, x * 0.5

        def go(self):
            self.u -= self.w
            self.w[:2] = self.u[2:] * 0.1

    s = S()
    for _k in range(n):
        s.go()
    return np.sum(s.u * s.w)


def closure_read(x, n):
    y = x * 1.0

    def total():
        return np.sum(y)

    s = 0.0
    for k in range(n):
        y[k % 4] += total() * 0.1
        s = s + total()
    return s


def fori(x, n):
    o = SimpleNamespace(a=x * 1.0)

    def body(i, s):
        return s + o.a[0]

    for _k in range(n):
        o.a *= 0.9
        o.a[1] = fori_loop(0, 3, body, 0.0)
    return np.sum(o.a)


def caught(x, n):
    o = SimpleNamespace(a=x * 1.0)
    for k in range(n):
        try:
            o.a[0] += 1.0
            o.a[k] *= 2.0
        except IndexError:
            o.a[1] += 3.0
    return np.sum(o.a)


def genexp_read(x, n):
    o = SimpleNamespace(a=x * 1.0)
    for k in range(n):
        o.a[k % 4] += sum(t * 0.1 for t in o.a)
    return np.sum(o.a)


def row_attr(x, n):
    o = SimpleNamespace(g=zeros((2, 4)) + x)
    o.row = o.g[1]
    for _k in range(n):
        o.row += 0.5
    return np.sum(o.g * o.g) + np.sum(o.row)


def row_and_grid(x, n):
    o = SimpleNamespace(g=zeros((2, 4)) + x)
    o.row = o.g[1]
    for _k in range(n):
        o.row += 0.5
        o.g[0] *= 0.9
    return np.sum(o.g * o.g) + np.sum(o.row)


def row_written_grid_read(x, n):
    o = SimpleNamespace(g=zeros((2, 4)) + x)
    o.row = o.g[1]
    s = 0.0
    for _k in range(n):
        o.row += 0.5
        s = s + np.sum(o.g)
    return s


def carried_obj_alias_array(x, n):
    class P:
        def __init__(self, a):
            self.a = a

        def same(self):
            return P(self.a)

    p = P(x * 1.0)
    y = p.a
    for _k in range(n):
        p = p.same()
        y[0] += 1.0
    return np.sum(p.a**2)


WRITTEN = [
    verlet_inplace,
    slice_assign,
    heat_alias,
    heat_attr,
    dict_state,
    adam_inplace,
    momentum_lists,
    list_items_aug,
    list_item_index,
    branch_attr_write,
    collision,
    other_name_after,
    view_after,
    other_name_inside,
    two_objects,
    dataclass_state,
    shared_two_attrs,
    loop_in_loop,
    nested_attr,
    history_buffer,
    rebind_then_write,
    func_given_attr,
    func_given_var,
    alias_both_written,
    alias_var_aug,
    alias_dropped_before_write,
    list_same_twice,
    return_same,
    store_copy,
    reshape_alias,
    mixed_scalar,
    in_dict_of_lists,
    nested_if_loops,
    early_return,
    leaving_early,
    property_target,
    outer_grad_inner,
    write_then_kind,
    carried_obj_with_array_written,
    overlap,
    matrix,
    slots,
    closure_read,
    fori,
    caught,
    genexp_read,
    row_attr,
]
ASKED = {
    row_and_grid: "reads it by another name",
    row_written_grid_read: "reads it by another name",
    carried_obj_alias_array: "an array that is carried by a loop",
    view_inside: "reads it by another name",
    row_view: "reads it by another name",
    swap_buffers: "and then bound to another array",
    tuple_of_arrays: "made outside of it",
    alias_dropped_in_loop: "one of its names bound to another array",
    branch_rebind_other: "bound to another array in the other",
    param_alias_chain: "reads it by another name",
    kept_elsewhere: "has two names after it",
    store_no_copy: "has two names after it",
    view_made_in_round: "made outside of it",
    choice_expr: "made outside of it",
    self_returned_arr: "made outside of it",
    args_order: "or bound to another array",
    args_order_aug: "and then bound to another array",
}
