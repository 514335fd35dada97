"""What goes to a GPU and comes from it, with a GPU of plain Python: same bits as the CPU."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from emulated_gpu import Stream, emulated, random_circuit
from support import DT, started

from neurodriver import LPU, ArrayInput, MemoryRecorder, PoissonInput
from neurodriver.backends.cuda.transfers import Tables
from neurodriver.errors import NeurodriverError

__all__ = ["emulated"]
EVERYTHING = (("V", None), ("spike_state", None), ("I", None))


def recorded(circuit: Any, inputs: Any, steps: int, record: Any = EVERYTHING, **more: Any) -> Any:
    """Return variable -> rows, or times and columns of events."""
    with started(circuit, DT, inputs, record, **more) as lpu:
        lpu.run(steps=steps)
        recorder: Any = lpu.recorders[0]
        found = {}
        for variable, _ in record:
            data = recorder.get(variable)
            if isinstance(data, dict):
                data = np.stack([data["time"], data["index"]])
            assert np.any(data)
            found[variable] = data
        return found


def assert_same(one: dict[str, Any], other: dict[str, Any]) -> None:
    """Fail where a bit differs."""
    assert one.keys() == other.keys()
    for variable, values in one.items():
        np.testing.assert_array_equal(values, other[variable], variable)


@pytest.fixture(autouse=True, params=["late", "early"])
def order(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Copies to the host come before the launch that may overtake them, or after it."""
    monkeypatch.setattr(Stream, "late", request.param == "late")


@pytest.mark.parametrize("executor", ["resident", "stepwise"])
@pytest.mark.parametrize("chunk", [1, 2, 7, None])
def test_same_bits_as_the_cpu(emulated: None, executor: str, chunk: int | None, dtype: str) -> None:
    """A step of current that comes and goes, every variable recorded, in chunks of any length."""
    circuit, inputs = random_circuit(20, 1)
    expected = recorded(circuit, inputs, 60, dtype=dtype)
    more = {"backend": "cuda", "executor": executor, "chunk": chunk, "dtype": dtype}
    assert_same(recorded(circuit, inputs, 60, **more), expected)


@pytest.mark.parametrize("devices", [2, [0, 0], [1, 0, 1], None])
def test_parts_on_gpus(emulated: None, devices: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads do not wait for each other within a kernel, also not where each has a GPU."""
    monkeypatch.setattr("neurodriver.backends.cuda.device.place_of", lambda number: f"{number}")
    circuit, inputs = random_circuit(20, 3)
    circuit = circuit.with_parts(
        circuit.groups, [replace(one, delay=one.delay + DT) for one in circuit.connections]
    )
    every = MemoryRecorder([(variable, None) for variable, _ in EVERYTHING])
    whole = MemoryRecorder(every.record)
    for recorder, given in (
        (whole, {"backend": "cpu"}),
        (every, {"backend": "cuda", "devices": devices, "parts": None if devices else 2}),
    ):
        with LPU(circuit, DT, inputs, recorder, **given) as lpu:
            for steps in (5, 20, 35):
                lpu.run(steps=steps)
            parts = getattr(lpu.simulation, "_parts", [])
            gpus = [part.simulation.backend.device.number for part in parts]
            assert not any(part.exchange.gated for part in parts)
    assert gpus == (devices if isinstance(devices, list) else [0, 1])
    assert np.array_equal(whole.get("V"), every.get("V")) and np.any(every.get("V"))
    assert all(
        np.array_equal(whole.get("spike_state")[key], every.get("spike_state")[key])
        for key in ("time", "index")
    )


@pytest.mark.parametrize("chunk", [1, 3, 10])
@pytest.mark.parametrize("interval", [1, 3, 7])
def test_inputs_that_change(emulated: None, chunk: int, interval: int) -> None:
    """Rows at every step, spikes from outside, and samples that some chunks have none of."""
    circuit, inputs = random_circuit(20, 2)
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 4, (70, 5)) / 4
    inputs += [
        ArrayInput({"I": (circuit.uids[3:8], rows)}),
        PoissonInput("spike_state", circuit.uids[20:30], 900.0),
    ]
    record = (("V", circuit.uids[[7, 3, 11]]), ("spike_state", circuit.uids[[5, 2, 9, 14]]))
    more = {"chunk": chunk, "interval": interval}
    expected = recorded(circuit, inputs, 70, record, interval=interval)
    assert_same(recorded(circuit, inputs, 70, record, backend="cuda", **more), expected)


def test_what_did_not_change_is_not_sent_again(emulated: None) -> None:
    """A call with a constant input sends where its chunk begins, and fetches its rows."""
    circuit, inputs = random_circuit(20, 3)
    how = {"backend": "cuda", "chunk": 2, "nonfinite": "off"}
    with started(circuit, DT, inputs, EVERYTHING, **how) as lpu:
        lpu.simulation.calls.ahead = None
        lpu.advance(40)
        device: Any = lpu.backend.device
        device.copies.clear()
        lpu.advance(2)
        # rows of V and I together, the number of events, their steps and columns
        assert [kind for kind, _ in device.copies] == ["to", "launch", *4 * ["from"]]
        assert device.copies[0] == ("to", 8 * Tables.HEAD)


@pytest.mark.parametrize("where", ["begin", "land", "found"])
@pytest.mark.parametrize("after", [False, True])
def test_an_interrupt_loses_no_row(
    emulated: None, where: str, after: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever counts as done is recorded, wherever Ctrl-C comes."""
    circuit, inputs = random_circuit(20, 4)
    record = EVERYTHING[:2]
    expected = recorded(circuit, inputs, 60, record)
    lpu = started(circuit, DT, inputs, record, backend="cuda", chunk=4)
    work, calls = getattr(lpu.backend, where), 0

    def interrupted(*given: int) -> Any:
        nonlocal calls
        calls += 1
        done = work(*given) if after or calls != 5 else None
        if calls == 5:
            raise KeyboardInterrupt
        return done

    monkeypatch.setattr(lpu.backend, where, interrupted)
    with pytest.raises(KeyboardInterrupt):
        lpu.advance(60)
    step = lpu.simulation.step
    lpu.close()
    recorder: Any = lpu.recorders[0]
    assert 16 <= step < 60
    np.testing.assert_array_equal(recorder.get("V"), expected["V"][:step])
    spikes = recorder.get("spike_state")
    kept = expected["spike_state"][:, expected["spike_state"][0] < (step - 0.5) * DT]
    np.testing.assert_array_equal(np.stack([spikes["time"], spikes["index"]]), kept)


def test_a_device_that_fails(emulated: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows that came are kept, the error is told once."""
    circuit, inputs = random_circuit(20, 4)
    lpu = started(circuit, DT, inputs, (("V", None),), backend="cuda", chunk=4)
    land = lpu.backend.land
    calls = iter(range(100))

    def failing() -> None:
        if next(calls) == 3:
            raise NeurodriverError("GPU 0: gone")
        return land()

    monkeypatch.setattr(lpu.backend, "land", failing)
    with pytest.raises(NeurodriverError, match="gone"):
        lpu.advance(60)
    lpu.close()
    recorder: Any = lpu.recorders[0]
    assert np.any(recorder.get("V")) and len(recorder.get("V")) == 12
