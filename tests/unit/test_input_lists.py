"""Events of inputs that kernels take from lists: no row of a ring holds them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support import build, node

import neurodriver as nd
from neurodriver.inputs.base import Chunk, EventChunk

DT = 1e-4
COUNT, STEPS = 83, 700


class Tally(nd.NDComponent):
    """Adds up the weights of the spikes that have arrived."""

    accesses = (nd.Weighted("spike_state"),)
    updates = {"total": "1"}
    states = {"total": nd.State("1", 0.0)}
    update = "total = total + spike_state;"


class Tally2(Tally):
    """The same, in another group."""


class Changing(nd.Input):
    """Gives the rows of a table, in turn as rows and as events, 60 steps at a time."""

    def __init__(self, uids: list[str], table: np.ndarray, kinds: str) -> None:
        super().__init__([("spike_state", uids)])
        self.rows, self.kinds = table, kinds

    def row_bytes(self) -> int:
        return (32 << 20) // 60

    def chunk(self, number: int, first: int, steps: int) -> Chunk | EventChunk:
        some = np.zeros((steps, self.rows.shape[1]), self.dtype)
        known = self.rows[first : first + steps]
        some[: len(known)] = known
        if self.kinds[first // 60 % len(self.kinds)] == "r":
            return Chunk(some, np.arange(steps, dtype=np.int32))
        step, column = np.nonzero(some)
        begin = np.searchsorted(step, np.arange(steps + 1)).astype(np.int64)
        return EventChunk(some.shape[1], begin, column.astype(np.int32), some[step, column])


def circuit() -> nd.Circuit:
    """Return components of two models, which share the slots of a variable."""
    groups: Any = [(Tally, COUNT, {}, [f"a{i}" for i in range(COUNT)]),
                   (Tally2, COUNT, {}, [f"b{i}" for i in range(COUNT)])]  # fmt: skip
    return nd.Circuit.from_arrays(groups)


def inputs(kinds: tuple[str, ...]) -> tuple[list[nd.Input], np.ndarray]:
    """Return an input for each of some kinds, and what all components get at each step."""
    rng = np.random.default_rng(1)
    names = [f"{c}{i}" for c in "ab" for i in range(COUNT)]
    given, entering = [], np.zeros((STEPS, 2 * COUNT))
    for kind in kinds:
        some = rng.choice(2 * COUNT, 2 * COUNT - 11, replace=False)  # in any order
        table = rng.poisson(0.1, (STEPS, len(some))) * rng.choice([1, 1, 3], (STEPS, len(some)))
        table[200:230] = 0
        entering[:, some] += table
        given.append(Changing([names[i] for i in some], table.astype(float), kind))
    return given, entering


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("kinds", [("e",), ("r",), ("er", "e"), ("eerr", "re", "e")])
def test_events_and_rows_in_any_turn(kinds: tuple[str, ...], threads: int) -> None:
    """Sums against NumPy: where an input goes over from one to the other, nothing enters twice."""
    given, entering = inputs(kinds)
    recorder = nd.MemoryRecorder([("total", None)])
    with nd.LPU(circuit(), DT, given, [recorder], threads=threads) as lpu:
        lpu.run(steps=STEPS)
        program = lpu.simulation.program
        assert program.window > 1 and program.listed == (True,) * len(kinds)
    total = np.zeros((STEPS, 2 * COUNT))
    total[1:] = np.cumsum(entering, axis=0)[:-1]
    np.testing.assert_array_equal(recorder.get("total"), total)


def test_copies_have_lists_of_their_own() -> None:
    """Copies of a batch with inputs of their own, and one that all share."""
    shared, entering = inputs(("e",))
    each = [inputs(kinds) for kinds in (("er", "e"), ("e", "re"))]
    recorder = nd.MemoryRecorder([("total", None)])
    batch = nd.Batch(2, inputs=[given for given, _ in each])
    with nd.LPU(circuit(), DT, shared, [recorder], batch=batch) as lpu:
        lpu.run(steps=STEPS)
    total = np.zeros((STEPS, 2 * COUNT))
    total[1:] = np.cumsum(entering + each[0][1], axis=0)[:-1]
    found = recorder.get("total").reshape(STEPS, 2, -1)
    np.testing.assert_array_equal(found[:, 0], total)
    np.testing.assert_array_equal(found[:, 1], total)


@pytest.mark.parametrize(("delays", "listed"), [((3, 1), True), ((3, 2), False)])
def test_who_reads_rows(delays: tuple[int, int], listed: bool) -> None:
    """Slots behind a port: where all connections have a delay, their spikes enter by rows."""
    nodes = {f"n{i}": node("Tally", {}) for i in range(2)}
    nodes["p"] = {"class": "Port", "port_type": "spike", "port_io": "in", "selector": "/p"}
    edges = [("p", f"n{i}", {"delay": steps * DT}) for i, steps in enumerate(delays)]
    made = build(nodes, edges, models=[Tally])
    spikes = (np.arange(40) % 7 == 2).astype(float)[:, None]
    recorder = nd.MemoryRecorder([("total", ["n0", "n1"])])
    with nd.LPU(made, DT, [Changing(["p"], spikes, "e")], [recorder]) as lpu:
        lpu.run(steps=40)
        assert lpu.simulation.program.listed == (listed,)
    sums = np.concatenate([[0.0], np.cumsum(spikes)])
    expected = [np.pad(sums, (steps - 1, 0))[:40] for steps in delays]
    np.testing.assert_array_equal(recorder.get("total"), np.stack(expected, axis=1))
