"""Circuits, spikes and reports written as SONATA: read again with their bits, and by others."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from support import build, model, node, simulate

import neurodriver as nd
from neurodriver import Circuit, CircuitError, Connections, NeurodriverError
from neurodriver.__main__ import main
from neurodriver.errors import InputError, RecordingError
from neurodriver.io.sonata_places import ranges_by_node

CELL = {
    "resting_potential": -65.0, "threshold": -50.0, "reset_potential": -60.0,
    "time_constant": 10.0, "capacitance": 200.0, "refractory_period": 2.0,
}  # fmt: skip
CURRENT = {**CELL, "tau_exc": 3.0, "tau_inh": 5.0}


def populations(seed: int = 3) -> Circuit:
    """Return 60 neurons of three models in four populations, with random numbers everywhere."""
    rng = np.random.default_rng(seed)
    cond = {
        "resting_potential": -65.0, "threshold": -50.0, "reset_potential": -60.0,
        "capacitance": 200.0, "leak_conductance": rng.uniform(9, 11, 15), "tau_exc": 5.0,
        "tau_inh": 10.0, "E_exc": 0.0, "E_inh": -80.0, "refractory_period": 1.0,
    }  # fmt: skip
    exc = nd.Population("LeakyIAFExpCurrent", 20, name="exc", **CURRENT)
    inh = nd.Population(
        "LeakyIAFExpCurrent", 10, name="inh", **CURRENT, initV=nd.Uniform(-65.0, -51.0)
    )
    big = nd.Population(
        "LeakyIAFExpConductance",
        15,
        name="big cells",
        columns={"layer": np.where(np.arange(15) < 7, "L4", "L 5"), "x": rng.normal(size=15)},
        **cond,
    )
    lgn = nd.Population("SpikeSource", 15, name="lgn")
    rule = nd.FixedProbability(0.2)
    delay = nd.Uniform(1e-3, 4e-3)
    links = [
        nd.Projection(exc, "LeakyIAFExpCurrent", rule, receptor="exc", weight=nd.Uniform(9, 80.0),
                      delay=delay),
        nd.Projection(inh, "LeakyIAFExpCurrent", rule, receptor="inh", weight=-20.0, delay=1.5e-3),
        nd.Projection(lgn, exc, rule, receptor="exc", weight=400.0, delay=delay),
        nd.Projection(inh, big, rule, receptor="inh", weight=nd.Uniform(1.0, 4.0), delay=1e-3),
        nd.Projection(lgn, big, rule, receptor="exc", weight=30.0, delay=1e-3),
    ]  # fmt: skip
    return Circuit([exc, inh, big, lgn], links, seed=seed)


def components() -> Circuit:
    """Return synapses as nodes, reversal potentials of edges, currents and a gap in the order."""
    iaf = {**CELL, "kind": "T4 a"}
    return build(
        {
            "b": node("LeakyIAFDelta", iaf, population="two", on=True),
            "s": node("AlphaSynapse", {"gmax": 0.003, "ar": 0.11, "ad": 0.19}, reverse=0.0),
            "a": node("LeakyIAFDelta", CELL, population="one", threshold=-51.0, initV=-64.0),
            "c": node("LeakyIAFDelta", CELL, population="two"),
            "m": node("MorrisLecar", {
                "V1": -20.0, "V2": 50.0, "V3": -40.0, "V4": 20.0, "phi": 0.001, "offset": 0.0,
                "V_L": -40.0, "V_Ca": 120.0, "V_K": -80.0, "g_L": 3.0, "g_Ca": 4.0, "g_K": 16.0,
                }, initV=-46.0, initn=0.3),
        },
        [
            ("b", "s"),
            ("s", "m", {"reverse": -3.0}),
            ("b", "a", {"weight": 3.0, "delay": 2e-3}),
            ("a", "b", {"weight": -0.0, "delay": 2e-3}),
            ("c", "a", {"weight": -1.0, "delay": 0.1 + 0.2}),
        ],
    )  # fmt: skip


def numbers(circuit: Circuit) -> dict[Any, Any]:
    """Return all that is simulated: names, parameters and edges with their bits, in order."""
    out: dict[Any, Any] = {}
    for group in circuit.groups:
        params = {}
        for name in (*group.model.params, *group.model.initial_names()):
            given = group.params.get(name)
            state = group.model.states.get(name.removeprefix("init"))
            if given is None or np.isnan(given).any():
                start = None if state is None else state.initial
                start = group.params[start] if isinstance(start, str) else start
                given = start if given is None else np.where(np.isnan(given), start, given)
            params[name] = np.broadcast_to(given, (group.count,)).tobytes()
        out[group.name] = group.uids.tolist(), params
    for number, given in enumerate(circuit.connections):
        links = given.expanded()
        data = {k: c for k, c in links.data.items() if not np.isnan(c).all()}
        every = {"source": links.source, "target": links.target, "delay": links.delay, **data}
        for name, column in every.items():
            wide = np.broadcast_to(column, (len(links),))
            out[number, links.variable, links.access, name] = wide.tobytes()
    return out


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Circuit, Path]]:
    """Yield the populations and their configuration."""
    path = tmp_path_factory.mktemp("net") / "circuit_config.json"
    circuit = populations()
    circuit.save(path)
    yield circuit, path


@pytest.mark.parametrize("make", [populations, components])
@pytest.mark.parametrize("compress", [False, True])
def test_the_bits_return(make: Any, compress: bool, tmp_path: Path) -> None:
    """Names, order, parameters, weights and delays are those that were written."""
    circuit = make()
    circuit.save(tmp_path / "c.json", compress)
    found = Circuit.from_file(tmp_path / "c.json")
    assert numbers(found) == numbers(circuit)
    assert [len(links) for links in found.connections] == [len(c) for c in circuit.connections]
    assert {n: s.uids.tolist() for n, s in found.populations.items()} == {
        n: s.uids.tolist() for n, s in circuit.populations.items()
    }
    found.save(tmp_path / "again.json")  # what was read is what is written
    assert Circuit.from_file(tmp_path / "again.json").digest == found.digest


def test_node_columns_return(written: tuple[Circuit, Path]) -> None:
    """Text with spaces, numbers, and what one population alone has."""
    circuit, path = written
    found = Circuit.from_sonata(path)
    assert_array_equal(found.select(layer="L 5").uids, circuit.select(layer="L 5").uids)
    assert_array_equal(
        found.populations["big cells"].column("x"),
        circuit.select(model="LeakyIAFExpConductance").column("x"),
    )


def test_the_activity_returns(written: tuple[Circuit, Path]) -> None:
    """What is read spikes as the circuit does, to the bit."""
    circuit, path = written
    rng = np.random.default_rng(1)
    uids = circuit.populations["lgn"].uids.tolist()
    events = np.sort(rng.uniform(0, 0.05, 300)), rng.integers(0, 15, 300)
    given = nd.ArrayInput({"spike_state": (uids, events)})
    record = [("V", circuit.uids[:45].tolist()), ("spike_state", circuit.uids[:45].tolist())]
    a, b = (simulate(c, 1e-4, 600, given, record) for c in (circuit, Circuit.from_sonata(path)))
    assert a["spike_state"].sum() > 30
    for name in a:
        assert a[name].tobytes() == b[name].tobytes()


def test_templates(written: tuple[Circuit, Path]) -> None:
    """NEST's names stand where they say all, ours elsewhere."""
    _, path = written
    rows = (path.with_suffix("") / "big_cells_node_types.csv").read_text().splitlines()
    assert rows[0].split() == [
        "node_type_id", "population", "model_type", "model_template", "dynamics_params"
    ]  # fmt: skip
    assert rows[1].startswith('102 "big cells" point_neuron nest:iaf_cond_exp 102')
    assert "virtual NULL" in (path.with_suffix("") / "lgn_node_types.csv").read_text()
    said = json.loads((path.with_suffix("") / "100_params.json").read_text())
    assert said["E_L"] == -65.0 and said["tau_syn_ex"] == 3.0
    with h5py.File(path.with_suffix("") / "exc_nodes.h5") as file:
        assert_array_equal(file["nodes/exc/0/dynamics_params/V_m"], np.full(20, -65.0))


