"""Layers of useful sizes: many pictures in one call, and memory that connections do not need."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from support import example

import neurodriver as nd
from neurodriver.circuits import optic_lobe

PICTURES = 1000


def test_a_picture_in_each_step_of_one_call(reference: ModuleType) -> None:
    """C2 has each picture's values, by another program; row n + 1 is recorded after picture n."""
    case = reference.Case(shape=(24, 26), scales=2, thetas=2, pool=5, pool_step=3, rf=7, protos=3)
    given = reference.inputs(case)
    rest = [given[part] for part in ("filters", "prototypes", "mask")]
    layers = example("serre_2007").layers(case, *rest[:2], given["mask"].astype(float))
    shown = np.random.default_rng(0).integers(0, 256, (PICTURES, *case.shape))
    source = nd.ArrayInput({"val": (layers[0].uids, shown.reshape(PICTURES, -1) / 255.0)})
    recorder = nd.MemoryRecorder([("val", layers[-1].uids)])
    with nd.LPU(nd.Circuit(layers, order="listed"), 1e-3, source, recorder) as lpu:
        lpu.run(PICTURES + 1)
        found = recorder.get("val")[1:]
    assert found.shape == (PICTURES, case.protos) and len(np.unique(found)) > PICTURES
    for number in (0, 1, 499, PICTURES - 1):
        want = reference.run(case, shown[number], *rest)["c2"].reshape(-1)
        assert np.abs(found[number] - want).max() < 1e-12 * np.abs(want).max()


def largest(lpu: nd.LPU) -> int:
    """Return how many elements the largest array of a program has."""
    return max(row.size for row in lpu.program.arrays.values())


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(("extent", "edges"), [(15, 1_513_231), (30, 6_022_853)])
def test_the_optic_lobe_of_the_paper(extent: int, edges: int, dtype: str) -> None:
    """The bits of stored connections, and no array as long as they are."""
    ways = optic_lobe.from_rules(extent, stored=False), optic_lobe.circuit(extent)
    bits: list[Any] = []
    for one in ways:
        with nd.LPU(one, 5e-3, dtype=dtype) as lpu:
            lpu["R1"].set("V", 0.7)
            lpu.advance(8)
            bits.append({name: lpu[name].get("V").tobytes() for name in one.populations})
            if one is ways[0]:
                assert 5 * largest(lpu) < one.edges
    assert ways[0].edges == ways[1].edges == edges
    assert bits[0] == bits[1] and len(set(bits[0].values())) > 40


def test_no_array_of_a_sheet_is_as_long_as_its_connections() -> None:
    """Spikes within 12 cells, on a torus: the largest array has a number for each cell."""
    axis = nd.Axis.span(150, 0, 150, period=150)
    cell = {"resting_potential": -65, "reset_potential": -65, "threshold": -50,
            "time_constant": 10, "capacitance": 250, "refractory_period": 2,
            "drive_rate": 5000.0, "drive_weight": 0.5}  # fmt: skip
    sheet = nd.Population("LeakyIAFDeltaDriven", name="s", axes={"y": axis, "x": axis}, **cell)
    weight = nd.Formula("1.2 * exp(-d2 / 8) - 0.5 * exp(-d2 / 50)")
    rule = nd.Within(12.0, autapses=False)
    links = [nd.Projection(sheet, sheet, rule, weight=weight, delay=1e-3, stored=False)]
    with nd.LPU(nd.Circuit([sheet], links, seed=1), 1e-4, dtype="float32") as lpu:
        assert lpu.circuit.edges == 22_500 * 440
        assert sum(row.nbytes for row in lpu.program.arrays.values()) < lpu.circuit.edges
        lpu.advance(200)
        assert np.ptp(lpu.get("V")) > 1


def test_the_optic_lobe_takes_sixty_bytes_a_cell() -> None:
    """All that is alive in a run at extent 60, the circuit with its parameters included."""
    code = """
        import gc, tracemalloc
        import neurodriver as nd
        from neurodriver.circuits import optic_lobe

        def run(extent):
            one = optic_lobe.from_rules(extent, stored=False)
            lpu = nd.LPU(one, 5e-3, dtype="float32", threads=2)
            lpu.advance(3)
            return one, lpu

        run(3)
        gc.collect()
        tracemalloc.start()
        one, lpu = run(60)
        gc.collect()
        print(one.count, tracemalloc.get_traced_memory()[0])
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True
    )
    cells, alive = map(int, done.stdout.split())
    assert cells == 695_525 and alive <= 60 * cells
