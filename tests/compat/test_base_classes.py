"""Classes of the library's first LPUs, as they stand: on the CPU and with an emulated PyCUDA."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from emulated_gpu import emulate
from emulated_pycuda import emulate_pycuda

from neurodriver import (
    LPU,
    ArrayInput,
    Circuit,
    CircuitError,
    Manager,
    MemoryRecorder,
    Pattern,
    StepInput,
)
from neurodriver.compat.base_classes import read_base_classes
from neurodriver.errors import CircuitWarning, ModelError, StateError

DATA = Path(__file__).parents[3] / "shared" / "data" / "layers" / "base_classes"
RECORD = [("V", None), ("spike_state", None), ("I", None)]

pytestmark = [
    pytest.mark.skipif(not DATA.is_dir(), reason="../shared is not here"),
    pytest.mark.usefixtures("plain"),
]


@pytest.fixture(params=["cpu", "cuda"])
def backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return a backend; that of a GPU is emulated."""
    if request.param == "cuda":
        emulate(monkeypatch)
        emulate_pycuda(monkeypatch)
    return str(request.param)


def run(circuit: Any, backend: str = "cpu", steps: int = 31, **given: Any) -> dict[str, Any]:
    """Return rows of potentials, spikes and currents, with 1.6 into the first neuron."""
    recorder = MemoryRecorder(RECORD)
    given = {"inputs": [StepInput("I", ["0"], 1.6, 0.0, 1.0)], **given}
    with LPU(circuit, 1e-3, recorders=[recorder], backend=backend, **given) as lpu:
        lpu.run(steps=steps)
    out: dict[str, Any] = {v: recorder.output[v]["data"] for v in ("V", "I")}
    spikes = recorder.output["spike_state"]["data"]
    rows = np.zeros(out["V"].shape)
    rows[np.rint(spikes["time"] / 1e-3).astype(int), spikes["index"]] = 1
    return {**out, "spike_state": rows}


def agrees(found: dict[str, Any]) -> None:
    """Fail unless all rows are those of the NumPy program beside the classes."""
    rows = json.loads((DATA / "expected.json").read_text())["rows"]
    assert len(rows) == 30 == len(found["V"]) - 1
    for row in rows:
        at = row["step"] + 1
        assert abs(found["V"][at, 2] - row["V"]) < 1e-12
        assert np.abs(found["I"][at] - row["I"]).max() < 1e-12
        assert found["spike_state"][at].tolist() == [*row["spikes"], 0]


def test_the_classes_run_as_they_stand(backend: str) -> None:
    """Two neurons that fire, one that is graded, three synapses with delays, one graded."""
    circuit = read_base_classes(DATA / "circuit.gexf", DATA / "models.py")
    found = run(circuit, backend)
    agrees(found)
    assert np.flatnonzero(found["spike_state"][:, 0]).tolist() == [10, 20, 30]
    expected = [0.08, 0.324398046511104, 0.348548049128866, 0.299392576476562]
    np.testing.assert_allclose(found["V"][[1, 13, 21, 30], 2], expected, rtol=0, atol=1e-12)


def test_a_file_is_read_unconverted_once_its_classes_are_known() -> None:
    """By name, or by their number among the direct subclasses."""
    read_base_classes(DATA / "circuit.gexf", DATA / "models.py")  # imports them
    with pytest.warns(CircuitWarning, match="advanced step by step by classes of their own"):
        circuit = Circuit.from_file(DATA / "circuit.gexf")
    agrees(run(circuit))


def graph(change: dict[str, Any] | None = None, **nodes: Any) -> nx.MultiDiGraph:
    """Return the graph of the file, with other attributes of some nodes."""
    made = nx.read_gexf(DATA / "circuit.gexf")
    for number, attributes in nodes.items():
        made.nodes[number.removeprefix("n")].update(attributes)
    for _, _, data in made.edges(data=True):
        data.update({k: v for k, v in (change or {}).items() if data["model"] == "Decay"})
    return made


def test_numbers_of_classes_and_inputs_of_any_kind() -> None:
    """Fire is 0, Leak is 1, Decay is 0, Slope is 1."""
    made = graph({"model": 0}, n0={"model": 0}, n1={"model": "0"}, n2={"model": 1})
    given = ArrayInput({"I": (["0"], np.full((31, 1), 1.6))})
    agrees(run(read_base_classes(made, DATA / "models.py"), inputs=[given]))


