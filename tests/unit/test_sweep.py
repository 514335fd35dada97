"""Sweeps: points, executors, what is kept of a point, failures, folders."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import swept

import neurodriver as nd
from neurodriver.errors import NeurodriverError, SweepError, SweepInterrupted

pytest.importorskip("xarray")

AXES = {"g": [1.0, 2.0, 4.0], "seed": [7, 3]}
quiet = partial(nd.sweep, progress=False)


class LastFirst:
    """An executor with nothing but `submit`: it computes what it has got from the last to the
    first, as soon as there are six."""

    def __init__(self) -> None:
        self.tasks: list[Callable[[], None]] = []

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Keep a call for later."""
        future: Future[Any] = Future()
        self.tasks.append(lambda: future.set_result(function(*arguments)))
        if len(self.tasks) == 6:
            threading.Thread(target=lambda: [task() for task in reversed(self.tasks)]).start()
        return future


@pytest.fixture(scope="module")
def one_by_one() -> dict[tuple[float, int], dict[str, Any]]:
    """The recordings of single runs of the points of `AXES`."""
    out = {}
    for g in AXES["g"]:
        for seed in AXES["seed"]:
            with swept.noisy_neurons(g, int(seed)) as lpu:
                lpu.run(duration=0.05)
            recorder: Any = lpu.recorders[0]
            out[g, int(seed)] = {name: recorder.get(name) for name in ("V", "spike_state")}
    assert len({len(one["spike_state"]["time"]) for one in out.values()}) > 2
    return out


@pytest.fixture(params=["own", "processes", "threads", "last first", "dask"])
def executor(request: pytest.FixtureRequest) -> Iterator[Any]:
    """Executors of all kinds."""
    if request.param == "own":
        yield None
    elif request.param == "last first":
        yield LastFirst()
    elif request.param == "dask":
        reason = "needs dask's package distributed"
        distributed = pytest.importorskip("distributed.client", reason=reason)
        with distributed.Client(n_workers=1, threads_per_worker=2, processes=False) as client:
            yield client.get_executor()
    else:
        kinds: dict[str, type[Executor]] = {
            "processes": ProcessPoolExecutor,
            "threads": ThreadPoolExecutor,
        }
        with kinds[request.param](2) as pool:
            yield pool


def test_a_sweep_has_the_bits_of_single_runs(executor: Any, one_by_one: Any) -> None:
    """All executors, in any order: rows, spikes, their counts, uids, times and units."""
    found = quiet(swept.noisy_neurons, AXES, duration=0.05, executor=executor)
    assert found.V.dims == ("g", "seed", "time", "uid") and found.V.attrs == {"units": "mV"}
    assert found.g.values.tolist() == AXES["g"] and found.seed.values.tolist() == AXES["seed"]
    assert found.time.attrs == {"units": "s"} and found.time.values[3] == 3 * 1e-4
    for (g, seed), single in one_by_one.items():
        one = found.sel(g=g, seed=seed)
        assert one.V.values.tobytes() == single["V"].tobytes()
        spikes = single["spike_state"]
        mine = one.spike_state_point == one.point
        assert np.array_equal(one.spike_state_time[mine], spikes["time"])
        assert np.array_equal(one.spike_state_index[mine], spikes["index"])
        assert np.array_equal(one.spike_state_count, np.bincount(spikes["index"], minlength=3))
        assert one.spike_state_uid.values.tolist() == one.uid.values.tolist()


def test_listed_points_and_values_of_all_kinds() -> None:
    """Points one by one; numbers, texts, arrays and truth values keep their types."""
    points = [{"a": 1, "b": 5}, {"a": 2, "b": 5}, {"a": 2, "b": 7}]
    with ThreadPoolExecutor(2) as pool:
        found = quiet(swept.product, points, executor=pool)
    assert found["product"].dims == ("point",)
    assert found["product"].values.tolist() == [5, 10, 14]
    assert found.text.values.tolist() == ["15", "25", "27"]
    assert found.row.dims == ("point", "row_0") and found.row[2].values.tolist() == [0, 2, 4]
    assert found.odd.values.tolist() == [True, False, False]
    assert found.a.values.tolist() == [1, 2, 2] and found.sel(point=2).b == 7


