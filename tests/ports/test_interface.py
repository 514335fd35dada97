"""Interfaces: ports and their attributes."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neurodriver.compat.ports import (
    BasePortMapper,
    Interface,
    Selector,
    SelectorMethods,
    are_compatible,
)
from neurodriver.errors import PortError

NAN = float("nan")


def rows(i: Interface) -> list[tuple[Any, ...]]:
    """Return ports and attributes, unset as None."""
    table = zip(*(i.labels[c].values().tolist() for c in i.columns), strict=True)
    attributes = [tuple(None if v != v else v for v in row) for row in table]
    return list(zip(i.to_tuples(), attributes, strict=True))


@pytest.fixture
def mixed() -> Interface:
    i = Interface("/foo[0:4],/bar")
    i["/foo[0:2]"] = [0, "in", "spike"]
    i["/foo[2:4]"] = [1, "out", "gpot"]
    return i


def test_creation() -> None:
    """Ports are distinct; attributes are unset at first."""
    i = Interface("/a/b/c,/x/y")
    assert len(i) == 2 and i.num_levels == 3 and i.idx_levels == 3
    assert rows(i) == [(("a", "b", "c"), (None,) * 3), (("x", "y"), (None,) * 3)]
    assert len(Interface()) == len(Interface("")) == 0 and Interface("").idx_levels == 1
    assert list(Interface("/a", columns=["interface", "io", "type", "w"]).data) == [
        "interface", "io", "type", "w",
    ]  # fmt: skip
    with pytest.raises(ValueError, match="Duplicate interface index entries detected: '/foo/0'"):
        Interface("/foo[0],/foo[0]")
    with pytest.raises(PortError, match="needs the column 'io'"):
        Interface("/a", columns=["interface", "type"])
    with pytest.raises(ValueError, match="invalid selector"):
        Interface("/a[0:]")


def test_assignment_forms() -> None:
    """All columns in order, named columns, dictionaries, and the first column for a scalar."""
    i = Interface("/foo[0:3],/x")
    i["/foo[0]"] = [0, "in", "spike"]
    i["/foo[1]"] = 1
    i["/foo[1]", "io"] = "out"
    i["/foo[1,2]", "io", "type"] = ["out", "gpot"]
    i["/x"] = {"interface": 2, "type": "spike"}
    i["", "io"] = "in"
    i[[]] = 5
    assert rows(i) == [
        (("foo", 0), (0, "in", "spike")), (("foo", 1), (1, "out", "gpot")),
        (("foo", 2), (None, "out", "gpot")), (("x",), (2, None, "spike")),
    ]  # fmt: skip
    i[[("foo", 0), ("foo", 2)], "interface"] = 7
    i[(("foo", 0), ("x",))] = [8]
    i[Selector("/foo[1]"), "io"] = NAN
    i["/foo[0:3]", "interface"] = [[4, 5, 6]]  # one value per port
    i["/x", "type"] = None
    assert rows(i) == [
        (("foo", 0), (4, "in", "spike")), (("foo", 1), (5, None, "gpot")),
        (("foo", 2), (6, "out", "gpot")), (("x",), (8, None, None)),
    ]  # fmt: skip
    i["/foo/*", "delay"] = 2
    assert i.columns == ["interface", "io", "type", "delay"]
    assert i["/foo[0]", "delay"].iloc[0, 0] == 2 and i.labels["delay"].unset[3]
    i["/*", "io"] = "in"
    i["/foo[1:]", "interface"] = 0
    assert rows(i)[1][1][:2] == (0, "in") and rows(i)[3][1][:2] == (8, "in")


def test_bad_assignments(mixed: Interface) -> None:
    """Unknown ports, values and shapes are refused; nothing is changed."""
    before = mixed.copy()
    for key, value, match in (
        (("/foo[3:6]", "io"), "in", r"no such port: '/foo/4', '/foo/5'"),
        (("/foo", "io"), "in", r"no such port: '/foo'; '/a/\*' means"),
        (("/qux/*", "io"), "in", "no port matches"),
        ("/foo[0]", [5, "inn"], "'in' or 'out'"),
        (("/foo[0]", "io"), "inn", r"'in' or 'out' \(got 'inn'\) \(did you mean 'in'\?\)"),
        (("/foo[0]", "type"), 3, "'gpot' or 'spike'"),
        ("/foo[0]", [0, "in", "spike", 4], "4 values for 3 columns"),
        (("/foo[0]", "io"), ["in", "out"], "2 values for 1 columns"),
        (("/foo[0:2]", "interface"), [[1, 2, 3]], "2 values are needed"),
        (("/foo[0]", "interface"), {"interface": {1}}, "single value"),
        (("/foo[0]", 3), 1, "names of columns"),
        ((), 1, "takes a selector"),
    ):
        with pytest.raises(PortError, match=match):
            mixed[key] = value
        assert mixed.equals(before)
    with pytest.raises(ValueError, match="Cannot tokenize"):
        mixed["/foo["] = 1


def test_tables(mixed: Interface) -> None:
    """``i[selector]`` is a table: exact ports in the selector's order, or all ports below."""
    assert mixed["/foo[3,0]"].index.tolist() == [("foo", 3), ("foo", 0)]
    assert mixed["/foo[3,0]", "io"].to_numpy().tolist() == [["out"], ["in"]]
    assert mixed["/foo", "interface", "type"].shape == (4, 2)
    assert mixed["/*[1:3]"].index.tolist() == [("foo", 1), ("foo", 2)]
    assert mixed["/bar,/nothing"].index.tolist() == [("bar", "")]
    assert mixed[""].shape == (0, 3) and mixed[("/bar",)].shape == (1, 3)
    assert mixed.index.equals(mixed.data.index) and mixed.index.names == [0, 1]
    with pytest.raises(PortError, match="no attribute 'oi'"):
        mixed["/bar", "oi"]
    assert "5 ports" in repr(mixed) and "2 'gpot', 2 'spike', 1 unset" in repr(mixed)


