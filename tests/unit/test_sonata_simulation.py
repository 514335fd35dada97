"""Simulations that a SONATA configuration describes: spikes, currents, node sets, and faults."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from numpy.testing import assert_allclose
from test_sonata import write

import neurodriver as nd
from neurodriver import CircuitError
from neurodriver.__main__ import main
from neurodriver.errors import CircuitWarning

SPIKES = {"lgn": ([2.0, 5.0, 3.0, 7.0], [0, 2, 1, 0])}
INPUTS: dict[str, Any] = {
    "lgn_spikes": {
        "input_type": "spikes", "module": "sonata", "input_file": "$HERE/lgn.h5",
        "node_set": "lgn",
    },
    "step": {
        "input_type": "current_clamp", "module": "IClamp", "node_set": "layer 5",
        "amp": [100.0, -40.0], "delay": [4.0, 6.0], "duration": [1.5, 2.0],
    },
    "off": {"input_type": "voltage_clamp", "module": "SEClamp", "enabled": False},
}  # fmt: skip
SETS = {"layer 5": {"population": "v1", "pop_name": "L5"}}


def described(folder: Path, **changed: Any) -> Path:
    """Write a circuit with inputs, and the configuration of its simulation."""
    write(folder)
    with h5py.File(folder / "lgn.h5", "w") as file:
        for name, (time, node) in SPIKES.items():
            file[f"spikes/{name}/timestamps"], file[f"spikes/{name}/node_ids"] = time, node
    said = {
        "manifest": {"$HERE": "."},
        "network": "$HERE/circuit_config.json",
        "node_sets_file": "$HERE/sets.json",
        "run": {"tstop": 20.0, "dt": 0.1, "dL": 20.0},
        "inputs": INPUTS,
        **changed,
    }
    (folder / "sets.json").write_text(json.dumps(SETS))
    (folder / "simulation_config.json").write_text(json.dumps(said))
    return folder / "simulation_config.json"


def injected(one: Any, steps: int, dt: float = 1e-4) -> np.ndarray[Any, Any]:
    """Return what an input injects, (steps,), in two chunks."""
    one.open(dt, np.dtype(np.float64))
    out = []
    for first, count in ((0, steps // 3), (steps // 3, steps - steps // 3)):
        chunk = one.chunk(0, first, count)
        rows = chunk.row_of_step
        out += [0.0 if row < 0 else chunk.table[row, 0] for row in rows]
    return np.array(out)


def test_what_is_described(tmp_path: Path) -> None:
    """Step, duration, circuit; spikes at their times, and a current of several pieces."""
    it = nd.read_sonata_simulation(described(tmp_path))
    assert (it.dt, it.duration) == (1e-4, 0.02)
    assert it.circuit.digest == nd.Circuit.from_sonata(tmp_path / "circuit_config.json").digest
    spikes, step = it.inputs
    assert [v for v, _ in spikes.targets] == ["spike_state"]
    assert set(spikes.targets[0][1]) == {"lgn/0", "lgn/1", "lgn/2"}
    ((variable, uids),) = step.targets
    assert variable == "I" and set(uids) == {"v1/0", "v1/1"}  # both are of type 200
    current = injected(step, 200)
    want = np.zeros(200)
    want[40:55], want[60:80] = 100.0, -40.0
    assert_allclose(current, want, rtol=0, atol=0)


def test_it_runs_like_its_parts(tmp_path: Path) -> None:
    """The run has the bits of one with the same inputs written by hand, and is moved by each."""
    it = nd.read_sonata_simulation(described(tmp_path))

    def potentials(inputs: list[Any]) -> Any:
        with nd.LPU(it.circuit, it.dt, inputs) as lpu:
            return lpu.run(duration=it.duration, record=["V"]).recording.V[:]

    both = potentials(it.inputs)
    clamps = [
        nd.StepInput("I", ["v1/0", "v1/1"], 100.0, start=0.004, stop=0.0055),
        nd.StepInput("I", ["v1/0", "v1/1"], -40.0, start=0.006, stop=0.008),
    ]
    same = potentials([nd.SonataInput(tmp_path / "lgn.h5", "lgn"), *clamps])
    assert np.array_equal(both, same)
    for one in it.inputs:
        assert not np.array_equal(both, potentials([one]))


@pytest.mark.parametrize(
    ("given", "want"),
    [
        ("v1", ["v1/4", "v1/0", "v1/9", "v1/1", "v1/2"]),
        ("all", ["v1/4", "v1/0", "v1/9", "v1/1", "v1/2"]),
        ({"population": "v1", "node_id": [9, 1]}, ["v1/9", "v1/1"]),
        ({"model_template": "nest:iaf_psc_exp"}, ["v1/0", "v1/1"]),
        ({"model_type": ["point_neuron"], "x": [0.0, 2.0]}, ["v1/9", "v1/4"]),
        (["layer 5", "nine"], ["v1/0", "v1/9", "v1/1"]),
        ([9, 4], ["v1/4", "v1/9"]),
    ],
)
def test_node_sets(tmp_path: Path, given: Any, want: list[str]) -> None:
    """A population, all, attributes, several sets, node ids."""
    clamp = {**INPUTS["step"], "node_set": given}
    sets = {"nine": {"node_id": 9}}
    path = described(tmp_path, inputs={"one": clamp}, node_sets=sets)
    (one,) = nd.read_sonata_simulation(path).inputs
    assert set(one.targets[0][1]) == set(want)


def test_spikes_of_some_nodes(tmp_path: Path) -> None:
    """A node set chooses among the spikes of a file; a table has the same ones."""
    chosen = {"population": "lgn", "node_id": [0, 2]}
    entry = {**INPUTS["lgn_spikes"], "node_set": chosen}
    (tmp_path / "spikes.csv").write_text(
        "timestamps population node_ids\n2.0 lgn 0\n5.0 lgn 2\n3.0 lgn 1\n7.0 lgn 0\n1.0 v1 0\n"
    )
    table = {**entry, "module": "csv", "input_file": "spikes.csv"}
    path = described(tmp_path, inputs={"one": entry, "two": table})
    for one in nd.read_sonata_simulation(path).inputs:
        assert set(one.targets[0][1]) == {"lgn/0", "lgn/2"}
        one.open(1e-4, np.dtype(np.float64))
        chunk: Any = one.chunk(0, 0, 100)
        assert np.flatnonzero(np.diff(chunk.begin)).tolist() == [20, 50, 70]


def test_currents_of_a_table(tmp_path: Path) -> None:
    """Each value holds until the next one."""
    (tmp_path / "current.csv").write_text("t,i\n1.0,5.0\n2.5,7.5\n")
    entry = {
        "input_type": "file", "module": "IClamp", "node_set": "v1", "file": "$HERE/current.csv",
        "separator": ",", "timestamps_column": "t", "amplitudes_column": "i",
    }  # fmt: skip
    (one,) = nd.read_sonata_simulation(described(tmp_path, inputs={"one": entry})).inputs
    want = np.repeat([0.0, 5.0, 7.5], [10, 15, 15])
    assert_allclose(injected(one, 40), want, rtol=0, atol=0)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "has no rows with a column 'timestamps'"),
        ("timestamps amps\n1 2 3\n", "line 2 has not as many fields as the header"),
        ("timestamps amps\n1 2\n1\n", "line 3 has not as many fields"),
        ("timestamps amps\n1 x\n", "times and currents must be numbers"),
        ("timestamps amps\n3 1\n1 1\n", "times must ascend"),
    ],
)
def test_tables_at_fault(tmp_path: Path, text: str, said: str) -> None:
    """A table without rows, with too many fields, with words, and in the wrong order."""
    (tmp_path / "current.csv").write_text(text)
    entry = {"input_type": "csv", "module": "IClamp", "file": "current.csv"}
    with pytest.raises(CircuitError, match=rf"inputs\.one: .*current\.csv: {said}"):
        nd.read_sonata_simulation(described(tmp_path, inputs={"one": entry}))


def clamped(**changed: Any) -> dict[str, Any]:
    """Return inputs with a changed current."""
    return {"inputs": {"one": {**INPUTS["step"], **changed}}}


def fired(**changed: Any) -> dict[str, Any]:
    """Return inputs with changed spikes."""
    return {"inputs": {"one": {**INPUTS["lgn_spikes"], **changed}}}


BAD: list[tuple[dict[str, Any], str]] = [
    ({"run": {"dt": 0.1}}, r"run\.tstop: must be a time in ms above 0 \(got None\)"),
    ({"run": {"dt": -1, "tstop": 5}}, r"run\.dt: must be .* above 0 \(got -1\)"),
    ({"run": {"dt": 0.1, "tstop": 5, "tstart": 2}}, r"run\.tstart: must be 0"),
    ({"inputs": [1]}, r"'inputs' must be an object"),
    ({"inputs": {"one": 3}}, r"inputs\.one: must be an object"),
    (clamped(input_type="voltage_clamp"), r"inputs\.one: .*voltage_clamp.*known are spikes of"),
    (clamped(module="SEClamp"), r"inputs\.one: .*'SEClamp': not known here"),
    (fired(module="odor"), r"inputs\.one: input_type 'spikes', module 'odor': not known"),
    (clamped(node_set="layer5"), r"unknown node set 'layer5'.*'layer 5'"),
    (clamped(node_set={"layr": 1}), r"no node has the attribute 'layr'"),
    (clamped(node_set=1.5), r"a node set is a name"),
    (clamped(node_set="lgn"), r"must have nodes that are not virtual"),
    (fired(node_set="v1"), r"must have virtual nodes"),
    (clamped(amp="x"), r"inputs\.one\.amp: must be a number"),
    (clamped(amp=[1.0]), r"amp, delay and duration differ in length \(1, 2 and 2 values\)"),
    (clamped(delay=[6.0, 4.0]), r"delays must be at least 0 and ascend"),
    (fired(input_file="none.h5"), r"none\.h5: .*"),
    (fired(input_file="$NO/lgn.h5"), r"inputs\.one\.input_file: the variable '\$NO' is not in"),
    ({"node_sets": {"a": ["b"], "b": "a"}, **clamped(node_set="a")}, r"contains itself"),
]


@pytest.mark.parametrize(("changed", "said"), BAD)
def test_faults(tmp_path: Path, changed: dict[str, Any], said: str) -> None:
    """Each names the file, the entry, what was got and what is allowed."""
    path = described(tmp_path, **changed)
    with pytest.raises(CircuitError, match=said) as caught:
        nd.read_sonata_simulation(path)
    assert "simulation_config.json" in str(caught.value)


def test_spikes_of_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A spike of a node that is not there, and keys that mean nothing."""
    monkeypatch.setitem(SPIKES, "lgn", ([2.0], [77]))
    with pytest.raises(CircuitError, match="the population 'lgn' has no node 77"):
        nd.read_sonata_simulation(described(tmp_path))
    monkeypatch.setitem(SPIKES, "lgn", ([2.0], [1]))
    (tmp_path / "two").mkdir()
    with pytest.warns(CircuitWarning, match=r"inputs\.one: 'dely' is not used"):
        nd.read_sonata_simulation(described(tmp_path / "two", **clamped(dely=3)))


@pytest.mark.parametrize("changed", [{}, {"dt": "2e-4"}])
def test_by_the_command_line(
    tmp_path: Path, changed: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    """`run` takes step, duration and inputs from the configuration; options replace the first."""
    path = described(tmp_path)
    out = tmp_path / "out.h5"
    options = [word for key, value in changed.items() for word in (f"--{key}", value)]
    assert main(["run", str(path), "-o", str(out), *options]) == 0
    recording = nd.open(out)
    assert recording.V.dt == float(changed.get("dt", 1e-4))
    assert len(recording.V) == round(0.02 / recording.V.dt)
    assert len(recording.spikes["lgn/0"]) == 2
