"""Synapses that learn: a run that is saved, changed or reset goes on with equal bits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from learning_networks import (
    CELLS,
    DT,
    RULES,
    Cell,
    Counting,
    Pairs,
    equal,
    learning,
    network,
    state_of,
    trains,
)

import neurodriver as nd
from neurodriver.model.library import shipped
from neurodriver.model.plasticity import Plasticity
from neurodriver.plan.spikes.learning import LearningPlan

STEPS = 300


def whole(rule: Plasticity, steps: int = STEPS, **options: Any) -> tuple[Any, Any, Any]:
    """Return potentials, events and synapses of a run without interruption."""
    with learning(rule, **options) as lpu:
        lpu.run(steps)
        recorder = lpu.recorders[0]
        return recorder.get("V"), recorder.get("spike_state"), state_of(lpu)


def recorder() -> nd.MemoryRecorder:
    return nd.MemoryRecorder([("V", None), ("spike_state", None)])


def goes_on(path: Path, rule: type[Plasticity], **options: Any) -> nd.LPU:
    """Return an LPU that goes on from a file."""
    with h5py.File(path) as file:
        assert "learned" in file["state"]
    circuit = network(rule())
    return nd.LPU.restore(path, [trains(circuit)], [recorder()], models=[Cell, rule], **options)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("rule", RULES)
def test_a_checkpoint_goes_on_with_equal_bits(
    tmp_path: Path, rule: type[Plasticity], dtype: str
) -> None:
    """Other threads; the restored LPU is saved again, twice at one step."""
    v, spikes, synapses = whole(rule(), dtype=dtype)
    assert len(spikes["time"]) > 3 * CELLS
    assert any(np.ptp(column) > 0 for column in synapses.values())
    path = tmp_path / "a.h5"
    with learning(rule(), dtype=dtype, threads=1) as lpu:
        lpu.run(83)
        lpu.save(path)
    for threads, steps in ((3, 41), (2, 1), (1, 60)):
        with goes_on(path, rule, threads=threads, backend="cpu") as lpu:
            first = lpu.step
            lpu.save(path)
            lpu.run(steps)
            assert np.array_equal(lpu.recorders[0].get("V"), v[first : first + steps])
            lpu.save(path)
    with goes_on(path, rule, threads=2, backend="cpu") as lpu:
        first = lpu.step
        lpu.run(STEPS - first)
        assert np.array_equal(lpu.recorders[0].get("V"), v[first:])
        later = spikes["time"] >= (first - 0.5) * DT
        found = lpu.recorders[0].get("spike_state")
        assert later.any() and np.array_equal(found["time"], spikes["time"][later])
        assert equal(state_of(lpu), synapses)


@pytest.mark.parametrize("rule", RULES)
def test_reading_changes_no_bit(rule: type[Plasticity]) -> None:
    """Synapses are read after each step, or weights are set to what they are."""
    v, _, synapses = whole(rule())
    with learning(rule()) as lpu:
        for step in range(STEPS):
            if step % 3 == 0:
                lpu["learning"].set("weight", lpu["learning"].get("weight"))
            elif step % 7 == 0:
                state_of(lpu)
            lpu.run(1)
        assert np.array_equal(lpu.recorders[0].get("V"), v)
        assert equal(state_of(lpu), synapses)


@pytest.mark.parametrize("rule", RULES)
def test_a_change_that_compiles_anew_keeps_what_was_learned(rule: type[Plasticity]) -> None:
    """Weights of other connections are set to what they are, which compiles."""
    v, _, synapses = whole(rule())
    with learning(rule()) as lpu:
        for steps in (1, 70, 29, 100, STEPS - 200):
            lpu.run(steps)
            fixed = lpu.connections["spike_state -> fixed"]
            before = lpu.program
            fixed.set("weight", fixed.get("weight"))
            assert lpu.program is not before
        assert np.array_equal(lpu.recorders[0].get("V"), v)
        assert equal(state_of(lpu), synapses)


def test_resume_goes_on(tmp_path: Path) -> None:
    """An LPU of the same circuit takes up a checkpoint; one of another rule does not."""
    v, _, synapses = whole(Counting())
    with learning(Counting()) as lpu:
        lpu.run(120)
        lpu.save(tmp_path / "c.h5")
    with learning(Counting(), threads=3) as lpu:
        lpu.resume(tmp_path / "c.h5")
        lpu.run(STEPS - 120)
        assert np.array_equal(lpu.recorders[0].get("V"), v[120:])
        assert equal(state_of(lpu), synapses)
    with learning(Counting(up=0.06)) as lpu, pytest.raises(nd.NeurodriverError, match="another c"):
        lpu.resume(tmp_path / "c.h5")


def test_a_reset_begins_with_first_weights_or_those_learned() -> None:
    """Nothing else is left of the run before."""
    v, _, synapses = whole(Pairs())
    with learning(Pairs()) as lpu:
        first = lpu["learning"].get()
        lpu.run(STEPS)
        lpu.reset()
        assert np.array_equal(lpu["learning"].get(), first)
        lpu.run(STEPS)
        assert np.array_equal(lpu.recorders[0].get("V"), v)
        lpu.reset(keep=["weights"])
        assert lpu.step == 0 and np.array_equal(lpu["learning"].get(), synapses["weight"])
        lpu.run(STEPS)
        again = lpu.recorders[0].get("V")
    with learning(Pairs()) as lpu:  # as a circuit that is built with these weights
        lpu["learning"].set("weight", synapses["weight"])
        lpu.run(STEPS)
        assert np.array_equal(lpu.recorders[0].get("V"), again)
    assert not np.array_equal(again, v)


def test_a_checkpoint_while_nothing_is_learned(tmp_path: Path) -> None:
    """What happened before learning goes on again is never learned, in a restored LPU neither."""
    with learning(Counting()) as lpu:
        lpu.run(50)
        lpu["learning"].learn(False)
        lpu.run(50)
        lpu.save(tmp_path / "c.h5")
        lpu.run(50)
        lpu["learning"].learn(True)
        lpu.run(100)
        expected, v = state_of(lpu), lpu.recorders[0].get("V")
    with goes_on(tmp_path / "c.h5", Counting, threads=2, backend="cpu") as lpu:
        assert not lpu["learning"].learning
        lpu.run(50)
        lpu["learning"].learn()
        lpu.run(100)
        assert equal(state_of(lpu), expected)
        assert np.array_equal(lpu.recorders[0].get("V"), v[100:])


def test_what_does_not_fit_is_refused(tmp_path: Path) -> None:
    """A state of other connections, a rule that is not given, damage."""
    path = tmp_path / "c.h5"
    with learning(Pairs()) as lpu:
        lpu.run(20)
        lpu.save(path)
    with pytest.raises(nd.CircuitError, match="/plasticity/0: unknown rule of plasticity 'Pairs'"):
        nd.LPU.restore(path, models=[Cell])
    good = path.read_bytes()
    with h5py.File(path, "r+") as file:
        file["state/learned/learning/synapses/weight"][3] += 1e-9
    with pytest.raises(nd.NeurodriverError, match="differs from its digest"):
        goes_on(path, Pairs)
    path.write_bytes(good)
    with h5py.File(path, "r+") as file:
        file["plasticity/0/params"].attrs["tau_plus"] = -1.0
    with pytest.raises(nd.CircuitError, match="/plasticity/0: Pairs: parameter 'tau_plus'"):
        goes_on(path, Pairs)


def test_histories_lie_in_parts_of_eight() -> None:
    """The first eight spikes of all targets come first, as `history_entry.h` says."""
    plan = LearningPlan("learning", 0, {}, None, width=3, depth=16)
    stored = np.arange(3 * 16)
    histories = plan.histories(stored)
    assert histories[2].tolist() == [*range(16, 24), *range(40, 48)]
    assert np.array_equal(plan.stored_histories(histories), stored)


@pytest.mark.parametrize("cut", [50, 77])
def test_many_spikes_are_on_their_way(tmp_path: Path, cut: int) -> None:
    """Synapses see the spikes of a busy target 40 steps later; those in between are saved."""
    groups = [(shipped()["SpikeSource"], 2, {}, ["s0", "s1"]), (Cell, 1, {}, ["c0"])]
    way = {"weight": np.array([0.3]), "back": np.array([40 * DT])}
    links = [
        nd.Connections("spike_state", "fixed", [0], [2], delay=DT, data={"weight": 3.0}),
        nd.Connections("spike_state", "learned", [1], [2], delay=DT, data=way, plasticity=Pairs(),
                       name="learning"),
    ]  # fmt: skip
    circuit = nd.Circuit.from_arrays(groups, links, name="late")
    data = np.ones((150, 2))
    data[:, 1] = np.arange(150) % 9 == 0
    given = nd.ArrayInput({"spike_state": (["s0", "s1"], data)})
    found, path = [], tmp_path / "a.h5"
    with nd.LPU(circuit, DT, [given], [recorder()], backend="cpu") as lpu:
        lpu.run(cut)
        lpu.save(path)
        lpu.run(150 - cut)
        found.append(state_of(lpu))
        assert len(lpu.recorders[0].get("spike_state")["time"]) > 140  # of the target and s0
    with h5py.File(path) as file:
        assert len(file["state/learned/learning/spikes"]) > 24
    with nd.LPU(circuit, DT, [given], backend="cpu") as lpu:
        lpu.resume(path)
        lpu.run(150 - cut)
        assert equal(state_of(lpu), found[0]) and abs(found[0]["weight"][0] - 0.3) > 0.1
