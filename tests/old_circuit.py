"""A circuit of the old classes in ``old_kernels.py``, and declared models that do the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import networkx as nx
from emulated_gpu import MODELS
from support import graph

from neurodriver.compat.inputs import StepInputProcessor
from neurodriver.compat.lpu import LPU
from neurodriver.compat.outputs import OutputRecorder
from neurodriver.model.component import NDComponent, Parameter, State

FILE = str(Path(__file__).parent / "old_kernels.py")
OWN_KERNEL = str(Path(__file__).parent / "old_own_kernel.py")
RECORD = [("V", None), ("spike_state", None), ("I", None)]


class Gate(NDComponent):
    """The class of ``old_kernels.py`` as a declaration."""

    accesses = ("spike_state",)
    updates = ("I",)
    params = {"gain": Parameter()}
    states = {"trace": State("1", 0.0)}
    update = "trace = trace * 0.5 + (spike_state > 0 ? 1 : 0);"
    outputs = {"I": "gain * trace"}


class Mean(NDComponent):
    """Likewise."""

    accesses = ("V",)
    updates = ("I",)
    params = {"share": Parameter()}
    states = {"I": State("1", 0.0)}
    update = "I = share * V;"


class Watched(NDComponent):
    """Likewise."""

    accesses = ("I",)
    updates = ("V",)
    params = {"start": Parameter()}
    states = {"V": State("mV", "start")}
    update = "V = V * 0.5 + I;"


TWINS = [Gate, Mean, Watched]


def circuit() -> nx.MultiDiGraph:
    """Return neurons that reach each other through old classes, with delays and fan-in."""
    nodes: dict[str, Any] = {
        f"n{i}": {"class": "Halving", "start": float(i % 4)} for i in range(40)
    }
    nodes |= {f"w{i}": {"class": "Watched", "start": 0.5 * i} for i in range(3)}
    nodes |= {f"g{i}": {"class": "Gate", "gain": 0.125 * (i % 3 + 1)} for i in range(40)}
    nodes |= {f"m{i}": {"class": "Mean", "share": 0.125} for i in range(35)}
    edges = [(f"n{i}", f"g{i}", {"delay": 1e-4 * (i % 4 + 1)}) for i in range(40)]
    edges += [(f"g{i}", f"n{(7 * i + 1) % 40}", {}) for i in range(40)]
    for i in range(35):
        edges += [(f"n{(3 * i + k) % 40}", f"m{i}", {"variable": "V", "delay": 1e-4 * (k + 1)})
                  for k in range(i % 3)]  # fmt: skip
        edges += [(f"m{i}", f"w{i % 3}", {})]
    nodes["po"] = {"class": "Port", "selector": "/a/v", "port_io": "out", "port_type": "gpot"}
    return graph(nodes, [*edges, ("w1", "po", {"variable": "V"})])


def run_old(extra: Any, **more: Any) -> tuple[dict[str, Any], LPU]:
    """Run the circuit; return what was recorded, and the LPU."""
    recorder = OutputRecorder(RECORD)
    current = StepInputProcessor("I", [f"n{i}" for i in range(40)], 0.375, 2e-4, 1.5e-3)
    lpu = LPU(
        1e-4, "obj", circuit(), input_processors=[current], output_processors=[recorder],
        manager=False, extra_comps=[*MODELS, *extra], **more,
    )  # fmt: skip
    lpu.run(steps=40)
    out = {v: recorder.output[v]["data"] for v in ("V", "I")}
    out |= recorder.output["spike_state"]["data"]
    assert out["I"].any() and len(out["time"]) > 20
    return out, lpu


def check_own_kernel() -> None:
    """Run the class of ``old_own_kernel.py`` from its file, and compare its numbers."""
    recorder = OutputRecorder([("r", None)])
    nodes = {f"k{i}": {"class": "Rectified", "threshold": float(i)} for i in range(5)}
    step = StepInputProcessor("I", list(nodes), 2.5, 3e-4, 1.0)
    lpu = LPU(
        1e-4, "obj", graph(nodes, []), input_processors=[step], output_processors=[recorder],
        manager=False, extra_comps=[OWN_KERNEL],
    )  # fmt: skip
    assert lpu.backend.instances.made
    lpu.run(steps=8)
    found = recorder.output["r"]["data"]
    state, rows = [0.25] * 5, []
    for k in range(7):
        current = 2.5 if k >= 3 else 0.0
        state = [r / 2 + (current if current > i else 0.0) for i, r in enumerate(state)]
        rows.append([r + 1e-4 for r in state])
    assert found[1:].tolist() == rows
