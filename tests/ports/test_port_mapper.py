"""Port mappers: ports to places in an array and back."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neurodriver.compat.ports import BasePortMapper, PortMapper, Selector
from neurodriver.errors import PortError


def test_ports_to_inds() -> None:
    """Indices come in the order of the selector; unknown ports are left out; always integers."""
    pm = BasePortMapper("/foo[0:5],/bar[0:5]")
    assert pm.ports_to_inds("/bar[0],/foo[4]").tolist() == [5, 4]
    assert pm.ports_to_inds("/foo[3:9],/baz").tolist() == [3, 4]
    assert pm.ports_to_inds("/*[1]").tolist() == [1, 6]
    assert pm.ports_to_inds([("bar", 0), ("foo", 0, "")]).tolist() == [5, 0]
    assert pm.ports_to_inds("/foo").tolist() == []  # a port, not a folder
    for nothing in ("/baz", "", [], "/baz/*"):
        found = pm.ports_to_inds(nothing)
        assert found.shape == (0,) and found.dtype == np.int64
    pm = BasePortMapper("/foo[0:5],/bar[0:5]", range(10, 20))
    assert (
        pm.ports_to_inds("/foo[4],/bar[0]").tolist()
        == [14, 15]
        == pm.get_map("/foo[4],/bar[0]").tolist()
    )
    assert len(pm) == 10 and "10 ports" in repr(pm)


def test_a_port_may_have_several_integers() -> None:
    """All of them are given, in the order of the mapper."""
    pm = BasePortMapper("/a,/b,/a", [7, 8, 9])
    assert pm.ports_to_inds("/b,/a").tolist() == [8, 7, 9]
    assert pm.inds_to_ports([9, 7, 5]) == [("a",), ("a",)]


def test_inds_to_ports() -> None:
    """Ports come in the order of the integers."""
    pm = BasePortMapper("/foo[0:5],/bar[0:5]", range(10, 20))
    assert pm.inds_to_ports([14, 15]) == [("foo", 4), ("bar", 0)]
    assert pm.inds_to_ports(np.array([15, 3, 14])) == [("bar", 0), ("foo", 4)]
    assert pm.inds_to_ports([]) == []
    with pytest.raises(PortError, match="integers"):
        pm.inds_to_ports([1.5])


def test_set_map() -> None:
    """Integers can be changed, by selector."""
    pm = BasePortMapper("/foo[0:3],/bar[0:3]")
    pm.set_map("/bar[0:3]", range(3))
    assert pm.inds.tolist() == [0, 1, 2, 0, 1, 2]
    pm.set_map("/foo/*", 9)
    assert pm.ports_to_inds("/foo[2]").tolist() == [9]
    with pytest.raises(PortError, match="no port of the mapper"):
        pm.set_map("/baz", 1)
    with pytest.raises(PortError, match="3 ports need as many indices"):
        pm.set_map("/foo[0:3]", [1, 2])


def test_base_copies_and_tables() -> None:
    """Copies share nothing; indices and series of pandas carry the ports."""
    numbers = np.arange(5)
    pm = BasePortMapper("/foo[0:5]", numbers)
    others = [pm.copy(), copy.copy(pm), BasePortMapper.from_pm(pm), pickle.loads(pickle.dumps(pm)),
              BasePortMapper.from_index(pm.index, numbers)]  # fmt: skip
    numbers[0] = 99
    pm.set_map("/foo[1]", 50)
    for other in others:
        assert other.inds.tolist() == [0, 1, 2, 3, 4] and not other.equals(pm)
    assert pm.portmap.tolist() == [0, 50, 2, 3, 4] and pm.portmap[("foo", 1)] == 50
    assert pm.index.tolist() == [("foo", n) for n in range(5)]
    assert BasePortMapper.from_index(pm.index).inds.tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(PortError, match="5 ports need as many indices"):
        BasePortMapper("/foo[0:5]", [1])
    with pytest.raises(ValueError, match="invalid selector"):
        BasePortMapper("/foo/*")


def test_equality_is_of_ports_and_integers_in_any_order() -> None:
    """The same map written in another order is equal."""
    a = BasePortMapper("/foo[0:5],/bar[0:5]", range(10))
    b = BasePortMapper("/bar[0:5],/foo[0:5]", [*range(5, 10), *range(5)])
    assert a.equals(b) and b.equals(a)
    assert not a.equals(BasePortMapper("/bar[0:5],/foo[0:5]"))
    assert not a.equals(BasePortMapper("/foo[0:5],/bar[1:5],/bar[0]/x"))
    assert not a.equals(BasePortMapper("/foo[0:5]"))


def test_data() -> None:
    """Values by selector, by index, with a mask or a function."""
    data = np.random.default_rng(1).random(20)
    pm = PortMapper("/foo/bar[0:10],/foo/baz[0:10]", data)
    np.testing.assert_array_equal(pm["/foo/bar[0,2,4]"], data[[0, 2, 4]])
    np.testing.assert_array_equal(pm.get("/foo/baz[3],/foo/bar[1]"), data[[13, 1]])
    pm["/foo/baz[0:5]"] = 1.5
    pm.set("/foo/*[0:2]", [1, 2, 3, 4])
    assert pm["/foo/bar[0:2],/foo/baz[0:3]"].tolist() == [1, 2, 3, 4, 1.5]
    assert pm.get_by_inds([0, 10]).tolist() == [1, 3] and data[0] != 1
    pm.set_by_inds([0, 1], [7.0, 8.0])
    assert pm.data[:2].tolist() == [7, 8] and pm.dtype == np.float64
    pm["/nowhere"] = 3  # no such port, nothing to do
    part = PortMapper("/foo/bar[0:5],/foo/baz[0:5]", data, np.arange(5, 15))
    np.testing.assert_array_equal(part["/foo/bar[0:5]"], data[5:10])
    with pytest.raises(ValueError):
        pm["/foo/bar[0:3]"] = [1, 2]


def test_choice_by_value() -> None:
    """Ports whose values a function, a mask or indices choose; also through a port map."""
    pm = PortMapper("/a[0:5]", np.array([0, 1, 0, 1, 0]))
    assert pm.get_ports_nonzero() == [("a", 1), ("a", 3)] and pm.get_inds_nonzero().tolist() == [
        1,
        3,
    ]
    assert pm.get_ports(lambda x: x < 1) == [("a", 0), ("a", 2), ("a", 4)]
    assert pm.get_ports([True, False, False, False, True]) == [("a", 0), ("a", 4)]
    assert pm.get_ports([4, 0]) == [("a", 0), ("a", 4)]
    assert pm.get_ports_as_inds(lambda x: x.astype(bool)).tolist() == [1, 3]
    turned = PortMapper("/a[0:3]", np.array([5, 0, 7]), [2, 1, 0])
    assert turned.get_ports(lambda x: x == 7) == [("a", 0)]
    assert turned.get_ports_as_inds(lambda x: x > 0).tolist() == [2, 0]
    cycle = PortMapper("/a[0:3]", np.array([5, 0, 7]), [1, 2, 0])
    assert cycle.get_ports_as_inds(lambda x: x > 5).tolist() == [2]
    assert cycle.get_ports(lambda x: x > 5) == [("a", 1)]
    with pytest.raises(PortError, match="mask needs 3 elements"):
        turned.get_ports([True])


def test_without_data() -> None:
    """Reading needs data; the first assignment makes an array of zeros."""
    pm = PortMapper("/foo[0:3]")
    for call in (lambda: pm["/foo[0]"], lambda: pm.get_by_inds([0]), pm.get_ports_nonzero,
                 lambda: pm.dtype, lambda: pm.set_by_inds([0], 1)):  # fmt: skip
        with pytest.raises(ValueError, match="port mapper contains no data"):
            call()
    assert pm.data is None and pm.ports_to_inds("/foo[2]").tolist() == [2]
    pm["/foo[1]"] = 2.5
    assert pm.data.tolist() == [0, 2.5, 0]
    empty = PortMapper("")
    assert len(empty) == 0 and empty.data is None
    empty[[]] = np.empty(0)
    assert PortMapper("/a[0:2]", 3.0)["/a[1]"].tolist() == [3.0]


def test_data_has_to_fit() -> None:
    """One dimension, and an element for every port."""
    for selector, data in (("", [1, 2]), ("/a[0:3]", [1, 2]), ("/a[0:2]", [[1, 2], [3, 4]])):
        with pytest.raises(ValueError, match="incompatible or invalid data array"):
            PortMapper(selector, data)
    with pytest.raises(PortError, match="need 6 values"):
        PortMapper("/a[0:2]", np.zeros(5), [0, 5])


def test_copies_of_data() -> None:
    """``make_copy`` decides whether the mapper works on the array that was given."""
    data = np.arange(5.0)
    own, shared = PortMapper("/a[0:5]", data), PortMapper("/a[0:5]", data, None, False)
    second = shared.copy()
    data[0] = 9
    assert own.data[0] == 0 and shared["/a[0]"].tolist() == [9] and second.data[0] == 0
    assert (
        own.equals(second) and not own.equals(shared) and not own.equals(BasePortMapper("/a[0:5]"))
    )
    again = PortMapper.from_index(own.index, own.data, [4, 3, 2, 1, 0])
    assert again["/a[0]"].tolist() == [4] and PortMapper.from_pm(again).equals(again)
    assert PortMapper("/a").equals(PortMapper("/a")) and not PortMapper("/a").equals(
        PortMapper("/a", 1)
    )
    assert pickle.loads(pickle.dumps(again)).equals(again)
    again.dtype = np.int64
    assert again.dtype == np.int64


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.integers(0, 3)), min_size=1, max_size=10, unique=True
    ),
    st.randoms(use_true_random=False),
)
def test_against_a_dictionary(ports: list[tuple[str, int]], random: object) -> None:
    """Reading and writing do what a dictionary of ports does."""
    rng = np.random.default_rng(len(ports))
    portmap = rng.permutation(len(ports) + 3)[: len(ports)]
    pm = PortMapper(ports, np.zeros(len(ports) + 3), portmap)
    model = dict.fromkeys(ports, 0.0)
    for step in range(10):
        chosen = [ports[k] for k in rng.permutation(len(ports))[: rng.integers(1, len(ports) + 1)]]
        values = rng.random(len(chosen))
        pm[chosen if step % 2 else Selector(chosen)] = values
        model.update(zip(chosen, values.tolist(), strict=True))
    assert pm[ports].tolist() == list(model.values())
    assert pm.inds_to_ports(portmap) == ports
    assert pm.get_ports(lambda x: x > 0.5) == [p for p in ports if model[p] > 0.5]
