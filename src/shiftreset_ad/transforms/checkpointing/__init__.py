"""Less memory for reverse mode: functions and loops that run again on the way back, or that go back at once.

`calls` takes a call apart so that it can run again. `checkpoint` makes one operation of such a call, and `loops` makes
one operation of a loop, by the schedule of `revolve`. `fusion` goes back through a function at once, and keeps its
partial derivatives.
"""

from shiftreset_ad.transforms.checkpointing.checkpoint import checkpoint
from shiftreset_ad.transforms.checkpointing.fusion import fuse
from shiftreset_ad.transforms.checkpointing.loops import checkpointed_loop

__all__ = ["checkpoint", "checkpointed_loop", "fuse"]
