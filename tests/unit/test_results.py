"""Reading recordings: of finished runs, of killed runs, of older programs."""

from __future__ import annotations

import itertools
from pathlib import Path

import h5py
import numpy as np
import pytest

import neurodriver
from neurodriver.errors import NeurodriverError, RecordingError
from neurodriver.recorders import Block, Columns, HDF5Recorder, RecordingPlan
from neurodriver.results import Events, Recording, Variable, open_recording

DT = 1e-4
UIDS = np.array(["n0", "n1", "µ2", "n3"])
STEPS, INTERVAL = 40, 4
VALUES = np.arange(10)[:, None] * 10.0 + np.arange(4)  # row 3, column 2: 32
SPIKES = (np.array([2, 3, 3, 17]) * DT, np.array([1, 0, 1, 3], np.int32))


def start(path: Path, steps: int | None = STEPS) -> HDF5Recorder:
    columns = (Columns("V", UIDS, "mV", False), Columns("spike_state", UIDS, "", True))
    plan = RecordingPlan(DT, steps, INTERVAL, np.dtype("f8"), columns, {"command": "test"})
    recorder = HDF5Recorder(path, [("V", None), ("spike_state", None)], INTERVAL)
    recorder.open(plan)
    return recorder


@pytest.fixture
def finished(tmp_path: Path) -> Path:
    recorder = start(tmp_path / "run.h5")
    recorder.append(Block(0, {"V": VALUES}, {"spike_state": SPIKES}, STEPS))
    recorder.close()
    return tmp_path / "run.h5"


def test_header(finished: Path) -> None:
    with open_recording(finished) as recording:
        assert recording.variables == ("V", "spike_state")
        assert recording.dt == DT and recording.sample_interval == INTERVAL
        assert recording.attributes["command"] == "test"
        assert recording.attributes["start_time"] == 3 * DT
        assert recording.complete and recording.duration == pytest.approx(STEPS * DT)
        assert recording.uids("V") == UIDS.tolist()
        assert recording.unit("V") == "mV" and recording.unit("spike_state") == ""
        assert recording.is_events("spike_state") and not recording.is_events("V")
        text = repr(recording)
        assert "0.004 s, dt 0.0001 s\n" in text and "incomplete" not in text
        assert "Variable V (mV): 10 rows, 0.0003 to 0.0039 s x 4 uids (n0, n1, µ2, ...)" in text
        assert "Events spike_state: 4 events of 4 uids" in text
    assert repr(recording).endswith("run.h5' (closed)")


def test_times(finished: Path) -> None:
    with open_recording(finished) as recording:
        np.testing.assert_allclose(recording.time("V"), np.arange(3, STEPS, 4) * DT, rtol=1e-15)


