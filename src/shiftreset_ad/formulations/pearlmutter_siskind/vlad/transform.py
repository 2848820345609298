"""The reverse transform of a lambda expression: phi for the forward phase, and rho for the reverse phase.

    phi {x = y}              x' = y'
    phi {x = y z}            (x', x_back) = y' z'
    phi {x = fun z -> e}     x' = the transform of fun z -> e
    rho {x = y}              y_sens (+)= x_sens
    rho {x = y z}            (y_sens, z_sens) (+)= x_back x_sens
    rho {x = fun z -> e}     [x1_sens, ..., xl_sens] (+)= x_sens      x1, ..., xl are B (fun z -> e), tagged as z is

    fun x0 -> let x1 = e1; ...; xn = en in xn
    becomes
    fun x0' -> let phi {x1 = e1}; ...; phi {xn = en} in
      (xn', fun xn_sens -> let y_sens = zero (J_inverse y') for the y in B e, for x0 and for x1 to x(n-1);
                               rho {xn = en}; ...; rho {x1 = e1} in
                           ([y1_sens, ...], x0_sens))

The result is in A-normal form. Pairs and lists in it are made by CONS, and taken apart by CAR and CDR; those that are
tagged go through J_inverse before, and through J after it. A sum makes a new variable, as variables have one value.
"""

from __future__ import annotations

from itertools import count

from shiftreset_ad.formulations.pearlmutter_siskind.vlad.expressions import (
    Call,
    Expression,
    Lambda,
    Tag,
    Variable,
    base_free,
)

CONS, CAR, CDR, EMPTY = Variable("CONS"), Variable("CAR"), Variable("CDR"), Variable("[]")
ZERO, PLUS, J, J_INVERSE = Variable("zero"), Variable("plus"), Variable("J"), Variable("J_inverse")
_numbers = count(1)


def transform(e: Lambda) -> Lambda:
    """The reverse transform; it is made once for each lambda expression."""
    if "transform" not in e.known:
        e.known["transform"] = _Transform(e).image()
    return e.known["transform"]


class _Transform:
    def __init__(self, e: Lambda) -> None:
        self.e = e
        self.base_free = base_free(e)
        self.sensitivities: dict[Variable, Variable] = {}
        self.block: list[tuple[Variable, Expression]] = []

    def image(self) -> Lambda:
        for x, right in self.e.bindings:
            self.phi(x, right)
        forward, self.block = self.block, []
        incoming = self.e.result.tagged(Tag.SENSITIVITY)
        self.sensitivities[self.e.result] = incoming
        bound = [self.e.parameter, *(x for x, _ in self.e.bindings)]
        for x in (*self.base_free, *bound):
            if x != self.e.result:
                original = self.bind(Call(J_INVERSE, x.tagged(Tag.REVERSE)))
                self.sensitivities[x] = self.bind(Call(ZERO, original), x.tagged(Tag.SENSITIVITY))
        for x, right in reversed(self.e.bindings):
            self.rho(right, self.sensitivities[x], x.tagged(Tag.BACKPROPAGATOR))
        sensitivities = self.list_of([self.sensitivities[x] for x in self.base_free])
        backpropagator = Lambda(incoming, [], self.pair(sensitivities, self.sensitivities[self.e.parameter]))
        backpropagator.bindings, self.block = self.block, forward
        answer = self.pair(self.e.result.tagged(Tag.REVERSE), self.bind(backpropagator))
        return Lambda(self.e.parameter.tagged(Tag.REVERSE), self.block, answer, self.e)

    def phi(self, x: Variable, right: Expression) -> None:
        reverse = x.tagged(Tag.REVERSE)
        match right:
            case Variable():
                self.bind(right.tagged(Tag.REVERSE), reverse)
            case Lambda():
                self.bind(transform(right), reverse)
            case Call(y, z):
                both = self.bind(Call(y.tagged(Tag.REVERSE), z.tagged(Tag.REVERSE)))
                self.bind(Call(CAR, both), reverse)
                self.bind(Call(CDR, both), x.tagged(Tag.BACKPROPAGATOR))

    def rho(self, right: Expression, sensitivity: Variable, backpropagator: Variable) -> None:
        match right:
            case Variable():
                self.add(right, sensitivity)
            case Call(y, z):
                both = self.bind(Call(backpropagator, sensitivity))
                self.add(y, self.bind(Call(CAR, both)))
                self.add(z, self.bind(Call(CDR, both)))
            case Lambda():
                level, rest = right.parameter.level, sensitivity
                for x in base_free(right):
                    untagged = self.repeated(J_INVERSE, level, rest)
                    self.add(x, self.repeated(J, level, self.bind(Call(CAR, untagged))))
                    rest = self.repeated(J, level, self.bind(Call(CDR, untagged)))

    def add(self, x: Variable, share: Variable) -> None:
        """x_sens (+)= share, unless x is a free variable that is not in B e."""
        if x in self.sensitivities:
            both = self.pair(self.sensitivities[x], share)
            name = Variable(f"{x.name}.{next(_numbers)}", x.tags).tagged(Tag.SENSITIVITY)
            self.sensitivities[x] = self.bind(Call(PLUS, both), name)

    def list_of(self, elements: list[Variable]) -> Variable:
        """[x1, ..., xl], tagged as the parameter is."""
        level = self.e.parameter.level
        found = EMPTY
        for element in reversed(elements):
            found = self.pair(self.repeated(J_INVERSE, level, element), found)
        return self.repeated(J, level, found)

    def pair(self, x: Variable, y: Variable) -> Variable:
        return self.bind(Call(self.bind(Call(CONS, x)), y))

    def repeated(self, function: Variable, times: int, x: Variable) -> Variable:
        for _ in range(times):
            x = self.bind(Call(function, x))
        return x

    def bind(self, right: Expression, x: Variable | None = None) -> Variable:
        """A binding of x, or of a new variable."""
        x = x or Variable(f"t{next(_numbers)}")
        self.block.append((x, right))
        return x
