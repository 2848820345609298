"""Find the line where a gradient is lost, by a trace: `python examples/find_a_lost_gradient.py`.

A model of a spring has a clipped force, and one of its two parameters does not learn: its gradient is zero. The trace
of the gradient shows why. On the way back, the adjoint of each step is there to be seen, and at one step it becomes
zero. The program also writes two pictures of the trace, if it is given the name of a folder.
"""

import sys
from pathlib import Path

import numpy as np

from shiftreset_ad import grad, trace


def loss(parameters):
    """The squared distance that is left after a few steps of a spring with friction."""
    stiffness, friction = parameters
    place, speed = 1.0, 0.0
    for _ in range(3):
        force = np.clip(-stiffness * place, -0.5, 0.5)
        force = force - friction * speed
        speed = speed + 0.1 * force
        place = place + 0.1 * speed
    return place**2


def where_it_is_lost(found):
    """The steps that have an adjoint, and give no part of it to any operand."""
    return [
        step
        for step in found.way_back
        if np.any(step.adjoint) and not any(np.any(after) for _, _, after in step.shares if after is not None)
    ]


def main(folder=None):
    """Trace the gradient, print the steps where it is lost, and draw the pictures."""
    parameters = (8.0, 0.3)
    found = trace(grad(loss), parameters)
    stiffness, friction = found.answer
    print(f"the gradient is {stiffness:.6g} by the stiffness, and {friction:.6g} by the friction")
    print(f"of {len(found)} operations, these have an adjoint, and give nothing to their operands:")
    for step in where_it_is_lost(found):
        print(f"    step {step.index}, {step.name} = {step.value:g}, with the adjoint {step.adjoint:.4g}: {step.line}")
    assert stiffness == 0.0
    assert {step.line for step in where_it_is_lost(found)} == {"force = np.clip(-stiffness * place, -0.5, 0.5)"}
    if folder is not None:
        for name, picture in (("trace", found.there_and_back_again), ("graph", found.graph)):
            try:
                (Path(folder) / f"{name}.svg").write_text(picture.svg())
            except RuntimeError as error:  # the graph needs Graphviz
                print(error)


if __name__ == "__main__":
    main(*sys.argv[1:])
