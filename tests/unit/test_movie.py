"""Movies: each frame shows what was recorded at its time."""

from __future__ import annotations

import itertools
import subprocess
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import neurodriver
from neurodriver.errors import NeurodriverError
from neurodriver.plot import Movie, encode
from neurodriver.plot.signals import Signal, Spikes
from neurodriver.recorders import Block, Columns, HDF5Recorder, RecordingPlan

pytest.importorskip("matplotlib")

DT, STEPS = 1e-3, 120
UIDS = np.array([f"n{i}" for i in range(6)])
VALUES = -60 + 10 * np.sin(np.arange(STEPS)[:, None] / 9 + np.arange(6))
SPIKES = (np.array([4, 30, 30, 77, 119]) * DT, np.array([0, 5, 1, 2, 0], np.int32))
CODECS = {"libx264", "mpeg4", "libvpx", "gif"}


@pytest.fixture
def recording(tmp_path: Path) -> Any:
    columns = (Columns("V", UIDS, "mV", False), Columns("spike_state", UIDS, "", True))
    recorder = HDF5Recorder(tmp_path / "run.h5", [])
    recorder.open(RecordingPlan(DT, STEPS, 1, np.dtype("f8"), columns, {}))
    recorder.append(Block(0, {"V": VALUES}, {"spike_state": SPIKES}, STEPS))
    recorder.close()
    with neurodriver.open(tmp_path / "run.h5") as opened:
        yield opened


def test_lines_grow_and_can_begin_anew(recording: Any) -> None:
    movie = Movie()
    movie.add(recording["V"][["n1", "n4"]])
    for time in (0.0, 0.010, 0.0504, 0.119, 0.020, -1.0):
        axis = movie.show(time).axes[0]
        rows = round(time / DT) + 1 if time >= 0 else 0
        for line, column in zip(axis.lines, (1, 4), strict=True):
            np.testing.assert_allclose(line.get_xdata(), np.arange(rows) * DT)
            np.testing.assert_array_equal(line.get_ydata(), VALUES[:rows, column])
    assert axis.get_xlim() == (0, pytest.approx(0.119)) and axis.get_ylabel() == "V (mV)"
    assert axis.get_ylim()[0] < VALUES.min() and axis.get_ylim()[1] > VALUES.max()


