"""Networks of GLIF and IntFire1 neurons in SONATA files, written here as BMTK writes them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from numpy.testing import assert_allclose
from test_sonata import edges, links_of, put

import neurodriver as nd
from neurodriver import Circuit, CircuitError
from neurodriver.errors import InputError

NODE_HEAD = "node_type_id model_type model_template dynamics_params\n"
EDGE_HEAD = "edge_type_id syn_weight delay dynamics_params model_template weight_function\n"
RATES = {"asc_decay": [0.25, 0.05], "asc_amps": [-9.0, -198.0], "asc_init": [1.0, -2.0]}
MEMBRANE = {"E_L": -71.0, "V_th": -47.0, "g": 8.0, "C_m": 64.0, "t_ref": 2.5}
PSC = {**MEMBRANE, "V_m": -70.5, "V_reset": -73.0, "tau_syn": [5.5, 8.5, 2.8, 5.8], **RATES}
SPIKES, CURRENTS, FOLLOWS = (
    "spike_dependent_threshold",
    "after_spike_currents",
    "adapting_threshold",
)
FLAGS = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0), (1, 1, 1)]
DATABASE: dict[str, Any] = {
    "type": "GLIF", "El": 0.0, "El_reference": -0.07, "th_inf": 0.02, "R_input": 2e8, "C": 8e-11,
    "spike_cut_length": 50, "dt": 4e-5, "init_AScurrents": [1e-12, 0.0], "dt_multiplier": 10,
    "asc_tau_array": [0.03, 0.004], "asc_amp_array": [-7e-11, -4e-10], "th_adapt": None,
    "coeffs": {"th_inf": 1.1, "G": 1.0, "C": 0.9, "a": 2.0, "b": 0.5, "asc_amp_array": [1.0, 0.5]},
    "voltage_reset_method": {"name": "v_before", "params": {"a": 0.4, "b": 0.003}},
    "threshold_dynamics_method": {"name": "three_components_exact", "params": {
        "a_spike": 0.002, "b_spike": 100.0, "a_voltage": 9.0, "b_voltage": 40.0}},
    "AScurrent_reset_method": {"name": "sum", "params": {"r": [1.0, 1.0]}},
}  # fmt: skip


def write(folder: Path, types: list[tuple[str, dict[str, Any]]], synapses: dict[str, Any]) -> Path:
    """Write two cells of each type, and edges from two virtual cells to all, one type a target.

    ``types`` are templates and their parameters; ``synapses`` are columns of the types of edges.
    """
    at = "point_neuron"
    rows = "".join(f"{100 + i} {at} {name} {i}.json\n" for i, (name, _) in enumerate(types))
    (folder / "v1.csv").write_text(NODE_HEAD + rows)
    (folder / "lgn.csv").write_text("node_type_id model_type\n7 virtual\n")
    for number, (_, params) in enumerate(types):
        (folder / f"{number}.json").write_text(json.dumps(params))
    lines = ""
    for number, said in synapses.items():
        (folder / f"s{number}.json").write_text(json.dumps(said))
        lines += f"{number} {number + 1} 1.5 s{number}.json static_synapse wmax\n"
    (folder / "lv.csv").write_text(EDGE_HEAD + lines)
    cells = 2 * len(types)
    with h5py.File(folder / "v1.h5", "w") as file:
        kinds = np.arange(cells) // 2 + 100
        put(file.create_group("nodes/v1"), {"node_type_id": kinds, "0": {}})
    with h5py.File(folder / "lgn.h5", "w") as file:
        put(file.create_group("nodes/lgn"), {"node_type_id": [7, 7]})
    with h5py.File(folder / "lv.h5", "w") as file:
        target = np.arange(cells)
        columns = {
            "source_node_id": target % 2,
            "target_node_id": target,
            "edge_type_id": target % len(synapses),
            "0": {"nsyns": np.full(cells, 2, np.uint16)},
        }
        edges(file, "lgn_v1", ("lgn", "v1"), columns)
    config = {
        "components": {"point_neuron_models_dir": ".", "synaptic_models_dir": "."},
        "networks": {
            "nodes": [
                {"nodes_file": f"{name}.h5", "node_types_file": f"{name}.csv"}
                for name in ("v1", "lgn")
            ],
            "edges": [{"edges_file": "lv.h5", "edge_types_file": "lv.csv"}],
        },
    }
    path = folder / "circuit_config.json"
    path.write_text(json.dumps(config))
    return path


def psc(*flags: int, **more: Any) -> tuple[str, dict[str, Any]]:
    """Return template and parameters of ``glif_psc``."""
    given = dict(zip((SPIKES, CURRENTS, FOLLOWS), map(bool, flags), strict=True))
    return "nest:glif_psc", {**PSC, **given, **more}


PORTS = {i: {"receptor_type": i + 1} for i in range(4)}


def check(circuit: Circuit, name: str, want: dict[str, float]) -> None:
    """Compare parameters of all neurons of a model."""
    for key, value in want.items():
        assert_allclose(circuit.group(name).params[key], value, rtol=1e-12, err_msg=key)


def test_flags_choose_the_neuron(tmp_path: Path) -> None:
    """Three parameters of glif_psc say which of the five it is; ports are its receptors."""
    types = [psc(*flags) for flags in FLAGS]
    types[1][1].update(th_spike_add=0.5, th_spike_decay=0.02, voltage_reset_fraction=0.25)
    types[4][1].update(th_voltage_index=0.004, th_voltage_decay=0.08, asc_r=[0.5, 1.0])
    circuit = Circuit.from_sonata(write(tmp_path, types, PORTS))
    assert [(g.name, g.count) for g in circuit.groups][:5] == [(f"GLIF{n}", 2) for n in range(1, 6)]
    for number in range(1, 6):
        name = f"GLIF{number}"
        check(circuit, name, {"resting_potential": -71.0, "threshold": -47.0, "initV": -70.5})
        check(circuit, name, {"leak_conductance": 8.0, "capacitance": 64.0, "tau_syn3": 2.8})
        check(circuit, name, {"refractory_period": 2.5, "tau_syn1": 5.5, "tau_syn4": 5.8})
    check(circuit, "GLIF1", {"reset_potential": -73.0})
    check(circuit, "GLIF2", {"threshold_add": 0.5, "tau_threshold": 50.0, "reset_fraction": 0.25})
    check(circuit, "GLIF2", {"reset_add": 18.51})
    check(circuit, "GLIF3", {"tau_asc1": 4.0, "tau_asc2": 20.0, "initI_asc2": -2.0})
    check(circuit, "GLIF4", {"asc1_add": -9.0, "asc2_add": -198.0, "asc1_fraction": 1.0})
    check(circuit, "GLIF4", {"tau_threshold": 1 / 0.009, "reset_fraction": 0.2})
    check(circuit, "GLIF5", {"voltage_coupling": 0.004, "tau_voltage": 12.5, "asc1_fraction": 0.5})
    want = {
        (f"lgn/{i % 2}", f"v1/{i}", f"syn{i % 4 + 1}", 2.0 * (i % 4 + 1), 1.5e-3) for i in range(10)
    }
    assert links_of(circuit) == want


def test_parameters_of_the_database(tmp_path: Path) -> None:
    """Files of the Allen Cell Types Database, in SI units and relative to a potential."""
    names = ("lif", "lif_r", "lif_asc", "lif_r_asc", "lif_r_asc_a")
    types = [(f"nest:glif_{name}_psc", DATABASE) for name in names]
    circuit = Circuit.from_sonata(write(tmp_path, types, PORTS))
    for number in range(1, 6):
        name = f"GLIF{number}"
        check(circuit, name, {"resting_potential": -70.0, "threshold": -48.0, "initV": -70.0})
        check(circuit, name, {"leak_conductance": 5.0, "capacitance": 72.0, "tau_syn2": 8.5})
        check(circuit, name, {"refractory_period": 2.0})
        if number in (1, 3):
            check(circuit, name, {"reset_potential": -70.0})
        else:
            check(circuit, name, {"reset_fraction": 0.4, "reset_add": 3.0})
            check(circuit, name, {"threshold_add": 2.0, "tau_threshold": 10.0})
        if number > 2:
            check(circuit, name, {"tau_asc1": 30.0, "tau_asc2": 4.0, "initI_asc1": 1.0})
            check(circuit, name, {"asc1_add": -70.0, "asc2_add": -200.0})
    check(circuit, "GLIF5", {"voltage_coupling": 0.018, "tau_voltage": 50.0})


def test_parameters_of_the_module(tmp_path: Path) -> None:
    """Names of the module for NEST 2, where the rate of decay has two names."""
    given = {**MEMBRANE, "V_dynamics_method": "linear_exact", "tau_syn": [3.0]}
    amps = {"asc_amps": [-9.0, 4.0], "asc_init": [0.0, 0.0]}
    rules = {"a_spike": 0.5, "b_spike": 0.01, "a_reset": 0.3, "b_reset": 15.0}
    types = [
        ("nest:glif_lif_asc_psc", {**given, **amps, "V_reset": -72.0, "k": [0.01, 0.2]}),
        ("nest:glif_lif_asc_psc", {**given, **amps, "V_reset": -72.0, "asc_decay": [0.1, 0.5]}),
        ("nest:glif_lif_r_psc", {**given, **rules}),
    ]
    circuit = Circuit.from_sonata(write(tmp_path, types, PORTS))
    assert_allclose(circuit.group("GLIF3").params["tau_asc1"], [100, 100, 10, 10])
    check(circuit, "GLIF3", {"initV": -71.0, "tau_syn1": 3.0, "tau_syn2": 2.0, "asc2_add": 4.0})
    check(circuit, "GLIF2", {"threshold_add": 0.5, "tau_threshold": 100.0, "reset_add": 15.0})


def test_intfire_of_the_database(tmp_path: Path) -> None:
    """Times are in s in files with this type; ``sign`` gives the sign of positive weights."""
    times = {"tau": 0.024, "refrac": 0.003, "type": "NEURON_IntFire1"}
    plain = {"tau": 7.0, "refrac": 3.0}
    signs = {0: {"sign": -1, "level_of_detail": "instanteneous"}, 1: {"sign": 1}}
    types = [("nrn:IntFire1", times), ("nrn:IntFire1", plain)]
    circuit = Circuit.from_sonata(write(tmp_path, types, signs))
    params = circuit.group("LeakyIAFDelta").params
    assert_allclose(params["time_constant"], [24.0, 24.0, 7.0, 7.0])
    assert_allclose(params["refractory_period"], 3.0)
    weights = {target: weight for _, target, _, weight, _ in links_of(circuit)}
    assert weights == {"v1/0": -2.0, "v1/1": 4.0, "v1/2": -2.0, "v1/3": 4.0}


def without(name: str) -> tuple[str, dict[str, Any]]:
    """Return parameters of the database without one."""
    params = {key: value for key, value in DATABASE.items() if key != name}
    return "nest:glif_lif_asc_psc", params


MODULE = {**MEMBRANE, "V_reset": -72.0}
BAD: list[tuple[tuple[str, dict[str, Any]], dict[str, Any], list[str]]] = [
    (psc(0, 0, 1), PORTS[0], ["nest:glif_psc", SPIKES, "not so for 2 nodes"]),
    (psc(0, 0, 0, tau_sin=[1.0]), PORTS[0], ["'tau_sin[0]' has no meaning in GLIF1", "tau_syn[0]"]),
    (psc(0, 0, 0, tau_syn=[1.0] * 5), PORTS[0], ["'tau_syn[4]' has no meaning"]),
    (psc(0, 0, 0, g="8"), PORTS[0], ["'g' must be a number (got '8')"]),
    (psc(0, 1, 0, asc_decay=[0.0, 0.1]), PORTS[0], ["tau_asc1", "inf"]),
    (psc(0, 0, 0, g=10**400), PORTS[0], ["'leak_conductance'", "inf"]),
    (without("th_inf"), PORTS[0], ["'threshold' of GLIF3", "missing", "or 'th_inf'"]),
    (("nest:glif_lif_psc", {**MODULE, "V_dynamics_method": "linear_forward_euler"}), PORTS[0],
     ["'V_dynamics_method' of GLIF1", "'linear_forward_euler'", "allowed: 'linear_exact'"]),
    (("nest:glif_lif_psc", MEMBRANE), PORTS[0], ["'reset_potential' of GLIF1", "'V_reset'"]),
    (("nest:glif_lif_psc", {**MODULE, "type": "GLEAF"}), PORTS[0], ["'type'", "'GLEAF'"]),
    (("nest:glif_cond", MEMBRANE), PORTS[0], ["unknown model_template 'nest:glif_cond'"]),
    (psc(0, 0, 0), {}, ["edges to GLIF1: 'receptor_type' must be 1 to 4 (got 0)"]),
    (psc(0, 0, 0), {"receptor_type": 5}, ["'receptor_type' must be 1 to 4 (got 5)"]),
    (psc(0, 0, 0), {"receptor_type": 1.5}, ["edge 0: 'receptor_type'", "whole number", "1.5"]),
    (psc(0, 0, 0), {"receptor_type": "syn1"}, ["'receptor_type'", "must not be 'syn1'"]),
    (psc(0, 0, 0), {"receptor_type": 1, "sign": -1}, ["'sign' has no meaning", "2 edges"]),
    (("nest:iaf_psc_exp", {}), {"receptor_type": 2}, ["LeakyIAFExpCurrent", "0, or not given"]),
    (("nrn:IntFire1", {"type": "Exp2"}), {}, ["'type' of LeakyIAFDelta", "NEURON_IntFire1"]),
    (("nrn:IntFire1", {}), {"level_of_detail": "exp2syn"}, ["'level_of_detail'", "'exp2syn'"]),
]  # fmt: skip


@pytest.mark.parametrize(("cell", "synapse", "words"), BAD)
def test_refused_cells_and_synapses(
    cell: tuple[str, dict[str, Any]], synapse: dict[str, Any], words: list[str], tmp_path: Path
) -> None:
    """What a model does not have is named."""
    config = write(tmp_path, [cell], {0: synapse})
    with pytest.raises(CircuitError) as caught:
        Circuit.from_sonata(config)
    for word in words:
        assert word in str(caught.value)


def test_a_number_or_a_text(tmp_path: Path) -> None:
    """A parameter cannot be both in one population."""
    types = [("nest:iaf_psc_exp", {"C_m": 200.0}), ("nest:iaf_psc_exp", {"C_m": "200"})]
    config = write(tmp_path, types, {0: {}})
    with pytest.raises(CircuitError, match="'C_m' is a number of some types, and a text of others"):
        Circuit.from_sonata(config)


def test_ignored_by_name(tmp_path: Path) -> None:
    """Texts, signs and ports can be left out, as other parameters."""
    said = {"sign": -1, "level_of_detail": "x"}
    config = write(tmp_path, [("nest:iaf_psc_exp", {"note": "mine"})], {0: said})
    circuit = Circuit.from_sonata(config, ignore=["sign", "level_of_detail", "note"])
    assert {weight for *_, weight, _ in links_of(circuit)} == {2.0}


def test_spikes_of_older_files(tmp_path: Path) -> None:
    """Files with ``gids`` say no population, so the caller does."""
    path = tmp_path / "old.h5"
    with h5py.File(path, "w") as file:
        file["spikes/timestamps"] = [3.0, 1.0]
        file["spikes/gids"] = [4, 0]
    given = nd.SonataInput(path, "lgn")
    assert given.targets == [("spike_state", ("lgn/0", "lgn/4"))]
    assert given.contents()[0]["time"].tolist() == [1e-3, 3e-3]
    with pytest.raises(InputError, match="populations='<name>'"):
        nd.SonataInput(path)
    with h5py.File(path, "r+") as file:
        del file["spikes/gids"]
        file["spikes/gids"] = [4.0, 0.0]
    with pytest.raises(InputError, match="'/spikes/gids' must hold numbers"):
        nd.SonataInput(path, "lgn")
