"""Patterns: connections between ports, their rules, and the ways in and out."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from neurodriver.compat.ports import Interface, Pattern, Selector
from neurodriver.errors import PortError


def io(p: Pattern) -> dict[str, Any]:
    """Return the direction of each port that has one."""
    values = p.interface.labels["io"].values().tolist()
    return {t: v for t, v in zip(p.interface.ids.texts(), values, strict=True) if v == v}


def conn(p: Pattern, name: str = "conn") -> list[Any]:
    """Return a column in lexicographic order."""
    return p.sorted_links().column(name).tolist()


@pytest.fixture
def both() -> Pattern:
    """Connections in both directions, with a fan-out."""
    p = Pattern("/foo[0:5]", "/bar[0:5]")
    for a, b in (("/foo[1]", "/bar[2]"), ("/bar[3]", "/foo[2,3]"), ("/foo[0]", "/bar[0]"),
                 ("/foo[1]", "/bar[1]"), ("/bar[4]", "/foo[4]")):  # fmt: skip
        p[a, b] = 1
    return p


PAIRS = [
    ("/bar/3", "/foo/2"), ("/bar/3", "/foo/3"), ("/bar/4", "/foo/4"),
    ("/foo/0", "/bar/0"), ("/foo/1", "/bar/1"), ("/foo/1", "/bar/2"),
]  # fmt: skip


def test_interfaces() -> None:
    """Each selector is an interface; disjoint; any depth; the table is empty at first."""
    p = Pattern("/a[0:2]", Selector("/b"), [("c", 0, "x")])
    assert p.interface_ids == {0, 1, 2} and len(p) == 0 and p.num_levels == {"from": 3, "to": 3}
    assert p.interface.to_tuples(2) == [("c", 0, "x")]
    assert p.data.index.names == ["from_0", "from_1", "from_2", "to_0", "to_1", "to_2"]
    assert p.index.nlevels == 6 and list(p.data) == ["conn"] and p.from_slice == slice(0, 3)
    assert p.to_slice == slice(3, 6)
    assert list(Pattern("/a", "/b", columns=["conn", "w"]).data) == ["conn", "w"]
    for exception in (ValueError, AssertionError):
        with pytest.raises(exception, match="share ports: '/bar/0', '/bar/1'"):
            Pattern("/[foo,bar][0:2]", "/bar[0:2]")
    with pytest.raises(ValueError, match="Duplicate"):
        Pattern("/foo[0],/foo[0]", "/bar[0:2]")
    with pytest.raises(ValueError, match="invalid selector"):
        Pattern("/foo/*", "/bar")


def test_all_sources_to_all_destinations(both: Pattern) -> None:
    """Rows are in lexicographic order; sources become "in", destinations "out"."""
    assert both.connected_port_pairs(as_str=True) == PAIRS == both.get_conns(True)
    assert both.connected_port_pairs()[0] == (("bar", 3), ("foo", 2)) and len(both) == 6
    assert io(both) == {
        "/foo/0": "in", "/foo/1": "in", "/foo/2": "out", "/foo/3": "out", "/foo/4": "out",
        "/bar/0": "out", "/bar/1": "out", "/bar/2": "out", "/bar/3": "in", "/bar/4": "in",
    }  # fmt: skip
    assert both.interface.labels["type"].unset.all()
    assert both.data["conn"].tolist() == [1] * 6
    assert both.data.index[3] == ("foo", 0, "bar", 0)
    assert "6 connections from 4 to 6 ports" in repr(both)


def test_columns(both: Pattern) -> None:
    """Existing pairs are updated; named columns, new columns, dictionaries, values per pair."""
    both["/foo[1]", "/bar[1:3]"] = 0.5
    both["/foo[0]", "/bar[0]", "conn", "w"] = [1, 2]
    both["/bar[3]", "/foo[2,3]", "w"] = {"w": [3, 4], "name": "x"}
    assert len(both) == 6 and conn(both) == [1, 1, 1, 1, 0.5, 0.5]
    np.testing.assert_array_equal(conn(both, "w"), [3, 4, np.nan, 2, np.nan, np.nan])
    assert conn(both, "name")[:2] == ["x", "x"] and conn(both, "name")[3] != "x"
    both["/foo[1]", "/bar[1]", "w"] = None
    assert np.isnan(conn(both, "w")[4])
    for key, value, match in (
        (("/foo[0]", "/bar[0]", "w"), [1, 2], "2 values for 1 columns"),
        (("/foo[0]", "/bar[0]"), {"w": [1, 2]}, "1 values are needed"),
        (("/foo[0]", "/bar[1]"), {"w": [1, 2]}, "1 values are needed"),
        (("/foo[0]",), 1, "two selectors"),
        ("/foo[0]", 1, "two selectors"),
    ):
        with pytest.raises(PortError, match=match):
            both[key] = value
        assert len(both) == 6


def test_tables(both: Pattern) -> None:
    """``p[a, b]`` holds the connections among these ports, in the order of the selectors."""
    assert both["/foo[1,0]", "/bar[0:3]"].index.tolist() == [
        ("foo", 1, "bar", 0 + 1), ("foo", 1, "bar", 2), ("foo", 0, "bar", 0),
    ]  # fmt: skip
    assert both["/foo[1]", "/bar[2,1]"].index.tolist() == [
        ("foo", 1, "bar", 2),
        ("foo", 1, "bar", 1),
    ]
    assert both["/*", "/foo/*", "conn"].shape == (3, 1) and both["/bar", "/foo"].shape == (3, 1)
    assert both[[("foo", 0)], [("bar", 0)]].shape == (1, 1) and both["/foo[9]", "/bar[0]"].empty
    with pytest.raises(PortError, match="no column 'w'"):
        both["/foo[0]", "/bar[0]", "w"]


BOTH_ROLES = "Ports cannot both receive input and send output."
REFUSED = [
    ("/foo[0]", "/bar[1]", "Fan-in pattern entries detected.", "'/foo/0' -> '/bar/1'"),
    ("/bar[0]", "/foo[0]", BOTH_ROLES, "'/bar/0' -> '/foo/0'"),
    ("/foo[0]", "/bar[4]", BOTH_ROLES, "'/foo/0' -> '/bar/4'"),
    ("/foo[0,0]", "/x[0]", "Duplicate pattern entries detected.", "'/foo/0' -> '/x/0'"),
    ("/foo[0,1]", "/x[0]", "Fan-in pattern entries detected.", "-> '/x/0'"),
    ("/foo[0]", "/foo[1]", "ports of one interface", "'/foo/0' -> '/foo/1'"),
    ("/foo[0],/x[0]", "/x[1]", "ports of one interface", "'/x/0' -> '/x/1'"),
    ("/foo[9]", "/bar[0]", "no such port", "'/foo/9'"),
    ("/foo[0]", "/bar", "no such port", "'/bar'"),
]  # fmt: skip


@pytest.mark.parametrize(("a", "b", "beginning", "named"), REFUSED)
def test_rules(a: str, b: str, beginning: str, named: str) -> None:
    """Fan-in, turning round, repeats and strangers are refused, and nothing is changed by that."""
    p = Pattern("/foo[0:5]", "/bar[0:5]", "/x[0:3]")
    p["/foo[0]", "/bar[0]"] = 1
    p["/foo[1]", "/bar[1:3]"] = 1
    p["/bar[4]", "/foo[4]"] = 1
    before, directions = p.connected_port_pairs(), io(p)
    for exception in (ValueError, AssertionError):
        with pytest.raises(exception) as caught:
            p[a, b] = 2
        assert str(caught.value).startswith(beginning) and named in str(caught.value)
    assert p.connected_port_pairs() == before and io(p) == directions and conn(p) == [1] * 4


def test_fan_in_looks_only_at_connected_ports() -> None:
    """Ports of the interface that are not connected play no role."""
    p = Pattern("/x[0:3]", "/y[0:3]")
    p["/x[0]", "/y[0:2]"] = 1
    p["/x[1]", "/y[2]"] = 1
    with pytest.raises(ValueError, match="Fan-in"):
        p["/x[2]", "/y[2]"] = 1
    p["/x[0]", "/y[0:2]"] = 5  # the same pairs again
    assert conn(p) == [5, 5, 1]


def test_from_concat() -> None:
    """One by one, in the order that was given; data is a scalar, an array, a table or nothing."""

    def made(**more: Any) -> Pattern:
        return Pattern.from_concat(
            "/[foo,bar]", "/[baz,qux]", from_sel="/[foo,bar]", to_sel="/[baz,qux]", **more
        )

    p = made(data=1)
    assert p.get_conns(True) == [("/foo", "/baz"), ("/bar", "/qux")] and conn(p) == [1, 1]
    assert io(p) == {"/foo": "in", "/bar": "in", "/baz": "out", "/qux": "out"}
    p = made()
    assert np.isnan(conn(p)).all() and p.is_connected(0, 1)  # unset counts as connected
    assert conn(made(data=[3, 4])) == [3, 4] and conn(made(data={"conn": [5, 6]})) == [5, 6]
    p = made(data=np.array([[1, 2], [3, 4]]), columns=["conn", "w"])
    assert conn(p) == [1, 3] and conn(p, "w") == [2, 4]
    assert conn(made(data=pd.DataFrame({"conn": [7, 8]}))) == [7, 8]
    p = made(gpot_sel="/foo,/baz", spike_sel=Selector("/bar,/qux"))
    assert p.gpot_ports(tuples=True) == [("foo",), ("baz",)]
    assert p.spike_ports(1, True) == [("qux",)]
    p = Pattern.from_concat("/a[0:3]", "/b[0:3]")
    assert len(p) == 0 and p.interface_ids == {0, 1}
    sel = Selector("/a[2,0]"), Selector("/b[0,1]")
    p = Pattern.from_concat("/a[0:3]", "/b[0:3]", from_sel=sel[0], to_sel=sel[1], data=[1, 2])
    assert p.get_conns(True) == [("/a/2", "/b/0"), ("/a/0", "/b/1")]
    p["/a[1]", "/b[2]"] = 3
    assert p.get_conns(True) == [("/a/0", "/b/1"), ("/a/1", "/b/2"), ("/a/2", "/b/0")]
    assert conn(p) == [2, 3, 1]
    for bad, match in (
        ({"from_sel": "/foo", "to_sel": "/baz,/qux"}, "1 sources and 2 destinations"),
        ({"from_sel": "/foo"}, "both or not at all"),
        ({"from_sel": "/foo", "to_sel": "/zzz"}, "no such port"),
        ({"from_sel": "/foo,/bar", "to_sel": "/baz,/baz"}, "Fan-in"),
        ({"from_sel": "/foo,/baz", "to_sel": "/baz,/bar"}, "both receive input and send output"),
        (
            {"from_sel": "/foo,/baz", "to_sel": "/qux,/qux"},
            "ports of one interface.*'/baz' -> '/qux'",
        ),
        (
            {"from_sel": "/foo,/bar", "to_sel": "/baz,/qux", "data": [1, 2, 3]},
            "2 values are needed",
        ),
    ):
        with pytest.raises(ValueError, match=match):
            Pattern.from_concat("/[foo,bar]", "/[baz,qux]", **bad)
    for empty in ("", "/a[0:0]", []):
        with pytest.raises(ValueError, match="cannot create pattern with empty selector"):
            Pattern.from_concat(empty, "/b")


def test_from_product() -> None:
    """Each with each; a fan-in has to be asked for."""
    sel = {"from_sel": "/foo[0:2]", "to_sel": "/bar[0:2]"}
    with pytest.raises(ValueError, match=r"^Fan-in pattern entries detected\."):
        Pattern.from_product("/foo[0:2]", "/bar[0:2]", **sel, data=1)  # type: ignore[arg-type]
    p = Pattern.from_product("/foo[0:2]", "/bar[0:2]", **sel, data=1, validate=False)  # type: ignore[arg-type]
    assert p.get_conns(True) == [
        ("/foo/0", "/bar/0"), ("/foo/0", "/bar/1"), ("/foo/1", "/bar/0"), ("/foo/1", "/bar/1"),
    ]  # fmt: skip
    p["/foo[1]", "/bar[0]"] = 7  # every row of a fan-in is found
    p["/foo[0]", "/bar[0]"] = 8
    assert conn(p) == [8, 1, 7, 1] and len(p) == 4
    assert p.src_idx(0, 1, dest_ports="/bar[0]") == [("foo", 0), ("foo", 1)]
    assert p.dest_idx(0, 1) == [("bar", 0), ("bar", 1)]
    q = Pattern.from_product("/a", "/b[0:3]", from_sel="/a", to_sel="/b[0:3]")
    assert len(q) == 3 and q.src_idx(0, 1) == [("a",)]


def test_src_and_dest(both: Pattern) -> None:
    """Sources and destinations by interface, type and ports at the other end."""
    assert both.src_idx(0, 1) == [("foo", 0), ("foo", 1)]
    assert both.src_idx(0, 1, duplicates=True) == [("foo", 0), ("foo", 1), ("foo", 1)]
    assert both.src_idx(1, 0) == [("bar", 3), ("bar", 4)]
    assert both.src_idx(0, 1, dest_ports="/bar[1:5]") == [("foo", 1)]
    assert both.dest_idx(0, 1) == [("bar", 0), ("bar", 1), ("bar", 2)]
    assert both.dest_idx(1, 0, src_ports="/bar[3]") == [("foo", 2), ("foo", 3)]
    assert both.dest_idx(1, 0, src_ports="/bar[0]") == []
    both.interface["/foo[0:5]", "type"] = "spike"
    both.interface["/bar[0,3]", "type"] = "spike"
    both.interface["/bar[1,2,4]", "type"] = "gpot"
    assert both.src_idx(0, 1, dest_type="gpot") == [("foo", 1)]
    assert both.src_idx(0, 1, src_type="spike", dest_type="spike") == [("foo", 0)]
    assert both.src_idx(0, 1, src_type="gpot") == [] == both.dest_idx(0, 1, src_type="gpot")
    assert both.dest_idx(0, 1, src_type="spike") == [("bar", 0), ("bar", 1), ("bar", 2)]
    assert both.dest_idx(1, 0, src_type="spike") == [("foo", 2), ("foo", 3)]
    assert both.dest_idx(0, 1, dest_type="spike", src_ports="/foo[0]") == [("bar", 0)]
    src, dst = both.src_rows(0, 1, dest_type="gpot")
    assert src.tolist() == [1, 1] and dst.tolist() == [6, 7]
    for a, b, match in ((0, 0, "both interface 0"), (0, 2, r"no interface 2; there are \[0, 1\]")):
        for call in (both.src_idx, both.dest_idx, both.is_connected):
            with pytest.raises(AssertionError, match=match):
                call(a, b)


def test_is_connected() -> None:
    """A row counts when its conn is not 0; direction matters; single levels work."""
    p = Pattern("/[aaa,bbb]", "/[ccc,ddd]", "/e")
    p["/aaa", "/ccc"] = 1
    assert p.is_connected(0, 1) and not p.is_connected(1, 0) and not p.is_connected(0, 2)
    p["/aaa", "/ccc"] = 0
    assert not p.is_connected(0, 1)
    p["/aaa", "/ccc"] = np.nan
    assert p.is_connected(0, 1)
    assert p.src_idx(0, 1) == [("aaa",)] and p.dest_idx(0, 1) == [("ccc",)]
    assert p.get_conns() == [(("aaa",), ("ccc",))]
    assert p.data.index.tolist() == [("aaa", "ccc")]
    q = Pattern("0,1", "[2:4]")
    q["0", "[2,3]"] = 1
    assert q.is_connected(0, 1) and q.get_conns() == [((0,), (2,)), ((0,), (3,))]


def test_levels_of_different_depth() -> None:
    """Shorter identifiers are filled with '' in tables and nowhere else."""
    p = Pattern("/x[0:3]/y", "/z")
    p["/x[1]/y", "/z"] = 1
    assert p.data.index.tolist() == [("x", 1, "y", "z", "", "")]
    assert p.get_conns() == [(("x", 1, "y"), ("z",))] and p.connected_ports(1, True) == [("z",)]
    assert Pattern.from_df(p.interface.data, p.data).get_conns() == p.get_conns()


def test_connected_ports_and_interface_queries(both: Pattern) -> None:
    """Connected ports in lexicographic order; the queries of the interface are the pattern's."""
    extra = Pattern("/foo[0:5]", "/bar[0:5]", "/x")
    extra["/foo[3]", "/bar[2]"] = 1
    extra["/foo[1]", "/x"] = 1
    assert extra.connected_ports(tuples=True) == [("bar", 2), ("foo", 1), ("foo", 3), ("x",)]
    assert extra.connected_ports(0, True) == [("foo", 1), ("foo", 3)]
    part = extra.connected_ports(2)
    assert isinstance(part, Interface) and part.out_ports(2, True) == [("x",)]
    assert both.in_ports(0, True) == [("foo", 0), ("foo", 1)]
    assert both.out_ports(1, True) == [("bar", 0), ("bar", 1), ("bar", 2)]
    assert both.gpot_ports(tuples=True) == [] == both.spike_ports(0, True)
    assert len(both.interface_ports(0)) == 5 and both.which_int("/foo[0],/bar[0]") == {0, 1}
    assert both.is_in_interfaces("/foo[0:5]") and not both.is_in_interfaces("/foo")
    assert both.interface_ids == {0, 1}


