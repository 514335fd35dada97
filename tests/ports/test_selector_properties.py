"""Random selectors against an independent expander, round trips, and malformed text."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from neurodriver.compat.ports import Selector, SelectorMethods
from neurodriver.compat.ports.selector import Finder, rows_of
from neurodriver.compat.ports.tuples import tuples_of
from neurodriver.errors import SelectorError

NAMES = st.sampled_from(["a", "b", "foo bar", "x-1", "é"])
NUMBERS = st.integers(0, 12)
Term = list[list[Any]]


class Mismatch(Exception):
    """Two selectors of '.+' have different numbers of ports."""


LEVEL = st.one_of(
    st.tuples(st.just("token"), NAMES),
    st.tuples(st.just("token"), NUMBERS),
    st.tuples(st.just("set"), st.lists(NAMES, min_size=1, max_size=3)),
    st.tuples(st.just("set"), st.lists(NUMBERS, min_size=1, max_size=3)),
    st.tuples(st.just("range"), st.tuples(st.integers(0, 3), st.integers(0, 4))),
)
PATH = st.tuples(st.just("path"), st.none(), st.lists(LEVEL, min_size=1, max_size=2))
TREE = st.recursive(
    PATH,
    lambda inner: st.one_of(
        st.tuples(st.sampled_from([",", "+", ".+"]), inner, inner),
        st.tuples(st.just("path"), inner, st.lists(LEVEL, max_size=2)),
    ),
    max_leaves=5,
)


def text_of_level(level: Any, leading: bool) -> str:
    kind, value = level
    if kind == "token":
        return f"/{value}"
    if kind == "range":
        return f"[{value[0]}:{value[1]}]"
    return f"{'/' if leading else ''}[{','.join(map(str, value))}]"


def text_of(tree: Any, above: str = "") -> str:
    """Return the text of a tree, with the parentheses that the precedence needs."""
    if tree[0] == "path":
        levels = "".join(text_of_level(x, i == 0) for i, x in enumerate(tree[2]))
        return (f"({text_of(tree[1])})" if tree[1] else "") + levels
    sign, left, right = tree
    said = text_of(left, sign) + sign + text_of(right, sign + "right")
    low = sign == "," and above not in ("", ",", ",right")
    return f"({said})" if low or (sign != "," and above.endswith("+right")) else said


def terms_of(tree: Any) -> list[Term]:
    """Expand a tree the plain way: terms of choices, multiplied term by term."""
    if tree[0] == "path":
        levels: Term = []
        for kind, value in tree[2]:
            choices = {"token": [value], "set": value, "range": None}[kind]
            levels.append(list(range(*value)) if choices is None else list(choices))
        return [t + levels for t in (terms_of(tree[1]) if tree[1] else [[]])]
    left, right = terms_of(tree[1]), terms_of(tree[2])
    if tree[0] == ",":
        return left + right
    if tree[0] == "+":
        return [a + b for a in left for b in right]
    one, two = listed(left), listed(right)
    if len(one) != len(two):
        raise Mismatch
    return [[[token] for token in a + b] for a, b in zip(one, two, strict=True)]


def listed(terms: list[Term]) -> list[tuple[Any, ...]]:
    return [choice for term in terms for choice in product(*term)]


@settings(max_examples=400, deadline=None)
@given(TREE)
def test_expansion_against_a_plain_expander(tree: Any) -> None:
    """Any selector means what the rules say, term by term."""
    text = text_of(tree)
    try:
        expected = listed(terms_of(tree))
    except Mismatch:
        with pytest.raises(SelectorError, match="equally many"):
            Selector(text)
        return
    s = Selector(text)
    assert s.expanded == (tuple(expected) or ((),))
    assert len(s) == len(expected) == SelectorMethods.count_ports(text)
    assert s.max_levels == max(map(len, expected), default=0)
    terms = SelectorMethods.parse(text)
    assert SelectorMethods.expand(terms) == SelectorMethods.expand(text)


TOKENS = st.one_of(NUMBERS, st.integers(0, 2**62 - 1), NAMES)
IDENTIFIERS = st.lists(st.lists(TOKENS, min_size=1, max_size=4).map(tuple), max_size=12)


@settings(max_examples=200, deadline=None)
@given(IDENTIFIERS)
def test_round_trip(ids: list[tuple[Any, ...]]) -> None:
    """Tuples, texts and one text mean the same ports."""
    s = Selector(ids)
    assert s.expanded == (tuple(ids) or ((),))
    assert Selector(s.str) == s and Selector(",".join(s.identifiers)) == s
    assert Selector(",".join(map(SelectorMethods.to_identifier, ids))) == s
    assert tuples_of(s.ids) == ids


@settings(max_examples=200, deadline=None)
@given(IDENTIFIERS, IDENTIFIERS)
def test_lookup_against_a_dictionary(known: list[Any], asked: list[Any]) -> None:
    """Rows are those of a dictionary; repeats are all found, in order."""
    index = Finder(Selector(known).ids)
    queries = Selector([*asked, *known[::2]])
    first: dict[Any, int] = {}
    for row, port in enumerate(known):
        first.setdefault(port, row)
    wanted = [*asked, *known[::2]]
    assert index.find(queries.ids).tolist() == [first.get(p, -1) for p in wanted]
    assert [index.find_one(Selector([p]).ids.codes[:, 0].tolist()) for p in wanted] == [
        first.get(p, -1) for p in wanted
    ]
    expected = [row for p in wanted for row, q in enumerate(known) if q == p]
    assert rows_of(queries, index).tolist() == expected
    again = [row for row, p in enumerate(known) if first[p] != row]
    assert index.duplicates.tolist() == again


LEVEL_MATCHES = st.one_of(
    st.tuples(st.just("/*"), st.just(lambda t: True)),
    NUMBERS.map(lambda n: (f"[{n}:]", lambda t: isinstance(t, int) and t >= n)),
    NUMBERS.map(lambda n: (f"[:{n}]", lambda t: isinstance(t, int) and t < n)),
    NUMBERS.map(lambda n: (f"/{n}", lambda t: t == n)),
    NAMES.map(lambda n: (f"/{n}", lambda t: t == n)),
    st.lists(NAMES, min_size=1, max_size=3).map(lambda s: (f"/[{','.join(s)}]", lambda t: t in s)),
)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.lists(LEVEL_MATCHES, min_size=1, max_size=3), min_size=1, max_size=3), IDENTIFIERS
)
def test_ambiguous_selection_against_predicates(terms: list[Any], ids: list[Any]) -> None:
    """An ambiguous selector takes, in the order of the index, all that begin as it says."""
    text = ",".join("".join(t for t, _ in term) for term in terms)
    assume(SelectorMethods.is_ambiguous(text))
    expected = [
        row
        for row, port in enumerate(ids)
        if any(
            len(port) >= len(term) and all(f(t) for (_, f), t in zip(term, port, strict=False))
            for term in terms
        )
    ]
    assert rows_of(text, Finder(Selector(ids).ids)).tolist() == expected


@settings(max_examples=600, deadline=None)
@given(st.text(alphabet="/[]()+.,:*0159abz -!_é²٣\n", max_size=24) | st.text(max_size=12))
@example("/a[0:9223372036854775807999]")
@example("(" * 150)
def test_malformed_text_raises_nothing_else(text: str) -> None:
    """Whatever the text: it is a selector, or the error of one."""
    try:
        SelectorMethods.parse(text)
    except SelectorError as error:
        assert str(error).startswith(("Cannot tokenize", "Cannot parse"))
        assert not SelectorMethods.is_selector(text)
        with pytest.raises(SelectorError, match=r"^invalid selector"):
            Selector(text)
    else:
        assert SelectorMethods.is_selector(text)
        if not SelectorMethods.is_ambiguous(text):
            s = Selector(text)
            assert len(s) == len(s.ids) if len(s) < 10_000 else s.nonempty


END = st.none() | st.integers(-2, 5)
SCALAR = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 2**70),
    st.floats(),
    st.text(max_size=3),
    st.binary(max_size=2),
    st.builds(slice, END, END, st.none()),
)
ANYTHING = st.recursive(
    SCALAR,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.tuples(inner, inner),
        st.dictionaries(st.text(max_size=1), inner, max_size=2),
    ),
    max_leaves=6,
)


@settings(max_examples=400, deadline=None)
@given(ANYTHING)
def test_malformed_sequences_raise_nothing_else(thing: Any) -> None:
    """Whatever the object: it is a selector, or the error of one."""
    try:
        s = Selector(thing)
    except SelectorError as error:
        assert str(error).startswith("invalid selector")
    else:
        assert len(s) == 0 or s.nonempty


@settings(max_examples=100, deadline=None)
@given(IDENTIFIERS)
def test_order(ids: list[Any]) -> None:
    """Identifiers are ordered level by level: none, integers, strings."""
    order = Selector(ids).ids.order()
    key = [tuple((isinstance(t, str), t) for t in ids[i]) for i in order]
    assert key == sorted(key)
    assert np.array_equal(np.sort(order), np.arange(len(ids)))
