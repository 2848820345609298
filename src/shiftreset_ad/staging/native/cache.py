"""Compiled code is kept on disk, so that another run of the program need not compile it again.

A file has the name of its text, its processor and its versions, by their hash. It begins with the hash of its content:
a file that is damaged or cut off is compiled anew. As code is run, the folder must be the user's own, and nobody else's
to write to.
"""

from __future__ import annotations

import hashlib
import os
import stat
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

FOLDER = "SHIFTRESET_AD_CACHE"  # the environment variable with the folder; "0" for no cache
LARGEST = 256 * 2**20  # bytes, of all files
# All files are looked at once for this share of the largest size, on average: it takes 0.2 s with 23,000 files.
SHARE = 1 / 16
LENGTH_OF_A_HASH = hashlib.sha256().digest_size


def kept(key: str, make: Callable[[], bytes]) -> bytes:
    """The content for a key, which is made if it is not on disk."""
    folder = _folder()
    if folder is None:
        return make()
    path = folder / f"{_hash(key.encode()).hex()}.o"
    content = _read(path)
    if content is None:
        content = make()
        with suppress(OSError):  # a full disk
            _write(path, content)
    return content


def _hash(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()


def _folder() -> Path | None:
    """The folder of the cache; None if there is none, or if others can write to it."""
    given = os.environ.get(FOLDER)
    if given == "0":
        return None
    try:
        folder = Path(given) if given else _of_the_user() / "shiftreset_ad"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return folder if _is_private(folder) else None
    except (OSError, RuntimeError):  # there may be no home
        return None


def _of_the_user() -> Path:
    if sys.platform == "win32":
        return Path(os.environ["LOCALAPPDATA"]) if "LOCALAPPDATA" in os.environ else Path.home() / "AppData" / "Local"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def _is_private(path: Path) -> bool:
    if sys.platform == "win32":  # a folder in the user's own has its rights
        return True
    status = path.lstat()
    return status.st_uid == os.getuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _read(path: Path) -> bytes | None:
    """The content of a file; None if there is no file that is whole and the user's own."""
    with suppress(OSError):
        if not path.is_symlink() and _is_private(path):
            found = path.read_bytes()
            content = found[LENGTH_OF_A_HASH:]
            if found[:LENGTH_OF_A_HASH] == _hash(content):
                with suppress(OSError):
                    os.utime(path)  # the files that were used last are kept
                return content
    return None


def _write(path: Path, content: bytes) -> None:
    """Write a file in one step, so that nobody reads a part of it; now and then, keep to the size of the cache."""
    descriptor, name = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(_hash(content) + content)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    if _by_chance(path.stem) * SHARE * LARGEST < len(content):
        _keep_to_size(path.parent)


def _by_chance(name: str) -> float:
    """A number between 0 and 1 for the name of a file, which is a hash. So the processes that write need no count."""
    return int(name[:13], 16) / 16.0**13


def _keep_to_size(folder: Path) -> None:
    """Remove the files that were used longest ago, if all together are too large."""
    files = []
    for path in folder.glob("*.o"):
        with suppress(OSError):  # another process may have removed it
            status = path.stat()
            files.append((status.st_mtime_ns, status.st_size, path))
    total = sum(size for _, size, _ in files)
    for _, size, path in sorted(files):
        if total <= LARGEST:
            return
        with suppress(OSError):
            path.unlink(missing_ok=True)
        total -= size