def test_tables_round_trip(both: Pattern, tmp_path: Path) -> None:
    """Tables, CSV with and without head, and pickles."""
    both["/foo[1]", "/bar[2]", "w"] = 2.5
    for other in (
        Pattern.from_df(both.interface.data, both.data),
        pickle.loads(pickle.dumps(both)),
    ):
        assert other.data.equals(both.data) and other.interface.equals(both.interface)
        other["/foo[0]", "/bar[0]"] = 3
        assert conn(both) == [1] * 6
    both.data.to_csv(tmp_path / "head.csv")
    both.data[["conn"]].to_csv(tmp_path / "bare.csv", header=False)
    again = Pattern("/foo[0:5]", "/bar[0:5]")
    again.from_csv(tmp_path / "head.csv")
    assert again.data.equals(both.data) and io(again) == io(both)
    again.from_csv(tmp_path / "bare.csv")
    assert again.get_conns() == both.get_conns() and conn(again) == [1] * 6
    other = Pattern("/foo[0:5]", "/bar[0:5]")
    other["/bar[0]", "/foo[0,4]"] = 1
    other.from_csv(tmp_path / "bare.csv")
    assert io(other) == io(both)
    (tmp_path / "bad.csv").write_text("foo,0,qux,0,1\n")
    (tmp_path / "fan.csv").write_text("foo,0,bar,0,1\nfoo,1,bar,0,1\n")
    (tmp_path / "narrow.csv").write_text("foo,0,bar\n")
    faults = {
        "bad": "destinations that are not in the interface: '/qux/0'",
        "fan": "Fan-in",
        "narrow": "4 levels and at most 2 columns",
    }
    for name, match in faults.items():
        with pytest.raises(ValueError, match=match):
            again.from_csv(tmp_path / f"{name}.csv")
        assert len(again) == 6


