"""Connections that are stored nowhere, on a GPU: the bits of the CPU."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from placed import WAYS, circuit

import neurodriver as nd
from neurodriver.circuits import optic_lobe


def sums(one: nd.Circuit, **more: Any) -> tuple[dict[str, bytes], set[str]]:
    with nd.LPU(one, dt=1e-3, **more) as lpu:
        lpu.advance(5)
        forms = {gather.form for gather in lpu.program.gathers.values()}
        return {way: np.array(lpu["Seen"].get(f"r_{way}")).tobytes() for way in WAYS}, forms


@pytest.mark.parametrize(
    ("kind", "masked", "dtype"),
    [("even", True, "float64"), ("even", False, "float32"), ("closed", False, "float32"),
     ("closed uneven", False, "float64"), ("uneven", True, "float32")],
)  # fmt: skip
def test_bits_of_the_cpu(kind: str, masked: bool, dtype: str, executor: str) -> None:
    """All reductions, delays, masks, closed and irregular axes."""
    one = circuit(kind, masked, False)
    found, forms = sums(one, dtype=dtype, backend="cuda", executor=executor)
    assert forms == {"by_place"}
    assert found == sums(one, dtype=dtype)[0]


@pytest.mark.parametrize(
    ("extent", "dtype"), [(5, "float32"), (30, "float64"), (30, "float32"), (60, "float32")]
)
def test_the_optic_lobe(extent: int, dtype: str) -> None:
    bits = []
    for backend in ("cpu", "cuda"):
        one = optic_lobe.from_rules(extent, stored=False)
        with nd.LPU(one, dt=1e-3, dtype=dtype, backend=backend) as lpu:
            lpu["R1"].set("V", 0.7)
            lpu.advance(30)
            bits.append({name: np.array(lpu[name].get("r")).tobytes() for name in one.populations})
        assert not any("_columns" in vars(links) for links in one.connections)
    assert bits[0] == bits[1]


@pytest.mark.parametrize("reduce", ["sum", "max"])
def test_values_of_the_same_step(reduce: str, executor: str) -> None:
    """Layers in an order: each reads what the one before it wrote in this step."""
    seen = {"accesses": [nd.Access("r", reduce=reduce)], "updates": {"r": "1"}}
    model = type("Seeing", (nd.NDComponent,), {**seen, "update": "r = 0.5 * input_r + 0.1;"})
    axes = {"y": nd.Axis.span(50, 0, 50), "x": nd.Axis.span(70, 0, 70)}
    first = {"bias": nd.Uniform(0, 1), "time_constant": 3.0}
    layers = [nd.Population("GradedNeuron", name="a", axes=axes, **first)]
    layers += [nd.Population(model, name=name, axes=axes) for name in "bcd"]
    rule, found = nd.Near(y=3, x=5), []
    for backend, stored in (("cpu", True), ("cpu", False), ("cuda", False)):
        links = [nd.Projection(one, other, rule, stored=stored) for one, other in pairwise(layers)]
        circuit = nd.Circuit(layers, links, order="listed", seed=3)
        more = {"executor": executor} if backend == "cuda" else {}
        with nd.LPU(circuit, dt=1e-3, dtype="float32", backend=backend, **more) as lpu:
            lpu.advance(7)
            forms = {gather.form for gather in lpu.program.gathers.values()}
            assert ("by_place" in forms) == (not stored)
            found.append([np.array(lpu[name].get("r")).tobytes() for name in "abcd"])
    assert found[0] == found[1] == found[2] and len(set(found[0])) == 4
