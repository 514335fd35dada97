"""Recordings as files of Neurodata Without Borders, and as objects of Neo with populations."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import neurodriver as nd
from neurodriver.errors import NeurodriverError, RecordingError

DT = 1e-4


@pytest.fixture(scope="module")
def run() -> tuple[nd.Circuit, nd.Recording]:
    """Two populations with potentials and spikes; one of them is silent."""
    loud = nd.Population("LeakyIAFShiu", 4, name="loud", columns={"type": ["a", "b", "a", "b"]})
    quiet = nd.Population("LeakyIAFShiu", 3, name="quiet", columns={"type": "c"})
    circuit = nd.Circuit([loud, quiet]).stimulate(loud, 100.0)
    recorders = [nd.MemoryRecorder([("V", None), ("s", [*quiet.uids]), ("spike_state", None)], 5)]
    with nd.LPU(circuit, DT, recorders=recorders) as lpu:
        lpu.run(duration=0.2)
    return circuit, recorders[0].recording


def test_neo_has_populations(run: tuple[nd.Circuit, nd.Recording]) -> None:
    """Each population is a group of spike trains."""
    pytest.importorskip("neo")
    block = run[1].to_neo()
    groups = {group.name: group for group in block.groups}
    assert list(groups) == ["loud", "quiet"]
    trains = groups["loud"].spiketrains
    assert [t.annotations["uid"] for t in trains] == [f"loud/{i}" for i in range(4)]
    assert {t.annotations["population"] for t in groups["quiet"].spiketrains} == {"quiet"}
    (signal,) = [s for s in block.segments[0].analogsignals if s.name == "V"]
    assert signal.array_annotations["population"].tolist() == ["loud"] * 4 + ["quiet"] * 3


def test_nwb(run: tuple[nd.Circuit, nd.Recording], tmp_path: Path) -> None:
    """What pynwb reads is what was recorded; nwbinspector has no critical finding."""
    pynwb = pytest.importorskip("pynwb")
    circuit, recording = run
    begin = datetime(2026, 1, 2, tzinfo=UTC)
    path = recording.to_nwb(
        tmp_path / "run.nwb", circuit=circuit, session_start_time=begin, experimenter="A, B"
    )
    with pynwb.NWBHDF5IO(str(path), "r") as io:
        file = io.read()
        assert file.session_start_time == begin and file.experimenter == ("A, B",)
        units = file.units.to_dataframe()
        assert list(units.columns) == ["uid", "population", "type", "spike_times"]
        assert units.uid.tolist() == list(recording.spikes.uids)
        assert units.population.tolist() == ["loud"] * 4 + ["quiet"] * 3
        assert units.type.tolist() == ["a", "b", "a", "b", "c", "c", "c"]
        for uid, times in recording.spikes().items():
            assert_array_equal(units[units.uid == uid].spike_times.iloc[0], times)
        module = file.processing["misc"]
        V = module["V"]
        assert V.unit == "volts" and V.conversion == 1e-3
        assert_array_equal(V.data[:], recording.V[:])
        times = V.starting_time + np.arange(len(V.data)) / V.rate
        assert_allclose(times, recording.V.time, rtol=1e-12)
        assert module["components"].to_dataframe().uid.tolist() == recording.V.uids
        assert module["components_2"].to_dataframe().population.tolist() == ["quiet"] * 3
        assert "'components_2'" in module["s"].description
    nwbinspector = pytest.importorskip("nwbinspector")
    found = list(nwbinspector.inspect_nwbfile(nwbfile_path=path))
    worst = [m for m in found if m.importance.value >= nwbinspector.Importance.CRITICAL.value]
    assert not worst, worst


def test_nwb_without_spikes(tmp_path: Path) -> None:
    """Where nobody fires there are no units, and the components are listed."""
    pynwb, nwbinspector = pytest.importorskip("pynwb"), pytest.importorskip("nwbinspector")
    with nd.LPU(nd.Circuit([nd.Population("LeakyIAFShiu", 2, name="p")]), DT) as lpu:
        lpu.run(steps=5, record=["spike_state", "V"])
        path = lpu.recording.to_nwb(tmp_path / "run.nwb")
    with pynwb.NWBHDF5IO(str(path), "r") as io:
        file = io.read()
        components = file.processing["misc"]["components"].to_dataframe()
        assert file.units is None and components.uid.tolist() == ["p/0", "p/1"]
    found = nwbinspector.inspect_nwbfile(nwbfile_path=path)
    assert max(m.importance.value for m in found) < nwbinspector.Importance.CRITICAL.value


def test_nwb_files_are_not_lost(run: tuple[nd.Circuit, nd.Recording], tmp_path: Path) -> None:
    """A file is replaced on demand only, and a refused one leaves nothing."""
    pytest.importorskip("pynwb")
    recording, path = run[1], tmp_path / "run.nwb"
    cases: list[tuple[dict[str, Any], type[Exception], str]] = [
        ({"path": tmp_path / "run.h5"}, RecordingError, "must be '.nwb'"),
        ({"path": path, "sessions": 3}, NeurodriverError, "sessions"),
        ({"path": path, "session_start_time": "today"}, NeurodriverError, "session_start_time"),
        ({"path": path, "variables": "W"}, RecordingError, "no variable 'W'"),
        ({"path": path, "circuit": nd.Circuit([nd.Population("SpikeSource", 1, name="x")])},
         NeurodriverError, "there is no component 'loud/0'"),
    ]  # fmt: skip
    for given, error, said in cases:
        with pytest.raises(error, match=said):
            recording.to_nwb(**given)
        assert not list(tmp_path.iterdir())
    recording.to_nwb(path, "spike_state")
    with pytest.raises(RecordingError, match="the file exists; say overwrite=True"):
        recording.to_nwb(path)
    size = path.stat().st_size
    recording.to_nwb(path, overwrite=True)
    assert path.stat().st_size > size


def test_without_pynwb(
    run: tuple[nd.Circuit, nd.Recording], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message says what to install."""
    monkeypatch.setitem(__import__("sys").modules, "pynwb", None)
    with pytest.raises(NeurodriverError, match=r"neurodriver\[nwb\]"):
        run[1].to_nwb(tmp_path / "run.nwb")
