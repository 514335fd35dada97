"""SONATA circuits, written here by the format's description, and what is wrong with them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from support import model, simulate

from neurodriver import Circuit, CircuitError, Connections
from neurodriver.__main__ import main
from neurodriver.errors import CircuitWarning
from neurodriver.io.sonata_models import KNOWN, Template

Change = Callable[[Path], None]
TEXT = h5py.string_dtype()

CONFIG = {
    "target_simulator": "NEST",
    "manifest": {"$BASE_DIR": ".", "$NETWORK_DIR": "${BASE_DIR}/network", "$MODELS": "$BASE_DIR/m"},
    "components": {"point_neuron_models_dir": "$MODELS/cells", "synaptic_models_dir": "$MODELS/s"},
    "networks": {
        "nodes": [
            {"nodes_file": "$NETWORK_DIR/v1.h5", "node_types_file": "$NETWORK_DIR/v1_types.csv"},
            {"nodes_file": "$NETWORK_DIR/lgn.h5", "node_types_file": "$NETWORK_DIR/lgn.csv"},
        ],
        "edges": [
            {"edges_file": "$NETWORK_DIR/vv.h5", "edge_types_file": "$NETWORK_DIR/vv.csv"},
            {"edges_file": "$NETWORK_DIR/lv.h5", "edge_types_file": "NULL"},
        ],
    },
}
V1_TYPES = '''\
node_type_id  population model_type     model_template  dynamics_params  pop_name
100 v1 point_neuron nest:iaf_psc_alpha  alpha.json   "layer 4 ""E"""
200 v1 point_neuron nest:iaf_psc_exp NULL L5
300 other point_neuron nest:unknown none.json -
'''
LGN_TYPES = "node_type_id model_type model_template\n7 virtual NULL\n"
VV_TYPES = """\
edge_type_id population syn_weight delay model_template dynamics_params
1 v1_v1 40.0 1.5 static_synapse static.json
2 v1_v1 -80.0 2.0 NULL NULL
"""


def put(at: Any, columns: dict[str, Any]) -> None:
    """Write columns, and groups of columns."""
    for name, values in columns.items():
        if isinstance(values, dict):
            put(at.create_group(name), values)
        elif len(values) and isinstance(values[0], str):
            at.create_dataset(name, data=values, dtype=TEXT)
        else:
            at[name] = values


def edges(at: Any, name: str, ends: tuple[str, str], columns: dict[str, Any]) -> None:
    """Write a population of edges between two populations of nodes."""
    put(at.require_group("edges").create_group(name), columns)
    for end, population in zip(("source", "target"), ends, strict=True):
        at[f"edges/{name}/{end}_node_id"].attrs["node_population"] = population


def write(folder: Path) -> Path:
    """Write a circuit of 5 neurons of two models and 3 virtual nodes; return its configuration.

    Nodes are in no order, their groups share columns in another order, a neuron overrides its
    type; edges have two groups, one with weights of its own.
    """
    network, cells, synapses = folder / "network", folder / "m" / "cells", folder / "m" / "s"
    for made in (network, cells, synapses):
        made.mkdir(parents=True)
    (folder / "circuit_config.json").write_text(json.dumps(CONFIG))
    (network / "v1_types.csv").write_text(V1_TYPES)
    (network / "lgn.csv").write_text(LGN_TYPES)
    (network / "vv.csv").write_text(VV_TYPES)
    (cells / "alpha.json").write_text(json.dumps({"tau_m": 20.0, "C_m": 200, "I_e": 380.0}))
    (synapses / "static.json").write_text("{}")
    with h5py.File(network / "v1.h5", "w") as file:
        file.attrs["magic"] = np.uint32(0x0A7A)
        columns = {
            "node_id": np.array([4, 0, 9, 1, 2], np.uint64),
            "node_type_id": [100, 200, 100, 200, 100],
            "node_group_id": [0, 1, 0, 1, 0],
            "node_group_index": [2, 0, 0, 1, 1],
            "0": {"x": [0.0, 1.0, 2.0], "dynamics_params": {"V_th": [-51.0, -52.0, -53.0]}},
            "1": {"dynamics_params": {"tau_syn_ex": [3.0, 4.0], "E_L": [-66.0, -67.0]}},
        }
        put(file.create_group("nodes/v1"), columns)
    with h5py.File(network / "lgn.h5", "w") as file:
        put(file.create_group("nodes/lgn"), {"node_type_id": [7, 7, 7]})
    with h5py.File(network / "vv.h5", "w") as file:
        columns = {
            "source_node_id": np.array([0, 9, 1, 2, 4, 4], np.uint64),
            "target_node_id": np.array([1, 0, 9, 9, 2, 0], np.uint64),
            "edge_type_id": [1, 2, 2, 1, 1, 2],
            "edge_group_id": [0, 0, 1, 1, 0, 1],
            "edge_group_index": [0, 1, 2, 0, 2, 1],
            "0": {"nsyns": np.array([2, 3, 1], np.uint16)},
            "1": {"syn_weight": [7.0, 8.0, -9.0], "delay": [3.0, 4.0, 5.0]},
        }
        edges(file, "v1_v1", ("v1", "v1"), columns)
    with h5py.File(network / "lv.h5", "w") as file:
        columns = {
            "source_node_id": [0, 1, 2],
            "target_node_id": [0, 4, 4],
            "edge_type_id": [-1, -1, -1],
            "edge_group_id": [0, 0, 0],
            "edge_group_index": [0, 1, 2],
            "0": {"syn_weight": [500.0, 600.0, 700.0], "delay": [1.0, 1.0, 1.0]},
        }
        edges(file, "lgn_v1", ("lgn", "v1"), columns)
    return folder / "circuit_config.json"


def links_of(circuit: Circuit) -> set[tuple[str, str, str, float, float]]:
    """Return the edges: source, target, access, weight, delay."""
    out: set[tuple[str, str, str, float, float]] = set()
    for links in circuit.connections:
        m = len(links)
        names = circuit.uids[links.source].tolist(), circuit.uids[links.target].tolist()
        weight = np.broadcast_to(links.data["weight"], m).tolist()
        delay = np.broadcast_to(links.delay, m).round(9).tolist()
        out |= {*zip(*names, [links.access] * m, weight, delay, strict=True)}
    return out


def test_nodes(tmp_path: Path) -> None:
    """Each node has the model and the parameters of its type, or its own."""
    circuit = Circuit.from_sonata(write(tmp_path))
    assert [g.name for g in circuit.groups] == [
        "LeakyIAFAlphaCurrent", "LeakyIAFExpCurrent", "SpikeSource",
    ]  # fmt: skip
    alpha, exp, virtual = circuit.groups
    assert alpha.uids.tolist() == ["v1/4", "v1/9", "v1/2"]
    assert exp.uids.tolist() == ["v1/0", "v1/1"]
    assert virtual.uids.tolist() == ["lgn/0", "lgn/1", "lgn/2"]
    assert alpha.params["threshold"].tolist() == [-53.0, -51.0, -52.0]
    assert alpha.params["time_constant"] == 20.0 and alpha.params["capacitance"] == 200.0
    assert alpha.params["resting_potential"] == -70.0 + 380.0 * 20.0 / 200.0
    assert alpha.params["initV"] == -70.0 and alpha.params["tau_exc"] == 2.0
    assert exp.params["tau_exc"].tolist() == [3.0, 4.0] and exp.params["tau_inh"] == 2.0
    assert exp.params["resting_potential"].tolist() == [-66.0, -67.0]
    assert exp.params["initV"] == -70.0  # there another E_L leaves V_m where it is
    assert exp.params["capacitance"] == 250.0 and exp.params["refractory_period"] == 2.0


def test_edges(tmp_path: Path) -> None:
    """Weights times nsyns go to receptors by their sign; delays are in ms."""
    assert links_of(Circuit.from_sonata(write(tmp_path))) == {
        ("v1/0", "v1/1", "exc", 80.0, 1.5e-3),
        ("v1/9", "v1/0", "inh", -240.0, 2e-3),
        ("v1/1", "v1/9", "inh", -9.0, 5e-3),
        ("v1/2", "v1/9", "exc", 7.0, 3e-3),
        ("v1/4", "v1/2", "exc", 40.0, 1.5e-3),
        ("v1/4", "v1/0", "exc", 8.0, 4e-3),
        ("lgn/0", "v1/0", "exc", 500.0, 1e-3),
        ("lgn/1", "v1/4", "exc", 600.0, 1e-3),
        ("lgn/2", "v1/4", "exc", 700.0, 1e-3),
    }


def test_it_computes(tmp_path: Path) -> None:
    """A neuron with a constant current follows the closed form, fires, and drives its target."""
    circuit = Circuit.from_sonata(write(tmp_path))
    V = simulate(circuit, 1e-4, 1000, record=[("V", circuit.uids[:5].tolist())])["V"]
    t = np.arange(1, 119) * 0.1
    free = -32.0 + (-70.0 + 32.0) * np.exp(-t / 20.0)
    assert_allclose(V[1:119, 0], free, rtol=0, atol=1e-9)
    # it reaches -53 mV at 20 ln(38 / 21) = 11.861 ms and fires in the next row, 119
    assert V[119, 0] == -70.0
    # 4 ms later its target has the current, and in the row after that another potential
    alone = -66.0 - 4.0 * np.exp(-np.arange(200) * 0.1 / 10.0)
    assert np.flatnonzero(np.abs(V[:200, 3] - alone) > 1e-9)[0] == 119 + 40 + 1


def test_by_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`check` and `convert` take the configuration; so does a simulation's, by its ``network``."""
    config = write(tmp_path)
    outer = tmp_path / "simulation_config.json"
    said = {"manifest": {"$HERE": "."}, "network": "$HERE/circuit_config.json", "run": {"dt": 0.1}}
    outer.write_text(json.dumps(said))
    circuit = Circuit.from_sonata(config)
    for new in (tmp_path / "new.h5", tmp_path / "new.gexf.gz"):
        assert main(["convert", str(outer), str(new)]) == 0
    assert Circuit.from_file(tmp_path / "new.h5").digest == circuit.digest
    assert links_of(Circuit.from_file(tmp_path / "new.gexf.gz")) == links_of(circuit)
    capsys.readouterr()
    assert main(["check", str(config)]) == 0
    assert circuit.digest in capsys.readouterr().out
    assert main(["convert", str(config), str(config)]) == 1
    assert main(["convert", str(config), str(tmp_path / "new.txt")]) == 1
    error = capsys.readouterr().err
    assert "would replace" in error and "'.h5'" in error


def replaced(config: Path, template: str, params: dict[str, Any]) -> None:
    """Make both types of neurons of one template, with one file of parameters."""
    network, cells = config.parent / "network", config.parent / "m" / "cells"
    text = V1_TYPES.replace("nest:iaf_psc_alpha", template).replace("nest:iaf_psc_exp", template)
    (network / "v1_types.csv").write_text(text.replace("NULL", "alpha.json"))
    (cells / "alpha.json").write_text(json.dumps(params))
    with h5py.File(network / "v1.h5", "r+") as file:
        for group in ("0", "1"):
            del file[f"nodes/v1/{group}/dynamics_params"]


@pytest.mark.parametrize(
    ("template", "name", "params", "want"),
    [
        ("nest:iaf_psc_delta", "LeakyIAFDelta", {"I_e": 5.0, "V_m": -58.0},
         {"resting_potential": -69.8, "initV": -58.0, "threshold": -55.0, "capacitance": 250.0}),
        ("nest:iaf_cond_exp", "LeakyIAFExpConductance", {"g_L": 10.0, "I_e": 20.0, "E_L": -60.0},
         {"resting_potential": -58.0, "initV": -70.0, "E_inh": -85.0, "tau_exc": 0.2,
          "leak_conductance": 10.0, "reset_potential": -60.0, "refractory_period": 2.0}),
        ("nest:iaf_cond_alpha", "LeakyIAFAlphaConductance", {"E_in": -90.0, "t_ref": 1.0},
         {"E_inh": -90.0, "refractory_period": 1.0, "E_exc": 0.0, "tau_inh": 2.0}),
        ("nrn:IntFire1", "LeakyIAFDelta", {"tau": 24.0, "refrac": 3.0},
         {"resting_potential": 0.0, "threshold": 1.0, "time_constant": 24.0,
          "refractory_period": 3.0, "reset_potential": 0.0}),
    ],
)  # fmt: skip
def test_templates(
    template: str, name: str, params: dict[str, float], want: dict[str, float], tmp_path: Path
) -> None:
    """Known templates become our models, with their own defaults."""
    config = write(tmp_path)
    replaced(config, template, params)
    circuit = Circuit.from_sonata(config)
    group = circuit.group(name)
    for key, value in want.items():
        assert group.params[key] == pytest.approx(value, rel=1e-12)
    links = {(s, t): (access, w) for s, t, access, w, _ in links_of(circuit)}
    conductance = "Conductance" in name
    wanted = ("inh", 240.0) if conductance else ("spike_state", -240.0)
    assert links["v1/9", "v1/0"] == wanted
    assert links["v1/0", "v1/1"] == ("exc" if conductance else "spike_state", 80.0)


def test_intfire1_fires_above_one(tmp_path: Path) -> None:
    """One event of weight 1 leaves m at 1, the next one of 0.5 makes it fire."""
    template = KNOWN["nrn:IntFire1"]
    params = template.translate({"tau": np.array([1e9]), "refrac": np.array([0.0])}, 1)
    neuron, source = model("LeakyIAFDelta"), model("SpikeSource")
    from neurodriver import ArrayInput

    weights = {"weight": np.array([1.0, 0.5])}
    links = Connections(
        "spike_state", "spike_state", np.array([1, 2]), np.array([0, 0]), np.array(0.0), weights
    )
    groups = [(neuron, 1, params, ["n"]), (source, 2, {}, ["one", "half"])]
    circuit = Circuit.from_arrays(groups, [links])
    pulses = np.zeros((9, 2))
    pulses[1, 0] = pulses[4, 1] = 1.0
    given = ArrayInput({"spike_state": (["one", "half"], pulses)})
    found = simulate(circuit, 1e-4, 12, given, [("V", ["n"]), ("spike_state", ["n"])])
    assert found["V"].max() == pytest.approx(1.0, abs=1e-9)
    assert found["spike_state"].sum() == 1 and found["V"][-1] == 0.0


def test_templates_of_the_user(tmp_path: Path) -> None:
    """A model, names of its parameters, or a Template say what an unknown one becomes."""
    config = write(tmp_path)
    replaced(config, "lab:cell", {"tau": 12.0, "th": -50.0, "note": 3.0})
    with pytest.raises(CircuitError, match="unknown model_template 'lab:cell'"):
        Circuit.from_sonata(config)
    base = {"resting_potential": -65.0, "reset_potential": -65.0}
    pairs = {**base, "threshold": "th", "time_constant": "tau"}
    for given in (("LeakyIAFDelta", pairs), (model("LeakyIAFDelta"), pairs)):
        with pytest.raises(CircuitError, match="'note' has no meaning in LeakyIAFDelta"):
            Circuit.from_sonata(config, {"lab:cell": given})
        circuit = Circuit.from_sonata(config, {"lab:cell": given}, ignore=["note"])
        assert circuit.group("LeakyIAFDelta").params["time_constant"] == 12.0
    template = Template("LeakyIAFDelta", {**pairs, "capacitance": "C"}, {"C": 3.0}, factors=(2, 3))
    made = Circuit.from_sonata(config, {"lab:cell": template}, ignore=["note"])
    assert made.group("LeakyIAFDelta").params["capacitance"] == 3.0
    weights = {(s, t): w for s, t, _, w, _ in links_of(made)}
    assert weights["v1/9", "v1/0"] == -720.0 and weights["v1/0", "v1/1"] == 160.0
    replaced_names(config, {**base, "threshold": -50.0, "time_constant": 5.0, "initV": -61.0})
    same = Circuit.from_sonata(config, {"lab:cell": "LeakyIAFDelta"})
    assert same.group("LeakyIAFDelta").params["initV"] == -61.0
    sources = {"lab:cell": "LeakyIAFDelta", "virtual": ("PoissonSource", {"rate": 20.0})}
    assert Circuit.from_sonata(config, sources).group("PoissonSource").params["rate"] == 20.0


def replaced_names(config: Path, params: dict[str, float]) -> None:
    """Write the file of parameters."""
    (config.parent / "m" / "cells" / "alpha.json").write_text(json.dumps(params))


def test_text_in_columns(tmp_path: Path) -> None:
    """Templates may stand in the nodes' own columns, as text or as numbers with a library."""
    config = write(tmp_path)
    want = Circuit.from_sonata(config).digest
    (tmp_path / "network" / "v1_types.csv").write_text(
        "node_type_id model_type dynamics_params\n"
        "100 point_neuron alpha.json\n200 point_neuron NULL\n"
    )
    with h5py.File(tmp_path / "network" / "v1.h5", "r+") as file:
        at = file["nodes/v1"]
        put(at["0"], {"model_template": ["nest:iaf_psc_alpha"] * 3})
        put(at["1"], {"model_template": np.array([1, 1])})
        put(at["1"], {"@library": {"model_template": ["x", "nest:iaf_psc_exp"]}})
    assert Circuit.from_sonata(config).digest == want


def _text(name: str, old: str, new: str) -> Change:
    def change(folder: Path) -> None:
        path = folder / name
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))

    return change


def _h5(name: str, change: Callable[[Any], Any]) -> Change:
    def apply(folder: Path) -> None:
        with h5py.File(folder / "network" / name, "r+") as file:
            change(file)

    return apply


def _swap(name: str, column: str, values: Any) -> Change:
    def change(file: Any) -> None:
        attributes = dict(file[column].attrs)
        del file[column]
        file[column] = values
        file[column].attrs.update(attributes)

    return _h5(name, change)


def _away(name: str, column: str) -> Change:
    return _h5(name, lambda file: file.__delitem__(column))


V1, VV = "nodes/v1", "edges/v1_v1"
INTO_VIRTUAL = (
    _swap("lv.h5", "edges/lgn_v1/target_node_id", [0, 1, 2]),
    _h5("lv.h5", lambda f: f["edges/lgn_v1/target_node_id"].attrs.update(node_population="lgn")),
)
BAD: list[tuple[Change, list[str]]] = [
    (_text("circuit_config.json", "$NETWORK_DIR/v1.h5", "$NETWORK/v1.h5"),
     ["networks.nodes[0]", "'$NETWORK'", "not in 'manifest'"]),
    (_text("circuit_config.json", '"."', '"$MODELS"'), ["leads back to itself"]),
    (_text("circuit_config.json", '"edges_file"', '"edge_file"'),
     ["2 faults", "networks.edges[1]: 'edges_file' is missing"]),
    (_text("circuit_config.json", '"networks"', '"network"'), ["no object 'networks'"]),
    (_text("circuit_config.json", '"networks"', "networks"), ["not well-formed JSON"]),
    (_text("circuit_config.json", "v1.h5", "v2.h5"), ["v2.h5: no such file"]),
    (_text("circuit_config.json", "vv.h5", "v1.h5"), ["v1.h5: no SONATA file of edges"]),
    (_text("circuit_config.json", "lgn.h5", "v1_types.csv"), ["not a whole HDF5 file"]),
    (_text("network/v1_types.csv", "nest:iaf_psc_alpha", "nest:iaf_psc_alfa"),
     ["'nest:iaf_psc_alfa'", "mean 'nest:iaf_psc_alpha'?", "(3 nodes)", "models={"]),
    (_text("network/v1_types.csv", "point_neuron", "biophysical"),
     ["model_type 'biophysical'", "point neurons"]),
    (_text("network/v1_types.csv", "node_type_id ", "type_id "), ["no column 'node_type_id'"]),
    (_text("network/v1_types.csv", "L5", "L5 5"), ["line 3 has 7 fields", "the header has 6"]),
    (_text("network/v1_types.csv", "200 v1", "x v1"), ["'node_type_id' is no number ('x')"]),
    (_text("network/v1_types.csv", "200 v1", "100 v1"), ["node_type_id 100 stands twice"]),
    (_text("network/v1_types.csv", "200 v1", "201 v1"), ["no type has the node_type_id 200"]),
    (_text("network/v1_types.csv", "alpha.json", "beta.json"), ["beta.json: cannot be read"]),
    (_text("m/cells/alpha.json", "tau_m", "tau_n"), ["'tau_n' has no meaning", "mean 'tau_m'?"]),
    (_text("m/cells/alpha.json", "20.0", '"a"'), ["'tau_m' must be a number (got 'a')"]),
    (_text("m/cells/alpha.json", "20.0", "-20.0"), ["'time_constant'", "positive", "all 3 nodes"]),
    (_swap("v1.h5", f"{V1}/node_id", [0, 1, 2, 2, 9]), ["node_id 2 stands twice"]),
    (_swap("v1.h5", f"{V1}/node_id", [0.0, 1.0]), ["'node_id' must be a column of whole"]),
    (_swap("v1.h5", f"{V1}/node_group_id", [0, 1, 5, 1, 0]), ["groups that are not there: 5"]),
    (_swap("v1.h5", f"{V1}/node_group_index", [9, 0, 0, 1, 1]), ["rows up to 9"]),
    (_away("v1.h5", f"{V1}/node_group_id"), ["several groups need 'node_group_id'"]),
    (_away("v1.h5", f"{V1}/node_type_id"), ["no column 'node_type_id'"]),
    (_swap("v1.h5", f"{V1}/0/dynamics_params/V_th", [-50.0]), ["rows up to 2"]),
    (_swap("vv.h5", f"{VV}/source_node_id", [0, 9, 1, 2, 4, 5]),
     ["population 'v1_v1', edge 5: source_node_id 5 is not in the population 'v1'"]),
    (_swap("vv.h5", f"{VV}/target_node_id", [0, 1]), ["'target_node_id'", "shape (2,)"]),
    (_h5("vv.h5", lambda f: f[f"{VV}/target_node_id"].attrs.clear()),
     ["must name its 'node_population'", "'v1', 'lgn'"]),
    (_h5("lv.h5", lambda f: f["edges/lgn_v1/target_node_id"].attrs.update(node_population="lgn")),
     ["edge 2: target_node_id 4 is not in the population 'lgn'", "edge 1: "]),
    (lambda folder: [change(folder) for change in INTO_VIRTUAL] and None, ["edges to SpikeSource"]),
    (_away("lv.h5", "edges/lgn_v1/0/syn_weight"), ["3 faults", "edge 0: 'syn_weight' is missing"]),
    (_swap("lv.h5", "edges/lgn_v1/0/delay", [1.0, -2.0, np.inf]),
     ["edge 1: 'delay' must not be -2", "edge 2: 'delay' must not be inf"]),
    (_swap("lv.h5", "edges/lgn_v1/0/delay", np.array([b"a", b"b", b"c"])), ["must hold numbers"]),
    (_text("network/vv.csv", "static_synapse", "tsodyks_synapse"),
     ["'tsodyks_synapse'", "ignore="]),
    (_text("network/vv.csv", "40.0", "4o.0"), ["edge_type_id 1: 'syn_weight' must be a number"]),
    (_text("m/s/static.json", "{}", '{"sign": -1}'), ["'sign' has no meaning for a static syn"]),
]  # fmt: skip


@pytest.mark.parametrize(("change", "words"), BAD)
def test_refused(
    change: Change, words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """File, population, member and attribute are named."""
    config = write(tmp_path)
    change(tmp_path)
    with pytest.raises(CircuitError) as caught:
        Circuit.from_sonata(config)
    message = str(caught.value)
    assert message.startswith(f"{config}: ") and len(message) < 6000
    for word in words:
        assert word in message
    assert main(["check", str(config)]) == 1
    assert f"error: {message}\n" in capsys.readouterr().err


def test_what_is_ignored_or_warned_of(tmp_path: Path) -> None:
    """Parameters and templates may be left out by name; weight functions are warned of."""
    config = write(tmp_path)
    want = Circuit.from_sonata(config).digest
    _text("m/s/static.json", "{}", '{"sign": -1}')(tmp_path)
    _text("network/vv.csv", "static_synapse", "tsodyks")(tmp_path)
    assert Circuit.from_sonata(config, ignore=["sign", "tsodyks"]).digest == want
    (tmp_path / "network" / "vv.csv").write_text(
        "edge_type_id syn_weight delay weight_function\n1 40.0 1.5 gauss\n2 -80.0 2.0 wmax\n"
    )
    with pytest.warns(CircuitWarning, match="weight_function 'gauss' is not applied") as told:
        assert Circuit.from_sonata(config).digest == want
    assert len(told) == 1


def test_one_group_needs_no_index(tmp_path: Path) -> None:
    """Node ids, groups and their indices are optional where there is one group."""
    config = write(tmp_path)
    want = links_of(Circuit.from_sonata(config))
    with h5py.File(tmp_path / "network" / "lv.h5", "r+") as file:
        for name in ("edge_group_id", "edge_group_index", "edge_type_id"):
            del file[f"edges/lgn_v1/{name}"]
    assert links_of(Circuit.from_sonata(config)) == want


@pytest.mark.parametrize("spread", [1, 10**12])
def test_ids_far_apart(spread: int, tmp_path: Path) -> None:
    """Ids may be any whole numbers, in any order."""
    config = write(tmp_path)
    want = {(*(e[0], e[1]), *e[3:]) for e in links_of(Circuit.from_sonata(config))}
    ids = {4: 4 * spread, 0: 0, 9: 9 * spread, 1: 3, 2: 2 * spread}
    columns = [("v1.h5", f"{V1}/node_id"), ("lv.h5", "edges/lgn_v1/target_node_id")]
    columns += [("vv.h5", f"{VV}/source_node_id"), ("vv.h5", f"{VV}/target_node_id")]
    for name, column in columns:
        with h5py.File(tmp_path / "network" / name) as file:
            given = [ids[int(i)] for i in file[column][()]]
        _swap(name, column, np.array(given, np.uint64))(tmp_path)
    back = {f"v1/{new}": f"v1/{old}" for old, new in ids.items()}
    links = links_of(Circuit.from_sonata(config))
    got = {(back.get(e[0], e[0]), back.get(e[1], e[1]), *e[3:]) for e in links}
    assert got == want


def test_damaged_files(tmp_path: Path) -> None:
    """A changed byte in a file leads to an error of ours, or to a circuit."""
    config = write(tmp_path)
    rng = np.random.default_rng(2)
    others = "../circuit_config.json", "../m/cells/alpha.json"
    for name in ("v1.h5", "vv.h5", "v1_types.csv", *others):
        path = tmp_path / "network" / name
        whole = path.read_bytes()
        for _ in range(60):
            data = bytearray(whole)
            data[rng.integers(len(data))] ^= int(rng.integers(1, 256))
            path.write_bytes(data)
            try:
                Circuit.from_sonata(config)
            except CircuitError as error:
                assert str(error).startswith(f"{config}: ")
        path.write_bytes(whole)
    assert_array_equal(Circuit.from_sonata(config).count, 8)
