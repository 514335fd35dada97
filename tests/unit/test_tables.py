"""Tables of nodes and edges: what they say becomes a circuit, what does not fit is named."""

from __future__ import annotations

import gzip
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from support import model, simulate

from neurodriver import Circuit, CircuitError, NDComponent
from neurodriver.errors import CircuitWarning

pa = pytest.importorskip("pyarrow")
from pyarrow import csv, feather, parquet  # noqa: E402

FLY, CURRENT = model("LeakyIAFShiu"), model("LeakyIAFExpCurrent")
ROOTS = [720575940628857210, 720575940596125868, 720575940597856265, 720575940604737708]
"""Root ids as released: float64 holds none of the first two."""

NEURON = {"resting_potential": -65.0, "threshold": -50.0, "reset_potential": -65.0}
NEURON |= {"time_constant": 10.0, "capacitance": 250.0, "tau_exc": 2.0, "tau_inh": 4.0}
FORMATS = ["t.parquet", "t.feather", "t.csv", "t.csv.gz"]


def write(path: Path, columns: dict[str, Any]) -> Path:
    """Write a table in the format of the ending, in several pieces."""
    table = columns if isinstance(columns, pa.Table) else pa.table(columns)
    name = path.name
    if name.endswith(".parquet"):
        parquet.write_table(table, path, row_group_size=3)
    elif name.endswith(".feather"):
        feather.write_feather(table, path, chunksize=3)
    else:
        csv.write_csv(table, path)
        if name.endswith(".gz"):
            path.write_bytes(gzip.compress(path.read_bytes()))
    return path


def edges_of(circuit: Circuit) -> list[tuple[str, str, str, float, float]]:
    """Return the edges, set by set: source, target, access, weight, delay."""
    out = []
    for links in circuit.connections:
        m = len(links)
        weight = np.broadcast_to(links.data.get("weight", np.float64(1)), m)
        ends = circuit.uids[links.source], circuit.uids[links.target]
        out += zip(*ends, [links.access] * m, weight, np.broadcast_to(links.delay, m), strict=True)
    return out


@pytest.mark.parametrize("form", FORMATS)
def test_the_fly_brain(form: str, tmp_path: Path) -> None:
    """The published columns are read by one call; indices are rows of the completeness table."""
    (tmp_path / "Completeness_783.csv").write_text(
        ",Completed\n" + "".join(f"{root},True\n" for root in ROOTS)
    )
    pre, post, synapses = [3, 0, 0, 1, 2, 3], [0, 1, 3, 1, 0, 0], [5, 12, 7, 1, 30, 2]
    sign = [1, -1, -1, 1, 1, 1]
    table = {
        "Presynaptic_ID": np.array(ROOTS)[pre],
        "Postsynaptic_ID": np.array(ROOTS)[post],
        "Presynaptic_Index": pre,
        "Postsynaptic_Index": post,
        "Connectivity": synapses,
        "Excitatory": sign,
        "Excitatory x Connectivity": np.multiply(synapses, sign),
    }
    path = write(tmp_path / form, table)
    nodes = tmp_path / "Completeness_783.csv"
    given = {"model": FLY, "weight_scale": 0.275, "delay": 1.8e-3, "receptor": "syn"}
    product = {**given, "weight": "Excitatory x Connectivity"}
    circuit = Circuit.from_tables(
        path, nodes, source="Presynaptic_Index", target="Postsynaptic_Index", index=True, **product
    )
    assert circuit.uids.tolist() == [str(root) for root in ROOTS]
    (links,) = circuit.connections
    assert (links.variable, links.access, links.delay.shape) == ("spike_state", "syn", ())
    assert_array_equal(links.source, pre)
    assert_array_equal(links.target, post)
    assert_array_equal(links.data["weight"], 0.275 * np.multiply(synapses, sign))
    ends = {"source": "Presynaptic_ID", "target": "Postsynaptic_ID"}
    for more in ({**product}, {**given, "weight": "Connectivity", "sign": "Excitatory"}):
        assert Circuit.from_tables(path, nodes, **ends, **more).digest == circuit.digest
    alone = Circuit.from_tables(path, **ends, **product)
    assert alone.uids.tolist() == sorted(map(str, ROOTS))  # all of 18 digits
    assert edges_of(alone) == edges_of(circuit)


