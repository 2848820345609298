"""Programs that make objects of classes of their own in staged loops and branches."""

import contextlib
import copy
import operator
from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Generic, NamedTuple, TypeVar

import numpy as np


class Vec:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def __add__(self, o):
        return Vec(self.x + o.x, self.y + o.y)

    def __sub__(self, o):
        return Vec(self.x - o.x, self.y - o.y)

    def __mul__(self, k):
        return Vec(self.x * k, self.y * k)

    __rmul__ = __mul__

    def __neg__(self):
        return Vec(-self.x, -self.y)

    def dot(self, o):
        return self.x * o.x + self.y * o.y

    def norm(self):
        return np.sqrt(self.dot(self))


@dataclass
class Point:
    x: float
    y: float

    def moved(self, dx):
        return Point(self.x + dx, self.y)


@dataclass(frozen=True)
class FVec:
    x: float
    y: float

    def __add__(self, o):
        return FVec(self.x + o.x, self.y + o.y)

    def __mul__(self, k):
        return FVec(self.x * k, self.y * k)

    def __abs__(self):
        return np.sqrt(self.x * self.x + self.y * self.y)


class NT(NamedTuple):
    x: float
    v: float


class Slotted:
    __slots__ = ("a", "b")

    def __init__(self, a, b):
        self.a = a
        self.b = b

    def __add__(self, o):
        return Slotted(self.a + o.a, self.b * o.b)


class Dual:
    def __init__(self, re, du=0.0):
        self.re, self.du = re, du

    def __add__(self, o):
        o = o if isinstance(o, Dual) else Dual(o)
        return Dual(self.re + o.re, self.du + o.du)

    __radd__ = __add__

    def __mul__(self, o):
        o = o if isinstance(o, Dual) else Dual(o)
        return Dual(self.re * o.re, self.re * o.du + self.du * o.re)

    __rmul__ = __mul__


class Quat:
    def __init__(self, w, x, y, z):
        self.q = (w, x, y, z)

    def __mul__(self, o):
        a, b, c, d = self.q
        e, f, g, h = o.q
        return Quat(
            a * e - b * f - c * g - d * h,
            a * f + b * e + c * h - d * g,
            a * g - b * h + c * e + d * f,
            a * h + b * g - c * f + d * e,
        )


class Body:
    def __init__(self, pos, vel, m):
        self.pos, self.vel, self.m = pos, vel, m


@dataclass
class Bounded:
    v: float

    def __post_init__(self):
        if self.v > 2.0:
            self.v = 2.0

    def __add__(self, o):
        return Bounded(self.v + o)


class Interval:
    def __init__(self, lo, hi):
        self.lo, self.hi = lo, hi

    @property
    def mid(self):
        return 0.5 * (self.lo + self.hi)

    def left(self):
        return Interval(self.lo, self.mid)

    def right(self):
        return Interval(self.mid, self.hi)


class Plain:
    def __init__(self, a):
        self.a = a

    def next(self):
        return Plain(self.a * 0.9 + 0.1)

    def __add__(self, o):
        return Plain(self.a + (o.a if isinstance(o, Plain) else o))


def vec_orbit(x, n):
    pos, vel = Vec(x, 0.0), Vec(0.0, 1.0)
    for _ in range(n):
        vel = vel - pos * 0.1
        pos = pos + vel * 0.1
    return pos.dot(pos)


def vec_local(x, n):
    s = 0.0
    for k in range(n):
        p = Vec(x, k * 0.5)
        q = p + Vec(1.0, 2.0)
        s += q.dot(p)
    return s


def dc_carried(x, n):
    p = Point(x, 1.0)
    for _ in range(n):
        p = Point(p.x * 0.9, p.y + p.x)
    return p.x * p.y


def dc_method(x, n):
    p = Point(x, 1.0)
    for _ in range(n):
        p = p.moved(0.1 * p.y)
    return p.x * p.y


def dc_replace(x, n):
    p = Point(x, 1.0)
    for _ in range(n):
        p = replace(p, x=p.x * 0.9)
    return p.x * p.y


