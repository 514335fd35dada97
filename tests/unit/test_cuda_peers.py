"""Kernels that write into each other's memory, on GPUs of plain Python: bits of the whole."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from emulated_gpu import emulated, emulated_peers, random_circuit
from support import DT, model

import neurodriver as nd
from neurodriver import LPU, MemoryRecorder
from neurodriver.backends.cuda import backend, peers
from neurodriver.backends.cuda.peers import Peers
from neurodriver.mpi import World
from neurodriver.parallel.peer_exchange import PeerExchange
from neurodriver.plan.spikes import due
from neurodriver.run.live import Components

__all__ = ["emulated", "emulated_peers"]
pytestmark = pytest.mark.usefixtures("emulated_peers")

OWN = backend.CUDABackend
"""The backend of a real GPU."""

EVERYTHING = [("V", None), ("spike_state", None), ("I", None)]


def longer(circuit: nd.Circuit, steps: int) -> nd.Circuit:
    """Return a circuit with later connections."""
    links = [replace(one, delay=one.delay + steps * DT) for one in circuit.connections]
    return circuit.with_parts(circuit.groups, links)


def run(
    circuit: nd.Circuit, inputs: Any, runs: tuple[int, ...] = (33, 1, 26), **given: Any
) -> tuple[Any, Any, list[Any]]:
    """Return what was recorded, and the exchange of each part."""
    recorder = MemoryRecorder(EVERYTHING)
    with LPU(circuit, DT, inputs, [recorder], **given) as lpu:
        for steps in runs:
            lpu.run(steps=steps)
        parts = getattr(lpu.simulation, "_parts", [])
        peered = [one for one in parts if isinstance(one.exchange, PeerExchange)]
        assert all(one.simulation.calls.ahead for one in peered)
        return recorder.get("V"), recorder.get("spike_state"), [part.exchange for part in parts]


@pytest.mark.parametrize("copied", [False, True])
@pytest.mark.parametrize("later", [0, 1, 4])
@pytest.mark.parametrize("devices", [2, [3, 1, 2], 4])
def test_bits_of_the_whole(
    devices: Any, later: int, copied: bool, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Windows of a step and more, runs that end within a window, and 2 to 4 GPUs."""
    if copied:
        monkeypatch.setattr(Peers, "most", 0)
    circuit, inputs = random_circuit(20, 5)
    circuit = longer(circuit, later)
    expected = run(circuit, inputs, dtype=dtype)
    found = run(circuit, inputs, dtype=dtype, backend="cuda", devices=devices)
    assert np.array_equal(expected[0], found[0]) and np.ptp(found[0]) > 0
    for key in ("time", "index"):
        assert np.array_equal(expected[1][key], found[1][key]) and len(found[1][key])
    for one in found[2]:
        assert isinstance(one, PeerExchange) and one.gated and one.window == 1 + later
        assert one.received > 0
        kernels = one._kernels._owner.gates.peers  # type: ignore[attr-defined]
        assert kernels.copied == copied and (kernels.sending > 0) != copied


