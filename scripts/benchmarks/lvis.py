"""Axon's ``benchlvis``: 47,204 neurons and 32.4 million synapses that learn, trial by trial."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from neurodriver.error_driven import Network, PoolTile, Table, Trainer, UniformRandom

from . import table as tables
from .measure import median

ONE, MANY = (None, 10.0, 380.0), (16, 3.0, 88.0)
"""Items side by side, target and Axon's published figure for an H100, in ms of a trial and item."""

STREAMS, SMALL = 4, 1

TRIALS = 10
"""Trials one after the other whose mean time counts."""


def network(streams: int = STREAMS, pools: int = 16) -> Network:
    """Return the network.

    Parameters
    ----------
    streams : int
        Streams of V1, V2, V4 and TE, which have the layer ``Output`` in common.
    pools : int
        Sub-pools of V1 along an axis, a multiple of 4; V2 has half of them, V4 a quarter.
    """
    net = Network(seed=1)
    out = net.layer("Output", "target", (10, 10), gi=0.7)
    tile = PoolTile((4, 4), (2, 2), (-1, -1))
    for i in range(streams):
        v1 = net.layer(f"V1_{i}", "input", (pools, pools, 5, 5), gi=0.9)
        v2 = net.layer(f"V2_{i}", "super", (pools // 2, pools // 2, 8, 8))
        v4 = net.layer(f"V4_{i}", "super", (pools // 4, pools // 4, 8, 8))
        te = net.layer(f"TE_{i}", "super", (pools, pools))
        net.connect(v1, v2, tile)
        net.connect(v2, v4, tile)
        net.connect(v4, v2, tile, "back")  # its 4 x 4 sub-pools are all of V4
        net.connect(v1, v4, UniformRandom(0.1, seed=i))
        net.connect_both(v4, te)
        net.connect_both(te, out)
    net.set("layer", gi=1.05, nominal=0.08)
    net.set("path", lrate=0.005)
    net.set(".back", rel=0.2)
    return net


def shown(net: Network, items: int) -> Table:
    """Return random patterns with the expected share of active units, for all inputs at once."""
    rng, found = np.random.default_rng(2), {}
    for layer in net.layers.values():
        if layer.kind in ("input", "target"):
            drawn = rng.random((2 * items, layer.count)).argsort(axis=1)
            found[layer.name] = (drawn < round(0.08 * layer.count)).astype(float)
    return Table(shuffled=False, **found)


def parts(sim: Trainer, environment: Table, rounds: int) -> dict[str, float]:
    """Return the times of the parts of a training trial in ms, for each item, and of a trial.

    Each part is waited for. In ``trial`` nothing is: the next trial begins while weights change.
    ``device`` is what the cycles take on a GPU, by its own clock.
    """
    found: dict[str, list[float]] = {}
    shown, items = sim._next(iter(environment)), sim.count
    assert shown is not None

    def changed() -> None:
        sim.end()
        sim.synapses.wait()

    def trials() -> None:
        for _ in range(TRIALS):
            sim.trial(shown)
        sim.synapses.wait()

    def timed(name: str, action: Callable[[], object], times: int = 1) -> None:
        begin = time.perf_counter()
        action()
        spent = (time.perf_counter() - begin) / items * 1e3
        found.setdefault(name, []).append(spent / times)

    for _ in range(rounds + 1):
        before = getattr(sim.lpu.backend, "device_seconds", math.nan)
        timed("inputs", lambda: sim.begin(shown))
        timed("cycles", lambda: sim.cycle(sim.network.cycles))
        after = getattr(sim.lpu.backend, "device_seconds", math.nan)
        found.setdefault("device", []).append((after - before) / items * 1e3)
        timed("states", sim.states)
        timed("changes", changed)
        timed("statistics", sim.statistics)
        timed("trial", trials, TRIALS)
    return {name: median(times[1:]) for name, times in found.items()}


def rows(
    backend: str, rounds: int, small: bool, case: tuple[int | None, float, float]
) -> Iterator[dict[str, Any]]:
    """Yield the row of a case; ``small``: one stream, and half of its pools along an axis."""
    items, target, published = case
    begin = time.perf_counter()
    net = network(SMALL, 8) if small else network()
    neurons = sum(layer.count for layer in net.layers.values())
    synapses = sum(len(path.pairs) for path in net.paths.values())
    with Trainer(net, items, backend=backend, dtype="float32") as sim:
        built = time.perf_counter() - begin
        found = parts(sim, shown(net, sim.count), rounds)
    trial = found.pop("trial")
    each = "" if items is None else f", {items} items, each"
    told = {} if small or backend == "cpu" else {
        "target": f"<= {target:g} ms", "met": "yes" if trial <= target else "no"
    }  # fmt: skip
    yield {
        "case": f"lvis, {neurons:,} neurons, {synapses:,} synapses, a training trial of "
        f"{net.cycles} cycles{each}, float32",
        "us a step": trial / net.cycles * 1e3, "seconds": trial / 1e3, "build s": built,
        "peer": f"Axon on an H100, published: {published:g} ms a trial", **told,
        "floor": ", ".join(f"{name} {ms:.3g} ms" for name, ms in found.items()),
    }  # fmt: skip


def run(rounds: int, peers: str | None) -> list[dict[str, Any]]:
    """Return the rows of the case, small, on the CPU."""
    return [*rows("cpu", rounds, True, ONE)]


def table(table: tables.Table) -> Iterator[dict[str, Any]]:
    """Yield the rows of the case."""
    yield from rows(table.backend, table.rounds, table.small, ONE)
