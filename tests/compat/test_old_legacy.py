"""The old entry points for circuits of before 2016."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import numpy as np
from support import DT

from neurodriver import MemoryRecorder
from neurodriver.compat.lpu import LPU

ALPHA = {"model": "AlphaSynapse", "ar": 400.0, "ad": 400.0, "gmax": 2e-6, "reverse": 0.065}
IAF = {"V": -0.06, "Vr": -0.0675489770451, "Vt": -0.0251355161007, "R": 1.024, "C": 0.0669}


def legacy() -> nx.MultiDiGraph:
    """Return two spiking neurons, the first one open to input, and a synapse between them."""
    graph = nx.MultiDiGraph()
    neuron = {"model": "LeakyIAF", "spiking": True, **IAF}
    graph.add_node(0, **neuron, extern=True, public=False, selector="")
    graph.add_node(1, **neuron, extern=False, public=True, selector="/a/1")
    graph.add_edge(0, 1, **{"class": 0, "conductance": True, "delay": 1.0, "id": 0, **ALPHA})
    return graph


def test_conv_legacy_graph() -> None:
    """The graph is one of today: a synapse node with its delay on the first edge, and a port."""
    found = LPU.conv_legacy_graph(legacy())
    classes = [data["class"] for _, data in found.nodes(data=True)]
    assert sorted(classes) == ["AlphaSynapse", "LeakyIAF", "LeakyIAF", "Port"]
    synapse = next(n for n, data in found.nodes(data=True) if data["class"] == "AlphaSynapse")
    ((_, _, before),) = found.in_edges(synapse, data=True)
    assert before["delay"] == 1e-3
    np.testing.assert_allclose(found.nodes[synapse]["ar"], 0.4)
    recorder = MemoryRecorder([("V", None)])
    lpu = LPU(DT, "obj", found, id="a", manager=False, output_processors=[recorder])
    lpu.run(steps=50)
    assert np.ptp(recorder.get("V")) > 0


def test_lpu_parser_legacy(tmp_path: Path) -> None:
    """A file gives the dictionaries and connections that its converted graph gives."""
    nx.write_gexf(legacy(), tmp_path / "old.gexf")
    components, connections = LPU.lpu_parser_legacy(str(tmp_path / "old.gexf"))
    assert set(components) == {"LeakyIAF", "AlphaSynapse", "Port"}
    assert len(components["LeakyIAF"]["id"]) == 2
    expected, wires = LPU.graph_to_dicts(LPU.conv_legacy_graph(legacy()))
    np.testing.assert_allclose(
        components["LeakyIAF"]["resistance"], expected["LeakyIAF"]["resistance"]
    )
    assert len(list(connections)) == len(list(wires)) == 3
