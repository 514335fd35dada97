"""Changes of the weights of ``benchlvis`` alone: 32.4 million synapses at the end of a trial."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from neurodriver.backends.cpu.synapse_place import HostSynapses
from neurodriver.backends.synapse_place import SynapsePlace
from neurodriver.backends.synapse_sets import SynapseSets
from neurodriver.backends.synapse_tables import SynapseSet
from neurodriver.error_driven.changes import bin_weights, rule_of
from neurodriver.error_driven.learning_texts import TEXTS
from neurodriver.error_driven.network import Network

from . import table as tables
from .lvis import SMALL, network
from .measure import median

ACTIVE = 0.12
"""Share of the units whose weights change."""


def place_of(backend: str) -> SynapsePlace:
    """Return the memory of a backend."""
    if backend == "cpu":
        return HostSynapses(TEXTS, np.dtype(np.float32), 1)
    from neurodriver.backends.cuda.device import Device
    from neurodriver.backends.cuda.synapse_place import DeviceSynapses

    return DeviceSynapses(TEXTS, np.dtype(np.float32), Device())


def sets_of(net: Network, place: SynapsePlace, items: int) -> tuple[SynapseSets, dict[str, str]]:
    """Return the synapses of a network with random states of all units, and the rules of paths."""
    rng, states, first, rules = np.random.default_rng(0), {}, {}, {}
    at = 0
    for layer in net.layers.values():
        values = rng.random((items, TEXTS.width, layer.count)).astype(np.float32) * 0.1
        names = [name for name, size in TEXTS.states.items() for _ in range(size or 1)]
        active = rng.random((items, layer.count)) < ACTIVE
        values[:, names.index("CaD")] = np.where(active, 0.5, 0.05)
        values[:, names.index("CaDBefore"), 0] = 0.9  # the greatest one of the layer
        stored, size = place.store(values), values[0, 0].nbytes
        begin = np.arange(items * TEXTS.width).reshape(items, -1) * size + stored.address
        states[layer.name], first[layer.name], at = begin, at, at + layer.count
    sets, bound = {}, {}
    for path in net.paths.values():
        own, m = net.parameters(path), len(path.pairs)
        rules[path.name] = rule_of(path, own)
        numbers: dict[str, Any] = {n: own[n] for n in TEXTS.numbers if n in own}
        by_target = path.receiver.learns_by_target
        numbers |= {"rated": True, "rate_least": 0.05}
        numbers |= {"adapts": not by_target, "balances": path.receiver.hidden}
        numbers["bin_weights"] = bin_weights(20, 5, by_target, 1.0)
        weights = dict.fromkeys(("weight", "linear", "structural"), np.full(m, 0.5))
        weights["slow"] = np.zeros(m)
        pairs, offset = path.pairs, first[path.receiver.name]
        sets[path.name] = SynapseSet(
            pairs.first, pairs.pre.astype(np.int32), weights, numbers, offset=offset,
            part=path.receiver.number,
        )  # fmt: skip
        ends = states[path.sender.name], states[path.receiver.name]
        bound[path.name] = np.stack(ends, axis=1).astype(np.uint64)
    made = SynapseSets(place, TEXTS, sets, items, at)
    places = {name: net.paths[name].pairs.by_sender for name in sets}
    sent = {
        name: np.array([place.store(np.zeros(len(p), np.float32)).address], np.uint64)
        for name, p in places.items()
    }
    made.bind(bound, sent, places)
    return made, rules


def rows(backend: str, rounds: int, small: bool) -> Iterator[dict[str, Any]]:
    """Yield a row for each text, for one item and for 16."""
    for items in (1, 16):
        net = network(SMALL, 8) if small else network()
        place = place_of(backend)
        made, rules = sets_of(net, place, items)
        difference = np.full(sum(layer.count for layer in net.layers.values()), 0.9)
        found: dict[str, list[float]] = {}
        for _ in range(rounds + 1):
            for said, texts, given in (
                ("rules", rules, {}),
                ("apply", dict.fromkeys(rules, "apply"), {}),
                ("adapt", dict.fromkeys(rules, "adapt"), {"difference": difference}),
            ):
                begin = time.perf_counter()
                made.run(texts, given)
                place.wait()
                found.setdefault(said, []).append(time.perf_counter() - begin)
        synapses = sum(len(path.pairs) for path in net.paths.values())
        for said, times in found.items():
            yield {
                "case": f"lvis, {synapses:,} synapses, {said}, {items} items",
                "us a step": median(times[1:]) * 1e6, "seconds": median(times[1:]),
            }  # fmt: skip
        made.close()


def run(rounds: int, peers: str | None) -> list[dict[str, Any]]:
    """Return the rows of the case, small, on the CPU."""
    return [*rows("cpu", rounds, True)]


def table(table: tables.Table) -> Iterator[dict[str, Any]]:
    """Yield the rows of the case."""
    yield from rows(table.backend, table.rounds, table.small)
