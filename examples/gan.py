"""A generative adversarial network on a mixture: two networks play until the one draws what the other cannot tell.

The generator makes numbers out of noise, and the discriminator gives the odds that a number is from the data. The data
are a mixture of two normal distributions. The discriminator pays for its slope at the data (Mescheder, Geiger and
Nowozin 2018), so that the game does not go in circles. The slope is a derivative inside of the derivative.

Known: in the balance, the generator draws from the mixture, the odds are even everywhere, and the discriminator's
loss is 2 log 2.

    python examples/gan.py
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from known import compare

from shiftreset_ad import elementwise_grad, grad, optimize

Weights: TypeAlias = dict[str, np.ndarray]

CENTRES, WIDTH, SHARE = (-1.5, 1.5), 0.5, 0.4  # SHARE is that of the first part
HIDDEN, BATCH, STEPS = 24, 256, 6000
PENALTY = 0.3


def data(random: np.random.Generator, size: int) -> np.ndarray:
    """Draws from the mixture."""
    return np.where(random.random(size) < SHARE, *CENTRES) + WIDTH * random.normal(size=size)


def initial(random: np.random.Generator) -> Weights:
    """The weights of a network from numbers to numbers, before training."""
    return {
        "in": 2.0 * random.normal(size=HIDDEN),
        "shift": 2.0 * random.normal(size=HIDDEN),
        "out": random.normal(size=HIDDEN) / np.sqrt(HIDDEN),
        "bias": np.zeros(()),
    }


def network(weights: Weights, x: np.ndarray) -> np.ndarray:
    """The answer of a network to each number."""
    return np.tanh(np.multiply.outer(x, weights["in"]) + weights["shift"]) @ weights["out"] + weights["bias"]


def discriminator_loss(weights: Weights, real: np.ndarray, made: np.ndarray) -> float:
    """What the discriminator gets wrong, and its slope at the data."""
    wrong = np.mean(np.logaddexp(0.0, -network(weights, real))) + np.mean(np.logaddexp(0.0, network(weights, made)))
    slope = elementwise_grad(lambda x: network(weights, x))(real)
    return wrong + PENALTY * np.mean(slope**2)


def generator_loss(weights: Weights, discriminator: Weights, noise: np.ndarray) -> float:
    """How well the discriminator tells what the generator makes."""
    return np.mean(np.logaddexp(0.0, -network(discriminator, network(weights, noise))))


def main() -> int:
    """Train both, and compare what the generator draws with the mixture."""
    random = np.random.default_rng(2)
    generator, discriminator = initial(random), initial(random)
    slow, fast = (optimize.adam(optimize.cosine_decay(rate, STEPS), 0.5, 0.99) for rate in (0.005, 0.02))
    slow_state, fast_state = slow.init(generator), fast.init(discriminator)
    for _ in range(STEPS):
        real, noise = data(random, BATCH), random.normal(size=BATCH)
        slopes = grad(discriminator_loss)(discriminator, real, network(generator, noise))
        discriminator, fast_state = fast.step(slopes, discriminator, fast_state)
        slopes = grad(generator_loss)(generator, discriminator, random.normal(size=BATCH))
        generator, slow_state = slow.step(slopes, generator, slow_state)

    real, made = data(random, 100_000), network(generator, random.normal(size=100_000))
    second = made[made > 0.0]
    return compare(
        "a generator of a mixture of two normal distributions",
        [
            ("share of the first part", np.mean(made < 0.0), np.mean(real < 0.0), 0.05),
            ("centres", [np.mean(made[made < 0.0]), np.mean(second)], CENTRES, 0.2),
            ("quartiles", np.quantile(made, [0.25, 0.5, 0.75]), np.quantile(real, [0.25, 0.5, 0.75]), 0.3),
            ("discriminator's loss", discriminator_loss(discriminator, real, made), 2.0 * np.log(2.0), 0.05),
        ],
    )


if __name__ == "__main__":
    raise SystemExit(main())
