"""A widget for notebooks that goes through a trace, one operation at a time, there and back again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shiftreset_ad.debugging.tables import html, operation, shown
from shiftreset_ad.debugging.traced import Moment, Traced

OF_THE_WAY_BACK = ("back", "adjoint", "adds to its operands")
MISSING = "stepper: the widget needs ipywidgets; install it, or look at the table, print(trace)"


def page(steps: Sequence[Traced], order: Sequence[Moment], moment: int) -> str:
    """What has happened up to a moment, as HTML; the operation of this moment is marked."""
    done = order[: moment + 1]
    reached = {index for way, index in done if way == "there"}
    resumed = {index for way, index in done if way == "back"}
    hidden = frozenset((step.index, name) for step in steps if step.index not in resumed for name in OF_THE_WAY_BACK)
    way, here = order[moment]
    step = steps[here]
    said = f"= {shown(step.value)}" if way == "there" else f"its adjoint is {shown(step.adjoint) or '0'}"
    heading = f"<p><b>{way} {moment + 1} of {len(order)}</b>: {operation(step)} {said}</p>"
    return heading + html([step for step in steps if step.index in reached], here, hidden)


def stepper(steps: Sequence[Traced], order: Sequence[Moment]) -> Any:
    """The widget. Raises ImportError, with the remedy, where ipywidgets is not installed."""
    try:
        import ipywidgets
    except ImportError as error:
        raise ImportError(MISSING) from error
    last = max(len(order) - 1, 0)
    play = ipywidgets.Play(min=0, max=last, interval=800)
    slider = ipywidgets.IntSlider(min=0, max=last, description="moment")
    ipywidgets.jslink((play, "value"), (slider, "value"))
    view = ipywidgets.HTML(page(steps, order, 0) if order else "nothing happened")
    slider.observe(lambda change: setattr(view, "value", page(steps, order, change["new"])), "value")
    return ipywidgets.VBox([ipywidgets.HBox([play, slider]), view])