def frozen_vec(x, n):
    pos, vel = FVec(x, 0.0), FVec(0.0, 1.0)
    for _ in range(n):
        vel = vel + pos * -0.1
        pos = pos + vel * 0.1
    return abs(pos)


def namedtuple(x, n):
    s = NT(x, 0.0)
    for _ in range(n):
        s = NT(s.x + 0.1 * s.v, s.v - 0.1 * s.x)
    return s.x * s.v


def nt_replace(x, n):
    s = NT(x, 0.0)
    for _ in range(n):
        s = s._replace(v=s.v - 0.1 * s.x)
        s = s._replace(x=s.x + 0.1 * s.v)
    return s.x * s.v


def slots(x, n):
    s = Slotted(x, 1.0)
    d = Slotted(0.1, 1.1)
    for _ in range(n):
        s = s + d
    return s.a * s.b


def user_dual(x, n):
    d = Dual(x, 1.0)
    acc = Dual(1.0)
    for _ in range(n):
        acc = acc * d + 0.5
    return acc.du + acc.re


def quaternion(x, n):
    r = Quat(np.cos(x), np.sin(x), 0.0, 0.0)
    q = Quat(1.0, 0.0, 0.1, 0.0)
    for _ in range(n):
        q = r * q
    return q.q[0] * q.q[1] + q.q[2]


def bodies(x, n):
    a = Body(Vec(x, 0.0), Vec(0.0, 0.5), 1.0)
    b = Body(Vec(-1.0, 0.0), Vec(0.0, -0.5), 2.0)
    for _ in range(n):
        d = b.pos - a.pos
        r3 = (d.dot(d) + 0.1) ** 1.5
        a.vel = a.vel + d * (0.01 * b.m / r3)
        b.vel = b.vel - d * (0.01 * a.m / r3)
        a.pos = a.pos + a.vel * 0.1
        b.pos = b.pos + b.vel * 0.1
    return a.pos.dot(b.pos)


def branch_objects(x, n):
    p = Vec(x, 1.0)
    if x > 1.0:
        p = p * 2.0
    else:
        p = Vec(p.y, p.x)
    for _ in range(n):
        if p.norm() > 1.0:
            p = p * 0.5
        else:
            p = p + Vec(0.3, 0.1)
    return p.dot(p)


def bisection_objects(x, n):
    i = Interval(0.0 * x, 2.0 * x)
    for _ in range(n):
        i = i.left() if i.mid * i.mid > x else i.right()
    return i.mid * x


def mutate_in_round(x, n):
    p = Plain(x)
    for _ in range(n):
        q = p.next()
        q.a += 0.5
        p = q
    return p.a


def two_names_one_object(x, n):
    p = Plain(x)
    o = Plain(p)
    for _ in range(n):
        p = p.next()
        o.a = p
    return p.a + o.a.a


def inherit(x, n):
    class B(Plain):
        def next(self):
            return B(self.a * self.a)

    class C(B):
        def __init__(self, a):
            super().__init__(a)
            self.extra = a * 2

        def next(self):
            return C(self.a - 0.1)

    p = C(x)
    for _ in range(n):
        p = p.next()
    return p.a + p.extra


def nested_objects(x, n):
    p = Plain(Vec(x, 1.0))
    for _ in range(n):
        p = Plain(p.a + Vec(0.1, x))
    return p.a.x * p.a.y


def list_of_objects(x, n):
    ps = [Vec(x, 0.0), Vec(0.0, x), Vec(1.0, 1.0)]
    for _ in range(n):
        ps = [p + Vec(0.1, 0.2) * p.x for p in ps]
    return ps[0].dot(ps[0]) + ps[1].dot(ps[1]) + ps[2].dot(ps[2])  # from 3.12 on, `sum` of floats rounds otherwise


def list_items_objects(x, n):
    ps = [Vec(x, 0.0), Vec(0.0, x)]
    for _ in range(n):
        ps[0] = ps[0] + ps[1] * 0.1
        ps[1] = ps[1] - ps[0] * 0.1
    return ps[0].dot(ps[1])


