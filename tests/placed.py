"""Layers whose cells are connected by rules of place, for all that a sum can be."""

from __future__ import annotations

from typing import Any

import numpy as np

import neurodriver as nd

WAYS = ("sum", "weighted", "max", "min", "mean", "product", "any", "argmax")
EACH = {"weighted": "weight * x", "product": "1 + 0.1 * x", "any": "x > 0.685 ? 1 : 0"}
REDUCE = {"weighted": "sum"}


class Fading(nd.NDComponent):
    """Has a value that changes in each step."""

    updates, states, params = {"x": "1"}, {"x": nd.State("1", "first")}, {"first": "1"}
    update = "x = x * 0.9 + 0.01;"


class Seen(nd.NDComponent):
    """Shows what it makes of the values that it reads, in each of the ways."""

    accesses = [
        nd.Access("x", f"by_{way}", EACH.get(way, ""),
                  {"weight": nd.Parameter("", 1.0)} if way == "weighted" else {},
                  reduce=REDUCE.get(way, way))
        for way in WAYS
    ]  # fmt: skip
    updates = {f"r_{way}": "1" for way in WAYS}
    update = " ".join(f"r_{way} = by_{way};" for way in WAYS)


def axis(rng: np.random.Generator, count: int, kind: str) -> nd.Axis:
    period = 4.0 if "closed" in kind else None
    if "uneven" in kind:
        return nd.Axis.at(np.sort(rng.choice(4000, count, replace=False)) / 1000, period=period)
    return nd.Axis.span(count, 0, 4, period=period)


def circuit(kind: str, masked: bool, stored: bool) -> nd.Circuit:
    """Return two layers that read a third one, with masks, delays and several rules."""
    rng = np.random.default_rng(7)
    y, x = axis(rng, 11, kind), axis(rng, 50, kind)
    mask = (np.abs(np.arange(11)[:, None] - 5) + np.abs(np.arange(50) - 25) < 26)[None]
    given = {"mask": np.repeat(mask, 3, axis=0)} if masked else {}
    axes: dict[str, Any] = {"t": 3, "y": y, "x": x}
    a = nd.Population(Fading, name="a", axes=axes, first=rng.random((3, 11, 50)), **given)
    to = x if kind == "closed" else axis(rng, 40, "even") if kind == "uneven" else x.windows(4)
    b = nd.Population(Seen, name="b", axes={"t": 3, "y": y.windows(3), "x": to})
    holes = rng.random((11, to.count)) < 0.9
    c = nd.Population(Seen, name="c", axes={"y": y, "x": to}, mask=holes)
    links = []
    for way in WAYS:
        more: dict[str, Any] = {"receptor": f"by_{way}", "stored": stored}
        more |= {"weight": 0.7} if way == "weighted" else {}
        rules = (b, nd.Near(t="same", y=3, x=4), 0.0), (b, nd.Within(x=0.5, y=0.3), 2e-3)
        for n, (target, rule, delay) in enumerate([*rules, (c, nd.Within(y=0.4, x=0.4), 0.0)]):
            name = f"{way} {n}"
            links.append(nd.Projection(a, target, rule, delay=delay, name=name, **more))
    if kind == "even":
        step, over = x.step, b.x.positions[0] - x.positions[3]
        y_over = b.y.positions[0] - y.positions[0]
        offsets = {"t": [0, 0, 1], "y": [y_over] * 3, "x": np.array([0, step, -2 * step]) + over}
        rule = nd.Offsets(offsets, [1.0, 2.0, 3.0])
        more = {"receptor": "by_weighted", "stored": stored}
        links.append(nd.Projection(a, b, rule, name="offsets", **more))
    return nd.Circuit([a, b, c], links)