def test_weights_act(tmp_path: Path) -> None:
    """A circuit of tables computes what the same circuit of arrays does."""
    path = write(tmp_path / "e.parquet", {"a": [0, 0, 1], "b": [1, 2, 2], "w": [40, -3, 9]})
    circuit = Circuit.from_tables(
        path, model="LeakyIAFShiu", source="a", target="b", weight="w", index=True,
        delay=2, delay_scale=1e-3, receptor="kick", params={"initV": np.array([-40.0, -52, -52])},
    )  # fmt: skip
    V = simulate(circuit, 1e-4, 60)["V"]
    # the first neuron spikes in row 1; 2 ms later the second one jumps by 40 mV, spikes in row 22
    assert V[21, 2] == pytest.approx(-55.0, abs=0.1) and V[20, 2] == -52.0
    assert V[42, 2] - V[41, 2] == pytest.approx(9.0, abs=0.1)


@pytest.mark.parametrize("form", FORMATS)
def test_ids_are_exact(form: str, tmp_path: Path) -> None:
    """Ids that floating-point numbers cannot tell apart, and text, keep every digit."""
    top = 2**63 - 1
    path = write(tmp_path / form, {"a": [top, top - 1], "b": [top - 1, 5]})
    circuit = Circuit.from_tables(path, model=FLY, source="a", target="b", receptor="syn")
    assert circuit.uids.tolist() == ["5", str(top - 1), str(top)]
    assert [e[:2] for e in edges_of(circuit)] == [(str(top), str(top - 1)), (str(top - 1), "5")]
    text = write(tmp_path / f"x{form}", {"a": ["é b", "z"], "b": ["z", 'a,"c"']})
    circuit = Circuit.from_tables(text, model=FLY, source="a", target="b", receptor="syn")
    assert circuit.uids.tolist() == ['a,"c"', "z", "é b"]
    assert [e[:2] for e in edges_of(circuit)] == [("é b", "z"), ("z", 'a,"c"')]


def test_types_that_hold_ids(tmp_path: Path) -> None:
    """Unsigned, decimal, categorical and whole floating-point ids are the same ids."""
    want = None
    plain = pa.array([7, 3, 7])
    for column in (
        plain,
        plain.cast(pa.uint64()),
        plain.cast(pa.int8()),
        plain.cast(pa.float64()),
        plain.cast(pa.decimal128(25, 0)),
        plain.dictionary_encode(),
        plain.cast(pa.string()),
        plain.cast(pa.string()).dictionary_encode(),
        plain.cast(pa.large_string()),
    ):
        path = write(tmp_path / "t.parquet", {"a": column, "b": column})
        circuit = Circuit.from_tables(path, model=FLY, source="a", target="b", receptor="syn")
        want = want or circuit.digest
        assert circuit.digest == want, column.type


def test_nodes_and_their_columns(tmp_path: Path) -> None:
    """Parameters come from columns, numbers or arrays; isolated nodes stay; order is the file's."""
    nodes = write(tmp_path / "n.csv", {"name": ["b", "a", "c"], "tau": [5, 6, 7], "id": [1, 2, 3]})
    edges = write(tmp_path / "e.csv", {"x": ["c"], "y": ["b"], "w": [2.5]})
    params = {**NEURON, "tau_exc": "tau", "initV": np.array([-60.0, -61.0, -62.0])}
    circuit = Circuit.from_tables(
        edges, nodes, model=CURRENT, source="x", target="y", weight="w", receptor="exc",
        params=params,
    )  # fmt: skip
    group = circuit.groups[0]
    assert circuit.uids.tolist() == ["b", "a", "c"]
    assert group.params["tau_exc"].tolist() == [5.0, 6.0, 7.0]
    assert group.params["initV"].tolist() == [-60.0, -61.0, -62.0]
    assert group.params["tau_inh"].shape == () and group.params["tau_inh"] == 4.0
    assert edges_of(circuit) == [("c", "b", "exc", 2.5, 0.0)]
    again = Circuit.from_tables(
        write(tmp_path / "i.csv", {"x": [3], "y": [1]}), nodes, id="id", model=CURRENT,
        source="x", target="y", receptor="exc", weight=2.5, params=params,
    )  # fmt: skip
    assert again.uids.tolist() == ["1", "2", "3"]
    assert edges_of(again) == [("3", "1", "exc", 2.5, 0.0)]


