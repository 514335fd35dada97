"""Two ranks, each with a GPU of plain Python or without one, give the bits of the CPU alone."""

from __future__ import annotations

import time
from typing import Any

import pytest
from cutting import assert_equal_bits, by_uid, managed, random_parts, whole, with_crossings
from emulated_gpu import emulated, random_circuit
from support import DT

from neurodriver import LPU, Manager, MemoryRecorder
from neurodriver.backends.cuda import device
from neurodriver.backends.cuda.transfers import Tables
from neurodriver.circuit.cut import cut
from neurodriver.mpi import world

__all__ = ["emulated"]
STEPS = 60
BACKENDS = [("cuda", "cuda"), ("cpu", "cuda"), ("cuda", "cpu")]


def apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each rank have a GPU of its own."""
    where = f"of rank {world().rank}"
    monkeypatch.setattr("neurodriver.backends.cuda.device.place_of", lambda number: where)


@pytest.mark.parametrize("backends", BACKENDS)
@pytest.mark.parametrize("more", [0, 1, 4])
@pytest.mark.parametrize("large", [5, 4096])
@pytest.mark.parametrize("alone", [False, True])
def test_same_bits(
    emulated: None,
    backends: tuple[str, str],
    more: int,
    large: int,
    alone: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With windows of several steps, and blocks that a CPU sends from its rings, row by row.

    Ranks with a GPU each pass gates within a launch. A CPU does so where no message is in flight.
    """
    if alone:
        apart(monkeypatch)
        monkeypatch.setattr(
            "neurodriver.run.call_length.CALL_SECONDS", 1e4
        )  # all steps in one call
    monkeypatch.setattr("neurodriver.parallel.buffers.LARGE", large)
    monkeypatch.setenv("NEURODRIVER_BACKEND", backends[world().rank])
    circuit, inputs = random_circuit(30, 4)
    part = random_parts(circuit, 2, 4)
    expected = whole(with_crossings(circuit, part, more=more), inputs, STEPS, backend="cpu")
    parts = cut(circuit, part, ["a", "b"])
    man, found = managed(parts, inputs, STEPS, more * 1e-4, ranks={"a": 0, "b": 1})
    lpu: Any = next(iter(man.lpus.values()))
    assert lpu.backend.program.layout.target.name == backends[man.rank]
    exchange = lpu.simulation.exchange
    on_gpu = backends[man.rank] == "cuda"
    both = alone and backends == ("cuda", "cuda")
    assert exchange.gated == (both if on_gpu else not exchange.timing.lag)
    assert not (exchange.gated and exchange.timing.lag)
    if exchange.gated and on_gpu:
        assert lpu.backend.device.copies.count(("launch", 0)) == 2  # row 0 goes to all of a window
    assert assert_equal_bits(expected, found, all_of=False) > 10


def test_a_window_is_one_copy_each_way(emulated: None) -> None:
    """All that comes from a peer, every variable of it, is sent at once; so is what goes."""
    circuit, _ = random_circuit(30, 5)
    part = random_parts(circuit, 2, 5)
    man, _ = managed(
        cut(circuit, part, ["a", "b"]), [], STEPS, ranks={"a": 0, "b": 1}, backend="cuda"
    )
    lpu: Any = next(iter(man.lpus.values()))
    exchange = lpu.simulation.exchange
    assert len(exchange.imports) == len(exchange.exports) > 1
    # Tables come again where records were given more room; what is exchanged, once a window.
    copies = lpu.backend.device.copies
    windows = copies.count(("launch", 0))
    assert windows == STEPS // 2
    assert copies.count(("from", exchange.sends.bytes)) == windows
    assert copies.count(("to", exchange.takes.bytes)) == windows - 1  # none comes before step 0
    others = {size for kind, size in copies[copies.index(("launch", 0)) :] if kind == "to"}
    assert min(others - {exchange.takes.bytes}) == 8 * Tables.HEAD


def test_a_rank_that_stops(emulated: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both leave at a gate, within an endless call; what was done until then is recorded."""
    apart(monkeypatch)
    monkeypatch.setattr("neurodriver.run.call_length.CALL_SECONDS", 1e4)
    circuit, _ = random_circuit(30, 6)
    part = random_parts(circuit, 2, 6)
    parts = cut(circuit, part, ["a", "b"])
    man = Manager(timeout=60.0)
    for rank, (name, one) in enumerate(parts.circuits.items()):
        recorder = MemoryRecorder([("V", None), ("spike_state", None)])
        man.add(LPU, name, one, DT, recorders=[recorder], rank=rank, backend="cuda")
    for (source, target), pattern in parts.patterns().items():
        man.connect(source, target, pattern)
    man.spawn()
    (lpu,) = man.lpus.values()
    simulation: Any = lpu.simulation
    exchange, waiting = simulation.exchange, []

    def swap(step: int) -> None:
        waiting.append(device._waiting)
        type(exchange).swap(exchange, step)

    exchange.swap = swap
    man.start()
    if man.rank == 1:
        while len(waiting) * exchange.timing.window < STEPS:
            time.sleep(0.01)
        man.stop()
    man.wait()
    # nothing is freed while a kernel waits, at all gates but that between the two calls
    assert waiting == [0, *[1] * (len(waiting) - 1)]
    assert STEPS <= simulation.step == len(waiting) * exchange.timing.window
    found = by_uid(lpu.recorders[0], simulation.step)
    expected = whole(with_crossings(circuit, part), [], simulation.step, backend="cpu")
    assert {"V", "spike_state"} == set(found)
    assert assert_equal_bits(expected, found, all_of=False) > 10