def test_bad_tables(both: Pattern) -> None:
    """Unset interfaces, misnamed levels and strangers are refused."""
    ports, rows = both.interface.data, both.data
    unset = ports.copy()
    unset.iloc[0, 0] = np.nan
    with pytest.raises(ValueError, match="interface column must be set: '/foo/0'"):
        Pattern.from_df(unset, rows)
    with pytest.raises(ValueError, match="incorrectly named pattern index levels"):
        Pattern.from_df(ports, rows.rename_axis(["a", "b", "c", "d"]))
    with pytest.raises(ValueError, match="sources that are not in the interface"):
        Pattern.from_df(ports.iloc[1:], rows)
    twice = pd.concat([rows, rows])
    with pytest.raises(ValueError, match="Duplicate pattern entries"):
        Pattern.from_df(ports, twice)


def test_graph_round_trip(both: Pattern, tmp_path: Path) -> None:
    """Nodes are ports ('/foo/0'), unset is '', edges carry the other columns; GEXF keeps it all."""
    both.interface["/foo[0]", "type"] = "spike"
    both["/foo[1]", "/bar[2]", "w"] = 2.5
    g = both.to_graph()
    assert isinstance(g, nx.DiGraph) and next(iter(g.nodes)) == "/foo/0"
    assert g.nodes["/foo/0"] == {"interface": 0, "io": "in", "type": "spike"}
    assert g.nodes["/bar/3"] == {"interface": 1, "io": "in", "type": ""}
    assert (
        dict(g.edges["/foo/1", "/bar/2"]) == {"w": 2.5} and dict(g.edges["/foo/0", "/bar/0"]) == {}
    )
    nx.write_gexf(g, tmp_path / "p.gexf.gz")
    for graph in (g, nx.read_gexf(tmp_path / "p.gexf.gz")):
        q, order = Pattern.from_graph(graph, return_key_order=True)
        assert order == [0, 1] and q.get_conns(True) == PAIRS and io(q) == io(both)
        assert q.spike_ports(tuples=True) == [("foo", 0)] and conn(q) == [1] * 6
        np.testing.assert_array_equal(conn(q, "w"), conn(both, "w"))
    assert q.interface.to_tuples() == sorted(both.interface.to_tuples())


