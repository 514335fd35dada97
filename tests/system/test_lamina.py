"""A real legacy circuit: the fly's lamina, 9,566 neurons and 63,768 synapses."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from numpy.testing import assert_allclose

from neurodriver import LPU, Circuit, LegacyInput, MemoryRecorder, StepInput
from neurodriver.circuit.records import Records, no_collection
from neurodriver.compat.legacy.inputs import extern
from neurodriver.errors import CircuitWarning
from neurodriver.io.gexf import read_gexf

ROOT = Path(__file__).parents[2]
FILE = ROOT.parent / "shared" / "data" / "neurokernel" / "lamina.gexf.gz"
DT = 1e-4

pytestmark = pytest.mark.skipif(
    not FILE.exists(), reason=f"{FILE.name} of Neurokernel is not part of the project"
)


@pytest.fixture(scope="module")
def lamina() -> Circuit:
    """Return the converted circuit."""
    with pytest.warns(CircuitWarning, match="9,566 neurons, 1,536 input ports and 63,768 synapses"):
        return Circuit.from_file(FILE)


@pytest.fixture(scope="module")
def example() -> Any:
    """Return the example as a module."""
    spec = importlib.util.spec_from_file_location("lamina", ROOT / "examples" / "03_lamina.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_what_the_file_holds(lamina: Circuit) -> None:
    """Neurons, ports and synapses are all there, with the file's numbers in mV and s."""
    counts = {group.name: group.count for group in lamina.groups}
    assert counts == {"MorrisLecar": 9566, "PowerGPotGPot": 63768, "Port": 1536 + 4608}
    assert lamina.edges == 2 * 63768 + 4608
    neurons, synapses = lamina.group("MorrisLecar"), lamina.group("PowerGPotGPot")
    assert sorted(set(neurons.params["initV"])) == pytest.approx([-52.14, -51.84, -50.0])
    assert set(neurons.params["V_K"]) == {-70.0}
    assert synapses.params["slope"].max() == pytest.approx(8e-3)
    assert synapses.params["saturation"].max() == 1.0
    (into,) = [c for c in lamina.connections if c.variable == "V" and c.access == "V"]
    assert set(into.delay.tolist()) == {0.001}
    (onto,) = [c for c in lamina.connections if c.variable == "g"]
    assert sorted(set(onto.data["reverse"])) == pytest.approx([-80.0, -70.0, 0.0])
    uids, factors = extern(lamina)
    assert uids == [str(i) for i in range(4608)] and set(factors) == {1000.0}


class InVolts:
    """The whole lamina in V, s and legacy currents, integrated with NumPy as rows of today."""

    def __init__(self, records: Records) -> None:
        order = np.argsort(np.array(records.uids, dtype=int))
        nodes = [records.nodes[i] for i in order]
        self.port = np.array([d["model"] == "port_in_gpot" for d in nodes])
        names = ("V1", "V2", "V3", "V4", "phi", "offset", "initV", "initn")
        self.given = {name: np.array([d[name] for d in nodes]) for name in names}
        ends = np.array([records.sources, records.targets], dtype=int)
        rows = np.lexsort(ends[::-1])
        self.pre, self.post = ends[:, rows]
        edges = [records.edges[i] for i in rows]
        names = ("slope", "threshold", "power", "saturation", "reverse", "delay")
        self.edge = {name: np.array([d[name] for d in edges]) for name in names}

    def run(self, outside: np.ndarray) -> np.ndarray:
        """Return V in volts, (steps + 1, nodes); ``outside`` is (steps, nodes)."""
        p, e = self.given, self.edge
        (back,) = set(np.rint(e["delay"] * 1e-3 / DT).astype(int))
        rows = [np.where(self.port, 0.0, p["initV"])]  # an unconnected port holds 0
        n, g = p["initn"].copy(), np.zeros(len(self.pre))
        pending = np.zeros(len(self.port))
        for given in outside:
            before, current = rows[-1], given + pending
            V = before.copy()
            for _ in range(10):
                m_inf = 0.5 * (1 + np.tanh((V - p["V1"]) / p["V2"]))
                n_inf = 0.5 * (1 + np.tanh((V - p["V3"]) / p["V4"]))
                rate = p["phi"] * np.cosh((V - p["V3"]) / (2 * p["V4"]))
                ionic = 0.5 * (V + 0.05) + 2.0 * n * (V + 0.07) + 1.1 * m_inf * (V - 0.1)
                V, n = V + 0.01 * (current - ionic + p["offset"]), n + 0.01 * rate * (n_inf - n)
                V, n = np.where(self.port, 0.0, V), np.where(self.port, 0.0, n)
            drive = g * (before[self.post] - e["reverse"])
            pending = -np.bincount(self.post, drive, len(self.port))
            source = rows[max(len(rows) - back, 0)][self.pre]
            above = np.maximum(source - e["threshold"], 0.0)
            g = np.minimum(e["saturation"], e["slope"] * above ** e["power"])
            rows.append(V)
        return np.array(rows)