def test_tables_round_trip(mixed: Interface, tmp_path: Path) -> None:
    """Tables, CSV, pickles and copies give back the same interface."""
    for other in (
        Interface.from_df(mixed.data), Interface.from_df(mixed.to_df()), mixed.copy(),
        copy.copy(mixed), pickle.loads(pickle.dumps(mixed)),
    ):  # fmt: skip
        assert mixed.equals(other) and other.equals(mixed) and isinstance(other, Interface)
        other["/bar"] = [9, "in", "gpot"]
        assert not mixed.equals(other) and len(mixed.which_int("/bar")) == 0
    mixed.data.to_csv(tmp_path / "i.csv")
    assert Interface.from_csv(tmp_path / "i.csv").equals(mixed)
    assert Interface.from_csv(tmp_path / "i.csv", index_col=[0, 1]).equals(mixed)
    single = pd.DataFrame(
        [(0, "in", "spike"), (1, "in", "gpot")], index=pd.Index(["foo", "bar"]),
        columns=["interface", "io", "type"],
    )  # fmt: skip
    assert rows(Interface.from_df(single)) == [
        (("foo",), (0, "in", "spike")), (("bar",), (1, "in", "gpot")),
    ]  # fmt: skip
    assert len(Interface.from_df(single.iloc[:0])) == 0
    with pytest.raises(ValueError, match="Duplicate"):
        Interface.from_df(pd.concat([single, single]))
    with pytest.raises(ValueError, match="needs the column 'type'"):
        Interface.from_df(single[["interface", "io"]])


def test_from_dict() -> None:
    """Selectors with scalars, sequences or dictionaries; ports come in lexicographic order."""
    i = Interface.from_dict({"/foo[0:2]": NAN, "/a": [0, "in"], "/b[3]": {"type": "gpot"}})
    assert rows(i) == [
        (("a",), (0, "in", None)), (("b", 3), (None, None, "gpot")),
        (("foo", 0), (None,) * 3), (("foo", 1), (None,) * 3),
    ]  # fmt: skip
    many = {f"/p[{n}]": [n % 3, "out", "spike"] for n in range(100)}
    i = Interface.from_dict(many)
    assert (
        len(i) == 100 and i.which_int("/p[7]") == {1} and i.to_tuples()[:2] == [("p", 0), ("p", 1)]
    )
    with pytest.raises(ValueError, match="Duplicate"):
        Interface.from_dict({"/a[0:2]": 0, "/a[1]": 1})
    assert len(Interface.from_dict({})) == 0


def test_from_graph() -> None:
    """The nodes of a graph are ports."""
    g = nx.Graph()
    g.add_node("/foo[1]", interface=0, io="out", type="gpot")
    g.add_node("/foo[0]", interface=0, io="in", type="")
    assert rows(Interface.from_graph(g)) == [
        (("foo", 0), (0, "in", None)), (("foo", 1), (0, "out", "gpot")),
    ]  # fmt: skip