def test_labelled_arrays_recordings_and_quantities(tmp_path: Path) -> None:
    """Arrays of xarray keep dimensions, coordinates and units; recordings get a prefix."""
    xr, pint = pytest.importorskip("xarray"), pytest.importorskip("pint")

    def build(a: int) -> dict[str, Any]:
        path = tmp_path / f"{a}.h5"
        lpu = swept.noisy_neurons(4.0, a)
        lpu.close()
        recorder = nd.HDF5Recorder(path, [("V", None)])
        with nd.LPU(lpu.circuit, 1e-4, lpu.inputs, recorder) as run:
            run.run(steps=5)
        freq = ("freq", [1.0, 2.0], {"units": "Hz"})
        power = xr.DataArray([a, 2 * a], {"freq": freq}, ("freq",), attrs={"units": "mV"})
        return {
            "power": power,
            "memory": swept.noisy_neurons(4.0, a),
            "file": nd.open(path),
            "length": pint.UnitRegistry().Quantity(float(a), "mV"),
        }

    with ThreadPoolExecutor(1) as pool:
        found = quiet(build, {"a": [1, 2]}, steps=5, executor=pool)
    assert found.power.dims == ("a", "freq") and found.power.attrs == {"units": "mV"}
    assert found.freq.values.tolist() == [1.0, 2.0] and found.freq.attrs == {"units": "Hz"}
    assert found.file_V.dims == found.memory_V.dims == ("a", "time", "uid")
    assert np.array_equal(found.file_V, found.memory_V) and np.ptp(found.file_V.values) > 0
    assert found.length.attrs == {"units": "mV"} and found.length.values.tolist() == [1.0, 2.0]


def test_an_lpu_gets_one_thread_unless_it_asks() -> None:
    """Points are what runs in parallel; the caller's own LPUs keep their threads."""
    with ThreadPoolExecutor(2) as pool:
        found = quiet(swept.threads_of, {"a": [0, 1]}, executor=pool)
    assert found.default.values.tolist() == [1, 1] and found.asked.values.tolist() == [2, 2]


def test_failing_points_are_named_and_lose_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kept as texts or raised with what is done; another call computes them again."""
    fault = tmp_path / "fault"
    fault.touch()
    monkeypatch.setenv("SWEPT_FAULT", str(fault))
    axes, folder = {"a": range(4)}, tmp_path / "sweep"
    with ThreadPoolExecutor(1) as pool:
        kept = quiet(swept.odd_fails, axes, executor=pool, path=folder, errors="keep")
        assert np.array_equal(kept.same, [0, np.nan, 2, np.nan], equal_nan=True)
        assert kept.error.values.tolist() == [
            "", "ZeroDivisionError: 1 is odd", "", "ZeroDivisionError: 3 is odd"
        ]  # fmt: skip
        with pytest.raises(
            SweepError, match=r"points failed\n  a=1: Traceback[^$]*1 is odd"
        ) as told:
            quiet(swept.odd_fails, axes, executor=pool, path=folder)
        results: Any = told.value.results
        assert results.same[[0, 2]].values.tolist() == [0, 2]
        assert "2 of 4 points are done; call again with path=" in str(told.value)
        with pytest.raises(SweepError, match="`results` of this error holds them"):
            quiet(swept.odd_fails, axes, executor=pool)
        fault.unlink()
        done = quiet(swept.odd_fails, axes, executor=pool, path=folder)
    assert done.same.values.tolist() == [0, 1, 2, 3] and done.same.dtype == np.int64
    assert "error" not in done


def test_no_points_are_begun_after_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With errors="raise"; points that have begun end."""
    fault = tmp_path / "fault"
    fault.touch()
    monkeypatch.setenv("SWEPT_FAULT", str(fault))

    class AtOnce:
        def __init__(self) -> None:
            self.count = 0

        def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
            self.count += 1
            future: Future[Any] = Future()
            future.set_result(function(*arguments))
            return future

    executor: Any = AtOnce()
    with pytest.raises(SweepError, match=r"1 of 1000 points failed\n  a=1: "):
        quiet(swept.odd_fails, {"a": range(1000)}, executor=executor)
    assert executor.count == 2