def sum_of_vecs(x, n):
    class V(Vec):
        def __add__(self, o):
            return V(self.x + o.x, self.y + o.y)

        def __radd__(self, o):
            return self if o == 0 else V(o.x + self.x, o.y + self.y)

    s = V(0.0, x)
    for _ in range(n):
        s = sum([V(x, 1.0), V(0.5, x), s])
    return s.x * s.y


def iadd(x, n):
    class V(Vec):
        def __iadd__(self, o):
            self.x = self.x + o.x
            self.y = self.y + o.y
            return self

    p = V(x, 1.0)
    q = p
    for _ in range(n):
        p += Vec(0.1, x)
    return q.x * p.y


def iadd_no_method(x, n):
    p = Vec(x, 1.0)
    q = p
    for _ in range(n):
        p += Vec(0.1, x)
    return q.x * p.y


def aug_attr(x, n):
    o = Plain(Vec(x, 0.0))
    for _ in range(n):
        o.a += Vec(0.1, x)
        o.a *= 0.9
    return o.a.x + o.a.y


def reflected(x, n):
    p = Vec(x, 1.0)
    for _ in range(n):
        p = 0.5 * p + p * x - (-p)
    return p.x + p.y


def compare_ops(x, n):
    class Ordered(Plain):
        def __lt__(self, o):
            return self.a < o.a

        def __eq__(self, o):
            return self.a == o.a

        def __ge__(self, o):
            return self.a >= (o.a if isinstance(o, Ordered) else o)

        def __le__(self, o):
            return self.a <= (o.a if isinstance(o, Ordered) else o)

        def __add__(self, o):
            return Ordered(self.a + o)

        __hash__ = None

    p = Ordered(x)
    q = Ordered(1.2)
    s = 0.0
    for _ in range(n):
        if p < q:
            p = p + 0.3
        else:
            q = q + 0.4
        if p > q:
            s = s + x
        if p != q:
            s = s + 1.0
        if p >= 0.5:
            s = s + 0.01
    return s + p.a * q.a


def getitem(x, n):
    class G:
        def __init__(self, *a):
            self.v = a

        def __getitem__(self, i):
            return self.v[i]

        def __len__(self):
            return len(self.v)

        def __abs__(self):
            return np.sqrt(self[0] * self[0] + self[1] * self[1])

        def __add__(self, o):
            return G(self[0] + o[0], self[1] + o[1])

    g = G(x, 1.0)
    for _ in range(n):
        g = g + G(0.1 * abs(g), len(g) * 0.1)
    return g[0] * g[1]


def property_chain(x, n):
    class R:
        def __init__(self, w, h):
            self.w, self.h = w, h

        @property
        def area(self):
            return self.w * self.h

        @property
        def big(self):
            return self.area > 3.0

        def grow(self):
            return R(self.w + 0.3, self.h * 1.1)

    r = R(x, 1.0)
    s = 0.0
    for _ in range(n):
        if r.big:
            s = s + r.area
        else:
            r = r.grow()
    return s + r.area


def classmethod_static(x, n):
    class K:
        scale = 0.9

        def __init__(self, a):
            self.a = a

        @classmethod
        def of(cls, a):
            return cls(a * cls.scale)

        @staticmethod
        def twice(a):
            return 2 * a

        def __mul__(self, o):
            return K.of(self.a * self.twice(o))

    k = K(x)
    for _ in range(n):
        k = k * 0.6
    return k.a


def matmul_users(x, n):
    class M2:
        def __init__(self, a, b, c, d):
            self.m = ((a, b), (c, d))

        def __matmul__(self, o):
            (a, b), (c, d) = self.m
            (e, f), (g, h) = o.m
            return M2(a * e + b * g, a * f + b * h, c * e + d * g, c * f + d * h)

    r = M2(np.cos(x), -np.sin(x), np.sin(x), np.cos(x))
    p = M2(1.0, 0.0, 0.0, 1.0)
    for _ in range(n):
        p = r @ p
    return p.m[0][0] + p.m[1][0] * 2