def test_from_selectors() -> None:
    """Ports by direction, type and number of the interface."""
    i = Interface.from_selectors(
        "/a[0:4]", "/a[0:2]", "/a[2:4]", "/a[0,2]", "/a[1]", "/a[0]", "/a[3]"
    )
    assert rows(i) == [
        (("a", 0), (0, "in", "spike")), (("a", 1), (None, "in", "gpot")),
        (("a", 2), (None, "out", "spike")), (("a", 3), (1, "out", None)),
    ]  # fmt: skip
    assert len(Interface.from_selectors("/a").in_ports()) == 0


def test_queries(mixed: Interface) -> None:
    """Ports by direction, type and number, as interfaces or as tuples."""
    assert mixed.in_ports(tuples=True) == [("foo", 0), ("foo", 1)] == mixed.in_ports(0, True)
    assert mixed.out_ports(tuples=True) == [("foo", 2), ("foo", 3)] == mixed.out_ports(1, True)
    assert mixed.gpot_ports(tuples=True) == [("foo", 2), ("foo", 3)] == mixed.gpot_ports(1, True)
    assert mixed.spike_ports(tuples=True) == [("foo", 0), ("foo", 1)] == mixed.spike_ports(0, True)
    assert mixed.in_ports(1, True) == mixed.out_ports(0, True) == mixed.gpot_ports(0, True) == []
    assert mixed.interface_ports(1, tuples=True) == [("foo", 2), ("foo", 3)]
    assert len(mixed.interface_ports(tuples=True)) == 5 and mixed.interface_ports(9, True) == []
    for part in (mixed.in_ports(0), mixed.spike_ports(0), mixed.interface_ports(0)):
        assert isinstance(part, Interface)
        assert rows(part) == rows(mixed)[:2]
    assert mixed.interface_ids == {0, 1}
    assert mixed.to_selectors() == ["/foo[0]", "/foo[1]", "/foo[2]", "/foo[3]", "/bar"]
    assert mixed.to_selectors(1) == ["/foo[2]", "/foo[3]"] and mixed.to_selectors(5) == []
    assert mixed.to_tuples(0) == [("foo", 0), ("foo", 1)] and mixed.to_tuples()[4] == ("bar",)
    assert mixed.which_int("/foo[0:2]") == {0} and mixed.which_int("/foo[0:4],/bar") == {0, 1}
    assert mixed.which_int("/bar") == set() == mixed.which_int("/strange")
    assert (
        rows(mixed.io_inv)[0][1] == (0, "out", "spike") and rows(mixed.io_inv)[4] == rows(mixed)[4]
    )


def test_single_level_ports() -> None:
    """Identifiers of one level work like all others, names or integers."""
    i = Interface("[0:4],/x")
    i["[0:2]", "interface"] = 0
    i["/x"] = [1, "in", "gpot"]
    assert i.to_tuples(0) == [(0,), (1,)] and i.to_selectors(1) == ["/x"]
    assert i.is_in_interfaces("/x") and i.is_in_interfaces("0,1") and not i.is_in_interfaces("2")
    assert i.data.index.tolist() == [(0,), (1,), (2,), (3,), ("x",)]
    assert i.gpot_ports(1, True) == [("x",)]


def test_is_in_interfaces() -> None:
    """All ports have to be there, exactly, and to belong to an interface."""
    i = Interface("/foo,/bar[0:3]")
    i["/foo"] = [0, "in"]
    i["/bar[0:3]"] = [1, "out"]
    assert (
        i.is_in_interfaces("/foo") and i.is_in_interfaces("/bar[0:3]") and i.is_in_interfaces("/*")
    )
    assert not i.is_in_interfaces("/bar") and not i.is_in_interfaces("/bar[0:4]")
    assert not i.is_in_interfaces("/foo/0") and not i.is_in_interfaces("/qux[0:]")


def test_selection_functions(mixed: Interface) -> None:
    """By attributes or by tokens, as a new interface or in place."""
    chosen = mixed.data_select(lambda d: d["io"] != "in")
    assert chosen.to_tuples() == [("foo", 2), ("foo", 3), ("bar",)]
    assert mixed.port_select(lambda t: t[1] != "" and t[1] >= 2).to_tuples() == [
        ("foo", 2),
        ("foo", 3),
    ]
    assert len(mixed) == 5
    assert mixed.data_select(lambda d: d["interface"] == 0, inplace=True) is mixed
    assert mixed.to_tuples() == [("foo", 0), ("foo", 1)] and mixed.is_in_interfaces("/foo[1]")
    mixed.port_select(lambda t: t[1] == 1, inplace=True)
    assert mixed.to_tuples() == [("foo", 1)] and not mixed.is_in_interfaces("/foo[0]")
    mixed.clear()
    assert len(mixed) == 0 and mixed.data.empty and mixed.which_int("/foo[1]") == set()


