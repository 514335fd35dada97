"""Storage order: components that feed one target each are stored in the order of their targets.

Whoever sums them then reads neighbours. Results do not depend on it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..circuit.circuit import Circuit, Port
from ..circuit.projections import Drawn


def by_target(circuit: Circuit, drawn: Sequence[Drawn] = ()) -> dict[int, NDArray[np.int64]]:
    """Return the storage places of groups whose components all feed exactly one target.

    Groups at the ends of connections that are ``drawn`` in place already stay as they are.

    Returns
    -------
    dict of group number to (count,) int64
        Only groups whose order changes.
    """
    starts = np.asarray(circuit.starts, dtype=np.int64)
    feeds: dict[int, list[int]] = {}
    fixed = {
        g
        for links in drawn
        for end in (links.ends.source, links.ends.target)
        for g in range(len(circuit.groups))
        if starts[g] < end.stop and end.start < starts[g + 1]
    }
    for which, links in enumerate(circuit.connections):
        if links in drawn:
            continue
        for g in np.unique(np.searchsorted(starts, links.source, side="right") - 1).tolist():
            feeds.setdefault(g, []).append(which)
    out = {}
    for g, sets in feeds.items():
        group = circuit.groups[g]
        model = group.model
        own_code = (
            g in fixed or model is Port or model.in_old_style() or model.methods or model.sub_units
        )
        if own_code or len(sets) != 1:
            continue
        links = circuit.connections[sets[0]]
        mine = (links.source >= starts[g]) & (links.source < starts[g + 1])
        source, target = links.source[mine].astype(np.int64) - starts[g], links.target[mine]
        if len(source) != group.count or len(np.unique(source)) != group.count:
            continue
        place = np.empty(group.count, np.int64)
        place[source[np.argsort(target, kind="stable")]] = np.arange(group.count)
        if (place[1:] != place[:-1] + 1).any():
            out[g] = place
    return out
