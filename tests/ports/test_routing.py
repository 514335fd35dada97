"""The routing table, and the checks between patterns and modules."""

from __future__ import annotations

import copy

import networkx as nx
import numpy as np
import pytest

from neurodriver.compat.ports import (
    Interface,
    Pattern,
    Route,
    RoutingTable,
    check_fan_in,
    find_fan_in,
    infer_types,
)
from neurodriver.compat.ports.tuples import tuples_of
from neurodriver.errors import PortError


@pytest.fixture
def table() -> RoutingTable:
    t = RoutingTable()
    t["a", "b"] = 1
    t["b", "c"] = {"x": 1, "y": [2]}
    return t


def test_entries(table: RoutingTable) -> None:
    """A dictionary of one entry is that entry; a new value replaces the old one."""
    assert table["a", "b"] == 1 == table["a", "b", "data"]
    assert table["b", "c"] == {"x": 1, "y": [2]} and table["b", "c", "y"] == [2]
    assert table["b", "c", "x", "y"] == [1, [2]]
    table["b", "c"] = {"z": 3}
    assert table["b", "c"] == 3
    table["b", "c", "w"] = 4
    assert table["b", "c"] == {"z": 3, "w": 4}
    table["a", "b"] = [5, 6]
    assert table["a", "b"] == [5, 6]
    for key, match in ((("a", "c"), "no connection"), (("b", "c", "zz"), "has no 'zz'")):
        with pytest.raises(KeyError, match=match):
            table[key]
    for key in ("a", ("a",)):
        with pytest.raises(PortError, match="a source and a destination"):
            table[key] = 1


def test_modules(table: RoutingTable) -> None:
    """Who is there, who sends to whom; unknown modules have no neighbours."""
    assert table.ids == ["a", "b", "c"] and table.connections == [("a", "b"), ("b", "c")]
    assert table.src_ids("b") == ["a"] and table.dest_ids("b") == ["c"]
    assert table.src_ids("a") == [] == table.dest_ids("nobody") == table.src_ids("nobody")
    assert table.has_node("a") and not table.has_node("d")
    assert table.data.has_edge("a", "b") and "3 modules" in repr(table)
    part = table.subtable(["b", "c"])
    assert part.ids == ["b", "c"] and part.connections == [("b", "c")] and part["b", "c", "x"] == 1


def test_copies_and_tables(table: RoutingTable) -> None:
    """Copies are tables of their own; pandas shows the entries."""
    for other in (table.copy(), copy.copy(table)):
        assert other.connections == table.connections and other["b", "c"] == table["b", "c"]
        other["c", "a"] = 1
        assert not table.data.has_edge("c", "a")
    df = table.to_df()
    assert df.index.tolist() == [("a", "b"), ("b", "c")] and df.index.names == ["from", "to"]
    assert df["data"].tolist() == [1, None] and df.loc[("b", "c"), "y"] == [2]
    assert RoutingTable().to_df().empty
    g = nx.DiGraph([("p", "q")])
    assert RoutingTable(g).data is g
    for bad in (nx.Graph(), nx.MultiDiGraph(), 3):
        with pytest.raises(AssertionError, match=r"needs a networkx\.DiGraph"):
            RoutingTable(bad)


