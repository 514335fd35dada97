"""Weights that no text of their rule changes are stored once for all copies of a batch."""

from __future__ import annotations

from typing import Any

import numpy as np
from error_networks import ITEMS, PATHS, UNITS, side_by_side
from sharing import COPIES, DT, Scaled, Tired, batched, check_one_memory, circuit, memories, spikes

import neurodriver as nd
from neurodriver.error_driven import Trainer


def test_one_memory_until_a_copy_is_set() -> None:
    check_one_memory()


def test_numbers_that_change_belong_to_a_copy() -> None:
    made = circuit(Tired())
    with batched(made, batch=COPIES, seed=[5, 6, 7]) as lpu:
        lpu.run(300)
        assert len(memories(lpu)) == COPIES
        left = lpu["learning"].get("left")
        assert len({one.tobytes() for one in left}) == COPIES and left.min() < 0.9


def test_a_checkpoint_of_shared_weights(tmp_path: Any) -> None:
    """What was set in one copy comes back in this copy alone."""
    made = circuit(Scaled())
    with batched(made, batch=2, seed=[5, 6]) as lpu:
        lpu.run(100)
        lpu.copies[1]["learning"].weight = 1200.0
        lpu.save(tmp_path / "kept.h5")
        lpu.run(200)
        want = [spikes(lpu, copy) for copy in range(2)]
    recorder = nd.MemoryRecorder([("spike_state", made.populations["cells"])])
    path = tmp_path / "kept.h5"
    with nd.LPU.restore(path, [], [recorder], models=[Scaled]) as lpu:
        weights = lpu["learning"].get("weight")
        assert (weights[1] == 1200.0).all() and np.ptp(weights[0]) > 100
        lpu.run(200)
        for copy in range(2):
            late = want[copy][want[copy] >= 100 * DT]
            assert len(late) > 10 and np.array_equal(spikes(lpu, copy), late)


def test_items_share_the_weights_of_a_network() -> None:
    """Also after those of one item were set: a change of weights sets all of them again."""
    with Trainer(side_by_side(), items=4) as sim, Trainer(side_by_side(), items=4) as other:
        sim.train(ITEMS, 1, 4)
        other.train(ITEMS, 1, 4)
        assert len(memories(sim.lpu)) == 1
        (held,) = [one.name for one in sim.lpu.circuit.connections if one.plasticity is not None]
        sim.lpu.copies[2][held].weight = 0.0
        assert len(memories(sim.lpu)) == 2
        for one in (sim, other):
            one.trial({"Input": UNITS, "Output": UNITS[::-1]})
        sent = sim.lpu[held].get("weight")
        changed = sim.path(*PATHS[1], "DSWt") != 0
        assert changed.any() and (sent[2] != 0).any()


def test_states_of_the_end_are_read_before_the_next_step() -> None:
    """Who keeps them has those of his trial, though nobody had asked for them before."""
    found = []
    for late in (False, True):
        with Trainer(side_by_side(), items=4) as sim:
            sim.trial({"Input": UNITS, "Output": UNITS})
            sim.begin({"Input": UNITS, "Output": UNITS[::-1]})
            sim.cycle(sim.network.cycles)
            end = sim.states()
            if not late:
                assert end.means.max() > 0
            sim.begin({"Input": UNITS[::-1], "Output": UNITS})
            sim.cycle(sim.network.cycles)
            found.append((end.means, end.of_layers(["Input", "Hidden", "Output"])))
    for one, other in zip(*found, strict=True):
        assert str(one) == str(other)
    assert np.ptp(found[0][0]) > 0.01


def test_runs_read_the_counts_of_synapses_in_one_place() -> None:
    """On a GPU a place is page-locked memory: a thousand runs need no more of it than one."""
    made = circuit(Tired())
    with batched(made, batch=2, seed=[5, 6]) as lpu:
        found = []
        for _ in range(3):
            lpu.run(20)
            found.append(lpu.simulation._findings._counts._reads)
        assert found[0] is not None
        assert all(one is found[0] for one in found)
