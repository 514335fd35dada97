"""What a view shows of a recording: counted again from the file, by other means."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import neurodriver as nd
from neurodriver.view import events as view_events
from neurodriver.view import map as view_map
from neurodriver.view import rows as view_rows
from neurodriver.view.answers import Viewer
from neurodriver.view.places import places_of
from neurodriver.view.watched import Watched, watched_file

CELLS, STEPS, DT = 40, 2000, 1e-4


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the recording of two populations that fire, written without neurodriver."""
    path = tmp_path_factory.mktemp("view") / "view.h5"
    rng = np.random.default_rng(41)
    step = np.sort(rng.integers(0, STEPS, 900))
    with h5py.File(path, "w") as out:
        metadata = out.create_dataset("metadata", data=1)
        metadata.attrs.update({"dt": DT, "start_time": 0.0, "sample_interval": 1})
        names = [f"{'east' if i < 30 else 'west'}/{i % 30}" for i in range(CELLS)]
        for name in ("spike_state", "V"):
            out[f"{name}/uids"] = np.array(names, "S")
            out[f"{name}/population"] = np.array([n.split("/")[0] for n in names], "S")
        out["spike_state/data/time"] = step * DT
        out["spike_state/data/index"] = rng.integers(0, CELLS, 900, dtype=np.int32)
        out["V/data"] = rng.normal(-60.0, 5.0, (STEPS, CELLS))
        out["V/data"].attrs["units"] = "mV"
    return path


@pytest.fixture
def view(file: Path) -> Viewer:
    """Return a view of the file."""
    return Viewer("view.h5", watched_file(file))


def unpacked(answer: dict[str, Any]) -> np.ndarray:
    """Return the array of an answer."""
    flat = np.frombuffer(base64.b64decode(answer["data"]), answer["type"])
    return flat.reshape(answer["shape"])


def asked(view: Viewer, ask: str, **more: Any) -> dict[str, Any]:
    """Return the answer to a question about the file."""
    answer = view.answer({"ask": ask, "part": "view.h5", **more})
    assert "error" not in answer, answer
    return answer


WINDOW = {"start": 0.05, "stop": 0.15}


