"""Recordings of what was injected, and the replay of recordings."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from launch import start_in_foreground
from support import ALPHA, DT, IAF, assert_same_bits, build, node, recorded, simulate, started
from test_inputs import values

from neurodriver import (
    LPU,
    ArrayInput,
    FileInput,
    HDF5Recorder,
    MemoryRecorder,
    PoissonInput,
    RecordedInput,
    StepInput,
    UserInput,
)
from neurodriver.errors import CircuitWarning, InputError, RecordingError
from neurodriver.results import open_recording

UIDS = ["a", "b", "c"]


def circuit() -> Any:
    """Return three neurons and a synapse onto the first."""
    nodes = {u: node("LeakyIAF", IAF) for u in UIDS}
    nodes["s"] = node("AlphaSynapse", ALPHA, reverse=0.0)
    return build(nodes, [("s", "a")])


def both() -> ArrayInput:
    """Return rows of current that end before the run, and events."""
    rows = np.random.default_rng(1).normal(20.0, 10.0, size=(130, 3))
    events = [0.0, 5e-4, 5e-4, 1.91e-2], [0, 0, 0, 0]
    return ArrayInput({"I": (UIDS, rows), "spike_state": (["s"], events)})


class Feedback(UserInput):
    """Injects what the LPU's own state asks for, at every third step."""

    def update_input(self) -> None:
        """Pull V of each neuron towards -60 mV."""
        self.variables["I"]["input"] = 0.1 * (-60.0 - self.lpu.get("V"))

    def is_input_available(self) -> bool:
        """Tell that there is a value at every third step."""
        return bool(self.lpu.step % 3 == 0)


