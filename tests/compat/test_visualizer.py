"""The old visualizer: its names and defaults, and what its plots hold."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from PIL import Image

from neurodriver.compat import visualizer as module
from neurodriver.compat.visualizer import visualizer
from neurodriver.errors import NeurodriverError
from neurodriver.recorders import Block, Columns, HDF5Recorder, RecordingPlan

pytest.importorskip("matplotlib")

DT, STEPS = 1e-3, 120
UIDS = [f"n{i}" for i in range(6)]
VALUES = -0.5 + 0.4 * np.sin(np.arange(STEPS)[:, None] / 9 + np.arange(6))
SPIKES = (np.array([4, 30, 30, 77, 100]) * DT, np.array([0, 5, 1, 2, 0], np.int32))


@pytest.fixture
def output(tmp_path: Path) -> str:
    """A recording of today: spikes as events."""
    names = np.array(UIDS)
    columns = (Columns("V", names, "mV", False), Columns("spike_state", names, "", True))
    recorder = HDF5Recorder(tmp_path / "output.h5", [])
    recorder.open(RecordingPlan(DT, STEPS, 1, np.dtype("f8"), columns, {}))
    recorder.append(Block(0, {"V": VALUES}, {"spike_state": SPIKES}, STEPS))
    recorder.close()
    return str(tmp_path / "output.h5")


@pytest.fixture
def old(tmp_path: Path) -> str:
    """A recording of before 2019: spikes as rows."""
    rows = np.zeros((STEPS, 6))
    rows[np.round(SPIKES[0] / DT).astype(int), SPIKES[1]] = 1
    with h5py.File(tmp_path / "old.h5", "w") as file:
        attributes = {"dt": DT, "sample_interval": 1, "start_time": 0.0}
        file.create_dataset("metadata", (), "i4").attrs.update(attributes)
        for name, data in (("V", VALUES), ("spike_state", rows)):
            file[f"{name}/data"], file[f"{name}/uids"] = data, np.array(UIDS, "S")
    return str(tmp_path / "old.h5")


@pytest.fixture
def signals(tmp_path: Path) -> str:
    """An input file: no metadata."""
    with h5py.File(tmp_path / "input.h5", "w") as file:
        file["I/data"], file["I/uids"] = VALUES, np.array(UIDS, "S")
    return str(tmp_path / "input.h5")


class Seen(list[Any]):
    """The movies that a run makes."""


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Seen:
    made, real = Seen(), module._Lenient

    class Kept(real):  # type: ignore[misc,valid-type]
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            made.append(self)

    monkeypatch.setattr(module, "_Lenient", Kept)
    return made


def test_names_and_defaults() -> None:
    V = visualizer()
    assert (V.xlim, V.ylim, V.imlim) == ([0, 1], [-1, 1], [-1, 1])
    assert (V.update_interval, V._update_interval, V.out_filename) == (-1, -1, None)
    assert (V.fps, V.codec, V.FFMpeg, V.rows, V.cols) == (5, "libtheora", None, 0, 0)
    assert (V.figsize, V.fontsize, V.suptitle, V.dt) == ((16, 9), 18, None, None)
    for name, wrong in (("fps", 2.5), ("codec", 3), ("out_filename", None), ("figsize", [1, 2])):
        with pytest.raises(NeurodriverError, match=f"{name}: .* needed"):
            setattr(V, name, wrong)


@pytest.mark.parametrize("form", ["output", "old"])
def test_waveform_and_raster(
    form: str, seen: Seen, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Both forms of spikes give the same marks, up to the last frame."""
    V = visualizer()
    V.add_LPU(request.getfixturevalue(form), "lamina", gexf_file="none.gexf")
    V.add_plot({"type": "waveform", "variable": "V", "uids": [["n3"]]}, "lamina")
    V.add_plot({"type": "raster", "variable": "spike_state", "title": "Spikes"}, "lamina")
    chosen = {"type": "raster", "variable": "spike_state", "uids": {0: ["n0", "n5"]}}
    V.add_plot({**chosen, "yticks": [1, 2], "yticklabels": ["a", "b"]}, "lamina")
    V.rows, V.cols, V.fontsize, V.figsize, V.suptitle = 3, 1, 8, (4, 6), "All"
    V.run(str(tmp_path / "last.png"), dpi=50)
    with Image.open(tmp_path / "last.png") as image:
        assert image.size == (200, 300)
    (movie,) = seen
    wave, raster, some = movie.figure.axes
    rows = 101  # frames each 50 rows: 0, 50, 100
    np.testing.assert_allclose(wave.lines[0].get_xdata(), np.arange(rows) * DT)
    np.testing.assert_array_equal(wave.lines[0].get_ydata(), VALUES[:rows, 3])
    assert wave.get_xlim() == (0, 1) and wave.get_ylim() == (-1, 1)
    x, y = raster.lines[0].get_data()
    np.testing.assert_allclose(x, SPIKES[0])
    assert sorted(y) == [1, 1, 2, 3, 6] and raster.get_ylim() == (0.5, 6.5)
    np.testing.assert_allclose(some.lines[0].get_xdata(), [0.004, 0.030, 0.100])
    assert some.lines[0].get_ydata().tolist() == [1, 2, 1]
    assert [t.get_text() for t in some.get_yticklabels()] == ["a", "b"]
    titles = [axis.get_title(loc="left") for axis in (wave, raster, some)]
    assert titles == ["lamina", "Spikes", "lamina"]
    assert movie.figure.get_suptitle() == "All"


