"""The transform of lambda terms as section 3 of Pearlmutter and Siskind 2008 has it: two incorrect ones, and the third.

The last form of `successive` applies to each lambda term of a program: the forward phase is the body of the transformed
function, and the reverse phase is the body of a backpropagator. The paper's example shows what is lacking:

    f = fun a -> ((fun b -> fun c -> b) a) 1        which is the identity, and has the derivative 1

    UNBOUND    the form is applied as it is. Sensitivities of free variables, and of constants, are not bound
    ZEROS      they are bound to zero. The result is 0, as nothing goes from a call to the environment of its function
    CORRECT    a backpropagator returns a pair, of the sensitivities of its environment and of its argument; a call adds
               to the sensitivity of its function, too; and that of a lambda term is added to its free variables

`reverse` is the third with fewer zeros, as code that can be transformed again. Here the program is lines for a reader.
"""

from __future__ import annotations

from collections.abc import Collection
from enum import Enum

from shiftreset_ad.formulations.language.parser import parse
from shiftreset_ad.formulations.language.terms import App, Lam, Let, Term, Var
from shiftreset_ad.formulations.pearlmutter_siskind.lines import Function, Line, Pattern
from shiftreset_ad.formulations.pearlmutter_siskind.successive import back, sens, zero

Version = Enum("Version", ["UNBOUND", "ZEROS", "CORRECT"])

# The constant is a variable of the environment, as the paper says. Its name is 1, which no text can have.
CONSTANTS = {"1": 1.0}
IN_A_NORMAL_FORM = """
    fun a -> let x1 = fun b -> let x4 = fun c -> b in x4 in
             let x2 = x1 a in
             let x3 = x2 one in x3
"""


def function_of(term: Term) -> Function:
    """The lines of a lambda term in A-normal form.

    >>> print(function_of(parse("fun x -> let y = f x in y")))
    fun x ->
      let y = f x
      in y
    """
    assert isinstance(term, Lam), "expected a function"
    lines, body = [], term.body
    while isinstance(body, Let):
        lines.append(Line(body.name, "=", function_of(body.value) if isinstance(body.value, Lam) else body.value))
        body = body.body
    assert isinstance(body, Var), "the term is not in A-normal form"
    return Function(term.parameter, lines, body.name)


def example() -> Function:
    """f in A-normal form."""
    function = function_of(parse(IN_A_NORMAL_FORM))
    *lines, last = function.lines
    return Function(function.parameter, [*lines, last._replace(right=App(Var("x2"), Var("1")))], function.result)


def free_of(function: Function, constants: Collection[str] = ()) -> list[str]:
    """The free variables of a function that is not transformed, in order, without constants."""
    bound = {function.parameter, *(str(line.left) for line in function.lines)}
    used = [name for line in function.lines for name in _used(line.right)] + [str(function.result)]
    return [name for name in dict.fromkeys(used) if name not in bound and name not in constants]


def _used(right: Term | Function) -> list[str]:
    match right:
        case Function():
            return free_of(right)
        case Var(name):
            return [name]
        case App(Var(function), Var(argument)):
            return [function, argument]
    raise TypeError(f"{right} is not a variable, a call of a variable with a variable, or a function")


def transformed(function: Function, version: Version, constants: Collection[str] = CONSTANTS) -> Function:
    """The transform of a function.

    >>> print(transformed(function_of(parse("fun x -> let y = f x in y")), Version.UNBOUND))
    fun x' ->
      let (y', y_back) = f' x'
      in (y', fun y_sens ->
        let x_sens = zero (J_inverse x');
            x_sens (+)= y_back y_sens
        in x_sens)
    """
    forward, backward = [], []
    for line in function.lines:
        x = str(line.left)
        match line.right:
            case Function():
                forward.append(Line(f"{x}'", "=", transformed(line.right, version, constants)))
                if version is Version.CORRECT:
                    free: Pattern = [sens(name) for name in free_of(line.right, constants)]
                    backward.append(Line(free, "(+)=", Var(sens(x))))
            case Var(y):
                forward.append(Line(f"{x}'", "=", Var(f"{y}'")))
                backward.append(Line(sens(y), "(+)=", Var(sens(x))))
            case App(Var(f), Var(y)):
                forward.append(Line((f"{x}'", back(x)), "=", App(Var(f"{f}'"), Var(f"{y}'"))))
                target: Pattern = (sens(f), sens(y)) if version is Version.CORRECT else sens(y)
                backward.append(Line(target, "(+)=", App(Var(back(x)), Var(sens(x)))))
    result = str(function.result)
    bound = [function.parameter, *(str(line.left) for line in function.lines)]
    started = bound[:-1] if version is Version.UNBOUND else [*bound, *free_of(function)]
    zeros = [Line(sens(x), "=", zero(x)) for x in started if x != result]
    answer: Pattern = sens(function.parameter)
    if version is Version.CORRECT:
        answer = ([sens(x) for x in free_of(function, constants)], answer)
    backpropagator = Function(sens(result), [*zeros, *reversed(backward)], answer)
    return Function(f"{function.parameter}'", forward, (f"{result}'", backpropagator), function)
