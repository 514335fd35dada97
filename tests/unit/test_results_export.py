"""Recordings as objects of xarray, pandas and Neo: every value, time, uid and unit arrives."""

from __future__ import annotations

import builtins
import sys
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import neurodriver
from neurodriver.errors import NeurodriverError
from neurodriver.recorders import Block, Columns, HDF5Recorder, RecordingPlan

DT, INTERVAL, STEPS = 1e-4, 4, 40
TIMES = np.arange(3, STEPS, INTERVAL) * DT
V = np.arange(10)[:, None] * 10.0 + np.arange(4)
G = np.arange(10)[:, None] * 0.5 + np.arange(3)
NEURONS, SYNAPSES = np.array(["n0", "n1", "µ2", "n3"]), np.array(["s0", "s1", "s2"])
SPIKES = (np.array([2, 3, 3, 17]) * DT, np.array([1, 0, 1, 3], np.int32))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    columns = (
        Columns("V", NEURONS, "mV", False),
        Columns("I", NEURONS, "uA/cm^2", False),
        Columns("g", SYNAPSES, "odd unit", False),
        Columns("spike_state", NEURONS, "", True),
    )
    plan = RecordingPlan(DT, STEPS, INTERVAL, np.dtype("f8"), columns, {"seed": 7})
    recorder = HDF5Recorder(tmp_path / "run.h5", [], INTERVAL)
    recorder.open(plan)
    rows = {"V": V, "I": V * 2, "g": G}
    recorder.append(Block(0, rows, {"spike_state": SPIKES}, STEPS))
    recorder.close()
    return tmp_path / "run.h5"


def test_xarray_has_values_coordinates_and_units(path: Path) -> None:
    pytest.importorskip("xarray")
    with neurodriver.open(path) as recording:
        data = recording.to_xarray().load()
    assert data.V.dims == data.I.dims == ("time", "uid") and data.g.dims == ("time", "uid_g")
    np.testing.assert_array_equal(data.V, V)
    np.testing.assert_array_equal(data.I, 2 * V)
    np.testing.assert_array_equal(data.g.sel(uid_g="s1"), G[:, 1])
    np.testing.assert_allclose(data.time, TIMES)
    assert data.uid.values.tolist() == NEURONS.tolist()
    assert data.V.attrs["units"] == "mV" and data.time.attrs["units"] == "s"
    assert data.attrs["seed"] == 7 and data.attrs["dt"] == DT
    np.testing.assert_allclose(data.V.sel(uid="µ2", time=slice(0.001, 0.002)), [22, 32, 42])
    np.testing.assert_array_equal(data.spike_state_time, SPIKES[0])
    named = data.spike_state_uid.values[data.spike_state_index.values]
    assert named.tolist() == ["n1", "n0", "n1", "n3"]


def test_xarray_reads_only_what_is_used(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("xarray")
    read: list[int] = []
    getitem = h5py.Dataset.__getitem__

    def spy(self: h5py.Dataset, key: object, *args: object) -> object:
        value = getitem(self, key, *args)
        if self.ndim == 2:
            read.append(np.size(value))
        return value

    with neurodriver.open(path) as recording:
        monkeypatch.setattr(h5py.Dataset, "__getitem__", spy)
        data = recording.to_xarray(["V", "g"])
        assert read == [] and set(data.data_vars) == {"V", "g"}
        np.testing.assert_array_equal(data.V.isel(time=slice(8, 2, -2), uid=1), V[8:2:-2, 1])
        assert sum(read) == 5 * 4  # rows 4 to 8, whole


def test_pandas_of_rows(path: Path) -> None:
    pytest.importorskip("pandas")
    with neurodriver.open(path) as recording:
        frame = recording.to_pandas("V", ["n3", "n0"])
        assert frame.columns.tolist() == ["n3", "n0"] and frame.columns.name == "uid"
        assert frame.index.name == "time" and frame.attrs["units"] == "mV"
        np.testing.assert_array_equal(frame.to_numpy(), V[:, [3, 0]])
        np.testing.assert_allclose(frame.index, TIMES)
        np.testing.assert_array_equal(recording.to_pandas("V", "µ2")["µ2"], V[:, 2])


def test_pandas_of_events(path: Path) -> None:
    pytest.importorskip("pandas")
    with neurodriver.open(path) as recording:
        frame = recording.to_pandas("spike_state")
        assert frame.columns.tolist() == ["time", "uid"]
        np.testing.assert_array_equal(frame["time"], SPIKES[0])
        assert frame["uid"].tolist() == ["n1", "n0", "n1", "n3"]
        counts = frame.groupby("uid", observed=False).size()
        assert counts.to_dict() == {"n0": 1, "n1": 2, "µ2": 0, "n3": 1}
        assert recording.to_pandas("spike_state", ["n3"])["time"].tolist() == [17 * DT]


def test_neo_block(path: Path) -> None:
    pytest.importorskip("neo")
    with neurodriver.open(path) as recording:
        block = recording.to_neo()
    assert block.name == "run" and block.annotations["seed"] == 7
    (segment,) = block.segments
    signals = {s.name: s for s in segment.analogsignals}
    assert set(signals) == {"V", "I", "g"}
    np.testing.assert_array_equal(signals["V"].magnitude, V)
    np.testing.assert_allclose(signals["V"].times.rescale("s").magnitude, TIMES, rtol=1e-12)
    assert signals["V"].array_annotations["uid"].tolist() == NEURONS.tolist()
    np.testing.assert_allclose(signals["V"].rescale("V").magnitude, V / 1000)
    # 1 uA/cm^2 is 0.01 A/m^2.
    np.testing.assert_allclose(signals["I"].rescale("A/m**2").magnitude, 0.02 * V)
    assert signals["g"].annotations["unit"] == "odd unit"
    assert signals["g"].dimensionality.string == "dimensionless"
    trains = {t.annotations["uid"]: t for t in segment.spiketrains}
    assert list(trains) == NEURONS.tolist()
    np.testing.assert_allclose(trains["n1"].rescale("s").magnitude, [2 * DT, 3 * DT])
    assert len(trains["µ2"]) == 0
    assert trains["n3"].t_stop.rescale("s").item() == pytest.approx(STEPS * DT)


def test_neo_of_an_old_file_has_spike_trains(tmp_path: Path) -> None:
    """Spikes stored as rows are no analog signal."""
    pytest.importorskip("neo")
    with h5py.File(tmp_path / "old.h5", "w") as file:
        file.create_dataset("metadata", (), "i4").attrs.update({"dt": DT, "start_time": 0.0})
        file["spike_state/uids"] = np.array([b"a", b"b"])
        file["spike_state/data"] = np.array([[0, 1], [1, 0], [0, 1]], float)
    with neurodriver.open(tmp_path / "old.h5") as recording:
        segment = recording.to_neo().segments[0]
    assert len(segment.analogsignals) == 0
    np.testing.assert_allclose(segment.spiketrains[1].magnitude, [0, 2 * DT])


@pytest.mark.parametrize("package", ["xarray", "pandas", "neo"])
def test_a_missing_package_is_named(
    path: Path, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def refuse(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.split(".")[0] == package:
            raise ImportError(f"no {name}")
        return real(name, *args, **kwargs)

    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setattr(builtins, "__import__", refuse)
    with neurodriver.open(path) as recording:
        export = getattr(recording, f"to_{package}")
        with pytest.raises(NeurodriverError, match=rf'{package}.*"neurodriver\[results\]"'):
            export("V")