@pytest.mark.parametrize("form", FORMATS)
def test_receptors(form: str, tmp_path: Path) -> None:
    """Receptors go by the sign of the weight, by a column, or by what a column translates to."""
    kinds = ["ACH", "GABA", "ACH", "GLUT", "GABA"]
    table = {
        "a": [0, 1, 2, 3, 0],
        "b": [1, 2, 3, 0, 2],
        "w": [1.0, -2.0, 3.0, -4.0, -0.5],
        "t": pa.array(kinds).dictionary_encode(),
        "r": ["exc", "inh", "exc", "inh", "inh"],
        "d": [1.0, 2.0, 3.0, 4.0, 5.0],
    }
    path = write(tmp_path / form, pa.table(table))
    given: dict[str, Any] = {"model": CURRENT, "source": "a", "target": "b", "index": True}
    given |= {"weight": "w", "params": NEURON, "delay": "d", "delay_scale": 1e-3}
    by_sign = Circuit.from_tables(path, receptor=("exc", "inh"), **given)
    assert [c.access for c in by_sign.connections] == ["exc", "inh"]
    assert by_sign.connections[0].source.tolist() == [0, 2]
    assert by_sign.connections[1].source.tolist() == [1, 3, 0]
    assert by_sign.connections[1].data["weight"].tolist() == [-2.0, -4.0, -0.5]
    assert_array_equal(by_sign.connections[1].delay, np.array([2.0, 4.0, 5.0]) * 1e-3)
    by_column = Circuit.from_tables(path, receptor_column="r", **given)
    table_of = {"ACH": "exc", "GABA": "inh", "GLUT": "inh"}
    by_table = Circuit.from_tables(path, receptor_column="t", receptor=table_of, **given)
    assert by_sign.digest == by_column.digest == by_table.digest
    scaled = Circuit.from_tables(path, receptor=("exc", "inh"), weight_scale=(10, -3), **given)
    assert [c.data["weight"].tolist() for c in scaled.connections] == [[10, 30], [6, 12, 1.5]]
    with pytest.raises(CircuitError) as caught:
        Circuit.from_tables(path, receptor_column="t", receptor={"ACH": "exc"}, **given)
    assert "column 't', row 2: must be one of 'ACH' (got 'GABA')" in str(caught.value)
    assert "3 faults" in str(caught.value)


@pytest.mark.parametrize("form", FORMATS)
def test_unknown_nodes(form: str, tmp_path: Path) -> None:
    """Edges of nodes that are not listed are refused, or left out and counted."""
    nodes = write(tmp_path / "n.csv", {"id": [10, 20, 30]})
    table = {"a": [10, 99, 20, 30, 98], "b": [20, 10, 97, 10, 30], "w": [1, 2, 3, 4, 5]}
    edges = write(tmp_path / form, table)
    given: dict[str, Any] = {"model": FLY, "source": "a", "target": "b", "weight": "w"}
    given |= {"receptor": "syn"}
    with pytest.raises(CircuitError) as caught:
        Circuit.from_tables(edges, nodes, **given)
    message = str(caught.value)
    assert "3 faults" in message and "drop_unknown=True" in message
    for word in ("'a', row 2: 99 is not in", "'a', row 5: 98", "'b', row 3: 97"):
        assert word in message
    with pytest.warns(CircuitWarning, match="3 of 5 edges lead") as told:
        circuit = Circuit.from_tables(edges, nodes, drop_unknown=True, **given)
    assert len(told) == 1
    assert edges_of(circuit) == [("10", "20", "syn", 1.0, 0.0), ("30", "10", "syn", 4.0, 0.0)]
    with pytest.raises(CircuitError, match="strict"):
        Circuit.from_tables(edges, nodes, drop_unknown=True, strict=True, **given)


