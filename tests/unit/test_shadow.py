"""A backend beside the CPU: what is compared, what is told, what counts as the same."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from support import DT, Record, all_to_all, chain, spiking_network, started

from neurodriver import LPU, ArrayInput, Circuit
from neurodriver.backends import choice
from neurodriver.backends.compare.agreement import DisagreementError, ValueCheck
from neurodriver.backends.compare.shadow import ROWS, ShadowBackend
from neurodriver.backends.cpu.backend import CPUBackend
from neurodriver.errors import NeurodriverError
from neurodriver.native.addresses import host_array
from neurodriver.plan.arrays import Key, Kind, PopulationOwner

STEPS = 200
RECORD: Record = [("V", None), ("spike_state", None)]
Change = Callable[[CPUBackend, int], None]
"""What goes wrong after a step (whose row is the number given)."""


class Faulty(CPUBackend):
    """Goes one step a call, and lets something happen to each row before it is recorded."""

    change: Change
    broken: Callable[[CPUBackend], None] = staticmethod(lambda backend: None)

    def publish(self) -> None:
        self.broken(self)
        super().publish()

    def run(self, first: int, steps: int) -> int:
        done = super().run(first, 1)
        self.change(self, first + 1)
        return done


def faulty(monkeypatch: pytest.MonkeyPatch, change: Change, **more: Any) -> None:
    """Let every LPU run on a faulty backend, validated."""
    kind = type("Made", (Faulty,), {"change": staticmethod(change), **more})
    made = dict.fromkeys(choice.BACKENDS, lambda program, options: kind(program, 1))
    monkeypatch.setattr(choice, "BACKENDS", made)
    monkeypatch.setenv("NEURODRIVER_VALIDATE", "1")


def nothing(backend: CPUBackend, step: int) -> None:
    """Let a row be."""


def current(circuit: Circuit, high: float) -> ArrayInput:
    """Return a random current into the first group."""
    uids = circuit.groups[0].uids.tolist()
    rows = np.random.default_rng(5).uniform(0.6 * high, high, (STEPS, len(uids)))
    return ArrayInput({"I": (uids, rows)})


def lpu_of(circuit: Circuit, high: float, **more: Any) -> LPU:
    """Return an LPU with a current that recorders listen to, on the CPU."""
    inputs = current(circuit, high)
    return started(circuit, DT, inputs, RECORD, backend="cpu", **more)


def agreed(lpu: LPU) -> str:
    """Run and return the report."""
    with lpu:
        lpu.run(steps=STEPS)
        assert isinstance(lpu.backend, ShadowBackend)
        assert lpu.backend.steps == STEPS
        return lpu.backend.report()


def refused(lpu: LPU) -> str:
    """Run and return the error."""
    with lpu, pytest.raises(DisagreementError) as caught:
        lpu.run(steps=STEPS)
    return str(caught.value)


def element(backend: CPUBackend, variable: str, uid: str) -> int:
    """Return where a component stands in a row."""
    circuit = backend.program.circuit
    number = int(circuit.find([uid])[0])
    group = int(np.searchsorted(circuit.starts, number, side="right")) - 1
    where = backend.program.layout.elements(group, variable)
    return int(where[number - circuit.starts[group]])


def flip(uid: str, step: int, bit: int, variable: str = "V") -> Change:
    """Return a change of one bit of one value."""

    def change(backend: CPUBackend, now: int) -> None:
        if now == step:
            row = backend.row(variable, now)
            raw = row.view(f"u{row.itemsize}")
            raw[element(backend, variable, uid)] ^= 1 << bit

    return change


@pytest.mark.parametrize("chunk", [None, 1, 17])
def test_equal_bits_are_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], chunk: int | None
) -> None:
    """Without a fault all bits are equal, and closing says so."""
    monkeypatch.setenv("NEURODRIVER_VALIDATE", "1")
    lpu = lpu_of(spiking_network(61, 3, seed=1), 2.0, chunk=chunk)
    assert min(r.depth for r in lpu.program.layout.rings.values()) >= ROWS
    told = agreed(lpu)
    assert told == "cpu beside the CPU: 200 steps of 4 variables and 8 states, all bits equal"
    assert capsys.readouterr().err == f"{told}\n"


@pytest.mark.parametrize("step", [1, 40, 63, 64, 130])
def test_a_wrong_bit_is_named(monkeypatch: pytest.MonkeyPatch, dtype: str, step: int) -> None:
    """A high bit of one value at one step: variable, uid, model, step and both values."""
    high = {"float64": 45, "float32": 20}[dtype]
    faulty(monkeypatch, flip("LeakyIAF/7", step, high))
    told = refused(lpu_of(spiking_network(61, 3, seed=1), 2.0, dtype=dtype))
    assert f"V of 'LeakyIAF/7' (LeakyIAF) at step {step} is " in told
    assert "1 of 61 values differ there, bits were equal before" in told


def test_a_wrong_parameter_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A capacitance that is 1 % off shows in the first row that it enters."""

    def broken(backend: CPUBackend) -> None:
        backend.array(Key(PopulationOwner(0), Kind.PARAMETER, "resistance"))[3] *= 1.01

    faulty(monkeypatch, nothing, broken=staticmethod(broken))
    told = refused(lpu_of(spiking_network(61, 3, seed=1), 2.0))
    assert "V of 'LeakyIAF/3' (LeakyIAF) at step 1 is -6" in told


