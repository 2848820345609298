"""What is around the function of a random program: globals, a class, functions, and what changes the globals."""

HEAD = """\
import math
from collections import deque
from contextlib import suppress

import numpy as np
from shiftreset_ad import zeros

RATE = {rate}
TABLE = [{table}]
GRID = np.array([TABLE, TABLE[::-1]])
ROWS = [[TABLE[0], 0.5], [-0.3, TABLE[2]], [0.1, 1.5]]


class Settings:
    limit = {limit}

    def __init__(self):
        self.gain = {gain}


SETTINGS = Settings()


class Pair:
    __slots__ = ("first", "y")

    def __init__(self, y):
        self.y = y


def counter():
    found = 0

    def count(by):
        nonlocal found
        found = found + by
        return found

    return count


class State:
    last = 0.25

    def __init__(self, x, y):
        self.x, self.pair, self.first = x, Pair(y), None
        self.items, self.recent, self.named = [x, y], deque([y, 0.5], 2), {{"k": 1, "p": x}}
        self.shared, self.count = self, counter()

    def step(self, by):
        self.x += 0.1 * self.pair.y
        if self.x > by:
            self.pair.y = self.pair.y - 0.5 * by
            self.recent.append(by)
        elif self.first is None:
            self.first = by
        return self.x

    def total(self):
        return self.x + self.pair.y + sum(self.items) + sum(self.recent) + self.last + self.named["p"]


class Cell:
    def __init__(self, value):
        self.value = value
        self.steps = 0

    def move(self, by):
        if by > self.value:
            self.value = self.value + 0.5 * by
            self.steps += 1
        else:
            self.value = self.value - {part} * by
        return self.value

    def best(self, other):
        return self.value if self.value > other else other

    @property
    def half(self):
        if self.value > 0.5:
            return 0.5 * self.value
        return self.value - 0.1

    def __call__(self, by, *more, sign=1.0):
        total = self.value * by
        for part in more:
            if part < total:
                total = total - sign * part
        return total

    def __add__(self, other):
        return Cell(self.value + other)

    def __gt__(self, other):
        return self.value > other


def pieces(items, most):
    for item in items:
        if item > most:
            return
        yield item * 0.5


def put(items, value):
    items[0] = 0.5 * items[-1] + value
    return items


def down(p, depth):
    return p if depth < 1 or p > 3.0 else 0.5 * up(p * p - 0.3, depth - 1) + p


def up(p, depth):
    if p < -2.0:
        return p
    return down(np.sin(p), depth - 1) + (up(0.4 * p, depth - 2) if depth > 1 else 0.1)


def sorted_out(*items, least=0.1, **named):
    kept = []
    for item in items:
        if item < least:
            break
        kept = kept + [item]
    else:
        return sum(kept) + sum(named.values())
    return len(kept) * 0.5 + sum(named.values())

"""
AROUND = """

def around():
    scale = {scale}

    def set_scale(value):
        nonlocal scale
        scale = value

"""
END = """
    return f, set_scale


f, set_scale = around()


def change():
    global RATE
    RATE = RATE + 0.25
    TABLE[1] = TABLE[1] - 0.5
    GRID[1, 0] = GRID[1, 0] + 0.125
    ROWS[1][1] = ROWS[1][1] - 0.25
    SETTINGS.gain = SETTINGS.gain * 1.5
    set_scale(0.3)
"""
