"""The input classes alone: which value enters at which step."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from circuit_files import GOOD
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from support import IAF, alone, graph, node, simulate

import neurodriver as nd
from neurodriver import (
    LPU,
    ArrayInput,
    Circuit,
    FileInput,
    HDF5Recorder,
    Input,
    RampInput,
    StepInput,
    UserInput,
)
from neurodriver.errors import CircuitWarning, InputError

DT = 1e-4


def values(one: Input, steps: int, cuts: tuple[int, ...] = (), dt: float = DT) -> NDArray[Any]:
    """Return what the first target gets at each step, (steps, n), asked for in pieces."""
    one.open(dt, np.dtype(np.float64))
    parts = []
    edges = sorted({0, *[c for c in cuts if 0 < c < steps], steps})
    for first, last in pairwise(edges):
        chunk = one.chunk(0, first, last - first)
        assert chunk.row_of_step.shape == (last - first,)
        assert chunk.row_of_step.dtype == np.int32
        assert chunk.table.dtype == np.float64 and chunk.table.flags.c_contiguous
        padded = np.vstack([chunk.table, np.zeros((1, chunk.table.shape[1]))])
        parts.append(padded[chunk.row_of_step])
    return np.vstack(parts)


def test_step_boundaries() -> None:
    """Start 0.1 ms, stop 0.3 ms at dt 0.1 ms: steps 1 and 2, as k * dt compares in float64."""
    got = values(StepInput("I", ["a", "b"], [5.0, 7.0], 1e-4, 3e-4), 6)
    assert got.tolist() == [[0, 0], [5, 7], [5, 7], [0, 0], [0, 0], [0, 0]]
    assert values(StepInput("I", ["a"], 2.0), 3)[:, 0].tolist() == [2, 2, 2]
    assert values(StepInput("I", "a", 2.0, stop=0.0), 3)[:, 0].tolist() == [0, 0, 0]
    for k in range(1, 2000):  # an exact multiple is on its own step
        assert values(StepInput("I", ["a"], 1.0, k * DT), k + 1, (k - 1,))[k - 1 :, 0].tolist() == [
            0.0,
            1.0,
        ]


def test_ramp_values() -> None:
    """The start value before, a line between, exactly the stop value after."""
    got = values(RampInput("I", ["a", "b"], 2e-4, 4e-4, 0.1, [0.3, 4.1]), 9)
    np.testing.assert_allclose(got[:, 0], [0.1, 0.1, 0.1, 0.15, 0.2, 0.25, 0.3, 0.3, 0.3])
    assert (got[:3] == 0.1).all()
    assert (got[7:] == [0.3, 4.1]).all()
    down = values(RampInput("I", ["a"], 0.0, 2e-4, 3.0, -3.0), 4)
    np.testing.assert_allclose(down[:, 0], [3.0, 0.0, -3.0, -3.0])
    said = {"start_value": 0.1, "stop_value": [0.3, 4.1]}
    by_stop = RampInput("I", ["a", "b"], start=2e-4, stop=6e-4, **said)
    np.testing.assert_allclose(values(by_stop, 9), got, rtol=1e-12)
    with pytest.warns(CircuitWarning, match=r"start_time is called start now; 0.0002 s is taken"):
        old = RampInput("I", ["a", "b"], start_time=2e-4, duration=4e-4, **said)
    np.testing.assert_array_equal(values(old, 9), got)


@pytest.mark.parametrize(
    "make",
    [
        lambda **span: StepInput("I", ["a"], 2.0, **span),
        lambda **span: nd.NoiseInput("I", ["a"], 5.0, 1.0, **span),
        lambda **span: nd.PoissonInput("I", ["a"], 4e3, **span),
        lambda **span: nd.BernoulliInput("I", ["a"], 0.7, **span),
    ],
)
def test_a_duration_instead_of_a_stop(make: Callable[..., Input]) -> None:
    """Both name the same steps; both together, or no seconds, are refused."""
    got = values(make(start=2e-4, duration=2**-10), 40)
    np.testing.assert_array_equal(got, values(make(start=2e-4, stop=2e-4 + 2**-10), 40))
    assert got[2:12].any() and not got[:2].any() and not got[12:].any()
    assert not values(make(duration=0.0), 5).any()
    with pytest.raises(InputError, match=r"either stop or duration, got 0\.1 and 0\.2"):
        make(stop=0.1, duration=0.2)
    for wrong in (-1.0, float("nan"), float("inf"), "x", [1.0, 2.0]):
        with pytest.raises(InputError, match="duration must be seconds"):
            make(duration=wrong)


@pytest.mark.parametrize("kind", [float, np.float32, int, bool])
def test_array_modes(kind: type) -> None:
    """Row r enters at step r; after the last one nothing, or the last one again."""
    data = np.array([[1, 0], [0, 1], [1, 1]]).astype(kind)
    rows = [[1, 0], [0, 1], [1, 1]]
    assert values(ArrayInput({"I": (["a", "b"], data)}), 5).tolist() == [*rows, [0, 0], [0, 0]]
    repeat = ArrayInput({"I": (["a", "b"], data)}, mode=1)
    assert values(repeat, 5).tolist() == [*rows, rows[2], rows[2]]
    assert values(repeat, 5, (1, 2, 3, 4)).tolist() == [*rows, rows[2], rows[2]]
    for mode in (0, 1):  # an array without rows is nothing at all
        empty = ArrayInput({"I": (["a"], np.empty((0, 1)))}, mode)
        assert values(empty, 3, (1,)).tolist() == [[0], [0], [0]]


def test_events() -> None:
    """Events enter at their step, in any order; those of one column in one step add up."""
    time = np.array([4e-4, 1e-4, 1e-4, 1.5e-4, 1e-4])
    index = np.array([0, 1, 0, 1, 1])
    got = values(ArrayInput({"spike_state": (["a", "b"], (time, index))}), 6)
    assert got.tolist() == [[0, 0], [1, 3], [0, 0], [0, 0], [1, 0], [0, 0]]
    empty = ArrayInput({"spike_state": (["a", "b"], ([], []))}, mode=1)
    assert values(empty, 3, (1,)).tolist() == [[0, 0]] * 3
    assert values(ArrayInput({"x": (["a"], ([1e300], [0]))}), 3).tolist() == [[0]] * 3


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**40), st.floats(1e-7, 1.0), st.floats(0.01, 0.99))
def test_event_time_to_step(step: int, dt: float, part: float) -> None:
    """An event at k * dt belongs to step k, one between two steps to the earlier one."""
    for time in (step * dt, step * dt + part * dt):
        one = ArrayInput({"s": (["a"], ([time], [0]))})
        one.open(dt, np.dtype(np.float64))
        first = max(step - 2, 0)
        row = one.chunk(0, first, 5).row_of_step.tolist()
        expected = step - first
        assert [i for i, r in enumerate(row) if r >= 0] == [expected]


TIMES = st.lists(st.tuples(st.integers(0, 39), st.integers(0, 2)), max_size=30)


def dense(mode: int) -> Callable[[], Input]:
    """Return a maker of an array input of 17 rows."""
    data = np.random.default_rng(3).normal(size=(17, 3))
    return lambda: ArrayInput({"I": (["a", "b", "c"], data)}, mode)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(1, 39), max_size=12), TIMES)
def test_pieces_do_not_matter(cuts: list[int], events: list[tuple[int, int]]) -> None:
    """However a run is cut into chunks, the values are those of one chunk."""
    time = np.array([k * DT for k, _ in events])
    index = np.array([i for _, i in events], dtype=int)
    uids = ["a", "b", "c"]
    makers: list[Callable[[], Input]] = [
        dense(0),
        dense(1),
        lambda: ArrayInput({"s": (uids, (time, index))}),
        lambda: StepInput("I", uids, [1.0, 2.0, 3.0], 7e-4, 31e-4),
        lambda: RampInput("I", uids, 5e-4, 2e-3, 0.0, [1.0, 2.0, 3.0]),
    ]
    for make in makers:
        whole = values(make(), 40)
        np.testing.assert_array_equal(values(make(), 40, tuple(cuts)), whole)
    assert values(makers[2](), 40).sum() == len(events)


def test_file(tmp_path: Path) -> None:
    """Rows, events and uids of a file; data sets at the top are ignored."""
    path = tmp_path / "in.h5"
    rows = np.arange(6.0).reshape(3, 2)
    with h5py.File(path, "w") as file:
        file["metadata"] = 0
        file["I/uids"] = np.array([b"a", "é".encode()])
        file["I/data"] = rows
        file["spike_state/uids"] = np.array([b"a"])
        file["spike_state/data/time"] = [2e-4, 1e-4]
        file["spike_state/data/index"] = np.zeros(2, dtype=np.int32)
    one = FileInput(path, mode=1)
    assert one.targets == [("I", ("a", "é")), ("spike_state", ("a",))]
    np.testing.assert_array_equal(values(one, 4), [*rows, rows[2]])
    assert one.chunk(1, 0, 4).row_of_step.tolist() == [-1, 0, 1, -1]
    one.close()
    np.testing.assert_array_equal(values(one, 4), [*rows, rows[2]])  # an LPU opens it again
    one.close()


def test_metadata_may_be_a_group(tmp_path: Path) -> None:
    """Its attributes tell the time step, as those of a data set do."""
    with h5py.File(tmp_path / "in.h5", "w") as file:
        file.create_group("metadata").attrs["dt"] = 1e-3
        file["I/uids"], file["I/data"] = [b"n"], np.ones((3, 1))
    one = FileInput(tmp_path / "in.h5")
    assert one.targets == [("I", ("n",))]
    with pytest.warns(CircuitWarning, match=r"taken every 0\.001 s"):
        simulate(alone("LeakyIAF", IAF), DT, 5, one)


def test_replay(tmp_path: Path) -> None:
    """Recorded spikes injected again drive a synapse as the neuron did, in the same steps."""
    circuit = Circuit.from_graph(graph({"s": node("LeakyIAF", IAF)}))
    path = tmp_path / "spikes.h5"
    recorder = HDF5Recorder(path, [("spike_state", None)])
    with LPU(circuit, DT, StepInput("I", ["s"], 100.0), [recorder]) as lpu:
        lpu.run(steps=500)
    synapse = alone("SynapseAMPA", {"gmax": 1.0, "st": 1e-3})
    replay = FileInput(path)
    with h5py.File(path) as file:
        steps = np.rint(file["spike_state/data/time"][()] / DT).astype(int)
    assert len(steps) > 5
    replay.targets = [("spike_state", ("n",))]
    got = simulate(synapse, DT, 500, replay, [("g", None)])["g"][:, 0]
    assert np.flatnonzero(got > 0.5).tolist() == (steps + 1).tolist()


def test_replay_of_a_killed_run(tmp_path: Path) -> None:
    """Of a recording that was never closed, only the valid part is injected."""
    path = tmp_path / "killed.h5"
    with h5py.File(path, "w") as file:
        file["I/uids"] = file["s/uids"] = np.array([b"a"])
        file["I/data"] = np.full((9, 1), 7.0)
        file["I/valid_rows"] = 2
        file["s/data/time"] = [1e-4, 2e-4, 0.0, 0.0]
        file["s/data/index"] = [0, 0, 0, 0]
        file["s/valid_events"] = 2
    one = FileInput(path)
    assert values(one, 5)[:, 0].tolist() == [7, 7, 0, 0, 0]
    assert one.chunk(1, 0, 5).row_of_step.tolist() == [-1, 0, 1, -1, -1]


class Counting(UserInput):
    """Injects the number of the call into every component."""

    calls = 0
    shape: Any = None

    def update_input(self) -> None:
        """Fill in the number of the call."""
        self.calls += 1
        size = len(self.variables["I"]["uids"]) if self.shape is None else self.shape
        self.variables["I"]["input"] = np.full(size, float(self.calls))

    def is_input_available(self) -> bool:
        """Tell that values come in the first two steps only."""
        return self.calls < 2


def test_user_input() -> None:
    """A user's input is asked once a step; without values it gives zero, or the last ones."""
    cuts = (1, 2, 3)
    assert values(Counting([("I", ["a", "b"])]), 4, cuts).tolist() == [
        [1, 1],
        [2, 2],
        [0, 0],
        [0, 0],
    ]
    assert values(Counting([("I", ["a"])], mode=1), 4, cuts)[:, 0].tolist() == [1, 2, 2, 2]
    circuit = Circuit.from_graph(graph(GOOD))
    for shape in (3, (2, 2), 0):
        one = Counting([("I", ["a", "b"])])
        one.shape = shape
        with LPU(circuit, DT, one) as lpu:
            with pytest.raises(InputError, match="Counting, 'I' at step 0: 2 finite numbers"):
                lpu.run(steps=3)


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: StepInput("I", ["a"], [1.0, 2.0]), r"a number or 1 of them, got shape \(2,\)"),
        (lambda: StepInput("I", ["a"], float("nan")), "finite, got nan"),
        (lambda: StepInput("I", ["a"], 1.0, float("nan")), "start and stop must be seconds"),
        (lambda: StepInput("I", ["a"], 1.0, start=0.2, stop=0.1), "stop must not be before start"),
        (lambda: RampInput("I", ["a"], 0.0, 0.0, 1.0, 2.0), "duration must be positive"),
        (lambda: RampInput("I", ["a"], float("inf"), 1.0, 1.0, 2.0), "start must be finite"),
        (lambda: RampInput("I", ["a"], 0.0, 1.0, 1.0), "stop_value is missing"),
        (lambda: RampInput("I", ["a"], 0.5, None, 1.0, 2.0), "either stop or duration"),
        (lambda: RampInput("I", ["a"], 0.5, 1.0, 1.0, 2.0, stop=2.0), "either stop or duration"),
        (lambda: RampInput("I", ["a"], 0.5, None, 1.0, 2.0, stop=0.5), "stop must be after 0.5, s"),
        (lambda: RampInput("I", ["a"], 0.5, 1.0, 1.0, 2.0, start_time=0.5), "give start alone"),
        (lambda: RampInput("I", ["a"], 0.0, 1.0, [1.0, 2.0], 2.0), "a number or 1 of them"),
        (lambda: ArrayInput({"I": (["a"], np.ones(3))}), r"\(steps, 1\)"),
        (lambda: ArrayInput({"I": (["a"], [["x"]])}), "data must be numbers"),
        (lambda: ArrayInput({"I": (["a"], [[1], [1, 2]])}), "rows of one length"),
        (lambda: ArrayInput({"I": (["a"], np.ones((3, 1)))}, 2), "mode must be 0"),
        (lambda: ArrayInput({"s": (["a"], ([0.1], [0.5]))}), "index must be whole numbers"),
        (lambda: ArrayInput({"s": (["a"], ([0.1], [1]))}), "index 1, allowed are 0 to 0"),
        (lambda: ArrayInput({"s": (["a"], (["x"], [0]))}), "time must be numbers"),
        (lambda: ArrayInput({"s": (["a"], ([-0.1], [0]))}), "not negative"),
        (lambda: Counting([("I", ["a"])], mode=3), "mode must be 0"),
        (lambda: FileInput("no/such/file.h5"), "no such file"),
        (lambda: ArrayInput("I", ["a"], np.ones((3, 1))), r"mapping is needed.*got 'I'"),
        (lambda: ArrayInput({"I": np.ones((3, 1))}), "'I' has no pair of uids and data, but nda"),
        (lambda: ArrayInput({"I": (["a", "b", "c"], np.ones((3, 9)))}), "axes are exchanged"),
        (lambda: ArrayInput({"s": (["a"], [[0.1, 0.2], [0, 0]])}), "events are a tuple"),
        (lambda: ArrayInput({"I": (["a"], ([0.1], [0.2]))}), "rows as a list or an array"),
    ],
)
def test_wrong_arguments(make: Callable[[], Input], word: str) -> None:
    """What an input cannot inject is told when it is made."""
    with pytest.raises(InputError, match=word):
        make()


def test_infinite_in_float32() -> None:
    """A number that single precision cannot hold is told with its place, not injected."""
    one = ArrayInput({"I": (["n"], np.array([[1.0], [1e300]]))})
    with pytest.raises(InputError, match="row 1, column 0"):
        simulate(alone("LeakyIAF", IAF), DT, 5, one, dtype="float32")