@pytest.mark.parametrize(("count", "later"), [(2, 0), (3, 4)])
def test_parts_that_only_send(count: int, later: int) -> None:
    """A part that nobody sends to does not run ahead of those that it sends to."""
    circuit, inputs = random_circuit(12, 2)
    neurons = np.arange(circuit.count)
    part = np.minimum(neurons * count // circuit.count, count - 1)
    links = []
    for one in circuit.connections:
        forward = part[one.source] <= part[one.target]
        links.append(
            replace(
                one, source=one.source[forward], target=one.target[forward],
                delay=one.delay[forward],
            )
        )  # fmt: skip
    circuit = longer(circuit.with_parts(circuit.groups, links), later)
    expected = run(circuit, inputs)
    found = run(circuit, inputs, backend="cuda", devices=list(range(count)), parts=part)
    assert np.array_equal(expected[0], found[0]) and np.ptp(found[0]) > 0
    assert len(found[2]) == count


def test_memory_of_others_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each run opens it anew, and nothing stays open when the LPU is closed."""
    open_now, plain = [0], peers.opened

    def opened(*given: Any) -> tuple[int, Any]:
        open_now[0] += 1
        return plain(*given)[0], lambda: open_now.__setitem__(0, open_now[0] - 1)

    circuit, inputs = random_circuit(20, 5)
    with LPU(circuit, DT, inputs, backend="cuda", devices=3) as lpu:
        monkeypatch.setattr(peers, "opened", opened)
        for _ in range(4):
            lpu.run(steps=7)
            assert open_now[0] == 3 * 2
            lpu.set("V", lpu.get("V"))
    assert open_now[0] == 0


@pytest.mark.parametrize("answer", [True, False])
def test_memory_is_kept_where_others_may_have_it_open(
    answer: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rank that closes frees it when all others have let go, and not where they do not answer."""
    circuit, inputs = random_circuit(20, 5)
    asked: list[Any] = []
    freed: list[int] = []

    def gather(self: World, value: Any, seconds: float = 0.0, at: str = "") -> list[Any]:
        if at == "LPU.close":
            asked.append(seconds)
            if not answer:
                raise nd.NeurodriverError("no answer from the other ranks within 20 s")
        return [value]

    monkeypatch.setattr(World, "gather", gather)
    monkeypatch.setattr(Peers, "free", lambda self: freed.append(len(self._offered)))
    monkeypatch.setattr(peers, "_KEPT", [])
    lpu = LPU(circuit, DT, inputs, backend="cuda", devices=2)
    lpu.run(steps=7)
    try:
        raise ValueError("on its way")
    except ValueError:
        if answer:
            lpu.close()
        else:
            with pytest.warns(nd.errors.CircuitWarning, match=r"within 20 s; memory of the GPU"):
                lpu.close()
    lpu.close()
    assert asked == [20.0]
    assert freed[:2] == ([1, 1] if answer else [0, 0])
    assert len(peers._KEPT) == (0 if answer else 2)


WAYS: list[dict[str, Any]] = [
    {"backend": "cpu"},
    {"backend": "cuda", "devices": 2},
    {"backend": "cpu", "parts": 2},
]


@pytest.mark.parametrize("before", [None, 0, 4])
@pytest.mark.parametrize("started", [False, True])
@pytest.mark.parametrize("later", [0, 4])
def test_values_that_are_set(later: int, started: bool, before: int | None) -> None:
    """What is set before or between runs, or within one, is what others read."""
    circuit, inputs = random_circuit(20, 7)
    circuit = longer(circuit, later)
    found: list[Any] = []
    for given in WAYS:
        with LPU(circuit, DT, inputs, **given) as lpu:
            if before is not None:
                lpu.run(steps=before)
            run = lpu.advance if started else lambda steps: lpu.run(steps=steps)
            if started:
                lpu.start()
            if before:
                run(17)
            lpu.set("V", lpu.get("V") * 0.5)
            run(20)
            run(1)
            run(3)
            found.append(lpu.get("V"))
    for one in found[1:]:
        assert np.array_equal(found[0], one) and np.ptp(one) > 0


@pytest.mark.parametrize("before", [0, 2, 21])
@pytest.mark.parametrize("later", [0, 4])
def test_a_state_that_is_restored(later: int, before: int) -> None:
    """Rows of a state that is put in are sent, at the step at which the last run ended, too."""
    circuit, inputs = random_circuit(20, 7)
    circuit = longer(circuit, later)
    found: list[Any] = []
    for given in WAYS:
        with LPU(circuit, DT, inputs, **given) as lpu:
            lpu.run(steps=before)
            state = lpu.state()
            lpu.set("V", lpu.get("V") * 0.5)
            lpu.restore_state(state)
            lpu.run(steps=9)
            found.append(lpu.get("V"))
            lpu.reset(step=0)
            lpu.run(steps=7)
            found[-1] = np.concatenate([found[-1], lpu.get("V")])
    for one in found[1:]:
        assert np.array_equal(found[0], one) and np.ptp(one) > 0


@pytest.mark.parametrize("step", [0, 3])
def test_a_run_that_is_resumed_after_a_run_without_steps(step: int, tmp_path: Path) -> None:
    """The rows of the state are sent, though nothing was set since the first run."""
    circuit, inputs = random_circuit(20, 7)
    found: list[Any] = []
    for number, given in enumerate(WAYS):
        with LPU(circuit, DT, inputs, **given) as lpu:
            lpu.run(steps=step)
            lpu.set("V", lpu.get("V") * 0.5)
            lpu.save(tmp_path / f"{number}.h5")
        with LPU(circuit, DT, inputs, **given) as lpu:
            lpu.run(steps=0)
            lpu.resume(tmp_path / f"{number}.h5")
            lpu.run(steps=9)
            found.append(lpu.get("V"))
    for one in found[1:]:
        assert np.array_equal(found[0], one) and np.ptp(one) > 0


def test_a_part_in_which_values_cannot_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of another part have been set, so their rows are sent."""
    circuit, inputs = random_circuit(20, 7)
    found: list[Any] = []
    for given in WAYS[1:]:
        with LPU(circuit, DT, inputs, **given) as lpu:
            lpu.run(steps=5)
            before, values = lpu.get("V"), lpu.get("V") * 0.5
            real, calls = Components.set, []

            def fails(self: Any, *of: Any, real: Any = real, calls: Any = calls) -> None:
                calls.append(of)
                if len(calls) == 2:
                    raise RuntimeError("planned")
                real(self, *of)

            with monkeypatch.context() as patched, pytest.raises(RuntimeError, match="planned"):
                patched.setattr(Components, "set", fails)
                lpu.set("V", values)
            assert 0 < (lpu.get("V") != before).sum() < len(before)
            lpu.run(steps=9)
            found.append(lpu.get("V"))
    assert np.array_equal(*found)


def test_a_run_that_goes_on_sends_nothing_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The host exchanges rows where values were set, and when the first run begins."""
    sent: list[int] = []
    real = PeerExchange._swapped

    def swapped(self: PeerExchange, *given: Any) -> Any:
        sent.append(self.first)
        return real(self, *given)

    monkeypatch.setattr(PeerExchange, "_swapped", swapped)
    circuit, inputs = random_circuit(20, 7)
    with LPU(circuit, DT, inputs, backend="cuda", devices=2) as lpu:
        sent.clear()
        for _ in range(3):
            lpu.run(steps=5)
        assert sent == [0, 0]
        lpu.set("V", lpu.get("V"))
        for _ in range(2):
            lpu.run(steps=5)
        assert sent == [0, 0, 15, 15]


def test_a_part_that_fails_ends_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel that waits in vain is ended, and the error is that of the part that failed."""
    circuit, inputs = random_circuit(20, 9)
    plain = PeerExchange.stage

    def stage(self: PeerExchange, first: int, steps: int) -> None:
        if self._world.rank == 1 and first >= 20:
            raise RuntimeError("no further")
        plain(self, first, steps)

    monkeypatch.setattr(PeerExchange, "stage", stage)
    with LPU(circuit, DT, inputs, backend="cuda", devices=2) as lpu:
        done: list[BaseException] = []

        def advance() -> None:
            try:
                lpu.advance(2000)
            except BaseException as error:
                done.append(error)

        thread = threading.Thread(target=advance, daemon=True)
        thread.start()
        thread.join(30)
        assert not thread.is_alive()
    assert "no further" in str(done[0])


class Own(nd.NDComponent):
    """A class with code of its own, which runs at each step."""

    updates = ("I",)
    backends = ("cpu", "cuda")

    def run_step(self, pointers: Any, st: Any = None) -> None:
        """Write nothing."""


def test_own_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where code of a class runs at each step, the host exchanges rows."""
    monkeypatch.setattr("emulated_gpu.OWN_CLASSES", True)
    neurons, _ = random_circuit(20, 5)
    known: list[Any] = [(one.model, one.count, {}, None) for one in neurons.groups]
    circuit = nd.Circuit.from_arrays([*known, (Own, 4, {}, None)], neurons.connections)
    inputs = [nd.StepInput("I", circuit.uids[:20].tolist(), np.arange(20) / 8, 0.0005, 0.02)]
    expected = run(circuit, inputs)
    found = run(circuit, inputs, backend="cuda", devices=2)
    assert np.array_equal(expected[0], found[0]) and np.ptp(found[0]) > 0
    assert not any(isinstance(one, PeerExchange) for one in found[2])


def test_no_access(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a GPU does not reach another one, the host exchanges rows."""
    monkeypatch.setattr(peers.Trial, "reaches", lambda self, offers: False)
    circuit, inputs = random_circuit(20, 5)
    expected = run(circuit, inputs)
    found = run(circuit, inputs, backend="cuda", devices=2)
    assert np.array_equal(expected[0], found[0])
    assert not any(isinstance(one, PeerExchange) for one in found[2])


def test_parts_of_equal_sizes_have_one_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """They differ in how long spikes wait until they are due, which is in no text."""
    monkeypatch.setattr(backend, "CUDABackend", OWN)  # nothing runs
    monkeypatch.setattr(due, "BARRIER", -1.0)  # deliver when due
    texts: list[str] = []
    monkeypatch.setattr(backend, "compile_cubin", lambda text, arch: texts.append(text) or b"")
    source, target = np.divmod(np.arange(64 * 64, dtype=np.int32), 64)
    longest = np.where(target < 32, 27, 30)
    late = 1 + (7 * source + target) % longest
    links = nd.Connections("spike_state", "spike_state", source, target, late * DT, {"weight": 0.5})
    cell = {"resting_potential": -60.0, "threshold": -50.0, "reset_potential": -60.0,
            "time_constant": 20.0}  # fmt: skip
    circuit = nd.Circuit.from_arrays([(model("LeakyIAFDelta"), 64, cell, None)], [links])
    with LPU(circuit, DT, backend="cuda", devices=2, parts=np.arange(64) // 32) as lpu:
        programs = [part.simulation.program for part in lpu.simulation._parts]
    turns = [one.gathers[0, "spike_state"].limits[due.TURNS] for one in programs]
    assert turns == [28, 31] and len(texts) == 2
    assert texts[0] == texts[1] and "int oldest" in texts[0]
