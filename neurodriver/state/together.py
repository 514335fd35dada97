"""Snapshots of several processes -> one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .snapshot import Arrivals, Column, GroupState, InjectedRows, Ragged, SentRows, Snapshot


def together(parts: Sequence[Snapshot]) -> Snapshot:
    """Return the snapshot of all components of several snapshots, of one step and one job.

    Processes keep different numbers of rows of one variable. Rows that a process has not kept are 0
    for its components: nothing reads them.
    """
    first = parts[0]
    if len(parts) == 1:
        return first
    names = dict.fromkeys(group.name for part in parts for group in part.groups)
    groups = [_group([g for p in parts for g in p.groups if g.name == name]) for name in names]
    variables = dict.fromkeys(name for part in parts for name in part.injected)
    injected = {v: _injected([p.injected[v] for p in parts if v in p.injected]) for v in variables}
    variables = dict.fromkeys(name for part in parts for name in part.sent)
    sent = {v: sent_together([p.sent[v] for p in parts if v in p.sent]) for v in variables}
    learned = {name: state for part in parts for name, state in part.learned.items()}
    return replace(first, groups=tuple(groups), injected=injected, sent=sent, learned=learned)


def _group(pieces: Sequence[GroupState]) -> GroupState:
    """Return components of one model as one group."""
    if len(pieces) == 1:
        return pieces[0]
    rows: dict[str, Column] = {}
    partial = {name for piece in pieces for name in piece.partial}
    for name in dict.fromkeys(name for piece in pieces for name in piece.rows):
        kept = [_rows_of(piece, name) for piece in pieces]
        partial |= {name} if not all(map(len, kept)) else set()
        rows[name] = _padded(kept)
    states = {}
    for name in dict.fromkeys(name for piece in pieces for name in piece.states):
        if all(name in piece.states or name in piece.rows for piece in pieces):
            states[name] = np.concatenate(
                [p.states[name] if name in p.states else p.rows[name][0] for p in pieces]
            )
    sub_units = {
        name: Ragged(
            np.concatenate([piece.sub_units[name].values for piece in pieces]),
            np.concatenate([piece.sub_units[name].counts for piece in pieces]),
        )
        for name in _common(piece.sub_units for piece in pieces)
    }
    arrivals = {
        name: Arrivals(
            _padded([piece.arrivals[name].sums for piece in pieces]),
            np.concatenate([piece.arrivals[name].unit for piece in pieces]),
        )
        for name in _common(piece.arrivals for piece in pieces)
    }
    uids = np.concatenate([piece.uids for piece in pieces])
    several = states, sub_units, rows, arrivals, frozenset(partial)
    return GroupState(pieces[0].name, uids, *several)


def _rows_of(piece: GroupState, name: str) -> NDArray[Any]:
    """Return the rows of a variable, or its state, or no rows where only a kernel had it."""
    if name in piece.rows:
        return piece.rows[name]
    if name in piece.states:
        return piece.states[name][None, :]
    return np.zeros((0, len(piece.uids)))


def _common(named: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the names that all have."""
    first, *others = named
    return [name for name in first if all(name in one for one in others)]


def _padded(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Return columns side by side, with zeros after the last row of each."""
    dtype = np.result_type(*(part.dtype for part in parts if len(part)))
    out = np.zeros((max(map(len, parts)), sum(part.shape[1] for part in parts)), dtype)
    first = 0
    for part in parts:
        out[: len(part), first : first + part.shape[1]] = part
        first += part.shape[1]
    return out


def _injected(parts: Sequence[InjectedRows]) -> InjectedRows:
    return InjectedRows(
        np.concatenate([part.uids for part in parts]), _padded([part.rows for part in parts])
    )


def sent_together(parts: Sequence[SentRows]) -> SentRows:
    """Return the histories of some ports beside those of others."""
    return SentRows(
        np.concatenate([part.lpus for part in parts]),
        np.concatenate([part.ports for part in parts]),
        _padded([part.rows for part in parts]),
        np.concatenate([part.counts for part in parts]),
    )
