"""``PartRows``: rows of sources in other parts, as a part of a circuit holds them.

Row k of an import is row k of its source. At step k, the newest rows are only in the part of the
source, and the oldest ones only in the part that reads them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..circuit.circuit import Circuit
from ..circuit.share import Share
from ..run.simulation import Simulation
from ..state.sent import Placed, Underway
from ..state.snapshot import GroupState, SentRows, Snapshot
from ..state.together import sent_together, together
from .exchange import Exchange

Numbers = NDArray[np.int64]
Rows = NDArray[Any]


class PartRows:
    """Rows of the imports of one part.

    Parameters
    ----------
    simulation : Simulation
        Of the part.
    """

    def __init__(self, whole: Circuit, share: Share, simulation: Simulation) -> None:
        self._whole, self._share, self._simulation = whole, share, simulation
        self.groups = frozenset([share.imports] * (share.imports >= 0))
        self._came: list[Rows] = []

    @property
    def _exchange(self) -> Exchange:
        exchange = self._simulation.exchange
        assert isinstance(exchange, Exchange)
        return exchange

    def underway(self, step: int) -> Underway:
        """Return the rows that imports do not have yet; the other parts do so, too."""
        out = Underway(step)
        self._came = self._exchange.latest(step)
        for i, sources, reads in self._imports():
            for variable, first in reads:
                for back, values in enumerate(self._came[i]):
                    if back <= step:
                        elements = first + np.arange(len(sources))
                        out.add(variable, step - back, elements, values)
        return out

    def kept(self, step: int) -> Mapping[str, SentRows]:
        """Return the rows of the sources in other parts, after `underway` at this step."""
        found: dict[str, list[SentRows]] = defaultdict(list)
        backend, rings = self._simulation.backend, self._simulation.program.layout.rings
        for i, sources, reads in self._imports():
            for variable, first in reads:
                at = slice(first, first + len(sources))
                olds = range(len(self._came[i]), rings[variable].depth)
                rows = [backend.row(variable, step - back)[None, at] for back in olds]
                every = np.concatenate([self._came[i], *rows])
                lpus, counts = np.full(len(sources), ""), np.full(len(sources), len(every))
                found[variable].append(SentRows(lpus, sources, every, counts))
        return {variable: sent_together(some) for variable, some in found.items()}

    def placed(self, snapshot: Snapshot) -> Mapping[str, Sequence[Placed]]:
        """Return the rows of the imports that follow from a state of the whole."""
        out: dict[str, list[Placed]] = defaultdict(list)
        for i, sources, reads in self._imports():
            block = self._exchange.takes.blocks[i]
            rows = _rows_of(self._whole, snapshot, block.variable, sources)
            # the newest come by the exchange, but kernels take no row before step 0 from it
            rows[: min(self._exchange.timing.ahead, snapshot.step + 1)] = 0
            for variable, first in reads:
                elements = first + np.arange(len(sources))
                out[variable].append(Placed(elements, rows, np.full(len(sources), len(rows))))
        return out

    def _imports(self) -> Iterator[tuple[int, Numbers, list[tuple[str, int]]]]:
        """Yield each block that comes in: number, sources in the whole, first elements."""
        reads = self._exchange.takes.reads
        for i, one in enumerate(self._share.incoming):
            yield i, one.sources, reads[i]


def _rows_of(whole: Circuit, snapshot: Snapshot, variable: str, numbers: Numbers) -> Rows:
    """Return the rows of a variable of some components, 0 where a state does not have them."""
    which = np.searchsorted(whole.starts, numbers, side="right") - 1
    pieces = []
    for g in np.unique(which).tolist():
        group = whole.groups[g]
        mine = np.flatnonzero(which == g)
        uids = group.full_uids[numbers[mine] - whole.starts[g]]
        for state in (one for one in snapshot.groups if one.name == group.name):
            rows = state.rows.get(variable)
            if rows is None and variable in state.states:
                rows = np.asarray(state.states[variable])[None, :]
            if rows is not None:
                here, there = _places(uids, state.uids)
                pieces.append((mine[here], np.asarray(rows)[:, there]))
    out = np.zeros((max((len(rows) for _, rows in pieces), default=0), len(numbers)))
    for mine, rows in pieces:
        out[: len(rows), mine] = rows
    return out


def _places(wanted: NDArray[np.str_], known: NDArray[np.str_]) -> tuple[Numbers, Numbers]:
    """Return where the wanted ones that are known are, among both."""
    order = np.argsort(known, kind="stable")
    at = np.minimum(np.searchsorted(known[order], wanted), len(known) - 1)
    there = order[at]
    here = np.flatnonzero(known[there] == wanted)
    return here, there[here]


def whole_of(whole: Circuit, parts: Sequence[Snapshot]) -> Snapshot:
    """Return the state of a circuit from those of its parts."""
    joined = together(parts)
    groups = list(joined.groups)
    for variable, sent in joined.sent.items():
        which = np.searchsorted(whole.starts, sent.ports, side="right") - 1
        for g in np.unique(which).tolist():
            mine = np.flatnonzero(which == g)
            uids = whole.groups[g].full_uids[sent.ports[mine] - whole.starts[g]]
            for n, state in enumerate(groups):
                if state.name == whole.groups[g].name and variable in state.rows:
                    here, there = _places(uids, state.uids)
                    groups[n] = _longer(state, variable, there, sent, mine[here])
    return replace(joined, groups=tuple(groups), sent={})


def _longer(
    state: GroupState, variable: str, there: Numbers, sent: SentRows, column: Numbers
) -> GroupState:
    """Return a state with older rows of some components."""
    before = np.asarray(state.rows[variable])
    out = np.zeros((max(len(before), len(sent.rows)), before.shape[1]), before.dtype)
    out[: len(before)] = before
    for most in np.unique(sent.counts[column]).tolist():
        some = sent.counts[column] == most
        out[:most, there[some]] = sent.rows[:most, column[some]]
    return replace(state, rows={**state.rows, variable: out})


def inserted(circuit: Circuit, numbers: Numbers | None = None) -> dict[tuple[str, str, int], str]:
    """Return the names of hidden components that the compiler has inserted before others.

    Parameters
    ----------
    circuit : Circuit
        With what has been inserted.
    numbers : (n,) int64, optional
        How the whole numbers the first components of the circuit; by default as the circuit does.

    Returns
    -------
    dict of (model, access, component that it leads to) to uid
    """
    found = {}
    known = np.arange(circuit.count) if numbers is None else numbers
    for number, group in enumerate(circuit.groups):
        if not group.hidden or group.is_port:
            continue
        start, end = circuit.starts[number : number + 2].tolist()
        for links in circuit.connections:
            mine = np.flatnonzero(
                (links.source >= start) & (links.source < end) & (links.target < len(known))
            )
            target = known[links.target[mine]]
            uids = group.full_uids[links.source[mine] - start].tolist()
            for one, uid in zip(target.tolist(), uids, strict=True):
                found[group.name, links.access, one] = uid
    return found


def renamed(snapshot: Snapshot, names: Mapping[str, str]) -> Snapshot:
    """Return a state whose hidden components have other names."""
    if not names:
        return snapshot

    def of(state: GroupState) -> GroupState:
        uids = [names.get(uid, f"other {uid}") for uid in state.uids.tolist()]
        mine = any(uid in names for uid in state.uids.tolist())
        return replace(state, uids=np.array(uids, np.str_)) if mine else state

    return replace(snapshot, groups=tuple(of(state) for state in snapshot.groups))