def test_swapped_interfaces_keep_their_direction() -> None:
    """A one-way pattern connects the way it leads, whichever interface is named first."""
    p = Pattern("/x[0:2]", "/y[0:2]")
    p["/x[0]", "/y[0]"] = 1
    straight, swapped = RoutingTable(), RoutingTable()
    straight.connect("a", "b", p)
    swapped.connect("b", "a", p, int_0=1, int_1=0)
    for t in (straight, swapped):
        assert t.connections == [("a", "b")]
        assert (t["a", "b", "int_0"], t["a", "b", "int_1"]) == (0, 1) and t[
            "a", "b", "pattern"
        ] is p
    backwards = RoutingTable()
    backwards.connect("a", "b", p, int_0=1, int_1=0)
    assert backwards.connections == [("b", "a")] and backwards["b", "a", "int_0"] == 0
    p["/y[1]", "/x[1]"] = 1
    backwards.connect("a", "b", p, 1, 0)
    assert sorted(backwards.connections) == [("a", "b"), ("b", "a")]
    assert (backwards["a", "b", "int_0"], backwards["a", "b", "int_1"]) == (1, 0)
    with pytest.raises(ValueError, match="need a Pattern"):
        backwards.connect("a", "b", 3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no interface 2"):
        backwards.connect("a", "b", p, 0, 2)


def module(
    sel: str, sel_in: str = "", sel_out: str = "", gpot: str = "", spike: str = ""
) -> Interface:
    return Interface.from_selectors(sel, sel_in, sel_out, spike, gpot, sel)


def test_types_are_inferred_from_modules_and_across_connections() -> None:
    """A port takes its type from the module's port, or from the other end; fan-outs included."""
    p = Pattern("/a[0:3]", "/b[0:4]", "/c")
    p["/a[0]", "/b[0:2]"] = 1
    p["/a[1]", "/b[2]"] = 1
    p["/b[3]", "/c"] = 1
    p.interface["/c", "type"] = "gpot"
    a = module("/a[0:3]", sel_out="/a[0:3]", spike="/a[0]")
    b = module("/b[0:4]", sel_in="/b[0:3]", gpot="/b[2]")
    assert infer_types(p, {0: a, 1: b}) == 6
    assert p.spike_ports(tuples=True) == [("a", 0), ("b", 0), ("b", 1)]
    assert p.gpot_ports(tuples=True) == [("a", 1), ("b", 2), ("b", 3), ("c",)]
    assert p.interface.labels["type"].unset.tolist() == [False, False, True] + [False] * 5
    assert infer_types(p, {}) == 0
    q = Pattern("/a", "/b[0:3]")  # the source learns from one end, and the others from it
    q["/a", "/b[0:3]"] = 1
    q.interface["/b[2]", "type"] = "spike"
    assert infer_types(q, {}) == 3 and len(q.spike_ports(tuples=True)) == 4


def test_types_that_cannot_be_inferred_are_errors() -> None:
    """All faults at once: no type, another type or direction, no such port; nothing is changed."""
    p = Pattern("/a[0:6]", "/b[0:6]")
    p["/a[0]", "/b[0]"] = 1
    p["/a[1]", "/b[1]"] = 1
    p["/a[2]", "/b[2]"] = 1
    p["/a[3]", "/b[3]"] = 1
    p["/a[4]", "/b[4]"] = 1
    p.interface["/a[1]", "type"] = "gpot"
    a = module("/a[0:4]", sel_in="/a[2]", sel_out="/a[3]", spike="/a[1]", gpot="/a[2:4]")
    b = module("/b[0:6]", sel_in="/b[2]", sel_out="/b[3]", spike="/b[3]")
    with pytest.raises(ValueError) as caught:
        infer_types(p, {0: a, 1: b}, "pattern of A and B")
    message = str(caught.value)
    assert message.startswith("pattern of A and B: ")
    for part in (
        "interface 0 has ports that its module has not: '/a/4'",
        "interface 0 has ports that are 'spike' in its module, not here: '/a/1'",
        "interface 0 has sources that are 'in' ports of its module: '/a/2'",
        "interface 1 has destinations that are 'out' ports of its module: '/b/3'",
        "gpot and spike ports are connected: '/a/3' -> '/b/3'",
        "ports without a type: '/a/0', '/a/4', '/b/0', '/b/4'",
    ):
        assert part in message
    assert p.gpot_ports(tuples=True) == [("a", 1)] and p.spike_ports(tuples=True) == []


def test_fan_in_across_patterns() -> None:
    """A port that two patterns feed is found, by module; the same pattern twice is one."""
    p, q = Pattern("/a[0:3]", "/c[0:3]/x"), Pattern("/b[0:3]", "/c[0:3]/x")
    p["/a[0]", "/c[0:2]/x"] = 1
    q["/b[0]", "/c[2]/x"] = 1
    routes = [Route(p, {0: "A", 1: "C"}), Route(q, {0: "B", 1: "C"})]
    assert find_fan_in(routes) == {}
    check_fan_in([*routes, Route(p, {1: "C", 0: "A"})])
    q["/b[1]", "/c[1]/x"] = 1
    found = find_fan_in(routes)
    assert {m: tuples_of(ids) for m, ids in found.items()} == {"C": [("c", 1, "x")]}
    with pytest.raises(ValueError, match=r"Fan-in pattern entries detected: .*'C': '/c/1/x'"):
        check_fan_in(routes)
    assert find_fan_in([routes[0], Route(q, {0: "B", 1: "D"})]) == {}
    third = Route(q, {0: "E", 1: "C"})  # one pattern between other modules
    ids = find_fan_in([*routes, third])["C"]
    assert tuples_of(ids) == [("c", 1, "x"), ("c", 2, "x")] and np.all(ids.depth == 3)