def test_a_worker_that_ends(tmp_path: Path) -> None:
    """The message says so; the points before it are kept and need not be computed again."""
    with pytest.raises(SweepError, match="a worker ended too soon"):
        quiet(swept.dies, {"a": range(50)}, path=tmp_path / "sweep")
    stored = nd.open_sweep(tmp_path / "sweep")
    assert stored.sizes == {"a": 50}
    assert set(stored.data_vars) <= {"same"}


def along(count: int) -> Any:
    """Return a labelled array of one dimension."""
    return pytest.importorskip("xarray").DataArray(np.ones(count), dims=("z",))


class Row:
    """Returns arrays of a length of its own for each point."""

    def __init__(self, values: Callable[[int], Any]) -> None:
        self.values = values

    def __call__(self, a: int) -> Any:
        """Return the values for a point."""
        return self.values(a)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (lambda a: {"x": np.ones(a)}, r"a=2: build returned 'x' of shape \(x_0: 2\) instead of "
         r"\(x_0: 1\) at the point a=1; all points must give the same names and shapes"),
        (lambda a: {"x": "t" if a == 2 else 1}, "'x' of type <U1 instead of int64"),
        (lambda a: {"xyz"[a]: 1}, "z instead of y"),
        (lambda a: {"a": 1}, "build returned 'a', a name that the sweep needs itself"),
        (lambda a: {"error": 1}, "'error', a name that the sweep needs"),
        (lambda a: 3.0, r"build must return an LPU, a recording, or a mapping .*got 3.0"),
        (lambda a: None, r"build must return .*got None"),
        (lambda a: {}, "build returned no value"),
        (lambda a: {1: 2}, r"names of values are texts \(got 1\)"),
        (lambda a: {"x/y": 1}, "the name 'x/y': it is empty or holds a '/'"),
        (lambda a: {"x": [1, 2], "x_0": 3}, "'x_0' as a value and as a dimension"),
        (lambda a: {"x": along(2), "y": along(3)}, "dimension 'z' with 2 and with 3 values"),
        (lambda a: {"x": None}, "'x' must be a number, a text, an array"),
        (lambda a: {"x": [[1], [2, 3]]}, "'x' is no array"),
        (lambda a: swept.noisy_neurons(1.0, a), "has not run; give the sweep steps= or duration="),
        (lambda a: nd.LPU(swept.noisy_neurons(1.0, a).circuit, 1e-4), "no MemoryRecorder"),
        (lambda a: nd.StepInput("I", ["n"], np.nan), "a=1: InputError: "),
        (lambda a: sys.exit("no"), r"a=1: Traceback(.|\n)*SystemExit: no"),
    ],
)  # fmt: skip
def test_results_that_cannot_be_kept(values: Callable[[int], Any], message: str) -> None:
    """The message names the point."""
    with ThreadPoolExecutor(1) as pool, pytest.raises(SweepError, match=message):
        quiet(Row(values), {"a": [1, 2]}, executor=pool)


@pytest.mark.parametrize(
    ("axes", "message"),
    [
        ({"a": [], "b": [1]}, "axis 'a' is empty"),
        ({}, "no axis is given"),
        ([], "axes are a mapping of names to values, or a list of points"),
        (3, r"list of points, each a mapping \(got 3\)"),
        ([3], r"list of points, each a mapping \(got 3\)"),
        ([{"a": 1, "b": 2}, {"a": 1}], "point 1 has a, point 0 has a, b"),
        ([{"a": 1, "b": 2}, {"b": 2, "a": 1}], "point 1 is listed twice: a=1, b=2"),
        ({"a": "12", "b": [1]}, r"axis 'a': a sequence of values is needed \(got '12'\)"),
        ({"a": 5, "b": [1]}, r"axis 'a': a sequence of values is needed \(got 5\)"),
        ({"a": [1, 2, 1], "b": [1]}, "axis 'a': 1 is listed twice"),
        ({"a": [1.0, float("nan")], "b": [1]}, r"values are numbers or texts \(got nan\)"),
        ({"a": [len], "b": [1]}, "name it by a text, and look it up in build"),
        ({"a": [1, "x"], "b": [1]}, "axis 'a': values of several types"),
        ({"aa": [1], "b": [1]}, "takes no argument 'aa'; it takes: a, b\nsweep: build needs 'a'"),
        ({"a": [1]}, "build needs 'b', which is no axis"),
        ({"a": [1], "b": [1], "point": [1]}, "'point' cannot be the name of an axis"),
    ],
)
def test_axes_that_are_wrong(axes: Any, message: str) -> None:
    """Refused before anything is computed, all faults at once."""
    with pytest.raises(NeurodriverError, match=message):
        quiet(swept.product, axes)


