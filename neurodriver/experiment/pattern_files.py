"""Patterns from what an experiment file names: files, selectors, functions."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..circuit.circuit import Column
from ..errors import ExperimentError, near, quoted
from ..ports import Pattern, Selector
from .contents import Contents
from .references import completed, file_of, function_of
from .schema import PatternSection
from .source import KeyPath


@dataclass(frozen=True, eq=False)
class Wiring:
    """A pattern between two LPUs.

    ``path`` is the key of the file that tells of it and of the types of its ports; ``delay`` are
    seconds on top of the one step of a crossing.
    """

    path: KeyPath
    between: tuple[str, str]
    pattern: Pattern
    interfaces: tuple[int, int]
    delay: float

    @property
    def connections(self) -> int:
        """How many ports it joins."""
        return int(np.count_nonzero(self.pattern.sorted_links().column("conn") != 0))

    def typed(self, side: int) -> dict[str, Column]:
        """Return the ports of one LPU whose type (gpot or spike) is stated, by type."""
        interface = self.pattern.interface
        mine = np.asarray(interface.labels["interface"].values()) == self.interfaces[side]
        types = np.asarray(interface.labels["type"].values())
        rows = {kind: np.flatnonzero(mine & (types == kind)) for kind in ("gpot", "spike")}
        return {
            kind: np.asarray(interface.ids.take(found).texts(), dtype=np.str_)
            for kind, found in rows.items()
            if len(found)
        }


def make_wirings(experiment: Contents, section: PatternSection, path: KeyPath) -> list[Wiring]:
    """Return what one section of an experiment file connects."""
    between = (section.between[0], section.between[1]) if section.between else None
    interfaces = section.interfaces[0], section.interfaces[1]
    made: dict[tuple[str, str], Any] = {}
    if section.function is not None:
        function = function_of(section.function, experiment.folder)
        given = function(**completed(function, section.arguments, dt=experiment.section.dt))
        made = _of_function(given, between, experiment)
    elif section.file is not None:
        assert between is not None
        made[between] = read_pattern(file_of(section.file, experiment.folder))
    else:
        assert between is not None and section.from_ is not None and section.to is not None
        made[between] = _inline(section.from_, section.to, section.type)
    if section.type is not None:
        path = (*path, "type")
    out = [Wiring(path, ids, p, interfaces, section.delay) for ids, p in made.items()]
    for one in out:
        if not one.connections:
            raise ExperimentError(f"the pattern {' -> '.join(one.between)} connects no ports")
    return out


def _of_function(
    given: Any, between: tuple[str, str] | None, experiment: Contents
) -> dict[tuple[str, str], Any]:
    """Return what a function gave: one pattern, or several by pairs of LPUs."""
    if isinstance(given, Pattern) and between is not None:
        return {between: given}
    if not isinstance(given, Mapping):
        want = "a Pattern" if between else "a mapping (LPU, LPU) -> Pattern, or give 'between'"
        raise ExperimentError(f"must return {want}, got {type(given).__name__}")
    found = dict(given) if between is None else {between: given.get(between)}
    for ids, pattern in found.items():
        pair = isinstance(ids, tuple) and len(ids) == 2
        if not pair or not isinstance(pattern, Pattern):
            raise ExperimentError(f"must return (LPU, LPU) -> Pattern, got nothing such for {ids}")
        for name in ids:
            if name not in experiment.section.lpu:
                hint = near(str(name), experiment.section.lpu)
                message = f"names an LPU {quoted(name)}{hint}; there are "
                raise ExperimentError(message + ", ".join(experiment.section.lpu))
    return found


def _inline(from_: str, to: str, kind: str | None) -> Pattern:
    """Return the pattern of two selectors: port by port, or one to all."""
    sources, targets = Selector(from_), Selector(to)
    one = len(sources.ids) == 1
    if not one and len(sources.ids) != len(targets.ids):
        counts = f"{len(sources.ids):,} ports in 'from', {len(targets.ids):,} in 'to'"
        raise ExperimentError(f"{counts}: as many are needed, or one in 'from'")
    make = Pattern.from_product if one else Pattern.from_concat
    typed: dict[str, Any] = {} if kind is None else {f"{kind}_sel": f"{from_},{to}"}
    return make(sources, targets, from_sel=sources, to_sel=targets, data=1, **typed)


def read_pattern(path: Path) -> Pattern:
    """Read a pattern, from interface 0 to interface 1.

    GEXF is as `Pattern.to_graph` makes it. CSV has the columns ``from`` and ``to``, or those of
    `Pattern.from_csv` under a header.
    """
    if path.suffix.lower() == ".csv":
        return _read_csv(path)
    import networkx as nx

    try:
        graph = nx.read_gexf(path)
    except Exception as error:
        raise ExperimentError(f"{path}: cannot be read as GEXF: {error}") from error
    pattern: Pattern = Pattern.from_graph(graph)
    return pattern


def _read_csv(path: Path) -> Pattern:
    with path.open(newline="", encoding="utf-8-sig") as file:
        rows = list(csv.reader(file))
    head = [cell.strip() for cell in rows[0]] if rows else []
    sides = [[i for i, name in enumerate(head) if name.partition("_")[0] == side]
             for side in ("from", "to")]  # fmt: skip
    if not (sides[0] and sides[1]):
        got = ", ".join(head[:6]) or "nothing"
        raise ExperimentError(f"{path}: line 1 must name 'from' and 'to', got {quoted(got)}")
    conn = head.index("conn") if "conn" in head else None
    pairs: tuple[list[str], list[str]] = ([], [])
    for line, row in enumerate(rows[1:], 2):
        if not row or (conn is not None and row[conn].strip() in ("0", "0.0")):
            continue
        if len(row) != len(head):
            raise ExperimentError(f"{path}: line {line}: {len(head)} cells needed, got {len(row)}")
        for ports, columns in zip(pairs, sides, strict=True):
            ports.append(_port([row[i].strip() for i in columns]))
    if not pairs[0]:
        raise ExperimentError(f"{path}: holds no connections")
    sources, targets = (list(dict.fromkeys(ports)) for ports in pairs)
    return Pattern.from_concat(
        ",".join(sources), ",".join(targets), from_sel=",".join(pairs[0]),
        to_sel=",".join(pairs[1]), data=1,
    )  # fmt: skip


def _port(cells: list[str]) -> str:
    """Return a port from its levels, or from one cell that holds all of it."""
    if len(cells) == 1 and cells[0].startswith("/"):
        return cells[0]
    return "".join(f"/{cell}" for cell in cells if cell)
