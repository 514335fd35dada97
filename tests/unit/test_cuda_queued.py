"""Calls that wait on a GPU for PyTorch, and not on the host, on an emulated device."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from emulated_gpu import emulated, random_circuit

import neurodriver as nd
from neurodriver.backends.cuda import executors
from neurodriver.backends.cuda.queued import DEFAULT, MOST_QUEUED
from neurodriver.backends.cuda.transfers import at
from neurodriver.native.shared import SharedArray
from neurodriver.plan.diagnostics import FAULT

STEPS = 2 * MOST_QUEUED + 5
fixtures = (emulated,)


@pytest.fixture
def lpu(emulated: None) -> Iterator[nd.LPU]:
    """Neurons without inputs."""
    with nd.LPU(random_circuit(40, 3)[0], 1e-4, backend="cuda") as one:
        yield one


def shared(lpu: nd.LPU) -> SharedArray:
    """Return the potentials in the memory of the device."""
    found: SharedArray = lpu["Halving"].shared("V")
    return found


def launches(lpu: nd.LPU) -> int:
    """Return how many launches nobody has waited for."""
    return len(lpu.backend.device.queue)


def test_calls_are_queued_behind_a_library_that_shares_the_memory(lpu: nd.LPU) -> None:
    waiting = []
    for _ in range(STEPS):
        lpu.advance(1)
        shared(lpu).__dlpack__(stream=DEFAULT)
        waiting.append(launches(lpu))
    # the first one waits, and one after so many
    assert waiting[: MOST_QUEUED + 3] == [0, *range(1, MOST_QUEUED + 1), 0, 1]
    assert lpu.step == STEPS
    with nd.LPU(lpu.circuit, 1e-4, backend="cpu") as alone:
        alone.advance(STEPS)
        assert (alone["Halving"].V == lpu["Halving"].V).all() and alone["Halving"].V.any()
    assert not launches(lpu) and lpu.backend.worked() == [STEPS * lpu.circuit.count]


@pytest.mark.parametrize("stream", [5, -1, None])
def test_where_the_library_uses_another_stream_the_host_waits(lpu: nd.LPU, stream: Any) -> None:
    """None stands for the interface that does not tell of streams."""
    lpu.advance(1)
    shared(lpu).__dlpack__(stream=DEFAULT)
    lpu.advance(1)
    assert launches(lpu) == 1
    taken = shared(lpu)
    if stream is None:
        assert taken.__cuda_array_interface__
    else:
        taken.__dlpack__(stream=stream)
    assert not launches(lpu)
    taken.__dlpack__(stream=DEFAULT)
    lpu.advance(1)
    assert not launches(lpu)


@pytest.mark.parametrize("reads", [False, True])
def test_a_value_that_is_not_finite_is_told_at_the_end(lpu: nd.LPU, reads: bool) -> None:
    """Whether or not somebody has waited for the device before."""
    lpu.advance(1)
    shared(lpu).__dlpack__(stream=DEFAULT)
    lpu.advance(3)
    backend = lpu.backend
    record = np.array([1, 2, 7, 0, 0, 0, np.float64(np.nan).view(np.int64), 0])
    there = at(backend.binding.pool.address[FAULT], (8,), np.int64)
    backend.device.queue.append(lambda: there.__setitem__(slice(None), record))
    assert not reads or lpu["Halving"].V.any()
    with pytest.raises(nd.NonFiniteError, match="is nan at step 3"):
        lpu.finish()


def test_an_interrupt_right_after_a_launch(lpu: nd.LPU, monkeypatch: pytest.MonkeyPatch) -> None:
    """The step counts what was launched, so the run goes on."""
    lpu.advance(1)
    shared(lpu).__dlpack__(stream=DEFAULT)
    launch = executors.launch

    def interrupted(*given: Any) -> None:
        launch(*given)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(executors, "launch", interrupted)
        with pytest.raises(KeyboardInterrupt):
            lpu.advance(2)
    assert lpu.step == 3
    lpu.advance(1)
    with nd.LPU(lpu.circuit, 1e-4, backend="cpu") as alone:
        alone.advance(4)
        assert (alone["Halving"].V == lpu["Halving"].V).all()


def test_inputs_and_recorders_need_the_host(emulated: None) -> None:
    circuit, inputs = random_circuit(20, 1)
    for given in ({"inputs": inputs}, {"recorders": [nd.MemoryRecorder([("V", None)])]}):
        with nd.LPU(circuit, 1e-4, backend="cuda", **given) as one:
            one.advance(1)
            shared(one).__dlpack__(stream=DEFAULT)
            one.advance(1)
            assert not launches(one)


class CuPyArray:
    """Takes memory of a GPU as arrays of CuPy do; under emulation the host can see it."""

    def __init__(self, given: SharedArray) -> None:
        interface = given.__cuda_array_interface__
        address, read_only = interface["data"]
        assert not read_only
        self.values = at(address, interface["shape"], interface["typestr"])


def test_arrays_of_cupy_share_the_memory(lpu: nd.LPU) -> None:
    """What is added in place shows in the next step, as a value that was set does."""
    lpu.advance(2)
    values = lpu["Halving"].get("V") + 0.5
    array = CuPyArray(shared(lpu))
    array.values += 0.5
    assert (lpu["Halving"].get("V") == values).all()
    with nd.LPU(lpu.circuit, 1e-4, backend="cpu") as alone:
        alone.advance(2)
        alone["Halving"].set("V", values)
        for one in (lpu, alone):
            one.advance(1)
        assert (alone["Halving"].V == lpu["Halving"].V).all() and np.ptp(lpu["Halving"].V) > 0


def test_steps_called_one_by_one_need_no_tables(
    lpu: nd.LPU, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first call tells how long a step takes; long calls take the other way."""
    sent: list[int] = []
    send = lpu.backend.staging.send

    def noted(first: int, *given: Any) -> None:
        sent.append(first)
        send(first, *given)

    monkeypatch.setattr(lpu.backend.staging, "send", noted)
    lpu.advance(1)
    for steps in (1, 1, 3, 50, 2):
        lpu.simulation.calls.seconds_per_step = 1e-4
        lpu.advance(steps)
        assert not launches(lpu)
    assert sent[:2] == [0, 6] and 56 not in sent
    assert lpu.step == 58 and lpu.backend.worked() == [58 * lpu.circuit.count]
    with nd.LPU(lpu.circuit, 1e-4, backend="cpu") as alone:
        alone.advance(58)
        assert (alone["Halving"].V == lpu["Halving"].V).all() and alone["Halving"].V.any()


def test_a_single_step_tells_of_a_value_that_is_not_finite(lpu: nd.LPU) -> None:
    lpu.advance(1)
    lpu.simulation.calls.seconds_per_step = 1e-4
    lpu.advance(1)
    backend = lpu.backend
    record = np.array([1, 2, 7, 0, 0, 0, np.float64(np.nan).view(np.int64), 0])
    there = at(backend.binding.pool.address[FAULT], (8,), np.int64)
    backend.device.queue.append(lambda: there.__setitem__(slice(None), record))
    with pytest.raises(nd.NonFiniteError, match="is nan at step 3"):
        lpu.advance(1)
