"""In which SONATA population each component of a circuit is, and in which row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..circuit.circuit import Circuit, Column
from ..circuit.selection import population_names

Rows = NDArray[np.int64]

UID, NUMBER, SET, ROW = (f"neurodriver_{what}" for what in ("uid", "number", "set", "row"))
"""Attributes of our own: uid and number of a component, set of connections, row of an edge in it.

Uids, numbers and rows are written only where the format itself would lose them.
"""

OWN = "neurodriver:"
"""Schema of the templates of models that are ours alone: ``neurodriver:HodgkinHuxley``."""

OWN_EDGE = f"{OWN}static_synapse"
"""Template of edges that say themselves which variable they carry, and into which access."""


@dataclass(frozen=True)
class Places:
    """Where the components of a circuit are in SONATA files.

    Attributes
    ----------
    names : list of str
        Populations, in the order of their first components.
    population : (count,) int64
        Place of each component's population among ``names``.
    row : (count,) int64
        Its row there, which is its ``node_id``.
    members : list of (n,) int64
        Components of each population, in the order of their rows.
    """

    names: list[str]
    population: Rows
    row: Rows
    members: list[Rows]


def places_of(circuit: Circuit) -> Places:
    """Return where components are: a population of the circuit is one of the files."""
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
    """Whether a reader that goes through populations, and models in them, finds our order.

    It puts the nodes of a model together, models in the order in which it meets them.
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
    """Whether uids are those that a reader gives: ``<population>/<row>``."""
    return bool((uids == np.strings.add(f"{name}/", np.arange(len(uids)).astype("U"))).all())


def ranges_by_node(ends: Rows, count: int) -> tuple[Rows, Rows]:
    """Return an index of edges by one of their ends.

    Parameters
    ----------
    ends : (m,) int
        Row of that end of each edge.
    count : int
        Number of nodes.

    Returns
    -------
    (count, 2) and (r, 2) int64
        Of each node its first range and the one after its last; of each range its first edge and
        the one after its last.
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
