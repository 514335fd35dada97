"""Inputs that give events: the run is that of the same values given as rows."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from support import AMPA, DT, build, model, node, simulate, weighted_network

from neurodriver import ArrayInput, Circuit, Connections, Input, PoissonInput, RecordedInput
from neurodriver.errors import CircuitWarning, InputError
from neurodriver.inputs.base import Chunk, EventChunk
from neurodriver.plan.spikes.weights import MOST_SPIKES

STEPS = 24


class Given(Input):
    """Injects rows of values: as rows, as events, or each in turn.

    Parameters
    ----------
    form : {"rows", "events", "turns"}
    """

    def __init__(self, variable: str, uids: Sequence[str], rows: NDArray[Any], form: str) -> None:
        super().__init__([(variable, uids)])
        self.rows, self.form = rows, form
        self.calls = 0

    def chunk(self, number: int, first: int, steps: int) -> Chunk | EventChunk:
        rows = np.zeros((steps, self.rows.shape[1]), self.dtype)
        some = self.rows[first : first + steps]
        rows[: len(some)] = some
        self.calls += 1
        if self.form == "rows" or (self.form == "turns" and self.calls % 2):
            return Chunk(rows, np.arange(steps, dtype=np.int32))
        step, column = np.nonzero(rows)
        begin = np.searchsorted(step, np.arange(steps + 1))
        return EventChunk(rows.shape[1], begin, column.astype(np.int32), rows[step, column])

    def row_bytes(self) -> int:
        return 1 << 22  # some steps are staged at once


def sparse(seed: int, count: int, most: int = 3) -> NDArray[np.float64]:
    """Return rows that are mostly zero, with a step of none and a step of all."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(1, most + 1, (STEPS, count)) * (rng.random((STEPS, count)) < 0.1)
    rows[5], rows[11] = 0, 1
    return rows.astype(np.float64)


def sources() -> Circuit:
    """Return 70 sources that are connected to 50 neurons, which connect among themselves."""
    rng = np.random.default_rng(3)
    lif = {"resting_potential": -60.0, "threshold": -50.0, "reset_potential": -60.0,
           "time_constant": 20.0, "refractory_period": 0.5}  # fmt: skip
    groups: Any = [
        (model("LeakyIAFDelta"), 50, lif, [f"n{i}" for i in range(50)]),
        (model("SpikeSource"), 70, {}, [f"s{i}" for i in range(70)]),
    ]
    target = np.repeat(np.arange(50, dtype=np.int32), 9)
    source = rng.integers(0, 120, len(target)).astype(np.int32)
    delay, weight = rng.integers(1, 6, len(target)) * DT, rng.integers(1, 9, len(target)) * 0.5
    links = Connections("spike_state", "spike_state", source, target, delay, {"weight": weight})
    return Circuit.from_arrays(groups, [links])


@pytest.mark.parametrize("form", ["events", "turns"])
@pytest.mark.parametrize("threads", [1, 3])
def test_spikes_of_sources_and_neurons(form: str, threads: int) -> None:
    """Several inputs whose slots begin anywhere, at places in any order, some of them shared."""
    order = np.random.default_rng(8).permutation(70)
    into = [
        ("spike_state", [f"s{i}" for i in order[:33]], 1),
        ("spike_state", [f"s{i}" for i in order[20:]], 2),
        ("spike_state", [f"n{i}" for i in range(7, 50)], 3),
        ("I", [f"n{i}" for i in range(3, 40)], 4),
    ]
    found = [
        simulate(
            sources(), DT, STEPS + 9,
            [Given(variable, uids, sparse(seed, len(uids)), kind) for variable, uids, seed in into],
            [("V", None), ("spike_state", None)], threads=threads,
        )
        for kind in ("rows", form)
    ]  # fmt: skip
    assert found[0]["spike_state"].any() and np.ptp(found[0]["V"]) > 1
    for variable, values in found[0].items():
        np.testing.assert_array_equal(found[1][variable], values)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([1, 2]), st.integers(1, 40))
def test_spikes_of_synapses(seed: int, threads: int, count: int) -> None:
    """Events into synapses without weights, of which a row is not a multiple of a cache line."""
    made = build({f"a{i}": node("SynapseAMPA", AMPA, gmax=1.0, st=1e-3) for i in range(count)})
    rows = sparse(seed, count)
    uids = [f"a{i}" for i in np.random.default_rng(seed).permutation(count)]
    g = [
        simulate(made, DT, STEPS + 3, Given("spike_state", uids, rows, form), [("g", None)],
                 threads=threads)["g"]
        for form in ("rows", "turns")
    ]  # fmt: skip
    assert g[0].any()
    np.testing.assert_array_equal(g[0], g[1])


