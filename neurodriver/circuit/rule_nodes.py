"""Nodes of a graph that are rules of plasticity, and edges that feed their modulators.

In a graph a rule is a node whose class is a rule, with its parameters. An edge learns by it whose
attribute ``plasticity`` is the id of that node. An edge from a neuron to the node feeds one of the
modulators, which its ``receptor`` names.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import Faults, ModelError, near, quoted
from ..model.plasticity import Plasticity
from .plastic import INITIAL
from .records import Records
from .validate import edge_name, node_name

Rules = Mapping[str, Plasticity | None]
"""Rules by the ids of their nodes; None where what is wrong with one has been told."""

Rows64 = NDArray[np.int64]

_NEUTRAL = {
    "delay": (0.0, "a dose acts in the step of its spike, without a delay"),
    "weight": (1.0, "all doses have the size that the rule gives"),
}
"""Attribute of an edge to a rule -> the value that says nothing, and why no other one is used."""

_NO_PARAMETERS = frozenset({"class", "label", "id"})


def without_rules(
    records: Records, known: Mapping[str, type[Plasticity]], faults: Faults
) -> tuple[Records, Rules]:
    """Return the records of the components alone, and the rules by the ids of their nodes.

    Parameters
    ----------
    known : mapping of str to Plasticity subclass
        Rules by the names of their classes.
    faults : Faults
        What is wrong with the rules is added.
    """
    nodes = {
        uid: (known[data["class"]], data)
        for uid, data in zip(records.uids, records.nodes, strict=True)
        if isinstance(data.get("class"), str) and data["class"] in known
    }
    if not nodes:
        return records, {}
    left = Records(records.source)
    left.faults = records.faults
    for uid, data in zip(records.uids, records.nodes, strict=True):
        if uid not in nodes:
            left.uids.append(uid)
            left.nodes.append(data)
    released: dict[str, dict[str, list[str]]] = {uid: {} for uid in nodes}
    edges = zip(records.sources, records.targets, records.edges, strict=True)
    components = set(left.uids)
    for source, target, data in edges:
        if source in nodes:
            say = "a rule of plasticity sends nothing; edges name it by 'plasticity'"
            faults.add(f"{edge_name(source, target)}: {say}")
        elif target not in nodes:
            left.sources.append(source)
            left.targets.append(target)
            left.edges.append(data)
        elif text := _unfit_feed(nodes[target][0], source, data, components):
            faults.add(f"{edge_name(source, target)}{text}")
        else:
            released[target].setdefault(str(data["receptor"]), []).append(source)
    rules = {
        uid: _made(uid, rule, data, released[uid], faults) for uid, (rule, data) in nodes.items()
    }
    return left, rules


def _unfit_feed(
    rule: type[Plasticity], source: str, data: Mapping[str, Any], components: set[str]
) -> str:
    """Return what is wrong with an edge to a rule, "" where nothing is."""
    if source not in components:
        return f": there is no node {quoted(source)}"
    known = ", ".join(rule.modulators) or "none"
    name = data.get("receptor")
    if name is None:
        return f": 'receptor' must name a modulator of {rule.__name__}; it has {known}"
    if name not in rule.modulators:
        hint = near(str(name), rule.modulators)
        return f", attribute 'receptor': {rule.__name__} has no modulator {quoted(name)}{hint}" + (
            f"; it has {known}"
        )
    for key, (plain, why) in _NEUTRAL.items():
        if str(data.get(key, plain)).strip() and _number(data.get(key, plain)) != plain:
            return f", attribute '{key}': {why} (got {data[key]!r:.40}); leave it out"
    return ""


def _number(given: object) -> float:
    """Return a number that a file has, as a number or as text; NaN where it is none."""
    try:
        return float(given)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return math.nan


def _made(
    uid: str,
    rule: type[Plasticity],
    data: Mapping[str, Any],
    released: Mapping[str, list[str]],
    faults: Faults,
) -> Plasticity | None:
    """Return the rule of a node; None after noting what is wrong with it."""
    values = {}
    for key, value in data.items():
        if key in rule.params:
            values[key] = value
        elif key not in _NO_PARAMETERS and (hint := near(str(key), rule.params)):
            faults.warn(f"{rule.__name__} has no parameter {quoted(key)}{hint}; it is not used")
    try:
        return rule(**values, **{name: np.array(uids) for name, uids in released.items()})
    except ModelError as error:
        text = str(error).removeprefix(f"{rule.__name__}: ")
        faults.add(f"{node_name(uid)} ({rule.__name__}): {text}")
        return None


def unknown_rules(
    edges: list[dict[str, Any]], rules: Rules, components: Container[str]
) -> Iterator[tuple[int, str]]:
    """Yield the numbers of edges whose rule is not there, and what to say."""
    for row, data in enumerate(edges):
        name = data.get("plasticity")
        if name is None or name == "" or str(name) in rules:
            continue
        if str(name) in components:
            what = f"node {quoted(name)} is no rule of plasticity"
        else:
            what = f"there is no rule {quoted(name)}{near(str(name), rules)}"
        advice = "give the id of a node whose class is a rule"
        yield row, f"attribute 'plasticity': {what}; {advice}"


def by_rule(edges: list[dict[str, Any]], rows: Rows64) -> Iterator[tuple[str, Rows64]]:
    """Yield the rules that some edges name, "" for none, and the edges of each."""
    named = np.array([str(edges[row].get("plasticity") or "") for row in rows.tolist()])
    for name in np.unique(named).tolist():
        yield name, rows[named == name]


def complete(data: Mapping[str, NDArray[Any]], rule: Plasticity) -> dict[str, NDArray[Any]]:
    """Return the numbers of edges that learn: what an edge does not have is that of the others.

    Without ``dendritic`` that is 0, without ``back`` that is ``dendritic``; without a parameter or
    a first value of a variable it is that of the rule.
    """
    out = dict(data)
    if "dendritic" in out:
        out["dendritic"] = np.nan_to_num(out["dendritic"], nan=0.0)
    if "back" in out:
        out["back"] = np.where(np.isnan(out["back"]), out.get("dendritic", 0.0), out["back"])
    if "largest" in out:
        out["largest"] = np.asarray(np.nanmax(out["largest"]))
    for name, value in rule.values.items():
        if name in out:
            out[name] = np.nan_to_num(out[name], nan=value)
    for name, state in rule.synapse.items():
        key, start = f"{INITIAL}{name}", state.initial
        if key in out:
            value = rule.values[start] if isinstance(start, str) else float(start)
            out[key] = np.nan_to_num(out[key], nan=value)
    return out
