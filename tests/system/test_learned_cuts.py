"""Circuits that learn, cut into LPUs: the bits of the whole."""

from __future__ import annotations

from pathlib import Path

import learning_networks
import numpy as np
import pytest
from cutting import with_crossings
from learning_networks import CELLS, DT, RULES, SOURCES, Cell, Rewarded, network, trains
from support import model

import neurodriver as nd
from neurodriver.circuit.cut import cut
from neurodriver.model.plasticity import Plasticity

STEPS = 200
MODELS = Path(learning_networks.__file__)
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


@pytest.mark.parametrize("drawn", [False, True])
def test_a_part_that_nothing_learns_in_has_the_units_of_the_whole(
    drawn: bool, tmp_path: Path
) -> None:
    """One weight is its own unit, and not a power of two; beside weights that learn it is."""
    groups = [(model("SpikeSource"), 2, {}, ["s0", "s1"]), (Cell, 2, {}, ["c0", "c1"])]
    given = {"access": "learned", "delay": 2 * DT}
    fixed: nd.Connections | nd.Projection
    if drawn:
        fixed = nd.Projection(
            "spike_state", "learned", (1, 2), (3, 4), nd.FixedInDegree(3), 0.7, 2 * DT, "fixed"
        )
    else:
        fixed = nd.Connections("spike_state", source=[1], target=[3], data={"weight": 0.7}, **given)
    learns = nd.Connections(
        "spike_state",
        source=[0],
        target=[2],
        data={"weight": 0.3},
        plasticity=RULES[0](),
        name="learning",
        **given,
    )
    circuit = nd.Circuit.from_arrays(groups, [fixed, learns], name="learns")
    part = np.array([0, 1, 0, 1])
    alone = cut(circuit, part, ["a", "b"]).circuits["b"]
    alone.save(tmp_path / "b.h5")
    read = nd.Circuit.from_file(tmp_path / "b.h5", models=MODELS)
    assert read.digest == alone.digest
    found = []
    for one, parts in ((circuit, None), (circuit, part), (alone, None), (read, None)):
        recorder = nd.MemoryRecorder([("V", ["c1"])])
        spikes = nd.ArrayInput({"spike_state": (["s1"], np.ones((40, 1)))})
        with nd.LPU(one, DT, spikes, recorder, parts=parts, backend="cpu") as lpu:
            lpu.run(steps=40)
        found.append(recorder.get("V"))
    assert found[0].any()
    assert all(np.array_equal(found[0], v) for v in found[1:])