def test_graph_interfaces_are_numbered_by_their_sorted_names() -> None:
    """Names of interfaces become numbers in sorted order, which is returned when asked for."""
    g = nx.DiGraph()
    g.add_node("/retina[0]", interface="B/retina", type="gpot")
    g.add_node("/lamina[0]", interface="A/lamina", type="gpot", io="out")
    g.add_node("/lamina[1]", interface="A/lamina", io="in")
    g.add_edge("/retina[0]", "/lamina[0]")
    p, order = Pattern.from_graph(g, True)
    assert order == ["A/lamina", "B/retina"]
    assert p.is_connected(1, 0) and not p.is_connected(0, 1)
    assert p.which_int("/retina[0]") == {1}
    assert io(p) == {"/lamina/0": "out", "/lamina/1": "in", "/retina/0": "in"}
    assert isinstance(Pattern.from_graph(g), Pattern)


def test_bad_graphs() -> None:
    """All faults are told at once; rules hold."""
    g = nx.DiGraph()
    g.add_node("/a", interface=0)
    g.add_node("b c[", interface=0)
    g.add_node(7, interface=1)
    g.add_node("/c[0:2]", interface=1)
    g.add_node("/d")
    with pytest.raises(ValueError, match="4 faults") as caught:
        Pattern.from_graph(g)
    for part in ("node 'b c['", "node '7'", "node '/c[0:2]'", "node '/d': attribute 'interface'"):
        assert part in str(caught.value)
    with pytest.raises(AssertionError, match=r"needs a networkx\.DiGraph \(got Graph\)"):
        Pattern.from_graph(nx.Graph())
    g = nx.DiGraph([("/a", "/c"), ("/b", "/c")])
    nx.set_node_attributes(g, {"/a": 0, "/b": 0, "/c": 1}, "interface")
    with pytest.raises(ValueError, match="Fan-in"):
        Pattern.from_graph(g)
    twin = nx.DiGraph()
    twin.add_node("/a[0]", interface=0)
    twin.add_node("/a/0", interface=1)
    with pytest.raises(ValueError, match="Duplicate"):
        Pattern.from_graph(twin)