def interval_newton(x, n):
    class Span:
        def __init__(self, lo, hi):
            self.lo, self.hi = lo, hi

        def width(self):
            return self.hi - self.lo

        def mid(self):
            return (self.lo + self.hi) / 2

        def split(self):
            m = self.mid()
            return Span(self.lo, m), Span(m, self.hi)

    i = Span(0.0 * x, 2.0 + 0 * x)
    while i.width() > 0.5**n:
        found, r = i.split()
        i = found if found.hi * found.hi > x else r
    return i.mid() * x


def returns_self(x, n):
    class S(Plain):
        def maybe(self, k):
            return self if k % 2 == 0 else S(self.a * 2)

    p = S(x)
    for k in range(n):
        p = p.maybe(k)
    return p.a


def state_string(x, n):
    class T:
        def __init__(self, name, v):
            self.name, self.v = name, v

        def step(self):
            return T(self.name, self.v * 0.8)

    t = T("abc", x)
    for _ in range(n):
        t = t.step()
    return t.v * len(t.name)


def object_with_function(x, n):
    class F:
        def __init__(self, f, v):
            self.f, self.v = f, v

        def step(self):
            return F(self.f, self.f(self.v))

    t = F(lambda u: u * 0.8 + 0.1, x)
    for _ in range(n):
        t = t.step()
    return t.v


def kalman_objects(x, n):
    class G:
        def __init__(self, m, v):
            self.m, self.v = m, v

        def __mul__(self, o):
            v = 1 / (1 / self.v + 1 / o.v)
            return G(v * (self.m / self.v + o.m / o.v), v)

        def __add__(self, o):
            return G(self.m + o.m, self.v + o.v)

    b = G(0.0, 10.0)
    for k in range(n):
        b = (b + G(0.1, 0.5)) * G(x * k, 1.0)
    return b.m + b.v


def choice_objects(x, n):
    p = Vec(x, 1.0)
    for _ in range(n):
        p = (p + Vec(0.2, 0.0)) if p.x < 1.5 else (p * 0.5)
    return p.dot(p)


def return_in_branch(x, n):
    def pick(p, q):
        if p.dot(p) < q.dot(q):
            return p
        return q

    p, q = Vec(x, 1.0), Vec(1.0, 0.5)
    for _ in range(n):
        r = pick(p, q)
        p, q = r * 1.2, q + r * 0.1
    return p.dot(q)


def dataclass_of_vec(x, n):
    @dataclass
    class Body:
        pos: Vec
        vel: Vec

    b = Body(Vec(x, 0.0), Vec(0.0, 1.0))
    for _ in range(n):
        b = Body(b.pos + b.vel * 0.1, b.vel - b.pos * 0.1)
    return b.pos.dot(b.vel) + b.pos.x


def sorted_users(x, n):
    p = Plain(x)
    q = Plain(x + 1.0)
    for _ in range(n):
        p = p.next()
    a, b = sorted([p, q], key=lambda t: t.a)
    return a.a - b.a


def copy_after(x, n):
    p = Plain(x)
    q = p
    for _ in range(n):
        p = p.next()
    r = copy.copy(p)
    r.a += 1.0
    return p.a * r.a * q.a


def is_after(x, n):
    p = Plain(x)
    q = p
    for _ in range(n):
        p = p.next()
    return p.a + (1.0 if p is q else 2.0)


def eq_after(x, n):
    p = Plain(x)
    q = p
    for _ in range(n):
        p = p.next()
    return p.a + (1.0 if p == q else 2.0)


def in_after(x, n):
    p = Plain(x)
    q = p
    for _ in range(n):
        p = p.next()
    return p.a + (1.0 if p in [q, 3] else 2.0)


def dict_key_after(x, n):
    p = Plain(x)
    q = p
    d = {q: 1.0}
    for _ in range(n):
        p = p.next()
    return p.a + d.get(p, 5.0)


def dict_getitem_after(x, n):
    p = Plain(x)
    q = p
    d = {q: 1.0}
    for _ in range(n):
        p = p.next()
    return p.a + (d[p] if n == 0 else 0.0)


