"""Which functions are the user's own, so that the front end follows calls of them: not those of installed packages."""

from __future__ import annotations

import os
import sys
import sysconfig
from typing import Any

from shiftreset_ad.control.frames import LIBRARIES, PACKAGE

_INSTALLED = tuple(
    {os.path.join(sysconfig.get_path(name), "") for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    | {PACKAGE, "<frozen "}
)


def is_of_the_user(module: Any, filename: str | None = None) -> bool:
    """Whether a module is the user's own."""
    if (module or "").partition(".")[0] in LIBRARIES:
        return False
    if filename is None:
        filename = getattr(sys.modules.get(module), "__file__", None)
    return filename is None or not filename.startswith(_INSTALLED)
