"""A run is paused and goes on, and inputs are switched, between two calls into compiled code."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
import pytest
from support import eventually

import neurodriver as nd
from neurodriver.errors import NeurodriverError
from neurodriver.run.control import RunControl, switchable

IAF = {
    "resting_potential": -70.0, "reset_potential": -70.0, "threshold": -45.0, "capacitance": 2.0,
    "resistance": 10.0, "initV": -70.0,
}  # fmt: skip
CELLS = nd.Population("LeakyIAF", 5, name="driven", **IAF)
CIRCUIT = nd.Circuit([CELLS])
STEPS = 90


def potentials(inputs: Any, switched: bool) -> np.ndarray:
    """Return V of three runs of 30 steps; in the second one the first input may be off."""
    with nd.LPU(CIRCUIT, 1e-3, inputs) as lpu:
        for part in range(3):
            lpu.inputs[0].on = not (switched and part == 1)
            lpu.run(steps=30, record=["V"] if part == 0 else None)
        return np.array(lpu.recording.V[:])


def test_rows_that_are_off_are_zero() -> None:
    """The bits are those of an array with zeros in between; other inputs stay."""
    values = np.full((STEPS, 5), 3.0)
    constant = nd.StepInput("I", CELLS, 0.5)
    steps = nd.StepInput("I", CELLS, 3.0)
    values[30:60] = 0.0
    want = potentials([nd.ArrayInput({"I": (CELLS, values)}), constant], False)
    assert np.array_equal(potentials([steps, constant], True), want)
    assert not np.array_equal(potentials([steps, constant], False), want)


def test_events_that_are_off() -> None:
    """A random input that is on again goes on as if it had never been off."""
    sources = nd.Population("SpikeSource", 20, name="sources")
    circuit = nd.Circuit([sources])

    def spikes(switched: bool) -> tuple[np.ndarray, np.ndarray]:
        train = nd.PoissonInput("spike_state", sources, 300.0, seed=8)
        with nd.LPU(circuit, 1e-3, train) as lpu:
            for part in range(3):
                lpu.inputs[0].on = not (switched and part == 1)
                lpu.run(steps=40, record=["spike_state"] if part == 0 else None)
            return lpu.recording.spikes.time, lpu.recording.spikes.index

    (time_on, index_on), (time_off, index_off) = spikes(False), spikes(True)
    step = np.rint(time_on / 1e-3)
    kept = (step <= 40) | (step > 80)  # what enters at step k shows in row k + 1
    assert 20 < (~kept).sum() < len(step)
    assert np.array_equal(time_on[kept], time_off) and np.array_equal(index_on[kept], index_off)


def test_a_recorded_input_holds_what_entered(tmp_path: Any) -> None:
    """While it is off, that is nothing."""
    current = nd.RecordedInput(nd.StepInput("I", CELLS, 2.0), tmp_path / "in.h5")
    with nd.LPU(CIRCUIT, 1e-3, current) as lpu:
        lpu.start(40)
        lpu.advance(20)
        lpu.inputs[0].on = False
        lpu.advance(20)
        lpu.finish()
    with nd.open(tmp_path / "in.h5") as entered:
        assert entered.I[:].sum(axis=1).tolist() == [10.0] * 20 + [0.0] * 20


def test_pause_and_start() -> None:
    """A paused run does no step; asked from another thread it goes on to its end."""
    said: list[str] = []
    control = RunControl(STEPS, paused=True, report=said.append)
    with nd.LPU(CIRCUIT, 1e-3, nd.StepInput("I", CELLS, 3.0)) as lpu:
        lpu.simulation.length.fixed = 10
        names = switchable(lpu.inputs)

        def work() -> None:
            control.begin(0, names)
            lpu.run(steps=STEPS, progress=control)

        run = threading.Thread(target=work)
        run.start()
        eventually(lambda: bool(control.state()["inputs"]))
        time.sleep(0.1)
        assert lpu.step == 0 and control.state()["step"] == 0
        control.act({"action": "switch", "number": 0, "on": False})
        assert control.state()["inputs"] == [{"name": "StepInput I", "on": False}]
        eventually(lambda: bool(said))
        assert said == ["StepInput I: off from step 0"] and not lpu.inputs[0].on
        control.act({"action": "start"})
        run.join(60)
        assert not run.is_alive() and lpu.step == control.state()["step"] == STEPS
        assert (lpu.get("V") == -70.0).all()


def test_a_paused_run_ends_when_asked() -> None:
    """The wait looks whether the run is to end."""
    control = RunControl(None, paused=True)
    stop = threading.Event()
    held = threading.Thread(target=control.begin, args=(0, [], stop.is_set))
    held.start()
    held.join(0.2)
    assert held.is_alive()
    stop.set()
    held.join(60)
    assert not held.is_alive()


def test_switches_are_reported_at_their_step() -> None:
    """The step is that from which the input is off."""
    said: list[str] = []
    control = RunControl(STEPS, report=said.append)
    recorder = nd.MemoryRecorder([("V", None)])
    with nd.LPU(CIRCUIT, 1e-3, nd.StepInput("I", CELLS, 3.0), recorder) as lpu:
        lpu.simulation.length.fixed = 15
        control.begin(0, switchable(lpu.inputs, "left"))

        def progress(done: int) -> None:
            if lpu.step == 45:
                control.act({"action": "switch", "number": 0, "on": False})
            control(done)

        lpu.run(steps=STEPS, progress=progress)
        found = np.array(recorder.recording.V[:])
    assert said == ["left: StepInput I: off from step 45"]
    values = np.full((STEPS, 5), 3.0)
    values[45:] = 0.0
    with nd.LPU(CIRCUIT, 1e-3, nd.ArrayInput({"I": (CELLS, values)})) as lpu:
        lpu.run(steps=STEPS, record=["V"])
        assert np.array_equal(np.array(lpu.recording.V[:]), found)


@pytest.mark.parametrize(
    ("question", "error"),
    [
        ({}, "action must be"),
        ({"action": "stop"}, "action must be"),
        ({"action": "switch"}, "number must be that of one of 1 inputs"),
        ({"action": "switch", "number": 1, "on": True}, "number must be"),
        ({"action": "switch", "number": -1, "on": True}, "number must be"),
        ({"action": "switch", "number": True, "on": True}, "number must be"),
        ({"action": "switch", "number": 0, "on": 1}, "on must be true or false"),
    ],
)
def test_wrong_actions(question: dict[str, Any], error: str) -> None:
    """They are refused, and nothing changes."""
    control = RunControl(10)
    control.begin(0, switchable([nd.StepInput("I", CELLS, 3.0)]))
    before = control.state()
    with pytest.raises(NeurodriverError, match=error):
        control.act(question)
    assert control.state() == before
    control.end()
    with pytest.raises(NeurodriverError, match="the run has ended"):
        control.act({"action": "start"})


def test_inputs_of_one_class_are_numbered() -> None:
    """Names tell inputs apart."""
    inputs = [nd.StepInput("I", CELLS, 1.0), nd.StepInput("I", CELLS, 2.0)]
    assert [name for name, _ in switchable(inputs)] == ["StepInput I 0", "StepInput I 1"]


@pytest.mark.parametrize("call", ["run", "advance", "begin"])
@pytest.mark.parametrize("steps", [200.0, 0.1, np.float64(3.0)])
def test_a_number_of_steps_is_whole(call: str, steps: Any) -> None:
    """A float was meant as a time, which has a name."""
    with nd.LPU(CIRCUIT, 1e-3) as lpu:
        with pytest.raises(NeurodriverError, match=r"whole number, got .*run\(duration=...\)"):
            getattr(lpu, call)(steps)
        assert lpu.step == 0


def test_a_duration_without_a_step() -> None:
    """It is refused, unless it is 0."""
    with nd.LPU(CIRCUIT, 1e-3) as lpu:
        with pytest.raises(NeurodriverError, match=r"0.0004 is less than half a step"):
            lpu.run(duration=4e-4)
        assert lpu.run(duration=0.0).run(duration=6e-4).step == 1