def test_whole_circuit_in_volts(lamina: Circuit, tmp_path: Path) -> None:
    """Every potential of the converted lamina is that of its equations in volts and seconds."""
    steps, on = 150, 40
    with no_collection():
        reference = InVolts(read_gexf(FILE))
    light = np.zeros((steps, 4608))
    light[on:] = 0.016 * np.linspace(0.5, 1.0, 4608)
    with h5py.File(tmp_path / "light.h5", "w") as file:
        file["array"] = light
    outside = np.zeros((steps, len(reference.port)))
    outside[:, :4608] = light
    want = reference.run(outside)[:steps, ~reference.port]
    names = [str(i) for i in np.flatnonzero(~reference.port)]
    recorder = MemoryRecorder([("V", names)])
    with LPU(lamina, DT, [LegacyInput(tmp_path / "light.h5", lamina)], [recorder]) as lpu:
        lpu.run(steps)
    got = recorder.get("V") / 1e3
    assert np.ptp(want[on:], axis=0)[4608:5376].min() > 1e-3  # the light has reached every L1
    assert_allclose(got, want, rtol=0, atol=1e-10)


def test_monopolar_cells_hyperpolarise_at_light_on(lamina: Circuit, example: Any) -> None:
    """Histamine closes on every L1 to L3 at light on, and lets them go at light off."""
    cells = example.cells(lamina)
    uids = np.concatenate([cells[kind] for kind in example.TYPES])
    recorder = MemoryRecorder([("V", uids.tolist())], sample_interval=10)
    light = StepInput("I", extern(lamina)[0], example.CURRENT, 0.1, 0.16)
    with LPU(lamina, DT, [light], [recorder]) as lpu:
        lpu.run(duration=0.2)
    V = np.asarray(recorder.get("V")).reshape(200, len(example.TYPES), 768)
    assert np.isfinite(V).all() and V.min() > -80 and V.max() < 0
    rest = V[95:100].mean(axis=0)
    on, off = V[100:130].mean(axis=0) - rest, V[160:190].mean(axis=0) - rest
    for kind, i in zip(example.TYPES[:3], range(3), strict=True):
        assert (on[i] < 0).all() and (off[i] > 0).all(), kind
    assert (V[100:130].min(axis=0) - rest)[:2].max() < -2.0  # L1 and L2
    assert -1.2 < (V[100:110].mean(axis=(1, 2)) - rest.mean()).min() < -0.8


def test_example(
    tmp_path: Path, lamina: Circuit, example: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """The example writes its recording and its figure; with silent feedback L1 answers as well."""
    output = tmp_path / "lamina.h5"
    words = ["03_lamina.py", FILE, "-o", output, "--duration", 0.2, "--feedback", -50]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", [str(word) for word in words])
        patch.setattr(Circuit, "from_file", lambda path: lamina)  # it has been read before
        patch.setattr(example, "ON", 0.13)
        patch.setattr(example, "OFF", 0.17)
        example.main()
    said = capsys.readouterr().out
    (first,) = [line.split() for line in said.splitlines() if line.startswith("L1 ")]
    assert float(first[2]) < -1.0 and first[4:] == ["768", "of", "768"]
    assert output.with_suffix(".png").stat().st_size > 20_000