def test_long_lines_keep_their_extremes(recording: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a recording with more rows than pixels, no spike of V disappears, in no frame."""
    monkeypatch.setattr("neurodriver.plot.scenes.MOST_POINTS", 40)
    movie = Movie()
    movie.add(recording["V"]["n2"])
    for row in (5, 6, 50, 119):
        line = movie.show(row * DT).axes[0].lines[0]
        assert len(line.get_xdata()) <= 2 * (row // 6 + 1)
        assert line.get_ydata().min() == VALUES[: row + 1, 2].min()
        assert line.get_ydata().max() == VALUES[: row + 1, 2].max()


def test_rasters_from_events_and_from_rows(recording: Any) -> None:
    """Spikes appear at their time, in both forms of a recording alike."""
    rows = np.zeros((STEPS, 6))
    rows[np.round(SPIKES[0] / DT).astype(int), SPIKES[1]] = 1
    movie = Movie()
    movie.add(recording["spike_state"], "raster")
    movie.add(Signal(rows, 0.0, DT), "raster")
    for time, count in ((0.003, 0), (4 * DT, 1), (0.029, 1), (30 * DT, 3), (1.0, 5)):
        for axis in movie.show(time).axes:
            x, y = axis.lines[0].get_data()
            np.testing.assert_allclose(x, SPIKES[0][:count])
            assert sorted(y) == sorted(SPIKES[1][:count] + 1)
    assert movie.figure.axes[0].get_ylim() == (0.5, 6.5)


def test_images_show_the_row_of_their_time(recording: Any) -> None:
    movie = Movie()
    movie.add(recording["V"], "image", shape=(2, 3), clim=(-70, -50))
    movie.add(recording["V"], "image", shape=(2, 3), trans=True, cmap="viridis")
    movie.add(recording["V"], "profile")
    for time in (0.0, 0.0336, 9.0):
        row = VALUES[min(round(time / DT), STEPS - 1)]
        first, second, third = movie.show(time).axes
        np.testing.assert_allclose(first.images[0].get_array(), row.reshape(2, 3))
        np.testing.assert_allclose(second.images[0].get_array(), row.reshape(2, 3).T)
        np.testing.assert_allclose(third.lines[0].get_ydata(), row)
    assert first.images[0].get_clim() == (-70, -50)
    assert second.images[0].get_clim() == (VALUES.min(), VALUES.max())
    assert second.images[0].get_cmap().name == "viridis"


def test_an_unfinished_grid_has_empty_places(recording: Any) -> None:
    """Five components on a grid of 3 x 2 leave one place without a value."""
    movie = Movie()
    movie.add(recording["V"][UIDS[:5].tolist()], "image")
    picture = movie.show(0.05).axes[0].images[0].get_array()
    assert picture.shape == (3, 2) and np.ma.getmaskarray(picture).sum() == 1
    np.testing.assert_allclose(np.ma.compressed(picture), VALUES[50, :5])


def test_vectors(recording: Any) -> None:
    """Arrows are the two variables; hue is the angle, brightness the length."""
    x = np.array([[1.0, 0.0, -2.0, 0.0], [0.0, 3.0, 0.0, 1.0]])
    y = np.array([[0.0, 1.0, 0.0, -2.0], [4.0, 0.0, 1.0, 0.0]])
    pair = Signal(x, 0.0, DT), Signal(y, 0.0, DT)
    movie = Movie()
    movie.add(pair, "quiver", shape=(2, 2))
    movie.add(pair, "hsv", shape=(2, 2), top=2.0)
    movie.show(DT)
    arrows, image = movie.show(0.0).axes
    (quiver,) = arrows.collections
    np.testing.assert_array_equal(quiver.U, x[0])
    np.testing.assert_array_equal(quiver.V, y[0])
    # hue (atan2(x, y) + pi) / 2 pi: 0.75, 0.5, 0.25, 1; brightness |v| / 2
    pure = np.array([[0.5, 0.0, 1.0], [0.0, 1.0, 1.0], [0.5, 1.0, 0.0], [1.0, 0.0, 0.0]])
    expected = pure * np.array([[0.5], [0.5], [1.0], [1.0]])
    expected[0] = [0.25, 0.0, 0.5]
    np.testing.assert_allclose(image.images[0].get_array().reshape(4, 3), expected, atol=1e-9)


def test_a_dome_shows_the_nearest_component() -> None:
    """Grey of a face is the value, between the limits, of the component nearest on the sphere."""
    values = np.array([[-70.0, -35.0, 0.0], [0.0, -70.0, -35.0]])
    lat, long = np.array([0.0, np.pi / 2, np.pi / 2]), np.array([0.0, 0.0, np.pi])
    movie = Movie(figsize=(3, 3))
    movie.add(Signal(values, 0.0, DT), "dome", lat=lat, long=long, norm=(-70, 0))
    first = np.array(movie.figure.axes[0].collections[0]._facecolor3d)  # as matplotlib made them
    for row in (1, 0):
        (surface,) = movie.show(row * DT).axes[0].collections
        faces = np.asarray(surface._facecolor3d).reshape(59, 59, 4)
        levels = (values[row] + 70) / 70
        assert faces[0, 10, 0] == pytest.approx(levels[0])  # the top
        assert faces[-1, 0, 0] == pytest.approx(levels[1])  # the rim, at angle 0
        assert faces[-1, 29, 0] == pytest.approx(levels[2])  # the rim, at angle pi
        assert (faces[..., 3] == 1).all()
        np.testing.assert_array_equal(faces[..., 0], faces[..., 2])
    np.testing.assert_array_equal(faces.reshape(-1, 4), first)


def test_times_of_frames(recording: Any) -> None:
    movie = Movie()
    movie.add(recording["V"])
    movie.add(recording["V"].between(0.05), "profile")
    np.testing.assert_allclose(movie.times(0.03), [0, 0.03, 0.06, 0.09])
    np.testing.assert_allclose(movie.times(0.017), np.arange(8) * 0.017)  # the end included
    np.testing.assert_allclose(movie.times(0.03, 0.02, 0.1), [0.02, 0.05, 0.08])
    assert len(movie.times()) == 100 and movie.times()[-1] == pytest.approx(0.119)
    with pytest.raises(NeurodriverError, match="interval of frames has to be positive, got 0"):
        movie.times(0.0)


def test_a_gif_has_each_frame(recording: Any, tmp_path: Path) -> None:
    """Frames are counted in the file, last as long as told, and differ."""
    movie = Movie(figsize=(4, 2), title="Waves")
    movie.add(recording["V"], "image", shape=(2, 3))
    assert movie.save(tmp_path / "a.gif", interval=0.01, fps=25, dpi=50) == 12
    with Image.open(tmp_path / "a.gif") as image:
        assert image.n_frames == 12 and image.size == (200, 100)
        assert image.info["duration"] == 40 and image.info["loop"] == 0
        frames = []
        for i in range(12):
            image.seek(i)
            frames.append(np.asarray(image.convert("RGB"), float))
    assert all(np.abs(a - b).max() > 20 for a, b in itertools.pairwise(frames))
    # The picture of the last frame is that of its time.
    movie.show(0.11)
    canvas: Any = movie.figure.canvas
    canvas.draw()
    last = np.asarray(canvas.buffer_rgba())[..., :3].astype(float)
    assert np.abs(frames[-1] - last).mean() < 3


def test_one_frame_as_a_picture(recording: Any, tmp_path: Path) -> None:
    movie = Movie(figsize=(4, 3))
    movie.add(recording["V"])
    movie.save_frame(tmp_path / "a.png", 0.05, dpi=100)
    assert len(movie.figure.axes[0].lines[0].get_xdata()) == 51
    movie.save_frame(tmp_path / "b.png", dpi=100)
    assert len(movie.figure.axes[0].lines[0].get_xdata()) == 120
    with Image.open(tmp_path / "b.png") as image:
        assert image.size == (400, 300)
    with pytest.raises(NeurodriverError, match=r"b\.xyz: cannot be written"):
        movie.save_frame(tmp_path / "b.xyz")


@pytest.mark.parametrize(
    ("rows", "cols", "layout"),
    [(None, None, (2, 3)), (1, None, (1, 5)), (None, 1, (5, 1)), (3, 2, (3, 2)), (2, 2, (2, 3))],
)
def test_layout(rows: int | None, cols: int | None, layout: tuple[int, int]) -> None:
    """A layout that is too small is not taken."""
    movie = Movie(rows, cols)
    for _ in range(5):
        movie.add(Signal(np.zeros((2, 1)), 0.0, DT))
    assert movie.layout() == layout
    grid = movie.figure.axes[4].get_subplotspec().get_gridspec()
    assert (grid.nrows, grid.ncols) == layout


def test_options_are_setters(recording: Any) -> None:
    movie = Movie(fontsize=13)
    movie.add(recording["V"]["n0"], title="One", ylim=(-80, 0), linestyle="--", fmt="r")
    ticks = {"yticklabels": ["a", "b"], "yticks": [1, 2]}
    movie.add(recording["spike_state"], "raster", **ticks)
    first, second = movie.show(0.1).axes
    assert first.get_title(loc="left") == "One" and first.get_ylim() == (-80, 0)
    assert first.lines[0].get_linestyle() == "--" and first.lines[0].get_color() == (1, 0, 0, 1)
    assert [t.get_text() for t in second.get_yticklabels()] == ["a", "b"]
    movie.add(recording["V"], "image", shap=(2, 3))
    with pytest.raises(NeurodriverError, match=r"takes the option 'shap' \(did you mean 'shape'"):
        movie.show(0)


def test_what_does_not_fit_is_told(recording: Any, tmp_path: Path) -> None:
    movie = Movie()
    with pytest.raises(NeurodriverError, match="a movie needs a panel"):
        movie.show(0.0)
    with pytest.raises(NeurodriverError, match=r"no panel 'rastr' \(did you mean 'raster'"):
        movie.add(recording["V"], "rastr")
    V, spikes = recording["V"], recording["spike_state"]
    cases: list[tuple[Any, str, dict[str, Any], str]] = [
        (V, "image", {"shape": (4, 2)}, "shape 4 x 2 has 8 places for 6 components"),
        (V, "quiver", {}, "quiver: 2 lists of components needed, got 1"),
        ((V, V["n0"]), "hsv", {}, "as many components in both lists"),
        (spikes, "waveform", {}, "rows are needed"),
        (V, "dome", {"lat": np.zeros(6)}, "dome: 'long' is missing"),
        (V, "dome", {"lat": np.zeros(5), "long": np.zeros(6)}, "6 components, 5 'lat'"),
        (V.between(5.0), "waveform", {}, "'V': no rows to show"),
    ]
    for source, kind, options, message in cases:
        movie = Movie()
        movie.add(source, kind, **options)
        with pytest.raises(NeurodriverError, match=message):
            movie.save(tmp_path / "x.gif")
    movie = Movie()
    movie.add(V)
    with pytest.raises(NeurodriverError, match="fps must be above 0, 1,000 at most, got 0"):
        movie.save(tmp_path / "x.gif", fps=0)
    with pytest.raises(NeurodriverError, match=r"x\.gif: cannot be written"):
        movie.save(tmp_path / "none" / "x.gif")


def test_the_codec_fits_file_and_ffmpeg() -> None:
    """The one wanted, else the best that ffmpeg has, and never in silence."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert encode.choose_codec(Path("a.mp4"), None, CODECS) == "libx264"
        assert encode.choose_codec(Path("a.mp4"), "h264", CODECS) == "libx264"
        assert encode.choose_codec(Path("a.MP4"), "mpeg4", CODECS) == "mpeg4"
        assert encode.choose_codec(Path("a.avi"), None, CODECS) == "mpeg4"
        assert encode.choose_codec(Path("a.webm"), None, CODECS) == "libvpx"
        assert encode.choose_codec(Path("a.mkv"), "own", CODECS | {"own"}) == "own"
    with pytest.warns(UserWarning, match="'libtheora' is not in ffmpeg; used: 'libx264'"):
        assert encode.choose_codec(Path("a.mp4"), "libtheora", CODECS) == "libx264"
    with pytest.warns(UserWarning, match="'libvpx' does not go into this kind of file"):
        assert encode.choose_codec(Path("a.avi"), "libvpx", CODECS) == "mpeg4"
    with pytest.raises(NeurodriverError, match=r"no encoder for '\.ogv' \(needed: libtheora\)"):
        encode.choose_codec(Path("a.ogv"), None, CODECS)
    with pytest.raises(NeurodriverError, match=r"'\.mp3' is no movie \(did you mean '\.mp4'"):
        encode.choose_codec(Path("a.mp3"), None, CODECS)


def test_encoders_are_read_from_ffmpeg(tmp_path: Path) -> None:
    fake = tmp_path / "ffmpeg"
    fake.write_text(
        "#!/bin/sh\necho ' V..... = Video'\necho ' V....D libx264  H.264'\n"
        "echo ' A....D aac  AAC'\necho ' V.S..D mpeg4   MPEG-4'\n"
    )
    fake.chmod(0o755)
    assert encode.encoders(str(fake)) == {"=", "libx264", "mpeg4"}
    with pytest.raises(NeurodriverError, match="does not answer"):
        encode.encoders(str(tmp_path / "none"))


def test_frames_go_to_ffmpeg(
    recording: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program in the place of ffmpeg gets every frame, with even sizes, and the codec."""
    fake = tmp_path / "ffmpeg"
    fake.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/words\ncat > {tmp_path}/frames\n')
    fake.chmod(0o755)
    monkeypatch.setattr(encode, "find_ffmpeg", lambda: str(fake))
    monkeypatch.setattr(encode, "encoders", lambda program: CODECS)
    movie = Movie(figsize=(2.01, 1.13))
    movie.add(recording["V"])
    assert movie.save(tmp_path / "a.mp4", interval=0.02, fps=7, dpi=100) == 6
    words = (tmp_path / "words").read_text().split()
    assert words[words.index("-i") :].count("libx264") == 1 and "202x114" in words
    assert words[words.index("-framerate") + 1] == "7" and words[-1].endswith("a.mp4")
    frames = np.fromfile(tmp_path / "frames", np.uint8).reshape(6, 114, 202, 4)
    assert (np.abs(np.diff(frames.astype(int), axis=0)).max(axis=(1, 2, 3)) > 50).all()
    fake.write_text("#!/bin/sh\ncat > /dev/null\necho broken codec >&2\nexit 1\n")
    with pytest.raises(NeurodriverError, match=r"(?s)a\.mp4: ffmpeg failed:.*broken codec"):
        movie.save(tmp_path / "a.mp4", interval=0.02)


@pytest.mark.needs("ffmpeg")
def test_a_real_ffmpeg_writes_what_it_reads(recording: Any, tmp_path: Path) -> None:
    ffmpeg = encode.find_ffmpeg()
    movie = Movie(figsize=(3, 2))
    movie.add(recording["V"])
    movie.save(tmp_path / "a.mp4", interval=0.02)
    words = [ffmpeg, "-i", str(tmp_path / "a.mp4"), "-f", "rawvideo", "-pix_fmt", "gray", "-"]
    read = subprocess.run(words, capture_output=True, check=True).stdout
    assert len(read) == 6 * 240 * 160


def test_without_ffmpeg_the_error_says_what_to_do(
    recording: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encode, "find_ffmpeg", lambda: None)
    movie = Movie()
    movie.add(recording["V"])
    with pytest.raises(NeurodriverError, match=r"a\.mp4: ffmpeg is not found.*name a \.gif"):
        movie.save(tmp_path / "a.mp4")


def test_spikes_of_nothing_leave_an_empty_panel() -> None:
    movie = Movie()
    movie.add(Spikes(np.empty(0), np.empty(0, np.int32), 3, 0.0, 0.0), "raster")
    axis = movie.show(1.0).axes[0]
    assert len(axis.lines[0].get_xdata()) == 0 and axis.get_ylim() == (0.5, 3.5)