def test_a_wrong_spike_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """An event too many is never within the rule where each step is judged alone."""
    faulty(monkeypatch, flip("LeakyIAF/7", 33, 62, "spike_state"))
    told = refused(lpu_of(spiking_network(61, 3, seed=1), 2.0))
    assert "spike_state of 'LeakyIAF/7' (LeakyIAF) at step 33 is " in told


def test_a_wrong_state_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A state that is no variable is compared at the end of each call."""

    def change(backend: CPUBackend, now: int) -> None:
        if now == 50:
            backend.array(Key(PopulationOwner(0), Kind.STATE, "n"))[2] += 0.01

    faulty(monkeypatch, change)
    told = refused(lpu_of(all_to_all(5, seed=2), 20.0, chunk=10))
    assert "n of 'HodgkinHuxley2/2' (HodgkinHuxley2) at step 50 is " in told


@pytest.mark.parametrize("variable", ["V", "spike_state"])
def test_a_wrong_recording_is_named(monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    """What is recorded is compared with the rows that it comes from."""

    def run(self: Any, first: int, steps: int) -> int:
        done = CPUBackend.run(self, first, steps)
        if first == 30 and variable == "V":
            probe = self.probes[0]
            host_array(probe.rows, probe.count)[4] = 1.0
        return done

    def found(self: Any, number: int) -> Any:
        steps, columns = CPUBackend.found(self, number)
        return (steps[1:], columns[1:]) if variable == "spike_state" else (steps, columns)

    faulty(monkeypatch, nothing, run=run, found=found)
    told = refused(lpu_of(all_to_all(5, seed=2), 20.0, chunk=10))
    if variable == "V":
        assert "the recording of V, column 4, holds 1.0 at step 30, where" in told
    else:
        assert "the recording of spike_state, column " in told
        assert "holds 0.0 at step " in told


def test_rounding_is_within_the_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    """A last bit is told and forgiven."""
    faulty(monkeypatch, flip("HodgkinHuxley2/3", 20, 0))
    lpu = lpu_of(all_to_all(5, seed=2), 20.0)
    told = agreed(lpu)
    assert "within 1e-10 of the largest value; largest: " in told


def test_differences_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """What stays within the rule at each step is refused once it has grown over a run."""

    def change(backend: CPUBackend, now: int) -> None:
        backend.row("V", now)[element(backend, "V", "HodgkinHuxley2/1")] *= 1 + 4e-11

    faulty(monkeypatch, change)
    told = refused(lpu_of(all_to_all(5, seed=2), 20.0))
    assert "bits differed before, within the rule" in told


def test_growing_differences_are_told_before_they_are_too_large() -> None:
    """The share of what is allowed grows with the difference, and passes 1 with it."""
    shares = []
    for apart in (0.0, 1e-12, 1e-10, 1e-9, np.nan):
        judge = ValueCheck(1e-10, np.zeros(3, int))
        row = np.array([-70.0, 1e-300, 3.0])
        verdict = judge.judge(row + np.array([0.0, 70 * apart, 0.0]), row)
        assert verdict.same == (apart == 0)
        shares.append(verdict.share if not verdict.same else -1.0)
    assert all(one < other for one, other in pairwise(shares))
    assert shares[1] < 1 < shares[3]
    assert shares[4] == np.inf


@pytest.mark.parametrize("text", ["yes", "2"])
def test_settings_are_checked(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """Anything but 0 and 1 is refused by name."""
    monkeypatch.setenv("NEURODRIVER_VALIDATE", text)
    with pytest.raises(
        NeurodriverError, match=f"NEURODRIVER_VALIDATE must be 0 or 1, got '{text}'"
    ):
        started(chain(), backend="cpu")
