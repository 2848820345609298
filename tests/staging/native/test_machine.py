"""Without llvmlite, on other machines, and where it is switched off, nothing is native, and the reason is told."""

import platform
import subprocess
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


FULL = """
import ctypes
from shiftreset_ad.staging.native import machine

PAGE, LARGE = 4096, 2**33
HIDDEN, RESERVED = 0, 0x4022  # no access; private, anonymous, without memory behind it

system = ctypes.CDLL(None)
system.mmap.restype = ctypes.c_void_p
system.mmap.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long
system.munmap.argtypes = ctypes.c_void_p, ctypes.c_size_t

def taken(size):
    address = system.mmap(None, size, HIDDEN, RESERVED, -1, 0)
    assert address != ctypes.c_void_p(-1).value
    return address

def without_gaps_above(lowest, sizes):
    for size in sizes:
        while taken(size) > lowest:
            pass

code = machine.compiled("define double @f(double %x) {\\n %y = fmul double %x, 1.1\\n ret double %y\\n}")
machine._linker()
without_gaps_above(taken(2**26), [2**20, 2**16, 2**14, PAGE])
large = taken(LARGE)
without_gaps_above(large, [PAGE])
system.munmap(large + LARGE - 3 * PAGE, PAGE)
linked = machine.Linked(code, {}, "f")
print(ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(linked.address("f"))(2.0))
"""


@needs_native
@pytest.mark.skipif(sys.platform != "linux", reason="fills memory by Linux's numbers")
def test_code_and_its_constants_lie_together_where_memory_is_full_of_arrays():
    # The only gap is of one page. When the constants went 8 GB away from the code, LLVM ended the process.
    found = subprocess.run([sys.executable, "-c", FULL], capture_output=True, text=True, check=False)
    assert (found.stdout, found.returncode) == ("2.2\n", 0), found.stderr