def test_arguments_that_are_wrong() -> None:
    """A lambda with processes, what is no executor, lengths and words that are none."""
    axes = {"a": [1], "b": [2]}
    with pytest.raises(NeurodriverError, match=r"cannot be sent to other .*ThreadPoolExecutor\(\)"):
        quiet(lambda a, b: {"x": a}, axes)
    with pytest.raises(NeurodriverError, match=r"executor has no method 'submit' \(got 4\)"):
        nd.sweep(swept.product, axes, executor=4)  # type: ignore[arg-type]
    for given, message in (
        ({"steps": 1, "duration": 1.0}, "either steps or duration"),
        ({"steps": 1.5}, "steps must be a whole number"),
        ({"duration": -1.0}, "duration must be seconds >= 0"),
        ({"errors": "ignore"}, "errors must be 'raise' or 'keep'"),
    ):
        with pytest.raises(NeurodriverError, match=message):
            quiet(swept.product, axes, **given)
    with pytest.raises(NeurodriverError, match="build must be a function"):
        nd.sweep(3, axes)  # type: ignore[arg-type]


def test_a_folder_goes_on_with_the_same_sweep_alone(tmp_path: Path) -> None:
    """What differs is named; nothing is computed or changed."""
    folder, axes = tmp_path / "sweep", {"a": [1, 2], "b": [3]}
    threads = ThreadPoolExecutor(1)
    again = partial(quiet, path=folder, executor=threads)
    first = again(swept.product, axes)
    assert again(swept.product, axes).identical(first)
    assert nd.open_sweep(folder).identical(first)
    for build, other, given, message in (
        (swept.product, {"a": [1, 9], "b": [3]}, {}, r"axis 'a': \[1, 2\] is stored, now \[1, 9\]"),
        (swept.product, {"b": [3], "a": [1, 2]}, {}, "order of the axes: a, b is stored, now b, a"),
        (swept.product, [{"a": 1, "b": 3}], {}, "product of axes are stored, now listed points"),
        (swept.product, axes, {"steps": 3}, "steps: None is stored, now 3"),
        (swept.noisy_neurons, {"g": [1], "seed": [2]}, {}, r"axis 'g': none is stored, now \[1\]"),
        (partial(swept.product, b=3), axes, {}, "what it is bound to, has changed"),
    ):
        with pytest.raises(NeurodriverError, match=f"holds another sweep; (.|\n)*{message}"):
            again(build, other, **given)
    assert again(swept.product, axes).identical(first)
    threads.shutdown()


def test_a_changed_function_is_another_sweep(tmp_path: Path) -> None:
    """Its code counts, and what a function in a function has captured; comments do not."""

    def run(text: str, **captured: int) -> Any:
        module = tmp_path / "changing.py"
        module.write_text(text)
        names: dict[str, Any] = {"__name__": "changing", **captured}
        exec(compile(text, str(module), "exec"), names)
        import linecache

        linecache.clearcache()
        with ThreadPoolExecutor(1) as pool:
            return quiet(names["build"], {"a": [1]}, executor=pool, path=tmp_path / "sweep")

    run("def build(a):\n    return {'x': a}\n")
    run("def build(a):  # comment\n\n    return {'x': a}\n")
    with pytest.raises(NeurodriverError, match="the code of build"):
        run("def build(a):\n    return {'x': a + 1}\n")


