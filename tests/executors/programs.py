"""What the workers run in the tests: at the top of a module, so that every engine can name it."""

import os
import signal
import time
from pathlib import Path

import numpy as np

ROWS = np.random.default_rng(0).normal(size=(37, 4))
SHARDS = [ROWS[start : start + 5] for start in range(0, 37, 5)]
PARAMS = {"w": np.linspace(-1.0, 1.0, 4), "b": 0.3}
TANGENTS = {"w": np.array([0.5, -1.0, 2.0, 0.25]), "b": -0.7}


def loss(params, rows):
    return np.sum(np.sin(rows @ params["w"] + params["b"]) ** 2)


def residuals(params, rows):
    return np.tanh(rows @ params["w"]) + params["b"] * rows[:, 0]


class Loaded:
    """A shard that is loaded on the worker."""

    def __init__(self, path):
        self.path = path

    def __call__(self):
        return np.load(self.path)


class Rows:
    """A shard that knows its number."""

    def __init__(self, number, rows, folder=None):
        self.number, self.rows, self.folder = number, rows, folder


def fails_at_five(params, shard):
    if shard.number == 5:
        raise KeyError("the label of row 17")
    return loss(params, shard.rows)


def dies_once(params, shard):
    """The worker of shard 3 is killed, at the first time."""
    if shard.number == 3:
        mark = Path(shard.folder) / "died"
        if not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
    return loss(params, shard.rows)


def always_dies(params, shard):
    os.kill(os.getpid(), signal.SIGKILL)


def sleeps(params, shard):
    (Path(shard.folder) / f"{os.getpid()}").touch()
    time.sleep(60.0)
    return loss(params, shard.rows)


def dozes(params, shard):
    time.sleep(3.0)
    return loss(params, shard.rows)


def times_out(params, shard):
    raise TimeoutError("the database does not answer")


class Unpicklable(Rows):
    def __reduce__(self):
        raise TypeError("cannot pickle this shard")
