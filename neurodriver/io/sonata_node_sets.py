"""Node sets of SONATA: names and rules -> nodes of a circuit's files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import Faults, near, quoted
from .columns import Column
from .sonata_config import ConfigPaths, SonataNetwork, read_config, read_json
from .sonata_files import populations
from .sonata_places import UID

Mask = NDArray[np.bool_]

VIRTUAL = "virtual"
"""``model_type`` of nodes that only fire given spikes."""


@dataclass(frozen=True)
class NodeTable:
    """The nodes of a population.

    Attributes
    ----------
    columns : dict of str to (n,) array
        ``node_id``, ``uid``, ``population``, the types of models, and all other attributes.
    """

    name: str
    columns: dict[str, Column]

    def __len__(self) -> int:
        return len(self.columns["node_id"])


def node_tables(network: SonataNetwork, faults: Faults) -> list[NodeTable]:
    """Return the nodes of all populations."""
    out = []
    with ExitStack() as files:
        for nodes in populations(network.nodes, "node", faults, files):
            given = nodes.column("node_id")
            ids = np.arange(nodes.count) if given is None else given.astype(np.int64)
            columns = nodes.attributes()
            for name in ("model_type", "model_template"):
                texts, codes = nodes.texts(name)
                columns[name] = np.array(texts)[codes]
            plain = np.strings.add(f"{nodes.name}/", ids.astype("U"))
            columns |= {"node_id": ids, "uid": columns.pop(UID, plain)}
            columns["population"] = np.full(nodes.count, nodes.name)
            out.append(NodeTable(nodes.name, columns))
    return out


def read_node_sets(said: Mapping[str, Any], paths: ConfigPaths, faults: Faults) -> NodeSets:
    """Return the node sets of a simulation: those of its circuit, its file and its own.

    Parameters
    ----------
    said : mapping
        The configuration of the simulation.
    paths : ConfigPaths
        Of the same configuration.
    """
    network = read_config(paths.path)
    file = said.get("node_sets_file")
    own = None if file is None else paths.place(file, "'node_sets_file'")
    sets: dict[str, Any] = {}
    for one in dict.fromkeys((network.node_sets, own)):
        sets |= {} if one is None else read_json(one)
    return NodeSets(node_tables(network, faults), sets | (said.get("node_sets") or {}), faults)


class NodeSets:
    """Finds the nodes of a set.

    Parameters
    ----------
    sets : mapping of str to object
        Name -> rules, or names of other sets.
    """

    def __init__(self, tables: list[NodeTable], sets: Mapping[str, Any], faults: Faults) -> None:
        self.tables, self.faults = tables, faults
        self.sets = {**{table.name: {"population": table.name} for table in tables}, **sets}

    def find(self, given: Any, where: str) -> dict[str, Mask]:
        """Return which nodes of each population are in a set.

        Parameters
        ----------
        given : str, mapping or sequence
            Name of a set, rules, or several names. Whole numbers are node ids. ``"all"`` is all
            nodes that are not virtual, if no set has this name.
        where : str
            Name of the set's user, for messages.

        Returns
        -------
        dict of str to (n,) bool
            For populations with nodes in the set alone.
        """
        found = self._find(given, where, ())
        return {
            table.name: mask for table, mask in zip(self.tables, found, strict=True) if mask.any()
        }

    def _find(self, given: Any, where: str, inside: tuple[str, ...]) -> list[Mask]:
        none = [np.zeros(len(table), dtype=bool) for table in self.tables]
        if isinstance(given, str):
            if given in inside:
                self.faults.add(f"{where}: the node set {quoted(given)} contains itself")
            elif given in self.sets:
                return self._find(self.sets[given], where, (*inside, given))
            elif given == "all":
                return [table.columns["model_type"] != VIRTUAL for table in self.tables]
            else:
                known = ", ".join(map(quoted, self.sets))
                say = f"unknown node set {quoted(given)}{near(given, self.sets)}"
                self.faults.add(f"{where}: {say}; there are {known}")
            return none
        if isinstance(given, Mapping):
            return self._matching(given, where)
        if isinstance(given, list) and given:
            if all(isinstance(one, int) for one in given):
                return self._matching({"node_id": given}, where)
            if all(isinstance(one, str) for one in given):
                each = [self._find(one, where, inside) for one in given]
                return [np.logical_or.reduce(masks) for masks in zip(*each, strict=True)]
        say = "a node set is a name, a list of names or node ids, or an object of attributes"
        self.faults.add(f"{where}: {say} (got {given!r:.60})")
        return none

    def _matching(self, rules: Mapping[str, Any], where: str) -> list[Mask]:
        """Return which nodes have all of some attributes."""
        known = {name for table in self.tables for name in table.columns}
        for name in rules:
            if name not in known:
                say = f"no node has the attribute {quoted(name)}{near(name, known)}"
                self.faults.add(f"{where}: {say}")
        out = []
        for table in self.tables:
            mask = np.ones(len(table), dtype=bool)
            for name, wanted in rules.items():
                column = table.columns.get(name)
                values = wanted if isinstance(wanted, list) else [wanted]
                mask &= False if column is None else _among(column, values)
            out.append(mask)
        return out


def _among(column: Column, values: Iterable[Any]) -> Mask:
    """Return which values of a column are among some; a text is never a number."""
    kind: Any = str if column.dtype.kind == "U" else (int, float)
    return np.isin(column, [value for value in values if isinstance(value, kind)])
