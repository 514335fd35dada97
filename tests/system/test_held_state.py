"""A state that is held in memory: back to it, and on from it in another LPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from layered import neighbours
from sheets import DT, networks

import neurodriver as nd
from neurodriver.errors import StateError


def made(seed: int = 0, dtype: str = "float64", **more: Any) -> nd.LPU:
    kick = nd.ArrayInput({"spike_state": (["a/7", "b/9"], np.ones((600, 2)))})
    recorder = nd.MemoryRecorder([("spike_state", None), ("V", ["a/3", "c/2"])])
    return nd.LPU(networks(False), DT, [kick], [recorder], seed=seed, dtype=dtype, **more)


def rows(lpu: nd.LPU) -> list[bytes]:
    rec = lpu.recording
    return [np.asarray(one).tobytes() for one in (rec.spikes.time, rec.spikes.index, rec.V[:])]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_run_is_repeated(dtype: str) -> None:
    """Spikes on their way, random numbers, set parameters: the same bits, in another LPU, too."""
    with made(dtype=dtype, threads=2) as lpu:
        lpu.run(150)
        lpu["a"].set("threshold", -51.0)
        lpu["b"].set("V", -52.0)
        state = lpu.state()
        assert repr(state) == f"<LPUState of {lpu.circuit.name} at step 150>"
        found = []
        for threshold in (None, -40.0, None):
            if threshold is not None:
                lpu["a"].set("threshold", threshold)
            lpu.run(200, record=["spike_state", "V"])
            found.append(rows(lpu))
            assert lpu.step == 350
            lpu.restore_state(state)
            assert lpu.step == 150 and set(lpu["a"].get("threshold").flat) == {-51.0}
        assert found[0] != found[1] and found[0] == found[2] and len(found[0][0]) > 500
    with made(dtype=dtype, threads=1) as other:
        other.restore_state(state)
        other.run(200, record=["spike_state", "V"])
        assert rows(other) == found[0]


def test_fields_and_copies() -> None:
    """What is set of a layer; each copy of a batch."""
    with nd.LPU(neighbours(), 1e-3) as lpu:
        lpu.advance(2)
        lpu.set("bank", [3.0, 0.5])
        state, V = lpu.state(), np.array(lpu["c"].get("val"))
        lpu.set("bank", [9.0, 9.0])
        lpu.advance(1)
        after = np.array(lpu["c"].get("val"))
        lpu.restore_state(state)
        assert lpu.get("bank").tolist() == [3.0, 0.5] and np.array_equal(lpu["c"].get("val"), V)
        lpu.advance(1)
        assert not np.array_equal(lpu["c"].get("val"), after)
    cells = nd.Population("GradedNeuron", 3, name="g", bias=0.5, time_constant=4.0)
    with nd.LPU(nd.Circuit([cells]), 1e-3, batch=2) as lpu:
        lpu["g"].set("V", [[1.0], [2.0]])
        state = lpu.state()
        lpu.advance(5)
        lpu.restore_state(state)
        assert lpu["g"].get("V").tolist() == [[1.0] * 3, [2.0] * 3]


def test_states_that_do_not_fit() -> None:
    """Bad input 26: both digests and what differs; nothing is changed."""
    with made() as lpu:
        lpu.run(10)
        state = lpu.state()
    cells = nd.Population("GradedNeuron", 3, name="g", bias=0.5, time_constant=4.0)
    for other, said in (
        (made(seed=1), "seed was 0, and is 1 here"),
        (made(dtype="float32"), "dtype was 'float64', and is 'float32' here"),
        (nd.LPU(nd.Circuit([cells]), DT), f"(digests {state.first.digest[:12]} and "),
    ):
        with other, pytest.raises(StateError) as caught:
            other.restore_state(state)
        assert said in str(caught.value) and other.step == 0
    with made() as lpu:
        with pytest.raises(StateError, match="takes what state"):
            lpu.restore_state(3)  # type: ignore[arg-type]


def test_events_of_the_last_step() -> None:
    """The cells that fired, by number within the components; those of a recording."""
    with made() as lpu:
        fired: list[np.ndarray] = []
        for _ in range(60):
            fired.append(lpu["a"].events())
            lpu.advance(1)
        lpu.finish()
        spikes = lpu.recording["spike_state"]
        own = lpu.recording["spike_state"].populations["a"]
        steps = np.rint(np.asarray(spikes.time) / DT).astype(int)
        for step, cells in enumerate(fired):
            mine = np.asarray(spikes.index)[steps == step]
            assert np.array_equal(np.sort(mine[np.isin(mine, own)]), cells)
        assert sum(map(len, fired)) > 10
        with pytest.raises(nd.NeurodriverError, match="'V' has no events"):
            lpu["a"].events("V")


class Graded(nd.NDComponent):
    """Has no events."""

    accesses, updates = ("I",), {"x": "1"}
    states = {"x": nd.State("1", 0.0)}
    update = "x = I;"


def test_events_of_cells_that_have_none() -> None:
    """A name is needed unless the components update a single variable with events."""
    cells = nd.Population(Graded, 3, name="cells")
    others = nd.Population("LeakyIAFShiu", 2, name="others")
    with nd.LPU(nd.Circuit([cells, others], []), DT) as lpu:
        assert not lpu["others"].events().size
        with pytest.raises(nd.NeurodriverError, match="name one variable with events: none"):
            lpu["cells"].events()
