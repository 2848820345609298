"""Without llvmlite, on other machines, and where it is switched off, nothing is native, and the reason is told."""

import platform
import sys
import sysconfig

import pytest

from shiftreset_ad import grad, staged
from shiftreset_ad.staging.native import machine
from tests.staging.native.natively import needs_native


@pytest.fixture
def asked_again():
    machine.unfit.cache_clear()
    yield machine.unfit
    machine.unfit.cache_clear()


def test_without_llvmlite(asked_again, monkeypatch):
    monkeypatch.setattr(machine, "find_spec", lambda name: None)
    assert "pip install 'shiftreset_ad[native]'" in asked_again()
    f = staged(grad(lambda x: x * x))
    assert [f(x) for x in (1.0, 2.0, 3.0, 4.0)] == [2.0, 4.0, 6.0, 8.0]
    assert f.llvm == [f"; no native code: {asked_again()}"]
    assert f.sources


@needs_native
def test_the_switch(asked_again, monkeypatch):
    monkeypatch.setenv(machine.SWITCH, "0")
    assert asked_again() == "it is switched off by SHIFTRESET_AD_NATIVE=0"


@needs_native
@pytest.mark.parametrize(
    ("owner", "name", "fake", "reason"),
    [
        (platform, "machine", lambda: "arm64", "x86-64 only, and this is arm64"),
        (sysconfig, "get_config_var", lambda name: 1, "global lock"),
        (sys, "implementation", type("implementation", (), {"name": "pypy"}), "CPython"),
        (machine, "OF_A_FLOAT", 24, "lays out its objects in another way"),
        (machine, "OF_A_LIST", 16, "lays out its objects in another way"),
        (machine, "DATA", 32, "lays out its objects in another way"),
        (machine, "NDIM", 28, "lays out its objects in another way"),
        (machine, "DTYPE", 64, "lays out its objects in another way"),
    ],
)
def test_other_machines(asked_again, monkeypatch, owner, name, fake, reason):
    monkeypatch.setattr(owner, name, fake)
    assert reason in asked_again()


def test_this_machine_is_told_apart_from_others():
    assert machine.unfit() is None or machine.unfit()
    if machine.unfit() is None:
        assert sys.version in machine.described()
