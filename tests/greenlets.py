"""The greenlets that there are, for tests that none is left."""

import gc

from greenlet import getcurrent, greenlet

from shiftreset_ad.control.bodies import waiting


def suspended_greenlets():
    """The ids of the suspended greenlets, found without running the collector.

    A thread's own greenlet, which has no parent, does not count, nor one that waits for the next program.
    """
    found = [g for g in gc.get_objects() if issubclass(type(g), greenlet)]
    return {id(g) for g in found if g and g.parent is not None and g is not getcurrent() and g not in waiting}
