"""Smoke test: recordings are opened, looked at, exported and drawn."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from support import DT, chain

import neurodriver as nd
from neurodriver.results import activity, described, train_measures

STEPS = 200


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording of potentials and spikes."""
    path = tmp_path_factory.mktemp("run") / "out.h5"
    recorder = nd.HDF5Recorder(path, [("V", None), ("spike_state", None)])
    with nd.LPU(chain(), DT, [nd.StepInput("I", ["a"], 2.0)], [recorder]) as lpu:
        lpu.run(steps=STEPS)
    return path


@pytest.fixture
def recording(path: Path) -> Iterator[nd.Recording]:
    """The recording, opened."""
    with nd.open_recording(path) as opened:
        yield opened


def test_counts() -> None:
    """Spikes are counted in intervals."""
    recorder = nd.CountRecorder("spike_state", interval=STEPS * DT / 2)
    with nd.LPU(chain(), DT, [nd.StepInput("I", ["a"], 2.0)], [recorder]) as lpu:
        lpu.run(steps=STEPS)
    assert recorder.counts("spike_state").sum() > 0 and len(recorder.edges()) == 3
    assert recorder.rates("spike_state").shape == (2, len(recorder.uids("spike_state")))


def test_compare(path: Path) -> None:
    """Rates of groups of two runs stand side by side."""
    found = nd.compare({"one": path, "two": path}, by={"both": ["a", "b"]})
    assert isinstance(found, nd.Comparison) and found.rates.shape == (2, 1)
    assert found.rates[0, 0] == found.rates[1, 0] > 0


def test_variables_and_events(recording: nd.Recording) -> None:
    """Values by name and uid, spikes by uid, windows of time."""
    V, spikes = recording["V"], recording["spike_state"]
    assert isinstance(V, nd.Variable) and isinstance(spikes, nd.Events)
    assert V.uids == ["a", "b"] and V.shape == (STEPS, 2) and recording.complete
    assert V["b"].between(0.01, 0.02)[:].shape == (100,)
    assert len(recording.spikes()["a"]) > 5 and np.isin(recording.spikes()["a"], spikes.time).all()


def test_exports(recording: nd.Recording) -> None:
    """xarray, pandas and Neo hold what the file holds."""
    for package in ("xarray", "pandas", "neo"):
        pytest.importorskip(package)
    V = recording["V"][:]
    assert np.array_equal(recording.to_xarray()["V"].values, V)
    assert np.array_equal(recording.to_pandas("V").to_numpy(), V)
    assert len(recording.to_neo().segments[0].spiketrains) >= 1


def test_figures(recording: nd.Recording, tmp_path: Path) -> None:
    """A figure of a recording, one of populations, and a movie."""
    pytest.importorskip("matplotlib")
    figure = nd.plot_recording(recording, tmp_path / "figure.png")
    events = recording["spike_state"]
    spikes = {"time": events.time, "index": events.index}
    found = activity(**spikes, populations={"both": range(2)}, stop=STEPS * DT)
    each = train_measures(**spikes, populations={"both": range(2)}, stop=STEPS * DT)["both"]
    assert each["rate"].mean() == pytest.approx(found[0].rate)
    assert isinstance(found[0], nd.Activity) and found[0].rate > 100
    assert "both" in described(found)
    populations = nd.plot_populations(spikes, found, {"both": range(2)}, tmp_path / "both.png")
    movie = nd.Movie(figsize=(2.0, 1.5))
    movie.add(recording["V"], "waveform")
    movie.save(tmp_path / "movie.gif", interval=5e-3)
    for made in (figure, populations, tmp_path / "movie.gif"):
        assert made.stat().st_size > 1000
