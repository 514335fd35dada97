"""The same circuit gives the same bits, however it is run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest
from support import (
    DT,
    Record,
    Recorded,
    all_to_all,
    assert_same_bits,
    converging,
    recorded,
    spiking_network,
    started,
)

from neurodriver import LPU, ArrayInput, Circuit, Input
from neurodriver.circuits import optic_lobe
from neurodriver.codegen.source import TILE
from neurodriver.native.buffers import LANES

WHOLE = 1000
"""Steps per call into compiled code that cover a whole run."""

TILES = 10
"""Tiles that the largest group of a circuit has at least."""


@dataclass(frozen=True)
class Case:
    """A circuit, its input, and the plan that compilation must choose for it.

    Attributes
    ----------
    current : (low, high) float
        Range of the random current into each component of the first group.
    forms : dict of (group number, access) to (form with plans, form without)
    kernels : (int, int)
        Number of kernels with plans and without.
    """

    circuit: Callable[[], Circuit]
    current: tuple[float, float]
    record: Record
    steps: int
    dt: float
    kernels: tuple[int, int]
    forms: tuple[tuple[int, str, str, str], ...] = ()


CASES = {
    "random delays": Case(
        lambda: spiking_network(2605, 3, seed=1),
        (1.2, 2.0),
        [("V", None), ("spike_state", None), ("g", None)],
        200,
        DT,
        (4, 4),
        ((3, "g", "sliced", "sliced"),),
    ),
    "optic lobe": Case(
        lambda: optic_lobe.circuit(5),
        (0.0, 1.0),
        [("V", None), ("r", None)],
        100,
        5e-3,
        (1, 1),
        ((0, "r", "lattice", "sliced"),),
    ),
    "all to all": Case(
        lambda: all_to_all(67, seed=2),
        (5.0, 20.0),
        [("V", None), ("spike_state", None), ("g", None)],
        300,
        DT,
        (2, 3),
    ),
    "converging": Case(
        lambda: converging(2603, seed=3),
        (2.0, 4.0),
        [("V", None), ("spike_state", None), ("g", None)],
        200,
        DT,
        (2, 3),
    ),
}


@cache
def circuit_of(name: str) -> Circuit:
    """Return the circuit of a case."""
    return CASES[name].circuit()


@cache
def input_of(name: str) -> tuple[list[str], np.ndarray]:
    """Return uids and a random current for each step."""
    case = CASES[name]
    uids = circuit_of(name).groups[0].uids.tolist()[:-3]
    shape = case.steps, len(uids)
    return uids, np.random.default_rng(4).uniform(*case.current, shape)


def ready(name: str, dtype: str, record: Record | None = None, **settings: Any) -> LPU:
    """Return the LPU of a case."""
    case = CASES[name]
    given: list[Input] = [ArrayInput({"I": input_of(name)})]
    settings = {"threads": 1, "chunk": WHOLE, **settings}
    record = case.record if record is None else record
    return started(circuit_of(name), case.dt, given, record, dtype=dtype, **settings)


def run(name: str, dtype: str, **settings: Any) -> Recorded:
    """Run a case; every thread of a CPU must have done work."""
    steps = CASES[name].steps
    with ready(name, dtype, **settings) as lpu:
        lpu.run(steps=steps)
        worked = lpu.backend.worked()
        assert min(worked) > 0
        if lpu.settings.choice.name == "cpu":
            assert len(worked) == settings.get("threads", 1)
        assert sum(worked) == steps * sum(u.count for u in lpu.program.units)
        return recorded(lpu, steps)


@cache
def reference(name: str, dtype: str, merge: bool = True) -> Recorded:
    """Return the recording of one thread, whole run at once, with plans."""
    return run(name, dtype, merge=merge)


@pytest.fixture(params=CASES)
def name(request: pytest.FixtureRequest) -> str:
    """One of the cases."""
    return request.param


def test_circuits_are_large_and_odd(name: str) -> None:
    """Each case has a group of ten tiles and more, and no group fills whole vectors."""
    counts = [g.count for g in circuit_of(name).groups]
    assert max(counts) > TILES * TILE
    assert all(count % LANES for count in counts)


def test_every_case_is_alive(name: str, dtype: str) -> None:
    """Most potentials move; many neurons spike, but not at every step."""
    data = reference(name, dtype)
    assert all(np.isfinite(rows).all() for rows in data.values())
    assert np.mean(np.ptp(data["V"], axis=0) > 0) > 0.9
    if "spike_state" in data:
        spiked = data["spike_state"].any(axis=0)
        assert spiked.mean() > 0.3
        assert data["spike_state"].mean() < 0.2
        assert np.mean(data["g"][-1] > 0) > 0.3


def test_plans_are_those_expected(name: str) -> None:
    """The CPU's special plan of each case is chosen, and is not where it is forbidden."""
    case = CASES[name]
    for column, plans in enumerate((True, False)):
        with ready(name, "float64", plans=plans, merge=False, backend="cpu") as lpu:
            assert len(lpu.program.units) == case.kernels[column]
            for group, access, *forms in case.forms:
                assert lpu.program.gathers[group, access].form == forms[column]


