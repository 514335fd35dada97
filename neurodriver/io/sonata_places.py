"""In which SONATA population each component of a circuit is, and in which row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..circuit.circuit import Circuit, Column
from ..circuit.selection import population_names

Rows = NDArray[np.int64]

UID, NUMBER, SET, ROW = (f"neurodriver_{what}" for what in ("uid", "number", "set", "row"))
"""Names of attributes that neurodriver adds to the format.

They are the uid and the number of a component, the set of connections of an edge, and its row in
this set. Uids, numbers and rows are written only if they do not follow from the rest of the file.
"""

OWN = "neurodriver:"
"""Prefix of templates that only neurodriver has, such as ``neurodriver:HodgkinHuxley``."""

OWN_EDGE = f"{OWN}static_synapse"
"""Template of edges whose attributes ``variable`` and ``access`` say what they carry and where."""


@dataclass(frozen=True)
class Places:
    """Where the components of a circuit are in SONATA files.

    Attributes
    ----------
    names : list of str
        Populations, in the order of their first components.
    population : (count,) int64
        Number of each component's population in ``names``.
    row : (count,) int64
        Row of each component in its population. This is its ``node_id``.
    members : list of (n,) int64
        Numbers of the components of each population, in the order of their rows.
    """

    names: list[str]
    population: Rows
    row: Rows
    members: list[Rows]


def places_of(circuit: Circuit) -> Places:
    """Return population and row of each component. Populations are those of the circuit."""
    texts, first, codes = np.unique(
        population_names(circuit), return_index=True, return_inverse=True
    )
    order = np.argsort(first)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    population = rank[codes.ravel()]
    by_population = np.argsort(population, kind="stable")
    ends = np.cumsum(np.bincount(population, minlength=len(order)))
    members = np.split(by_population, ends[:-1])
    row = np.empty(circuit.count, np.int64)
    for mine in members:
        row[mine] = np.arange(len(mine))
    return Places(texts[order].tolist(), population, row, members)


def in_reading_order(circuit: Circuit, places: Places) -> bool:
    """Whether reading the files gives the components in the order of the circuit.

    A reader goes through the populations. It groups the nodes by model, and takes the models in the
    order in which it finds them.
    """
    of_group = np.repeat(np.arange(len(circuit.groups)), [g.count for g in circuit.groups])
    met = dict.fromkeys(
        g for mine in places.members for g in dict.fromkeys(of_group[mine].tolist())
    )
    if list(met) != list(range(len(circuit.groups))):
        return False
    by_model = np.lexsort((places.row, places.population, of_group))
    return bool((by_model == np.arange(circuit.count)).all())


def named_by_row(name: str, uids: Column) -> bool:
    """Whether uids have the form that a reader gives them: ``<population>/<row>``."""
    return bool((uids == np.strings.add(f"{name}/", np.arange(len(uids)).astype("U"))).all())


def ranges_by_node(ends: Rows, count: int) -> tuple[Rows, Rows]:
    """Return an index of edges by one of their ends.

    Parameters
    ----------
    ends : (m,) int
        Row of the source, or of the target, of each edge.
    count : int
        Number of nodes.

    Returns
    -------
    ranges of nodes : (count, 2) int64
        For each node its first range, and the one after its last.
    edges of ranges : (r, 2) int64
        For each range its first edge, and the one after its last.
    """
    order = np.argsort(ends, kind="stable").astype(np.int64)
    node = ends[order]
    begins = np.ones(len(order), dtype=bool)
    begins[1:] = (np.diff(order) != 1) | (np.diff(node) != 0)
    first = np.flatnonzero(begins)
    last = np.append(first[1:], len(order)) - 1
    ranges = np.stack([order[first], order[last] + 1], axis=1) if len(order) else np.empty((0, 2))
    bounds = np.searchsorted(node[first], np.arange(count + 1))
    return np.stack([bounds[:-1], bounds[1:]], axis=1), ranges.astype(np.int64)
