"""Records -> Circuit: groups by model, connections by variable, every fault named."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import Faults, near, quoted
from ..model.component import NDComponent
from ..model.library import models as known_models
from . import forms
from .circuit import Circuit, Column, Group, Port
from .links import REVERSAL_NAMES, make_connections
from .records import Records
from .validate import LONGEST_SELECTOR, LONGEST_UID, check, node_name, storable

PORT_LABELS = {"selector": LONGEST_SELECTOR, "port_type": 60, "port_io": 60}
"""Text attributes of ports, and how much of them is looked at."""


def assemble(
    records: Records,
    models: Any,
    strict: bool,
    lenient: bool = False,
) -> Circuit:
    """Turn records into a checked circuit.

    Parameters
    ----------
    records : Records
        Only its ``faults`` are added to.
    models : anything that `library.models` takes
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
    names = _names(records.uids, faults)
    groups = tuple(_group(model, rows, records, names, faults) for model, rows in members.items())
    number = np.full(len(records.nodes), -1, dtype=np.int64)
    rows = [row for rows in members.values() for row in rows]
    number[rows] = np.arange(len(rows))
    connections = make_connections(records, groups, number, faults, lenient)
    circuit = Circuit(records.source, groups, connections, records.source)
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
    texts = (_unknown(records.uids[r], records.nodes[r], models) for r in unknown)
    faults.add_each(texts, len(unknown))
    return members


def _unknown(uid: str, data: dict[str, Any], models: dict[str, type[NDComponent]]) -> str:
    name = data.get("class")
    if name is None:
        return f"{node_name(uid)} has no attribute 'class'; {forms.hint(data)}"
    say = f"attribute 'class': unknown model {quoted(name)}{near(str(name)[:60], models)}"
    return f"{node_name(uid)}, {say}; `neurodriver models` lists the known ones"


def _names(uids: list[str], faults: Faults) -> list[str]:
    """Return the uids with stand-ins for those that no column of text can hold."""
    bad = {i for i, uid in enumerate(uids) if len(uid) > LONGEST_UID or not storable(uid)}
    if not bad:
        return uids
    texts = (f"{node_name(uids[i])}: {_unfit(uids[i])}" for i in sorted(bad))
    faults.add_each(texts, len(bad))
    return [f"{quoted(uid)} {i}" if i in bad else uid for i, uid in enumerate(uids)]


def _unfit(uid: str) -> str:
    if len(uid) > LONGEST_UID:
        allowed = f"{LONGEST_UID} are allowed; use a shorter one and keep the text in 'label'"
        return f"the uid has {len(uid):,} characters, {allowed}"
    return "the uid holds a character that cannot be stored (NUL, or half of a pair); leave it out"


def _group(
    model: type[NDComponent], rows: list[int], records: Records, names: list[str], faults: Faults
) -> Group:
    data = [records.nodes[r] for r in rows]
    uids = [names[r] for r in rows]
    present: set[str] = set().union(*data)
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
        harmless = min(max(1.0, parameter.at_least, parameter.above + 1), parameter.at_most)
        params[name] = _numbers(values, model, name, uids, faults, harmless)
    for name in model.initial_names():
        if name in present:
            values = [d.get(name) for d in data]
            params[name] = _numbers(values, model, name, uids, faults, np.nan)
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
    return Group(model, params, len(rows), np.array(uids, dtype=np.str_), labels)


def _further_numbers(
    model: type[NDComponent], data: list[dict[str, Any]], present: set[str]
) -> dict[str, Column]:
    """Return the other numeric attributes: a class with its own code may read any of them."""
    out: dict[str, Column] = {}
    for name in sorted(
        map(str, present.difference(model.params, model.initial_names(), ("class",)))
    ):
        column = np.fromiter((_number(d.get(name)) for d in data), np.float64, len(data))
        if np.isfinite(column).any() and not np.isinf(column).any():
            out[name] = column
    return out


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
    if set(map(type, values)) <= {float, int}:
        try:
            out = np.array(values, dtype=np.float64)
            if not np.isnan(out).any():
                return out
        except OverflowError:
            pass
    out = np.fromiter(map(_number, values), np.float64, len(values))
    bad = [i for i in np.flatnonzero(np.isnan(out)).tolist() if values[i] is not None]
    faults.add_each(_wrong(values, bad, model, name, uids), len(bad))
    out[np.isnan(out)] = missing
    return out


def _wrong(
    values: list[Any], bad: list[int], model: type[NDComponent], name: str, uids: list[str]
) -> Iterator[str]:
    rule = model.params.get(name)
    unit = rule.unit if rule else model.optional_unit(name)
    for i in bad:
        got = quoted(values[i]) if isinstance(values[i], str) else f"{values[i]!r:.60}"
        where = f"{node_name(uids[i])} ({model.__name__}), attribute '{name}' [{unit}]"
        yield f"{where}: must be a finite number (got {got})"


def _number(value: Any) -> float:
    """Return a number as float, NaN for anything else."""
    if value is None or isinstance(value, str | bytes | bool | np.bool_):
        return np.nan
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return np.nan
