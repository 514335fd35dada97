"""Records -> Circuit: groups by model, connections by variable, every fault named."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ..errors import Faults, near, quoted
from ..model.component import NDComponent
from ..model.library import models as known_models
from ..model.library import rules as known_rules
from . import forms
from .circuit import Circuit, Column, Group, Port
from .links import REVERSAL_NAMES, make_connections
from .node_columns import column_of, storable
from .numbers import column, real
from .records import Records, plain_name
from .rule_nodes import without_rules
from .validate import LONGEST_SELECTOR, check, node_name, unfit_uid

PORT_LABELS = {"selector": LONGEST_SELECTOR, "port_type": 60, "port_io": 60}
"""Text attributes of ports, and how much of them is looked at."""


def assemble(
    records: Records,
    models: Any,
    strict: bool,
    lenient: bool = False,
) -> Circuit:
    """Return the checked circuit of records, to whose ``faults`` is added.

    ``models`` are those beside the shipped ones. All faults are raised together, as CircuitError.
    """
    faults = records.faults
    if not records.nodes and not faults.count:
        faults.add("the circuit is empty: no nodes")
    brought = records.models
    records, rules = without_rules(records, known_rules(models), faults)
    known = {**known_models([models, *brought]), "Port": Port}
    members = _members(records, known, faults)
    names = _names(records.uids, faults)
    groups = tuple(_group(model, rows, records, names, faults) for model, rows in members.items())
    number = np.full(len(records.nodes), -1, dtype=np.int64)
    rows = [row for rows in members.values() for row in rows]
    number[rows] = np.arange(len(rows))
    connections = make_connections(records, groups, number, faults, lenient, rules)
    circuit = Circuit.from_columns(records.source, groups, connections, source=records.source)
    check(circuit, faults)
    faults.finish(strict)
    return circuit


def _members(
    records: Records, models: dict[str, type[NDComponent]], faults: Faults
) -> dict[type[NDComponent], list[int]]:
    """Return the record numbers of each model, models in the order of their first node."""
    members: dict[type[NDComponent], list[int]] = {}
    unknown: list[int] = []
    for row, data in enumerate(records.nodes):
        name = data.get("class")
        if isinstance(name, str) and name in models:
            members.setdefault(models[name], []).append(row)
        else:
            unknown.append(row)
    faults.add_for(unknown, lambda r: _unknown(records.uids[r], records.nodes[r], models))
    return members


def _unknown(uid: str, data: dict[str, Any], models: dict[str, type[NDComponent]]) -> str:
    name = data.get("class")
    if name is None:
        return f"{node_name(uid)} has no attribute 'class'; {forms.hint(data)}"
    say = f"attribute 'class': unknown model {quoted(name)}{near(str(name)[:60], models)}"
    return f"{node_name(uid)}, {say}; `neurodriver models` lists the known ones"


def _names(uids: list[str], faults: Faults) -> list[str]:
    """Return the uids with stand-ins for those that no column of text can hold."""
    bad = {i: say for i, uid in enumerate(uids) if (say := unfit_uid(uid))}
    if not bad:
        return uids
    faults.add_for([*bad], lambda i: f"{node_name(uids[i])}: {bad[i]}")
    return [f"{quoted(uid)} {i}" if i in bad else uid for i, uid in enumerate(uids)]


def _group(
    model: type[NDComponent], rows: list[int], records: Records, names: list[str], faults: Faults
) -> Group:
    data = [records.nodes[r] for r in rows]
    uids = [names[r] for r in rows]
    present: set[str] = set().union(*data)
    params: dict[str, Column] = {}
    for name, parameter in model.params.items():
        # what is missing or wrong is told once: a harmless value keeps it from being told again
        harmless = parameter.harmless
        values = [d.get(name) for d in data]
        missing = [i for i, value in enumerate(values) if value is None]
        if missing and parameter.default is None:
            free = present.difference(model.params)
            lacking = [(uids[i], free.intersection(data[i])) for i in missing]
            faults.add_for(lacking, partial(_missing, model, name))
        for i in missing:
            values[i] = harmless if parameter.default is None else parameter.default
        where = partial(_where, model, uids, name)
        params[name] = column(values, faults, where, harmless, parameter.unit)
    for name in model.initial_names():
        if name in present:
            values = [d.get(name) for d in data]
            where, unit = partial(_where, model, uids, name), model.optional_unit(name)
            params[name] = column(values, faults, where, unit=unit)
    if model.runtime.opaque:
        params.update(_further_numbers(model, data, present))
    optional = [n for n, rule in model.params.items() if rule.default is not None]
    optional += model.initial_names()
    for name in sorted(map(str, present.difference(model.params, model.initial_names()))):
        hint = near(name, optional)
        if hint and name not in (*REVERSAL_NAMES, "class", "label"):
            times = sum(name in d for d in data)
            text = f"{model.__name__} has no attribute {quoted(name)}{hint}; it is not used"
            faults.warn(text, times)
    labels: dict[str, Column] = {}
    if model.is_port:
        for name, most in PORT_LABELS.items():
            labels[name] = np.array([str(d.get(name) or "")[: most + 1] for d in data])
    elif "extern" in present:
        labels["extern"] = np.array([d.get("extern") is True for d in data])
    others = present.difference(params, labels, model.params, model.initial_names(), _NO_COLUMNS)
    columns = _node_columns(data, others, uids, faults)
    known = np.array(uids, dtype=np.str_)
    return Group(model, params, len(rows), known, labels, columns=columns)


_NO_COLUMNS = frozenset({"class", "extern", *PORT_LABELS, *REVERSAL_NAMES})
"""Attributes of nodes that mean something else."""


def _node_columns(
    data: list[dict[str, Any]], names: set[str], uids: list[str], faults: Faults
) -> dict[str, Column]:
    """Return the attributes of nodes that the model does not know, as columns."""
    out: dict[str, Column] = {}
    for name in sorted(names, key=str):
        values = [d.get(name) for d in data]
        if name == "label":  # programs write the id where nobody gave one
            values = [None if v == uid else v for v, uid in zip(values, uids, strict=True)]
        if not name or not storable(str(name)):
            faults.warn(
                f"the name of a node attribute, {quoted(name)}, cannot be stored; it is not kept"
            )
            continue
        column = column_of(values, str(name), faults)
        if column is not None:
            out[plain_name(str(name))] = column
    return out


def _further_numbers(
    model: type[NDComponent], data: list[dict[str, Any]], present: set[str]
) -> dict[str, Column]:
    """Return the other numeric attributes: a class with its own code may read any of them."""
    out: dict[str, Column] = {}
    for name in sorted(
        map(str, present.difference(model.params, model.initial_names(), ("class",)))
    ):
        found = np.fromiter((real(d.get(name)) for d in data), np.float64, len(data))
        if np.isfinite(found).any() and not np.isinf(found).any():
            out[name] = found
    return out


def _missing(model: type[NDComponent], name: str, lacking: tuple[str, set[str]]) -> str:
    uid, others = lacking
    say = f"parameter '{name}' [{model.params[name].unit}] is missing{near(name, others)}"
    return f"{node_name(uid)} ({model.__name__}): {say}"


def _where(model: type[NDComponent], uids: list[str], name: str, row: int) -> str:
    """Return how messages call an attribute of a node."""
    rule = model.params.get(name)
    unit = rule.unit if rule else model.optional_unit(name)
    return f"{node_name(uids[row])} ({model.__name__}), attribute '{name}' [{unit}]"