@pytest.mark.parametrize(
    ("params", "weights", "template", "edge"),
    [
        ({}, [1.0, -2.0], "nest:iaf_psc_exp", ["static_synapse"] * 2),
        ({"keep_input": 0.0}, [1.0, -2.0], "neurodriver:LeakyIAFExpCurrent", None),
        ({"initI_exc": 3.0}, [1.0, -2.0], "neurodriver:LeakyIAFExpCurrent", None),
        ({}, [-1.0, 2.0], "nest:iaf_psc_exp", None),  # the sign does not choose these receptors
        ({}, [1.0, 0.0], "nest:iaf_psc_exp", ["static_synapse", "neurodriver:static_synapse"]),
    ],
)
def test_what_other_programs_cannot_say(
    params: Any, weights: list[float], template: str, edge: Any, tmp_path: Path
) -> None:
    """Then our own template says it, and all returns."""
    ends = np.array([1]), np.array([0])
    links = [
        Connections("spike_state", name, *ends, np.array(1e-3), {"weight": np.array([weight])})
        for name, weight in zip(("exc", "inh"), weights, strict=True)
    ]
    cells = (model("LeakyIAFExpCurrent"), 2, {**CURRENT, **params}, ["a", "b"])
    circuit = Circuit.from_arrays([cells], links)
    circuit.save(tmp_path / "c.json")
    assert numbers(Circuit.from_sonata(tmp_path / "c.json")) == numbers(circuit)
    assert template in next((tmp_path / "c").glob("*_node_types.csv")).read_text()
    found = sorted((tmp_path / "c").glob("*edge_types.csv"), key=lambda p: (len(p.name), p.name))
    said = [path.read_text().splitlines()[1].split()[2] for path in found]
    assert said == (edge or ["neurodriver:static_synapse"] * 2)


