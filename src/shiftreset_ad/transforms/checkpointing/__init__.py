"""Less memory for reverse mode: functions and loops that run again on the way back, or that go back at once.

`calls` takes a call apart so that it can be run again; `checkpoint` is one operation that does so, `loops` a loop of
them by the schedule of `revolve`; `fusion` goes back through a function at once, and keeps its partial derivatives.
"""

from shiftreset_ad.transforms.checkpointing.checkpoint import checkpoint
from shiftreset_ad.transforms.checkpointing.fusion import fuse
from shiftreset_ad.transforms.checkpointing.loops import checkpointed_loop

__all__ = ["checkpoint", "checkpointed_loop", "fuse"]
