"""Circuits that learn, cut into LPUs: the bits of the whole."""

from __future__ import annotations

import numpy as np
import pytest
from cutting import with_crossings
from learning_networks import CELLS, DT, RULES, SOURCES, Rewarded, network, trains

import neurodriver as nd
from neurodriver.circuit.cut import cut
from neurodriver.model.plasticity import Plasticity

STEPS = 200
PART = np.array([0, 0, 0, 0, 1, 1, 1, *([0, 1] * CELLS)[:CELLS]])


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule is not Rewarded])
def test_parts_have_the_bits_of_the_whole(rule: type[Plasticity]) -> None:
    """Sources and targets in both; the delay of a crossing lies between source and synapse."""
    circuit = network(rule())
    parts = cut(circuit, PART, ["a", "b"])
    crossed = with_crossings(circuit, PART, DT)
    recorder = nd.MemoryRecorder([("V", None)])
    with nd.LPU(crossed, DT, trains(circuit), recorder, backend="cpu") as lpu:
        lpu.run(STEPS)
        weights, v = lpu["learning"].get(), recorder.get("V")
        uids = recorder.uids("V")
        target = lpu.circuit.connections[1].target
    man = nd.Manager(timeout=60.0)
    for name, one in parts.circuits.items():
        mine = [uid for uid in (f"s{i}" for i in range(SOURCES)) if one.find([uid])[0] >= 0]
        man.add(nd.LPU, name, one, DT, [trains(one, of=mine)], [nd.MemoryRecorder([("V", None)])])
    for (source, to), pattern in parts.patterns().items():
        man.connect(source, to, pattern)
    man.spawn()
    man.start(steps=STEPS)
    man.wait()
    for number, (name, lpu) in enumerate(man.lpus.items()):
        mine = lpu.recorders[0]
        at = [uids.index(uid) for uid in mine.uids("V")]
        assert at and np.array_equal(mine.get("V"), v[:, at]), name
        assert np.array_equal(lpu["learning"].get(), weights[PART[target] == number])


def test_a_modulator_from_another_lpu_is_refused() -> None:
    """The reason is told."""
    parts = cut(network(Rewarded()), 1 - PART, ["a", "b"])
    with pytest.raises(nd.CircuitError, match="'s2', which is in another LPU"):
        nd.LPU(parts.circuits["a"], DT, backend="cpu")
