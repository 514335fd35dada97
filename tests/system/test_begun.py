"""Steps that have begun: several LPUs at the same time, what waits for them, how they end."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from emulated_gpu import emulated, random_circuit

import neurodriver as nd
from neurodriver.errors import InputError, NeurodriverError
from neurodriver.inputs.user import UserInput

__all__ = ["emulated"]

IAF = {
    "resting_potential": -70.0, "reset_potential": -70.0, "threshold": -45.0, "capacitance": 2.0,
    "resistance": 10.0, "initV": -70.0,
}  # fmt: skip
CELLS = nd.Population("LeakyIAF", 5, name="cells", **IAF)
CIRCUIT = nd.Circuit([CELLS])


class Called(UserInput):
    """Injects 3 nA; calls a function before each step."""

    def __init__(self, call: Callable[[Any], object]) -> None:
        super().__init__([("I", CELLS)])
        self.call = call

    def update_input(self) -> None:
        self.call(self.lpu)
        self.variables["I"]["input"][:] = 3.0


def test_two_at_the_same_time() -> None:
    """Each waits for the other before each step; the bits are those of runs one after the other."""
    alone = nd.MemoryRecorder([("V", None)])
    with nd.LPU(CIRCUIT, 1e-3, [nd.StepInput("I", CELLS, 3.0)], [alone]) as lpu:
        lpu.run(40)
    both = threading.Barrier(2, timeout=60)
    recorders = [nd.MemoryRecorder([("V", None)]) for _ in range(2)]
    pair = [nd.LPU(CIRCUIT, 1e-3, [Called(lambda lpu: both.wait())], [one]) for one in recorders]
    for lpu in pair:
        lpu.begin(40)
    for lpu in pair:
        lpu.wait()
        assert lpu.step == 40
        lpu.close()
    for one in recorders:
        assert np.array_equal(one.get("V"), alone.get("V")) and np.ptp(alone.get("V")) > 5


def test_what_is_asked_waits() -> None:
    """Values, the step, a further run; an input asks in the midst of the steps."""
    seen: list[int] = []
    with nd.LPU(CIRCUIT, 1e-3, [Called(lambda lpu: seen.append(lpu.step))]) as lpu:
        lpu.begin(20)
        V = lpu["cells"].get("V")
        assert seen == [*range(20)] and lpu.step == 20
        lpu.begin(5)
        lpu.begin(5)
        lpu.run(10)
        assert lpu.step == 40
        lpu.begin(10)
    assert len(seen) == 50  # the end of the block waits, too
    with nd.LPU(CIRCUIT, 1e-3, [nd.StepInput("I", CELLS, 3.0)]) as lpu:
        lpu.run(20)
        assert np.array_equal(lpu["cells"].get("V"), V)


def test_two_threads_wait() -> None:
    """The one that comes second finds that the first one has cleared the steps."""
    with nd.LPU(CIRCUIT, 1e-4) as lpu:
        lpu.begin(3)
        steps: Any = lpu._steps
        join = steps.join

        def join_late() -> None:
            join()
            lpu._steps = None

        steps.join = join_late
        lpu.wait()
        assert lpu.step == 3


def test_an_error_is_raised_where_it_is_waited_for() -> None:
    """Once, with the words of the input; other LPUs are not concerned."""

    def fail(lpu: Any) -> None:
        if lpu.step == 7:
            raise InputError("no values any more")

    lpu = nd.LPU(CIRCUIT, 1e-3, [Called(fail)])
    lpu.begin(20)
    with pytest.raises(InputError, match="no values any more"):
        lpu.wait()
    assert lpu.step == 7
    lpu.close()


def test_control_c_ends_the_steps() -> None:
    """After the present step; the LPU can go on."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        once = iter([True])

        def press(lpu: Any) -> None:
            if lpu.step == 6 and next(once, False):
                os.kill(os.getpid(), signal.SIGINT)

        with nd.LPU(CIRCUIT, 1e-3, [Called(press)]) as lpu:
            with pytest.raises(KeyboardInterrupt):
                lpu.begin(10**8)
                lpu.wait()
            done = lpu.step
            assert 7 <= done < 10**8
            lpu.run(5)
            assert lpu.step == done + 5
    finally:
        signal.signal(signal.SIGINT, before)


def test_an_error_in_the_block_ends_the_steps() -> None:
    """The block ends soon, with its own error."""
    with pytest.raises(ZeroDivisionError), nd.LPU(CIRCUIT, 1e-3) as lpu:
        lpu.begin(2**31 - 2)
        _ = 1 / 0
    with pytest.raises(NeurodriverError, match="closed"):
        lpu.begin(1)


def test_on_a_gpu(emulated: None) -> None:
    """Two on two devices, whose threads leave their cores to others; the bits of a CPU."""
    circuit, inputs = random_circuit(20, 3)
    found = []
    for more in ({}, {"device": 0, "wait": "yield"}, {"device": 1, "wait": "yield"}):
        given: Any = {"backend": "cuda" if more else "cpu", **more}
        lpu = nd.LPU(circuit, 1e-4, inputs, [nd.MemoryRecorder([("V", None)])], **given)
        lpu.begin(60)
        found.append(lpu)
    for lpu in found:
        lpu.wait()
    rows = [np.array(lpu.recording.V[:]) for lpu in found]
    assert np.any(rows[0]) and all(np.array_equal(one, rows[0]) for one in rows)
    backend: Any = found[2].backend
    device = backend.device
    assert device.yields and device.number == 1
    for lpu in found:
        lpu.close()


def test_where_it_is_refused() -> None:
    """Circuits in several parts, LPUs of a Manager, numbers that are none."""
    with nd.LPU(CIRCUIT, 1e-3, parts=2) as lpu:
        with pytest.raises(NeurodriverError, match=r"a circuit in several parts advances at once"):
            lpu.begin(3)
    manager = nd.Manager()
    manager.add(nd.LPU, "a", CIRCUIT, dt=1e-3)
    manager.spawn()
    with pytest.raises(NeurodriverError, match=r"an LPU of a Manager advances at once"):
        manager.lpus["a"].begin(3)
    with nd.LPU(CIRCUIT, 1e-3) as lpu, pytest.raises(NeurodriverError, match=r"LPU\.begin: steps"):
        lpu.begin(-1)
