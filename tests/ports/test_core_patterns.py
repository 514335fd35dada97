"""Selectors, interfaces and patterns of the core: what a user of the new API writes."""

from __future__ import annotations

import pickle
from typing import Any

import networkx as nx
import numpy as np
import pytest

import neurodriver as nd
from neurodriver.compat import ports as old
from neurodriver.errors import PortError, SelectorError
from neurodriver.ports import Interface


@pytest.fixture
def pattern() -> nd.Pattern:
    """Connections in both directions, with a fan-out and one that does not count."""
    p = nd.Pattern("/foo[0:5]", "/bar[0:5]")
    for a, b in (("/foo[1]", "/bar[2]"), ("/bar[3]", "/foo[2,3]"), ("/foo[1]", "/bar[1]")):
        p[a, b] = 1
    p["/foo[0]", "/bar[0]"] = 0
    return p


def texts(p: nd.Pattern, ends: tuple[Any, Any]) -> list[tuple[str, str]]:
    """Return rows of ports as pairs of texts."""
    a, b = (p.interface.ids.take(rows).texts() for rows in ends)
    return list(zip(a, b, strict=True))


def test_connections(pattern: nd.Pattern) -> None:
    """Pairs stand in lexicographic order; ``between`` leaves out those whose ``conn`` is 0."""
    assert pattern.pairs() == [
        ("/bar/3", "/foo/2"), ("/bar/3", "/foo/3"), ("/foo/0", "/bar/0"), ("/foo/1", "/bar/1"),
        ("/foo/1", "/bar/2"),
    ]  # fmt: skip
    assert texts(pattern, pattern.between(0, 1)) == pattern.pairs()[3:]
    assert texts(pattern, pattern.between(1, 0)) == pattern.pairs()[:2]
    for wrong, said in (((0, 2), "no interface 2; there are"), ((1, 1), "both interface 1")):
        with pytest.raises(PortError, match=said):
            pattern.between(*wrong)
    assert "5 connections from 3 to 5 ports" in repr(pattern)


@pytest.mark.parametrize(
    ("a", "b", "said"),
    [
        ("/foo[4]", "/bar[2]", "Fan-in pattern entries"),
        ("/foo[2]", "/bar[4]", "both receive input and send output"),
        ("/foo[1]", "/foo[4]", "ports of one interface"),
        ("/foo[1]", "/bar[7]", "no such port: '/bar/7'"),
        ("/fo[1]", "/bar/*", "no such port: '/fo/1'"),
        ("/foo[1]", "/b/*", "no port matches the selector '/b/\\*'"),
        (["foo", 1], "/bar[4]", "a text or a Selector is needed"),
    ],
)
def test_what_is_refused_changes_nothing(pattern: nd.Pattern, a: Any, b: Any, said: str) -> None:
    """Each message names the ports."""
    before = pattern.pairs()
    with pytest.raises(ValueError, match=said):
        pattern[a, b] = 1
    assert pattern.pairs() == before


def test_attributes_of_ports(pattern: nd.Pattern) -> None:
    """Directions follow from the connections; types are stated, in one of two words."""
    interface = pattern.interface
    assert interface.interface_ids == {0, 1} and len(interface) == 10
    sources = interface.ids.take(interface.mask(io="in")).texts()
    assert sources == ["/foo/0", "/foo/1", "/bar/3"]
    interface["/foo/*", "type"] = "gpot"
    interface["/bar[0:2]"] = [1, "out", "spike"]
    assert interface.mask(0, type="gpot").sum() == 5 and interface.mask(type="spike").sum() == 2
    with pytest.raises(PortError, match=r"'type' is 'gpot' or 'spike' .*did you mean 'spike'"):
        interface["/bar[0]", "type"] = "spikes"
    with pytest.raises(PortError, match="no attribute 'kind'; there are interface, io, type"):
        interface["/bar[0]", "kind"] = "gpot"
    assert interface.mask(type="spike").sum() == 2


def test_bulk_constructors() -> None:
    """Ports one by one or each with each; data by column; what does not fit is an error."""
    a, b = "/a[0:3]", "/b[0:3]"
    one = nd.Pattern.from_concat(a, b, from_sel="/a[2,0]", to_sel="/b[0,1]", data=[2.0, 3.0])
    assert texts(one, one.between(0, 1)) == [("/a/2", "/b/0"), ("/a/0", "/b/1")]
    assert one.sorted_links().column("conn").tolist() == [2.0, 3.0]
    every = nd.Pattern.from_product(a, b, from_sel="/a[1]", to_sel=b, gpot_sel=a, data=1)
    assert len(every) == 3 and every.interface.mask(type="gpot").sum() == 3
    two = {"columns": ["conn", "w"], "data": {"conn": 1, "w": [5, 6]}}
    named = nd.Pattern.from_concat(a, b, from_sel="/a[0:2]", to_sel="/b[0:2]", **two)
    assert named.sorted_links().column("w").tolist() == [5, 6]
    with pytest.raises(SelectorError, match="3 sources and 2 destinations"):
        nd.Pattern.from_concat(a, b, from_sel=a, to_sel="/b[0:2]")
    with pytest.raises(PortError, match="Fan-in"):
        nd.Pattern.from_product(a, b, from_sel=a, to_sel="/b[0]")
    with pytest.raises(PortError, match="both or not at all"):
        nd.Pattern.from_concat(a, b, from_sel=a)
    with pytest.raises(PortError, match=r"empty selector \(number 1\)"):
        nd.Pattern.from_concat(a, "")


def test_graphs(pattern: nd.Pattern) -> None:
    """A pattern comes back from its graph with its kind, its types and its interfaces."""
    pattern.interface["/foo[1]", "type"] = "spike"
    graph = pattern.to_graph()
    again = nd.Pattern.from_graph(graph)
    assert type(again) is nd.Pattern and again.pairs() == pattern.pairs()
    assert again.interface.ids.take(again.interface.mask(type="spike")).texts() == ["/foo/1"]
    assert isinstance(old.Pattern.from_graph(graph), old.Pattern)
    bad = nx.DiGraph()
    bad.add_node("/a/*", interface=0)
    bad.add_node("/b")
    with pytest.raises(PortError, match=r"(?s)node '/a/\*'.*node '/b': attribute 'interface'"):
        nd.Pattern.from_graph(bad)


def test_selectors_are_texts() -> None:
    """Texts and Selectors are taken, also those of the old library; sequences are not."""
    s = nd.Selector(old.Selector([("a", [2, 0])]))
    assert s.identifiers == ["/a/2", "/a/0"] and s == nd.Selector("/a[2,0]")
    assert (s + "/b").str == "/a/2,/a/0,/b"
    assert pickle.loads(pickle.dumps(s)) == s and "Selector('/a/2,/a/0')" in repr(s)
    assert len({s, nd.Selector("/a[2,0]")}) == 1
    for bad in ([("a", 0)], None, 3):
        with pytest.raises(SelectorError, match="a text or a Selector is needed"):
            nd.Selector(bad)  # type: ignore[arg-type]
    with pytest.raises(PortError, match="Duplicate"):
        Interface("/a,/b,/a")


def test_a_pattern_of_the_old_library_is_one_of_this() -> None:
    """So a Manager takes both."""
    p = old.Pattern([("a", [0, 1])], "/b[0:2]")
    p[[("a", 0)], "/b[1]"] = 1
    assert isinstance(p, nd.Pattern) and texts(p, p.between(0, 1)) == [("/a/0", "/b/1")]
    np.testing.assert_array_equal(p.interface.rows([("b", [1, 0])]), [3, 2])
