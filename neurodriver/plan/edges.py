"""The connections of one access, brought together: elements to read, rows back, data."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..circuit.circuit import Connections, Group
from ..circuit.drawn import Drawn
from ..errors import CircuitError, quoted
from .delays import steps_of
from .layout import Layout
from .sorting import stable_order
from .sums.gather import Edges


def edges_of(
    layout: Layout,
    number: int,
    access: str,
    variable: str,
    everything: bool = False,
    only: Connections | None = None,
    without: Iterable[Connections] = (),
) -> Edges:
    """Collect the connections of one access, those of the circuit before those of inputs.

    With the numbers that the access declares, or ``everything`` that the connections carry.
    Connections that learn are left out, and those of ``without``; unless ``only`` some connections
    are asked for.
    """
    circuit = layout.circuit
    start, end = int(circuit.starts[number]), int(circuit.starts[number + 1])
    names = list(
        next(a for a in circuit.groups[number].model.accesses if a.name == access).connection
    )
    parts = []
    fixed = (links for links in circuit.connections if links.plasticity is None)
    left_out = set(without)
    sources = [(links, "") for links in fixed if links not in left_out]
    sources += [(links, "inputs") for links in layout.slots.connections]
    if only is not None:
        sources = [(only, "")]
    if everything:
        carried = [c.data for c, _ in sources if c.access == access and c.variable == variable]
        names = sorted({*names, *(name for data in carried for name in data)})
    for links, owner in sources:
        if links.access != access or links.variable != variable:
            continue
        if isinstance(links, Drawn):
            links.check_stored()
        if not len(links):
            continue
        mine = np.flatnonzero((links.target >= start) & (links.target < end))
        if not len(mine):
            continue
        every = len(mine) == len(links)
        source = links.source if every else links.source[mine]
        target = (links.target if every else links.target[mine]).astype(np.int64) - start
        if not owner:
            element = element_of(layout, source, variable)
        else:
            element = layout.rings[variable].segments[owner].start + source.astype(np.int64)
        back = steps_of(links, layout.dt, None if owner else circuit.phase_of) - 1
        parts.append(
            (
                target,
                element,
                _picked(back, mine),
                _data(layout, links, mine, names, number, access),
            )
        )
    if not parts:
        empty = np.empty(0, dtype=np.int64)
        return Edges(empty, empty, np.zeros((), dtype=np.int64), {})
    return _joined(parts, names, number, layout)


def _picked(column: NDArray[Any], rows: NDArray[np.int64]) -> NDArray[Any]:
    if column.ndim and len(rows) != len(column):
        return column[rows]
    return column


def _data(
    layout: Layout,
    links: Connections,
    rows: NDArray[np.int64],
    names: list[str],
    number: int,
    access: str,
) -> dict[str, NDArray[np.float64]]:
    group: Group = layout.circuit.groups[number]
    rules = group.model.access(access).connection
    out = {}
    for name in names:
        default = rules[name].default if name in rules else float(name == "weight")
        given = links.data.get(name)
        if given is None:
            out[name] = np.asarray(0.0 if default is None else default)
            continue
        column = _picked(np.asarray(given, dtype=np.float64), rows)
        if default is not None and np.isnan(column).any():
            column = np.nan_to_num(column, nan=default)
        out[name] = column
    return out


def element_of(layout: Layout, source: NDArray[np.integer], variable: str) -> NDArray[np.int64]:
    """Return where components stand in the rows of a variable, (len(source),) int64."""
    circuit = layout.circuit
    table = np.full(len(circuit.groups), -1, dtype=np.int64)
    ring = layout.rings[variable]
    for g in range(len(circuit.groups)):
        segment = ring.segments.get(str(g))
        if segment is not None:
            table[g] = segment.start - circuit.starts[g]
    offset = np.repeat(table, [g.count for g in circuit.groups])
    element: NDArray[np.int64] = source + offset[source]
    for g, order in layout.positions.items():
        mine = (source >= circuit.starts[g]) & (source < circuit.starts[g + 1])
        if mine.any():
            base = layout.segment(g, variable).start
            element[mine] = base + order[source[mine] - circuit.starts[g]]
    return element


def _joined(parts: list[tuple[Any, ...]], names: list[str], number: int, layout: Layout) -> Edges:
    """Concatenate the parts and sort them by target, keeping the order within a target."""
    if len(parts) == 1:
        target, element, back, data = parts[0]
    else:
        sizes = [len(p[0]) for p in parts]
        target = np.concatenate([p[0] for p in parts])
        element = np.concatenate([p[1] for p in parts])
        wide = [np.broadcast_to(p[2], (n,)) for p, n in zip(parts, sizes, strict=True)]
        back = np.concatenate(wide)
        data = {
            name: np.concatenate(
                [np.broadcast_to(p[3][name], (n,)) for p, n in zip(parts, sizes, strict=True)]
            )
            for name in names
        }
    order = layout.positions.get(number)
    if order is not None:
        target = order[target]
    if (target[1:] < target[:-1]).any():
        by_target = stable_order(target)
        target, element = target[by_target], element[by_target]
        back = back[by_target] if back.ndim else back
        data = {n: c[by_target] if c.ndim else c for n, c in data.items()}
    return Edges(target, element, back, data)


def elements_of_values(layout: Layout, links: Connections) -> dict[str, int]:
    """Return where the variables stand in their rows that are modulators."""
    rule = links.plasticity
    assert rule is not None
    return {
        f"element {name}": int(elements_of(layout, one.variable, rule.released_by[name], links)[0])
        for name, one in rule.levels().items()
    }


def elements_of(layout: Layout, variable: str, uids: Any, links: Connections) -> NDArray[np.int32]:
    """Return where a variable stands in its rows, of components that a modulator depends on."""
    found = layout.circuit.find(uids)
    if (found < 0).any():
        lost = uids[int(np.flatnonzero(found < 0)[0])]
        say = f"{layout.circuit.name}: connections {quoted(links.name or links.access)}"
        raise CircuitError(
            f"{say}: a modulator is released by {quoted(str(lost))}, which is in another LPU; "
            f"keep what learns and what releases its modulators in one LPU"
        )
    return element_of(layout, found, variable).astype(np.int32)