def test_ports() -> None:
    """Public neurons with selectors send, input ports bring: two LPUs, one step between them."""
    first = graph(n2={"selector": "/a/out/V"}, n0={"selector": "/a/out/spike"})
    second = nx.MultiDiGraph()
    second.add_node("0", model="port_in_gpot", spiking=False, public=False, selector="/b/in/V")
    second.add_node("1", model="port_in_spk", spiking=True, public=False, selector="/b/in/spike")
    leak = {"model": "Leak", "spiking": False, "public": False, "tau": 5e-3, "initV": 0.0}
    second.add_node("2", extern=False, **leak)
    slope = {"model": "Slope", "class": 3, "conductance": False, "slope": 1.0, "threshold": 0.0}
    second.add_edge("0", "2", id="0", delay=0.0, **slope)
    decay = {"model": "Decay", "class": 1, "conductance": False, "gmax": 2.0, "tau": 4e-3}
    second.add_edge("1", "2", id="1", delay=0.0, **decay)
    circuits = [read_base_classes(one, DATA / "models.py") for one in (first, second)]
    recorders = [MemoryRecorder([("V", None)]) for _ in circuits]
    manager = Manager(timeout=60.0)
    inputs = [StepInput("I", ["0"], 1.6, 0.0, 1.0)]
    manager.add(LPU, "a", circuits[0], 1e-3, inputs, [recorders[0]])
    manager.add(LPU, "b", circuits[1], 1e-3, [], [recorders[1]])
    pattern = Pattern("/a/out/V,/a/out/spike", "/b/in/V,/b/in/spike")
    pattern["/a/out/V", "/b/in/V"] = 1
    pattern["/a/out/spike", "/b/in/spike"] = 1
    manager.connect("a", "b", pattern)
    manager.spawn()
    manager.start(steps=31)
    manager.wait()
    sent = recorders[0].output["V"]["data"][:, 2]
    ids = list(recorders[1].output["V"]["uids"])
    taken = recorders[1].output["V"]["data"]
    relay = taken[:, ids.index("0")]
    late = next(n for n in range(1, 4) if np.array_equal(relay[n:], sent[:-n]))
    assert late == 2 and sent.max() > 0.3  # a step for the port, one for the relay
    V, g = 0.0, 0.0
    spikes = run(circuits[0])["spike_state"][:, 0]
    for k in range(30):
        before = relay[k] if k else 0.0
        V = V + 0.2 * (max(0.0, before) + g - V)
        g = g * np.exp(-1e-3 / 4e-3) + 2.0 * (spikes[k + 1 - late] if k + 1 >= late else 0.0)
        assert abs(taken[k + 1, ids.index("2")] - V) < 1e-9


MODELS = '''
import numpy as np
import pycuda.gpuarray as garray
from neurokernel.LPU.neurons.baseneuron import BaseNeuron
from pycuda.compiler import SourceModule

class Own(BaseNeuron):
    """Sums its inputs itself; its kernel has a grid of two dimensions."""
    def __init__(self, n_dict, V, dt, debug=False, LPU_id=None):
        self.n, self.V = len(n_dict["id"]), V
        self.I = garray.zeros(SIZE, dtype=np.float64)
        self.f = SourceModule("""TEXT""").get_function("own")
        self.f.prepare("iP")
    update_I_override = OVERRIDE
    def update_I(self, synapse_state, st=None):
        self.I.fill(1.0)
    def eval(self, st=None):
        self.f.prepared_call((2, 1), (2, 2, 1), np.int32(self.n), self.V)
'''
TEXT = """
__global__ void own(int n, double *V)
{
    int i = blockIdx.x * blockDim.x * blockDim.y + threadIdx.y * blockDim.x + threadIdx.x;
    if (i < n) V[i] = V[i] + i + 1;
}
"""


def own(folder: Path, size: str = "self.n", override: str = "True", text: str = TEXT) -> Circuit:
    """Return a circuit of three neurons of a class that is written here."""
    written = MODELS.replace("SIZE", size).replace("OVERRIDE", override).replace("TEXT", text)
    (folder / "own.py").write_text(written)
    made = nx.MultiDiGraph()
    for i in range(3):
        made.add_node(str(i), model="Own", spiking=False, public=False, extern=False)
    return read_base_classes(made, folder / "own.py")


def test_a_class_that_sums_its_inputs(tmp_path: Path) -> None:
    """It is asked to; blocks and threads have their numbers."""
    found = run(own(tmp_path), steps=4, inputs=[])
    assert found["V"].tolist() == [[k, 2 * k, 3 * k] for k in range(4)]
    agreed = run(own(tmp_path, override="False"), steps=4, inputs=[])
    assert agreed["I"][1:].min() == 1.0 == agreed["I"][1:].max()


def test_no_such_class() -> None:
    """All faults at once, with near names and the numbers that there are."""
    made = graph({"model": "Decays"}, n0={"model": "Fires"}, n2={"model": 7})
    with pytest.raises(CircuitError) as told:
        read_base_classes(made, DATA / "models.py")
    for text in (
        "node '0', attribute 'model': no class 'Fires' of BaseNeuron (did you mean 'Fire'?)",
        "node '2', attribute 'model': there is no class number 7 of BaseNeuron; there are 0 to 1",
        "no class 'Decays' of BaseSynapse (did you mean 'Decay'?)",
        "5 faults",
    ):
        assert text in str(told.value)


