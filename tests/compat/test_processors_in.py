"""Old input processors: signatures, what they inject, what they record (with bare h5py)."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from support import ALPHA, AMPA, DT, IAF, assert_same_bits, build, graph, node, simulate

from neurodriver import LPU, ArrayInput, BernoulliInput, Input, NoiseInput, StepInput
from neurodriver.compat.inputs import (
    ArrayInputProcessor,
    BaseInputProcessor,
    BernoulliInputProcessor,
    FileInputProcessor,
    PresynapticInputProcessor,
    RampInputProcessor,
    StepInputProcessor,
)
from neurodriver.errors import CircuitWarning, InputError

UIDS = ["a", "b"]
FILES = "input_file=None, input_interval=1, sensory_file=None, sensory_interval=1"
EVENTS = {"time": np.array([3e-4, 1e-4, 1e-4]), "index": np.array([0, 1, 1], dtype=np.int32)}


def neurons() -> Any:
    """Return two neurons and two synapses."""
    nodes = {u: node("LeakyIAF", IAF) for u in UIDS}
    return build({**nodes, "s": node("SynapseAMPA", AMPA, gmax=1.0, st=1e-3),
                  "t": node("SynapseAMPA", AMPA, gmax=1.0, st=1e-3)})  # fmt: skip


def injected(one: Input, steps: int) -> dict[str, NDArray[Any]]:
    """Run a processor in an LPU; return what each of its targets got, variable -> (steps, n)."""
    kept: dict[str, list[Any]] = {v: [] for v, _ in one.targets}
    plain = one.chunk

    def chunk(number: int, first: int, count: int) -> Any:
        got = plain(number, first, count)
        padded = np.vstack([got.table, np.zeros((1, got.table.shape[1]))])
        kept[one.targets[number][0]].append(padded[got.row_of_step])
        return got

    one.chunk = chunk  # type: ignore[method-assign]
    with LPU(neurons(), DT, one) as lpu:
        lpu.run(steps=steps)
    return {v: np.vstack(parts) for v, parts in kept.items()}


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (BaseInputProcessor, f"var_list, mode=0, memory_mode='cpu', {FILES}"),
        (StepInputProcessor, f"variable, uids, val, start, stop, {FILES}"),
        (RampInputProcessor, "variable, uids, start_time, duration, start_value, stop_value"),
        (BernoulliInputProcessor, "variable, uids, p, start, stop, seed=None"),
        (ArrayInputProcessor, f"inputs={{}}, mode=0, cache_length=1000, {FILES}"),
        (FileInputProcessor, "filename, file_mode='r', mode=0, cache_length=1000, preload=False"),
        (PresynapticInputProcessor, f"inputs={{}}, mode=0, cache_length=1000, {FILES}"),
        (ArrayInputProcessor.get_input, "self, var=None, uids=None, dt=1, start_time=0"),
    ],
)
def test_signatures(kind: Any, expected: str) -> None:
    """Names, order and defaults of arguments are the old ones: they are filled in by name."""
    parameters = inspect.signature(kind).parameters.values()
    plain = [p.replace(annotation=inspect.Parameter.empty) for p in parameters]
    assert ", ".join(map(str, plain)) == expected


# ---- E.1, the base -------------------------------------------------------------------------


class Own(BaseInputProcessor):
    """Counts its calls; has values at even steps only."""

    def pre_run(self) -> None:
        """See the LPU."""
        assert self.LPU_obj.step == 0 and self.dt == self.sim_dt == DT
        assert self.memory_manager is not None
        assert self.dtypes["I"] == self.variables["I"]["input"].dtype
        self.calls: list[str] = ["pre_run"]

    def update_input(self) -> None:
        """Fill in the step, in place for one variable."""
        self.calls.append(f"update {self.LPU_obj.step}")
        self.variables["I"]["input"][:] = [self.LPU_obj.step + 1, 10]
        if "spike_state" in self.variables:
            self.variables["spike_state"]["input"] = np.ones(1)

    def is_input_available(self) -> bool:
        """Tell that there are values at even steps."""
        return bool(self.LPU_obj.step % 2 == 0)

    def post_run(self) -> None:
        """Note the end."""
        self.calls.append("post_run")


@pytest.mark.parametrize("memory_mode", ["cpu", "gpu"])
@pytest.mark.parametrize("mode", [0, 1])
def test_hooks_and_modes(mode: int, memory_mode: str) -> None:
    """Hooks come in their order; without input mode 0 injects zero and mode 1 the last values."""
    one = Own([("I", UIDS), ("spike_state", ["s"]), ("V", None)], mode, memory_mode)
    assert one.variables.keys() == {"I", "spike_state"}  # uids None: skipped
    got = injected(one, 5)
    assert one.calls == ["pre_run", "update 0", "update 2", "update 4", "post_run"]
    gap = [[0, 0], [0, 0]] if mode == 0 else [[1, 10], [3, 10]]
    assert got["I"].tolist() == [[1, 10], gap[0], [3, 10], gap[1], [5, 10]]
    assert got["spike_state"][:, 0].tolist() == ([1, 0, 1, 0, 1] if mode == 0 else [1] * 5)


def test_another_mode_is_mode_0() -> None:
    """A mode that is neither 0 nor 1 warns and injects zero."""
    with pytest.warns(CircuitWarning, match="mode 2 is unknown; 0"):
        one = Own([("I", UIDS)], 2)
    assert one.mode == 0
    with pytest.raises(InputError, match="memory_mode must be 'cpu' or 'gpu'"):
        Own([("I", UIDS)], 0, "tpu")


def test_add_variables() -> None:
    """Adding to a known variable keeps its earlier uids; tuples are refused with a reason."""
    one = Own([("I", ["a"])])
    one.add_variables([("I", ["b"]), ("spike_state", ["s"]), ("g", None)])
    assert one.targets == [("I", ("a", "b")), ("spike_state", ("s",))]
    assert one.variables["I"]["uids"] == ["a", "b"]
    assert injected(one, 1)["I"].tolist() == [[1, 10]]
    with pytest.raises(InputError, match="add variables before"):
        one.add_variables([("I", ["c"])])
    with pytest.raises(InputError, match="variables that are tuples cannot be injected"):
        Own([(("x", "y"), ["a"])])


def test_record_settings_and_side_graph() -> None:
    """The settings are those of the constructor; the base adds nothing to the circuit."""
    one = Own([("I", ["a"])], 0, "cpu", None, 3, "sense.h5", 4)
    assert one.record_settings == {
        "sensory_file": "sense.h5", "sensory_interval": 4, "input_file": None, "input_interval": 3,
    }  # fmt: skip
    assert len(one.get_new_graph()) == 0


@pytest.mark.parametrize("interval", [1, 3])
def test_recorded_input(tmp_path: Path, interval: int) -> None:
    """input_file: metadata with dt, interval, date and what was set; rows at 0, interval, ..."""
    path = tmp_path / "in.h5"
    one = Own([("I", UIDS), ("spike_state", ["s"])], input_file=path, input_interval=interval)
    one.set_metadata({"experiment": "x", "trial": 3})
    expected = injected(one, 8)
    with h5py.File(path, "r") as file:
        told = file["metadata"].attrs
        assert file["metadata"].shape == () and told["trial"] == 3 and told["experiment"] == "x"
        assert told["dt"] == DT and told["sample_interval"] == interval and told["DateCreated"]
        for variable, uids in one.targets:
            assert file[f"{variable}/uids"][()].tolist() == [u.encode() for u in uids]
            assert file[f"{variable}/data"].maxshape[0] is None
            rows = file[f"{variable}/data"][()]
            np.testing.assert_array_equal(rows, expected[variable][::interval])
            assert not rows[1].any() or interval == 2  # zeros where there was none


def test_close_files(tmp_path: Path) -> None:
    """close_files completes the file before the run has ended."""
    path = tmp_path / "in.h5"
    one = StepInputProcessor("I", UIDS, 2.0, 0.0, 1.0, path)
    with LPU(neurons(), DT, one) as lpu:
        lpu.start(100)
        lpu.advance(7)
        one.close_files()
        with h5py.File(path, "r") as file:
            assert file["I/data"].shape == (7, 2) and (file["I/data"][()] == 2).all()


class Clamp(BaseInputProcessor):
    """Pulls V of one neuron to a value, reading it from the LPU at every step."""

    def update_input(self) -> None:
        """Answer the present V."""
        v = dict(zip(self.LPU_obj.uids("V").tolist(), self.LPU_obj.get("V"), strict=True))
        self.variables["I"]["input"] = 2.0 * (-62.0 - np.array([v["a"]]))


def test_input_that_depends_on_the_state() -> None:
    """An input that reads LPU_obj closes a loop: V settles where current and leak balance."""
    v = simulate(neurons(), DT, 5000, Clamp([("I", ["a"])]), [("V", UIDS)])["V"][-1]
    # R I = V - rest with I = 2 (-62 - V) and R = 10
    np.testing.assert_allclose(v, [(20 * -62.0 - 70.0) / 21, -70.0], rtol=1e-9)


# ---- B.8, wrong targets --------------------------------------------------------------------


@pytest.mark.parametrize("builtin", [KeyError, ValueError, InputError])
def test_unknown_uid(builtin: type[Exception]) -> None:
    """An unknown uid is a KeyError, among others, and named."""
    with pytest.raises(builtin, match="no component 'lost'"):
        LPU(neurons(), DT, StepInputProcessor("I", ["a", "lost"], 1.0, 0.0, 1.0))


@pytest.mark.parametrize("builtin", [AssertionError, InputError])
def test_variable_that_is_not_accessed(builtin: type[Exception]) -> None:
    """A variable that the component does not access is an AssertionError, among others."""
    with pytest.raises(builtin, match="'g' cannot be injected into 'a': LeakyIAF accesses I"):
        LPU(neurons(), DT, StepInputProcessor("g", ["a"], 1.0, 0.0, 1.0))


def test_values_add_up_and_stay_private() -> None:
    """Processors add up; what is injected into a synapse does not enter its presynaptic neuron."""
    nodes = {"n": node("LeakyIAF", IAF), "s": node("SynapseAMPA", AMPA, gmax=1.0, st=1e-3)}
    circuit = build(nodes, [("n", "s", {"delay": 0.01})])
    spike = {"spike_state": {"uids": ["s"], "data": {"time": [5e-4], "index": [0]}}}
    ones = [ArrayInputProcessor(spike), StepInputProcessor("I", ["n"], 1.0, 0, 1)]
    pair = [*ones, StepInputProcessor("I", ["n"], 2.0, 0, 1)]
    record = [("V", None), ("g", None), ("spike_state", None)]
    got = simulate(circuit, DT, 40, pair, record)
    assert not got["spike_state"].any()
    assert np.flatnonzero(got["g"][:, 0] > 0.5).tolist() == [6]
    three = simulate(circuit, DT, 40, StepInput("I", ["n"], 3.0), [("V", None)])
    assert_same_bits({"V": got["V"]}, three)


# ---- E.2, E.3, E.4 -------------------------------------------------------------------------


def test_step() -> None:
    """start <= step * dt < stop; a value for all or one each; a wrong number is refused."""
    got = injected(StepInputProcessor("I", UIDS, [5.0, 6.0], 1e-4, 3e-4), 5)["I"]
    assert got.tolist() == [[0, 0], [5, 6], [5, 6], [0, 0], [0, 0]]
    assert injected(StepInputProcessor("I", UIDS, 5, 0, 1), 2)["I"].tolist() == [[5, 5]] * 2
    for builtin in (AssertionError, InputError):
        with pytest.raises(builtin, match="a number or 2 of them"):
            StepInputProcessor("I", UIDS, [1.0, 2.0, 3.0], 0, 1)


def test_ramp() -> None:
    """start_value up to start_time, then linear, then stop_value for ever."""
    got = injected(RampInputProcessor("I", ["a"], 1e-4, 4e-4, 1.0, 5.0), 8)["I"][:, 0]
    np.testing.assert_allclose(got, [1, 1, 2, 3, 4, 5, 5, 5], rtol=1e-12)


def test_bernoulli() -> None:
    """0 or 1 within the span; the seed repeats it; without one a seed is taken and told."""
    uids = ["s", "t"]
    one = BernoulliInputProcessor("spike_state", uids, 0.4, 1e-3, 9e-3, seed=7)
    got = injected(one, 100)["spike_state"]
    assert set(np.unique(got)) == {0, 1} and not got[:10].any() and not got[90:].any()
    assert abs(got[10:90].mean() - 0.4) < 5 * np.sqrt(0.24 / 160)
    native = BernoulliInput("spike_state", uids, 0.4, 1e-3, 9e-3, seed=7)
    np.testing.assert_array_equal(injected(native, 100)["spike_state"], got)
    free = [BernoulliInputProcessor("spike_state", uids, 0.5, 0, 1) for _ in range(2)]
    assert free[0].seed != free[1].seed
    again = BernoulliInputProcessor("spike_state", uids, 0.5, 0, 1, free[0].seed)
    trains = [injected(x, 200)["spike_state"] for x in (*free, again)]
    assert (trains[0] != trains[1]).any()
    np.testing.assert_array_equal(trains[0], trains[2])
    negative = BernoulliInputProcessor("spike_state", uids, 0.5, 0, 1, -3)
    assert injected(negative, 50)["spike_state"].any()


# ---- E.5, arrays ---------------------------------------------------------------------------


def test_array_modes() -> None:
    """Row r at step r; then zero or the last row; a variable that ends first gives zero."""
    rows = np.array([[1.0, 2.0], [3.0, 4.0]])
    long = np.array([[1.0], [0.0], [1.0]])
    inputs = {"I": {"uids": UIDS, "data": rows}, "spike_state": {"uids": ["s"], "data": long}}
    zero = injected(ArrayInputProcessor(inputs), 5)
    assert zero["I"].tolist() == [[1, 2], [3, 4], [0, 0], [0, 0], [0, 0]]
    assert zero["spike_state"][:, 0].tolist() == [1, 0, 1, 0, 0]
    repeat = injected(ArrayInputProcessor(inputs, mode=1), 5)
    assert repeat["I"].tolist() == zero["I"].tolist()
    assert repeat["spike_state"][:, 0].tolist() == [1, 0, 1, 1, 1]
    alone = injected(ArrayInputProcessor({"I": inputs["I"]}, 1), 4)["I"]
    assert alone.tolist() == [[1, 2], [3, 4], [3, 4], [3, 4]]


def test_array_events() -> None:
    """Events in any order enter at their step and add up; none at all is no error."""
    one = ArrayInputProcessor({"spike_state": {"uids": ["s", "t"], "data": EVENTS}}, mode=1)
    assert injected(one, 5)["spike_state"].tolist() == [[0, 0], [0, 2], [0, 0], [1, 0], [0, 0]]
    none = {"time": np.empty(0), "index": np.empty(0, np.int32)}
    empty = ArrayInputProcessor({"spike_state": {"uids": ["s"], "data": none}})
    assert not injected(empty, 5)["spike_state"].any()


def test_add_input_twice() -> None:
    """Adding to a variable again adds columns: rows of any length, events with their own index."""
    one = ArrayInputProcessor()
    one.add_input("I", ["a"], np.array([[1.0], [2.0], [3.0]]))
    one.add_input("I", ["b"], np.array([[9.0]]))
    one.add_input("spike_state", ["s"], {"time": [2e-4], "index": [0]})
    one.add_inputs({"spike_state": {"uids": ["t"], "data": {"time": [1e-4], "index": [0]}}})
    got = injected(one, 4)
    assert got["I"].tolist() == [[1, 9], [2, 0], [3, 0], [0, 0]]
    assert got["spike_state"].tolist() == [[0, 0], [0, 1], [1, 0], [0, 0]]


def test_get_input() -> None:
    """All, by variable, by uid, by both; str gives dict, list an ordered one, set a dict."""
    rows = np.array([[1.0, 2.0], [3.0, 4.0]])
    one = ArrayInputProcessor(
        {"I": {"uids": UIDS, "data": rows}, "spike_state": {"uids": ["s", "t"], "data": EVENTS}}
    )
    assert one.get_input().keys() == {"I", "spike_state"}
    got = one.get_input("I", dt=0.5, start_time=1.0)
    assert got["b"]["time"].tolist() == [1.0, 1.5] and got["b"]["data"].tolist() == [2, 4]
    assert one.get_input("spike_state")["t"]["data"].tolist() == [1e-4, 1e-4]
    assert one.get_input(uids="s")["s"].keys() == {"spike_state"}
    both = one.get_input("I", ["b", "a"])
    assert list(both) == ["b", "a"] and both["a"]["data"].tolist() == [1, 3]
    assert one.get_input("I", {"a"}).keys() == {"a"}
    assert one.get_input("I", "lost") == {"lost": None}


def test_array_to_file(tmp_path: Path) -> None:
    """to_file writes what FileInputProcessor and FileInput take."""
    path = tmp_path / "in.h5"
    rows = np.random.default_rng(0).normal(size=(6, 2))
    inputs = {"I": {"uids": UIDS, "data": rows}, "spike_state": {"uids": ["s"], "data":
              {"time": np.array([2e-4]), "index": np.array([0])}}}  # fmt: skip
    ArrayInputProcessor(inputs).to_file(path)
    with h5py.File(path, "r") as file:
        np.testing.assert_array_equal(file["I/data"][()], rows)
        assert file["I/uids"][()].tolist() == [b"a", b"b"]
        assert file["spike_state/data/index"].dtype == np.int32
    expected = injected(ArrayInputProcessor(inputs), 9)
    for preload in (False, True):
        got = injected(FileInputProcessor(path, preload=preload), 9)
        assert_same_bits(got, expected)


@pytest.mark.parametrize(
    ("inputs", "word"),
    [
        ({"I": {"uids": ["a"]}}, "'data' is missing"),
        ({"I": {"data": np.ones((2, 1))}}, "'uids' is missing"),
        ({"I": {"uids": ["a"], "data": np.ones(3)}}, r"\(steps, 1\)"),
        ({"I": {"uids": ["a"], "data": [["x"]]}}, "data must be numbers"),
        ({"I": {"uids": ["a"], "data": [[1], [1, 2]]}}, "rows of one length"),
        ({"s": {"uids": ["a"], "data": {"time": [0.1]}}}, "'index' is missing"),
        ({"s": {"uids": ["a"], "data": {"time": [0.1], "index": [1]}}}, "index 1, allowed"),
        ({"s": {"uids": ["a"], "data": {"time": [0.1], "index": [0.5]}}}, "whole numbers"),
        ({"s": {"uids": ["a"], "data": {"time": [-1.0], "index": [0]}}}, "not negative"),
    ],
)
def test_wrong_arrays(inputs: Any, word: str) -> None:
    """What cannot be injected is told when it is added."""
    with pytest.raises(InputError, match=word):
        ArrayInputProcessor(inputs)


# ---- E.5, files ----------------------------------------------------------------------------


@pytest.mark.parametrize("file_mode", ["w", "a", "r+"])
def test_building_a_file(tmp_path: Path, file_mode: str) -> None:
    """add_input and append_input write the documented layout, which is then injected."""
    path = tmp_path / "in.h5"
    if file_mode == "r+":
        h5py.File(path, "w").close()
    one = FileInputProcessor(path, file_mode)
    one.add_input("I", ["a"], np.array([[1.0], [2.0]]))
    one.add_input("I", ["b"], np.array([[5.0]]))
    one.append_input("I", np.array([[3.0, 7.0]]))
    one.add_input("spike_state", ["s"], {"time": [1e-4], "index": [0]})
    one.append_input("spike_state", {"time": [3e-4, 3e-4], "index": [0, 0]})
    with h5py.File(path, "r") as file:
        assert file["I/uids"][()].tolist() == [b"a", b"b"]
        assert file["I/data"][()].tolist() == [[1, 5], [2, 0], [3, 7]]
        assert file["spike_state/data/time"][()].tolist() == [1e-4, 3e-4, 3e-4]
        assert file["spike_state/data/index"].dtype == np.int32
    got = injected(one, 5)
    assert got["I"].tolist() == [[1, 5], [2, 0], [3, 7], [0, 0], [0, 0]]
    assert got["spike_state"][:, 0].tolist() == [0, 1, 0, 2, 0]
    later = FileInputProcessor(path, "a")  # what is there stays
    later.add_input("spike_state", ["t"], {"time": [2e-4], "index": [0]})
    assert injected(later, 5)["spike_state"].tolist() == [[0, 0], [1, 0], [0, 1], [2, 0], [0, 0]]
    np.testing.assert_array_equal(later.get_input("I", "b")["b"]["data"], [5, 0, 7])


@pytest.mark.parametrize("preload", [False, True])
def test_file_of_rows_and_events(tmp_path: Path, preload: bool) -> None:
    """mode, preload and an event list without events; data sets at the top are ignored."""
    path = tmp_path / "in.h5"
    with h5py.File(path, "w") as file:
        file["metadata"] = 1
        file["I/uids"], file["I/data"] = np.array([b"b", b"a"]), np.array([[1.0, 2.0]])
        file["spike_state/uids"] = np.array([b"s"])
        file["spike_state/data/time"] = np.empty(0)
        file["spike_state/data/index"] = np.empty(0, np.int32)
    one = FileInputProcessor(path, mode=1, preload=preload)
    assert one.variables["I"]["uids"] == ["b", "a"]
    got = injected(one, 3)
    assert got["I"].tolist() == [[1, 2]] * 3 and not got["spike_state"].any()


def test_wrong_files(tmp_path: Path) -> None:
    """What a file or its mode does not allow is told with the file's name."""
    path, text = tmp_path / "in.h5", tmp_path / "text"
    text.write_text("no HDF5")
    one = FileInputProcessor(path, "w")
    one.add_input("I", ["a"], np.ones((2, 1)))
    calls: list[tuple[Callable[[], Any], str]] = [
        (lambda: FileInputProcessor(tmp_path / "no.h5"), "no such file"),
        (lambda: FileInputProcessor(tmp_path / "no.h5", "r+"), "no such file"),
        (lambda: FileInputProcessor(text), "cannot be read as HDF5"),
        (lambda: FileInputProcessor(tmp_path / "x" / "no.h5", "w"), "cannot be written"),
        (lambda: FileInputProcessor(path, "x"), "file_mode must be r, w, r. or a"),
        (lambda: FileInputProcessor(path).add_input("V", ["a"], np.ones((1, 1))), "mode is 'r'"),
        (lambda: FileInputProcessor(path).append_input("I", np.ones((1, 1))), "mode is 'r'"),
        (lambda: one.append_input("V", np.ones((1, 1))), "no 'V' to append to"),
        (lambda: one.append_input("I", np.ones((1, 2))), r"\(steps, 1\)"),
        (lambda: one.append_input("I", EVENTS), "index 1, allowed"),
        (lambda: one.append_input("I", {"time": [0.0], "index": [0]}), "the other form"),
        (lambda: one.add_input("I", ["b"], {"time": [0.0], "index": [0]}), "the other form"),
    ]
    for call, word in calls:
        with pytest.raises(InputError, match=word):
            call()
    np.testing.assert_array_equal(one.get_input()["I"], np.ones((2, 1)))