def test_slices_are_those_of_the_array(finished: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("neurodriver.results.variable.SLAB_BYTES", 96)  # three rows
    keys = [
        np.s_[:], np.s_[3], np.s_[-1], np.s_[2:7], np.s_[::3], np.s_[8:2:-2], np.s_[7:2],
        np.s_[...], np.s_[:, 0], np.s_[2:4, ::-1], np.s_[5, 0], np.s_[[1, 5]], VALUES[:, 0] > 30,
    ]  # fmt: skip
    with open_recording(finished) as recording:
        for uids in (None, UIDS.tolist(), ["n3", "µ2"], ["n1"], "n1"):
            chosen = [uids] if isinstance(uids, str) else uids
            columns = [UIDS.tolist().index(u) for u in chosen or UIDS.tolist()]
            data, expected = recording.data("V", uids), VALUES[:, columns]
            assert data.shape == expected.shape and data.dtype == np.float64
            for key in keys:
                np.testing.assert_array_equal(data[key], expected[key])
            np.testing.assert_array_equal(np.asarray(data), expected)
            assert len(data) == 10
        with pytest.raises(IndexError):
            recording.data("V")[10]


def test_only_what_is_sliced_is_read(finished: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    getitem = h5py.Dataset.__getitem__

    def spy(self: h5py.Dataset, key: object, *args: object) -> object:
        value = getitem(self, key, *args)
        read.append(np.size(value))
        return value

    with open_recording(finished) as recording:
        data = recording.data("V")
        monkeypatch.setattr(h5py.Dataset, "__getitem__", spy)
        _ = data[4:6]
    assert read == [8]


def test_spikes(finished: Path) -> None:
    with open_recording(finished) as recording:
        time, index = recording.events()
        np.testing.assert_array_equal(time, SPIKES[0])
        np.testing.assert_array_equal(index, SPIKES[1])
        spikes = recording.spikes()
        assert list(spikes) == UIDS.tolist()
        for i, uid in enumerate(UIDS):
            np.testing.assert_array_equal(spikes[uid], SPIKES[0][SPIKES[1] == i])
        assert list(recording.spikes(["n3", "n1"])) == ["n3", "n1"]
        np.testing.assert_array_equal(recording.spikes("n1")["n1"], np.array([2, 3]) * DT)


@pytest.mark.parametrize("steps", [STEPS, None])
def test_a_killed_run_shows_what_is_valid(tmp_path: Path, steps: int | None) -> None:
    recorder = start(tmp_path / "run.h5", steps)
    recorder.append(Block(0, {"V": VALUES[:6]}, {"spike_state": SPIKES}, 25))
    with open_recording(tmp_path / "run.h5") as recording:  # never closed, as after a kill
        assert not recording.complete
        assert recording.data("V").shape == (6, 4)
        np.testing.assert_array_equal(recording.data("V")[:], VALUES[:6])
        assert len(recording.time("V")) == 6
        assert len(recording.events()[0]) == 4
        assert recording.duration == pytest.approx(25 * DT)
    recorder.close()


def test_a_run_killed_before_its_first_row(tmp_path: Path) -> None:
    recorder = start(tmp_path / "run.h5")
    with open_recording(tmp_path / "run.h5") as recording:
        assert recording.data("V").shape == (0, 4) and len(recording.time("V")) == 0
        assert recording.data("V")[:].shape == (0, 4)
        assert all(len(t) == 0 for t in recording.spikes().values())
        assert recording.duration == 0
    recorder.close()


def write_old(path: Path, attrs: dict[str, float], spike_rows: bool = False) -> None:
    """A file as older programs write it."""
    with h5py.File(path, "w") as file:
        file.create_dataset("metadata", (), "i4").attrs.update(attrs)
        file["V/data"], file["V/uids"] = VALUES, np.char.encode(UIDS, "utf-8")
        file["spike_state/uids"] = np.char.encode(UIDS, "utf-8")
        if spike_rows:
            file["spike_state/data"] = (VALUES % 7 == 0).astype(float)
        else:
            file["spike_state/data/time"], file["spike_state/data/index"] = SPIKES


def test_an_old_output_file_has_true_times(tmp_path: Path) -> None:
    path = tmp_path / "old.h5"
    write_old(path, {"dt": DT, "sample_interval": 4, "start_time": 0.0})
    with open_recording(path) as recording:
        assert recording.complete
        np.testing.assert_allclose(recording.time("V"), (np.arange(10) * 4 + 3) * DT, rtol=1e-15)
        np.testing.assert_array_equal(recording.spikes()["n3"], [17 * DT])
        assert recording.duration == pytest.approx(40 * DT)
        assert recording.unit("V") == ""


def test_a_recorded_input_starts_at_step_zero(tmp_path: Path) -> None:
    path = tmp_path / "input.h5"
    write_old(path, {"dt": DT, "sample_interval": 2}, spike_rows=True)
    with open_recording(path) as recording:
        np.testing.assert_allclose(recording.time("V"), np.arange(10) * 2 * DT, rtol=1e-15)
        assert not recording.is_events("spike_state")
        rows = np.nonzero(VALUES[:, 1] % 7 == 0)[0]
        assert len(rows)
        np.testing.assert_allclose(recording.spikes()["n1"], rows * 2 * DT, rtol=1e-15)


def test_errors_name_file_and_what_is_missing(finished: Path, tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match=r"none\.h5: no such file"):
        open_recording(tmp_path / "none.h5")
    (tmp_path / "text.h5").write_text("not HDF5")
    with pytest.raises(RecordingError, match=r"text\.h5: cannot be read as HDF5"):
        open_recording(tmp_path / "text.h5")
    with h5py.File(tmp_path / "empty.h5", "w"):
        pass
    with pytest.raises(RecordingError, match=r"empty\.h5: holds no variable"):
        open_recording(tmp_path / "empty.h5")
    write_old(tmp_path / "nodt.h5", {})
    with pytest.raises(RecordingError, match=r"nodt\.h5: attribute 'dt' of 'metadata' is missing"):
        open_recording(tmp_path / "nodt.h5")
    with open_recording(finished) as recording:
        with pytest.raises(
            RecordingError, match=r"run\.h5: no variable 'v' \(did you mean 'V'\?\)"
        ):
            recording.data("v")
        with pytest.raises(RecordingError, match=r"no column 'x' in 'V'; it holds 4 uids, 1 of 2"):
            recording.data("V", ["n0", "x"])
        with pytest.raises(RecordingError, match=r"stored as events; use spikes\(\)"):
            recording.data("spike_state")
    assert issubclass(RecordingError, NeurodriverError) and issubclass(RecordingError, OSError)


def test_missing_parts(finished: Path) -> None:
    with h5py.File(finished, "r+") as file:
        del file["spike_state/data/index"], file["V/uids"]
    with Recording(finished) as recording:
        with pytest.raises(RecordingError, match="'spike_state/data/index' is missing"):
            recording.spikes()
        with pytest.raises(RecordingError, match="'V/uids' is missing"):
            recording.uids("V")


def test_variables_by_name_and_uid(finished: Path) -> None:
    """rec["V"] is an array with names; a uid gives one axis, a list of uids two."""
    with neurodriver.open(finished) as recording:
        assert list(recording) == ["V", "spike_state"] and len(recording) == 2
        assert "V" in recording and "W" not in recording
        V = recording["V"]
        assert isinstance(V, Variable) and V.shape == (10, 4) and V.ndim == 2
        assert (V.name, V.unit, V.uids) == ("V", "mV", UIDS.tolist())
        assert V.dt == pytest.approx(INTERVAL * DT)
        np.testing.assert_allclose(V.time, np.arange(3, STEPS, 4) * DT, rtol=1e-15)
        one = V["µ2"]
        assert one.shape == (10,) and one.uids == ["µ2"] and one.ndim == 1
        np.testing.assert_array_equal(one, VALUES[:, 2])
        for key in (np.s_[3], np.s_[-2:], np.s_[::-3], np.s_[...], [1, 5], VALUES[:, 0] > 30):
            np.testing.assert_array_equal(one[key], VALUES[:, 2][key])
        np.testing.assert_array_equal(V[["n3", "n0"]][2:4], VALUES[2:4, [3, 0]])
        np.testing.assert_array_equal(V[["n3", "n0"]]["n0"][:], VALUES[:, 0])
        assert one[["µ2"]].shape == (10, 1)
        assert repr(one) == "Variable V (mV): 10 rows, 0.0003 to 0.0039 s x 1 uids (µ2)"
        with pytest.raises(RecordingError, match=r"'n1' is not among the 2 uids chosen of 'V'"):
            V[["n3", "n0"]]["n1"]
        with pytest.raises(RecordingError, match=r"no column 'n9' in 'V'"):
            V["n9"]


def test_a_time_window_holds_its_begin_and_not_its_end(finished: Path) -> None:
    """Windows that touch share no row and lose none, whatever the rounding of their bounds."""
    with neurodriver.open(finished) as recording:
        V, times = recording["V"], np.arange(3, STEPS, 4) * DT
        for low, high in ((0, 1), (times[2], times[5]), (0.00029, 0.0031), (0.1, 0.2), (0.003, 0)):
            held = (times >= low - 1e-9) & (times < high - 1e-9)
            part = V.between(low, high)
            np.testing.assert_array_equal(part[:], VALUES[held])
            np.testing.assert_allclose(part.time, times[held])
        later = V.between(np.nextafter(times[2], 1), np.nextafter(times[5], 1))
        np.testing.assert_array_equal(later[:], VALUES[2:5])  # a bound off by a rounding
        bounds = [0.0, 3 * 0.0001 + 1e-19, 0.1 * 0.011, 0.0019, 0.004]
        parts = [V.between(a, b)["n1"][:] for a, b in itertools.pairwise(bounds)]
        np.testing.assert_array_equal(np.concatenate(parts), VALUES[:, 1])
        np.testing.assert_array_equal(V["n1"].between(0.001, 0.002).between(0.0015)[:], [31, 41])


def test_events_by_uid_and_window(finished: Path) -> None:
    """rec["spike_state"] gives times by uid; numbers count within what was chosen."""
    with neurodriver.open(finished) as recording:
        events = recording["spike_state"]
        assert isinstance(events, Events) and len(events) == 4 and events.unit == "s"
        np.testing.assert_array_equal(events["n1"], np.array([2, 3]) * DT)
        some = events[["n3", "n1"]]
        assert some.uids == ["n3", "n1"] and len(some) == 3
        np.testing.assert_array_equal(some.index, [1, 1, 0])
        np.testing.assert_array_equal(some.time, np.array([2, 3, 17]) * DT)
        np.testing.assert_array_equal(events.between(3 * DT, 17 * DT).index, [0, 1])
        np.testing.assert_array_equal(some.between(3 * DT)["n3"], [17 * DT])
        assert repr(some) == "Events spike_state: 3 events of 2 uids (n3, n1)"
        with pytest.raises(RecordingError, match="'n0' is not among the 2 uids chosen"):
            some["n0"]


def test_rows_of_spikes_are_read_slab_by_slab(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dense spikes of an old file become the same events however they are read."""
    monkeypatch.setattr("neurodriver.results.variable.SLAB_BYTES", 96)  # three rows
    write_old(tmp_path / "old.h5", {"dt": DT, "sample_interval": 2, "start_time": 0.0}, True)
    with neurodriver.open(tmp_path / "old.h5") as recording:
        row, column = np.nonzero(VALUES % 7 == 0)
        time, index = recording.events()
        np.testing.assert_array_equal(index, column)
        np.testing.assert_allclose(time, (2 * row + 1) * DT, rtol=1e-12)
        assert isinstance(recording["spike_state"], Variable) and len(row) > 3


def test_what_a_file_does_not_tell_can_be_told(tmp_path: Path) -> None:
    """An input file has no metadata: time step, interval and start come from the caller."""
    path = tmp_path / "input.h5"
    write_old(path, {}, spike_rows=True)
    with h5py.File(path, "r+") as file:
        del file["metadata"]
    with pytest.raises(RecordingError, match=r"'dt'.*is missing.*open\(path, dt=\.\.\.\)"):
        neurodriver.open(path)
    with neurodriver.open(path, dt=1e-3) as recording:
        np.testing.assert_allclose(recording["V"].time, np.arange(10) * 1e-3)
        assert recording.complete and recording.duration == pytest.approx(10e-3)
    with neurodriver.open(path, dt=1e-3, sample_interval=5, start_time=1.0) as recording:
        np.testing.assert_allclose(recording["V"].time, 1 + np.arange(10) * 5e-3)
    with pytest.raises(RecordingError, match="have to be positive"):
        neurodriver.open(path, dt=-1.0)


def test_recordings_behind_links(finished: Path, tmp_path: Path) -> None:
    """One file may link the recordings of several LPUs; each is opened by its group."""
    with h5py.File(tmp_path / "all.h5", "w") as file:
        file["medulla"] = h5py.ExternalLink("run.h5", "/")
        file["gone"] = h5py.ExternalLink("no.h5", "/")
    with pytest.raises(RecordingError, match=r"holds several recordings.*group=: medulla$"):
        Recording(tmp_path / "all.h5")
    with neurodriver.open(tmp_path / "all.h5", group="medulla") as recording:
        np.testing.assert_array_equal(recording["V"][:], VALUES)
        np.testing.assert_array_equal(recording.spikes()["n3"], [17 * DT])
    for group in ("gone", "medula"):
        with pytest.raises(RecordingError, match=f"nothing at '{group}'.*there is: gone, medulla"):
            neurodriver.open(tmp_path / "all.h5", group=group)


def test_a_closed_recording_says_so(finished: Path) -> None:
    with neurodriver.open(finished) as recording:
        V = recording["V"]
    with pytest.raises(RecordingError, match="the recording is closed"):
        V[:]


def test_columns_and_uids_that_do_not_fit(finished: Path) -> None:
    with h5py.File(finished, "r+") as file:
        del file["V/uids"]
        file["V/uids"] = np.array([b"a", b"b"])
    with neurodriver.open(finished) as recording:
        with pytest.raises(RecordingError, match=r"run\.h5: 'V' has 4 columns and 2 uids"):
            recording["V"]


def test_star_import_leaves_the_open_of_python_alone() -> None:
    names: dict[str, object] = {}
    exec("from neurodriver import *", names)
    assert "open" not in names and names["Recording"] is Recording
    assert neurodriver.open is open_recording
