"""Graded ports, recorded ports and ports of another variable go on with equal bits."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from support import DT, IAF, POWER, build, node

from neurodriver import LPU, Manager, MemoryRecorder, StepInput
from neurodriver.mpi import world
from neurodriver.ports import Pattern

STEPS, CUTS = 200, (0, 61, 130)
PLACES = [(0, 0), (0, 1), (1, 0)]
CHAINS = [(0, 1, 2), (1, 0, 1), (2, 1, 1), (1, 2, 0)]
GPOT = {"class": "Port", "port_type": "gpot"}


@pytest.fixture
def path(tmp_path: Path) -> Iterator[Path]:
    """One file for both ranks."""
    yield Path(world().spread(str(tmp_path))) / "job.h5"
    world().gather(None)


def manager(
    places: tuple[int, int], delay: float, ports: bool = True
) -> tuple[Manager, MemoryRecorder]:
    """A potential and a current of one LPU lead to synapses of another, the current as potential.

    The recorder of the second LPU records an input port, too, if it may (``ports``). Then messages
    bring few steps.
    """
    a = build(
        {
            "a": node("LeakyIAF", IAF, initV=-65.0),
            "ou": node("OrnsteinUhlenbeckCurrent", {"sigma": 1.0, "time_constant": 5.0}),
            "v": {**GPOT, "selector": "/a/v", "port_io": "out"},
            "i": {**GPOT, "selector": "/a/i", "port_io": "out"},
        },
        [("a", "v", {"variable": "V"}), ("ou", "i", {"variable": "I"}), ("ou", "a")],
    )
    power = {**POWER, "threshold": -70.0, "reverse": -30.0}
    b = build(
        {
            "v": {**GPOT, "selector": "/b/v", "port_io": "in"},
            "i": {**GPOT, "selector": "/b/i", "port_io": "in"},
            "s": node("PowerGPotGPot", power),
            "t": node("PowerGPotGPot", {**power, "threshold": 0.0}),
            "late": node("PowerGPotGPot", {**power, "threshold": -0.5}),
            "b": node("LeakyIAF", IAF),
        },
        [("v", "s", {"delay": 7e-4}), ("i", "t", {"variable": "V"}),
         ("i", "late", {"variable": "V", "delay": 12e-4}), ("s", "b"), ("t", "b"), ("late", "b")],
    )  # fmt: skip
    recorder = MemoryRecorder([("V", ["b", "v"] if ports else ["b"]), ("g", None)])
    man = Manager(timeout=60.0, quiet=True)
    man.add(LPU, "a", a, DT, [StepInput("I", ["a"], 3.0, 0.002, 0.02)], rank=places[0])
    man.add(LPU, "b", b, DT, [], [recorder], rank=places[1])
    pattern = Pattern("/a/v,/a/i", "/b/v,/b/i")
    pattern["/a/v", "/b/v"] = 1
    pattern["/a/i", "/b/i"] = 1
    man.connect("a", "b", pattern, delay=delay)
    return man, recorder


def run(man: Manager, recorder: MemoryRecorder, steps: int, path: Path | None) -> np.ndarray:
    """Run, and return all columns on every rank."""
    man.start(steps=steps, checkpoint=path)
    man.wait()
    rows = np.hstack([recorder.get("V"), recorder.get("g")]) if "b" in man.lpus else None
    return next(one for one in world().gather(rows) if one is not None)


@pytest.mark.parametrize("chain", CHAINS)
@pytest.mark.parametrize("delay", [0.0, 5e-4])
def test_graded_ports(chain: tuple[int, ...], delay: float, path: Path) -> None:
    """A relay within a process and imports between ranks hold the same."""
    expected = run(*manager(PLACES[0], delay), STEPS, None)
    assert (np.ptp(expected, axis=0) > 1e-3).all() and expected.shape == (STEPS, 5)
    for number, (first, end) in enumerate(itertools.pairwise([*CUTS, STEPS])):
        man, recorder = manager(PLACES[chain[number]], delay)
        if number:
            assert man.resume(path) == first
        found = run(man, recorder, end - first, path)
        np.testing.assert_array_equal(found, expected[first:end])


def changed(man: Manager) -> Manager:
    """Set states of the first LPU, which the second one reads some steps later."""
    man.spawn()
    if "a" in man.lpus:
        man.lpus["a"].set("V", -40.0)
        man.lpus["a"].set("I", 3.0)
    return man


@pytest.mark.parametrize("chain", CHAINS)
@pytest.mark.parametrize("cuts", [(0,), (0, 1, 2), (0, 5, 11)])
@pytest.mark.parametrize(("delay", "ports"), [(0.0, True), (5e-4, True), (20e-4, False)])
def test_values_set_before_the_first_step(
    chain: tuple[int, ...], cuts: tuple[int, ...], delay: float, ports: bool, path: Path
) -> None:
    """They reach others after all delays; before, others read what the LPU began with."""
    man, recorder = manager(PLACES[0], delay, ports)
    plain = run(man, recorder, STEPS, None)
    man, recorder = manager(PLACES[0], delay, ports)
    expected = run(changed(man), recorder, STEPS, None)
    late = 1 + round(delay / DT)
    assert (expected[:late] == plain[:late]).all()
    assert (expected[late:] != plain[late:]).any(axis=0).all()
    for number, (first, end) in enumerate(itertools.pairwise([*cuts, STEPS])):
        man, recorder = manager(PLACES[chain[number]], delay, ports)
        if number:
            assert man.resume(path) == first
        else:
            changed(man)
        found = run(man, recorder, end - first, path)
        np.testing.assert_array_equal(found, expected[first:end])
