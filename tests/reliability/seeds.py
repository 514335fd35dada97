"""Good files that are damaged in many ways, and what reads each of them."""

from __future__ import annotations

import json
import random
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import nir
import numpy as np
from support import ALPHA, IAF, graph, node

import neurodriver as nd
from neurodriver import error_driven
from neurodriver.inputs.file import FileInput
from neurodriver.io.nwb import read_units
from neurodriver.state.checkpoint import Checkpoint

NODES = {
    "a": node("LeakyIAF", IAF),
    "s": node("AlphaSynapse", ALPHA, reverse=0.0),
    "b": node("LeakyIAF", IAF, side="left"),
}
NESTML = """
model cell:
    state:
        V_m mV = E_L
        refr_t ms = 0 ms
    equations:
        kernel g = exp(-t / tau_g)
        V_m' = (E_L - V_m) / tau + (unit * convolve(g, ex) + I_stim) / C_m
        refr_t' = -1 / s
    parameters:
        E_L mV = -70 mV
        tau ms = 10 ms
        tau_g ms = 2 ms
        C_m pF = 0.25 nF
    internals:
        unit pA = 1 pA
    input:
        ex <- spike
        I_stim pA <- continuous
    output:
        spike
    update:
        if refr_t > 0 ms:
            integrate_odes(refr_t)
        else:
            integrate_odes(V_m)
    onCondition(refr_t <= 0 ms and V_m >= -55 mV):
        refr_t = 2 ms
        V_m = E_L
        emit_spike()
"""
SIMULATION = {
    "manifest": {"$HERE": "."},
    "network": "$HERE/circuit_config.json",
    "run": {"tstop": 20.0, "dt": 0.1},
    "node_sets": {"some": {"population": "cells", "node_id": [0, 2]}, "both": ["some", "cells"]},
    "inputs": {
        "step": {"input_type": "current_clamp", "module": "IClamp", "node_set": "both",
                 "amp": [100.0, 50.0], "delay": [2.0, 5.0], "duration": [1.0, 3.0]},
    },
    "output": {"output_dir": "out", "spikes_file": "all.h5", "spikes_sort_order": "id"},
    "reports": {
        "V": {"cells": "some", "variable_name": "V_m", "module": "membrane_report",
              "start_time": 2.0, "end_time": 10.0, "dt": 0.5},
    },
}  # fmt: skip
NEUROML = """<?xml version="1.0"?>
<neuroml xmlns="http://www.neuroml.org/schema/neuroml2" id="x">
<iafTauCell id="tau" leakReversal="-50mV" thresh="-55mV" reset="-0.07V" tau="30ms"/>
<iafRefCell id="cap" leakReversal="-50mV" thresh="-55mV" reset="-0.07V" C="0.2nF"
  leakConductance="0.01uS" refract="4ms"/>
<izhikevichCell id="bursts" v0="-70mV" thresh="30mV" a="0.02" b="0.2" c="-50" d="2"/>
</neuroml>
"""

EDGES = [("a", "s", {"variable": "spike_state", "delay": 0.001}), ("s", "b", {"variable": "g"})]


def circuit() -> nd.Circuit:
    """Return a small circuit."""
    return nd.Circuit.from_graph(graph(NODES, EDGES))


def populations() -> nd.Circuit:
    """Return a circuit with places, rules and a rule of plasticity."""
    cells = nd.Population("LeakyIAFShiu", 12, name="cells")
    links = nd.Projection(cells, cells, nd.FixedInDegree(3), receptor="syn", weight=0.5, delay=1e-3)
    return nd.Circuit([cells], [links], seed=1)