def test_every_type_of_plot(output: str, seen: Seen, tmp_path: Path) -> None:
    V = visualizer()
    V.add_LPU(output, "a")
    halves = [UIDS[:3], UIDS[3:]]
    image = {"type": "image", "variable": "V", "shape": [2, 3]}
    V.add_plot(image, "a")
    V.add_plot({**image, "clim": [-0.9, -0.1], "trans": True, "cmap": "viridis"}, "a")
    V.add_plot({"type": "HSV", "variable": "V", "uids": halves, "shape": [1, 3]}, "a")
    V.add_plot({"type": "quiver", "variable": "V", "uids": halves, "shape": [3, 1]}, "a")
    angles = {"lat": np.linspace(0, 1.5, 6), "long": np.linspace(0, 6, 6)}
    V.add_plot({"type": "dome", "variable": "V", "norm": "auto", **angles}, "a")
    V.add_plot({"type": "rate", "variable": "spike_state"}, "a")
    V.add_plot({"type": "waveform", "variable": "V"}, "a")
    V.figsize, V.update_interval, V.imlim = (6, 6), 0.03, [-2, 2]
    V.run(str(tmp_path / "last.png"), dpi=40)
    first, second, hsv, arrows, dome, rate, profile = seen[0].figure.axes
    last = VALUES[90]  # frames at 0, 30, 60 and 90 ms
    np.testing.assert_allclose(first.images[0].get_array(), last.reshape(2, 3))
    assert first.images[0].get_clim() == (-2, 2) and first.images[0].get_cmap().name == "gist_gray"
    np.testing.assert_allclose(second.images[0].get_array(), last.reshape(2, 3).T)
    assert second.images[0].get_clim() == (-0.9, -0.1)
    bright = np.asarray(hsv.images[0].get_array()).max(axis=2).ravel()
    np.testing.assert_allclose(bright, np.hypot(last[:3], last[3:]) / 2)
    np.testing.assert_allclose(arrows.collections[0].U, last[:3])
    np.testing.assert_allclose(arrows.collections[0].V, last[3:])
    late = VALUES[100:]  # limits of norm "auto"
    grey = np.asarray(dome.collections[0]._facecolor3d)[0, 0]
    top = (last[0] - late.min()) / (late.max() - late.min())
    assert grey == pytest.approx(np.clip(top, 0, 1))
    assert not rate.lines and rate.get_title(loc="left") == "a"
    np.testing.assert_allclose(profile.lines[0].get_ydata(), last)


def test_a_movie_has_a_frame_per_update(output: str, tmp_path: Path) -> None:
    V = visualizer()
    V.add_LPU(output, "a")
    V.add_plot({"type": "image", "variable": "V", "clim": [-1, 0]}, "a")
    V.out_filename, V.fps, V.figsize = str(tmp_path / "a.gif"), 10, (3, 2)
    for interval, frames in ((0.01, 12), (-1, 3), (0.06, 2)):
        V.update_interval = interval
        V.run()
        with Image.open(tmp_path / "a.gif") as image:
            assert image.n_frames == frames and image.size == (240, 160)


def test_only_the_last_frame(output: str, seen: Seen, tmp_path: Path) -> None:
    for interval in (None, 0):
        V = visualizer()
        V.add_LPU(output, "a")
        V.add_plot({"variable": "V", "uids": ["n2"]}, "a")
        V.update_interval, V.figsize = interval, (3, 2)
        V.run(str(tmp_path / "last.png"), 30)
        np.testing.assert_array_equal(seen[-1].figure.axes[0].lines[0].get_ydata(), VALUES[:, 2])


def test_inputs(signals: str, seen: Seen, tmp_path: Path) -> None:
    """An input file has the times that add_LPU or the attribute dt tells; its default is an
    image."""
    V = visualizer()
    V.add_LPU(signals, "a", is_input=True, dt=1e-2, sample_interval=2, start_time=0.5)
    V.add_plot({"type": "waveform", "variable": "I", "uids": "n1"}, "input_a")
    V.add_plot({"variable": "I"}, "input_a")
    V.run(str(tmp_path / "a.png"), 30)
    wave, image = seen[0].figure.axes
    np.testing.assert_allclose(wave.lines[0].get_xdata()[:3], [0.5, 0.52, 0.54])
    assert image.images and wave.get_title(loc="left") == "a - Input"
    V = visualizer()
    V.add_LPU(signals, "a", is_input=True)
    V.add_plot({"type": "waveform", "variable": "I", "uids": [[b"n1"]]}, "input_a")
    V.dt = DT
    V._update_interval = 50  # steps, as old scripts set both
    V.run(str(tmp_path / "a.png"), 30)
    np.testing.assert_allclose(seen[1].figure.axes[0].lines[0].get_xdata(), np.arange(101) * DT)


