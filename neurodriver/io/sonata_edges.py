"""Weights and delays of the edges of a SONATA population, and the connections that they become."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..circuit.circuit import Column, Connections
from ..errors import Faults, quoted
from ..model.component import NDComponent
from .sonata_files import SonataPopulation, present
from .sonata_places import OWN_EDGE, ROW, SET

STATIC = ("", "static_synapse", "nest:static_synapse")
"""Templates of edges that have only a weight and a delay."""


MOST_RECEPTORS = 256
"""Numbers that a ``receptor_type`` may have."""

PLAIN = ("wmax", "set_syn_weight", "default_weight_fnc")
"""Functions of BMTK that return the weight as it is stored."""

RECEPTOR, SIGN = "receptor_type", "sign"
"""Parameters of edges that their target's template explains."""

WORDS = {"level_of_detail": ("instanteneous", "instantaneous")}
"""Parameters of edges that are texts, and what these may be."""


def own_access(edges: SonataPopulation) -> tuple[str, str] | None:
    """Return variable and access of edges with neurodriver's own template; None for others."""
    templates, which = edges.texts("model_template")
    if {templates[i] for i in present(which).tolist()} != {OWN_EDGE}:
        return None
    said = []
    for name in ("variable", "access"):
        texts, codes = edges.texts(name)
        found = sorted({texts[i] for i in present(codes).tolist()})
        if len(found) != 1 or not found[0]:
            got = ", ".join(map(quoted, found))
            say = f"'{name}' must be one text for all edges of {OWN_EDGE} (got {got})"
            edges.faults.add(f"{edges.where}: {say}")
        said.append(found[0] if found else "")
    return said[0], said[1]


def edge_numbers(
    edges: SonataPopulation, folder: Path | None, ignore: frozenset[str], own: bool
) -> dict[str, Column]:
    """Return columns of the edges: weight, delay in s, and what neurodriver has added.

    The latter are the row of the edge in its set of connections, and further parameters.
    """
    faults, where = edges.faults, edges.where
    out: dict[str, Column] = {}
    if not own:
        templates, which = edges.texts("model_template")
        for text in dict.fromkeys(templates[i] for i in present(which).tolist()):
            if text not in STATIC and text not in ignore:
                say = f"unknown model_template {quoted(text)}: edges have a weight and a delay"
                faults.add(f"{where}: {say}; or say ignore=[{text!r}]")
        functions = {said.get("weight_function", "wmax") for said in edges.types.values()}
        for name in sorted(functions.difference(PLAIN)):
            faults.warn(f"{where}: weight_function {quoted(name)} is not applied")
    out |= _parameters(edges, folder, ignore, own)
    columns = {name: edges.numbers(name) for name in ("syn_weight", "delay", "nsyns")}
    exact = edges.numbers("delay_in_seconds")
    row = edges.numbers(ROW)
    columns["nsyns"][np.isnan(columns["nsyns"])] = 1.0
    if own and np.isnan(columns["syn_weight"]).all():
        del columns["syn_weight"]
    for name, column in columns.items():
        if not (own and name == "syn_weight"):  # NaN there: not given
            _check(where, name, column, -np.inf if name == "syn_weight" else 0.0, faults)
    if "syn_weight" in columns:
        out["weight"] = columns["syn_weight"] * columns["nsyns"]
    out["delay"] = np.where(np.isnan(exact), columns["delay"] * 1e-3, exact)
    if not np.isnan(row).all():
        _check(where, ROW, row, 0.0, faults)
        out[ROW] = row
    return out


def _parameters(
    edges: SonataPopulation, folder: Path | None, ignore: frozenset[str], own: bool
) -> dict[str, Column]:
    """Return the parameters of edges that have a meaning here."""
    out: dict[str, Column] = {}
    faults = edges.faults
    for key, column in edges.parameters(folder).items():
        fix = f"leave it out with ignore=[{key!r}]"
        texts = column.dtype.kind == "U"
        if key in ignore and not own:
            continue
        if not texts and (own or key in (RECEPTOR, SIGN)):
            out[key] = column
        elif texts:
            said = sorted({*np.unique(column).tolist()} - {"", *WORDS.get(key, ())})
            if said:
                say = f"the parameter {quoted(key)} of a static synapse must not be "
                faults.add(f"{edges.where}: {say}{quoted(said[0])}; {fix}")
        elif not np.isnan(column).all():
            say = f"the parameter {quoted(key)} has no meaning for a static synapse"
            faults.add(f"{edges.where}: {say}; {fix}")
    return out