GIVEN: dict[str, Any] = {"model": FLY, "source": "a", "target": "b", "receptor": "syn"}
GOOD = {"a": [0, 1, 2], "b": [1, 2, 0], "w": [1.0, 2.0, 3.0]}


@pytest.mark.parametrize(
    ("columns", "given", "words"),
    [
        ({"a": [0], "B": [1]}, {}, ["no column 'b' (did you mean 'B'?)", "it has 'a', 'B'"]),
        (GOOD, {"source": "x", "weight": "y"}, ["2 faults", "'x'", "'y'"]),
        ({"a": [1, None, 3]}, {}, ["column 'a', row 2: the id is empty"]),
        ({"a": [1.0, 2.5, np.nan]}, {}, ["row 2: an id must be", "2.5", "row 3: the id is empty"]),
        ({"a": [1.0, 7.2e17, 2.0]}, {}, ["row 2", "720000000000000000", "store ids as integers"]),
        ({"a": pa.array([1, 2**64 - 1, 3], pa.uint64())}, {}, ["'a': must hold whole numbers"]),
        ({"a": [True, False, True]}, {}, ["'a': must hold whole numbers or text (got bool"]),
        ({"a": ["x", "y", "z"]}, {}, ["column 'b': ids are int64 here and string elsewhere"]),
        ({"a": [0, -1, 5]}, {"index": True}, ["'a', row 2", "0 to", "got -1"]),
        ({"a": ["0", "1", "2"]}, {"index": True}, ["'a', row 1: no number (got 0)"]),
        ({"w": [1.0, None, np.inf]}, {"weight": "w"}, ["row 2: must be a finite", "row 3", "inf"]),
        ({"w": [1.0, np.nan, 0.0]}, {"weight": "w"}, ["column 'w', row 2", "got nan"]),
        ({"w": ["1", "x", "2"]}, {"weight": "w"}, ["'w': must hold numbers", "instance '1'"]),
        ({"w": [1, 0, -1]}, {"sign": "w"}, ["'w', row 2: must be 1 or -1 (got 0)"]),
        ({"w": [1, -3, 2]}, {"delay": "w"}, ["'w', row 2: must not be negative (got -3)"]),
        (GOOD, {"receptor": "sin"}, ["'sin'", "LeakyIAFShiu has syn, kick"]),
        (GOOD, {"receptor": {"x": "syn"}}, ["receptor_column="]),
        (GOOD, {"receptor": ("syn", "kick"), "receptor_column": "w"}, ["by the sign", "column="]),
        (GOOD, {"params": {"tau": "w"}, "id": "a"}, ["2 faults", "params['tau']", "nodes="]),
        (GOOD, {"drop_unknown": True}, ["drop_unknown asks for a table of nodes"]),
        (GOOD, {"params": {"tauu": 3.0}}, ["no parameter 'tauu'", "mean 'tau'?"]),
        (GOOD, {"params": {"tau": [1.0, 2.0]}}, ["LeakyIAFShiu.tau", "3", "(2,)"]),
        (GOOD, {"params": {"tau": -1.0}}, ["'tau'", "positive", "all 3 nodes"]),
        (GOOD, {"delay": -1.0}, ["'delay'", "at least 0"]),
        (GOOD, {"model": "LeakyIAFShui"}, ["unknown model", "mean 'LeakyIAFShiu'?"]),
        (GOOD, {"model": model("LeakyIAF"), "receptor": ""}, ["no variable to carry"]),
    ],
)  # fmt: skip
def test_refused(
    columns: dict[str, Any], given: dict[str, Any], words: list[str], tmp_path: Path
) -> None:
    """File, column, row and value are named, all at once."""
    table = columns if "B" in columns else {**GOOD, **columns}
    path = write(tmp_path / "edges.parquet", table)
    with pytest.raises(CircuitError) as caught:
        Circuit.from_tables(path, **{**GIVEN, **given})
    for word in words:
        assert word in str(caught.value)