def test_folders_that_are_no_sweep(tmp_path: Path) -> None:
    """A file, a folder of something else, and a sweep that another process computes."""
    run = partial(quiet, swept.product, {"a": [1], "b": [1]}, executor=ThreadPoolExecutor(1))
    (tmp_path / "file").touch()
    with pytest.raises(NeurodriverError, match="a sweep needs a folder, but a file"):
        run(path=tmp_path / "file")
    with pytest.raises(NeurodriverError, match=r"its sweep\.json cannot be read"):
        run(path=tmp_path)
    with pytest.raises(NeurodriverError, match=r"its sweep\.json cannot be read"):
        nd.open_sweep(tmp_path / "none")
    run(path=tmp_path / "sweep")
    script = "import fcntl, sys; f = open(sys.argv[1], 'w'); fcntl.lockf(f, fcntl.LOCK_EX)"
    command = [sys.executable, "-c", f"{script}; print('held', flush=True); sys.stdin.read()"]
    command.append(str(tmp_path / "sweep" / "lock"))
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as other:
        assert other.stdout is not None and other.stdout.readline()
        with pytest.raises(NeurodriverError, match="another process computes this sweep"):
            run(path=tmp_path / "sweep")


SPAWNED = """
import multiprocessing
import neurodriver as nd

def build(a):
    return {"twice": 2 * a}

if __name__ == "__main__":
    multiprocessing.set_start_method("spawn")
    print(*nd.sweep(build, {"a": [1, 2, 3]}, progress=False).twice.values)
"""


def test_workers_that_begin_anew(tmp_path: Path) -> None:
    """macOS and Windows start the processes of a sweep as new programs."""
    script = tmp_path / "script.py"
    script.write_text(SPAWNED, encoding="utf-8")
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True)
    assert done.stdout.split() == ["2", "4", "6"], done.stderr


def test_a_stored_point_that_cannot_be_read_is_computed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also one that is missing; the others are not."""
    log = tmp_path / "log"
    monkeypatch.setenv("SWEPT_LOG", str(log))
    with ThreadPoolExecutor(1) as pool:
        run = partial(quiet, swept.slow, {"a": range(5)}, executor=pool, path=tmp_path / "sweep")
        first = run()
        (tmp_path / "sweep" / "points" / "000003.h5").write_bytes(b"no HDF5")
        (tmp_path / "sweep" / "points" / "000001.h5").unlink()
        part = nd.open_sweep(tmp_path / "sweep")
        assert np.array_equal(part.half, [0, np.nan, 1, np.nan, 2], equal_nan=True)
        assert run().identical(first)
    assert log.read_text().split() == ["0", "1", "2", "3", "4", "1", "3"]


def test_every_kind_of_value_is_stored(tmp_path: Path) -> None:
    """The Dataset from a folder is that of a sweep without one."""
    plain = quiet(swept.noisy_neurons, AXES, duration=0.02)
    stored = quiet(swept.noisy_neurons, AXES, duration=0.02, path=tmp_path / "a")
    assert stored.identical(plain) and nd.open_sweep(tmp_path / "a").identical(plain)
    with ThreadPoolExecutor(1) as pool:
        run = partial(quiet, swept.product, {"a": [1, 2], "b": [3, 4]}, executor=pool)
        texts = run(path=tmp_path / "b")
        assert nd.open_sweep(tmp_path / "b").identical(texts) and run().identical(texts)
    assert texts.text.values.tolist() == [["13", "14"], ["23", "24"]]


def test_ctrl_c_keeps_what_is_done() -> None:
    """What is done comes with the interrupt where there is no folder."""

    class Interrupted:
        def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
            if arguments[1]["a"] == 3:
                raise KeyboardInterrupt
            future: Future[Any] = Future()
            future.set_result(function(*arguments))
            return future

    executor: Any = Interrupted()
    with pytest.raises(SweepInterrupted, match="3 of 4 points are done") as told:
        quiet(swept.product, {"a": range(4), "b": [1]}, executor=executor)
    results: Any = told.value.results
    assert results["product"].values[:3, 0].tolist() == [0, 1, 2]
