"""Networks of the Allen Institute, as they publish them and as BMTK runs them with NEST.

The first test needs a checkout of github.com/AllenInstitute/sonata, and its path in the variable
NEURODRIVER_SONATA. The second one needs bmtk and nest.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import neurodriver as nd

EXAMPLES = os.environ.get("NEURODRIVER_SONATA", "")


def fired(circuit: nd.Circuit, dt: float, seconds: float, files: dict[str, Path]) -> dict[str, Any]:
    """Return the spike times of each neuron, given files of spikes by population."""
    inputs = [nd.SonataInput(path, name) for name, path in files.items()]
    with nd.LPU(circuit, dt=dt, inputs=inputs) as lpu:
        return lpu.run(duration=seconds, record=["spike_state"]).recording.spikes()


@pytest.mark.skipif(not EXAMPLES, reason="NEURODRIVER_SONATA names no checkout of the examples")
def test_stored_spikes_of_300_intfire() -> None:
    """Each neuron fires as often as in the stored run of NEURON, within 1 % in all."""
    folder = Path(EXAMPLES) / "examples" / "300_intfire"
    with h5py.File(folder / "output" / "spikes.h5") as file:
        nodes, times = file["spikes/v1/node_ids"][()], file["spikes/v1/timestamps"][()]
    circuit = nd.Circuit.from_sonata(folder / "circuit_config.json")
    files = {name: folder / "inputs" / f"{name}_spikes.h5" for name in ("lgn", "tw")}
    found = fired(circuit, 2.5e-5, 3.0, files)
    counts = np.array([len(found[f"v1/{i}"]) for i in range(300)])
    stored = np.bincount(nodes.astype(int), minlength=300)
    assert stored.sum() > 4000 and abs(counts.sum() / stored.sum() - 1) < 0.01
    assert (counts == stored).mean() > 0.99
    apart = [
        np.abs(np.sort(times[nodes == i]) - found[f"v1/{i}"] * 1e3).max()
        for i in np.flatnonzero((counts == stored) & (stored > 0))
    ]
    assert np.median(apart) < 0.03  # ms


def trains(path: Path) -> dict[int, Any]:
    """Return the spikes of 80 nodes of v1, ms."""
    from bmtk.utils.reports.spike_trains import SpikeTrains

    read = SpikeTrains.load(str(path))
    return {i: np.sort(read.get_times(i, population="v1")) for i in range(80)}


def potentials(path: Path) -> Any:
    """Return the rows of a report of v1, in the order of node ids."""
    from bmtk.utils.reports import CompartmentReport

    report = CompartmentReport(str(path), mode="r", population="v1")
    order = np.argsort(report.node_ids())
    return np.asarray(report.data())[:, order]


TYPES = {
    "E": {"after_spike_currents": True, "V_th": -46.0, "g": 6.0, "C_m": 59.0},
    "I": {"after_spike_currents": False, "V_th": -48.0, "g": 8.0, "C_m": 64.0},
}
COMMON = {"E_L": -70.0, "V_m": -70.0, "V_reset": -70.0, "t_ref": 2.5, "tau_syn": [5.5, 8.5, 2.8]}


def build(folder: Path) -> None:
    """Build a network of two types and its input with BMTK, in the working folder."""
    from bmtk.builder import NetworkBuilder
    from bmtk.utils.reports.spike_trains import PoissonSpikeGenerator

    draws = np.random.default_rng(3)
    for name, said in TYPES.items():
        (folder / f"{name}.json").write_text(json.dumps({**COMMON, **said}))
    for port in (1, 2, 3):
        (folder / f"port{port}.json").write_text(json.dumps({"receptor_type": port}))
    v1, lgn = NetworkBuilder("v1"), NetworkBuilder("lgn")
    for name, count in (("E", 60), ("I", 20)):
        cell = {"model_type": "point_neuron", "model_template": "nest:glif_psc"}
        v1.add_nodes(N=count, ei=name, dynamics_params=f"{name}.json", **cell)
    lgn.add_nodes(N=40, model_type="virtual", ei="E")

    def syns(source: Any, target: Any) -> int:
        return int(draws.integers(0, 4) * (draws.random() < 0.3))

    links = (("E", v1, 1, 5.0, 1.5), ("I", v1, 2, -12.0, 0.9), ("E", lgn, 3, 40.0, 2.0))
    for ei, network, port, weight, delay in links:
        network.add_edges(
            source=network.nodes(ei=ei), target=v1.nodes(), connection_rule=syns, delay=delay,
            syn_weight=weight, dynamics_params=f"port{port}.json", model_template="static_synapse",
        )  # fmt: skip
    for network in (v1, lgn):
        network.build()
        network.save(output_dir="network")
    trains = PoissonSpikeGenerator(seed=5)
    trains.add(node_ids=range(40), firing_rate=20.0, times=(0.0, 1.0), population="lgn")
    trains.to_sonata("lgn.h5")
    config = {
        "target_simulator": "NEST",
        "run": {"tstop": 1000.0, "dt": 0.1},
        "components": {"point_neuron_models_dir": ".", "synaptic_models_dir": "."},
        "networks": {
            f"{kind}s": [
                {f"{kind}s_file": f"network/{name}_{kind}s.h5",
                 f"{kind}_types_file": f"network/{name}_{kind}_types.csv"}
                for name in names
            ]
            for kind, names in (("node", ("v1", "lgn")), ("edge", ("v1_v1", "lgn_v1")))
        },
        "inputs": {
            "lgn": {"input_type": "spikes", "module": "sonata", "input_file": "lgn.h5",
                    "node_set": "lgn"},
        },
        "output": {"output_dir": "output", "spikes_file": "spikes.h5", "log_file": "log.txt"},
        "reports": {
            "V_m": {"cells": "v1", "variable_name": "V_m", "module": "membrane_report",
                    "sections": "soma"},
        },
    }  # fmt: skip
    (folder / "config.json").write_text(json.dumps(config))


def test_rates_of_bmtk_with_nest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rates, most first spikes, and the potentials before them are those of BMTK.

    The files that neurodriver writes have the places and the names of BMTK's.
    """
    pytest.importorskip("nest")
    pytest.importorskip("bmtk")
    from bmtk.simulator import pointnet

    monkeypatch.chdir(tmp_path)
    build(tmp_path)
    config = pointnet.Config.from_json("config.json")
    config.build_env()
    pointnet.PointSimulator.from_config(config, pointnet.PointNetwork.from_config(config)).run()
    with h5py.File("output/spikes.h5") as file:
        nodes, times = file["spikes/v1/node_ids"][()], file["spikes/v1/timestamps"][()]
    copy = tmp_path / "copy"  # bmtk keeps its files open
    shutil.copytree(tmp_path / "network", copy / "network")
    for path in tmp_path.glob("*.json"):
        shutil.copy(path, copy)
    shutil.copy(tmp_path / "lgn.h5", copy)
    it = nd.read_sonata_simulation(copy / "config.json")
    with nd.LPU(it.circuit, it.dt, it.inputs) as lpu:
        it.write(lpu.run(duration=it.duration, record=it.record).recording)
    found = trains(copy / "output" / "spikes.h5")
    counts = np.array([len(found[i]) for i in range(80)])
    wanted = np.bincount(nodes.astype(int), minlength=80)
    for members in (slice(0, 60), slice(60, 80)):
        assert wanted[members].sum() > 100
        assert abs(counts[members].sum() / wanted[members].sum() - 1) < 0.05
    both = np.flatnonzero((counts > 0) & (wanted > 0))
    first = [abs(times[nodes == i].min() - found[i][0]) < 0.05 for i in both]
    assert len(both) > 60 and np.mean(first) > 0.5
    ours, theirs = potentials(copy / "output" / "V_m.h5"), potentials(Path("output/V_m.h5"))
    early = slice(1, int(min(times) / 0.1) - 2)  # before any neuron fires
    assert early.stop > 20 and np.ptp(theirs[early]) > 1.0
    np.testing.assert_allclose(ours[early], theirs[0 : early.stop - 1], rtol=0, atol=1e-3)
