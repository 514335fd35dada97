"""Figures of recordings: made, and not empty."""

from __future__ import annotations

import builtins
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from neurodriver.__main__ import main
from neurodriver.errors import NeurodriverError
from neurodriver.plot.recording import plot_movie, plot_recording
from neurodriver.plot.style import COLOURS
from neurodriver.plot.thinning import averaged, spread, thin
from neurodriver.recorders import Block, Columns, HDF5Recorder, RecordingPlan
from neurodriver.results import open_recording

matplotlib = pytest.importorskip("matplotlib")

DT = 1e-3


def make(
    path: Path, neurons: int = 5, cells: int = 30, steps: int = 400, silent: bool = False
) -> Path:
    """Waves in V and g, one spike of each neuron at each crest."""
    few, many = (np.array([f"{p}{i}" for i in range(n)]) for p, n in (("n", neurons), ("c", cells)))
    columns = (
        Columns("V", few, "mV", False),
        Columns("g", many, "mS/cm^2", False),
        Columns("spike_state", few, "", True),
    )
    phase = np.arange(steps)[:, None] / 50 + np.arange(max(neurons, cells)) / 7
    wave = -60 + 10 * np.sin(2 * np.pi * phase)
    step, index = np.nonzero((phase[1:, :neurons] // 1) > (phase[:-1, :neurons] // 1))
    recorder = HDF5Recorder(path, [], overwrite=True)
    recorder.open(RecordingPlan(DT, None, 1, np.dtype("f8"), columns, {}))
    if not silent:
        rows = {"V": wave[:, :neurons], "g": (wave + 60)[:, :cells]}
        events = {"spike_state": (step * DT, index.astype(np.int32))}
        recorder.append(Block(0, rows, events, steps))
    recorder.close()
    return path


def pixels(path: Path) -> np.ndarray:
    from matplotlib.image import imread

    return np.asarray(imread(path))[:, :, :3]


def share(image: np.ndarray, colour: str) -> float:
    """Part of the pixels that nearly have a colour."""
    from matplotlib.colors import to_rgb

    return float((np.abs(image - to_rgb(colour)).max(axis=2) < 0.05).mean())


def test_traces_heat_map_and_raster(tmp_path: Path) -> None:
    path = make(tmp_path / "run.h5")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = plot_recording(path, tmp_path / "run.png", title="Waves")
    assert figure == tmp_path / "run.png"
    image = pixels(figure)
    assert image.shape[1] > 1000
    for colour in COLOURS[:5]:  # each neuron has its trace, its label and its spikes
        assert share(image, colour) > 1e-3
    assert share(image, COLOURS[6]) < 1e-4
    assert 0.1 < (image.min(axis=2) < 0.9).mean() < 0.9


def test_chosen_variables_and_uids(tmp_path: Path) -> None:
    path = make(tmp_path / "run.h5")
    one = pixels(plot_recording(path, tmp_path / "one.png", ["V"], ["n3"]))
    three = pixels(plot_recording(path, tmp_path / "three.png"))
    assert one.shape[0] < 0.6 * three.shape[0]
    assert share(one, COLOURS[0]) > 1e-3 and share(one, COLOURS[1]) < 1e-4
    # A panel shows the uids that it has: g has no n3.
    assert pixels(plot_recording(path, tmp_path / "two.png", uids=["n3"])).shape[0] < len(three)


def test_units_and_uids_are_written(tmp_path: Path) -> None:
    path = make(tmp_path / "run.h5")
    text = plot_recording(path, tmp_path / "run.svg", title="A title").read_text()
    for word in ("V (mV)", "g (mS/cm²)", "time (ms)", "A title", "n0", "n4", "spike_state"):
        assert word in text
    text = plot_recording(make(path, steps=3000), tmp_path / "run.svg").read_text()
    assert "time (s)" in text and "time (ms)" not in text


def test_large_recording_is_thinned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("neurodriver.plot.thinning.MOST_POINTS", 100)
    monkeypatch.setattr("neurodriver.plot.thinning.MOST_ROWS", 10)
    path = make(tmp_path / "run.h5", neurons=3, cells=45, steps=1234)
    with open_recording(path) as recording:
        data = recording.data("V")
        time, values = thin(recording.time("V"), data)
        assert len(time) == len(values) <= 102
        np.testing.assert_array_equal(values.min(axis=0), data[:].min(axis=0))
        np.testing.assert_array_equal(values.max(axis=0), data[:].max(axis=0))
        whole = recording.data("g")[:]
        image = averaged(recording.data("g"))
        assert image.shape == (95, 9)
        np.testing.assert_allclose(image[0, 0], whole[:13, :5].mean())
        np.testing.assert_allclose(image[-1, -1], whole[1222:, 40:].mean())
    assert pixels(plot_recording(path, tmp_path / "run.png")).std() > 0.05


def test_raster_of_many(tmp_path: Path) -> None:
    path = make(tmp_path / "run.h5", neurons=200, cells=2, steps=2000)
    image = pixels(plot_recording(path, tmp_path / "run.png", ["spike_state"]))
    assert 0.01 < (image.max(axis=2) < 0.7).mean() < 0.5


def test_empty_recording(tmp_path: Path) -> None:
    path = make(tmp_path / "run.h5", silent=True)
    text = plot_recording(path, tmp_path / "run.svg").read_text()
    assert text.count("no rows recorded") == 2 and "no events" in text


def test_labels_are_kept_apart() -> None:
    for heights in ([0.5] * 12, [0.0, 0.01, 0.02], [1.0, 0.99, 0.98], [0.1, 0.9]):
        placed = spread(np.array(heights), 0.078)
        assert np.all(np.diff(np.sort(placed)) > 0.0779)
        assert placed.min() > -0.01 and placed.max() <= 0.99


def test_not_finite_values_do_not_stop_it(tmp_path: Path) -> None:
    names = np.array([f"n{i}" for i in range(20)])
    columns = (Columns("V", names[:2], "mV", False), Columns("W", names, "mV", False))
    recorder = HDF5Recorder(tmp_path / "run.h5", [])
    recorder.open(RecordingPlan(DT, 4, 1, np.dtype("f8"), columns, {}))
    recorder.append(Block(0, {"V": np.full((4, 2), np.nan), "W": np.full((4, 20), np.nan)}, {}, 4))
    recorder.close()
    assert plot_recording(tmp_path / "run.h5", tmp_path / "run.png").stat().st_size > 1000


def test_errors(tmp_path: Path) -> None:
    path = make(tmp_path / "run.h5")
    with pytest.raises(NeurodriverError, match=r"run\.h5: no variable 'W'"):
        plot_recording(path, tmp_path / "run.png", ["W"])
    with pytest.raises(NeurodriverError, match=r"run\.h5: no column 'x9' in V, g, spike_state"):
        plot_recording(path, tmp_path / "run.png", uids=["n1", "x9"])
    with pytest.raises(NeurodriverError, match=r"run\.xyz: cannot be written.*not supported"):
        plot_recording(path, tmp_path / "run.xyz")
    with pytest.raises(NeurodriverError, match=r"run\.png: cannot be written"):
        plot_recording(path, path / "run.png")  # in a file instead of a folder
    made = plot_recording(path, tmp_path / "figures" / "run.png")
    assert made.stat().st_size > 1000


def test_without_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, real = make(tmp_path / "run.h5"), builtins.__import__

    def refuse(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.split(".")[0] == "matplotlib":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(NeurodriverError, match=r'pip install "neurodriver\[plot\]"'):
        plot_recording(path, tmp_path / "run.png")


def test_importing_draws_in_nothing() -> None:
    script = "import neurodriver.plot, sys; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script]).returncode == 0


def drawn(path: Path, **what: Any) -> Any:
    """Return the figure of a recording, before it is a picture."""
    from matplotlib.figure import Figure

    made: list[Any] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Figure, "savefig", lambda self, *given, **more: made.append(self))
        plot_recording(path, path.with_suffix(".png"), **what)
    return made[0]


def test_lines_and_marks_are_the_values(tmp_path: Path) -> None:
    """What the artists hold is what the file holds, in ms."""
    path = make(tmp_path / "run.h5")
    figure = drawn(path, variables=["V", "spike_state"])
    with open_recording(path) as recording:
        values, spikes = recording["V"][:], recording.spikes()
    traces, raster = figure.axes
    assert len(traces.lines) == 5
    for i, line in enumerate(traces.lines):
        np.testing.assert_array_equal(line.get_ydata(), values[:, i])
        np.testing.assert_allclose(line.get_xdata(), np.arange(400.0))
    assert len(raster.lines) == 5
    for i, marks in enumerate(raster.lines):
        np.testing.assert_allclose(marks.get_xdata(), spikes[f"n{i}"] * 1e3)
        assert len(marks.get_xdata()) >= 7 and set(marks.get_ydata()) == {i}


def test_a_time_window(tmp_path: Path) -> None:
    """Only rows and events of the window are drawn, and the axis shows it."""
    path = make(tmp_path / "run.h5")
    figure = drawn(path, uids=["n3", "n1"], start=0.1, stop=0.2)
    traces, raster = figure.axes
    assert traces.get_xlim() == (100, 200)
    np.testing.assert_allclose(traces.lines[0].get_xdata(), np.arange(100.0, 200.0))
    with open_recording(path) as recording:
        np.testing.assert_array_equal(traces.lines[0].get_ydata(), recording["V"]["n3"][100:200])
        spikes = recording["spike_state"]["n3"]
    inside = spikes[(spikes >= 0.1) & (spikes < 0.2)]
    assert len(inside) >= 2
    np.testing.assert_allclose(raster.lines[0].get_xdata(), inside * 1e3)
    for window in ((0.2, 0.2), (0.3, 0.2), (0, float("inf"))):
        with pytest.raises(NeurodriverError, match="time window"):
            plot_recording(path, tmp_path / "x.png", start=window[0], stop=window[1])
    late = drawn(path, uids=["n3"], start=0.1).axes[0]  # until the end
    np.testing.assert_array_equal(late.lines[0].get_xdata()[:100], traces.lines[0].get_xdata())


def test_spikes_of_an_old_file_are_a_raster(tmp_path: Path) -> None:
    """Rows of zeros and ones are marks, not traces."""
    rows = np.zeros((50, 3))
    rows[[3, 10, 40], [0, 2, 2]] = 1
    with h5py.File(tmp_path / "old.h5", "w") as file:
        file.create_dataset("metadata", (), "i4").attrs.update({"dt": DT, "start_time": 0.0})
        file["spike_state/uids"], file["spike_state/data"] = [b"a", b"b", b"c"], rows
    (axis,) = drawn(tmp_path / "old.h5").axes
    np.testing.assert_allclose(axis.lines[2].get_xdata(), [10, 40])
    assert len(axis.lines[1].get_xdata()) == 0


def test_the_heat_map_holds_the_values(tmp_path: Path) -> None:
    path = make(tmp_path / "run.h5")
    figure = drawn(path, variables=["g"])
    with open_recording(path) as recording:
        np.testing.assert_allclose(figure.axes[0].images[0].get_array(), recording["g"][:].T)


def test_the_command_draws_figures_and_movies(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Options of the command line reach the figure: window, variable, uid, movie."""
    from PIL import Image

    path = make(tmp_path / "run.h5")
    said = ["plot", str(path), "-v", "V", "-u", "n2", "--start", "0.1", "--stop", "0.2"]
    assert main([*said, "-o", str(tmp_path / "a.svg")]) == 0
    text = (tmp_path / "a.svg").read_text()
    assert "n2" in text and "n3" not in text and "180" in text and "spike" not in text
    movie = tmp_path / "a.gif"
    assert main([*said, "--movie", str(movie), "--interval", "0.02", "--fps", "20"]) == 0
    with Image.open(movie) as image:
        assert image.n_frames == 5 and image.info["duration"] == 50
    capsys.readouterr()
    assert main(said) == 2 and "--movie" in capsys.readouterr().err
    assert main([*said[:-1], "0.05", "-o", "x.png"]) == 1
    assert "from 0.1 to 0.05 s is empty" in capsys.readouterr().err
    old = [{"--start": "--from", "--stop": "--to"}.get(word, word) for word in said]
    assert main([*old, "-o", str(tmp_path / "old.svg")]) == 0
    said_then = capsys.readouterr().err
    assert "--from is called --start now" in said_then and "--to is called --stop" in said_then
    assert "180" in (tmp_path / "old.svg").read_text()
    assert main([*said, "--to", "0.3", "-o", "x.png"]) == 2
    assert "give --stop alone" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"recording": 7}, "recording must be a recording or the path of one, got 7"),
        ({"movie_path": 3}, "movie_path"),
        ({"variables": 3}, "variables"),
        ({"title": 3}, "title"),
        ({"start": "late"}, "start"),
    ],
)
def test_wrong_arguments_of_a_movie(given: dict[str, Any], says: str, tmp_path: Path) -> None:
    """They are refused before anything is opened or drawn."""
    wanted = {"recording": tmp_path / "none.h5", "movie_path": tmp_path / "run.gif"} | given
    with pytest.raises(NeurodriverError, match=f"plot_movie: {says}"):
        plot_movie(**wanted)
