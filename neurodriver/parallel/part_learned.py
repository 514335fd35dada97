"""What connections have learned, from the parts of a circuit to the whole and back.

A part numbers its connections as the whole does, without those of other parts. A source has
synapses in several parts, which all know its last arrival. A target is in one part.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..circuit.circuit import Circuit, Connections
from ..circuit.plastic import learning_connections
from ..plan.spikes.learning import NEVER
from ..state.learned import identity, matches
from ..state.snapshot import LearnedState, Snapshot

Numbers = NDArray[np.int64]


def learned_of_whole(
    circuit: Circuit, of: Numbers, found: Sequence[tuple[int, Snapshot]]
) -> Mapping[str, LearnedState]:
    """Return what the connections of the whole have learned.

    Parameters
    ----------
    circuit : Circuit
        The whole.
    of : (count,) int64
        Part of each component.
    found : sequence of (int, Snapshot)
        Number and state of each part.
    """
    out = {}
    for links in learning_connections(circuit):
        some = [(n, s.learned[links.name], s.dt) for n, s in found if links.name in s.learned]
        if some:
            part = of[links.expanded().target]
            which = [np.flatnonzero(part == n) for n, *_ in some]
            out[links.name] = _joined(links, some[0][2], which, [state for _, state, _ in some])
    return out


def learned_of_part(
    circuit: Circuit, of: Numbers, part: int, snapshot: Snapshot
) -> Mapping[str, LearnedState]:
    """Return what the connections into one part have learned; see `learned_of_whole`."""
    out = {}
    for links in learning_connections(circuit):
        which = np.flatnonzero(of[links.expanded().target] == part)
        if links.name in snapshot.learned and len(which):
            out[links.name] = _taken(links, snapshot.dt, which, snapshot.learned[links.name])
    return out


def _joined(
    links: Connections, dt: float, which: Sequence[Numbers], states: Sequence[LearnedState]
) -> LearnedState:
    """Return one state from those of parts, whose connections have the numbers ``which``."""
    first, pairs = states[0], [*zip(which, states, strict=True)]
    own = {name: np.empty(len(links), column.dtype) for name, column in first.synapses.items()}
    for numbers, state in pairs:
        for name, column in state.synapses.items():
            own[name][numbers] = column
    source = np.concatenate([numbers[state.source] for numbers, state in pairs])
    arrival = np.concatenate([state.arrival for state in states])
    _, label = np.unique(identity(links, dt, source), axis=0, return_inverse=True)
    order = np.lexsort((arrival, label.reshape(-1)))  # the newest of each source comes last
    known = label.reshape(-1)[order]
    newest = order[np.append(known[1:] != known[:-1], [True] * min(len(known), 1)).astype(bool)]
    level, dosed = (np.stack([getattr(s, name) for s in states]) for name in ("level", "dosed"))
    latest = (
        dosed.argmax(axis=0) if dosed.size else np.zeros(0, np.int64),
        np.arange(dosed.shape[1]),
    )
    most = max(len(state.spikes) for state in states)
    return LearnedState(
        any(state.learns for state in states),
        sum(state.clamped for state in states),
        own,
        source[newest],
        arrival[newest],
        {name: _side(states, "pre", name)[newest] for name in first.pre},
        np.concatenate([numbers[state.target] for numbers, state in pairs]),
        np.concatenate([_padded(state.spikes, most, NEVER) for state in states], axis=1),
        {
            name: np.concatenate([_padded(state.post[name], most, 0) for state in states], axis=1)
            for name in first.post
        },
        level[latest],
        dosed[latest],
    )


def _side(states: Sequence[LearnedState], side: str, name: str) -> NDArray[Any]:
    return np.concatenate([getattr(state, side)[name] for state in states])


def _padded(rows: NDArray[Any], most: int, value: int) -> NDArray[Any]:
    """Return rows as (most, n), with a value in those that are not there."""
    more = np.full((most - len(rows), rows.shape[1]), value, rows.dtype)
    return np.concatenate([rows, more])


def _taken(links: Connections, dt: float, which: Numbers, state: LearnedState) -> LearnedState:
    """Return the state of some connections, which a part numbers from 0."""
    source = matches(identity(links, dt, which), identity(links, dt, state.source))
    target = links.expanded().target.astype(np.int64)
    ends = matches(target[which][:, None], target[state.target][:, None])
    reads, has = source >= 0, ends >= 0
    return replace(
        state,
        synapses={name: column[which] for name, column in state.synapses.items()},
        source=source[reads],
        arrival=state.arrival[reads],
        pre={name: column[reads] for name, column in state.pre.items()},
        target=ends[has],
        spikes=state.spikes[:, has],
        post={name: rows[:, has] for name, rows in state.post.items()},
    )