@pytest.mark.parametrize("interval", [1, 7, 300])
@pytest.mark.parametrize("chunk", [1, 13, 1000])
def test_layout(tmp_path: Path, interval: int, chunk: int, dtype: str) -> None:
    """Bare h5py finds metadata, uids as bytes, and the rows of steps 0, interval, 2 interval."""
    path, steps = tmp_path / "in.h5", 200
    one = RecordedInput(both(), path, interval, {"stimulus": "noise"})
    with started(circuit(), DT, one, chunk=chunk, dtype=dtype) as lpu:
        lpu.run(steps=steps)
        assert h5py.File(path, "r").keys()  # closed with the run, while the LPU is open
    with h5py.File(path, "r") as file:
        told = dict(file["metadata"].attrs)
        assert file["metadata"].shape == () and "start_time" not in told
        assert told["dt"] == DT and told["sample_interval"] == interval
        assert told["DateCreated"] and told["stimulus"] == "noise"
        assert file["I/uids"][()].tolist() == [b"a", b"b", b"c"]
        assert file["I/data"].dtype == dtype and file["I/data"].maxshape == (None, 3)
        expected = values(both(), steps)[::interval].astype(dtype)
        np.testing.assert_array_equal(file["I/data"][()], expected)
        spikes = np.zeros((steps, 1))
        spikes[[0, 5, 191], 0] = 1, 2, 1
        np.testing.assert_array_equal(file["spike_state/data"][()], spikes[::interval])
    with open_recording(path) as recording:
        assert recording.complete
        expected = np.arange(-(-steps // interval)) * interval * DT
        np.testing.assert_allclose(recording.time("I"), expected, rtol=1e-15)


def test_recording_changes_nothing_and_replays(tmp_path: Path) -> None:
    """A run is the same with its input recorded, and with the recording injected instead."""
    path = tmp_path / "train.h5"
    train = lambda: PoissonInput("spike_state", ["s"], 300.0, seed=5)  # noqa: E731
    record = [("V", None), ("g", ["s"])]
    plain = simulate(circuit(), DT, 700, train(), record)
    assert_same_bits(plain, simulate(circuit(), DT, 700, RecordedInput(train(), path), record))
    with warnings.catch_warnings():
        warnings.simplefilter("error", CircuitWarning)
        for preload in (False, True):
            again = FileInput(path, preload=preload)
            assert_same_bits(plain, simulate(circuit(), DT, 700, again, record))


def test_a_users_input(tmp_path: Path) -> None:
    """An input that reads the LPU's state is recorded as injected, zeros where it had none."""
    path = tmp_path / "in.h5"
    one = RecordedInput(Feedback([("I", UIDS)]), path)
    with started(circuit(), DT, one, [("V", UIDS)]) as lpu:
        assert one.source.lpu is lpu  # type: ignore[attr-defined]
        lpu.run(steps=50)
        v = recorded(lpu, 50)["V"]
    expected = 0.1 * (-60.0 - v)
    expected[np.arange(50) % 3 != 0] = 0
    assert expected.any()
    with h5py.File(path, "r") as file:
        np.testing.assert_array_equal(file["I/data"][()], expected)


def test_targets_of_one_variable_share_a_table(tmp_path: Path) -> None:
    """Two targets of one variable are columns of one data set, in their order."""
    path = tmp_path / "in.h5"
    inner = StepInput("I", ["c"], 3.0)
    inner.targets = [("I", ("c",)), ("I", ("a",))]
    with LPU(circuit(), DT, RecordedInput(inner, path)) as lpu:
        lpu.run(steps=4)
    with h5py.File(path, "r") as file:
        assert file["I/uids"][()].tolist() == [b"c", b"a"]
        assert file["I/data"][()].tolist() == [[3, 3]] * 4


def test_shorter_run_than_planned(tmp_path: Path) -> None:
    """A run that is closed early, or of unknown length, leaves the rows that were injected."""
    for planned in (1000, None):
        path = tmp_path / f"{planned}.h5"
        with LPU(circuit(), DT, RecordedInput(both(), path, 2)) as lpu:
            lpu.start(planned)
            lpu.advance(33)
            lpu.advance(4)
        with h5py.File(path, "r") as file:
            np.testing.assert_array_equal(file["I/data"][()], values(both(), 37)[::2])


def test_events_fill_their_buffer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls that did fewer steps than were staged leave no row twice and none out."""
    monkeypatch.setattr("neurodriver.backends.cpu.backend._SPARE_EVENTS", 40)
    monkeypatch.setattr("neurodriver.plan.spikes.fanout.LONGEST_WINDOW", 1)
    path = tmp_path / "in.h5"
    nodes = {str(i): node("LeakyIAF", IAF, threshold=-69.9) for i in range(40)}
    rows = np.random.default_rng(2).normal(90.0, 9.0, size=(300, 40))
    one = RecordedInput(ArrayInput({"I": (list(nodes), rows)}), path)
    recorder = MemoryRecorder([("spike_state", None)])
    with LPU(build(nodes), DT, one, [recorder], backend="cpu") as lpu:
        lpu.simulation.length.fixed = 50
        calls: list[int] = []
        lpu.start(300)
        lpu.advance(300, calls.append)
        lpu.finish()
    assert len(calls) > 6  # some of fifty were cut short
    assert len(recorder.get("spike_state")["time"]) > 300
    with h5py.File(path, "r") as file:
        np.testing.assert_array_equal(file["I/data"][()], rows)


def test_killed(tmp_path: Path) -> None:
    """A killed run leaves a file that opens plainly, holds valid rows, and can be injected."""
    path = tmp_path / "in.h5"
    code = f"""
import time
from neurodriver import LPU, Circuit, RecordedInput, PoissonInput
from neurodriver.model.library import shipped
p = dict(gmax=1.0, st=1.0)
circuit = Circuit.from_arrays([(shipped()["SynapseAMPA"], 50, p, None)])
train = PoissonInput("spike_state", circuit.uids, 2000.0, seed=3)
lpu = LPU(circuit, {DT}, RecordedInput(train, {str(path)!r}))
lpu.start(10_000_000)
while True:
    lpu.advance(100)
    print("on", flush=True)
    time.sleep(0.01)
"""
    words = [sys.executable, "-c", code]
    with start_in_foreground(words, stdout=subprocess.PIPE) as run:
        assert run.stdout is not None
        for _ in range(150):
            assert "on" in run.stdout.readline()
        os.kill(run.pid, signal.SIGKILL)
    with open_recording(path) as recording:
        assert not recording.complete
        found = recording.data("spike_state")[:]
        uids = recording.uids("spike_state")
    assert len(found) >= 1000
    expected = values(PoissonInput("spike_state", uids, 2000.0, seed=3), len(found))
    np.testing.assert_array_equal(found, expected)
    again = FileInput(path)
    np.testing.assert_array_equal(values(again, len(found) + 10)[: len(found)], expected)
    assert not values(again, len(found) + 10)[len(found) :].any()
    again.close()


def test_wrong(tmp_path: Path) -> None:
    """What cannot be recorded is told; nothing is left open or half made."""
    step = StepInput("I", UIDS, 1.0)
    with pytest.raises(InputError, match="an Input is needed"):
        RecordedInput("step", tmp_path / "x.h5")  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"interval is wrong: .* whole number, 1 to"):
        RecordedInput(step, tmp_path / "x.h5", 0)
    lost = RecordedInput(step, tmp_path / "no" / "x.h5")
    with LPU(circuit(), DT, lost, [HDF5Recorder(tmp_path / "o.h5", [("V", None)])]) as lpu:
        with pytest.raises(RecordingError, match="make the folder"):
            lpu.run(steps=10)


def test_an_existing_file_is_kept(tmp_path: Path) -> None:
    """A file of an earlier run is refused before any file changes, and replaced on demand."""
    path, beside = tmp_path / "x.h5", tmp_path / "beside.h5"
    beside.write_text("precious")

    def run(**given: bool) -> None:
        recorders = [] if given else [HDF5Recorder(beside, [("V", None)], overwrite=path.exists())]
        one = RecordedInput(StepInput("I", UIDS, 1.0), path, **given)
        with LPU(circuit(), DT, one, recorders) as lpu:
            lpu.run(steps=10)

    with pytest.raises(RecordingError, match=r"beside\.h5: there is a file already"):
        run()
    assert not path.exists() and beside.read_text() == "precious"
    sample(path)
    before = path.read_bytes(), path.stat().st_ino
    with pytest.raises(RecordingError, match=r"x\.h5: there is .* already.*overwrite=True"):
        run()
    assert (path.read_bytes(), path.stat().st_ino) == before
    assert beside.read_text() == "precious"
    run(overwrite=True)
    assert path.stat().st_ino != before[1]


# ---- replay --------------------------------------------------------------------------------


def sample(path: Path, dt: float = DT, interval: int = 1) -> Path:
    """Record V and spikes of a driven neuron."""
    recorder = HDF5Recorder(path, [("V", None), ("spike_state", None)], interval)
    with LPU(build({"n": node("LeakyIAF", IAF)}), dt, StepInput("I", ["n"], 90.0), [recorder]) as r:
        r.run(steps=400)
    return path


@pytest.mark.parametrize(
    ("dt", "interval", "word"),
    [(DT, 5, "every 0.0005 s .dt 0.0001 s, sample_interval 5"), (2 * DT, 1, "every 0.0002 s")],
)
def test_rows_of_another_distance(tmp_path: Path, dt: float, interval: int, word: str) -> None:
    """Rows that were taken at another distance than dt are injected with a warning that says so."""
    path = sample(tmp_path / "r.h5", dt, interval)
    one = FileInput(path)
    with pytest.warns(CircuitWarning, match=word):
        one.open(DT, np.dtype("f8"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        one.open(dt * interval, np.dtype("f8"))
    one.close()


def test_events_replay_at_any_dt(tmp_path: Path) -> None:
    """Events alone warn of nothing and enter at their times, also with a tenth of the dt."""
    path = tmp_path / "s.h5"
    recorder = HDF5Recorder(path, [("spike_state", None)], 5)
    with LPU(build({"n": node("LeakyIAF", IAF)}), DT, StepInput("I", ["n"], 90.0), [recorder]) as r:
        r.run(steps=400)
    with h5py.File(path, "r") as file:
        at = np.rint(file["spike_state/data/time"][()] / DT).astype(int)
    assert len(at) > 5
    for preload in (False, True):
        for part in (1, 10):
            one = FileInput(path, preload=preload)
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                got = values(one, 400 * part, (77,), dt=DT / part)
            assert np.flatnonzero(got[:, 0]).tolist() == (at * part).tolist()
            one.close()


@pytest.mark.parametrize("preload", [False, True])
def test_empty_events(tmp_path: Path, preload: bool) -> None:
    """A file without a single event injects nothing."""
    path = tmp_path / "none.h5"
    with h5py.File(path, "w") as file:
        file["spike_state/uids"] = np.array([b"s"])
        file["spike_state/data/time"] = np.empty(0)
        file["spike_state/data/index"] = np.empty(0, dtype=np.int32)
    for mode in (0, 1):
        got = simulate(circuit(), DT, 20, FileInput(path, mode, preload), [("g", ["s"])])["g"]
        assert got.shape == (20, 1) and not got.any()


def test_preload_needs_the_file_no_more(tmp_path: Path) -> None:
    """What was preloaded does not change when the file is gone."""
    path = sample(tmp_path / "r.h5")
    plain, loaded = FileInput(path), FileInput(path, preload=True)
    expected = values(plain, 500, (100,))
    plain.close()
    path.unlink()
    np.testing.assert_array_equal(values(loaded, 500, (100,)), expected)


KINDS = st.sampled_from(
    [np.zeros((3, 2)), np.zeros(3), np.zeros((3, 1)), np.array(1.0), np.array([b"x", b"y"]),
     np.zeros((0, 2)), np.full((2, 2), np.nan), np.zeros((2, 2, 2)), np.array([0, 7]),
     np.array([-1.0, 2.0]), np.array([b"\xff", b"y"])]
)  # fmt: skip
PATHS = st.sampled_from(
    ["I", "I/uids", "I/data", "I/data/time", "I/data/index", "I/valid_rows", "I/valid_events",
     "metadata", "metadata/x"]
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(PATHS, KINDS), min_size=1, max_size=6), st.booleans())
def test_malformed_files(
    tmp_path_factory: pytest.TempPathFactory, parts: list[tuple[str, Any]], preload: bool
) -> None:
    """Whatever a file holds, it is either injected or refused with an InputError that names it."""
    path = tmp_path_factory.mktemp("bad") / "bad.h5"
    with h5py.File(path, "w") as file:
        for name, value in parts:
            try:
                file[name] = value
            except (OSError, ValueError, RuntimeError, KeyError, TypeError):
                continue  # such a path cannot be made beside the others
    one = None
    try:
        one = FileInput(path, preload=preload)
        got = values(one, 5)
        assert np.isfinite(got).all() and got.shape[1] == len(one.targets[0][1])
    except InputError as error:
        assert str(path) in str(error)
    finally:
        if one is not None:
            one.close()