def test_delays_that_ms_cannot_say(tmp_path: Path) -> None:
    """Every delay returns with its bits, also one that is no product of 1e-3."""
    rng = np.random.default_rng(5)
    delay = rng.uniform(1e-4, 0.02, 400)
    ends = np.arange(400) % 7, np.arange(400) % 5
    links = Connections("spike_state", "spike_state", *ends, delay, {"weight": np.ones(400)})
    circuit = Circuit.from_arrays([(model("LeakyIAFDelta"), 7, CELL, None)], [links])
    circuit.save(tmp_path / "c.json")
    with h5py.File(next((tmp_path / "c").glob("*_edges.h5"))) as file:
        at = next(iter(file["edges"].values()))["0"]
        lost = at["delay"][()] * 1e-3 != delay
        assert 0 < lost.sum() < 40 and "delay_in_seconds" in at
    found = Circuit.from_sonata(tmp_path / "c.json").connections[0]
    assert found.delay.tobytes() == delay.tobytes()


def test_the_index_finds_all_edges() -> None:
    """Ranges of each node hold its edges and no others, in as few ranges as there are."""
    rng = np.random.default_rng(4)
    ends = np.repeat(rng.integers(0, 12, 60), rng.integers(1, 4, 60))
    nodes, ranges = ranges_by_node(ends, 14)
    for number in range(14):
        own = [i for first, last in ranges[slice(*nodes[number])] for i in range(first, last)]
        assert own == np.flatnonzero(ends == number).tolist()
    assert len(ranges) == 1 + (np.diff(ends) != 0).sum()
    assert ranges_by_node(ends[:0], 3)[0].tolist() == [[0, 0]] * 3


