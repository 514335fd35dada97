"""Selectors as objects, and the functions on them."""

from __future__ import annotations

import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from neurodriver.errors import MixedTokensError, SelectorError
from neurodriver.ports import Selector, SelectorMethods
from neurodriver.ports.blocks import MOST_PORTS

M = SelectorMethods


def test_attributes() -> None:
    """A selector tells its ports as tuples, as texts and as one text."""
    s = Selector("/a[0:2],/b")
    assert s.expanded == (("a", 0), ("a", 1), ("b",))
    assert s.identifiers == ["/a/0", "/a/1", "/b"]
    assert s.str == "/a/0,/a/1,/b"
    assert s.max_levels == 2 and s.nonempty and len(s) == 3
    assert list(s) == [(("a", 0),), (("a", 1),), (("b",),)]
    assert repr(s) == "Selector('/a/0,/a/1,/b')"
    assert repr(Selector("/a[0:1000]")) == "Selector('/a/0,/a/1,...,/a/999', 1,000 ports)"


def test_empty() -> None:
    """The empty selector expands to one empty tuple and has length 0."""
    for empty in ("", "  ", [], [()], [[]], ((), []), "/a[0:0]", Selector("")):
        s = Selector(empty)
        assert s.expanded == ((),) and len(s) == 0 and not s.nonempty
        assert s.max_levels == 0 and s.identifiers == [] and s.str == ""
        assert list(s) == [((),)]


def test_sequences() -> None:
    """Token sequences hold strings, integers, lists and slices."""
    s = Selector([("foo", slice(0, 2)), ["moo", ["qux", "baz"]], (np.int64(7),)])
    assert s.expanded == (("foo", 0), ("foo", 1), ("moo", "qux"), ("moo", "baz"), (7,))
    assert Selector(s) == s and Selector(s.expanded) == s and Selector(list(s.expanded)) == s
    assert Selector([("x", "y", "")]).expanded == (("x", "y"),)
    many = [("a", i) if i % 2 else (i, "b", "c") for i in range(500)]
    assert Selector(many).expanded == tuple(many)
    assert Selector([*many, ("z", [1, 2])]).expanded == (*many, ("z", 1), ("z", 2))
    assert Selector([*many, ("z", "")]).expanded == (*many, ("z",))


def test_sets_of_names_and_integers() -> None:
    """In a sequence a set may hold both; a text has no way to say so."""
    mixed = [("foo", ["a", 0], [1, "b"])]
    ports = (("foo", "a", 1), ("foo", "a", "b"), ("foo", 0, 1), ("foo", 0, "b"))
    assert M.is_selector(mixed) and M.is_selector_seq(mixed) and M.is_expandable(mixed)
    assert Selector(mixed).expanded == ports and M.count_ports(mixed) == 4
    assert not M.is_identifier(mixed) and not M.is_ambiguous(mixed)
    assert M.is_in([("foo", 0, "b")], mixed) and not M.is_in([("foo", 1, "b")], mixed)
    assert Selector(M.collapse(mixed)).expanded == ports
    assert not M.is_selector("/foo[a,0]")


BAD_SEQUENCES: list[Any] = [
    [("foo", (0, 1, 2))],
    [("foo", ["a", 1.5])],
    [("foo", ["a", "*"])],
    [("foo", [])],
    [("foo", slice(0, 4, 2))],
    [("foo", slice("a", None))],
    [("foo", 1.5)],
    [("foo", -1)],
    [("foo", 2**62)],
    [("foo", True)],
    [("foo", None)],
    [("", "foo")],
    ["foo"],
    [3],
    3,
    None,
    b"/foo",
]


@pytest.mark.parametrize("bad", BAD_SEQUENCES, ids=repr)
def test_bad_sequences(bad: Any) -> None:
    """Anything else is refused with the number of the term."""
    with pytest.raises(ValueError, match=r"^invalid selector: "):
        Selector(bad)
    assert not M.is_selector(bad)


def test_errors_name_the_term() -> None:
    """A bad token among many is found."""
    terms = [("a", i) for i in range(300)] + [("a", 1.5)]
    with pytest.raises(SelectorError, match=r"1\.5.*term 300"):
        Selector(terms)


def test_nothing_is_listed_before_it_is_asked_for() -> None:
    """Ranges stay ranges: a selector of more ports than fit in memory has a length."""
    s = Selector("/a[0:1000000]/b[0:1000000]")
    assert len(s) == 10**12 > MOST_PORTS and s.max_levels == 4 and s.nonempty
    assert len(Selector.prod(s, "/c[0:10]")) == 10**13
    assert len(s + "/x") == 10**12 + 1
    assert M.count_ports(s) == 10**12
    with pytest.raises(SelectorError, match="1,000,000,000,000 ports"):
        s.expanded  # noqa: B018