def set_after(x, n):
    p = Plain(x)
    q = p
    for _ in range(n):
        p = p.next()
    return p.a + len({p, q})


def set_call_after(x, n):
    p = Plain(x)
    q = p
    for _ in range(n):
        p = p.next()
    return p.a + len({p, q})


def index_after(x, n):
    p = Plain(x)
    q = p
    found = [Plain(x), q]
    for _ in range(n):
        p = p.next()
    return p.a + found.count(p)


def hash_after(x, n):
    p = Plain(x)
    q = p
    for _ in range(n):
        p = p.next()
    return p.a + (hash(p) == hash(q))


def counter_after(x, n):
    p = Plain(x)
    q = p
    for _ in range(n):
        p = p.next()
    return p.a + len(Counter([p, q]))


def deepcopy_memo_after(x, n):
    p = Plain(x)
    q = p
    for _ in range(n):
        p = p.next()
    a, b = copy.deepcopy([p, q])
    return p.a + (a is b)


def eq_nested_list(x, n):
    p = Plain(x)
    q = p
    for _ in range(n):
        p = p.next()
    return p.a + ([p] == [q])


def remove(x, n):
    p = Plain(x)
    q = p
    found = [q, Plain(x)]
    for _ in range(n):
        p = p.next()
    with contextlib.suppress(ValueError):
        found.remove(p)
    return p.a + len(found)


def in_list_in_attr(x, n):
    p = Plain(x)
    q = Plain([p])
    for _ in range(n):
        p = p.next()
    return p.a + (p in q.a) + q.a.count(p)


def operator_eq(x, n):
    p = Plain(x)
    q = p
    for _ in range(n):
        p = p.next()
    return p.a + operator.eq(p, q) + operator.contains([q], p) + operator.indexOf([p], p)


def mutated_after(x, n):
    p = Plain(x)
    q = p
    for _ in range(n):
        p = p.next()
    p.a = p.a + 1.0
    return p.a * q.a


def mutated_old_after(x, n):
    p = Plain(x)
    q = p
    for _ in range(n):
        p = p.next()
    q.a = q.a + 1.0
    return p.a * q.a


def mutated_by_method_after(x, n):
    class M(Plain):
        def bump(self):
            self.a += 1.0

    p = M(x)
    q = p
    for _ in range(n):
        p = M(p.a * 0.5)
    p.bump()
    return p.a * q.a


def mutated_by_setattr(x, n):
    p = Plain(x)
    q = p
    for _ in range(n):
        p = p.next()
    p.a = p.a + 1.0
    return p.a * q.a


def mutated_by_dict(x, n):
    p = Plain(x)
    q = p
    for _ in range(n):
        p = p.next()
    p.__dict__["a"] = p.a + 1.0
    return p.a * q.a


def mutated_by_vars_update(x, n):
    p = Plain(x)
    q = p
    for _ in range(n):
        p = p.next()
    vars(p).update(a=3.0 * x)
    return p.a * q.a


def mutate_then_new(x, n):
    p = Plain(x)
    for _ in range(n):
        p.a += 0.5
        p = p.next()
    return p.a


def kind_changes(x, n):
    class A(Plain):
        def next(self):
            return Bb(self.a * 0.5)

    class Bb(Plain):
        def next(self):
            return A(self.a + 1.0)

    p = A(x)
    for _ in range(n):
        p = p.next()
    return p.a


def linked_new(x, n):
    class Node:
        def __init__(self, v, nxt):
            self.v, self.nxt = v, nxt

    head = Node(x, None)
    for _k in range(n):
        head = Node(head.v * 0.5, head)
    return head.v


def global_effect_op(x, n):
    class Ev(Plain):
        count = 0

        def __add__(self, o):
            Ev.count += 1
            return Ev(self.a + o)

    p = Ev(x)
    for _ in range(n):
        p = p + 1.0
    return p.a + Ev.count


def print_in_op(x, n):
    log = []

    class Ev(Plain):
        def __add__(self, o):
            log.append(1)
            return Ev(self.a + o)

    p = Ev(x)
    for _ in range(n):
        p = p + 1.0
    return p.a + len(log)


