"""What enters a device: after each step the rows hold what an input says, with few copies."""

from __future__ import annotations

import ctypes as ct
from types import SimpleNamespace
from typing import Any

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from neurodriver.backends.cuda.feeds import NOTHING, InputStage
from neurodriver.backends.tables import InputTable
from neurodriver.model.kinds import VariableKind
from neurodriver.plan.layout import Ring

COUNT = 3


class Memory:
    """A piece of device memory."""

    def __init__(self, address: int, size: int) -> None:
        self.address, self.data = address, bytearray(size)

    def __int__(self) -> int:
        return self.address

    def free(self) -> None:
        self.data = bytearray()


class Machine:
    """Owner of an `InputStage`, and the device that it speaks to."""

    def __init__(self, variable: str, depth: int) -> None:
        event = variable == "spike_state"
        ring = Ring(variable, depth, VariableKind.EVENT if event else VariableKind.GRADED)
        ring.add("inputs", COUNT)
        layout = SimpleNamespace(rings={variable: ring})
        self.program = SimpleNamespace(layout=layout, deliveries=(), units=())
        self.dtype = np.dtype(np.float64)
        self.device = self
        self.stream = SimpleNamespace(synchronize=lambda: None)
        self.twins = SimpleNamespace(of=lambda address: 0)
        self.pieces: list[Memory] = []
        self.uploaded = 0

    def allocate(self, size: int) -> Memory:
        self.pieces.append(Memory((len(self.pieces) + 1) << 32, size))
        return self.pieces[-1]

    def piece(self, address: int) -> Memory:
        return self.pieces[(address >> 32) - 1]

    def send(self, address: int, source: int, size: int) -> None:
        self.piece(address).data[:size] = ct.string_at(source, size)
        self.uploaded += size

    def ring_address(self, variable: str) -> int:
        return 1

    def active_address(self, variable: str) -> int:
        return 2

    def read(self, address: int, kind: Any) -> Any:
        data = self.piece(address).data
        return np.frombuffer(data[: len(data) // 8 * 8], kind)


def values(version: int, chunk: int) -> Any:
    """Return the table of a version: (5, COUNT); without a version each chunk has its own."""
    rng = np.random.default_rng([version, 0 if version else chunk + 1])
    return rng.uniform(1.0, 2.0, (5, COUNT))


chunks = st.lists(
    st.tuples(st.integers(0, 2), st.lists(st.integers(-1, 4), min_size=1, max_size=11)),
    min_size=1,
    max_size=5,
)


@settings(max_examples=400, deadline=None)
@given(chunks, st.sampled_from([2, 4, 8]), st.sampled_from([0, 1, 3]), st.booleans())
@example([(1, [0, 0]), (1, [0, 0]), (1, [0])], 2, 0, False)
def test_rows_hold_what_they_should(
    given_chunks: list[tuple[int, list[int]]], depth: int, back: int, events: bool
) -> None:
    """Against rows that are written at every step; rows of events are noted at theirs."""
    variable = "spike_state" if events else "I"
    owner: Any = Machine(variable, depth)
    table = InputTable(0, 0, COUNT, None, None, 0, back)
    stage = InputStage(owner, table)
    rows = np.full((depth, COUNT), np.nan)
    first = 0
    for number, (version, wanted) in enumerate(given_chunks):
        source, orders = values(version, number), np.array(wanted, np.int32)
        table.table, table.row_of_step = source.ctypes.data, orders.ctypes.data
        table.version = version
        stage.order(first, len(wanted))
        fields = stage.bring(77)
        assert fields[-9:] == (0, COUNT, back, 0, -1, 0, 0, 0, 0) and fields[2] == 77
        actions = stage.actions[: len(wanted)]  # those of a longer chunk stay where all are NOTHING
        assert len(actions) == len(wanted)
        held = owner.read(fields[1], np.float64)
        for k, (action, row) in enumerate(zip(actions, wanted, strict=True), first):
            at = k - back
            if at < 0:
                continue
            if action >= 0:
                rows[at % depth] = held[action * COUNT : (action + 1) * COUNT]
            elif action != NOTHING:
                rows[at % depth] = 0.0
            expected = source[row] if row >= 0 else np.zeros(COUNT)
            assert np.array_equal(rows[at % depth], expected)
            assert not events or row < 0 or action == row
        first += len(wanted)


def test_what_stays_is_not_copied() -> None:
    """A constant input is put into each row once, and brought to the device once."""
    owner: Any = Machine("I", 4)
    table = InputTable(0, 0, COUNT, None, None, 7, 0)
    stage = InputStage(owner, table)
    source, orders = values(7, 0), np.zeros(6, np.int32)
    table.table, table.row_of_step = source.ctypes.data, orders.ctypes.data
    taken = []
    for first in (0, 6, 12):
        stage.order(first, 6)
        stage.bring(77)
        taken.append(stage.actions.tolist())
    assert taken == [[0, 0, 0, 0, NOTHING, NOTHING], [NOTHING] * 6, [NOTHING] * 6]
    assert owner.uploaded == COUNT * 8
