"""Random patterns against a dictionary of tuples."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neurodriver.compat.ports import Pattern
from neurodriver.errors import PortError
from neurodriver.ports.links import Links, prepared

INTERFACES = {
    0: [("a", n) for n in range(5)],
    1: [("b", n, "x") for n in range(5)],
    2: [("c",), (3,)],
}
NUMBER = {port: number for number, ports in INTERFACES.items() for port in ports}
PORTS = list(NUMBER)
TYPES = ["gpot", "spike", None, None]

SIDE = st.lists(st.sampled_from(PORTS), min_size=1, max_size=3)
STEPS = st.lists(st.tuples(SIDE, SIDE, st.integers(0, 3), st.booleans()), min_size=1, max_size=14)


class Model:
    """Connections as a dictionary, with the rules spelled out."""

    def __init__(self) -> None:
        self.rows: dict[tuple[Any, Any], dict[str, float]] = {}

    def assign(self, sources: list[Any], destinations: list[Any], name: str, value: float) -> bool:
        """Connect all with all, or return False and change nothing."""
        if {NUMBER[p] for p in sources} & {NUMBER[p] for p in destinations}:
            return False
        pairs = [(a, b) for a in sources for b in destinations]
        new = [pair for pair in pairs if pair not in self.rows]
        everything = [*self.rows, *new]
        if len(set(new)) < len(new):
            return False
        if len({b for _, b in everything}) < len(everything):
            return False
        if {a for a, _ in everything} & {b for _, b in everything}:
            return False
        for pair in pairs:
            self.rows.setdefault(pair, {})[name] = value
        return True

    def ordered(self) -> list[tuple[Any, Any]]:
        def key(port: Any) -> Any:
            return tuple((isinstance(t, str), t) for t in port)

        return sorted(self.rows, key=lambda pair: (key(pair[0]), key(pair[1])))


@settings(max_examples=100, deadline=None)
@given(STEPS, st.lists(st.sampled_from(TYPES), min_size=len(PORTS), max_size=len(PORTS)))
def test_assignments_and_queries(steps: list[Any], types: list[str | None]) -> None:
    """Whatever is assigned, the pattern refuses and answers as the dictionary does."""
    p, model = Pattern(*INTERFACES.values()), Model()
    for sources, destinations, value, weight in steps:
        name = "w" if weight else "conn"
        if model.assign(sources, destinations, name, value):
            p[sources, destinations, name] = value
        else:
            with pytest.raises(PortError):
                p[sources, destinations, name] = value
        if value == 3:  # reading in between sorts the rows
            assert p.get_conns() == model.ordered()
    rows = model.ordered()
    assert p.get_conns() == rows and len(p) == len(rows)
    for name in ("conn", "w"):
        expected = [model.rows[pair].get(name, np.nan) for pair in rows]
        if any(name in held for held in model.rows.values()):
            np.testing.assert_array_equal(p.sorted_links().column(name), expected)
    type_of = dict(zip(PORTS, types, strict=True))
    for port, kind in type_of.items():
        p.interface[[port], "type"] = kind
    some = PORTS[::2]
    for a in INTERFACES:
        for b in INTERFACES:
            if a == b:
                continue
            between = [(s, d) for s, d in rows if (NUMBER[s], NUMBER[d]) == (a, b)]
            on = [pair for pair in between if model.rows[pair].get("conn", 1) != 0]
            assert p.is_connected(a, b) == bool(on)
            assert p.src_idx(a, b, duplicates=True) == [s for s, _ in between]
            for src_type in ("gpot", "spike", None):
                for dest_type in ("gpot", "spike", None):
                    held = [
                        (s, d) for s, d in between
                        if src_type in (None, type_of[s]) and dest_type in (None, type_of[d])
                    ]  # fmt: skip
                    found = p.src_idx(a, b, src_type, dest_type, dest_ports=some)
                    assert found == list(dict.fromkeys(s for s, d in held if d in some))
                    found = p.dest_idx(a, b, src_type, dest_type, src_ports=some)
                    assert found == list(dict.fromkeys(d for s, d in held if s in some))
    connected = {port for pair in rows for port in pair}
    assert set(p.connected_ports(tuples=True)) == connected
    assert set(p.in_ports(tuples=True)) == {s for s, _ in rows}
    assert set(p.out_ports(tuples=True)) == {d for _, d in rows}
    again = Pattern.from_df(p.interface.data, p.data)
    assert again.get_conns() == rows and again.interface.equals(p.interface)
    assert Pattern.from_graph(p.to_graph()).get_conns() == rows


PAIRS = st.lists(st.tuples(st.integers(0, 5), st.integers(6, 11)), max_size=8)


@settings(max_examples=200, deadline=None)
@given(st.lists(PAIRS, max_size=5), PAIRS)
def test_rows_are_found_with_and_without_fan_in(parts: list[Any], asked: list[Any]) -> None:
    """A pair is found at its row, whether destinations have one source or several."""
    links, model = Links(12, ["w"]), dict[tuple[int, int], float]()
    for number, part in enumerate(parts):
        fresh = [pair for pair in dict.fromkeys(part) if pair not in model]
        pairs = np.array(fresh, np.int64).reshape(-1, 2)
        rows = links.append(pairs[:, 0], pairs[:, 1])
        links.set(rows, prepared({"w": number}, len(rows)))
        model |= dict.fromkeys(fresh, number)
        if number % 2:
            links.sort(np.arange(12)[::-1].copy())
    wanted = np.array([*asked, *model], np.int64).reshape(-1, 2)
    rows = links.find(wanted[:, 0], wanted[:, 1])
    found = [links.column("w")[row] if row >= 0 else None for row in rows]
    assert found == [model.get(pair) for pair in [*asked, *model]]
    destinations = [d for _, d in model]
    assert links.fan_in == (len(set(destinations)) < len(destinations))
