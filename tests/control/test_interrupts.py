"""An interrupt while a driver's loop jumps back arrives inside a `try` of the driver."""

import dis
import itertools

import pytest

from shiftreset_ad.control import continuations, programs

DRIVERS = [programs.advance, programs.apart, continuations._drive]


def is_inside_a_try(code, offset):
    return any(entry.start <= offset < entry.end for entry in dis.Bytecode(code).exception_entries)


@pytest.mark.parametrize("driver", DRIVERS, ids=lambda driver: driver.__name__)
def test_the_jump_back_of_a_loop_is_inside_its_try(driver):
    """Python looks for interrupts there. Of a `while condition`, Python 3.12 and 3.13 leave the jump outside."""
    code = driver.__code__
    instructions = list(dis.get_instructions(code))
    jumps = [pair for pair in itertools.pairwise(instructions) if pair[1].opname == "JUMP_BACKWARD"]
    assert jumps
    for before, jump in jumps:
        assert is_inside_a_try(code, jump.offset) or not is_inside_a_try(code, before.offset)