# ---- E.5, presynaptic ----------------------------------------------------------------------


def test_presynaptic() -> None:
    """Each uid gets a synapse of its own name in the side graph; merged, it drives the neuron."""
    alpha = {"class": "AlphaSynapse", **ALPHA, "gmax": 0.3, "reverse": 0.0}
    components = [alpha, {**alpha, "gmax": 0.6}]
    data = {"time": np.array([1e-3, 2e-3]), "index": np.array([0, 1])}
    inputs = {"spike_state": {"uids": UIDS, "data": data, "components": components}}
    one, again = PresynapticInputProcessor(inputs), PresynapticInputProcessor(inputs)
    side = one.get_new_graph()
    names = [u for u in side if str(u).startswith("synaptic_input_to_")]
    assert [n.rsplit("_", 1)[0] for n in names] == [f"synaptic_input_to_{u}" for u in UIDS]
    assert all(len(n.rsplit("_", 1)[1]) == 8 and int(n.rsplit("_", 1)[1], 16) >= 0 for n in names)
    assert names == [u for u in again.get_new_graph() if str(u).startswith("synaptic")]
    assert list(side.edges()) == list(zip(names, UIDS, strict=True))
    assert one.targets == [("spike_state", tuple(names))]
    circuit = graph({u: node("LeakyIAF", IAF) for u in UIDS})
    merged = nx.compose(circuit, side)
    assert merged.nodes["a"]["class"] == "LeakyIAF"
    got = simulate(merged, DT, 200, one, [("V", UIDS), ("g", names)])
    by_hand = graph(
        {**dict(circuit.nodes(data=True)), **dict(zip(names, components, strict=True))},
        list(zip(names, UIDS, strict=True)),
    )
    events = ArrayInput({"spike_state": (names, (data["time"], data["index"]))})
    assert_same_bits(got, simulate(by_hand, DT, 200, events, [("V", UIDS), ("g", names)]))


