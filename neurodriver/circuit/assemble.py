"""Records -> Circuit: groups by model, connections by variable, every fault named."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..component import NDComponent
from ..errors import Faults, near
from ..library import models as known_models
from .circuit import Circuit, Column, Connections, Group, Port
from .records import Records
from .validate import check, node_name
from .wiring import resolve

REVERSAL_NAMES = ("reverse", "Vr", "VR", "reverse_potential")
"""Attributes that give a reversal potential, in the order in which they are looked up."""

PORT_LABELS = ("selector", "port_type", "port_io")
_NO_NUMBER = frozenset({"id", "networkx_key", "label", "variable", "receptor", "tag", "delay"})


def assemble(records: Records, models: Iterable[type[NDComponent]], strict: bool) -> Circuit:
    """Turn records into a checked circuit.

    Parameters
    ----------
    records : Records
        Not changed.
    models : iterable of NDComponent subclasses
        Models beside the shipped ones.
    strict : bool
        Turn warnings into errors.

    Raises
    ------
    CircuitError
        With all faults.
    """
    faults = records.faults
    if not records.nodes and not faults.count:
        faults.add("the circuit is empty: no nodes")
    members = _members(records, {**known_models(models), "Port": Port}, faults)
    groups = tuple(_group(model, rows, records, faults) for model, rows in members.items())
    number = np.full(len(records.nodes), -1, dtype=np.int64)
    rows = [row for rows in members.values() for row in rows]
    number[rows] = np.arange(len(rows))
    connections = _connections(records, groups, number, faults)
    circuit = Circuit(records.source, groups, connections, records.source)
    check(circuit, faults)
    faults.finish(strict)
    return circuit


def _members(
    records: Records, models: dict[str, type[NDComponent]], faults: Faults
) -> dict[type[NDComponent], list[int]]:
    """Return the record numbers of each model, models in the order of their first node."""
    members: dict[type[NDComponent], list[int]] = {}
    unknown: dict[str, list[int]] = {}
    unclassed: list[int] = []
    for row, data in enumerate(records.nodes):
        name = data.get("class")
        if name is None:
            unclassed.append(row)
        elif isinstance(name, str) and name in models:
            members.setdefault(models[name], []).append(row)
        else:
            unknown.setdefault(str(name), []).append(row)
    legacy = unclassed and "model" in records.nodes[unclassed[0]]
    hint = "the file looks like the legacy form of before 2016" if legacy else "name its model"
    texts = (f"{node_name(records.uids[r])} has no attribute 'class'; {hint}" for r in unclassed)
    faults.add_each(texts, len(unclassed))
    for name, rows in unknown.items():
        say = f"attribute 'class': unknown model '{name}'{near(name, models)}"
        say += "; `neurodriver models` lists the known ones"
        faults.add_each((f"{node_name(records.uids[r])}, {say}" for r in rows), len(rows))
    return members


def _group(model: type[NDComponent], rows: list[int], records: Records, faults: Faults) -> Group:
    data = [records.nodes[r] for r in rows]
    uids = [records.uids[r] for r in rows]
    present = set().union(*data)
    params: dict[str, Column] = {}
    for name, parameter in model.params.items():
        values = [d.get(name) for d in data]
        missing = [i for i, value in enumerate(values) if value is None]
        if parameter.default is not None:
            values = [parameter.default if value is None else value for value in values]
        elif missing:
            free = present.difference(model.params)
            texts = (_missing(model, uids[i], name, data[i], free) for i in missing)
            faults.add_each(texts, len(missing))
        # what is missing is told already: a harmless value keeps it from being told twice
        harmless = min(max(1.0, parameter.at_least), parameter.at_most)
        params[name] = _numbers(values, model, name, uids, faults, harmless)
    for name in model.initial_names():
        if name in present:
            values = [d.get(name) for d in data]
            params[name] = _numbers(values, model, name, uids, faults, np.nan)
    optional = [name for name in model.initial_names() if name not in present]
    for name in present.difference(model.params, model.initial_names(), ("class", "label")):
        hint = near(name, optional)
        if hint and name not in REVERSAL_NAMES:
            faults.warn(f"{model.__name__} has no attribute '{name}'{hint}; it is not used")
    labels = {}
    if model is Port:
        for name in PORT_LABELS:
            labels[name] = np.array([str(d.get(name) or "") for d in data])
    return Group(model, params, len(rows), np.array(uids, dtype=np.str_), labels)


def _missing(
    model: type[NDComponent], uid: str, name: str, data: dict[str, Any], free: set[str]
) -> str:
    unit = model.params[name].unit
    hint = near(name, free.intersection(data))
    return f"{node_name(uid)} ({model.__name__}): parameter '{name}' [{unit}] is missing{hint}"


def _numbers(
    values: list[Any],
    model: type[NDComponent],
    name: str,
    uids: list[str],
    faults: Faults,
    missing: float,
) -> NDArray[np.float64]:
    """Convert attribute values to float64; None becomes ``missing``."""
    if all(type(v) in (float, int) for v in values):
        try:
            out = np.array(values, dtype=np.float64)
            if not np.isnan(out).any():
                return out
        except OverflowError:
            pass
    out = np.full(len(values), missing)
    for i, value in enumerate(values):
        try:
            if value is None:
                continue
            if isinstance(value, str | bytes):
                raise TypeError
            out[i] = float(value)
            if np.isnan(out[i]):
                raise ValueError
        except (TypeError, ValueError, OverflowError):
            faults.add(
                f"{node_name(uids[i])} ({model.__name__}), attribute '{name}': "
                f"must be a finite number (got {value!r:.60})"
            )
            out[i] = missing
    return out


def _connections(
    records: Records, groups: tuple[Group, ...], number: NDArray[np.int64], faults: Faults
) -> tuple[Connections, ...]:
    """Turn edges into connections, one set for each variable and access."""
    index = {uid: int(n) for uid, n in zip(records.uids, number, strict=True)}
    ends = np.array(
        [(index.get(a, -2), index.get(b, -2)) for a, b in records.ends], dtype=np.int64
    ).reshape(-1, 2)
    dangling = np.flatnonzero((ends == -2).any(axis=1))
    faults.add_each((_dangling(records, index, i) for i in dangling.tolist()), len(dangling))
    good = (ends >= 0).all(axis=1)  # -1: a node whose own fault is told already
    kept = np.flatnonzero(good)
    ends = ends[kept]
    edges = [records.edges[i] for i in kept]
    models = [g.model for g in groups]
    of = np.repeat(np.arange(len(groups)), [g.count for g in groups])
    kinds: dict[tuple[int, int, str, str], list[int]] = {}
    pairs = zip(of[ends[:, 0]].tolist(), of[ends[:, 1]].tolist(), edges, strict=True)
    for row, (a, b, data) in enumerate(pairs):
        key = (a, b, str(data.get("variable") or ""), str(data.get("receptor") or ""))
        kinds.setdefault(key, []).append(row)
    sets: dict[tuple[str, str], list[int]] = {}
    for (a, b, variable, receptor), rows in kinds.items():
        wire = resolve(models[a], models[b], variable, receptor)
        if wire.fault:
            told = (f"{edge_name(*records.ends[kept[r]])} {wire.fault}" for r in rows)
            faults.add_each(told, len(rows))
            continue
        if wire.warning:
            faults.warn(wire.warning, len(rows))
        sets.setdefault((wire.variable, wire.access), []).extend(rows)
    out = []
    for (variable, access), rows in sets.items():
        rows.sort()  # the order of the file
        links = [edges[r] for r in rows]
        chosen = ends[rows].astype(np.int32)
        names = [records.ends[kept[r]] for r in rows]
        data = _edge_numbers(links, names, faults)
        delay = data.pop("delay", np.zeros(()))
        if variable == "g":
            data["reverse"] = _reversal(data, groups, chosen[:, 0], records, number, faults)
        out.append(Connections(variable, access, chosen[:, 0], chosen[:, 1], delay, data))
    return tuple(out)


def edge_name(source: str, target: str) -> str:
    """Return how messages call an edge."""
    return f"edge '{source:.60}' -> '{target:.60}'"


def _dangling(records: Records, index: dict[str, int], row: int) -> str:
    lost = [uid for uid in records.ends[row] if uid not in index]
    hint = near(lost[0], index) if len(index) <= 2000 else ""
    return f"{edge_name(*records.ends[row])}: there is no node '{lost[0]:.60}'{hint}"


def _edge_numbers(
    links: list[dict[str, Any]], names: list[tuple[str, str]], faults: Faults
) -> dict[str, NDArray[np.float64]]:
    """Return the numeric attributes of edges as columns; NaN where an edge has none."""
    keys = [*sorted(set().union(*links).difference(_NO_NUMBER)), "delay"]
    out = {}
    for key in keys:
        values = [d.get(key) for d in links]
        if key == "delay":
            values = [0.0 if v is None else v for v in values]
            if not any(values):
                continue
        if all(type(v) in (float, int) for v in values):
            out[key] = np.array(values, dtype=np.float64)
            continue
        column = np.full(len(values), np.nan)
        for i, value in enumerate(values):
            if isinstance(value, float | int | np.number):
                column[i] = value
            elif value is not None and key in ("delay", "weight", *REVERSAL_NAMES):
                message = f"attribute '{key}': must be a number (got {value!r:.60})"
                faults.add(f"{edge_name(*names[i])}, {message}")
                column[i] = 0.0
        if not np.isnan(column).all():
            out[key] = column
    return out


def _reversal(
    data: dict[str, NDArray[np.float64]],
    groups: tuple[Group, ...],
    source: NDArray[np.int32],
    records: Records,
    number: NDArray[np.int64],
    faults: Faults,
) -> NDArray[np.float64]:
    """Return the reversal potential of each conductance edge: edge, then synapse, then 0 mV."""
    out = np.full(len(source), np.nan)
    for name in REVERSAL_NAMES:
        if name in data:
            out = np.where(np.isnan(out), data.pop(name), out)
    if np.isnan(out).any():
        count = sum(g.count for g in groups)
        of_node = np.full(count, np.nan)
        for row, data_of in zip(number, records.nodes, strict=True):
            given = next((data_of[n] for n in REVERSAL_NAMES if n in data_of), None)
            if row >= 0 and isinstance(given, float | int | np.number):
                of_node[row] = given
        out = np.where(np.isnan(out), of_node[source], out)
    lost = int(np.isnan(out).sum())
    if lost:
        faults.warn("conductance edges without a reversal potential: 0 mV is taken", lost)
    filled: NDArray[np.float64] = np.nan_to_num(out, nan=0.0)
    return filled
