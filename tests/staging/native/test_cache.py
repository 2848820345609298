"""Compiled code stays on disk, and a file that is damaged, foreign or too much does no harm."""

import os
import stat
import subprocess
import sys
import time

import pytest

from shiftreset_ad.staging.native import cache
from tests.staging.native.natively import native, needs_native


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv(cache.FOLDER, str(tmp_path / "cache"))
    return tmp_path / "cache"


def made(content=b"code"):
    calls = []

    def make():
        calls.append(1)
        return content

    return make, calls


def test_what_is_kept_is_not_made_again(folder):
    make, calls = made()
    assert [cache.kept("key", make) for _ in range(3)] == [b"code"] * 3
    assert len(calls) == 1
    assert cache.kept("another key", lambda: b"other") == b"other"
    assert len(list(folder.iterdir())) == 2


@pytest.mark.parametrize("damage", [lambda b: b[:-1], lambda b: b + b"x", lambda b: b"x" + b[1:], lambda b: b""])
def test_a_damaged_file_is_made_again(folder, damage):
    make, calls = made()
    cache.kept("key", make)
    (file,) = folder.iterdir()
    file.write_bytes(damage(file.read_bytes()))
    assert [cache.kept("key", make) for _ in range(2)] == [b"code"] * 2
    assert len(calls) == 2


@pytest.mark.skipif(sys.platform == "win32", reason="rights are others there")
def test_what_others_can_write_to_is_not_used(folder, tmp_path):
    make, calls = made()
    cache.kept("key", make)
    (file,) = folder.iterdir()
    file.chmod(0o666)
    cache.kept("key", make)
    assert len(calls) == 2  # and the file is the user's own again
    assert not file.stat().st_mode & stat.S_IWOTH
    target = tmp_path / "target"
    file.rename(target)
    file.symlink_to(target)
    cache.kept("key", make)
    assert len(calls) == 3
    folder.chmod(0o777)
    cache.kept("key", make)
    assert len(calls) == 4


def test_the_folder_is_the_users_own(folder):
    cache.kept("key", made()[0])
    assert not folder.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO) or sys.platform == "win32"


def test_the_files_that_were_used_last_are_kept(folder, monkeypatch):
    monkeypatch.setattr(cache, "LARGEST", 5 * 1032)
    for number in range(5):
        cache.kept(f"{number}", lambda: bytes(1000))
        for file in folder.iterdir():
            os.utime(file, ns=(file.stat().st_atime_ns, file.stat().st_mtime_ns - 10**9))
    make, calls = made(bytes(1000))
    cache.kept("0", make)  # used again, so the next file displaces the second
    cache.kept("5", make)
    assert len(calls) == 1
    cache.kept("0", make)
    assert len(calls) == 1
    cache.kept("1", make)
    assert len(calls) == 2
    assert sum(file.stat().st_size for file in folder.iterdir()) <= cache.LARGEST


def test_a_small_file_seldom_has_all_files_looked_at(folder, monkeypatch):
    looks = []
    monkeypatch.setattr(cache, "LARGEST", 16 * 100 * 1000)
    monkeypatch.setattr(cache, "_keep_to_size", lambda folder: looks.append(folder))
    for number in range(300):
        cache.kept(f"{number}", lambda: bytes(1000))
    assert 0 < len(looks) < 20  # by one of 100 files, on average


def test_the_cache_hardly_grows_beyond_its_size(folder, monkeypatch):
    monkeypatch.setattr(cache, "LARGEST", 160 * 1000)
    for number in range(400):
        cache.kept(f"{number}", lambda: bytes(1000))
    assert sum(file.stat().st_size for file in folder.iterdir()) < 1.5 * cache.LARGEST


@pytest.mark.parametrize("place", ["0", "a file", "/proc/none"])
def test_without_a_folder_nothing_is_kept(tmp_path, monkeypatch, place):
    if place == "a file":
        place = tmp_path / "file"
        place.write_text("")
    monkeypatch.setenv(cache.FOLDER, str(place))
    make, calls = made()
    assert [cache.kept("key", make) for _ in range(2)] == [b"code"] * 2
    assert len(calls) == 2


def test_a_full_disk_does_no_harm(folder, monkeypatch):
    def full(*args):
        raise OSError("no space left on device")

    monkeypatch.setattr(cache.Path, "replace", full)
    assert cache.kept("key", lambda: b"code") == b"code"
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("variable", ["XDG_CACHE_HOME", "HOME"])
def test_the_folder_of_the_user(tmp_path, monkeypatch, variable):
    if sys.platform != "linux":
        pytest.skip("other systems have other folders")
    for name in (cache.FOLDER, "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(variable, str(tmp_path))
    cache.kept("key", lambda: b"code")
    assert len(list(tmp_path.rglob("shiftreset_ad/*.o"))) == 1


PROGRAM = """
import sys
from shiftreset_ad import grad, staged
from shiftreset_ad.staging.native import machine
import numpy as np
if sys.argv[1] == "again":
    machine.compiled = None  # nothing is compiled
f = staged(grad(lambda x: np.exp(x) * x**2.5))
for x in (1.0, 2.0, 3.0, 3.0):
    assert f(x) == grad(lambda x: np.exp(x) * x**2.5)(x)
assert "no native code" not in f.llvm[0], f.llvm[0]
assert type(f.__call__) is type(len), f.__call__  # a gate
"""


@pytest.mark.slow
@needs_native
def test_another_run_of_the_program_compiles_nothing(folder):
    for time_ in ("first", "again"):
        subprocess.run(
            [sys.executable, "-c", PROGRAM, time_], check=True, env=dict(os.environ, PYTHONHASHSEED="random")
        )
    assert len(list(folder.iterdir())) == 2  # the gradient, and the gate


@needs_native
def test_compiled_code_loads_quickly(folder):
    code = native(lambda x: x * x + 1.0, 2.0)
    assert code.entry()(3.0) == [10.0]
    times = []
    for _ in range(5):
        start = time.perf_counter()
        entry = code.entry()
        times.append(time.perf_counter() - start)
        assert entry(3.0) == [10.0]
    assert min(times) < 0.05