def test_equals_looks_at_order_and_attributes() -> None:
    """Same ports in another order, another attribute, another column: not equal."""
    i, j = Interface("/foo[0:2],/bar"), Interface("/foo[0:2],/bar")
    i["/bar"] = [0, "in", "gpot"]
    assert not i.equals(j)
    j["/bar"] = [3, "out", "spike"]
    j["/bar"] = [0, "in", "gpot"]
    assert i.equals(j)
    assert not Interface("/a,/b").equals(Interface("/b,/a"))
    assert not Interface("/a").equals(Interface("/a/b"))
    j["/bar", "w"] = 1
    assert not i.equals(j) and not i.equals(Interface("/foo[0:2]"))


def test_common_ports() -> None:
    """Ports that two interfaces share, also of one type on both sides, at any depth."""
    i, j = Interface("/foo[0:6]"), Interface("/foo[3:9],/x/y/z")
    i["/*", "interface"] = 0
    j["/*", "interface"] = 2
    assert i.get_common_ports(0, j, 2) == [("foo", 3), ("foo", 4), ("foo", 5)]
    assert i.get_common_ports(0, j, 2, "spike") == [] == i.get_common_ports(0, j, 0)
    i["/foo[3:5]", "type"] = "spike"
    j["/foo[4:6]", "type"] = "spike"
    assert i.get_common_ports(0, j, 2, "spike") == [("foo", 4)]


def sides() -> tuple[Interface, Interface]:
    a, b = Interface("/foo[0:4],/x"), Interface("/x,/foo[3,2,1,0]")
    a["/foo[0:2]"], b["/foo[0:2]"] = [0, "out", "gpot"], [1, "in", "gpot"]
    a["/foo[2:4]"], b["/foo[2:4]"] = [0, "in", "spike"], [1, "out", "spike"]
    a["/x"], b["/x"] = 0, 1
    return a, b


def test_compatible() -> None:
    """Same ports in any order, equal types, opposite directions, or unset on both sides."""
    a, b = sides()
    assert a.is_compatible(0, b, 1) and b.is_compatible(1, a, 0)
    assert not a.is_compatible(0, b, 0) and not a.is_compatible(5, b, 1)
    for port, name, value in (
        ("/foo[0]", "io", "out"), ("/foo[0]", "type", "spike"), ("/foo[0]", "type", NAN),
        ("/foo[2]", "io", NAN), ("/x", "io", "in"), ("/x", "type", "gpot"), ("/x", "interface", 2),
    ):  # fmt: skip
        c = b.copy()
        c[port, name] = value
        assert not a.is_compatible(0, c, 1), (port, name, value)
        assert not c.is_compatible(1, a, 0)
        assert a.is_compatible(0, c, 1, allow_subsets=True)


def test_compatible_subsets() -> None:
    """One port that fits is enough when it is asked for, and none is not."""
    a, b = Interface("/foo[0:6]"), Interface("/foo[0:6],/bar/0/1")
    a["/foo[0:3]"] = [0, "out", "gpot"]
    b["/foo[2:4]"] = [1, "in", "gpot"]
    assert a.is_compatible(0, b, 1, True) and not a.is_compatible(0, b, 1)
    b["/foo[2]", "io"] = "out"
    assert not a.is_compatible(0, b, 1, True)
    assert not a.is_compatible(0, Interface("/foo[0:6]"), 1, True)
    assert not a.is_compatible(0, Interface(""), 1)


def test_are_compatible() -> None:
    """Two interfaces from selectors: in, out, spike, gpot of each."""
    first = ("/a[0:2]", "/b", "/a[0:2]", "/b")
    assert are_compatible(*first, "/b", "/a[0:2]", "/a[0:2]", "/b")
    assert not are_compatible(*first, "/a[0:2]", "/b", "/a[0:2]", "/b")
    assert not are_compatible(*first, "/b", "/a[0:3]", "/a[0:3]", "/b")
    assert not are_compatible(*first, "/b", "/a[0:2]", "/a[0:2],/b", "")
    assert are_compatible(*first, "/b", "/a[0:2]", "/a[0:2],/b", "", allow_subsets=True)
    assert are_compatible(*first, "/b", "/a[0:3]", "/a[0:3]", "/b", allow_subsets=True)


