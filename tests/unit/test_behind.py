"""Work behind the last of some steps: when it begins, and when it is left out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from emulated_gpu import emulated, random_circuit

import neurodriver as nd
from neurodriver.errors import NonFiniteError
from neurodriver.plan.diagnostics import no_fault
from neurodriver.run.interrupts import StepBoundary
from neurodriver.run.state_reader import PendingRead, StateReader

fixtures = (emulated,)
STEPS = 50


def made(backend: str, **options: Any) -> nd.LPU:
    """Return neurons without inputs."""
    return nd.LPU(random_circuit(40, 3)[0], 1e-4, backend=backend, **options)


def potentials(backend: str) -> np.ndarray:
    """Return the potentials after all steps."""
    with made(backend) as lpu:
        lpu.advance(STEPS)
        values: np.ndarray = lpu["Halving"].V
    assert values.any()
    return values


@pytest.mark.parametrize("fixed", [None, 7])
def test_a_device_gets_it_before_the_steps_are_done(emulated: None, fixed: int | None) -> None:
    """It is behind the last call: what it reads is what the steps leave."""
    found: list[tuple[int, PendingRead]] = []
    with made("cuda") as lpu:
        read = StateReader(lpu, ["V"])
        read.prepare()
        lpu.simulation.length.fixed = fixed

        def work() -> None:
            found.append((len(lpu.backend.device.queue), read.begin()))

        lpu.simulation.advance(STEPS, work=work)
        ((waiting, begun),) = found
        assert waiting > 0 and lpu.step == STEPS
        assert (begun.finish()["V"] == potentials("cpu")).all()
        lpu.advance(1)
        assert len(found) == 1  # it belonged to the steps before


def test_a_device_that_takes_fewer_steps_gets_it_with_its_last_call(
    emulated: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A call may be shorter than asked, where there is no room for what it records."""
    found: list[int] = []
    with made("cuda") as lpu:
        lpu.simulation.length.fixed = STEPS
        monkeypatch.setattr(lpu.backend.staging, "most", lambda steps: min(steps, 20))
        lpu.simulation.advance(STEPS, work=lambda: found.append(lpu.backend._done))
        assert found == [STEPS] and lpu.step == STEPS


@pytest.mark.parametrize("works", [False, True])
def test_a_device_rests_where_nothing_is_behind(
    emulated: None, monkeypatch: pytest.MonkeyPatch, works: bool
) -> None:
    """Neither work nor synapses that count: then all that the device had is done."""
    rested: list[int] = []
    with made("cuda") as lpu:
        lpu.simulation.calls.seconds_per_step = 1.0  # long steps, so the call is no short one
        lpu.simulation.length.fixed = STEPS
        monkeypatch.setattr(lpu.backend.device, "rests", lambda: rested.append(1))
        lpu.simulation.advance(STEPS, work=(lambda: None) if works else None)
        assert bool(rested) is not works


def test_a_processor_does_it_when_the_steps_are_done() -> None:
    found = []
    with made("cpu") as lpu:
        lpu.simulation.advance(STEPS, work=lambda: found.append((lpu.step, lpu["Halving"].V)))
        ((step, values),) = found
        assert step == STEPS and (values == potentials("cpu")).all()


@pytest.mark.parametrize("backend", ["cpu", "cuda"])
def test_it_is_left_out_where_the_steps_end_early(emulated: None, backend: str) -> None:
    """As after Ctrl-C; the next steps have their own work."""
    found: list[int] = []
    with made(backend) as lpu:
        lpu.simulation.length.fixed = 10
        ending = StepBoundary()

        def end_early(steps: int) -> None:
            ending.asked = lpu.simulation.step >= 20

        with pytest.raises(KeyboardInterrupt):
            lpu.simulation.advance(STEPS, end_early, ending, lambda: found.append(0))
        assert lpu.step == 20 and not found
        lpu.simulation.advance(10, work=lambda: found.append(1))
        assert lpu.step == 30 and found == [1]


@pytest.mark.parametrize(("backend", "left"), [("cpu", []), ("cuda", [1])])
def test_steps_that_fail(
    emulated: None, monkeypatch: pytest.MonkeyPatch, backend: str, left: list[int]
) -> None:
    """A device has it by then."""
    found: list[int] = []
    with made(backend) as lpu:
        findings, record = lpu.simulation.backend.findings, no_fault()
        record[:3] = 1, 2, 7
        monkeypatch.setattr(findings, "fault", lambda: record)
        lpu.simulation.length.fixed = STEPS
        with pytest.raises(NonFiniteError):
            lpu.simulation.advance(STEPS, work=lambda: found.append(1))
        assert found == left


def test_classes_with_code_of_their_own_end_each_step_first(emulated: None) -> None:
    """Their rows come after the call, so nothing begins behind it."""
    with made("cuda") as lpu:
        simulation = lpu.simulation
        assert simulation.calls._followed is simulation.backend
        simulation._make_calls(True, [])
        assert simulation.calls._followed is None
