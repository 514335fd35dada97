"""Recorders: the same rows and events come back, whatever the recorder and the cut into blocks."""

from __future__ import annotations

import ast
import dataclasses
import errno
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import h5py
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import neurodriver.recorders
from neurodriver.errors import CircuitWarning, RecordingError
from neurodriver.recorders import (
    Block,
    Columns,
    HDF5Recorder,
    MemoryRecorder,
    Recorder,
    RecordingPlan,
    Writer,
    hdf5,
    preallocated,
    sampled,
)

DT = 1e-4
REQUESTS = [("V", None), ("g", ["a", "b"]), ("spike_state", None)]


def names(prefix: str, count: int) -> np.ndarray:
    return np.array([f"{prefix}{i}" for i in range(count)], dtype=np.str_)


def make_plan(
    steps: int | None, interval: int = 1, neurons: int = 7, synapses: int = 3, dtype: str = "f8"
) -> RecordingPlan:
    columns = (
        Columns("V", names("n", neurons), "mV", False),
        Columns("spike_state", names("n", neurons), "", True),
        Columns("g", names("s", synapses), "mS/cm^2", False),
    )
    attributes: dict[str, str | int | float] = {"software": "neurodriver", "seed": 3}
    return RecordingPlan(DT, steps, interval, np.dtype(dtype), columns, attributes)


def value(row: np.ndarray, columns: int, offset: float = 0.0) -> np.ndarray:
    """Rows that tell where they belong; exact also in float32."""
    return np.asarray(row)[:, None] * 16.0 + np.arange(columns) + offset


def spikes(first: int, last: int, neurons: int) -> tuple[np.ndarray, np.ndarray]:
    """At every third step, neuron ``step % neurons`` and, at every sixth, the last one too."""
    steps = np.arange(first, last)
    pairs = [(k, k % neurons) for k in steps if k % 3 == 0]
    pairs += [(k, neurons) for k in steps if k % 6 == 0 and k % neurons != neurons - 1]
    pairs = sorted((k, min(i, neurons - 1)) for k, i in pairs)
    step, index = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    return step * DT, index.astype(np.int32)


def blocks(plan: RecordingPlan, cuts: list[int]) -> Iterator[Block]:
    """Blocks of a run whose calls end at the given steps."""
    first, sizes = 0, {c.variable: len(c.uids) for c in plan.columns}
    for last in cuts:
        row, picked = sampled(first, last - first, plan.sample_interval)
        count = len(range(last - first)[picked])
        at = np.arange(row, row + count)
        dense = {
            c.variable: value(at, sizes[c.variable], 0.5 if c.variable == "g" else 0.0).astype(
                plan.dtype
            )
            for c in plan.dense
        }
        events = {c.variable: spikes(first, last, sizes[c.variable]) for c in plan.events}
        yield Block(row, dense, events, last)
        first = last


def record(recorder: Recorder, plan: RecordingPlan, cuts: list[int]) -> None:
    recorder.open(plan)
    for block in blocks(plan, cuts):
        recorder.append(block)
    recorder.close()


Output = dict[str, dict[str, Any]]


def read(recorder: Recorder) -> Output:
    """The output of a recorder, in the form of ``MemoryRecorder.output``; files by plain h5py."""
    if isinstance(recorder, MemoryRecorder):
        return recorder.output
    assert isinstance(recorder, HDF5Recorder)
    out: Output = {}
    with h5py.File(recorder.path, "r") as file:
        for name, group in file.items():
            if isinstance(group, h5py.Group):
                data = group["data"]
                is_group = isinstance(data, h5py.Group)
                content = {k: d[()] for k, d in data.items()} if is_group else data[()]
                out[name] = {"data": content, "uids": [u.decode() for u in group["uids"][()]]}
    return out


