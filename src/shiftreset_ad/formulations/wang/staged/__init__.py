"""Reverse mode by code that is generated, with its control flow: Wang et al. 2019, section 4.

A program runs twice. First it runs on values that are not known yet, and writes another program; `shift` and `reset`
run here, and the second program is in continuation-passing style without them. Then the second program runs on numbers,
as often as wanted. Read the modules in this order:

1.  `code` is the intermediate representation: code as data;
2.  `generation` has `Rep`, a value that is known later, and writes definitions for what is done with it;
3.  `numbers` has the number of Fig. 8, whose value and adjoint are `Rep`s, and `grad`;
4.  `control` has IF, WHILE, FUN and TREE, which capture the rest of the program and make functions of it;
5.  `pseudo`, `python` and `cpp` print a program, by `names` and `printing`; the last two compile it, too;
6.  `simplify` makes the code of the paper's intermediate representation out of what is generated, and `optimise` the
    code of its C++, by `algebra` and `cells`;
7.  `trees` has the values that TREE folds.

    snippet = generate(grad(lambda x: WHILE(x, lambda t: t > 1.0, lambda t: t * 0.5)))
    print(pseudo.show(simplify(snippet)))
    cpp.compiled(optimise(snippet))(5.0)

What it shows: a loop of the program is a loop of the code, and its way back too, so the code does not grow with the
rounds, the shapes of trees, or the number of paths. What it cannot do: derivatives of derivatives, as there is one
level; Python's own `if` and `while` on values that are not known yet, which is an error. In the generated program a
loop is a recursion, so the stack limits its rounds. What follows a conditional is a function, inside the function
before, and Python's parser takes fewer than a hundred blocks inside one another.
"""

from shiftreset_ad.formulations.wang.staged import cpp, pseudo, python
from shiftreset_ad.formulations.wang.staged.code import DOUBLE, NODE, Program, Symbol, size
from shiftreset_ad.formulations.wang.staged.control import FUN, IF, TREE, WHILE
from shiftreset_ad.formulations.wang.staged.generation import INPUT, Rep, generate
from shiftreset_ad.formulations.wang.staged.numbers import NumR, grad
from shiftreset_ad.formulations.wang.staged.optimise import optimise
from shiftreset_ad.formulations.wang.staged.simplify import simplify
from shiftreset_ad.formulations.wang.staged.trees import EMPTY, Tree

__all__ = [
    "DOUBLE",
    "EMPTY",
    "FUN",
    "IF",
    "INPUT",
    "NODE",
    "TREE",
    "WHILE",
    "NumR",
    "Program",
    "Rep",
    "Symbol",
    "Tree",
    "cpp",
    "generate",
    "grad",
    "optimise",
    "pseudo",
    "python",
    "simplify",
    "size",
]
