"""Sheets of spiking cells on regular axes, whose connections need not be stored."""

from __future__ import annotations

from typing import Any

import numpy as np

import neurodriver as nd
from neurodriver.circuit.drawn import Drawn

DT = 1e-4
CELL = {"resting_potential": -65.0, "reset_potential": -65.0, "threshold": -50.0,
        "time_constant": 10.0, "capacitance": 250.0, "refractory_period": 2.0}  # fmt: skip
DOG = nd.Formula("1.2 * exp(-d2 / 8) - 0.5 * exp(-d2 / 50) + 0.01 * dx")


def sheet(name: str, period: bool, coarse: int = 1, **more: Any) -> nd.Population:
    """Return cells on regular axes that fill 10 x 30, steps of a half and one, or coarser."""
    given = {"drive_rate": 3000.0, "drive_weight": 1.3, **CELL, **more}
    y, x = (
        nd.Axis.span(n // coarse, 0, size, period=size if period else None)
        for n, size in ((20, 10.0), (30, 30.0))
    )
    return nd.Population("LeakyIAFDeltaDriven", name=name, axes={"y": y, "x": x}, **given)


def networks(stored: Any, period: bool = True, least: float = 5e-4) -> nd.Circuit:
    """Return two sheets of one model and a coarser one; one of the projections is stored anyway.

    The least delay is that of neighbours in the first sheet, about ``least``.
    """
    a, b, c = sheet("a", period), sheet("b", period), sheet("c", period, 2)
    more: dict[str, Any] = {"stored": stored}
    delay = nd.Formula("least + 1e-4 * d", least=least)
    offsets = {"y": [0.25, 0.75, -0.25, 1.25], "x": [0.5, 0.5, -0.5, 2.5]}
    filters = nd.Offsets(offsets, [1.2, -0.4, -0.4, 0.31])
    links = [
        nd.Projection(a, a, nd.Within(3.5, autapses=False), weight=DOG, delay=delay, **more),
        nd.Projection(a, b, nd.Near(y=3, x=4), weight=0.7, delay=6e-4, **more),
        nd.Projection(b, c, filters, delay=1e-3, **more),
        nd.Projection(c, c, nd.Within(y=1.0, x=4.0), weight=-0.3, delay=7e-4, **more),
        nd.Projection(c, b, nd.FixedProbability(0.05), weight=0.2, delay=nd.Uniform(5e-4, 2e-3)),
    ]
    return nd.Circuit([a, b, c], links, seed=3)


def none_stored(one: nd.Circuit) -> nd.Circuit:
    """Return sheets of `networks` without the projection that is stored anyway."""
    return one.with_parts(one.groups, one.connections[:4])


def with_masks(stored: Any, period: bool = True) -> nd.Circuit:
    """Return sheets with holes, a disc, and a whole one; sources or targets, or both, have a mask.

    A population lies before and behind each of them in its group.
    """
    y, x = np.indices((20, 30))
    disc = (y - 9.5) ** 2 + ((x - 14.5) / 1.4) ** 2 < 90
    holes = np.random.default_rng(0).random((20, 30)) < 0.9
    a, b, c = sheet("a", period, mask=disc), sheet("b", period), sheet("c", period, mask=holes)
    offsets = {"y": [0.5, -0.5, 1.0, 0.0], "x": [1.0, 0.0, -1.0, 0.0]}
    filters = nd.Offsets(offsets, [1.2, -0.4, -0.4, 0.31])
    delay = nd.Formula("5e-4 + 1e-4 * d")
    links = [
        nd.Projection(a, a, nd.Within(3.5, autapses=False), weight=DOG, delay=delay, stored=stored),
        nd.Projection(a, b, nd.Near(y=5, x=4), weight=0.7, delay=6e-4, stored=stored),
        nd.Projection(b, c, nd.Within(2.5), weight=DOG, delay=1e-3, stored=stored),
        nd.Projection(c, a, filters, delay=7e-4, stored=stored),
    ]
    return nd.Circuit([a, b, c], links, seed=3)


def drawn(one: nd.Circuit) -> list[Drawn]:
    return [links for links in one.connections if isinstance(links, Drawn) and links.located]


def million(stored: Any = False) -> nd.Circuit:
    """Return a torus of 1,000 x 1,000 cells with 440 million connections."""
    axes = {name: nd.Axis.span(1000, 0, 1000, period=1000) for name in ("y", "x")}
    drive = {"drive_rate": 5000.0, "drive_weight": 0.5}
    cells = nd.Population("LeakyIAFDeltaDriven", name="s", axes=axes, **CELL, **drive)
    weight = nd.Formula("1.2 * exp(-d2 / 8) - 0.5 * exp(-d2 / 50)")
    delay = nd.Formula("5e-4 + 1e-4 * d")
    rule = nd.Within(12.0, autapses=False)
    link = nd.Projection(cells, cells, rule, weight=weight, delay=delay, stored=stored)
    return nd.Circuit([cells], [link], seed=1)


def uneven(name: str, period: bool, shape: tuple[int, int]) -> nd.Population:
    """Return cells on uneven axes that fill 10 x 30."""
    rng = np.random.default_rng(len(name) + shape[0])
    y, x = (
        nd.Axis.at(
            np.sort(rng.choice(5000, n, replace=False)) * end / 5000, period=end if period else None
        )
        for n, end in zip(shape, (10.0, 30.0), strict=True)
    )
    given: dict[str, Any] = {"drive_rate": 3000.0, "drive_weight": 1.3, **CELL}
    return nd.Population("LeakyIAFDeltaDriven", name=name, axes={"y": y, "x": x}, **given)


def uneven_networks(stored: Any, period: bool, least: float) -> nd.Circuit:
    """Return two sheets; rules of several kinds, one delay, and connections stored anyway."""
    a, b = uneven("a", period, (12, 25)), uneven("b", period, (9, 14))
    more: dict[str, Any] = {"stored": stored}
    delay = nd.Formula("least + 1e-4 * d", least=least)
    links = [
        nd.Projection(a, a, nd.Within(3.5, autapses=False), weight=DOG, delay=delay, **more),
        nd.Projection(a, b, nd.Near(y=3, x=4), weight=0.7, delay=6e-4, **more),
        nd.Projection(b, a, nd.Within(2.5), weight=DOG, delay=2e-4, **more),
        nd.Projection(b, b, nd.Within(y=2.0, x=4.0), weight=-0.3, delay=delay, **more),
        nd.Projection(b, a, nd.FixedProbability(0.05), weight=0.2, delay=1e-3, name="stored"),
    ]
    return nd.Circuit([a, b], links, seed=3)
