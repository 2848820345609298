"""The reverse transform of a lambda term in A-normal form (Pearlmutter and Siskind 2008, section 4).

The paper writes x with a left harpoon over it for the transformed variable, with the barb up, and for its sensitivity,
with the barb down, and x with a bar for the backpropagator; here they are `x'`, `x_sens` and `x_back`. A procedure

    fun x0 -> let x1 = ... in ... let xn = ... in xn

becomes a procedure that returns the transformed answer and a backpropagator, a function from the sensitivity of the
answer to the sensitivities of the procedure's environment and of its argument:

    1.  fun x0' ->                                        the forward phase
          let x1' = ... in ...                              for  x = c              x' = J c
                                                            for  x = fun z -> e     x' = the transform of fun z -> e
                                                            for  x = (y, z)         x' = (y', z')
                                                            for  x = f y            (x', x_back) = f' y'
    2.    (xn', fun xn_sens ->                            the reverse phase
    3.       ...                                            the bindings from the last to the first:
                                                            for  x = fun z -> e     (y_sens, ...) (+)= x_sens
                                                            for  x = (y, z)         (y_sens, z_sens) (+)= x_sens
                                                            for  x = f y            (f_sens, y_sens) (+)= x_back x_sens
    4.       ((y_sens, (..., ())), x0_sens))              of the free variables y, and of the argument

In the paper every sensitivity starts with x_sens = zero (J_inverse x'), and (+)= is a sum. Here the sum with this zero
is left out. The zero itself remains only in 4, for variables without any contribution. In 3, bindings of such variables
are left out. A further sum makes a new variable, `x_sens1` after `x_sens`. The result is in A-normal form, so it can be
transformed again. A primitive is called like a function.
"""

from __future__ import annotations

from shiftreset_ad.formulations.language.derived import UNIT
from shiftreset_ad.formulations.language.names import Names
from shiftreset_ad.formulations.language.terms import App, Const, Fst, Pair, Snd, Term, Var
from shiftreset_ad.formulations.pearlmutter_siskind.primitives import J_INVERSE, PLUS, ZERO, operator_of
from shiftreset_ad.formulations.pearlmutter_siskind.procedures import Binding, Procedure, operands_of
from shiftreset_ad.formulations.pearlmutter_siskind.values import J


