"""Recordings of populations on axes, in the shape of their cells."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import neurodriver as nd
from neurodriver.errors import RecordingError

AXES = {"t": 2, "y": nd.Axis.span(3, 0, 1), "x": nd.Axis.span(4, 0, 1)}


def population(name: str, **more: object) -> nd.Population:
    """Return cells that keep their first values, which are their numbers."""
    start = np.arange(24.0).reshape(2, 3, 4)
    given = {"bias": 0.0, "time_constant": 50.0, "initV": start} | more
    return nd.Population("GradedNeuron", name=name, axes=AXES, **given)


def test_rows_have_the_shape_of_the_cells(tmp_path: Path) -> None:
    """Of whole populations and of slices, in memory and in a file, of part of the rows, too."""
    one, two = population("one"), population("two")
    mask = np.arange(24).reshape(2, 3, 4) % 5 != 0
    holes = population("holes", mask=mask)
    picked = [*two[1, 1:, ::2].uids][::-1]  # in any order
    request = [("V", [*one.uids, *picked, *holes.uids])]
    recorders = [nd.MemoryRecorder(request), nd.HDF5Recorder(tmp_path / "r.h5", request)]
    with nd.LPU(nd.Circuit([one, two, holes]), dt=1e-3, recorders=recorders) as lpu:
        lpu.run(steps=5)
    for recorder in recorders:
        V = recorder.recording.V
        assert V.shaped("one").shape == (5, 2, 3, 4)
        np.testing.assert_array_equal(V.shaped("one").reshape(5, 24), V[:, :24])
        assert V["two"].rows(1, 4).shaped().shape == (3, 1, 2, 2)
        np.testing.assert_array_equal(V.shaped("two"), V.shaped("one")[:, 1:, 1:, ::2])
        with pytest.raises(RecordingError, match="'V': no population 'holes' on axes"):
            V.shaped("holes")
        with pytest.raises(RecordingError, match=r"name one of the populations.*'one', 'two'"):
            V.shaped()
        with pytest.raises(RecordingError, match="no population 'tow' on axes"):
            V.shaped("tow")


def test_cells_by_population_and_index() -> None:
    """What a request names before the circuit is known; again in another LPU."""
    one, two = population("one"), population("two")
    circuit = nd.Circuit([one, two])
    some = nd.MemoryRecorder([("two.V", {"t": 1, "y": slice(1, 3)}), ("one.r", None)])
    for _ in range(2):
        with nd.LPU(circuit, dt=1e-3, recorders=[some]) as lpu:
            lpu.run(steps=2)
        rec = some.recording
        assert rec.V.shaped("two").shape == (2, 1, 2, 4)
        assert rec.r.shaped("one").shape == (2, 2, 3, 4)
        assert rec.V[0].tolist() == np.arange(24.0).reshape(2, 3, 4)[1, 1:].ravel().tolist()
        some = nd.MemoryRecorder(some.record)
    for entry, said in (
        (("tow.V", {"t": 1}), "no population 'tow'; there are one, two"),
        (("two.V", {"z": 1}), "'two.V': no axis 'z'; its axes are t, y, x"),
        (("two.V", {"t": 2}), "'two.V': index 2 is out of bounds"),
        (("two.V", ["two/1"]), "'two.V' takes indices along axes, got ['two/1']"),
        (("V", {"t": 2}), "'V' with {'t': 2}; name a population and a variable"),
    ):
        with pytest.raises(RecordingError) as caught:
            nd.LPU(circuit, dt=1e-3, recorders=[nd.MemoryRecorder([entry])])
        assert said in str(caught.value)


def test_cells_that_are_no_block() -> None:
    """Told, with the axes."""
    one = population("one")
    recorder = nd.MemoryRecorder([("V", [f"one/{i}" for i in (0, 1, 6)])])
    with nd.LPU(nd.Circuit([one]), dt=1e-3, recorders=[recorder]) as lpu:
        lpu.run(steps=2)
    with pytest.raises(RecordingError, match=r"3 recorded cells are no block.* t \(2\), y \(3\)"):
        recorder.recording.V.shaped()


@pytest.mark.parametrize("spelling", ["names", "objects", "slices"])
def test_layers_with_one_variable(tmp_path: Path, spelling: str) -> None:
    """Requests of one variable are joined, in memory and in a file; each layer has its columns."""
    one, two = population("one"), population("two", initV=np.arange(24.0).reshape(2, 3, 4) + 100)
    request = {
        "names": [("two.V", None), ("r", None), ("one.V", None)],
        "objects": [("V", two), ("r", None), ("V", one)],
        "slices": [("two.V", {"t": 1}), ("one.V", {"t": slice(None)})],
    }[spelling]
    recorders = [nd.MemoryRecorder(request), nd.HDF5Recorder(tmp_path / "r.h5", request)]
    with nd.LPU(nd.Circuit([one, two]), dt=1e-3, recorders=recorders) as lpu:
        lpu.run(steps=2)
        first = lpu.recording.V[0]
        lpu.run(steps=2, record=["one.V", "two.V"])
        assert lpu.recording["two.V"].shape == (2, 24)
    assert first[0] == (112 if spelling == "slices" else 100) and first[-1] == 23
    for rec in (recorder.recording for recorder in recorders):
        assert rec.V.shaped("one").shape == rec["one.V"].shaped().shape == (2, 2, 3, 4)
        assert rec["one.V"][0].tolist() == rec.V.shaped(one[0])[0].ravel().tolist()
        assert rec["two.V"][0].tolist() == [*range(112 if spelling == "slices" else 100, 124)]
    with pytest.raises(RecordingError, match="no column 'tow' in 'V'"):
        rec["tow.V"]


@pytest.mark.parametrize(
    "again", ["V", ("V", None), "one.V", ("V", ["one/3"]), ("one.V", {"t": 0})]
)
def test_cells_that_are_asked_for_twice(again: object) -> None:
    """Told, whichever way they are named."""
    circuit = nd.Circuit([population("one")])
    for before in ("one.V", "V"):
        with (
            nd.LPU(circuit, dt=1e-3) as lpu,
            pytest.raises(RecordingError, match=r"named (twice|again)"),
        ):
            lpu.run(steps=1, record=[before, again])
