"""Names for the symbols of a program: short, and no two in one scope are alike."""

from __future__ import annotations

from collections.abc import Collection

from shiftreset_ad.formulations.wang.staged.code import Block, Define, Function, NewCell, Program, Symbol, blocks, bound


def names_of(program: Program, reserved: Collection[str] = ()) -> dict[Symbol, str]:
    """The name of each symbol; words of the target language are `reserved`.

    Values are v0, v1, ..., and cells d0, d1, ...; a number's value and adjoint have one index, as in v1 and d1.
    """
    names: dict[Symbol, str] = {}
    taken = set(reserved)
    for parameter in program.parameters:
        _name(parameter, names, taken)
    _name_block(program.body, names, taken)
    return names


def _name_block(block: Block, names: dict[Symbol, str], taken: set[str]) -> None:
    adjoints = {statement.primal: statement.cell for statement in block if isinstance(statement, NewCell)}
    for statement in block:
        match statement:
            case Define(symbol) if symbol in adjoints and symbol.hint == "v":
                index = next(i for i in range(len(taken) + 1) if not {f"v{i}", f"d{i}"} & taken)
                names[symbol], names[adjoints[symbol]] = f"v{index}", f"d{index}"
                taken |= {f"v{index}", f"d{index}"}
            case _:
                defined = bound(statement)
                if defined is not None and defined not in names:
                    _name(defined, names, taken, numbered=not isinstance(statement, Function))
        for inner in blocks(statement):
            scope = set(taken)
            if isinstance(statement, Function):
                for parameter in statement.parameters:
                    _name(parameter, names, scope)
            _name_block(inner, names, scope)


def _name(symbol: Symbol, names: dict[Symbol, str], taken: set[str], numbered: bool = False) -> None:
    hint = symbol.hint
    candidates = [] if numbered else [hint, f"{hint}_"]
    candidates += [f"{hint}{i}" for i in range(len(taken) + 1)]
    names[symbol] = next(name for name in candidates if name not in taken)
    taken.add(names[symbol])
