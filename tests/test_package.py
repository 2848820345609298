"""What `import shiftreset_ad` gives, and what it leaves for later."""

import subprocess
import sys

import pytest

import shiftreset_ad

LATE = (
    "optimize",
    "staging",
    "debugging",
    "scipy",
    "formulations",
    "testing",
    "modes.forward",
    "modes.series",
    "transforms.custom",
)


def test_all_public_names_are_there_and_are_shown():
    assert set(shiftreset_ad.__all__) <= set(dir(shiftreset_ad))
    for name in shiftreset_ad.__all__:
        assert getattr(shiftreset_ad, name) is not None
    assert sorted(shiftreset_ad.__all__) == shiftreset_ad.__all__


def test_another_name_is_an_error():
    with pytest.raises(AttributeError, match="module 'shiftreset_ad' has no attribute 'gradient'"):
        _ = shiftreset_ad.gradient
    with pytest.raises(ImportError, match="cannot import name 'gradient'"):
        from shiftreset_ad import gradient  # noqa: F401


def test_what_few_programs_need_is_imported_late():
    program = "import sys, shiftreset_ad; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    imported = done.stdout.split()
    assert "shiftreset_ad.transforms.gradient" in imported
    assert not [name for name in imported if name.startswith(tuple(f"shiftreset_ad.{package}" for package in LATE))]
    assert {"scipy", "pathlib", "sysconfig", "numpy.polynomial"}.isdisjoint(imported)
