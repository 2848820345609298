"""The house: each package imports only those below it, no modules import one another in a circle, no file is long."""

import ast
from functools import cache
from pathlib import Path

import pytest

import shiftreset_ad

ROOT = Path(shiftreset_ad.__file__).parent

# From the bottom up. Each may import those before it.
LAYERS = (
    *("control", "rules", "array_api", "numbers", "boundary", "modes", "transforms"),
    *("optimize", "executors", "staging", "batching", "scipy", "nn", "onnx", "debugging", "testing", "formulations"),
)
# These know nothing of the rest of the library.
ALONE = ("control", "rules")
# `shiftreset_ad.modes`: each kind of number, and what several share. Each may import those before it.
MODES = ("tangents", "reverse", "forward", "stacks", "series", "index_sets")


@cache
def modules():
    """The names of all modules, and their files."""
    found = {}
    for path in ROOT.rglob("*.py"):
        parts = path.relative_to(ROOT.parent).with_suffix("").parts
        found[".".join(parts).removesuffix(".__init__")] = path
    return found


@cache
def imports(name):
    """The modules of this library that a module imports, anywhere in its code."""
    found = set()
    for node in ast.walk(ast.parse(modules()[name].read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            found |= {longer if longer in modules() else node.module for longer in names}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return {module for module in found if module.split(".")[0] == ROOT.name} - {name}


def layer_of(name):
    return name.split(".")[1] if "." in name else None


def test_every_package_has_its_layer():
    assert {layer_of(name) for name in modules()} - {None} == set(LAYERS)


@pytest.mark.parametrize("layer", LAYERS)
def test_a_layer_imports_only_those_below(layer):
    allowed = {layer} if layer in ALONE else set(LAYERS[: LAYERS.index(layer) + 1])
    wrong = [
        f"{name} imports {other}"
        for name in modules()
        if layer_of(name) == layer
        for other in imports(name)
        if layer_of(other) not in allowed
    ]
    assert not wrong, wrong


def test_a_mode_imports_only_those_before_it():
    wrong = [
        f"{name} imports {other}"
        for name in modules()
        if name.startswith("shiftreset_ad.modes.")
        for other in imports(name)
        if other.startswith("shiftreset_ad.modes.")
        and MODES.index(other.split(".")[2]) > MODES.index(name.split(".")[2])
    ]
    assert not wrong, wrong


def test_no_modules_import_one_another_in_a_circle():
    done, path = set(), []

    def visit(name):
        assert name not in path, " -> ".join([*path[path.index(name) :], name])
        if name in done:
            return
        path.append(name)
        for other in imports(name) & modules().keys():
            visit(other)
        path.pop()
        done.add(name)

    for name in modules():
        visit(name)


@pytest.mark.parametrize("name", sorted(modules()))
def test_a_module_has_one_idea(name):
    """It says so in a first sentence, and is no longer than 400 lines."""
    text = modules()[name].read_text()
    first = (ast.get_docstring(ast.parse(text)) or "").split("\n\n")[0]
    assert first.endswith((".", ":")), f"the docstring of {name} begins with no sentence"
    assert len(text.splitlines()) <= 400, f"{name} is long"


def test_the_story_of_reverse_mode_is_one_page():
    """Of 150 lines, which import seven modules."""
    story = "shiftreset_ad.modes.reverse.backpropagation"
    assert len(modules()[story].read_text().splitlines()) <= 150
    assert len(imports(story)) <= 7, imports(story)