class Plain(NDComponent):
    """Reads r without weights."""

    accesses, updates = ("r",), ("r",)
    update = "r = input_r;"


def test_weights_need_an_access_that_takes_them(tmp_path: Path) -> None:
    """A weight that would be ignored is refused; without it there is none."""
    path = write(tmp_path / "e.parquet", GOOD)
    given: dict[str, Any] = {"model": Plain, "source": "a", "target": "b"}
    for more in ({"weight": "w"}, {"weight_scale": 2.0}, {"sign": "w"}):
        with pytest.raises(CircuitError, match="'r' takes no weights"):
            Circuit.from_tables(path, **given, **more)
    assert not Circuit.from_tables(path, **given).connections[0].data


@pytest.mark.parametrize("form", FORMATS)
def test_bad_nodes(form: str, tmp_path: Path) -> None:
    """Ids that stand twice, empty ids and parameters are named with their rows."""
    edges = write(tmp_path / "e.parquet", GOOD)
    ids = [0, 1, 2, 1, 3, 0]
    nodes = write(tmp_path / form, {"id": ids, "tau": [1.0] * 4 + [None, 1.0]})
    with pytest.raises(CircuitError) as caught:
        Circuit.from_tables(edges, nodes, **{**GIVEN, "params": {"tau": "tau"}})
    assert "column 'tau', row 5: must be a finite number (it is empty)" in str(caught.value)
    with pytest.raises(CircuitError) as caught:
        Circuit.from_tables(edges, nodes, **GIVEN)
    message = str(caught.value)
    assert "2 faults" in message
    assert (
        f"{nodes}, column 'id', rows 2 and 4: both are 1" in message and "rows 1 and 6" in message
    )
    short = write(tmp_path / f"s{form}", {"id": [0, 1]})
    with pytest.raises(
        CircuitError, match=r"row 3: a number of 0 to 1, as .* has 2 rows"
    ) as caught:
        Circuit.from_tables(edges, short, **GIVEN, index=True)
    mixed = write(tmp_path / f"m{form}", {"id": ["x", "y"]})
    with pytest.raises(CircuitError, match=r"ids are int64 here and string in"):
        Circuit.from_tables(edges, mixed, **GIVEN)


def test_many_faults_are_counted(tmp_path: Path) -> None:
    """Ten are told in full, all are counted."""
    n = 3000
    path = write(tmp_path / "e.parquet", {"a": np.arange(n), "b": np.full(n, -1)})
    with pytest.raises(CircuitError) as caught:
        Circuit.from_tables(path, **GIVEN, index=True)
    assert "3000 faults" in str(caught.value) and "2990 more" in str(caught.value)


