"""The families of rules. The test file of a family has `CASES`, the functions whose rules it tests."""

import importlib
from importlib.util import find_spec
from typing import Any

FOLDERS = {
    "rules": ("complex", "indexing", "building"),
    "rules.numpy": (
        *("elementwise", "reductions", "shapes", "products", "fourier", "convolution", "calculus", "polynomials"),
        *("statistics", "sorting", "accumulations", "missing", "counting", "interpolation"),
        *("selection", "grids", "padding", "calling"),
    ),
    "rules.linalg": ("linalg", "factorizations"),
}
OF_SCIPY = {
    "rules.linalg": ("matrix_functions",),
    "rules.special": ("special", "special_parameters"),
}
FAMILIES = {
    family: f"tests.{folder}.test_{family}"
    for table in ((FOLDERS, OF_SCIPY) if find_spec("scipy") else (FOLDERS,))
    for folder, families in table.items()
    for family in families
}
if find_spec("scipy"):
    FAMILIES["signal"] = "tests.scipy.signal.test_convolution"


def cases_of(family: str) -> Any:
    return importlib.import_module(FAMILIES[family]).CASES