def test_port_mappers(mixed: Interface) -> None:
    """A mapper is kept for the ports of its type only."""
    pm = BasePortMapper("/foo[0:2]")
    mixed.set_pm("spike", pm)
    assert mixed.pm["spike"].equals(pm) and mixed.pm["spike"] is not pm
    with pytest.raises(ValueError, match=r"cannot set mapper using undefined selectors.*'/foo/0'"):
        mixed.set_pm("gpot", pm)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.lists(st.integers(0, 7), min_size=1, max_size=4, unique=True),
            st.sampled_from(["interface", "io", "type"]),
            st.integers(0, 2),
        ),
        max_size=12,
    )
)
def test_assignments_against_a_dictionary(steps: list[Any]) -> None:
    """Any sequence of assignments leaves what a dictionary of rows would hold."""
    values = {"interface": [0, 1, NAN], "io": ["in", "out", None], "type": ["gpot", "spike", NAN]}
    i = Interface("/p[0:8]")
    model = {("p", n): {"interface": None, "io": None, "type": None} for n in range(8)}
    for ports, name, which in steps:
        value = values[name][which]
        i[f"/p[{','.join(map(str, ports))}]", name] = value
        for n in ports:
            model[("p", n)][name] = None if value is None or value != value else value
    assert rows(i) == [(port, tuple(held.values())) for port, held in model.items()]
    for name, query in (("in", i.in_ports), ("out", i.out_ports)):
        for number in (None, 0, 1):
            expected = [
                p for p, held in model.items()
                if held["io"] == name and number in (None, held["interface"])
            ]  # fmt: skip
            assert query(number, True) == expected
    assert i.interface_ids == {h["interface"] for h in model.values()} - {None}


def test_frames_on_selectors() -> None:
    """Indices of pandas from selectors, and selection in tables."""
    m = SelectorMethods
    idx = m.make_index("/foo[0:2],/bar", names=["x", "y"])
    assert idx.tolist() == [("foo", 0), ("foo", 1), ("bar", "")] and idx.names == ["x", "y"]
    assert m.make_index("/a,/b").tolist() == [("a",), ("b",)] and len(m.make_index("")) == 0
    assert m.make_index("/a", "x").names == ["x"] and m.make_index(Selector("/a[0]")).names == [
        0,
        1,
    ]
    assert m.index_to_selector(idx) == [("foo", 0), ("foo", 1), ("bar", "")]
    assert m.index_to_selector(pd.Index(["a", "b"])) == [("a",), ("b",)]
    two = m.make_index_two_concat("/a[0:2]", "/b,/c")
    assert two.tolist() == [("a", 0, "b", ""), ("a", 1, "c", "")]
    with pytest.raises(ValueError, match="2 and 3 ports"):
        m.make_index_two_concat("/a[0:2]", "/b[0:3]")
    assert m.make_index_two_prod("/a,/b", "/c[0:2]").tolist() == [
        ("a", "", "c", 0), ("a", "", "c", 1), ("b", "", "c", 0), ("b", "", "c", 1),
    ]  # fmt: skip
    df = pd.DataFrame({"v": np.arange(6)}, index=m.make_index("/foo[0:3],/bar[0:2],/bar[9]"))
    assert m.select(df, "/foo[2,0],/bar[1],/none")["v"].tolist() == [2, 0, 4]
    assert m.select(df, "/*[0]")["v"].tolist() == [0, 3] and m.select(df, "/foo")["v"].tolist() == [
        0,
        1,
        2,
    ]
    assert m.select(df["v"], [("bar", slice(1, None))]).tolist() == [4, 5]
    assert m.select(df, [[]]).empty
    assert m.select(df, "/foo,/bar[1],/foo[1]")["v"].tolist() == [0, 1, 2, 4, 1]
    assert m.get_tuples(df, "/bar[1,0]") == [("bar", 0), ("bar", 1)]
    assert m.get_index(df, "/foo/*", names=["x", "y"]).tolist() == [
        ("foo", 0),
        ("foo", 1),
        ("foo", 2),
    ]
    with pytest.raises(ValueError, match="no port of the table"):
        m.get_index(df, "/none")
    with pytest.raises(ValueError, match="3 levels, the index of the table 2"):
        m.select(df, "/a/b/c")
    four = pd.DataFrame({"v": [1, 2]}, index=m.make_index_two_concat("/a,/b", "/c[0:2]"))
    assert m.select(four, "/c[1]", 2, 4)["v"].tolist() == [2]
    assert m.select(pd.DataFrame({"v": [1, 2]}, index=["a", "b"]), "/b")["v"].tolist() == [2]
