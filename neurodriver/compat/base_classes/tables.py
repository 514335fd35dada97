"""A graph of neurons and synapses -> the tables that old classes are made from.

Neurons and input ports have columns: those with a potential in one buffer, those with spikes in
another one, model by model, each in the order of its ids. Synapses have states, model by model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...circuit.records import Records
from ...circuit.validate import edge_name, node_name
from ...errors import near, quoted
from ..legacy.models import PORTS
from .bases import BaseNeuron, BaseSynapse

Data = dict[str, Any]


@dataclass
class NeuronTable:
    """All neurons of a class.

    Attributes
    ----------
    rows : list of int
        Their components.
    first : int
        Column of the first one.
    """

    model: type[BaseNeuron]
    spiking: bool
    rows: list[int]
    first: int = 0
    n_dict: dict[str, list[Any]] = field(default_factory=dict)


@dataclass
class SynapseTable:
    """All synapses of a class.

    Attributes
    ----------
    first : int
        Number of the state of the first one.
    """

    model: type[BaseSynapse]
    first: int
    s_dict: dict[str, list[Any]]


@dataclass
class Tables:
    """What an LPU of old classes is made from.

    Attributes
    ----------
    neurons : list of NeuronTable
    synapses : list of SynapseTable
    columns : list of int
        Of each component, in the buffer that it belongs to.
    spiking : list of bool
        Of each component.
    relays : list of int
        Components that hold what input ports bring.
    longest : (float, float)
        Longest delay in ms of synapses that read potentials, and of those that read spikes.
    states : int
        Number of synapses.
    """

    neurons: list[NeuronTable]
    synapses: list[SynapseTable]
    columns: list[int]
    spiking: list[bool]
    relays: list[int]
    longest: tuple[float, float]
    states: int


def tables_of(
    records: Records, order: Sequence[int], neurons: Sequence[type], synapses: Sequence[type]
) -> Tables:
    """Return the tables of the records of a graph; what is wrong is added to their ``faults``.

    Parameters
    ----------
    records : Records
        Nodes with ``model``, edges with ``model``.
    order : sequence of int
        Records of the nodes in the order of their components.
    neurons, synapses : sequence of type
        Direct subclasses that files may name.
    """
    nodes = [records.nodes[row] for row in order]
    groups: dict[Any, NeuronTable] = {}
    relays, spiking = [], []
    for i, data in enumerate(nodes):
        port = PORTS.get(str(data.get("model")))
        fires = port == "spike" if port else bool(data.get("spiking", False))
        spiking.append(fires)
        if port:
            relays.append(i)
            continue
        where = node_name(records.uids[order[i]])
        model = class_of(data.get("model"), neurons, BaseNeuron, where, records)
        if model is not None:
            table = groups.setdefault((model, fires), NeuronTable(model, fires, []))
            table.rows.append(i)
    columns = _columns(list(groups.values()), relays, spiking)
    place = {records.uids[row]: i for i, row in enumerate(order)}
    made = _synapses(records, synapses, place, columns)
    tables = Tables(
        list(groups.values()), made, columns, spiking, relays,
        _longest(records, place, spiking), sum(len(one.s_dict["id"]) for one in made),
    )  # fmt: skip
    for table in tables.neurons:
        ids = [int(records.uids[order[i]]) for i in table.rows]
        table.n_dict = {**_lists([nodes[i] for i in table.rows]), "id": ids}
    _inputs(records, tables, place)
    return tables


def class_of(given: Any, known: Sequence[type], base: type, where: str, records: Records) -> Any:
    """Return the class that a file names, or gives the number of; None with a fault."""
    names = [one.__name__ for one in known]
    number = given if isinstance(given, int) and not isinstance(given, bool) else None
    if number is None and isinstance(given, str) and given.isdigit() and given not in names:
        number = int(given)
    if number is not None:
        if 0 <= number < len(known):
            return known[number]
        some = f"0 to {len(known) - 1}" if known else "none"
        say = f"there is no class number {number} of {base.__name__}; there are {some}"
        records.faults.add(f"{where}, attribute 'model': {say}: {', '.join(names)}")
        return None
    found = [one for one in known if one.__name__ == given]
    if len(found) == 1:
        return found[0]
    if found:
        places = " and ".join(one.__module__ for one in found)
        say = f"several classes are called {quoted(given)}, in {places}; rename one"
    else:
        listed = f"; there are {', '.join(names)}" if names else f"; no {base.__name__} is known"
        say = f"no class {quoted(given)} of {base.__name__}{near(str(given), names) or listed}"
    records.faults.add(f"{where}, attribute 'model': {say}")
    return None


def _columns(
    groups: Sequence[NeuronTable], relays: Sequence[int], spiking: Sequence[bool]
) -> list[int]:
    columns, used = [0] * len(spiking), {False: 0, True: 0}
    for table in groups:
        table.first = used[table.spiking]
        for i in table.rows:
            columns[i] = used[table.spiking]
            used[table.spiking] += 1
    for i in relays:
        columns[i] = used[spiking[i]]
        used[spiking[i]] += 1
    return columns


def _lists(rows: Sequence[Data]) -> dict[str, list[Any]]:
    """Return a list for each attribute; None where a row lacks it."""
    names = dict.fromkeys(name for data in rows for name in data)
    return {str(name): [data.get(name) for data in rows] for name in names}


def _synapses(
    records: Records, known: Sequence[type], place: Mapping[str, int], columns: Sequence[int]
) -> list[SynapseTable]:
    """Return the synapses of each class; each edge gets the number of its state."""
    groups: dict[Any, list[int]] = {}
    ends = zip(records.sources, records.targets, strict=True)
    for row, (source, target) in enumerate(ends):
        where = edge_name(source, target)
        for uid in (source, target):
            if uid not in place:
                records.faults.add(f"{where}: no node {quoted(uid)}")
        model = class_of(records.edges[row].get("model"), known, BaseSynapse, where, records)
        if model is not None and source in place and target in place:
            groups.setdefault(model, []).append(row)
    out, first = [], 0
    for model, rows in groups.items():
        s_dict = _lists([records.edges[row] for row in rows])
        s_dict["id"] = [int(records.edges[row].get("id", row)) for row in rows]
        s_dict["pre"] = [columns[place[records.sources[row]]] for row in rows]
        s_dict["post"] = [columns[place[records.targets[row]]] for row in rows]
        for number, row in enumerate(rows):
            records.edges[row]["nd_state"] = first + number
        out.append(SynapseTable(model, first, s_dict))
        first += len(rows)
    return out


def _longest(
    records: Records, place: Mapping[str, int], spiking: Sequence[bool]
) -> tuple[float, float]:
    longest = [0.0, 0.0]
    for row, source in enumerate(records.sources):
        delay = float(records.edges[row].get("delay", 0.0) or 0.0)
        if source in place:
            kind = spiking[place[source]]
            longest[kind] = max(longest[kind], delay)
    return longest[0], longest[1]


def _inputs(records: Records, tables: Tables, place: Mapping[str, int]) -> None:
    """Add the inputs of the neurons to their tables, in the order of the neurons."""
    into: dict[int, list[Data]] = {}
    for row, target in enumerate(records.targets):
        data = records.edges[row]
        if "nd_state" in data:
            into.setdefault(place[target], []).append(data)
    for table in tables.neurons:
        out: dict[str, list[Any]] = {
            name: [] for name in ("cond_pre", "cond_post", "reverse", "num_dendrites_cond",
                                  "I_pre", "I_post", "num_dendrites_I")
        }  # fmt: skip
        for number, component in enumerate(table.rows):
            edges = into.get(component, [])
            conducts = [data for data in edges if data.get("conductance")]
            others = [data for data in edges if not data.get("conductance")]
            out["cond_pre"] += [data["nd_state"] for data in conducts]
            out["cond_post"] += [number] * len(conducts)
            out["reverse"] += [float(data.get("reverse", 0.0)) for data in conducts]
            out["num_dendrites_cond"].append(len(conducts))
            out["I_pre"] += [data["nd_state"] for data in others]
            out["I_post"] += [number] * len(others)
            out["num_dendrites_I"].append(len(others))
        table.n_dict.update(out)


def summed(table: NeuronTable, states: Any, potentials: Any) -> Any:
    """Return the currents of the neurons of a class from the states of all synapses, (n,)."""
    given, n = table.n_dict, len(table.rows)
    out = np.zeros(n)
    np.add.at(out, np.array(given["I_post"], int), states[np.array(given["I_pre"], int)])
    post = np.array(given["cond_post"], int)
    drive = potentials[post] - np.array(given["reverse"], float)
    np.add.at(out, post, -states[np.array(given["cond_pre"], int)] * drive)
    return out
