"""What a program in another module reads and changes by the name of this module."""

import numpy as np

GENERATOR, LIST, ARRAY, DICT = np.random.default_rng(11), [0], np.zeros(3), {}


class Kind:
    generator = np.random.default_rng(5)
    count = 0


def put(v):
    LIST.append(v)


def state():
    generators = [x.bit_generator.state for x in (GENERATOR, Kind.generator)]
    return [*generators, list(LIST), ARRAY.copy(), dict(DICT), Kind.count]