def test_random_events_by_chunks_and_threads() -> None:
    """Random spikes drive a network to the same bits for any threads, recorded or injected."""
    made = weighted_network(300, 1)

    def result(threads: int, *more: Input) -> dict[str, NDArray[Any]]:
        train = PoissonInput("spike_state", made.uids, 300.0, 5 * DT, seed=4)
        record = [("V", None), ("spike_state", None)]
        return simulate(made, DT, 700, [train, *more], record, threads=threads)

    whole = result(1)
    assert whole["spike_state"].sum() > 50
    for threads in (2, 3):
        again = result(threads)
        for variable, values in whole.items():
            np.testing.assert_array_equal(again[variable], values)


def test_recorded_events(tmp_path: Any) -> None:
    """The rows of a recording are the events that entered."""
    uids = [f"s{i}" for i in range(70)]
    train = PoissonInput("spike_state", uids, 500.0, seed=4)
    path = tmp_path / "train.h5"
    record = [("spike_state", uids)]
    plain = simulate(sources(), DT, 600, train, record)["spike_state"]
    simulate(sources(), DT, 600, RecordedInput(train, path), record)
    import h5py

    with h5py.File(path) as file:
        np.testing.assert_array_equal(file["spike_state/data"][:-1] > 0, plain[1:] > 0)
    assert plain.any()


def events(begin: Any, column: Any, value: Any, count: int = 2) -> Any:
    """Return an input that gives one chunk of events, whatever is asked for."""

    class Wrong(Input):
        per_step = True

        def chunk(self, number: int, first: int, steps: int) -> EventChunk:
            return EventChunk(count, np.asarray(begin), np.asarray(column), np.asarray(value))

    return Wrong([("spike_state", ["s0", "s1"])])


NONE = np.empty(0, np.int32)


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        (events(np.array([0.0, 0.0]), NONE, NONE.astype(float)), "begin as int64"),
        (events(np.zeros(3, np.int64), NONE, NONE.astype(float)), "2 places in begin"),
        (events(np.array([0, 1]), NONE, NONE.astype(float)), "within 0 to 0"),
        (events(np.array([0, 1]), np.array([2], np.int32), np.ones(1)), "0 to 1 of 2"),
        (events(np.array([0, 1]), np.array([-1], np.int32), np.ones(1)), "0 to 1 of 2"),
        (events(np.array([0, 2]), np.array([1, 0], np.int32), np.ones(2)), "must ascend"),
        (events(np.array([0, 2]), np.array([1, 1], np.int32), np.ones(2)), "must ascend"),
        (events(np.array([0, 1]), np.array([1], np.int32), np.ones(1, "f4")), "as float64"),
        (events(np.array([0, 1]), np.array([1], np.int32), np.array([0.5])),
         "whole numbers; got 0.5 for 's1' in step 0"),
        (events(np.array([0, 1]), np.array([1], np.int32), np.array([np.nan])),
         "whole numbers; got nan for 's1' in step 0"),
    ],
)  # fmt: skip
def test_wrong_events(wrong: Input, word: str) -> None:
    """What compiled code could not read, and parts of spikes, are told."""
    with pytest.raises(InputError, match=word):
        simulate(sources(), DT, 3, wrong, [("V", None)])


def test_many_spikes_in_a_step() -> None:
    """More events at once than are counted give one warning, with uid and step; so do sums."""
    many = ArrayInput({"spike_state": (["s0", "s1"], (np.full(1500, 4 * DT), [1] * 1500))})
    with pytest.warns(CircuitWarning, match="1,500 spikes for 's1' in step 4") as said:
        simulate(sources(), DT, 9, many, [("V", None)])
    assert len(said) == 1
    half = [
        ArrayInput({"spike_state": (["s1"], (np.full(MOST_SPIKES - 1, 4 * DT), [0] * 1022))})
        for _ in range(2)
    ]
    with pytest.warns(CircuitWarning, match="together 2,044 spikes for 's1' in step 4") as said:
        simulate(sources(), DT, 9, half, [("V", None)])
    assert len(said) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        simulate(sources(), DT, 9, half[0], [("V", None)])
