"""Modules in one process: lock step, beside each other and beside LPUs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from emulated_gpu import MODELS, emulated
from stepping import Counter, Echo, N, chain, ends, relays, run, wire

from neurodriver import LPU, Manager, MemoryRecorder
from neurodriver.errors import CircuitError, LPUExecutionError

__all__ = ["emulated"]
STEPS = 20


def counts(first: int, last: int) -> Any:
    """Return what a Counter publishes in the steps ``first`` to ``last - 1``."""
    return 1.0 + np.arange(first, last)[:, None] + np.arange(N)


def test_values_arrive_one_step_later() -> None:
    """What is published in step k is read in step k + 1; before that, a port keeps its own."""
    man = chain()
    run(man, STEPS)
    e, f = man.modules["e"], man.modules["f"]
    assert isinstance(e, Echo)
    assert isinstance(f, Echo)
    seen = np.array(e.seen)
    np.testing.assert_array_equal(seen[0], -1.0)
    np.testing.assert_array_equal(seen[1:], counts(0, STEPS - 1))
    np.testing.assert_array_equal(np.array(f.seen)[1:], 2.0 * seen[:-1])
    fired = np.array(e.spikes)[:, 0]
    np.testing.assert_array_equal(fired[1:], np.arange(STEPS - 1) % 3 == 0)
    assert fired[0] == 0
    assert e.calls == ["pre_run", "post_run"]
    assert e.steps == e.max_steps == STEPS
    # what the last step sent has arrived, too
    np.testing.assert_array_equal(e.inputs["gpot"], counts(STEPS - 1, STEPS)[0])


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_beside_an_lpu(dtype: str) -> None:
    """Module -> LPU and LPU -> Module take one step each, and spikes and values are whole."""
    man, recorder = relays(dtype=dtype)
    run(man, STEPS)
    echo = man.modules["e"]
    assert isinstance(echo, Echo)
    v, taken = recorder.get("V").T
    assert taken[0] == 0  # what the Counter held at first
    np.testing.assert_array_equal(taken[1:], counts(0, STEPS - 1)[:, 0])
    # the synapse reads row k of its port and writes row k + 1
    expected = np.minimum(0.4, 0.001 * taken[:-1])
    np.testing.assert_allclose(recorder.get("g")[1:, 0], expected, rtol=1e-6)
    seen = np.array(echo.seen)[:, 0]
    assert seen[0] == -1.0
    np.testing.assert_array_equal(seen[1:], v[:-1])
    assert np.ptp(v) > 0.1


def test_the_lpu_has_the_same_bits_beside_modules() -> None:
    """A circuit that is cut, with a Module that looks on, equals the circuit in one piece."""
    from cutting import assert_equal_bits, by_uid, network, random_parts, whole, with_crossings
    from support import DT

    from neurodriver import StepInput
    from neurodriver.circuit.cut import cut

    circuit, inputs = network(30, 3)
    part = random_parts(circuit, 2, 3)
    expected = whole(with_crossings(circuit, part), inputs, 200)
    pieces = cut(circuit, part, ["a", "b"])
    man = Manager()
    for name, piece in pieces.circuits.items():
        ((variable, uids),) = inputs[0].targets
        rows = np.flatnonzero(piece.find(uids) >= 0)
        value = inputs[0].value[rows]  # type: ignore[attr-defined]
        drive = StepInput(variable, np.asarray(uids)[rows], value, 0.002, 0.05)
        variables = {v for g in piece.groups for v in g.model.updates}
        record = [(v, None) for v in ("V", "spike_state", "g") if v in variables]
        man.add(LPU, name, piece, DT, [drive], [MemoryRecorder(record)])
    for (source, target), pattern in pieces.patterns().items():
        man.connect(source, target, pattern)
    man.add(Counter, "c", "c")
    man.add(Echo, "e", "e")
    man.connect("c", "e", ends(f"/c/v[0:{N}]", "e"))
    run(man, 200)
    found: dict[str, dict[str, Any]] = {}
    for lpu in man.lpus.values():
        for variable, columns in by_uid(lpu.recorders[0], 200).items():  # type: ignore[arg-type]
            found.setdefault(variable, {}).update(columns)
    assert assert_equal_bits(expected, found, all_of=True) > 30


@pytest.mark.parametrize("more", [1, 4])
def test_a_delay_counts(more: int) -> None:
    """A delay of the pattern comes on top of the step of the crossing."""
    from support import DT

    man, _ = relays()
    man.add(Echo, "late", "late")
    man.connect("l", "late", wire("/l/out", "/late/in[0]"), delay=more * DT)
    man.add(Echo, "mod", "mod")
    man.connect("c", "mod", ends(f"/c/v[0:{N}]", "mod"), delay=more * DT)
    run(man, STEPS)
    prompt, late, mod = (
        np.array(man.modules[m].seen)  # type: ignore[attr-defined]
        for m in ("e", "late", "mod")
    )
    np.testing.assert_array_equal(late[: more + 1], -1.0)
    np.testing.assert_array_equal(late[more + 1 :, 0], prompt[1 : STEPS - more, 0])
    np.testing.assert_array_equal(mod[: more + 1], -1.0)
    np.testing.assert_array_equal(mod[more + 1 :], counts(0, STEPS - 1 - more))


@pytest.mark.parametrize("more", [0, 3])
def test_the_first_value_stands_for_all_steps_before(more: int) -> None:
    """An LPU behind a delay reads what a Module holds when the run begins."""
    from support import DT

    man, recorder = relays(delay=more * DT)
    man.spawn()
    man.modules["c"].outputs["gpot"][:] = 7.0
    man.start(steps=STEPS)
    man.wait()
    taken = recorder.get("V")[:, 1]
    np.testing.assert_array_equal(taken[: more + 1], 7.0)
    np.testing.assert_array_equal(taken[more + 1 :], counts(0, STEPS - 1 - more)[:, 0])


def beside_a_module(backend: str) -> Any:
    """Return what an LPU records, which gets values of a Counter, and whose own one is set."""
    from support import DT, build, node

    port = {"class": "Port", "port_type": "gpot", "port_io": "in"}
    circuit = build(
        {
            "a": node("Halving", {"start": 0.25}),
            "x": node("Share", {}),
            "i": {**port, "selector": "/l/i"},
            "y": node("Share", {}),
            "b": node("Halving", {"start": 0.0}),
        },
        [("a", "x", {"delay": 3e-4}), ("x", "b"), ("i", "y", {"variable": "V"}), ("y", "b")],
        models=MODELS,
    )
    recorder = MemoryRecorder([("V", ["a", "b"]), ("I", None)])
    man = Manager(quiet=True)
    man.add(LPU, "l", circuit, DT, [], [recorder], backend=backend)
    man.add(Counter, "c", "c")
    man.connect("c", "l", wire("/c/v[0]", "/l/i"))
    man.spawn()
    man.lpus["l"]["a"].set("V", 0.75)
    man.start(steps=12)
    man.wait()
    return np.hstack([recorder.get("V"), recorder.get("I")])


def test_what_a_module_sends_changes_no_other_value(emulated: None) -> None:
    """On a GPU, too."""
    expected, found = beside_a_module("cpu"), beside_a_module("cuda")
    np.testing.assert_array_equal(found, expected)
    assert expected[0, 0] == 0.75 and (np.ptp(expected, axis=0) > 0).all()


class Wrong(Counter):
    """Fails at its fifth step, and again when it cleans up."""

    def run_step(self) -> None:
        if self.steps == 4:
            raise ValueError("broken on purpose")

    def post_run(self) -> None:
        raise OSError("cannot clean up")


def test_an_error_names_the_module_and_the_step() -> None:
    """The first error is that of ``run_step``; the other Modules still clean up."""
    man = chain()
    man.add(Wrong, "w", "w")
    man.spawn()
    man.start(steps=STEPS)
    with pytest.raises(LPUExecutionError, match="broken on purpose") as caught:
        man.wait()
    assert (caught.value.lpu, caught.value.step) == ("w", 4)
    assert "run_step" in "".join(caught.value.traceback)
    echo = man.modules["e"]
    assert isinstance(echo, Echo)
    assert echo.calls == ["pre_run", "post_run"]
    assert echo.steps == 4


def test_modules_alone_have_no_dt() -> None:
    """A delay in seconds means nothing without an LPU."""
    man = Manager()
    man.add(Counter, "c", "c")
    man.add(Echo, "e", "e")
    man.connect("c", "e", ends(f"/c/v[0:{N}]", "e"), delay=1e-3)
    with pytest.raises(CircuitError, match="Modules alone have no dt"):
        man.spawn()


def test_stop_ends_an_endless_run() -> None:
    """Without a number of steps a run goes on until ``stop``."""
    man = chain()
    man.spawn()
    man.start()
    while man.modules["e"].steps < 100:
        pass
    man.stop()
    man.wait()
    echo = man.modules["e"]
    assert isinstance(echo, Echo)
    assert echo.max_steps == float("inf")
    assert echo.calls == ["pre_run", "post_run"]
    assert len(echo.seen) >= 100
