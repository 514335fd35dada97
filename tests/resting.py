"""A circuit whose units read and write most of their states in every third step only."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

import neurodriver as nd
from neurodriver.model.component import NDComponent, State


class Shifting(NDComponent):
    """A number that grows by itself, and its last values, taken every third step."""

    accesses: ClassVar = ()
    updates: ClassVar = ("shown",)
    params: ClassVar = {
        "gain": nd.Parameter("1", default=1.0), "limit": nd.Parameter("1", default=1e6),
    }  # fmt: skip
    states: ClassVar = {
        "level": State("1", 0.5, doc="what grows"),
        "last": State("1", 0.0, size=20, doc="its values"),
        "held": State("1", 1.0, doc="what follows from two of them"),
    }
    update = (
        "level += gain * level; if (step % 3 == 2) { "
        + " ".join(f"last[{i}] = last[{i + 1}];" for i in range(19))
        + " last[19] = level; held = last[3] + last[19] / (limit - step); } shown = level;"
    )


def circuit() -> nd.Circuit:
    """Return two populations; neither fills its last warp."""
    gains = {"few": np.linspace(0.01, 0.05, 5), "many": np.linspace(0.01, 0.1, 75)}
    return nd.Circuit(
        [nd.Population(Shifting, len(g), name=name, gain=g, limit=1e6) for name, g in gains.items()]
    )
