"""Populations of two models on shared columns, connected by rules of place."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import neurodriver as nd
from neurodriver.plan.sums import patches


class Summing(nd.NDComponent):
    """Reads weighted and plain values of its own kind and of others, and takes a current."""

    accesses = [
        nd.Weighted("r", "near"), nd.Access("r", "plain"), nd.Weighted("r", "far"), nd.Access("I"),
    ]  # fmt: skip
    updates, states = {"r": "1"}, {"r": nd.State("1", "first")}
    params = {"first": "1", "gain": nd.Parameter("1", default=0.3)}
    update = "r = gain * r + 0.05 * near + 0.02 * plain - 0.03 * far + I;"


class Bounded(nd.NDComponent):
    """Bounds what it reads; its greatest input counts, too."""

    accesses = [nd.Weighted("r"), nd.Access("r", "most", reduce="max")]
    updates = {"r": "1"}
    states = {"r": nd.State("1", "first"), "slow": nd.State("1", doc="its running mean")}
    params = {"first": "1"}
    update = """
        slow += 0.1 * (r - slow);
        r = 0.1 * slow + 0.2 * r + 0.1 * fmax(-1, fmin(1, input_r)) + 0.1 * most;
    """


class Noisy(Bounded):
    """The same with noise."""

    update = Bounded.update + " r += 0.01 * normal();"


MODELS = [Summing, Bounded]


def force(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let patches be chosen for any number of connections."""
    monkeypatch.setattr(patches, "PER_EDGE", 1e9)


def circuit(
    flat: bool = False,
    stored: bool = False,
    scale: int = 1,
    noise: bool = False,
    beside: tuple[list[nd.Population], list[nd.Projection]] = ([], []),
) -> nd.Circuit:
    """Return four populations: all columns, with holes, on each second row, without input.

    ``beside``: others with their connections.
    """
    rng = np.random.default_rng(11)
    high, wide = (1, 90 * scale) if flat else (21 * scale, 37 * scale)
    y, x = nd.Axis.span(high, 0, high), nd.Axis.span(wide, 0, wide)
    axes: dict[str, Any] = {"x": x} if flat else {"y": y, "x": x}
    coarse = {"x": x.windows(3, 2)} if flat else {"y": y.windows(3, 2), "x": x}
    extent = (wide,) if flat else (high, wide)
    holes: dict[str, Any] = {"mask": rng.random(extent) < 0.85}
    first: dict[str, Any] = {"first": nd.Uniform(-1, 1)}
    a = nd.Population(Summing, name="a", axes=axes, **first, gain=nd.Uniform(0.1, 0.4))
    b = nd.Population(Summing, name="b", axes=axes, **first, **holes)
    c = nd.Population(Noisy if noise else Bounded, name="c", axes=coarse, **first)
    across = np.abs(np.arange(wide) - wide / 2) + np.arange(high)[:, None] - high / 2
    round_: dict[str, Any] = {"mask": (across < 0.4 * wide).reshape(extent)}
    d = nd.Population(Summing, name="d", axes=axes, **first, **round_)
    number = 1 if flat else 2
    here, there = (np.unique(rng.integers(-4, 5, (12, number)), axis=0) for _ in range(2))
    over = [0.0] * number
    formula = nd.Formula("exp(-d2 / 4) - 0.4 * exp(-d2 / 9) + 0.01 * dx")

    def rule(offsets: np.ndarray) -> nd.Offsets:
        return nd.Offsets(offsets + over, rng.normal(0, 1, len(offsets)))

    links: list[Any] = [
        ("near", a, a, rule(here), {"delay": 2e-3}),
        ("near", d, b, rule(there), {"delay": 2e-3}),
        ("near", a, b, nd.Within(2.2), {"weight": formula, "delay": 2e-3}),
        ("plain", d, a, nd.Within(1.5), {}),
        ("plain", d, b, nd.Near(x=5) if flat else nd.Near(y=3, x=5), {}),
        ("far", c, a, rule(there), {}),
        ("r", d, c, rule(there), {}),
        ("r", a, c, rule(here), {}),
        ("most", a, c, nd.Near(x=3) if flat else nd.Near(y=3, x=3), {}),
    ]
    made = [
        nd.Projection(source, target, one, receptor=way, name=f"{n}", stored=stored, **more)
        for n, (way, source, target, one, more) in enumerate(links)
    ]
    return nd.Circuit([a, b, c, d, *beside[0]], made + beside[1], seed=5)