def test_add_concat_prod() -> None:
    """Selectors are joined end to end, one by one, and each with each."""
    a, b = Selector("/a[0:2]"), Selector("/b,/c")
    assert (a + b).expanded == (("a", 0), ("a", 1), ("b",), ("c",))
    assert Selector.add(a, "", b) == a + b and Selector.add_str("/a[0:2]", "/b,/c") == a + b
    assert Selector.add() == Selector("") and Selector.add(a, a).str == "/a/0,/a/1,/a/0,/a/1"
    assert Selector.concat(a, b).expanded == (("a", 0, "b"), ("a", 1, "c"))
    with pytest.raises(SelectorError, match=r"got 2 and 3"):
        Selector.concat(a, "/x[0:3]")
    assert Selector.prod(a, b).expanded == (
        ("a", 0, "b"), ("a", 0, "c"), ("a", 1, "b"), ("a", 1, "c"),
    )  # fmt: skip
    assert Selector.prod(b, a, [(5,)]).str == "/b/a/0/5,/b/a/1/5,/c/a/0/5,/c/a/1/5"
    assert Selector.prod(a, "") == a and Selector.concat(a) == a


def test_union_is_sorted_and_distinct() -> None:
    """A union has each port once, integers in numeric order, strings in alphabetic order."""
    assert Selector.union("/b,/a", "/a,/c[10,9]").expanded == (("a",), ("b",), ("c", 9), ("c", 10))
    assert Selector.union("", "") == Selector("") and Selector.union() == Selector("")
    assert Selector.union("/a/b,/a,/a/b/c").expanded == (("a",), ("a", "b"), ("a", "b", "c"))
    with pytest.raises(TypeError, match="'/a/0' and '/a/x' differ by a string and an integer"):
        Selector.union("/a[0],/b", "/a/x")
    assert issubclass(MixedTokensError, ValueError)
    assert Selector.union("/a[0]", "/b/x").expanded == (("a", 0), ("b", "x"))


def test_expand_pads() -> None:
    """Short identifiers are filled with '' to a length, or to the longest."""
    assert M.expand("/foo,/bar[0:2]", float("inf")) == [("foo", ""), ("bar", 0), ("bar", 1)]
    assert M.expand("/foo[0:2]", 3) == [("foo", 0, ""), ("foo", 1, "")]
    assert M.expand(Selector("/foo"), 2) == [("foo", "")]
    assert M.pad_selector("/a,/b[0]") == [("a", ""), ("b", 0)]
    assert M.pad_selector("/a", 0) == [("a",)]
    assert M.pad_tuple_list([("a",), ("b", 0)], 3) == [("a", "", ""), ("b", 0, "")]
    parsed = [["a"], ["b", "c"]]
    copy = M.pad_parsed(parsed, inplace=False)
    assert copy == [["a", ""], ["b", "c"]] and parsed == [["a"], ["b", "c"]]
    assert M.pad_parsed(parsed) is parsed and parsed == copy


def test_identifiers() -> None:
    """An identifier means one port; it is written with brackets or with slashes."""
    for yes in (
        "/foo/bar",
        "/foo[0]",
        ["foo", "bar"],
        ["foo", 0],
        [["foo", "bar"]],
        Selector("/a"),
    ):
        assert M.is_identifier(yes), yes
    for no in (0, "foo", "", "/foo[0:2]", "/*", ["foo", [0, 1]], [["foo"], ["baz"]], [], None):
        assert not M.is_identifier(no), no
    assert (
        M.to_identifier(("foo", 0)) == "/foo[0]"
        and M.to_identifier([("foo", 0, "x")]) == "/foo[0]/x"
    )
    for bad in ("foo", [["foo", ["a", "b"]]], ["foo", (0, 2)], [("a",), ("b",)], 3):
        with pytest.raises(SelectorError, match="invalid selector"):
            M.to_identifier(bad)  # type: ignore[arg-type]
    assert M.tokens_to_str(("foo", 0)) == "/foo/0"
    assert M.tokens_to_str(["a", slice(0, 2), ["x", "y"], slice(3, None)]) == "/a[0:2][x,y][3:]"
    for bad in (("a", 1.5), ("a", [])):
        with pytest.raises(SelectorError, match="invalid token"):
            M.tokens_to_str(bad)


def test_collapse() -> None:
    """An expanded selector becomes one text; a text stays as it is."""
    assert M.collapse([("a", 0), ("b",)]) == "/a/0,/b"
    assert M.collapse("/a[0:2]") == "/a[0:2]" and M.collapse(Selector("/a[0:2]")) == "/a/0,/a/1"