def session(path: Path) -> Path:
    """Write an NWB file with units of an experiment."""
    with h5py.File(path, "w") as file:
        units = {"id": np.arange(5), "spike_times_index": [2, 2, 9, 12, 20],
                 "spike_times": np.arange(20) / 1e3, "peak_channel_id": [4, 4, 2, 3, 2],
                 "quality": ["good", "noise", "good", "good", "mua"]}  # fmt: skip
        for name, column in units.items():
            file[f"units/{name}"] = column
        file["general/extracellular_ephys/electrodes/id"] = [2, 3, 4]
        file["general/extracellular_ephys/electrodes/location"] = ["LGd", "VISp", "LGd"]
        file["intervals/flashes/start_time"] = [0.0, 0.01]
        file["intervals/flashes/stop_time"] = [0.01, 0.02]
    return path


def make(folder: Path) -> dict[str, Path]:
    """Write the good files; return them by kind."""
    out = {kind: folder / name for kind, name in NAMES.items()}
    circuit().save(out["circuit"])
    populations().save(out["rules"])
    circuit().save(out["gexf"])
    with h5py.File(out["rows"], "w") as file:
        file["I/uids"] = np.array([b"a", b"b"])
        file.create_dataset("I/data", data=np.ones((40, 2)), chunks=(8, 2), fletcher32=True)
    with h5py.File(out["events"], "w") as file:
        file["spike_state/uids"] = np.array([b"s"])
        file["spike_state/data/time"] = np.linspace(0, 0.01, 20)
        file["spike_state/data/index"] = np.zeros(20, np.int32)
    populations().save(out["sonata"])  # and the files of nodes and edges beside it
    session(out["nwb"])
    out["neuroml"].write_text(NEUROML)
    out["nestml"].write_text(NESTML)
    out["simulation"].write_text(json.dumps(SIMULATION, indent=1))
    out["edges"].write_text("a,b,weight\n" + "".join(f"n{i},n{i + 1},{i / 4}\n" for i in range(30)))
    trainer().save(out["weights"])
    ones = np.ones((2, 3), np.float32)
    nir.write(out["nir"], nir.NIRGraph(
        {"in": nir.Input(np.array([3])), "w": nir.Linear(ones), "out": nir.Output(np.array([2])),
         "lif": nir.LIF(*np.full((4, 2), 0.02, np.float32))},
        [("in", "w"), ("w", "lif"), ("lif", "out")]))  # fmt: skip
    recorder = nd.HDF5Recorder(out["recording"], [("V", None), ("spike_state", None)])
    with nd.LPU(circuit(), 1e-4, nd.StepInput("I", ["a"], 500.0), recorder) as lpu:
        lpu.run(200)
        lpu.save(out["checkpoint"])
    return out


NAMES = {
    "circuit": "circuit.h5", "rules": "rules.h5", "gexf": "circuit.gexf", "rows": "rows.h5",
    "events": "events.h5", "recording": "recording.h5", "checkpoint": "checkpoint.h5",
    "sonata": "circuit_config.json", "sonata_nodes": "circuit_config/cells_nodes.h5",
    "sonata_edges": "circuit_config/cells_to_cells_edges.h5",
    "sonata_types": "circuit_config/cells_to_cells_edge_types.csv",
    "nwb": "session.nwb", "nestml": "neurons.nestml", "simulation": "simulation_config.json",
    "neuroml": "cells.nml", "nir": "network.nir", "edges": "edges.csv", "weights": "weights.h5",
}  # fmt: skip


def _input(path: Path) -> list[Any]:
    source = FileInput(path)
    try:
        source.open(1e-4, np.dtype("float64"))
        chunks = [source.chunk(number, 0, 60) for number in range(len(source.targets))]
        return [(to, one.table, one.row_of_step)
                for to, one in zip(source.targets, chunks, strict=True)]  # fmt: skip
    finally:
        source.close()


def _sonata(path: Path) -> nd.Circuit:
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder, NAMES["sonata"])
        populations().save(config)
        (place,) = Path(folder).rglob(path.name)
        shutil.copy(path, place)
        return nd.Circuit.from_sonata(config)