class Transform:
    """The reverse transform of one procedure."""

    def __init__(self, procedure: Procedure) -> None:
        self.procedure = procedure
        self.names = Names()  # for new variables: they do not end with a prime, and transformed variables do
        self.back = {name: self.names.fresh(f"{plain(name)}_back") for name, _ in procedure.bindings}
        self.sens: dict[str, Var] = {}

    def image(self) -> Procedure:
        """The transformed procedure."""
        procedure = self.procedure
        self.block: list[tuple[str, Binding]] = []
        for name, binding in procedure.bindings:
            self.forward(name, binding)  # 1
        forward, self.block = self.block, []
        backpropagator = self.backpropagator()  # 2
        self.block = forward
        answer = self.bind("answer", Pair(self.primed(Var(procedure.result)), self.bind("back", backpropagator)))
        name = f"{procedure.name}'" if procedure.name else ""
        return Procedure(f"{procedure.parameter}'", self.block, answer.name, procedure, name)

    def backpropagator(self) -> Procedure:
        """The reverse phase."""
        procedure = self.procedure
        incoming = self.names.fresh(f"{plain(procedure.result)}_sens")
        self.sens[procedure.result] = Var(incoming)
        for name, binding in reversed(procedure.bindings):
            if name in self.sens:
                self.backward(binding, self.sens[name], self.back[name])  # 3
        result = self.sensitivities()  # 4
        return Procedure(incoming, self.block, result.name)

    def forward(self, name: str, binding: Binding) -> None:
        """Carry out a binding on transformed values."""
        match binding:
            case Const(value):
                self.block.append((f"{name}'", Const(J(value))))
            case Procedure():
                self.block.append((f"{name}'", self.image_of(binding)))
            case Pair(first, second):
                self.block.append((f"{name}'", Pair(self.primed(first), self.primed(second))))
            case App(function, argument):
                self.call(name, self.primed(function), self.primed(argument))
            case _:
                operands = map(self.primed, operands_of(binding))
                self.call(name, Const(J(operator_of(binding))), self.tuple_of(*operands))

    def call(self, name: str, function: Term, argument: Term) -> None:
        """(x', x_back) = f' y'"""
        both = self.bind("both", App(function, argument))
        self.block.append((f"{name}'", Fst(both)))
        self.block.append((self.back[name], Snd(both)))

    def backward(self, binding: Binding, x_sens: Var, x_back: str) -> None:
        """Add to the sensitivities of the operands of a binding, given the sensitivity of its variable."""
        match binding:
            case Const():
                pass
            case Procedure():
                self.backward_closure(binding, x_sens)
            case Pair(first, second):
                self.add(first, Fst(x_sens))
                self.add(second, Snd(x_sens))
            case App(function, argument):
                self.backward_call(function, argument, App(Var(x_back), x_sens))
            case _:
                share: Term = Snd(self.bind("both", App(Var(x_back), x_sens)))
                *firsts, last = operands_of(binding)
                for operand in firsts:
                    shares = self.bind("shares", share)
                    self.add(operand, Fst(shares))
                    share = Snd(shares)
                self.add(last, share)

    def backward_closure(self, procedure: Procedure, x_sens: Var) -> None:
        """The sensitivity of a closure is the list of the sensitivities of its free variables."""
        for i, name in enumerate(procedure.free):
            x_sens = self.bind("rest", Snd(x_sens)) if i else x_sens
            self.add(Var(name), Fst(x_sens))

    def backward_call(self, function: Term, argument: Term, sensitivities: Term) -> None:
        """The backpropagator returns the sensitivities of the function that was called and of the argument."""
        both = self.bind("both", sensitivities)
        self.add(function, Fst(both))
        self.add(argument, Snd(both))

    def sensitivities(self) -> Var:
        """The answer of the backpropagator: the sensitivities of the environment and of the argument."""
        environment = self.bind("environment", UNIT)
        for name in reversed(self.procedure.free):
            environment = self.bind("environment", Pair(self.sensitivity(name), environment))
        return self.bind("sensitivities", Pair(environment, self.sensitivity(self.procedure.parameter)))

    def image_of(self, procedure: Procedure) -> Procedure:
        """The transform of a lambda term inside."""
        return procedure.image

    def add(self, operand: Term, contribution: Term) -> None:
        """y_sens (+)= contribution, if the operand is a variable y; a constant needs no sensitivity."""
        if not isinstance(operand, Var):
            return
        y_sens = f"{plain(operand.name)}_sens"
        total = self.bind(y_sens, contribution)
        if operand.name in self.sens:
            total = self.bind(y_sens, App(Const(PLUS), self.bind("both", Pair(self.sens[operand.name], total))))
        self.sens[operand.name] = total

    def sensitivity(self, name: str) -> Var:
        """The sum of the contributions to a variable; zero if there are none."""
        if name not in self.sens:
            original = self.bind(plain(name), App(Const(J_INVERSE), Var(f"{name}'")))
            self.sens[name] = self.bind(f"{plain(name)}_sens", App(Const(ZERO), original))
        return self.sens[name]

    def primed(self, operand: Term) -> Term:
        """The operand in the forward phase."""
        if isinstance(operand, Var):
            return Var(f"{operand.name}'")
        assert isinstance(operand, Const)
        return Const(J(operand.value))

    def tuple_of(self, first: Term, *rest: Term) -> Term:
        """Operands as one argument: x, (x, y), (x, (y, z))."""
        return self.bind("operands", Pair(first, self.tuple_of(*rest))) if rest else first

    def bind(self, like: str, binding: Binding) -> Var:
        """A new variable for a binding."""
        name = self.names.fresh(like)
        self.block.append((name, binding))
        return Var(name)


def plain(name: str) -> str:
    """A variable's name without primes."""
    return name.rstrip("'")
