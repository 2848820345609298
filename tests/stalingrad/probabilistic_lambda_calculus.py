"""An interpreter of the lambda calculus with probabilities.

The value of an expression is a distribution: a list of triples of a probability, the choices of the random variables
that lead there, and a value. The values of variables are distributions, too, and so are the arguments of functions.
"""

from typing import Any, NamedTuple


class Constant(NamedTuple):
    value: Any


class Variable(NamedTuple):
    name: str


class Function(NamedTuple):
    parameter: str
    body: Any


class Call(NamedTuple):
    function: Any
    argument: Any


def certain(value):
    return [(1.0, {}, value)]


def boolean(p, variable):
    return [(1.0 - p, {variable: False}, False), (p, {variable: True}, True)]


def merged(choices, others):
    """Both, or None where they contradict each other."""
    if any(others.get(name, choice) != choice for name, choice in choices.items()):
        return None
    return choices | others


def over(function, distribution):
    """The distribution of the value of a function whose values are distributions."""
    found = [
        (p * q, both, result)
        for p, choices, value in distribution
        for q, others, result in function(value)
        if (both := merged(choices, others)) is not None
    ]
    total = sum(p for p, _, _ in found)
    return [(p / total, choices, value) for p, choices, value in found]


def evaluate(expression, environment):
    match expression:
        case Constant(value):
            return certain(value)
        case Variable(name):
            return environment[name]
        case Function(parameter, body):
            return certain(lambda argument: evaluate(body, environment | {parameter: argument}))
    argument = evaluate(expression.argument, environment)
    return over(lambda function: function(argument), evaluate(expression.function, environment))


def choose(condition):
    """if, as a function of three arguments; the last two are functions that wait."""

    def chosen(then, otherwise):
        def branch(c):
            return over(lambda t: over(lambda o: (t if c else o)(certain(False)), otherwise), then)

        return over(branch, condition)

    return certain(lambda then: certain(lambda otherwise: chosen(then, otherwise)))


def conditional(condition, then, otherwise):
    call = Call(Call(Variable("if"), condition), Function("unused", then))
    return Call(call, Function("unused", otherwise))


def likelihood(observed, distribution):
    return sum(p for p, _, value in distribution if value == observed)