def post_init(x, n):
    b = Bounded(x)
    for _ in range(n):
        b = b + 0.3
    return b.v * x


def abstract(x, n):
    class Shape(ABC):
        def __init__(self, r):
            self.r = r

        @abstractmethod
        def area(self): ...
        @property
        def half(self):
            return self.area() / 2

    class Disc(Shape):
        def area(self):
            return 3.0 * self.r**2

        def __add__(self, d):
            return Disc(self.r + d)

    d = Disc(x)
    for _ in range(n):
        d = d + 0.1 * d.half
        d = d + 0.01
    return d.area()


def generic(x, n):
    T = TypeVar("T")

    class Box(Generic[T]):
        def __init__(self, v):
            self.v = v

        def __mul__(self, k):
            return Box(self.v * k)

    b = Box(x)
    for _ in range(n):
        b = b * 1.1
    return b.v


def two_objects_swap(x, n):
    class P:
        def __init__(self, v):
            self.v = v

    a, b = P(x), P(x * 2)
    for _ in range(n):
        a, b = P(b.v * 0.5), P(a.v + 0.1)
    return a.v + 10 * b.v


def by_partial(x, n):
    class P:
        def __init__(self, a, b, *, scale):
            self.v = (a if a > b else b) * scale

    make, total = partial(partial(P, x), scale=0.5), 0.0
    for k in range(n):
        if total < 1.0:
            total = total + make(0.1 * k).v
        else:
            total = total - make(b=0.2, scale=total).v
    return total


def by_map(x, n):
    class P:
        def __init__(self, v, k=2.0):
            self.v = v * k if v > 0.5 else k - v

    total = 0.0
    for k in range(n):
        if total < 2.0:
            p, q = map(P, [x, 0.3 * k])
            total = total + p.v * q.v
        else:
            (p,) = map(partial(P, k=0.5), [total])
            total = p.v
    return total


def made_by_partial(kind, v):
    return partial(kind, v)()


def made_by_map(kind, v):
    return next(map(kind, [v]))


def halving(make):
    """A function that makes objects, their class, and another constructor for the class."""

    class Half:
        def __init__(self, v):
            self.v = v * 0.5 if v > 0.0 else v

    def f(x):
        while x > 1.0:
            x = make(Half, x).v
        return x

    def quarter(self, v):
        self.v = v * 0.25

    return f, Half, quarter


def fib_objects(x, n):
    class P:
        def __init__(self, v):
            self.v = v

        def __add__(self, o):
            return P(self.v + o.v)

    a, b = P(x), P(1.0)
    for _ in range(n):
        a, b = b, a + b
    return a.v + 10 * b.v


def unhashable_eq(x, n):
    class P:
        def __init__(self, v):
            self.v = v

        def __eq__(self, o):
            return isinstance(o, P) and self.v == o.v

        def next(self):
            return P(min(self.v * 1.5, 2.0))

    p, old = P(x), P(0.0)
    k = 0
    while k < n and p != old:
        p, old = p.next(), p
        k += 1
    return p.v + k


def best_object(x, n):
    class C:
        def __init__(self, v):
            self.v = v

        def cost(self):
            return (self.v - 1.0) ** 2

    best = C(x)
    for k in range(n):
        c = C(x + 0.1 * k)
        if c.cost() < best.cost():
            best = c
    return best.v * best.cost()


def particles_list_rebuild(x, n):
    class P:
        def __init__(self, q, v):
            self.q, self.v = q, v

        def moved(self, dt):
            return P(self.q + self.v * dt, self.v - self.q * dt)

    ps = [P(x * i, 1.0) for i in range(3)]
    for _ in range(n):
        ps = [p.moved(0.1) for p in ps]
    return sum(p.q * p.v for p in ps)


def while_energy(x, n):
    class P:
        def __init__(self, q, v):
            self.q, self.v = q, v

        @property
        def energy(self):
            return 0.5 * (self.q**2 + self.v**2)

        def damp(self):
            return P(self.q * 0.9, self.v * 0.8)

    p = P(x, 1.0 * n)
    while p.energy > 0.2:
        p = p.damp()
    return p.q + p.v