def test_predicates() -> None:
    """What is a selector, empty, ambiguous, expandable."""
    for yes in (
        "",
        "/foo!?",
        "/foo[0:]",
        "/foo[:2]",
        [[]],
        [("foo", "*")],
        [("foo", slice(0, None))],
    ):
        assert M.is_selector(yes), yes
    assert M.is_selector_str("/foo") and not M.is_selector_str("/foo[")
    assert M.is_selector_seq([("foo", [0, 1])]) and not M.is_selector_seq([("foo", (0, 1))])
    for empty in ("", [[]], [()], ((),), [[], []], ((), []), []):
        assert M.is_selector_empty(empty), empty
    for full in ("/foo", "/foo/*", [["foo"]], [[""]], 3):
        assert not M.is_selector_empty(full), full
    assert M.is_ambiguous([["foo", "*"]]) and M.is_ambiguous([["foo", slice(5, None)]])
    assert not M.is_ambiguous("/foo/[:10]") and not M.is_ambiguous(Selector("/a"))
    for no in ("", "/foo", "/foo/*", [["foo", "bar"]], "/foo[0:1]", Selector("/a[0:2]"), "/a,/a"):
        assert not M.is_expandable(no), no
    for yes in ("/foo[0:2]", "[0:2]", [["foo", [0, 1]]], [["foo", 0], ["foo", 1]], "/a,/b"):
        assert M.is_expandable(yes), yes


def test_disjoint_and_in() -> None:
    """The empty selector is disjoint to all and in all."""
    assert M.are_disjoint("/foo[0:10]/baz", "/bar[10:20]/qux")
    assert not M.are_disjoint("/foo[0:10]/baz", "/foo[5:15]/[baz,qux]")
    assert M.are_disjoint("/a", "/b", "/c") and not M.are_disjoint("/a", "/b", "/c,/a")
    assert M.are_disjoint("", "/a", "") and M.are_disjoint("/a") and M.are_disjoint("/a", "/a/b")
    with pytest.raises(SelectorError):
        M.are_disjoint()
    assert M.is_in("", "/foo[0:5]") and M.is_in("", "") and M.is_in([()], [("foo", 0)])
    assert M.is_in("/foo/bar[5]", "/[foo,baz]/bar[0:10]")
    assert not M.is_in("/qux/bar[5]", "/[foo,baz]/bar[0:10]") and not M.is_in("/a", "")
    assert not M.is_in("/foo", "/foo[0:2]") and not M.is_in("/foo/0/x", "/foo[0:2]")


def test_counts() -> None:
    """Ports are counted with repeats; levels also of what cannot be listed."""
    assert M.count_ports("/foo/bar[0:2],/moo/[qux,baz]") == 4
    assert M.count_ports("") == 0 and M.count_ports("/a,/a") == 2
    assert M.max_levels("/foo/bar[0:10],/baz/qux") == 3 and M.max_levels("/a/*[5:]") == 3
    assert M.max_levels("") == 0 and Selector("/a[0:0]/b,/c").max_levels == 1
    assert M.are_consecutive([3, 4, 5]) and not M.are_consecutive([3, 5])


def test_pickle_in_another_process() -> None:
    """Codes of strings hold in one process; a pickled selector brings its names with it."""
    s = Selector("/zeta[0:2],/alpha/beta")
    code = (
        "import pickle, sys; from neurodriver.ports import Selector; Selector('/other,/x')\n"
        "s = pickle.loads(sys.stdin.buffer.read()); print(s.str, len(s))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], input=pickle.dumps(s), capture_output=True, timeout=60
    )
    assert done.stdout.decode().strip() == "/zeta/0,/zeta/1,/alpha/beta 3", done.stderr.decode()
    assert pickle.loads(pickle.dumps(Selector(""))) == Selector("")


def test_levels_beyond_the_radix(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys of many levels do not overflow: they are replaced by their place in between."""
    monkeypatch.setattr("neurodriver.ports.identifiers.RADIX_LIMIT", 50)
    from neurodriver.ports.identifiers import PortIndex

    s = Selector("/a[0:5]/[x,y,z]/b[0:4][7,3]")
    index = PortIndex(s.ids)
    assert index._prefixes
    np.testing.assert_array_equal(index.find(s.ids), np.arange(120))
    strange = Selector("/a/0/x/b/0/4,/a/9/x/b/0/3,/a/4/z/b/3/3")
    assert index.find(strange.ids).tolist() == [-1, -1, 119]
    assert [index.find_one(c.tolist()) for c in strange.ids.codes.T] == [-1, -1, 119]