def test_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    """An earlier circuit is replaced; a foreign folder, and a refused circuit, change nothing."""
    path = tmp_path / "c.json"
    components().save(path)
    before = {p.name: p.read_bytes() for p in (tmp_path / "c").iterdir()}
    bad = populations().stimulate("exc", rate=10.0)
    with pytest.raises(CircuitError, match=r"no place for hidden components.*PoissonSource"):
        bad.save(path)
    assert {p.name: p.read_bytes() for p in (tmp_path / "c").iterdir()} == before
    populations().save(path)
    assert not before.keys() & {p.name for p in (tmp_path / "c").glob("two_*")}
    assert sorted(p.name for p in tmp_path.iterdir()) == ["c", "c.json"]
    (tmp_path / "mine").mkdir()
    with pytest.raises(NeurodriverError, match="the folder 'mine' exists"):
        components().save(tmp_path / "mine.json")


def test_refused(tmp_path: Path) -> None:
    """All that the format has no place for is told at once."""
    cells = nd.Population("LeakyIAFDelta", 3, name="a/b", columns={"model_type": "x"}, **CELL)
    rule = nd.PairSTDP(tau_plus=20.0, tau_minus=20.0, w_max=1.0)
    links = nd.Projection(cells, cells, nd.AllToAll(), weight=0.5, delay=1e-3, plasticity=rule)
    with pytest.raises(CircuitError) as caught:
        Circuit([cells], [links]).save(tmp_path / "c.json")
    message = str(caught.value)
    for word in ("2 faults", "synapses that learn", "'a/b'", "rename it"):
        assert word in message
    named = nd.Population("LeakyIAFDelta", 3, name="a", columns={"model_type": "x"}, **CELL)
    with pytest.raises(CircuitError, match="node column 'model_type' of LeakyIAFDelta"):
        Circuit([named]).save(tmp_path / "c.json")
    assert list(tmp_path.iterdir()) == []