def _simulation(path: Path) -> list[Any]:
    with tempfile.TemporaryDirectory() as folder:
        params = {"resting_potential": -70.0, "reset_potential": -70.0, "threshold": -50.0}
        params |= {"time_constant": 10.0, "capacitance": 250.0}
        cells = nd.Population("LeakyIAFDelta", 4, name="cells", **params)
        nd.Circuit([cells]).save(Path(folder, NAMES["sonata"]))
        it = nd.read_sonata_simulation(shutil.copy(path, folder))
        named = [(one.path.name, one.uids, one.start, one.stop, one.interval, one.sorting)
                 for one in it.reports]  # fmt: skip
        return [it.circuit.digest, it.dt, it.duration, *(one.targets for one in it.inputs), named]


def _units(path: Path) -> list[Any]:
    units = read_units(path)
    return [units.id, units.begin, units.time, units.columns, units.intervals]


def _edges(path: Path) -> nd.Circuit:
    return nd.Circuit.from_tables(path, source="a", target="b", model="LeakyIAFShiu")


def trainer() -> error_driven.Trainer:
    """Return a trainer of a network of two layers."""
    network = error_driven.Network(minus=20, plus=10, seed=1)
    network.layer("in", "input", (2, 2))
    network.layer("out", "target", (2, 2))
    network.connect("in", "out")
    return error_driven.Trainer(network)


def _weights(path: Path) -> list[Any]:
    with trainer() as made:
        made.load(path)
        with tempfile.TemporaryDirectory() as folder:
            again = Path(folder, "again.h5")
            made.save(again)
            found: list[Any] = [made.trials]
            with h5py.File(again) as file:
                file.visititems(lambda name, one: found.append((name, contents_of(one))))
            return found


def contents_of(part: Any) -> Any:
    """Return the values of a data set, or nothing for a group."""
    return part[()] if isinstance(part, h5py.Dataset) else None


def _recording(path: Path) -> list[Any]:
    with nd.open(path) as recording:
        out: list[Any] = [repr(recording), recording.complete, recording.attributes]
        out += [recording.duration, recording.sample_interval]
        out += [recording.populations, recording.units]
        for name in recording:
            found = recording[name]
            out += [name, repr(found), list(found.uids)]
            if recording.is_events(name):
                out.append(recording.events(name))
            else:
                out += [found[:], np.asarray(found.time), found.unit]
        return [*out, recording.spikes()]


READ: dict[str, Callable[[Path], Any]] = {
    "circuit": nd.Circuit.from_file, "rules": nd.Circuit.from_file, "gexf": nd.Circuit.from_file,
    "rows": _input, "events": _input, "recording": _recording, "checkpoint": Checkpoint,
    "sonata": _sonata, "sonata_nodes": _sonata, "sonata_edges": _sonata, "sonata_types": _sonata,
    "nestml": nd.read_nestml, "simulation": _simulation, "nwb": _units,
    "neuroml": nd.read_neuroml, "nir": nd.Circuit.from_nir, "edges": _edges, "weights": _weights,
}  # fmt: skip
"""What reads a file of each kind."""


def mutated(data: bytes, draw: random.Random) -> bytes:
    """Return bytes with a few of them changed, lost, doubled or cut."""
    out = bytearray(data)
    what = draw.randrange(7)
    if what == 0:
        return bytes(out[: draw.randrange(len(out))])
    for _ in range(draw.choice((1, 1, 2, 8))):
        at = draw.randrange(len(out))
        if what == 1:
            out[at] = draw.randrange(256)
        elif what == 2:
            out[at] ^= 1 << draw.randrange(8)
        elif what == 3:
            size = draw.choice((1, 4, 8, 64, 512))
            out[at : at + size] = bytes([draw.choice((0, 255))]) * len(out[at : at + size])
        elif what == 4:
            end = at + draw.choice((1, 2, 8, 100))
            del out[at:end]
        elif what == 5:
            end = at + draw.choice((1, 2, 8, 100))
            out[at:at] = out[at:end]
        else:
            out[at : at + 8] = draw.choice((2**31, 2**32 - 1, 2**62, 2**64 - 1)).to_bytes(
                8, "little"
            )
        if not out:
            break
    return bytes(out)