@pytest.fixture(params=["memory", "hdf5"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., Recorder]:
    def build(interval: int = 1) -> Recorder:
        if request.param == "memory":
            return MemoryRecorder(REQUESTS, interval)
        return HDF5Recorder(tmp_path / "run.h5", REQUESTS, interval, overwrite=True)

    return build


def check(output: Output, plan: RecordingPlan, steps: int) -> None:
    """Compare with what a run of ``steps`` steps must give."""
    rows = steps // plan.sample_interval
    for c in plan.dense:
        data = output[c.variable]["data"]
        offset = 0.5 if c.variable == "g" else 0.0
        assert data.dtype == plan.dtype
        np.testing.assert_array_equal(data, value(np.arange(rows), len(c.uids), offset))
    for c in plan.events:
        when, index = spikes(0, steps, len(c.uids))
        data = output[c.variable]["data"]
        assert data["time"].dtype == np.float64 and data["index"].dtype == np.int32
        np.testing.assert_array_equal(data["time"], when)
        np.testing.assert_array_equal(data["index"], index)
    assert {v: output[v]["uids"] for v in output} == {
        c.variable: c.uids.tolist() for c in plan.columns
    }


# ---- what both recorders do ----------------------------------------------------------------


@pytest.mark.parametrize("steps", [1, 2, 999, 1000])
def test_rows_and_events_come_back(make: Callable[..., Recorder], steps: int, dtype: str) -> None:
    recorder, plan = make(), make_plan(steps, dtype=dtype)
    record(recorder, plan, [*range(100, steps, 100), steps])
    check(read(recorder), plan, steps)


@pytest.mark.parametrize("interval", [2, 3, 7, 1000])
def test_sample_interval(make: Callable[..., Recorder], interval: int) -> None:
    recorder, plan = make(interval), make_plan(100, interval)
    record(recorder, plan, [1, 2, 5, 50, 51, 52, 99, 100])
    check(read(recorder), plan, 100)


@pytest.mark.parametrize("planned", [1000, None], ids=["planned", "open end"])
def test_early_end_is_trimmed(make: Callable[..., Recorder], planned: int | None) -> None:
    recorder, plan = make(), make_plan(planned)
    record(recorder, plan, [10, 20, 33])
    check(read(recorder), plan, 33)


@pytest.mark.parametrize("planned", [0, 1000])
def test_nothing_appended(make: Callable[..., Recorder], planned: int) -> None:
    recorder, plan = make(), make_plan(planned)
    record(recorder, plan, [])
    check(read(recorder), plan, 0)


def test_empty_events_and_no_columns(make: Callable[..., Recorder]) -> None:
    columns = (
        Columns("V", names("n", 0), "mV", False),
        Columns("spike_state", names("n", 2), "", True),
    )
    plan = RecordingPlan(DT, 5, 1, np.dtype("f8"), columns, {})
    recorder, none = make(), (np.empty(0), np.empty(0, np.int32))
    recorder.open(plan)
    recorder.append(Block(0, {"V": np.empty((3, 0))}, {"spike_state": none}, 3))
    recorder.append(Block(3, {"V": np.empty((2, 0))}, {}, 5))
    recorder.close()
    out = read(recorder)
    assert out["V"]["data"].shape == (5, 0) and out["V"]["uids"] == []
    assert len(out["spike_state"]["data"]["time"]) == 0


def test_columns_keep_their_order_and_uids_any_letter(make: Callable[..., Recorder]) -> None:
    uids = np.array(["z", "µ-neuron", "", "神経元", "a" * 300])
    plan = RecordingPlan(DT, 1, 1, np.dtype("f8"), (Columns("V", uids, "mV", False),), {})
    recorder, row = make(), np.arange(5.0)[None]
    recorder.open(plan)
    recorder.append(Block(0, {"V": row}, {}, 1))
    recorder.close()
    assert read(recorder)["V"]["uids"] == uids.tolist()
    np.testing.assert_array_equal(read(recorder)["V"]["data"], row)


@pytest.mark.parametrize("planned", [40_000, None], ids=["planned", "open end"])
def test_growth(
    make: Callable[..., Recorder], planned: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hdf5, "EVENTS_LEAST", 64)
    monkeypatch.setattr(hdf5, "EVENTS_MOST", 64)
    monkeypatch.setattr(hdf5, "UNKNOWN_BYTES", 1)  # 1024 rows
    recorder, plan = make(), make_plan(planned)
    recorder.open(plan)
    for block in blocks(plan, [*range(900, 20_000, 900), 20_000]):
        recorder.append(block)
    recorder.close()
    check(read(recorder), plan, 20_000)


def test_reopened_recorder_starts_anew(make: Callable[..., Recorder]) -> None:
    recorder = make()
    record(recorder, make_plan(50), [50])
    record(recorder, make_plan(20), [20])
    check(read(recorder), make_plan(20), 20)


BAD: dict[str, tuple[Callable[[Block], Block], str]] = {
    "gap": (lambda b: Block(b.first_row + 1, b.rows, b.events, b.step), "expected 10"),
    "columns": (lambda b: Block(10, b.rows | {"V": b.rows["V"][:, :2]}, {}, 20), "rows"),
    "missing": (lambda b: Block(10, {"V": b.rows["V"]}, {}, 20), "expected"),
    "unknown": (lambda b: Block(10, {"W": b.rows["V"][:0]}, {}, 20), "W"),
    "beyond": (
        lambda b: Block(10, {v: np.tile(r, (9, 1)) for v, r in b.rows.items()}, {}, 99),
        "3",
    ),
    "backwards": (lambda b: Block(10, {}, {}, 5), "step 10"),
    "index": (lambda b: _events(b, [1e-3], [7]), "allowed is 0 to 6"),
    "negative": (lambda b: _events(b, [1e-3], [-1]), "allowed is 0 to 6"),
    "lengths": (lambda b: _events(b, [1e-3, 2e-3], [1]), "2"),
    "descending": (lambda b: _events(b, [2e-3, 1e-3], [1, 2]), "ascend"),
    "earlier": (lambda b: _events(b, [0.0], [1]), "ascend"),
    "no events": (lambda b: Block(10, {}, {"V": b.events["spike_state"]}, 20), "not recorded as"),
}


def _events(block: Block, when: list[float], index: list[int]) -> Block:
    events = {"spike_state": (np.array(when), np.array(index, np.int32))}
    return Block(block.first_row, block.rows, events, block.step)


@pytest.mark.parametrize("case", BAD)
def test_a_block_that_does_not_fit_is_refused(make: Callable[..., Recorder], case: str) -> None:
    change, message = BAD[case]
    recorder, plan = make(), make_plan(30)
    recorder.open(plan)
    first, second = blocks(plan, [10, 20])
    recorder.append(first)
    with pytest.raises(RecordingError, match=message):
        recorder.append(change(second))
    recorder.append(second)  # and nothing was spoilt
    recorder.close()
    check(read(recorder), plan, 20)


def test_life_cycle(make: Callable[..., Recorder]) -> None:
    recorder, plan = make(), make_plan(1)
    recorder.close()
    with pytest.raises(RecordingError, match="not open"):
        recorder.append(Block(0, {}, {}, 0))
    recorder.open(plan)
    with pytest.raises(RecordingError, match="already open"):
        recorder.open(plan)
    recorder.close()
    recorder.close()


def test_requests() -> None:
    recorder = MemoryRecorder([("V", "n0"), ("g", ["a", "b"]), ("I", None)], 2)
    assert recorder.record == (("V", ("n0",)), ("g", ("a", "b")), ("I", None))
    with pytest.raises(RecordingError, match="pairs"):
        MemoryRecorder([3])  # type: ignore[list-item]
    assert MemoryRecorder(["V"]).record == MemoryRecorder("V").record == (("V", None),)
    for interval in (0, -1, 1.5, True):
        with pytest.raises(RecordingError, match="sample_interval"):
            MemoryRecorder([], interval)  # type: ignore[arg-type]


def test_an_array_of_uids_stays_one() -> None:
    """No string is made of a name, and a change to the array later is none to the request."""
    names = np.array(["n/0", "n/1", "n/2"])
    recorder = MemoryRecorder([("V", names)])
    names[0] = "m/7"
    for _ in range(2):
        ((variable, uids),) = recorder.record
        assert variable == "V" and isinstance(uids, np.ndarray) and uids[0] == "n/0"
        assert not uids.flags.writeable
        recorder.attach(SimpleNamespace(circuit=None))
    names.flags.writeable = False
    assert MemoryRecorder([("V", names)]).record[0][1] is names  # not even copied
    assert MemoryRecorder([("V", names), ("V", ["a"])]).record == (("V", (*names.tolist(), "a")),)
    with pytest.raises(RecordingError, match="named twice"):
        MemoryRecorder([("V", names), ("V", "n/1")])


@given(
    cuts=st.lists(st.integers(1, 60), max_size=8, unique=True).map(sorted),
    interval=st.integers(1, 9),
    planned=st.sampled_from([None, 60, 100]),
)
@settings(max_examples=60, deadline=None)
def test_any_cut_gives_the_same_recording(
    tmp_path_factory: pytest.TempPathFactory, cuts: list[int], interval: int, planned: int | None
) -> None:
    path = tmp_path_factory.getbasetemp() / "cut.h5"
    plan = make_plan(planned, interval)
    for recorder in (MemoryRecorder(REQUESTS), HDF5Recorder(path, REQUESTS, overwrite=True)):
        record(recorder, plan, cuts)
        check(read(recorder), plan, cuts[-1] if cuts else 0)


@given(st.integers(0, 40), st.integers(0, 40), st.integers(1, 9))
def test_sampled_is_the_rule(first: int, steps: int, interval: int) -> None:
    row, picked = sampled(first, steps, interval)
    expected = [j for j in range(90) if first <= (j + 1) * interval - 1 < first + steps]
    assert [first + k for k in range(steps)[picked]] == [(j + 1) * interval - 1 for j in expected]
    assert not expected or row == expected[0]


def test_memory_recorder_gets() -> None:
    recorder, plan = MemoryRecorder(REQUESTS, 3), make_plan(30, 3)
    with pytest.raises(RecordingError, match="nothing recorded yet"):
        recorder.get("V")
    record(recorder, plan, [30])
    assert recorder.get("V").shape == (10, 7)
    assert set(recorder.get("spike_state")) == {"time", "index"}
    assert recorder.uids("g") == ["s0", "s1", "s2"]
    np.testing.assert_allclose(recorder.time(), np.arange(2, 30, 3) * DT, rtol=1e-15)
    with pytest.raises(RecordingError, match=r"did you mean 'spike_state'.*recorded are: V"):
        recorder.get("spike_stat")


@pytest.mark.parametrize("planned", [40, 4000, None])
@pytest.mark.parametrize("busy", [0, 20, 39])
def test_memory_for_many_events(planned: int | None, busy: int) -> None:
    """Bursts come early, late or in between, in a run that ends as planned, earlier, or whenever.

    More steps or events than expected cost a copy, never an event.
    """
    rng = np.random.default_rng(busy)
    recorder, plan = MemoryRecorder(REQUESTS[2:]), make_plan(planned)
    plan = dataclasses.replace(plan, columns=plan.events)
    recorder.open(plan)
    given = []
    for k in range(40):
        count = int(rng.integers(0, 900)) + 30_000 * (k == busy)
        events = np.full(count, k * DT), rng.integers(0, 7, count, dtype=np.int32)
        given.append(events)
        recorder.append(Block(0, {}, {"spike_state": events}, k + 1))
    recorder.close()
    data = recorder.get("spike_state")
    for got, pieces in zip((data["time"], data["index"]), zip(*given, strict=True), strict=True):
        assert got.dtype == pieces[0].dtype
        np.testing.assert_array_equal(got, np.concatenate(pieces))


def test_rows_that_somebody_holds_stay_where_they_are() -> None:
    """A run that ends early gives back the memory of rows to come, but not under a holder."""
    recorder, plan = MemoryRecorder(REQUESTS[:1]), make_plan(100_000)
    plan = dataclasses.replace(plan, columns=plan.columns[:1])
    recorder.open(plan)
    place = recorder.place("V", 0, 100)
    assert place is not None
    place[:] = expected = value(np.arange(100), 7)
    recorder.append(Block(0, {"V": place[:60]}, {}, 60))
    recorder.close()
    np.testing.assert_array_equal(place, expected)
    np.testing.assert_array_equal(recorder.get("V"), expected[:60])


# ---- the file ------------------------------------------------------------------------------


def test_layout_that_users_know(tmp_path: Path) -> None:
    path, plan = tmp_path / "run.h5", make_plan(103, 5, dtype="f4")
    record(HDF5Recorder(path, REQUESTS, 5), plan, [50, 103])
    with h5py.File(path, "r") as file:
        meta = file["metadata"]
        assert meta.shape == () and meta.dtype == np.int32 and meta[()] == 1
        assert meta.attrs["start_time"] == 4 * DT and meta.attrs["sample_interval"] == 5
        assert meta.attrs["dt"] == DT and meta.attrs["DateCreated"][:2] == "20"
        assert meta.attrs["software"] == "neurodriver" and meta.attrs["seed"] == 3
        v, spike = file["V"], file["spike_state"]
        assert v["data"].shape == (20, 7) and v["data"].maxshape == (None, 7)
        assert v["data"].dtype == np.float32 and v["data"].attrs["units"] == "mV"
        assert v["uids"].dtype.kind == "S" and v["valid_rows"][()] == 20
        assert spike["data/time"].dtype == np.float64 and spike["data/time"].maxshape == (None,)
        assert spike["data/index"].dtype == np.int32 and spike["data/time"].attrs["units"] == "s"
        assert spike["valid_events"][()] == len(spike["data/time"]) == len(spike["data/index"])
        assert spike["valid_steps"][()] == 103
        # The formula of older readers agrees with the times stored.
        j, attrs = np.arange(20), meta.attrs
        formula = attrs["start_time"] + j * attrs["sample_interval"] * attrs["dt"]
        np.testing.assert_allclose(v["time"][()], formula, rtol=1e-13)
        np.testing.assert_allclose(v["time"][()], ((j + 1) * 5 - 1) * DT, rtol=1e-15)
        assert file["g/time"] == v["time"]  # one data set, two names


def test_a_reader_may_look_during_the_run(tmp_path: Path) -> None:
    path, plan = tmp_path / "run.h5", make_plan(1000)
    recorder = HDF5Recorder(path, REQUESTS)
    recorder.open(plan)
    for block in blocks(plan, [100, 150, 700]):
        recorder.append(block)
        with h5py.File(path, "r") as file:
            rows, events = file["V/valid_rows"][()], file["spike_state/valid_events"][()]
            assert rows == block.step and file["metadata"][()] == 0
            np.testing.assert_array_equal(file["V/data"][:rows], value(np.arange(rows), 7))
            when = spikes(0, block.step, 7)[0]
            np.testing.assert_array_equal(file["spike_state/data/time"][:events], when)
    recorder.close()


def test_space_that_is_not_written_takes_no_disk(tmp_path: Path) -> None:
    path, plan = tmp_path / "run.h5", make_plan(100_000, neurons=200)
    recorder = HDF5Recorder(path, REQUESTS)
    recorder.open(plan)
    size = path.stat()
    assert size.st_size > 100_000 * 200 * 8
    assert size.st_blocks * 512 < 1e6
    recorder.close()
    assert path.stat().st_size < 1e5


def test_a_full_length_recording_of_rows_is_not_copied(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    plan = RecordingPlan(DT, 50, 1, np.dtype("f8"), make_plan(50).dense, {})
    recorder = HDF5Recorder(path, REQUESTS)
    recorder.open(plan)
    inode = path.stat().st_ino
    for block in blocks(plan, [20, 50]):
        recorder.append(block)
    recorder.close()
    assert path.stat().st_ino == inode
    check(read(recorder), plan, 50)


def test_counters_lie_within_a_page(tmp_path: Path) -> None:
    # Eight bytes within a page are written at once; across two pages a kill could part them.
    columns = tuple(Columns(f"v{i}", names("n", 1 + i), "", bool(i % 2)) for i in range(99))
    record(
        HDF5Recorder(tmp_path / "run.h5", []),
        RecordingPlan(DT, 3, 1, np.dtype("f4"), columns, {}),
        [],
    )
    with h5py.File(tmp_path / "run.h5", "r") as file:
        counters = [
            g[k] for g in file.values() if isinstance(g, h5py.Group) for k in g if "valid" in k
        ]
        offsets = [c.id.get_offset() for c in counters]
    assert len(offsets) > 99 and not any(o % 4096 > 4088 for o in offsets)


def test_a_run_replaces_the_file_of_the_last_one(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    record(HDF5Recorder(path, REQUESTS), make_plan(500), [500])
    with h5py.File(path, "r") as old:  # an open reader keeps what it has
        record(HDF5Recorder(path, REQUESTS, overwrite=True), make_plan(20), [20])
        assert old["V/data"].shape == (500, 7)
        assert old["V/data"][499, 0] == 499 * 16
    check(read(HDF5Recorder(path, [])), make_plan(20), 20)
    assert os.listdir(tmp_path) == ["run.h5"]


def test_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "scratch").mkdir()
    (tmp_path / "run.h5").symlink_to(tmp_path / "scratch" / "real.h5")
    record(HDF5Recorder(tmp_path / "run.h5", REQUESTS), make_plan(20), [20])
    assert (tmp_path / "run.h5").is_symlink() and (tmp_path / "scratch" / "real.h5").is_file()


def test_a_failed_start_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run.h5"
    path.write_text("precious")

    def refuse(*_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(RecordingError, match=r"run\.h5: cannot create.*denied; choose a folder"):
        HDF5Recorder(path, REQUESTS, overwrite=True).open(make_plan(10))
    assert path.read_text() == "precious" and os.listdir(tmp_path) == ["run.h5"]


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cases = {
        tmp_path / "missing" / "run.h5": "make the folder .*missing first",
        tmp_path / "file" / "run.h5": "choose a folder that you may write to",
        tmp_path: "not a regular file",
        Path(os.devnull): "not a regular file",
        tmp_path / ("x" * 300): "choose another file name",
    }
    if os.geteuid():
        (tmp_path / "locked").mkdir(mode=0o500)
        cases[tmp_path / "locked" / "run.h5"] = "choose a folder that you may write to"
    for path, message in cases.items():
        recorder = HDF5Recorder(path, REQUESTS)
        with pytest.raises(RecordingError, match=message) as caught:
            recorder.open(make_plan(10))
        assert str(path) in str(caught.value)
        recorder.close()


def test_disk_full_keeps_what_was_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, plan, pwrite = tmp_path / "run.h5", make_plan(100), os.pwrite
    recorder = HDF5Recorder(path, REQUESTS)
    recorder.open(plan)
    first, second = blocks(plan, [40, 80])
    recorder.append(first)

    def full(fd: int, data: memoryview, offset: int) -> int:
        if len(data) > 1000:
            raise OSError(errno.ENOSPC, "No space left on device")
        return pwrite(fd, data, offset)

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(RecordingError, match=r"No space left.*free space.*kept.*40 steps"):
        recorder.append(second)
    with h5py.File(path, "r") as file:
        assert file["V/valid_rows"][()] == 40
    monkeypatch.delattr(os, "copy_file_range", raising=False)
    with pytest.warns(CircuitWarning, match=r"no room to trim.*No space left.*'valid_rows'"):
        recorder.close()
    assert os.listdir(tmp_path) == ["run.h5"]
    with h5py.File(path, "r") as file:
        np.testing.assert_array_equal(file["V/data"][:40], value(np.arange(40), 7))


def test_short_writes_and_no_copy_in_the_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pwrite = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda fd, data, at: pwrite(fd, data[:1000], at))
    monkeypatch.delattr(os, "copy_file_range", raising=False)
    recorder, plan = HDF5Recorder(tmp_path / "run.h5", REQUESTS), make_plan(1000)
    record(recorder, plan, [300, 600, 900])
    check(read(recorder), plan, 900)


def test_many_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preallocated, "CHUNK_BYTES", 200)
    recorder, plan = HDF5Recorder(tmp_path / "run.h5", REQUESTS), make_plan(3000)
    record(recorder, plan, [*range(7, 2900, 97), 2900])
    check(read(recorder), plan, 2900)


def test_two_recorders_of_one_file_are_noticed(tmp_path: Path) -> None:
    plan = make_plan(10)
    one, two = (HDF5Recorder(tmp_path / "run.h5", REQUESTS, overwrite=True) for _ in range(2))
    one.open(plan)
    two.open(plan)
    (block,) = blocks(plan, [10])
    with pytest.raises(RecordingError, match="replaced or removed"):
        one.append(block)
    with pytest.raises(RecordingError, match="replaced or removed"):
        one.close()
    two.append(block)
    two.close()
    check(read(two), plan, 10)


def test_what_killed_runs_left_is_swept(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as dead:
        dead.wait()
    host = socket.gethostname()
    stale = tmp_path / f".run.h5.{host}-{dead.pid}.tmp"
    kept = [
        tmp_path / f".run.h5.{host}-{os.getppid()}.tmp",  # alive
        tmp_path / f".run.h5.elsewhere-{dead.pid}.tmp",  # perhaps alive
        tmp_path / f".other.h5.{host}-{dead.pid}.tmp",
    ]
    for path in (stale, *kept):
        path.write_text("")
    record(HDF5Recorder(tmp_path / "run.h5", REQUESTS), make_plan(5), [5])
    assert not stale.exists() and all(path.exists() for path in kept)


# ---- the writer ----------------------------------------------------------------------------


class Slow(MemoryRecorder):
    """Waits for a permit before each block; fails at a chosen one."""

    def __init__(self, fail_at: int = -1) -> None:
        super().__init__(REQUESTS)
        self.permits = threading.Semaphore(0)
        self.fail_at = fail_at
        self.threads: set[str] = set()

    def _append(self, block: Block, rows: int) -> None:
        self.permits.acquire()
        self.threads.add(threading.current_thread().name)
        if block.step == self.fail_at:
            raise OSError("broken disk")
        super()._append(block, rows)


def test_writer_writes_in_order_and_closes(tmp_path: Path) -> None:
    plan = make_plan(1000)
    recorders = [MemoryRecorder(REQUESTS), HDF5Recorder(tmp_path / "run.h5", REQUESTS)]
    for recorder in recorders:
        recorder.open(plan)
    with Writer(recorders) as writer:
        for block in blocks(plan, list(range(10, 1001, 10))):
            for recorder in recorders:
                writer.put(recorder, block)
    for recorder in recorders:
        check(read(recorder), plan, 1000)
    with pytest.raises(RecordingError, match="closed"):
        writer.put(recorders[0], Block(0, {}, {}, 0))
    writer.close()


def test_writer_waits_for_a_slow_recorder() -> None:
    recorder, plan = Slow(), make_plan(1000)
    recorder.open(plan)
    writer = Writer([recorder], depth=2)
    todo = blocks(plan, list(range(10, 101, 10)))
    for _ in range(2):
        writer.put(recorder, next(todo))
    assert writer.blocked_seconds == 0
    # One block in the hands of the thread, two in the queue: a fourth or fifth has to wait.
    timer = threading.Timer(0.2, recorder.permits.release, (100,))
    timer.start()
    began = time.perf_counter()
    for block in todo:
        writer.put(recorder, block)
    spent = time.perf_counter() - began
    assert 0.1 < writer.blocked_seconds <= spent
    writer.close()
    assert recorder.threads == {"neurodriver-writer"}
    check(recorder.output, plan, 100)


def test_failure_is_raised_once_and_the_other_recorders_go_on() -> None:
    recorder, other, plan = Slow(fail_at=30), MemoryRecorder(REQUESTS), make_plan(1000)
    recorder.open(plan)
    other.open(plan)
    writer = Writer([recorder, other], depth=1)
    recorder.permits.release(100)
    for block in blocks(plan, list(range(10, 1001, 10))):
        writer.put(recorder, block)
        writer.put(other, block)
    for _ in range(2):
        with pytest.raises(OSError, match="broken disk"):
            writer.check()
    writer.close()  # told already
    assert writer.failed is recorder
    check(recorder.output, plan, 20)
    check(other.output, plan, 1000)


def test_failure_in_the_last_block_is_raised_by_close() -> None:
    recorder, plan = Slow(fail_at=10), make_plan(1000)
    recorder.open(plan)
    writer = Writer([recorder])
    writer.put(recorder, next(blocks(plan, [10])))
    recorder.permits.release()
    with pytest.raises(OSError, match="broken disk"):
        writer.close()


def test_failure_in_close_is_raised_and_the_others_are_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bad, good = MemoryRecorder(REQUESTS), MemoryRecorder(REQUESTS)
    bad.open(make_plan(10))
    good.open(make_plan(10))

    def fail() -> None:
        raise RecordingError("cannot finish")

    monkeypatch.setattr(bad, "_close", fail)
    with pytest.raises(RecordingError, match="cannot finish"):
        Writer([bad, good]).close()
    assert good.output["V"]["data"].shape == (0, 7)


def test_a_failure_frees_a_waiting_put() -> None:
    recorder, plan = Slow(fail_at=10), make_plan(1000)
    recorder.open(plan)
    writer = Writer([recorder], depth=1)
    threading.Timer(0.1, recorder.permits.release).start()
    with pytest.raises(OSError, match="broken disk"):
        for block in blocks(plan, list(range(10, 1001, 10))):
            writer.put(recorder, block)
            writer.check()
    writer.close()


def test_a_script_that_forgets_to_close_ends() -> None:
    script = (
        "from neurodriver.recorders import MemoryRecorder, Writer\n"
        "import time\n"
        "class Stuck(MemoryRecorder):\n"
        "    def append(self, block): time.sleep(60)\n"
        "recorder = Stuck([])\n"
        "writer = Writer([recorder])\n"
        "writer.put(recorder, None)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], timeout=20, capture_output=True)
    assert done.returncode == 0 and not done.stderr


def test_only_the_hdf5_recorder_imports_h5py() -> None:
    folder = Path(neurodriver.recorders.__file__).parent
    importing = set()
    for path in folder.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            modules = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            modules += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            if any(m.split(".")[0] == "h5py" for m in modules):
                importing.add(path.name)
    assert importing == {"preallocated.py"}


# ---- files that are there --------------------------------------------------------------------


def test_an_existing_recording_is_kept(tmp_path: Path) -> None:
    """Neither a new run nor the same recorder replaces a recording without being asked to."""
    path = tmp_path / "run.h5"
    recorder = HDF5Recorder(path, REQUESTS)
    record(recorder, make_plan(50), [50])
    before = path.read_bytes()
    for again in (recorder, HDF5Recorder(path, REQUESTS), HDF5Recorder(str(path), [])):
        with pytest.raises(RecordingError, match=r"run\.h5: there is a recording of 0.005 s.*-f"):
            again.open(make_plan(20))
        with pytest.raises(RecordingError, match="overwrite=True"):
            again.check()
        assert not again.is_open
    assert path.read_bytes() == before and os.listdir(tmp_path) == ["run.h5"]
    (tmp_path / "link.h5").symlink_to(path)
    with pytest.raises(RecordingError, match=r"link\.h5: there is a recording"):
        HDF5Recorder(tmp_path / "link.h5", []).open(make_plan(20))


def test_what_is_no_recording_is_kept_too(tmp_path: Path) -> None:
    """Also a text, an HDF5 file of others, and what a killed run left."""
    (tmp_path / "text").write_text("precious")
    (tmp_path / "empty").write_text("")
    with h5py.File(tmp_path / "other", "w") as file:
        file["V/data"] = np.zeros((0, 3))
    living = HDF5Recorder(tmp_path / "living", REQUESTS)
    living.open(make_plan(30))
    cases = {"text": "a file", "empty": "a file", "other": "a file"}
    cases["living"] = "a recording of 0 s, whose run goes on or was killed,"
    for name, what in cases.items():
        with pytest.raises(RecordingError, match=f"{name}: there is {what} already"):
            HDF5Recorder(tmp_path / name, REQUESTS).open(make_plan(10))
    assert (tmp_path / "text").read_text() == "precious"
    for block in blocks(make_plan(30), [10, 30]):
        living.append(block)
    living.close()
    check(read(living), make_plan(30), 30)


def test_a_recording_without_a_step_is_replaced(tmp_path: Path) -> None:
    """A run that failed before its first step does not make the next one fail."""
    recorder = HDF5Recorder(tmp_path / "run.h5", REQUESTS)
    record(recorder, make_plan(20), [])
    record(recorder, make_plan(20), [20])
    check(read(recorder), make_plan(20), 20)
