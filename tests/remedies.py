"""The messages of a package that say what to do, so that a test can see that each one is done somewhere."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shiftreset_ad

ROOT = Path(shiftreset_ad.__file__).parent
# What a program is told to do, at the beginning of a message or of a clause.
VERBS = "choose|compute|convert|define|draw|give|keep|make|multiply|pass|reduce|register|return|use|write"
REMEDY = re.compile(rf"(?:^|[.;:,] |, and |, or )(?:{VERBS})\b", re.IGNORECASE)


def messages(package: str) -> list[tuple[str, str]]:
    """Where the package has a message with a remedy, and the message, with {} for what is put in."""
    found = []
    for path in sorted((ROOT / package).rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        inside = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
        inside |= {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            text = _text(node) if isinstance(node, ast.JoinedStr | ast.Constant) and id(node) not in inside else ""
            if " " in text and REMEDY.search(text):
                found.append((f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 0)}", text))
    return found


def _text(node: Any) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
    return node.value if isinstance(node.value, str) else ""


def not_done(package: str, said: Iterable[str]) -> list[str]:
    """The messages with a remedy of which none of the texts is a part."""
    texts = list(said)
    return [f"{place}: {text}" for place, text in messages(package) if not any(part in text for part in texts)]


def whole_text(error: BaseException) -> str:
    """What an error says, with its notes."""
    return "\n".join([str(error), *getattr(error, "__notes__", [])])


def require_remedies(
    wrong: Callable[[], Any],
    said: str,
    rights: Iterable[Callable[[], Any]],
    expected: Any,
    errors: tuple[type[BaseException], ...],
) -> None:
    """A wrong program raises an error that says this, and each program that does so has the answer expected."""
    with pytest.raises(errors) as raised:
        wrong()
    assert said in whole_text(raised.value)
    for right in rights:
        np.testing.assert_allclose(right(), expected, rtol=1e-12)