def test_by_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`convert` writes SONATA from our own file, and back."""
    populations().save(tmp_path / "a.h5")
    assert main(["convert", str(tmp_path / "a.h5"), str(tmp_path / "b.json")]) == 0
    assert main(["convert", str(tmp_path / "b.json"), str(tmp_path / "c.h5")]) == 0
    assert numbers(Circuit.from_file(tmp_path / "c.h5")) == numbers(populations())


def recording(circuit: Circuit) -> nd.Recording:
    """Return 300 steps of all variables."""
    step = nd.StepInput("I", circuit.populations["exc"], 500.0)
    with nd.LPU(circuit, dt=1e-4, inputs=[step]) as lpu:
        found = lpu.run(steps=300, record=["V", "spike_state"])
    return found.recording


def test_spikes_and_reports(written: tuple[Circuit, Path], tmp_path: Path) -> None:
    """Times in ms, node ids and rows are those of the recording; spikes can be injected again."""
    circuit, path = written
    recorded = recording(circuit)
    folder = recorded.to_sonata(tmp_path / "out", circuit=circuit, network=path)
    spikes = recorded.spikes
    with h5py.File(folder / "spikes.h5") as file:
        at = file["spikes/exc"]
        assert len(at["node_ids"]) > 20 and at["timestamps"].attrs["units"] == "ms"
        assert_array_equal(at["node_ids"], spikes["exc"].index)
        assert_array_equal(at["timestamps"], spikes["exc"].time * 1e3)
    with h5py.File(folder / "V_report.h5") as file:
        at = file["report/big cells"]
        assert at["data"].attrs["units"] == "mV"
        assert_array_equal(at["data"], recorded.V["big cells"][:].astype(np.float32))
        assert_array_equal(at["mapping/node_ids"], np.arange(15))
        start, stop, dt = at["mapping/time"]
        assert dt == pytest.approx(0.1) and round((stop - start) / dt) == 300
    config = json.loads((folder / "simulation_config.json").read_text())
    assert (folder / config["network"]).resolve() == path.resolve()
    assert list(config["reports"]) == ["V"]
    again = nd.SonataInput(folder / "spikes.h5", "exc", circuit)
    assert list(again.targets[0][1]) == sorted({circuit.uids[i] for i in spikes["exc"].index})
    assert_array_equal(again.contents()[0]["time"], np.sort(spikes["exc"].time * 1e3 / 1e3))
    with pytest.raises(RecordingError, match=r"spikes\.h5: the file exists"):
        recorded.to_sonata(folder, "spike_state", circuit=circuit)
    with pytest.raises(RecordingError, match="is not '<population>/<node id>'"):
        Recording_of_graph().to_sonata(tmp_path / "other")


def Recording_of_graph() -> nd.Recording:
    """Return the recording of components whose uids are no node ids."""
    with nd.LPU(components(), dt=1e-4) as lpu:
        return lpu.run(steps=5, record=["V"]).recording


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda f: f.__delitem__("spikes"), ["no group '/spikes/<population>'"]),
        (lambda f: f["spikes/lgn"].__delitem__("node_ids"), ["'/spikes/lgn/node_ids' is missing"]),
        (lambda f: f["spikes/lgn/timestamps"].attrs.update(units="h"), ["'h'", "ms or s"]),
        (lambda f: f.move("spikes/lgn", "spikes/lgm"), ["a population 'lgn'", "there are lgm"]),
        (lambda f: f["spikes/lgn"].move("node_ids", "x"), ["node_ids' is missing"]),
    ],
)
def test_bad_spikes(change: Any, words: list[str], tmp_path: Path) -> None:
    """File and place are named."""
    path = tmp_path / "s.h5"
    with h5py.File(path, "w") as file:
        file["spikes/lgn/timestamps"] = [1.0, 2.5]
        file["spikes/lgn/node_ids"] = [3, 0]
    given = nd.SonataInput(path)
    assert given.targets == [("spike_state", ("lgn/0", "lgn/3"))]
    assert [given.contents()[0][k].tolist() for k in ("time", "index")] == [[1e-3, 2.5e-3], [1, 0]]
    with h5py.File(path, "r+") as file:
        change(file)
    with pytest.raises(InputError) as caught:
        nd.SonataInput(path, "lgn")
    assert str(caught.value).startswith(f"{path}: ")
    for word in words:
        assert word in str(caught.value)


def test_libsonata_reads_all(written: tuple[Circuit, Path], tmp_path: Path) -> None:
    """Another reader finds the same nodes, edges, indices, spikes and reports."""
    sonata = pytest.importorskip("libsonata")
    circuit, path = written
    found = sonata.CircuitConfig.from_file(str(path))
    assert found.node_populations == {"exc", "inh", "big cells", "lgn"}
    big = found.node_population("big cells")
    assert big.size == 15
    layers = big.get_attribute("layer", big.select_all())
    assert list(layers) == circuit.populations["big cells"].column("layer").tolist()
    total = 0
    for name in found.edge_populations:
        edges = found.edge_population(name)
        total += edges.size
        for end in range(found.node_population(edges.target).size):
            mine = edges.afferent_edges([end]).flatten()
            assert (edges.target_nodes(sonata.Selection(mine)) == end).all()
            assert len(mine) == (edges.target_nodes(edges.select_all()) == end).sum()
    assert total == circuit.edges
    recorded = recording(circuit)
    folder = recorded.to_sonata(tmp_path, circuit=circuit)
    read = sonata.SpikeReader(str(folder / "spikes.h5"))["exc"].get_dict()
    assert_array_equal(read["timestamps"], recorded.spikes["exc"].time * 1e3)
    report = sonata.SomaReportReader(str(folder / "V_report.h5"))["inh"].get()
    assert_array_equal(report.data, recorded.V["inh"][:].astype(np.float32))