def test_two_classes_of_one_name() -> None:
    """Which of them is meant, nobody knows."""
    some = [DATA / "models.py", DATA / "models.py"]
    with pytest.raises(CircuitError, match="several classes are called 'Fire'"):
        read_base_classes(DATA / "circuit.gexf", some)


@pytest.mark.parametrize(
    "word", ["__shared__ double x[9];", "__syncthreads();", "atomicAdd(V, 1);"]
)
def test_threads_that_work_together(tmp_path: Path, word: str) -> None:
    """The CPU has none; the error names class, method, file and line."""
    with pytest.raises(ModelError) as told:
        run(own(tmp_path, text=TEXT.replace("if (i < n)", f"{word} if (i < n)")))
    want = r"Own.__init__ (own.py, line 12): SourceModule: '"
    assert want in str(told.value) and "choose backend 'cuda'" in str(told.value)


def test_currents_of_another_size(tmp_path: Path) -> None:
    """One for each neuron is needed."""
    with pytest.raises(ModelError) as told:
        run(own(tmp_path, size="2", override="False"))
    want = "Own.__init__ (own.py, line 9): self.I must be float64 of 3 neurons, got float64 of 2"
    assert want in str(told.value)


@pytest.mark.parametrize(
    ("method", "changed"),
    [
        ("update_I", ("self.I.fill(1.0)", "self.I = garray.zeros(7, dtype=np.float64)")),
        (
            "eval",
            ("        self.f.prepared", "        self.I = garray.zeros(3, int)\n        self.f.pr"),
        ),
    ],
)
def test_currents_that_a_class_replaces(
    tmp_path: Path, method: str, changed: tuple[str, str]
) -> None:
    """The step after is not computed with them."""
    circuit = own(tmp_path, override="False")
    file = tmp_path / "own.py"
    before, after = changed
    after = after.replace("self.f.pr", "self.f.prepared")
    file.write_text(file.read_text().replace(before, after))
    circuit = read_base_classes(nx.MultiDiGraph(graph_of_own()), file)
    with pytest.raises(ModelError) as told:
        run(circuit, steps=3, inputs=[])
    got = "float64 of 7" if method == "update_I" else "int64 of 3"
    want = rf"Own.{method} \(own.py, line \d+\): self.I must be float64 of 1 neurons, got {got}$"
    assert re.search(want, str(told.value)), told.value


def test_more_runs(tmp_path: Path) -> None:
    """A run goes on; other recorders need a state that nobody can read, but for the first run."""
    with LPU(own(tmp_path), 1e-3) as lpu:
        lpu.run(steps=3, record=["V"])
        lpu.run(steps=3)
        assert lpu.recording.V[:, 1].tolist() == [0, 2, 4, 6, 8, 10]
        with pytest.raises(StateError, match=r"other recorders.*run_step.*before the first step"):
            lpu.run(steps=3, record=["I"])
        lpu.run(steps=3)
        assert lpu.recording.V[-1, 1] == 16


def test_reductions_of_arrays(tmp_path: Path) -> None:
    """As those of PyCUDA, whose results are arrays."""
    circuit = own(tmp_path, override="False")
    file = tmp_path / "own.py"
    total = (
        "(garray.sum(self.I).get() + garray.max(self.I).get() + garray.dot(self.I, self.I).get())"
    )
    file.write_text(file.read_text().replace("fill(1.0)", f"fill(1.0 + {total})"))
    circuit = read_base_classes(nx.MultiDiGraph(graph_of_own()), file)
    assert run(circuit, steps=4, inputs=[])["I"][1:, 0].tolist() == [1.0, 4.0, 25.0]


def test_mistakes_of_a_class(tmp_path: Path) -> None:
    """A text without a kernel, arguments that do not fit, an exception: where they are."""
    for text, want in (
        ("int x;", "Own.__init__ (own.py, line 12): SourceModule: the text has no `__global__"),
        (TEXT.replace("own(", "other("), "no kernel 'own' in the text; there are other"),
        (TEXT.replace("V[i] + i", "W[i]"), "Own.__init__ (own.py, line 12): CompileError"),
    ):
        with pytest.raises(ModelError) as told:
            run(own(tmp_path, text=text))
        assert want in str(told.value)
    circuit = own(tmp_path)
    file = tmp_path / "own.py"
    file.write_text(file.read_text().replace("np.int32(self.n), self.V", "np.int32(self.n)"))
    circuit = read_base_classes(nx.MultiDiGraph(graph_of_own()), file)
    with pytest.raises(ModelError, match=r"Own.eval \(own.py, line \d+\).*2 arguments were prep"):
        run(circuit, inputs=[])


def graph_of_own() -> nx.MultiDiGraph:
    """Return one neuron."""
    made = nx.MultiDiGraph()
    made.add_node("0", model="Own", spiking=False, public=False, extern=False)
    return made
