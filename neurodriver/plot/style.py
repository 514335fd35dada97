"""Colours and sizes that all figures share, and the import of matplotlib."""

from __future__ import annotations

from typing import Any

from ..errors import NeurodriverError

COLOURS = (
    "#4477AA", "#CC6677", "#117733", "#DDAA33", "#332288", "#44AA99",
    "#AA4499", "#999933", "#88CCEE", "#882255", "#EE7733", "#555555",
)  # fmt: skip
"""Distinct also for colour-blind readers (after Paul Tol)."""

STYLE: dict[str, Any] = {
    "font.size": 9.0, "svg.fonttype": "none",
    "axes.edgecolor": "#888888", "axes.labelcolor": "#333333", "axes.linewidth": 0.8,
    "axes.spines.top": False, "axes.spines.right": False,
    "axes.titlesize": 10.0, "axes.titleweight": "bold", "axes.titlelocation": "left",
    "grid.color": "#E6E6E6", "grid.linewidth": 0.6,
    "xtick.color": "#555555", "ytick.color": "#555555",
}  # fmt: skip


def matplotlib() -> Any:
    """Import matplotlib, or say how to get it."""
    try:
        import matplotlib
    except ImportError as error:
        raise NeurodriverError('figures need pip install "neurodriver[plot]"') from error
    return matplotlib


def short(uid: str) -> str:
    """Return a uid as figures show it."""
    return uid if len(uid) <= 22 else f"{uid[:10]}…{uid[-11:]}"