def in_window(file: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return steps and columns of the events in the window."""
    with h5py.File(file) as held:
        step = np.rint(held["spike_state/data/time"][:] / DT).astype(int)
        index = held["spike_state/data/index"][:]
    some = (step >= 500) & (step < 1500)
    return step[some], index[some]


def test_about(view: Viewer) -> None:
    """The page gets to know variables, populations and the length."""
    about = asked(view, "about")
    (part,) = about["parts"]
    named = {one["name"]: one for one in part["variables"]}
    assert part["duration"] == pytest.approx(STEPS * DT) and part["complete"]
    assert named["spike_state"]["events"] and not named["V"]["events"]
    assert named["V"]["unit"] == "mV" and named["V"]["populations"] == ["east", "west"]
    assert about["control"] is None


def test_each_event_is_a_mark(view: Viewer, file: Path) -> None:
    """Few events are drawn one by one, at their times."""
    marks = asked(view, "events", variable="spike_state", **WINDOW)["raster"]
    step, index = in_window(file)
    assert marks["said"] == "" and len(step) > 300
    assert np.allclose(unpacked(marks["time"]), step * DT - 0.05, atol=1e-6)
    assert (unpacked(marks["row"]) == index).all()


def test_rates_of_populations(view: Viewer, file: Path) -> None:
    """Each bin has the mean rate of a population."""
    found = asked(view, "events", variable="spike_state", **WINDOW)["rates"]
    step, index = in_window(file)
    values = unpacked(found["rates"])
    assert found["names"] == ["east", "west"] and found["sizes"] == [30, 10]
    bins = values.shape[1]
    for row, members in enumerate((index < 30, index >= 30)):
        share = np.floor((step[members] - 500) * bins / 1000).astype(int)
        counts = np.array([(share == b).sum() for b in range(bins)])
        assert np.allclose(values[row], counts / (found["sizes"][row] * 0.1 / bins), rtol=1e-6)


def test_many_events_become_counts(
    view: Viewer, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pixels have counts, and the figure says so."""
    monkeypatch.setattr(view_events, "MOST_MARKS", 100)
    monkeypatch.setattr(view_events, "LINES", 4)
    marks = asked(view, "events", variable="spike_state", **WINDOW)["raster"]
    step, index = in_window(file)
    image = unpacked(marks["image"])
    counts = np.zeros(image.shape)
    for k, column in zip(step, index, strict=True):
        counts[column // 10, (k - 500) * image.shape[1] // 1000] += 1
    assert (image == np.ceil(255 * np.sqrt(counts / counts.max()))).all()
    assert marks["said"] == f"{len(step)} events as counts in 4 x {image.shape[1]} pixels"


def test_too_many_events_are_read_in_part(
    view: Viewer, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rate of what was read is that of the population, and the figure gives the share."""
    monkeypatch.setattr(view_events, "MOST_READ", 250)
    whole = {"start": 0.0, "stop": STEPS * DT}
    found = asked(view, "events", variable="spike_state", **whole)
    assert found["total"] == 900 and "from 25 % of the time" in found["raster"]["said"]
    step = np.rint(h5py.File(file)["spike_state/data/time"][:] / DT).astype(int)
    read = step % 20 < 5  # 100 stretches of 20 steps
    counts = np.bincount(step[read] // 20, minlength=100)
    sizes = np.array(found["rates"]["sizes"])
    every = (unpacked(found["rates"]["rates"]) * sizes[:, None] * 5 * DT).sum(axis=0)
    assert np.allclose(every, counts, rtol=1e-5)


def test_lines_keep_extremes(view: Viewer, file: Path) -> None:
    """A few components are lines, whose highest and lowest values are kept."""
    found = asked(view, "rows", variable="V", uids=["east/3", "west/1"], **WINDOW)
    lines, time = unpacked(found["lines"]), unpacked(found["time"])
    held = h5py.File(file)["V/data"][500:1500, [3, 31]]
    assert found["uids"] == ["east/3", "west/1"] and found["unit"] == "mV"
    assert lines.shape == (2, len(time)) and len(time) <= view_rows.POINTS
    assert np.allclose(lines.max(axis=1), held.max(axis=0), atol=1e-5)
    assert np.allclose(lines.min(axis=1), held.min(axis=0), atol=1e-5)


def test_many_components_are_an_image(view: Viewer, file: Path) -> None:
    """A pixel is a mean, and low and high are the values of the shades."""
    found = asked(view, "rows", variable="V", **WINDOW)
    image = unpacked(found["image"])
    held = h5py.File(file)["V/data"][500:1499].T.reshape(CELLS, 333, 3).mean(axis=2)
    values = found["low"] + image[:, :333] / 255 * (found["high"] - found["low"])
    inside = (held > found["low"]) & (held < found["high"])
    shade = (found["high"] - found["low"]) / 255
    assert image.shape == (CELLS, 334) and inside.mean() > 0.98
    assert (np.abs(values - held)[inside] <= 1.01 * shade).all()
    assert found["said"] == "a pixel is the mean of 3 x 1 values"
    assert found["end"] == pytest.approx(0.1)


def test_too_many_rows_are_thinned(
    view: Viewer, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows at equal distances are read, and the figure gives the distance."""
    monkeypatch.setattr(view_rows, "MOST_VALUES", 50 * CELLS)
    found = asked(view, "rows", variable="V", uids=["east/0"], **WINDOW)
    assert found["said"] == "one row of 20" and len(unpacked(found["time"])) == 50
    row = np.rint((unpacked(found["time"]) + 0.05) / DT).astype(int)
    held = h5py.File(file)["V/data"][:, 0]
    assert np.allclose(unpacked(found["lines"])[0], held[row], atol=1e-5)


def test_map_of_rates_and_rows(view: Viewer, file: Path) -> None:
    """Events give rates of the time before, rows the last one; a population can be chosen."""
    found = asked(view, "map", variable="V", time=0.1, window=0.01, population="west")
    held = h5py.File(file)["V/data"][1000, 30:]
    assert len(unpacked(found["x"])) == 10 and found["label"] == "V (mV)"
    assert "row at 0.1 s" in found["said"] and "no positions are known" in found["said"]
    shades = unpacked(found["shades"])
    assert (np.argsort(np.argsort(held)) == np.argsort(np.argsort(shades, kind="stable"))).all()
    rate = asked(view, "map", variable="spike_state", time=0.1, window=0.05)
    step, index = in_window(file)
    counts = np.bincount(index[step < 1000], minlength=CELLS)
    assert rate["low"] <= counts.max() / 0.05 and rate["label"] == "rate (Hz)"
    assert unpacked(rate["shades"])[counts.argmax()] == 255


def test_many_places_become_pixels(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pixel is a mean; white is no component."""
    monkeypatch.setattr(view_map, "MOST_PLACES", 3)
    monkeypatch.setattr(view_map, "PIXELS", 2)
    xy = np.array([[0.0, 0.0], [0.1, 0.1], [1.0, 1.0], [0.9, 0.9], [0.0, 1.0]])
    places = view_map.PlanePlaces(xy, False, "positions")
    found = view_map.drawn_map(places, np.array([1.0, 3.0, 8.0, 10.0, 4.0]))
    image = found["image"]
    assert image[1, 1] == 255 and image[1, 0] == 0 and image[0, 1] == 254
    assert "means of 5 components in 2 x 2 pixels" in found["said"]


@pytest.mark.parametrize(
    ("columns", "hexagons", "want"),
    [
        ({"u": [0, 1, 0], "v": [0, 0, 1]}, True, [[0, 0], [0, -1], [3**0.5 / 2, -0.5]]),
        ({"x": [1.0, 2.0, 4.0], "y": [5.0, 3.0, 1.0]}, False, [[1, 5], [2, 3], [4, 1]]),
    ],
)
def test_positions_of_node_columns(columns: Any, hexagons: bool, want: Any) -> None:
    """u and v are oblique coordinates of hexagons, x and y are positions."""
    model = nd.Population("LeakyIAF", 3, name="c", **PARAMETERS).model
    group = (model, 3, PARAMETERS, ["c/0", "c/1", "c/2"], columns)
    circuit = nd.Circuit.from_arrays([group])
    found = places_of(["c/0", "c/1", "c/2"], "", circuit, {})
    assert found.hexagons == hexagons and np.allclose(found.xy, want)


PARAMETERS = {
    "resting_potential": -70.0, "reset_potential": -70.0, "threshold": -45.0, "capacitance": 2.0,
    "resistance": 10.0, "initV": -70.0,
}  # fmt: skip


def test_positions_of_a_layer() -> None:
    """Positions on axes are those of the population; without the circuit the indices are taken."""
    cells = nd.Population("LeakyIAF", name="c", axes={"y": 2, "x": 3}, **PARAMETERS)
    circuit = nd.Circuit([cells])
    uids = list(circuit.uids)
    for known in (circuit, None):
        found = places_of(uids, "c", known, {"c": {"y": 2, "x": 3}})
        assert found.said == "positions along x and y"
        assert len(np.unique(found.xy, axis=0)) == 6
    assert found.xy[4].tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("question", "error"),
    [
        ([], "object of JSON"),
        ({}, "ask must be one of"),
        ({"ask": "files"}, "ask must be one of"),
        ({"ask": "rows", "part": "../x", "start": 0, "stop": 1}, "no LPU '../x'"),
        ({"ask": "rows", "part": "view.h5", "start": 0, "stop": 1}, "name of a variable"),
        ({"ask": "rows", "part": "view.h5", "start": 1, "stop": 1}, "before stop"),
        ({"ask": "rows", "part": "view.h5", "start": "a", "stop": 1}, "start must be a number"),
        ({"ask": "rows", "part": "view.h5", "start": float("nan"), "stop": 1}, "start must be"),
        ({"ask": "map", "part": "view.h5", "time": True, "window": 1}, "time must be a number"),
        ({"ask": "act", "action": "start"}, "cannot be started"),
    ],
)
def test_wrong_questions(view: Viewer, question: Any, error: str) -> None:
    """What is wrong with a question is the answer."""
    assert error in view.answer(question)["error"]


@pytest.mark.parametrize(
    ("more", "error"),
    [
        ({"variable": "W"}, "no variable 'W'"),
        ({"variable": "spike_state"}, "ask for events"),
        ({"variable": "V", "population": "north"}, "no population 'north'"),
        ({"variable": "V", "uids": ["x"]}, "no column 'x'"),
        ({"variable": "V", "uids": ["x"] * 13}, "at most 12"),
    ],
)
def test_unknown_names(view: Viewer, more: Any, error: str) -> None:
    """Names that the recording does not have are refused with those that it has."""
    answer = view.answer({"ask": "rows", "part": "view.h5", **WINDOW, **more})
    assert error in answer["error"]


def test_another_run_replaces_the_file(tmp_path: Path) -> None:
    """Names of columns are read again when the file is another one."""
    circuits = [nd.Circuit([nd.Population("LeakyIAF", n, name=f"p{n}", **PARAMETERS)])
                for n in (2, 3)]  # fmt: skip
    recorders = [nd.MemoryRecorder([("V", None)]) for _ in circuits]
    for circuit, recorder in zip(circuits, recorders, strict=True):
        with nd.LPU(circuit, DT, recorders=[recorder]) as lpu:
            lpu.run(steps=5)
    now = [recorders[0]]
    view = Viewer("runs", [Watched("runs", lambda: now[0].recording)])
    question = {"ask": "rows", "part": "runs", "variable": "V", "start": 0.0, "stop": 1.0}
    assert view.answer(question)["uids"] == ["p2/0", "p2/1"]
    now[0] = recorders[1]
    assert view.answer(question)["uids"] == ["p3/0", "p3/1", "p3/2"]