def test_presynaptic_twice() -> None:
    """The same synapse asked for twice is two; one dict serves all uids; wrong numbers are told."""
    alpha = {"class": "AlphaSynapse", **ALPHA}
    one = PresynapticInputProcessor()
    for _ in range(2):
        one.add_input("spike_state", UIDS, {"time": [0.0], "index": [0]}, alpha)
    assert len(set(one.targets[0][1])) == 4 == len(one.variables["spike_state"]["uids"])
    with pytest.raises(InputError, match="one dict of attributes, or 2 of them"):
        one.add_input("spike_state", UIDS, {"time": [0.0], "index": [0]}, [alpha])
    with pytest.raises(InputError, match="'components' is missing"):
        PresynapticInputProcessor({"spike_state": {"uids": UIDS, "data": EVENTS}})


# ---- all -----------------------------------------------------------------------------------


class Doubled(StepInputProcessor):
    """A ready-made processor whose values a user changes."""

    def update_input(self) -> None:
        """Double what the step gives."""
        super().update_input()
        self.variables["I"]["input"] = 2 * self.variables["I"]["input"]


def test_subclass_of_a_ready_made_one() -> None:
    """A subclass that overrides update_input is asked at every step."""
    plain = StepInputProcessor("I", UIDS, 5.0, 1e-4, 3e-4)
    assert not plain.per_step and isinstance(plain, BaseInputProcessor)
    got = injected(Doubled("I", UIDS, 5.0, 1e-4, 3e-4), 4)["I"]
    assert got.tolist() == [[0, 0], [10, 10], [10, 10], [0, 0]]


@settings(max_examples=30, deadline=None)
@given(st.lists(st.sampled_from(["a", b"b", 3]), min_size=1, max_size=3, unique=True))
def test_uids_of_any_kind(uids: list[Any]) -> None:
    """Uids may be text, bytes or numbers."""
    one = StepInputProcessor("I", uids, 1.0, 0.0, 1.0)
    names = {"a": "a", b"b": "b", 3: "3"}
    assert one.targets == [("I", tuple(names[u] for u in uids))]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        circuit = build({u: node("LeakyIAF", IAF) for u in ("a", "b", "3")})
        assert simulate(circuit, DT, 3, [one, NoiseInput("I", uids)])["V"].any()