def test_windows_and_turned_files(output: str, seen: Seen, tmp_path: Path) -> None:
    with h5py.File(tmp_path / "turned.h5", "w") as file:
        file["I/data"], file["I/uids"] = VALUES.T, np.array(UIDS, "S")
    V = visualizer()
    V.add_LPU(str(tmp_path / "turned.h5"), "t", is_input=True, dt=DT, transpose_axes=[0, 1])
    V.add_plot({"type": "waveform", "variable": "I", "uids": [["n4"]]}, "input_t")
    V.add_LPU(output, "a", win=slice(20, 80))
    V.add_plot({"type": "waveform", "variable": "V", "uids": [["n4"]]}, "a")
    V.add_plot({"type": "raster", "variable": "spike_state"}, "a")
    V.update_interval = None
    V.run(str(tmp_path / "a.png"), 30)
    turned, part, raster = seen[0].figure.axes
    np.testing.assert_array_equal(turned.lines[0].get_ydata(), VALUES[:60, 4])
    np.testing.assert_array_equal(part.lines[0].get_ydata(), VALUES[20:80, 4])
    np.testing.assert_allclose(part.lines[0].get_xdata(), np.arange(60) * DT)
    np.testing.assert_allclose(raster.lines[0].get_xdata(), [0.010, 0.010, 0.057])


def test_without_ffmpeg_a_gif_is_written(
    output: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "find_ffmpeg", lambda: None)
    V = visualizer()
    V.add_LPU(output, "a")
    V.add_plot({"type": "image", "variable": "V"}, "a")
    V.out_filename, V.figsize = str(tmp_path / "a.avi"), (2, 2)
    with pytest.warns(UserWarning, match=r"a\.avi: cannot find ffmpeg; written: .*a\.gif"):
        V.run()
    with Image.open(tmp_path / "a.gif") as image:
        assert image.n_frames == 3
    V.FFMpeg = True
    with pytest.raises(NeurodriverError, match="cannot find ffmpeg, and FFMpeg is True"):
        V.run()


def test_what_is_wrong_is_told(output: str, tmp_path: Path) -> None:
    V = visualizer()
    with pytest.raises(NeurodriverError, match=r"none\.h5: no such file"):
        V.add_LPU(str(tmp_path / "none.h5"), "a")
    V = visualizer()
    V.add_LPU(output, "lamina")
    plain = {"variable": "V"}
    cases: list[tuple[dict[str, Any], str, str]] = [
        (plain, "lamna", r"no LPU 'lamna' \(did you mean 'lamina'\?\); added: lamina"),
        ({"type": "image"}, "lamina", "'variable' is missing"),
        ({**plain, "type": "rastr"}, "lamina", r"type 'rastr' \(did you mean 'raster'"),
        ({**plain, "type": "quiver"}, "lamina", "quiver needs 'uids', two lists"),
        ({**plain, "type": "hsv", "uids": [["n1"]]}, "lamina", r"hsv needs 2 list\(s\)"),
        ({**plain, "uids": [["n1"], ["n2"]]}, "lamina", r"needs 1 list\(s\) of uids, got 2"),
    ]
    for config, name, message in cases:
        with pytest.raises(NeurodriverError, match=message):
            V.add_plot(config, name)
    with pytest.raises(NeurodriverError, match="nothing to write"):
        V.run()
    late: list[tuple[dict[str, Any], str]] = [
        ({"variable": "W"}, "no variable 'W'"),
        ({"variable": "V", "uids": [["x"]]}, "no column 'x'"),
        ({"variable": "spike_state", "type": "image"}, "recorded as events; draw a raster"),
    ]
    for config, message in late:
        V = visualizer()
        V.add_LPU(output, "a")
        V.add_plot(config, "a")
        with pytest.raises(NeurodriverError, match=message):
            V.run(str(tmp_path / "a.png"))


def test_options_that_nothing_takes_are_told(output: str, tmp_path: Path) -> None:
    V = visualizer()
    V.add_LPU(output, "a")
    V.add_plot({"variable": "V", "uids": ["n1"], "nonsense": 1, "linewidth": 3}, "a")
    with pytest.warns(UserWarning, match="no setter of matplotlib takes 'nonsense'"):
        V.run(str(tmp_path / "a.png"), 30)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        V = visualizer()
        V.add_LPU(output, "a")
        V.add_plot({"variable": "V", "uids": ["n1"], "xlabel": "s"}, "a")
        V.run(str(tmp_path / "a.png"), 30)
