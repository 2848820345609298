"""A game of guessing: one player hides a number, and the other player guesses it, and pays for the relative error.

The number lies between LOW and HIGH, and the guess may be any number. The guesser pays ((guess - number) / number)^2.
A number that is known can be guessed, so the hider draws it at random, and chooses the probabilities. In the balance
of this game, the hider draws one of the two ends, and the guess is their harmonic mean: 2 a b / (a + b) for the ends a
and b. Both errors are then equal.

The saddle point is found over the guess and the probabilities together. Its derivatives tell what happens if the upper
end moves. They go through the saddle point, and the rules of the game say nothing about derivatives.

    python examples/guessing_game.py
"""

from __future__ import annotations

import numpy as np
from known import compare

from shiftreset_ad import grad, value
from shiftreset_ad.optimize import Saddle, Simplex, minimax

LOW, HIGH = 1.0, 4.0
NUMBERS = 7  # that the hider may draw, evenly spaced


def play(low: float, high: float) -> Saddle:
    """The balance of the game: `x` is the guess, `y` are the probabilities, and `value` is what the guesser pays."""
    numbers = low + (high - low) * np.linspace(0.0, 1.0, NUMBERS)

    def payment(guess: float, probabilities: np.ndarray) -> float:
        return np.sum(probabilities * ((guess - numbers) / numbers) ** 2)

    start = (0.5 * (low + high), np.full(NUMBERS, 1.0 / NUMBERS))
    return minimax(payment, *start, constraints=(None, Simplex()), tolerance=1e-9)


def main() -> int:
    """Play the game, and compare it with the formulas."""
    game = play(LOW, HIGH)
    if not game.converged:
        print(game.message)
        return 1
    slope_of_guess = grad(lambda high: play(LOW, high).x)(HIGH)
    slope_of_payment = grad(lambda high: play(LOW, high).value)(HIGH)
    share = LOW / (LOW + HIGH)  # of the lower end: with it, no other guess costs less
    probabilities = np.zeros(NUMBERS)
    probabilities[[0, -1]] = share, 1.0 - share
    ratio = (HIGH - LOW) / (HIGH + LOW)
    return compare(
        f"a number between a = {LOW:g} and b = {HIGH:g} is guessed",
        [
            ("guess", game.x, 2.0 * LOW * HIGH / (LOW + HIGH), 1e-7),
            ("probabilities", value(game.y), probabilities, 1e-7),
            ("what the guesser pays", game.value, ratio**2, 1e-7),
            ("slope of the guess in b", slope_of_guess, 2.0 * LOW**2 / (LOW + HIGH) ** 2, 1e-6),
            ("slope of the payment in b", slope_of_payment, 4.0 * ratio * LOW / (LOW + HIGH) ** 2, 1e-6),
        ],
    )


if __name__ == "__main__":
    raise SystemExit(main())