def test_clear_and_change_of_ports(both: Pattern) -> None:
    """Clearing removes all; ports cannot be taken away under a pattern."""
    other = pickle.loads(pickle.dumps(both))
    both.clear()
    assert len(both) == 0 and len(both.interface) == 0 and both.get_conns() == []
    other.interface.port_select(lambda t: t[1] > 0, inplace=True)
    with pytest.raises(PortError, match="cannot be added to or removed"):
        other.get_conns()


def test_split_multiindex() -> None:
    """An index of pandas in two."""
    idx = pd.MultiIndex.from_tuples([("a", "b", 0), ("a", "c", 1)], names=["x", "y", "z"])
    a, b = Pattern.split_multiindex(idx, slice(0, 1), slice(1, 3))
    assert a.tolist() == ["a", "a"] and b.tolist() == [("b", 0), ("c", 1)]


def test_a_large_pattern_is_columns() -> None:
    """A hundred thousand connections, built at once and read back."""
    n = 100_000
    rng = np.random.default_rng(3)
    order = rng.permutation(n)
    p = Pattern.from_concat(
        f"/a[0:{n}]", f"/b[0:{n}]", from_sel=f"/a[0:{n}]",
        to_sel=Selector([("b", int(k)) for k in order]), data=np.arange(n),
    )  # fmt: skip
    src, dst = p.src_rows(0, 1)
    np.testing.assert_array_equal(src, np.arange(n))
    np.testing.assert_array_equal(dst - n, order)
    p["/a[0]", f"/b[{order[0]}]"] = -5
    p.links.sorted = False
    assert p.sorted_links().column("conn")[:3].tolist() == [-5, 1, 2]
    assert p["/a[7:9]", "/b/*"]["conn"].tolist() == [7, 8]
