"""Tables as connectomes are released become circuits; frames count like files."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from neurodriver import Circuit, CircuitError
from neurodriver.errors import CircuitWarning
from neurodriver.io.releases import SIGNS, Release, release

pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")
from pyarrow import csv, feather  # noqa: E402

A, B, C, D = 720575940628857210, 720575940596125868, 720575940597856265, 720575940604737708
ROOTS = [A, B, C, D]


def flywire(folder: Path) -> list[Path]:
    """Write small tables with the columns of Codex: edges, neurons, classes, types."""
    edges = {
        "pre_root_id": [A, A, B, C, D, A],
        "post_root_id": [B, B, C, A, A, 5],
        "neuropil": ["AL_R", "AL_L", "MB_R", "MB_R", "AL_R", "AL_R"],
        "syn_count": [5, 7, 6, 9, 3, 8],
        "nt_type": ["ACH", "GABA", "GABA", "GLUT", "DA", "ACH"],
    }
    neurons = {"root_id": ROOTS, "group": ["AL", "MB", "MB.AL", ""], "nt_type": ["ACH", "GABA"] * 2}
    neurons["nt_type"] = ["ACH", "GABA", "GLUT", ""]
    classes = {
        "root_id": [D, A, B],
        "super_class": ["central", "sensory", "central"],
        "class": ["", "olfactory", "ALLN"],
        "side": ["center", "left", "right"],
    }
    types = {"root_id": [B, A], "primary_type": ["lLN1", "ORN_DA1"], "additional_type(s)": ["", ""]}
    out = []
    for name, columns in (("c", edges), ("n", neurons), ("k", classes), ("t", types)):
        path = folder / f"{name}.csv"
        csv.write_csv(pa.table(columns), path)
        packed = folder / f"{name}.csv.gz"
        packed.write_bytes(gzip.compress(path.read_bytes()))
        out.append(packed)
    return out


def edges_of(circuit: Circuit) -> dict[tuple[str, str], float]:
    """Return the weight of each pair."""
    (links,) = circuit.connections
    ends = circuit.uids[links.source].tolist(), circuit.uids[links.target].tolist()
    return dict(zip(zip(*ends, strict=True), links.data["weight"].tolist(), strict=True))


def test_flywire(tmp_path: Path) -> None:
    """Rows of a pair are summed, signs follow transmitters of neurons, tables are joined."""
    said = "1 of 6 rows of edges|1 of 4 neurons have no transmitter"
    with pytest.warns(CircuitWarning, match=said):
        brain = Circuit.from_connectome("flywire", *flywire(tmp_path))
    assert brain.uids.tolist() == [str(root) for root in ROOTS]
    a, b, c, d = brain.uids.tolist()
    expected = {(a, b): 12.0, (b, c): -6.0, (c, a): -9.0, (d, a): 3.0}
    assert edges_of(brain) == pytest.approx({k: 0.275 * v for k, v in expected.items()})
    assert {float(one.delay) for one in brain.connections} == {1.8e-3}
    every = brain.select()
    assert every.column("type").tolist() == ["ORN_DA1", "lLN1", "", ""]
    assert every.column("side").tolist() == ["left", "right", "", "center"]
    assert every.column("class").tolist() == ["olfactory", "ALLN", "", ""]
    assert every.column("region").tolist() == ["AL", "MB", "MB.AL", ""]
    transmitters = ["acetylcholine", "gaba", "glutamate", ""]
    assert every.column("transmitter").tolist() == transmitters
    assert brain.select(super_class="central", side="right").uids.tolist() == [b]


def test_signs_of_rows(tmp_path: Path) -> None:
    """Without a transmitter of neurons that of the edges counts, row by row."""
    edges, _, classes, types = flywire(tmp_path)
    with pytest.warns(CircuitWarning, match="rows of edges lead"):
        brain = Circuit.from_connectome("flywire", edges, classes, types, weight_scale=1.0)
    a, b, d = (str(root) for root in (A, B, D))
    assert edges_of(brain) == {(a, b): -2.0, (d, a): 3.0}
    alone = Circuit.from_connectome("flywire", edges, weight_scale=1.0)
    assert alone.count == 5 and len(edges_of(alone)) == 5


def test_choices(tmp_path: Path) -> None:
    """Signs, the least number of synapses, a condition and receptors by sign are chosen."""
    edges, neurons, classes, _ = flywire(tmp_path)
    a, b, c, d = (str(root) for root in ROOTS)
    one: dict[str, Any] = {"weight_scale": 1.0, "min_synapses": 6}
    with pytest.warns(CircuitWarning):
        signs = {"glut": 1, "": -1, "GABA": 0}
        brain = Circuit.from_connectome("flywire", edges, neurons, signs=signs, **one)
    assert edges_of(brain) == {(a, b): 12.0, (c, a): 9.0}
    with pytest.warns(CircuitWarning):
        brain = Circuit.from_connectome("flywire", edges, neurons, signs=1, weight_scale=2.0)
    assert edges_of(brain)[d, a] == 6.0 and edges_of(brain)[b, c] == 12.0
    with pytest.warns(CircuitWarning):
        few = Circuit.from_connectome(
            "flywire", edges, neurons, classes, where={"side": ["left", "right"]}
        )
    assert few.uids.tolist() == [a, b] and list(edges_of(few)) == [(a, b)]
    with pytest.warns(CircuitWarning):
        made = Circuit.from_connectome(
            "flywire", edges, neurons, model="LeakyIAFExpConductance", receptor=("exc", "inh"),
            weight_scale=(0.5, -2.0), delay=1e-3, params={"resting_potential": -65.0,
            "threshold": -50.0, "reset_potential": -65.0, "leak_conductance": 10.0,
            "capacitance": 250.0, "tau_exc": 2.0, "tau_inh": 4.0, "E_exc": 0.0, "E_inh": -80.0},
        )  # fmt: skip
    exc, inh = made.connections
    assert (exc.access, inh.access) == ("exc", "inh")
    assert exc.data["weight"].tolist() == [6.0, 1.5]
    assert inh.data["weight"].tolist() == [12.0, 18.0]


CASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "neuprint": (
        {"bodyId_pre": [1, 1, 2], "bodyId_post": [2, 2, 1], "roi": ["a", "b", "a"],
         "weight": [2, 3, 4]},
        {"bodyId": [1, 2], "type": ["EPG", "PEN"], "instance": ["EPG_R", "PEN_L"],
         "somaSide": ["R", None], "rootSide": ["R", "L"], "predictedNt": ["acetylcholine", "gaba"],
         "consensusNt": [None, "glutamate"]},
    ),
    "male_cns": (
        {"body_pre": [1, 1, 2], "body_post": [2, 2, 1], "weight": [2, 3, 4]},
        {"bodyId": [1, 2], "type": ["EPG", "PEN"], "somaSide": ["R", None],
         "rootSide": ["L", "L"], "superclass": ["cb_intrinsic"] * 2, "status": ["Traced"] * 2,
         "somaLocation": [[1, 2, 3], None], "consensus_nt": ["acetylcholine", "histamine"]},
    ),
    "banc": (
        {"pre": [1, 1, 2], "post": [2, 2, 1], "count": [2, 3, 4], "norm": [0.1, 0.2, 0.3]},
        {"banc_746_id": [1, 2], "cell_type": ["EPG", "PEN"], "side": ["right", "left"],
         "region": ["central_brain"] * 2,
         "neurotransmitter_predicted": ["acetylcholine", "gaba"]},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_presets(name: str, tmp_path: Path) -> None:
    """The columns of each release mean what its preset says, from files and from frames."""
    edges, neurons = (pa.table(columns) for columns in CASES[name])
    paths = [tmp_path / "e.feather", tmp_path / "n.feather"]
    for table, path in zip((edges, neurons), paths, strict=True):
        feather.write_feather(table, path)
    for given in (paths, (edges, neurons), (edges.to_pandas(), neurons.to_pandas())):
        circuit = Circuit.from_connectome(name, *given, weight_scale=1.0)
        assert edges_of(circuit) == {("1", "2"): 5.0, ("2", "1"): -4.0}
        assert circuit.select().column("type").tolist() == ["EPG", "PEN"]
        assert circuit.select().column("side").tolist() == ["right", "left"]
    preset = release(name)
    assert preset.cite and preset.licence and preset.columns_from and preset.signs is SIGNS


def test_neurotransmitters_in_a_table_of_their_own() -> None:
    """A further table has its own name for the id; neurons that it lacks have no transmitter."""
    edges, neurons = (pa.table(columns) for columns in CASES["male_cns"])
    neurons = neurons.drop_columns(["consensus_nt"])
    other = pa.table({"body": [7, 2], "consensus_nt": ["gaba", "gaba"]})
    with pytest.warns(CircuitWarning, match="1 of 2 neurons"):
        circuit = Circuit.from_connectome("male_cns", edges, neurons, other, weight_scale=1.0)
    assert edges_of(circuit) == {("1", "2"): 5.0, ("2", "1"): -4.0}


def test_frames_of_from_tables(tmp_path: Path) -> None:
    """`from_tables` takes frames; an index with values is a column."""
    edges = {"a": [B, C], "b": [A, A], "w": [2.0, -1.0]}
    nodes = pd.DataFrame({"type": ["x", "y", "z"]}, index=pd.Index([A, B, C], name="root"))
    given = {"model": "LeakyIAFShiu", "source": "a", "target": "b", "weight": "w"}
    given["receptor"] = "syn"
    first = Circuit.from_tables(pd.DataFrame(edges), nodes, **given)
    second = Circuit.from_tables(pa.table(edges), pa.table(nodes.reset_index()), **given)
    assert first.digest == second.digest and first.select(type="y").uids.tolist() == [str(B)]
    with pytest.raises(CircuitError, match=r"the table of nodes, column 'root', row 2: the id 7.*"):
        Circuit.from_tables(pa.table(edges), nodes.reset_index().astype({"root": float}), **given)
    with pytest.raises(CircuitError, match=r"a file, a frame of pandas.*got \[1, 2\]"):
        Circuit.from_tables([1, 2], **given)


FAULTS: dict[str, tuple[dict[str, Any], str]] = {
    "preset": ({"name": "flywir"}, "no connectome 'flywir'.*flywire"),
    "columns": ({"name": "male_cns"}, r"has no column 'bodyId' or 'body' with the id"),
    "twice": ({"neurons": {"root_id": [A, A]}}, "rows 1 and 2: both are 7205"),
    "text": ({"neurons": {"root_id": ["x"], "nt_type": ["ACH"]}}, "ids are int64 here and string"),
    "sign": (
        {"neurons": {"root_id": [A, B], "nt_type": ["ACH", "nitric oxide"]}},
        "the transmitter 'nitric oxide' of 1 neurons has no sign; give signs=",
    ),
    "signs": ({"signs": {"gaba": "minus"}}, "signs: a number such as 1, -1 or 0 is needed"),
    "where": ({"where": {"sid": "left"}}, "where: there is no column 'sid'; there are"),
    "none": ({"where": {"side": "up"}}, "where: no neuron fulfils"),
    "model": ({"model": "LeakyIAFExpCurrent"}, "weight_scale: say what a synapse"),
    "unknown": ({"drop_unknown": False}, "column 'post_root_id', row 6: 5 is in no table"),
    "many": ({"min_synapses": 99}, "no connection is left"),
}


@pytest.mark.parametrize("case", FAULTS)
@pytest.mark.filterwarnings("ignore::neurodriver.errors.CircuitWarning")
def test_faults(case: str, tmp_path: Path) -> None:
    """What does not fit is named, with what to do."""
    given, said = FAULTS[case]
    more = dict(given)
    edges, neurons, classes, _ = flywire(tmp_path)
    name = more.pop("name", "flywire")
    tables: list[Any] = [neurons, classes]
    if "neurons" in more:
        tables = [pa.table(more.pop("neurons"))]
    with pytest.raises(CircuitError, match=said):
        Circuit.from_connectome(name, edges, *tables, **more)


def test_no_transmitter() -> None:
    """Without any transmitter, signs have to be said."""
    edges, neurons = (pa.table(columns) for columns in CASES["neuprint"])
    neurons = neurons.select(["bodyId", "type", "instance"])  # as traced-neurons.csv
    with pytest.raises(CircuitError, match=r"no table has a column 'consensusNt' or.*signs=1"):
        Circuit.from_connectome("neuprint", edges, neurons)
    circuit = Circuit.from_connectome("neuprint", edges, neurons, signs=1)
    assert_allclose(list(edges_of(circuit).values()), [5 * 0.275, 4 * 0.275])


def test_an_own_preset() -> None:
    """A preset is a `Release`; a sum over many random rows is that of a dictionary."""
    mine = Release("mine", ("i",), ("j",), ("n",), ("cell",), ("nt",), {"type": ("kind",)})
    rng = np.random.default_rng(1)
    i, j, n = (rng.integers(0, high, 5000) for high in (30, 30, 9))
    nt = rng.choice(["ach", "gaba"], 30)
    cells = pd.DataFrame({"cell": np.arange(30), "nt": nt, "kind": ["k"] * 30})
    circuit = Circuit.from_connectome(mine, pd.DataFrame({"i": i, "j": j, "n": n}), cells)
    expected: dict[tuple[str, str], float] = {}
    for a, b, k in zip(i.tolist(), j.tolist(), n.tolist(), strict=True):
        pair = str(a), str(b)
        expected[pair] = expected.get(pair, 0.0) + 0.275 * k * (1 if nt[a] == "ach" else -1)
    assert edges_of(circuit) == pytest.approx({p: w for p, w in expected.items() if w})
    (links,) = circuit.connections
    assert_array_equal(links.source, np.sort(links.source))
