"""A spiking sheet connected by distance: the rule and its columns have the same bits."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import neurodriver as nd
from neurodriver.model.library import shipped

ROOT = Path(__file__).parents[2]
LIF = {"resting_potential": -65.0, "reset_potential": -65.0, "threshold": -50.0,
       "time_constant": 10.0, "capacitance": 250.0, "refractory_period": 2.0,
       "drive_rate": 5000.0, "drive_weight": 0.5}  # fmt: skip


def sheet(size: int, period: float | None, scattered: bool = False) -> nd.Circuit:
    """Return cells on irregular axes, or anywhere, with a difference of Gaussians within 12."""
    i = np.arange(size)
    y, x = (nd.Axis.at(i + 0.3 * np.sin(f * i), period=period) for f in (2.3, 1.7))
    space: dict[str, Any] = {"axes": {"y": y, "x": x}}
    if scattered:
        i, a = np.arange(size * size), 1 / 1.324717957244746
        places = {"y": size * ((0.5 + i * a) % 1.0), "x": size * ((0.5 + i * (a * a)) % 1.0)}
        space = {"positions": places, "period": period}
    cells = nd.Population("LeakyIAFDeltaDriven", name="sheet", **space, **LIF)
    weight = nd.Formula("1.2 * exp(-d2 / 8) - 0.5 * exp(-d2 / 50)")
    delay = nd.Formula("5e-4 + 1e-4 * d")
    rule = nd.Within(12.0, autapses=False)
    dog = nd.Projection(cells, cells, rule, name="dog", weight=weight, delay=delay)
    return nd.Circuit([cells], [dog], seed=1)


@cache
def columns(period: float | None, scattered: bool) -> nd.Connections:
    """Return the connections of 10,000 cells."""
    return sheet(100, period, scattered).connections[0].expanded()


def run(circuit: nd.Circuit, steps: int, **more: Any) -> tuple[int, bytes, bytes]:
    recorder = nd.MemoryRecorder([("spike_state", None)])
    with nd.LPU(circuit, dt=1e-4, seed=1, recorders=[recorder], **more) as lpu:
        lpu.run(steps=steps)
        V = lpu["sheet" if circuit.spaces else "LeakyIAFDeltaDriven"].get("V").tobytes()
    spikes = recorder.get("spike_state")
    return len(spikes["time"]), np.asarray(spikes["time"]).tobytes(), V


@pytest.mark.parametrize(("dtype", "scattered"), [("float64", False), ("float32", True)])
def test_the_rule_and_its_columns(dtype: str, scattered: bool) -> None:
    circuit = sheet(30, None, scattered)
    links = circuit.connections[0].expanded()
    columns = circuit.with_parts(circuit.groups, [links])
    found = run(circuit, 1000, dtype=dtype)
    assert found[0] > 500
    assert found == run(columns, 1000, dtype=dtype, plans=False)
    assert found == run(circuit, 1000, dtype=dtype, threads=3)


@pytest.mark.parametrize(
    ("dtype", "period", "scattered", "spikes"),
    [("float64", 100.0, False, 132_326), ("float32", 100.0, False, 132_391),
     ("float64", None, False, 149_081), ("float64", 100.0, True, 132_528)],
)  # fmt: skip
def test_as_many_spikes_as_with_edges_by_brute_force(
    dtype: str, period: float | None, scattered: bool, spikes: int
) -> None:
    """10,000 cells, closed or open, 5,000 steps: the numbers of another program's edges.

    Cells of arrays without names draw random numbers by their place in the circuit. The rule has
    the same bits as its columns where the cells of the population draw them so, too.
    """
    links = columns(period, scattered)
    cells = [(shipped()["LeakyIAFDeltaDriven"], 10_000, LIF, None)]
    found = run(nd.Circuit.from_arrays(cells, [links]), 5000, dtype=dtype)
    assert found[0] == spikes
    rule = sheet(100, period, scattered)
    by_place = replace(rule.groups[0], keys=np.arange(10_000, dtype=np.uint64))
    assert run(rule.changed(groups=[by_place]), 5000, dtype=dtype) == found


def test_cells_of_a_population_draw_by_their_names() -> None:
    """Another sample of the same process: so a population has its bits wherever it is listed."""
    alone = sheet(100, None)
    assert run(alone, 5000)[0] == 148_937


def test_the_example(tmp_path: Path) -> None:
    """A small sheet answers the edges of a bar more than its middle, and has a figure."""
    figure = tmp_path / "sheet.png"
    script = str(ROOT / "examples" / "12_spiking_sheet.py")
    done = subprocess.run(
        [sys.executable, script, "--cells", "80", "--seconds", "0.15", "--figure", str(figure)],
        capture_output=True, text=True, timeout=120, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "12,800 LeakyIAFDeltaDriven; 5,638,400 connections" in done.stdout
    edges, middle, beyond = map(float, re.findall(r"\d+\.\d", done.stdout.splitlines()[1]))
    assert edges > 1.3 * middle and edges > 1.3 * beyond > 5
    assert figure.read_bytes().startswith(b"\x89PNG")