def receptors_and_signs(
    edges: SonataPopulation, columns: dict[str, Column], signed: Column
) -> Column:
    """Multiply weights by their signs; return the ``receptor_type`` of each edge, 0 for none.

    ``signed`` tells whether the target of each edge takes signs. Both parameters are taken out of
    the columns.
    """
    faults, where = edges.faults, edges.where
    number = columns.pop(RECEPTOR, np.zeros(1))
    number = np.broadcast_to(np.where(np.isnan(number), 0.0, number), edges.count)
    bad = ~((number >= 0) & (number < MOST_RECEPTORS) & (number == np.floor(number)))
    say = f"must be a whole number from 0 to {MOST_RECEPTORS - 1}"
    faults.add_for(
        np.flatnonzero(bad),
        lambda i: f"{where}, edge {i:,}: '{RECEPTOR}' {say} (got {number[i]:g})",
    )
    sign = columns.pop(SIGN, None)
    if sign is not None:
        given = ~np.isnan(sign)
        lost = int((given & ~signed).sum())
        if lost:
            say = f"the parameter '{SIGN}' has no meaning for a static synapse into these targets"
            fix = f"leave it out with ignore=['{SIGN}']"
            faults.add(f"{where}: {say} ({lost:,} edges); {fix}")
        columns["weight"] = columns["weight"] * np.where(given, sign, 1.0)
    return np.where(bad, 0, number).astype(np.int64)


def number_of_set(edges: SonataPopulation) -> str:
    """Return the number of the set of connections, "" in files of other programs."""
    texts, codes = edges.texts(SET)
    found = [texts[i] for i in present(codes).tolist()]
    return found[0] if len(found) == 1 else ""


def numbers_said(model: type[NDComponent], access: str) -> str:
    """Return which parameters connections into an access have; others belong to another set."""
    found = [one for one in model.accesses if one.name == access]
    return repr([sorted(one.connection.items()) for one in found])


def _check(where: str, name: str, column: Column, least: float, faults: Faults) -> None:
    """Report edges whose value is missing or out of range."""

    def say(i: int) -> str:
        fault = "is missing" if np.isnan(column[i]) else f"must not be {column[i]:g}"
        return f"{where}, edge {i:,}: '{name}' {fault}"

    bad = ~(np.isfinite(column) & (column >= least))
    faults.add_for(np.flatnonzero(bad), say)


def joined(key: tuple[str, ...], parts: list[dict[str, Column]]) -> Connections:
    """Return the connections of one access; a value that is the same for all is stored once."""
    begin, counts = 0.0, [len(part["source"]) for part in parts]
    if any(ROW in part for part in parts):
        for part in parts:
            row = part.setdefault(ROW, begin + np.arange(len(part["source"])))
            begin = max(begin, row.max(initial=-1) + 1)
    columns = {}
    for name in dict.fromkeys(name for part in parts for name in part):
        pieces = [part.pop(name, np.full(n, np.nan)) for part, n in zip(parts, counts, strict=True)]
        columns[name] = pieces[0] if len(pieces) == 1 else np.concatenate(pieces)
    if ROW in columns:
        order = np.argsort(columns.pop(ROW), kind="stable")
        columns = {name: column[order] for name, column in columns.items()}
    source, target, delay = (columns.pop(name) for name in ("source", "target", "delay"))
    data = {name: shared(column) for name, column in columns.items()}
    return Connections(key[0], key[1], source, target, shared(delay), data)


def shared(column: Column) -> Column:
    """Return a column as one number if all of its values are equal."""
    same = len(column) and (column == column[0]).all()
    return column[:1].reshape(()) if same else column
