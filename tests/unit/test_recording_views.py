"""One `Recording` of a file, of memory, and of a run that goes on: attributes and populations."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from support import IAF, build, node

import neurodriver as nd
from neurodriver.errors import RecordingError
from neurodriver.recorders import Block, Columns, Recorder, RecordingPlan, Writer

DT, STEPS, INTERVAL = 1e-4, 600, 3
UIDS = ["a", "b", "c"]
REQUESTS = [("V", ["c", "a", "b"]), ("spike_state", None)]


def lpu(*recorders: Recorder) -> nd.LPU:
    """Three neurons, of which two spike."""
    current = nd.ArrayInput({"I": (UIDS, np.array([[20.0, 0.0, 30.0]]))}, mode=1)
    return nd.LPU(build({u: node("LeakyIAF", IAF) for u in UIDS}), DT, current, list(recorders))


def both(tmp_path: Path) -> tuple[nd.MemoryRecorder, nd.HDF5Recorder]:
    """Return a recorder of each kind, of one run."""
    memory = nd.MemoryRecorder(REQUESTS, INTERVAL)
    file = nd.HDF5Recorder(tmp_path / "run.h5", REQUESTS, INTERVAL)
    with lpu(memory, file) as one:
        one.run(steps=STEPS)
    return memory, file


def test_memory_and_file_are_alike(tmp_path: Path) -> None:
    """Each method and attribute gives the same for both."""
    memory, file = (recorder.recording for recorder in both(tmp_path))
    assert memory.path is None and file.path == tmp_path / "run.h5"
    assert len(memory.spike_state) > 5
    questions: dict[str, Callable[[nd.Recording], Any]] = {
        "variables": lambda r: r.variables,
        "dt": lambda r: (r.dt, r.sample_interval, r.duration, r.complete, r.is_open),
        "attributes": lambda r: {k: v for k, v in r.attributes.items() if k != "DateCreated"},
        "units": lambda r: (r.units, r.unit("V"), r.V.unit),
        "uids": lambda r: (r.uids("V"), r.V.uids, r.spikes.uids),
        "names": lambda r: (list(r), len(r), "V" in r, "W" in r),
        "repr": lambda r: repr(r).splitlines()[1:],
        "dir": lambda r: [n for n in dir(r) if not n.startswith("_")],
        "populations": lambda r: r.populations,
        "events": lambda r: (r.is_events("V"), r.is_events("spike_state")),
    }
    arrays: dict[str, Callable[[nd.Recording], Any]] = {
        "rows": lambda r: r.V[:],
        "item": lambda r: r["V"][5:90:7, 1],
        "one": lambda r: r.V["a"].between(0.01, 0.03)[:],
        "axis": lambda r: r.time,
        "axis of a variable": lambda r: r.time("V"),
        "time": lambda r: r.V.time,
        "spikes": lambda r: r.spikes.time,
        "index": lambda r: r.spikes.index,
        "train": lambda r: r.spikes["c"],
        "by uid": lambda r: r.spikes()["a"],
        "some": lambda r: r.spikes("c", variable="spike_state")["c"],
        "pairs": lambda r: np.array(r.events()),
        "pandas": lambda r: r.to_pandas("V").to_numpy(),
        "xarray": lambda r: r.to_xarray()["V"].to_numpy(),
        "neo": lambda r: r.to_neo().segments[0].spiketrains[2].magnitude,
    }
    for name, ask in questions.items():
        assert ask(memory) == ask(file), name
    for name, ask in arrays.items():
        assert np.size(ask(file)) > 3, name
        np.testing.assert_array_equal(ask(memory), ask(file), name)
    drawn = [nd.plot_recording(r, tmp_path / "figure.png").read_bytes() for r in (memory, file)]
    assert drawn[0] == drawn[1]
    file.close()
    assert not file.is_open and repr(file).endswith("(closed)")
    with pytest.raises(RecordingError, match="closed"):
        file.V[:]


@pytest.mark.parametrize("steps", [STEPS, None])
@pytest.mark.parametrize("interval", [1, 7])
def test_a_run_that_goes_on(tmp_path: Path, steps: int | None, interval: int) -> None:
    """After each ``advance`` both recordings hold exactly the steps done."""
    memory = nd.MemoryRecorder(REQUESTS, interval)
    file = nd.HDF5Recorder(tmp_path / "run.h5", REQUESTS, interval)
    whole = nd.MemoryRecorder(REQUESTS, interval)
    with lpu(whole) as one:
        one.run(steps=STEPS)
    kept = []
    with lpu(memory, file) as one:
        one.start(steps)
        for done in (0, 100, 101, 350, STEPS):
            one.advance(done - one.step)
            for recorder in (memory, file):
                found = recorder.recording
                assert not found.complete and len(found.V) == done // interval
                assert found.duration == pytest.approx(done * DT)
                np.testing.assert_array_equal(found.V[:], whole.get("V")[: done // interval])
                events = whole.recording.spikes.between(0.0, done * DT)
                np.testing.assert_array_equal(found.spikes.time, events.time)
                np.testing.assert_array_equal(found.spikes.index, events.index)
                if recorder is memory:
                    kept.append((found, found.V[:].copy()))
    assert memory.recording.complete and file.recording.complete
    for found, rows in kept:  # what was shown before stays
        np.testing.assert_array_equal(found.V[:], rows)


def test_memory_is_shown_not_given_away() -> None:
    """Nothing that a recording returns can change what the recorder holds."""
    memory = nd.MemoryRecorder(REQUESTS)
    with lpu(memory) as one:
        one.run(steps=STEPS)
    with pytest.raises(ValueError, match="read-only"):
        memory.recording.V[:][0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        memory.recording.spikes.time[0] = 1.0
    assert np.shares_memory(memory.recording.V[:], memory.get("V"))
    memory.get("V")[0] = 1.0  # old users may


def test_before_a_run(tmp_path: Path) -> None:
    """There is nothing to show, and an error says what to do."""
    for recorder in (nd.MemoryRecorder(REQUESTS), nd.HDF5Recorder(tmp_path / "x.h5", REQUESTS)):
        with pytest.raises(RecordingError, match="nothing recorded yet; run first"):
            _ = recorder.recording


def test_no_wait_where_a_writer_ended() -> None:
    """A recorder asks nobody to wait once its writer is closed, or has failed."""
    memory, plan = nd.MemoryRecorder([]), RecordingPlan(
        DT, None, 1, np.dtype("f8"), (Columns("V", np.array(UIDS), "mV", False),), {}
    )  # fmt: skip
    memory.open(plan)
    writer = Writer([memory])
    writer.put(memory, Block(0, {"V": np.ones((4, 3))}, {}, 4))
    assert len(memory.recording.V) == 4
    writer.put(memory, Block(9, {"V": np.ones((4, 3))}, {}, 8))  # rows are missing before it
    assert len(memory.recording.V) == 4
    with pytest.raises(RecordingError, match="first row 9, expected 4"):
        writer.close()
    assert len(memory.recording.V) == 4
    writer.flush()


def test_names_that_are_not_there(tmp_path: Path) -> None:
    """Unknown names are AttributeErrors with a hint; private names are not looked up."""
    memory, file = both(tmp_path)
    for found in (memory.recording, file.recording):
        with pytest.raises(AttributeError, match=r"no variable or attribute 'v' .*'V'"):
            _ = found.v
        assert not hasattr(found, "_repr_svg_") and hasattr(found, "V")
        assert {"V", "spike_state", "spikes", "time"} <= set(dir(found))
        with pytest.raises(RecordingError, match="no column 'd' in 'V'"):
            found.V["d"]
        with pytest.raises(RecordingError, match=r"'spike_state': expected names .* got slice\("):
            found.spikes[:]
        with pytest.raises(TypeError, match="time itself can be called"):
            (found.time * 2)("V")


def test_only_rows_or_only_events(tmp_path: Path) -> None:
    """``spikes`` raises where it is used, not where it is named; the axis may be empty."""
    rows, events = nd.MemoryRecorder([("V", None)]), nd.MemoryRecorder([("spike_state", None)])
    with lpu(rows, events) as one:
        one.run(steps=STEPS)
    spikes = rows.recording.spikes
    for use in (lambda: spikes.time, lambda: len(spikes), lambda: spikes["a"], lambda: spikes()):
        with pytest.raises(RecordingError, match="no variable 'spike_state'"):
            use()
    assert len(events.recording.time) == 0 and len(events.recording.spikes.between(0.0, 0.02)) > 0
    with pytest.raises(AttributeError, match="no attribute 'tme'"):
        _ = events.recording.spikes.tme


# ---- populations -----------------------------------------------------------------------------

MEMBERS = ["exc", "inh", "exc", "", "c"]
NAMES = ["c", "n1", "n2", "n3", "n4"]


def with_populations(path: Path, members: Any) -> nd.Recording:
    """Write a file whose columns belong to populations."""
    names = np.array(NAMES)
    columns = (Columns("V", names, "mV", False), Columns("spike_state", names, "", True))
    recorder = nd.HDF5Recorder(path, [])
    recorder.open(RecordingPlan(DT, 4, 1, np.dtype("f8"), columns, {}))
    events = np.array([0, 1, 2, 3]) * DT, np.array([2, 1, 4, 2], np.int32)
    rows = np.arange(20.0).reshape(4, 5)
    recorder.append(Block(0, {"V": rows}, {"spike_state": events}, 4))
    recorder.close()
    with h5py.File(path, "a") as file:
        for variable in ("V", "spike_state"):
            file[variable]["population"] = [name.encode() for name in members]
    return nd.open(path)


def test_populations_select_columns(tmp_path: Path) -> None:
    """A population gives its columns; a uid of the same name comes first."""
    found = with_populations(tmp_path / "run.h5", MEMBERS)
    assert found.populations == {"exc": ["c", "n2"], "inh": ["n1"], "c": ["n4"]}
    rows = found.V[:]
    np.testing.assert_array_equal(found.V["exc"][:], rows[:, [0, 2]])
    assert found.V["exc"].uids == ["c", "n2"]
    np.testing.assert_array_equal(found.V[["inh", "n3", "exc"]][1:3], rows[1:3, [1, 3, 0, 2]])
    np.testing.assert_array_equal(found.V["c"][:], rows[:, 0])
    np.testing.assert_array_equal(found.V[["n2", "n1"]]["exc"][:], rows[:, [2]])
    assert found.V["exc"].populations["exc"].tolist() == [0, 1]
    assert {k: v.tolist() for k, v in found.V[["n2", "n1"]].populations.items()} == {
        "exc": [0], "inh": [1],
    }  # fmt: skip
    spikes = found.spikes["exc"]
    assert spikes.time.tolist() == [0.0, 3 * DT] and spikes.index.tolist() == [1, 1]
    assert list(found.spikes("exc")) == ["c", "n2"]
    assert found.to_pandas("V", "exc").shape == (4, 2)
    firing = nd.results.activity(
        found.spikes.time, found.spikes.index, found.spikes.populations, stop=found.duration
    )
    assert [(a.population, a.neurons) for a in firing] == [("exc", 2), ("inh", 1), ("c", 1)]
    assert firing[0].rate == pytest.approx(2 / 2 / (4 * DT))
    with pytest.raises(RecordingError, match=r"no column 'excc'.*did you mean 'exc'.*populations"):
        found.V["excc"]


def test_populations_that_do_not_fit(tmp_path: Path) -> None:
    """A column of another length is refused where it is read."""
    found = with_populations(tmp_path / "run.h5", MEMBERS[:-1])
    with pytest.raises(RecordingError, match="'V' has 5 uids and 4 entries of 'population'"):
        _ = found.V
