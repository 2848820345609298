"""Functions with derivative rules of their own: `custom_vjp`, `custom_jvp`, and both at once.

The names and the form of the rules are JAX's. Two things go beyond JAX. A function may have rules for both modes, and a
mode without a rule uses the transpose of the other mode's rule. Rules may close over numbers that are being
differentiated.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from operator import index
from types import MethodType
from typing import Any, Concatenate, Generic, Self, TypeVar, overload

from shiftreset_ad.boundary import trees
from shiftreset_ad.boundary.closed_over import Composite
from shiftreset_ad.rules.annotations import Cotangents, P, Q, Tangent, X, Y, YDot
from shiftreset_ad.transforms.custom.calls import call
from shiftreset_ad.transforms.custom.closures import Look
from shiftreset_ad.transforms.custom.rules import Application, CustomRules, name_of

Rule = TypeVar("Rule", bound=Callable[..., Any])


class CustomDerivative(Composite, Generic[P, Y]):
    """A function with derivative rules of its own, made by `custom_derivative`. Outside derivatives it is the function.

    `defvjp` and `defjvp` define the rules.
    """

    __slots__ = ("_look",)  # not in __dict__, as it is no part of what the function is
    __name__: str
    __qualname__: str

    def __init__(
        self,
        operator: str,
        f: Callable[P, Y],
        nondiff_argnums: int | Sequence[int],
        nondiff_argnames: str | Sequence[str],
    ) -> None:
        if not callable(f):
            raise TypeError(
                f"{operator}: the function is {f!r:.60}, which cannot be called; write @{operator} above a function"
            )
        functools.update_wrapper(self, f)
        self.identity = object()  # copies have it, too
        self._look: Look | None = None
        self._f = f
        self._rules = CustomRules(name_of(f))
        try:
            self._signature = inspect.signature(f)
        except ValueError:  # a function written in C may have none
            self._signature = inspect.Signature([inspect.Parameter("arguments", inspect.Parameter.VAR_POSITIONAL)])
        parameters = self._signature.parameters.values()
        self._names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        self._rest = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), None)
        self._is_method = self._names[:1] in (["self"], ["cls"])
        self._constant = frozenset(self._positions(operator, nondiff_argnums, nondiff_argnames))

    def defvjp(self, fwd: Callable[..., tuple[Y, Any]], bwd: Callable[..., Cotangents]) -> None:
        """Define the rule for reverse mode: `fwd(*args) -> (value, residuals)` and `bwd(residuals, y_bar) -> x_bars`.

        The cotangent `y_bar` has the structure of the value. `x_bars` is a tuple with a cotangent for each
        differentiable argument, of the structure and shapes of the argument; None is zero. `bwd` gets the arguments
        without derivative first, in their order. If the rule returns anything else, its use raises TypeError or
        ValueError.

        >>> import numpy as np
        >>> from shiftreset_ad import grad
        >>> @custom_vjp
        ... def clip_gradient(x, limit):
        ...     return x
        >>> clip_gradient.defvjp(lambda x, limit: (x, limit), lambda limit, g: (np.clip(g, -limit, limit), None))
        >>> grad(lambda x: 5.0 * clip_gradient(x, 1.0))(3.0)
        1.0
        """
        self._rules.fwd, self._rules.bwd = self._callable("defvjp", fwd), self._callable("defvjp", bwd)
        self.look = None

    def defjvp(self, jvp: Callable[Q, tuple[Y, YDot]]) -> Callable[Q, tuple[Y, YDot]]:
        """Define the rule for forward mode: `jvp(primals, tangents) -> (value, tangent)`; also a decorator.

        `primals` and `tangents` are tuples with an entry for each differentiable argument. The tangent has the
        structure and shapes of the value; None is zero. `jvp` gets the arguments without derivative first, in their
        order. If the rule returns anything else, its use raises TypeError or ValueError.

        >>> import numpy as np
        >>> from shiftreset_ad import grad
        >>> @custom_jvp
        ... def log1pexp(x):
        ...     return np.log(1.0 + np.exp(x))
        >>> @log1pexp.defjvp
        ... def log1pexp_jvp(primals, tangents):
        ...     (x,), (x_dot,) = primals, tangents
        ...     return log1pexp(x), (1.0 - 1.0 / (1.0 + np.exp(x))) * x_dot
        >>> float(grad(log1pexp)(0.0))
        0.5
        """
        self._rules.jvp = self._callable("defjvp", jvp)
        self.look = None
        return jvp

    def defjvps(self, *jvps: Callable[..., Tangent] | None) -> None:
        """Define the rule for forward mode for each differentiable argument: `jvp(x_dot, value, *args) -> y_dot`.

        The tangent is the sum of the answers of all rules; None stands for a rule that is always zero. Raises TypeError
        if there are more or fewer rules than differentiable arguments.

        >>> from shiftreset_ad import grad
        >>> @custom_jvp
        ... def product(x, y):
        ...     return x * y
        >>> product.defjvps(lambda x_dot, value, x, y: x_dot * y, lambda y_dot, value, x, y: x * y_dot)
        >>> grad(product, argnums=(0, 1))(3.0, 2.0)
        (2.0, 3.0)
        """
        f: Callable[..., Y] = self
        rules = [jvp if jvp is None else self._callable("defjvps", jvp) for jvp in jvps]

        def sum_of_jvps(*args: Any) -> Any:
            *constants, primals, tangents = args
            if len(rules) != len(primals):
                raise TypeError(
                    f"{self._rules.name}.defjvps was given {len(rules)} rules, and {len(primals)} differentiable "
                    "arguments were given; give one rule, or None, for each argument"
                )
            in_order = self._together(constants, primals)
            value = f(*in_order)
            answers = trees.Parts(value)
            sums: list[Any] = [None] * len(answers.numbers)
            for rule, tangent in zip(rules, tangents, strict=True):
                y_dot = None if rule is None else rule(tangent, value, *in_order)
                if y_dot is not None:
                    name = f"{self._rules.name}: {name_of(rule)}"
                    parts = answers.derivatives_in(y_dot, name, "the tangent", "the value")
                    sums = [b if a is None else a if b is None else a + b for a, b in zip(sums, parts, strict=True)]
            return value, answers.derivative(sums)

        self._rules.jvp = sum_of_jvps
        self.look = None

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Y:
        given = self._in_order(args, kwargs)
        names = [self._name_of(i) for i in range(len(given))]
        return call(Application(self, given, self._constants_among(given), names))  # type: ignore[no-any-return]

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> Self: ...
    @overload
    def __get__(
        self: CustomDerivative[Concatenate[X, Q], Y], instance: X, owner: type | None = None
    ) -> Callable[Q, Y]: ...
    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def held(self) -> dict[str, Any]:
        rules = self._rules
        return {"the code": self._f, "fwd": rules.fwd, "bwd": rules.bwd, "jvp": rules.jvp}

    def made_of(self, held: dict[str, Any]) -> None:
        self._f, *rules = held.values()
        self._rules = CustomRules(self._rules.name, *rules)
        self.look = None

    @property
    def look(self) -> Look | None:
        """What the function and its rules held at the last call."""
        return self._look

    @look.setter
    def look(self, look: Look | None) -> None:
        self._look = look

    @property
    def code(self) -> Callable[..., Any]:
        """The function without rules."""
        return self._f

    @property
    def rules(self) -> CustomRules:
        """The rules that are defined now."""
        return self._rules

    def __reduce__(self) -> str:
        return self.__qualname__  # as functions are pickled and copied

    def _in_order(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """All arguments by position, with the defaults."""
        if not kwargs and len(args) >= len(self._names) and (self._rest or len(args) == len(self._names)):
            return args
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{self._rules.name}: {error}") from None
        if bound.kwargs:
            raise TypeError(
                f"{self._rules.name}: {', '.join(bound.kwargs)} can be given by name only, and rules get arguments by "
                "position; make it an ordinary parameter, before any * in the signature"
            )
        bound.apply_defaults()
        return bound.args

    def _name_of(self, i: int) -> str:
        return self._names[i] if i < len(self._names) else f"{self._rest}[{i - len(self._names)}]"

    def _constants_among(self, args: Sequence[Any]) -> frozenset[int]:
        """The positions of arguments without derivative; `self` is such an argument, unless it holds numbers."""
        if self._is_method and args and not trees.Parts(args[0]).numbers:
            return self._constant | {0}
        return self._constant

    def _together(self, constants: Sequence[Any], primals: Sequence[Any]) -> list[Any]:
        """All arguments in their order."""
        total = len(constants) + len(primals)
        places = self._constant if len(self._constant) == len(constants) else self._constant | {0}
        constant, differentiable = iter(constants), iter(primals)
        return [next(constant if i in places else differentiable) for i in range(total)]

    def _positions(self, operator: str, argnums: Any, argnames: Any) -> list[int]:
        """The positions that were given by number or by name; TypeError if there is no such argument."""
        positions = []
        for i in argnums if isinstance(argnums, Sequence) else (argnums,):
            count = len(self._names)
            position = index(i)
            if position < 0 and self._rest is None:
                position += count
            if position < 0 or (position >= count and self._rest is None):
                raise TypeError(
                    f"{operator}({self._rules.name}): nondiff_argnums names argument {i}, and the function has {count}"
                )
            positions.append(position)
        for name in (argnames,) if isinstance(argnames, str) else argnames:
            if name not in self._names:
                raise TypeError(
                    f"{operator}({self._rules.name}): nondiff_argnames names {name!r}, and the parameters that can be "
                    f"given by position are {', '.join(self._names)}"
                )
            positions.append(self._names.index(name))
        return positions

    def _callable(self, method: str, rule: Rule) -> Rule:
        if not callable(rule):
            raise TypeError(f"{self._rules.name}.{method}: a rule is a function, and {rule!r:.60} was given")
        return rule


@overload
def custom_derivative(
    f: Callable[P, Y], nondiff_argnums: int | Sequence[int] = (), nondiff_argnames: str | Sequence[str] = ()
) -> CustomDerivative[P, Y]: ...
@overload
def custom_derivative(
    f: None = None, nondiff_argnums: int | Sequence[int] = (), nondiff_argnames: str | Sequence[str] = ()
) -> Callable[[Callable[P, Y]], CustomDerivative[P, Y]]: ...
def custom_derivative(
    f: Callable[..., Any] | None = None,
    nondiff_argnums: int | Sequence[int] = (),
    nondiff_argnames: str | Sequence[str] = (),
) -> Any:
    """Decorate a function that has a rule for reverse mode, for forward mode, or for both: each mode uses its own.

    After the decoration, `f.defvjp(fwd, bwd)` and `f.defjvp(rule)` define the rules. If there is only one rule, the
    other mode uses its transpose. Arguments by name are put into their position. `nondiff_argnums` and
    `nondiff_argnames` name the arguments without derivative, which the rules get as they are; `self` is such an
    argument, unless it holds numbers. Values, arguments, residuals and derivatives may be any structures. A rule has
    the derivatives of any order that its code has. Raises NotImplementedError if `f` is differentiated and no rule is
    defined. Wang et al. 2019, section 3.2, has such operators for `+` and `*`.

    >>> from shiftreset_ad import grad, jvp
    >>> @custom_derivative
    ... def cube(x):
    ...     return x**3
    >>> cube.defvjp(lambda x: (cube(x), x), lambda x, y_bar: (3.0 * x**2 * y_bar,))
    >>> _ = cube.defjvp(lambda primals, tangents: (cube(*primals), 3.0 * primals[0] ** 2 * tangents[0]))
    >>> grad(cube)(2.0), jvp(cube, (2.0,), (1.0,))
    (12.0, (8.0, 12.0))
    """
    return _decorated("custom_derivative", f, nondiff_argnums, nondiff_argnames)


@overload
def custom_vjp(
    f: Callable[P, Y], nondiff_argnums: int | Sequence[int] = (), nondiff_argnames: str | Sequence[str] = ()
) -> CustomDerivative[P, Y]: ...
@overload
def custom_vjp(
    f: None = None, nondiff_argnums: int | Sequence[int] = (), nondiff_argnames: str | Sequence[str] = ()
) -> Callable[[Callable[P, Y]], CustomDerivative[P, Y]]: ...
def custom_vjp(
    f: Callable[..., Any] | None = None,
    nondiff_argnums: int | Sequence[int] = (),
    nondiff_argnames: str | Sequence[str] = (),
) -> Any:
    """Decorate a function that has its own rule for reverse mode, `f.defvjp(fwd, bwd)`; else as `custom_derivative`.

    >>> from shiftreset_ad import grad
    >>> @custom_vjp
    ... def square(x):
    ...     return x * x
    >>> square.defvjp(lambda x: (square(x), x), lambda x, y_bar: (2.0 * x * y_bar,))
    >>> grad(square)(3.0), grad(grad(square))(3.0)
    (6.0, 2.0)
    """
    return _decorated("custom_vjp", f, nondiff_argnums, nondiff_argnames)


@overload
def custom_jvp(
    f: Callable[P, Y], nondiff_argnums: int | Sequence[int] = (), nondiff_argnames: str | Sequence[str] = ()
) -> CustomDerivative[P, Y]: ...
@overload
def custom_jvp(
    f: None = None, nondiff_argnums: int | Sequence[int] = (), nondiff_argnames: str | Sequence[str] = ()
) -> Callable[[Callable[P, Y]], CustomDerivative[P, Y]]: ...
def custom_jvp(
    f: Callable[..., Any] | None = None,
    nondiff_argnums: int | Sequence[int] = (),
    nondiff_argnames: str | Sequence[str] = (),
) -> Any:
    """Decorate a function that has its own rule for forward mode, `f.defjvp(rule)`; else as `custom_derivative`.

    >>> from shiftreset_ad import grad, jvp
    >>> @custom_jvp
    ... def square(x):
    ...     return x * x
    >>> _ = square.defjvp(lambda primals, tangents: (square(*primals), 2.0 * primals[0] * tangents[0]))
    >>> jvp(square, (3.0,), (1.0,)), grad(square)(3.0)
    ((9.0, 6.0), 6.0)
    """
    return _decorated("custom_jvp", f, nondiff_argnums, nondiff_argnames)


def _decorated(operator: str, f: Any, nondiff_argnums: Any, nondiff_argnames: Any) -> Any:
    if f is None:
        return lambda f: CustomDerivative(operator, f, nondiff_argnums, nondiff_argnames)
    return CustomDerivative(operator, f, nondiff_argnums, nondiff_argnames)