def poly_eval(x, n):
    class Poly:
        def __init__(self, *c):
            self.c = c

        def __call__(self, t):
            s = 0.0
            for a in reversed(self.c):
                s = s * t + a
            return s

        def __mul__(self, k):
            return Poly(*[a * k for a in self.c])

        def deriv(self):
            return Poly(*[a * i for i, a in enumerate(self.c)][1:])

    p = Poly(1.0, -x, 0.5)
    d = p.deriv()
    t = 2.0
    for _ in range(n):
        t = t - 0.3 * p(t) / (d(t) + 3.0)
        p = p * 0.99
    return t


def kept_property(x, n):
    class P:
        def __init__(self, v):
            self.v = v

        @cached_property
        def sq(self):
            return self.v * self.v

        def next(self):
            return P(self.sq * 0.5)

    p = P(x)
    for _ in range(n):
        p = p.next()
    return p.v


def setter(x, n):
    class P:
        def __init__(self, v):
            self._v = v

        @property
        def v(self):
            return self._v

        @v.setter
        def v(self, new):
            self._v = new

    p = P(x)
    for _ in range(n):
        p.v = p.v * 0.9
    return p.v


def attr_order(x, n):
    class P:
        def __init__(self, k):
            if k:
                self.a = x
                self.b = 1.0
            else:
                self.b = 2.0
                self.a = x * 2

    p = P(True)
    for _k in range(n):
        p = P(False)
    return sum(list(vars(p).values())[:1]) + p.a


WRITTEN = [
    *(vec_orbit, vec_local, dc_carried, dc_method, dc_replace, frozen_vec, namedtuple, nt_replace, slots),
    *(user_dual, quaternion, bodies, branch_objects, bisection_objects, mutate_in_round, two_names_one_object),
    *(inherit, nested_objects, list_of_objects, list_items_objects, sum_of_vecs, iadd, iadd_no_method),
    *(aug_attr, reflected, compare_ops, getitem, property_chain, classmethod_static, matmul_users),
    *(interval_newton, returns_self, state_string, object_with_function, kalman_objects, choice_objects),
    *(return_in_branch, dataclass_of_vec, sorted_users, copy_after, post_init, setter),
    *(
        abstract,
        generic,
        two_objects_swap,
        by_partial,
        by_map,
        fib_objects,
        unhashable_eq,
        best_object,
        particles_list_rebuild,
        while_energy,
        poly_eval,
    ),
]
ASKED = {
    kept_property: "runs 'sq', which is not looked into",
    attr_order: "what the loop carries has the structure",
    is_after: "may be the same object as another one",
    eq_after: "may be the same object as another one",
    in_after: "may be the same object as another one",
    dict_key_after: "may be the same object as another one",
    dict_getitem_after: "may be the same object as another one",
    set_after: "may be the same object as another one",
    set_call_after: "may be the same object as another one",
    index_after: "may be the same object as another one",
    hash_after: "may be the same object as another one",
    counter_after: "may be the same object as another one",
    deepcopy_memo_after: "may be the same object as another one",
    eq_nested_list: "may be the same object as another one",
    remove: "may be the same object as another one",
    in_list_in_attr: "may be the same object as another one",
    operator_eq: "may be the same object as another one",
    mutated_after: "changes afterwards, and may have another name",
    mutated_old_after: "changes afterwards, and may have another name",
    mutated_by_method_after: "changes afterwards, and may have another name",
    mutated_by_setattr: "changes afterwards, and may have another name",
    mutated_by_dict: "changes afterwards, and may have another name",
    mutated_by_vars_update: "changes afterwards, and may have another name",
    mutate_then_new: "changes afterwards, and may have another name",
    kind_changes: "what the loop carries has the structure",
    linked_new: "what the loop carries has the structure",
    global_effect_op: "seen outside of the block",
    print_in_op: "'log', or a list in it, has another length after each round",
}
