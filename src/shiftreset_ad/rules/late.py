"""Tables of rules that wait until the program imports their library, which may be late, or never.

`import shiftreset_ad` imports none of these libraries; a program that uses one has imported it. So the tables are
entered when the program first calls a function that has no rule yet.
"""

from __future__ import annotations

import sys
from importlib import import_module

import numpy as np

TABLES_OF = {"scipy.special": "shiftreset_ad.rules.special"}
CALLED_BY = {"_riemann_zeta": "zeta"}


def enter_tables_of_imported_libraries() -> None:
    """Enter the tables of the libraries that the program has imported, if they are not entered yet."""
    for library, tables in TABLES_OF.items():
        if sys.modules.get(library) is not None:
            import_module(tables)


def library_of(ufunc: np.ufunc) -> str:
    """The name of the library that has this ufunc; the ufunc itself does not have it."""
    name = public_name(ufunc)
    return next(
        (library for library in TABLES_OF if getattr(np, name, None) is not ufunc and _has(library, name)), "numpy"
    )


def public_name(ufunc: np.ufunc) -> str:
    """The name by which users call the function; a private ufunc mostly has a public function of the same name."""
    return CALLED_BY.get(ufunc.__name__, ufunc.__name__.removeprefix("_"))


def _has(library: str, name: str) -> bool:
    return hasattr(sys.modules.get(library), name)