def test_files_that_are_no_tables(tmp_path: Path) -> None:
    """Missing, empty, cut and foreign files are refused in one line."""
    good = write(tmp_path / "good.parquet", GOOD).read_bytes()
    packed = gzip.compress(b"a,b\n" + b"0,1\n" * 5000)
    bad = {
        "none": None,
        "empty.csv": b"",
        "cut.parquet": good[: len(good) // 2],
        "cut.feather": b"ARROW1\0\0abcdef",
        "cut.csv.gz": packed[: len(packed) // 2],
        "ragged.csv": b"a,b\n1,2\n3\n",
        "word.csv": b"a,b\n" + b"1,2\n" * 10 + b"3,\xff\xfe\n",
        "x.h5": b"\x89HDF\r\n\x1a\n" + bytes(100),
    }
    for name, content in bad.items():
        path = tmp_path / name
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(CircuitError) as caught:
            Circuit.from_tables(path, **GIVEN)
        assert str(path) in str(caught.value) and "\n" not in str(caught.value)


def test_changed_bytes(tmp_path: Path) -> None:
    """A damaged file is refused by an error of ours, or read."""
    rng = np.random.default_rng(0)
    for form in FORMATS:
        columns = {k: np.tile(v, 50) for k, v in GOOD.items()}
        whole = write(tmp_path / form, columns).read_bytes()
        for _ in range(60):
            data = bytearray(whole)
            data[rng.integers(len(data))] ^= int(rng.integers(1, 256))
            (tmp_path / form).write_bytes(data)
            try:
                Circuit.from_tables(tmp_path / form, **GIVEN, weight="w", index=True)
            except CircuitError as error:
                assert str(tmp_path) in str(error)


def test_pieces(tmp_path: Path) -> None:
    """The circuit does not depend on the format, nor on the pieces in which it is stored."""
    rng = np.random.default_rng(3)
    ids = rng.integers(0, 2**60, 50)
    table = {"a": rng.choice(ids, 1000), "b": rng.choice(ids, 1000), "w": rng.normal(size=1000)}
    digests = set()
    for form in FORMATS:
        path = write(tmp_path / form, table)
        circuit = Circuit.from_tables(path, **GIVEN, weight="w")
        digests.add(circuit.digest)
    feather.write_feather(pa.table(table), tmp_path / "whole.feather")
    digests.add(Circuit.from_tables(tmp_path / "whole.feather", **GIVEN, weight="w").digest)
    assert len(digests) == 1
    assert circuit.uids.tolist() == [str(i) for i in sorted({*table["a"], *table["b"]})]


def test_the_name_of_the_first_column(tmp_path: Path) -> None:
    """Tables written with an index of row names have a column without a name."""
    nodes = tmp_path / "n.csv"
    nodes.write_text(",tau\nx,3\ny,4\n")
    edges = write(tmp_path / "e.csv", {"a": ["y"], "b": ["x"]})
    circuit = Circuit.from_tables(edges, nodes, **{**GIVEN, "params": {"tau": "tau"}})
    assert circuit.uids.tolist() == ["x", "y"]
    assert circuit.groups[0].params["tau"].tolist() == [3.0, 4.0]


def test_without_edges(tmp_path: Path) -> None:
    """A table without rows is a circuit of its nodes; without nodes it is none."""
    edges = write(
        tmp_path / "e.parquet", {"a": pa.array([], pa.int64()), "b": pa.array([], pa.int64())}
    )
    nodes = write(tmp_path / "n.csv", {"id": [4, 5]})
    circuit = Circuit.from_tables(edges, nodes, **GIVEN)
    assert (circuit.count, circuit.edges) == (2, 0)
    with pytest.raises(CircuitError, match="no nodes"):
        Circuit.from_tables(edges, **GIVEN)


def test_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message says what to install."""
    path = write(tmp_path / "e.parquet", GOOD)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(CircuitError, match=r'pip install "neurodriver\[tables\]"'):
        Circuit.from_tables(path, **GIVEN)


def test_saved(tmp_path: Path) -> None:
    """What tables gave is kept in an HDF5 file."""
    circuit = Circuit.from_tables(write(tmp_path / "e.csv", GOOD), **GIVEN, weight="w")
    circuit.save(tmp_path / "c.h5")
    assert Circuit.from_file(tmp_path / "c.h5").digest == circuit.digest


@pytest.mark.parametrize("form", ["csv", "parquet", "feather"])
def test_tables_larger_than_memory(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows for which there is no memory are refused with the bytes, and read where there is."""
    edges = {"a": np.arange(60_000), "b": np.arange(60_000)[::-1]}
    path = tmp_path / f"edges.{form}"
    write = {"csv": csv.write_csv, "parquet": parquet.write_table, "feather": feather.write_feather}
    write[form](pa.table(edges), path)
    assert Circuit.from_tables(path, **GIVEN).groups[0].count == 60_000
    monkeypatch.setattr("neurodriver.io.arrow.free_memory", lambda: 2.0**19)
    want = rf"edges.{form}: its (first )?60,000 rows take at least 0.0 GiB, 0.0 GiB of memory"
    with pytest.raises(CircuitError, match=want):
        Circuit.from_tables(path, **GIVEN)