def test_run_after_run(name: str, dtype: str) -> None:
    """A second run gives the same bits."""
    assert_same_bits(reference(name, dtype), run(name, dtype))


@pytest.mark.parametrize("threads", [2, 3])
def test_any_number_of_threads(name: str, dtype: str, threads: int) -> None:
    """Threads share the work and change nothing."""
    assert_same_bits(reference(name, dtype), run(name, dtype, threads=threads))


@pytest.mark.parametrize("threads", [1, 2])
def test_step_by_step(name: str, dtype: str, threads: int) -> None:
    """One step per call into compiled code gives the same bits as the whole run in one call."""
    assert_same_bits(reference(name, dtype), run(name, dtype, chunk=1, threads=threads))


def test_uneven_advances(name: str) -> None:
    """A run may be cut anywhere."""
    steps = CASES[name].steps
    with ready(name, "float64", chunk=7) as lpu:
        lpu.start(steps)
        for count in (1, 0, 13, 50, steps - 64):
            lpu.advance(count)
        lpu.finish()
        assert_same_bits(reference(name, "float64"), recorded(lpu, steps))


@pytest.mark.parametrize("threads", [1, 3])
def test_plans_change_no_bit(name: str, dtype: str, threads: int) -> None:
    """Lattice and sliced sums, fused and separate kernels give the same bits."""
    expected = reference(name, dtype, merge=False)
    assert_same_bits(expected, run(name, dtype, plans=False, threads=threads))


@pytest.mark.parametrize(("plans", "merge"), [(True, True), (True, False), (False, False)])
def test_recording_changes_nothing(name: str, dtype: str, plans: bool, merge: bool) -> None:
    """What is not recorded (here g, which a fused kernel then never writes) changes nothing."""
    record = [entry for entry in CASES[name].record if entry[0] not in ("g", "r")]
    assert len(record) < len(CASES[name].record)
    with ready(name, dtype, record, plans=plans, merge=merge, backend="cpu") as lpu:
        fused = plans and CASES[name].kernels[0] < CASES[name].kernels[1]
        fused &= not lpu.program.merged.groups
        assert ("g" in lpu.program.layout.rings) == (name != "optic lobe" and not fused)
    whole = reference(name, dtype, merge)
    part = {variable: whole[variable] for variable, _ in record}
    assert_same_bits(part, run(name, dtype, record=record, plans=plans, merge=merge))


def test_the_types_differ(name: str) -> None:
    """float32 is computed in float32, and stays close to float64 in the first steps."""
    double, single = reference(name, "float64")["V"], reference(name, "float32")["V"]
    assert (double.dtype, single.dtype) == (np.float64, np.float32)
    assert 0 < np.abs(double[:20] - single[:20]).max() < 1e-3 * np.abs(double[:20]).max()
