"""The evals by their names, as the messages have them."""

from __future__ import annotations

from types import ModuleType

from . import ba, det, gmm, hello, ht, kmeans, llsq, lse, lstm, ode, particle, saddle

_MODULES: tuple[ModuleType, ...] = (hello, saddle, particle, det, llsq, lse, ode, kmeans, gmm, lstm, ba, ht)

EVALS = {module.__name__.rpartition(".")[2]: module.FUNCTIONS for module in _MODULES}
