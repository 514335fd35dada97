"""S1, C1, S2 and C2 of a model of the visual cortex, against a program in NumPy and SciPy."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from support import example

import neurodriver as nd

DATA = Path(__file__).parents[3] / "shared" / "data" / "layers"
LARGEST = {"float64": 1e-12, "float32": 5e-6}
"""Largest difference, as a share of a layer's largest value."""

SOME = {
    "other sizes": {"shape": (49, 60), "extent": ((0.0, 2.0), (-1.0, 3.0)), "protos": 3},
    "mask and steps": {"shape": (52, 48), "s1_step": 2, "pool": 6, "pool_step": 3, "masked": True},
    "three scales to a pool": {"shape": (50, 50), "scales": 4, "bands": 3, "thetas": 2},
}


def computed(case: Any, given: Any, dtype: str, threads: int) -> dict[str, np.ndarray]:
    """Return every layer of a picture."""
    counts = given["mask"].astype(float)
    layers = example("serre_2007").layers(case, given["filters"], given["prototypes"], counts)
    circuit = nd.Circuit(layers, order="listed")
    with nd.LPU(circuit, dt=1e-3, dtype=dtype, threads=threads) as lpu:
        lpu["image"].set("val", (given["image"] / 255.0).reshape(-1))
        lpu.advance(1)
        return {p.name: np.array(lpu[p.name].get("val")).reshape(p.shape) for p in layers}


def largest(found: dict[str, np.ndarray], wanted: Any) -> float:
    """Return the largest difference of a layer, as a share of its largest value."""
    names = [name for name in found if name != "image"]
    assert len(names) >= 9
    return max(
        float(np.abs(found[name] - wanted[name]).max() / np.abs(wanted[name]).max())
        for name in names
    )


@pytest.mark.parametrize("dtype", LARGEST)
def test_every_layer_is_that_of_the_reference(reference: ModuleType, dtype: str) -> None:
    case, kept = reference.Case(), np.load(DATA / "hmax_a.npz")
    found = computed(case, kept, dtype, 1)
    assert largest(found, kept) < LARGEST[dtype]
    for threads in (2, 3):
        other = computed(case, kept, dtype, threads)
        assert all(np.array_equal(found[name], other[name]) for name in found)


@pytest.mark.parametrize("name", SOME)
def test_other_sizes_extents_steps_and_masks(reference: ModuleType, name: str) -> None:
    case = replace(reference.Case(), **SOME[name])
    given = reference.inputs(case)
    parts = (given[part] for part in ("image", "filters", "prototypes", "mask"))
    found = computed(case, given, "float64", 2)
    assert largest(found, reference.run(case, *parts)) < LARGEST["float64"]


def test_without_an_order_each_layer_takes_a_step(reference: ModuleType) -> None:
    case, kept = reference.Case(), np.load(DATA / "hmax_a.npz")
    found = computed(case, kept, "float64", 1)
    counts = kept["mask"].astype(float)
    layers = example("serre_2007").layers(case, kept["filters"], kept["prototypes"], counts)
    with nd.LPU(nd.Circuit(layers), dt=1e-3) as lpu:
        lpu["image"].set("val", (kept["image"] / 255.0).reshape(-1))
        for step, name in enumerate(["s0_0", "s1_0", "c1_0", "s2_0", "c2"]):
            before = np.array(lpu[name].get("val")).reshape(found[name].shape)
            lpu.advance(1)
            after = np.array(lpu[name].get("val")).reshape(found[name].shape)
            assert np.array_equal(after, found[name]), step
            assert not np.array_equal(before, after)


def test_the_model_is_short() -> None:
    """It has at most 90 lines of code, texts of kernels included, and no arithmetic of indices."""
    text = Path(example("serre_2007").__file__ or "").read_text(encoding="utf-8")
    lines = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.stmt) and not (
            isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        ):
            inner = isinstance(node, ast.ClassDef | ast.FunctionDef | ast.For)
            end = node.body[0].lineno - 1 if inner else node.end_lineno
            lines |= set(range(node.lineno, (end or node.lineno) + 1))
    assert 50 < len(lines) <= 90
