"""What has to hold between patterns and modules before anything is sent."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from ...errors import Faults, PortError
from ...ports.identifiers import Identifiers, PortIndex, Rows
from ...ports.interface import Interface, named
from ...ports.pattern import Pattern


def infer_types(pattern: Pattern, modules: Mapping[int, Interface], name: str = "pattern") -> int:
    """Give the connected ports of a pattern the types that the modules' ports have.

    A port without a type takes that of the module's port of the same name, or else that of the
    port at the other end of its connection.

    Parameters
    ----------
    pattern : Pattern
        Is changed.
    modules : mapping of int to Interface
        The ports of the module behind each interface of the pattern; may be incomplete.
    name : str
        What messages call the pattern.

    Returns
    -------
    int
        How many ports got a type.

    Raises
    ------
    PortError
        All faults at once: connected ports that are not in the module, that have another type or
        direction there, whose ends differ, or that are left without a type. The pattern is
        unchanged then.
    """
    interface, links, faults = pattern.interface, pattern.links, Faults(name)
    connected = np.unique(np.concatenate([links.src, links.dst]))
    kinds = {"gpot": 1, "spike": 2}
    given = np.zeros(len(interface), np.int8)
    for kind, code in kinds.items():
        given[interface.labels["type"].equal(kind)] = code
    inferred = given.copy()
    for number, module in modules.items():
        rows = connected[interface.mask(number)[connected]]
        _compare(pattern, module, number, rows, kinds, inferred, faults)
    for _ in range(2):  # a fan-out may first learn its source's type from one of its ends
        for ends, others in ((links.dst, links.src), (links.src, links.dst)):
            open_ = (inferred[ends] == 0) & (inferred[others] != 0)
            inferred[ends[open_]] = inferred[others[open_]]
    differ = np.flatnonzero(
        (inferred[links.src] != inferred[links.dst])
        & (inferred[links.src] != 0)
        & (inferred[links.dst] != 0)
    )
    if len(differ):
        pairs = pattern.named_pairs(links.src[differ], links.dst[differ])
        faults.add(f"gpot and spike ports are connected: {pairs}", len(differ))
    if len(left := connected[inferred[connected] == 0]):
        message = f"ports without a type: {named(interface.ids, left)}"
        how = "set it with pattern.interface[port, 'type'] = 'spike' or 'gpot'"
        faults.add(f"{message}; {how}", len(left))
    if faults.count:
        raise PortError(faults.report())
    for kind, code in kinds.items():
        interface.labels["type"].set(np.flatnonzero((given == 0) & (inferred == code)), kind)
    return int(((given == 0) & (inferred != 0)).sum())


def _compare(
    pattern: Pattern,
    module: Interface,
    number: int,
    rows: Rows,
    kinds: Mapping[str, int],
    inferred: np.ndarray[tuple[int], np.dtype[np.int8]],
    faults: Faults,
) -> None:
    """Take types from a module's ports; note ports that are missing or different there."""
    ids = pattern.interface.ids
    found = module.find.find(ids.take(rows))
    if len(missing := rows[found < 0]):
        message = f"interface {number} has ports that its module has not"
        faults.add(f"{message}: {named(ids, missing)}", len(missing))
    rows, found = rows[found >= 0], found[found >= 0]
    for kind, code in kinds.items():
        there = module.labels["type"].equal(kind)[found]
        wrong = rows[there & (inferred[rows] != 0) & (inferred[rows] != code)]
        if len(wrong):
            message = f"interface {number} has ports that are '{kind}' in its module"
            faults.add(f"{message}, not here: {named(ids, wrong)}", len(wrong))
        inferred[rows[there & (inferred[rows] == 0)]] = code
    for here, there_too in ((1, "in"), (2, "out")):
        turned = module.labels["io"].equal(there_too)[found]
        wrong = rows[turned & (pattern.links.role[rows] == here)]
        if len(wrong):
            side = "source" if here == 1 else "destination"
            message = f"interface {number} has {side}s that are '{there_too}' ports of its module"
            faults.add(f"{message}: {named(ids, wrong)}", len(wrong))


@dataclass(frozen=True)
class Route:
    """A pattern between modules.

    Parameters
    ----------
    pattern : Pattern
    modules : mapping of int to hashable
        The module behind each interface of the pattern.
    """

    pattern: Pattern
    modules: Mapping[int, Hashable]


def find_fan_in(routes: Iterable[Route]) -> dict[Hashable, Identifiers]:
    """Return the ports of each module that several patterns feed.

    Parameters
    ----------
    routes : iterable of Route
        All patterns of a network; a pattern between the same modules counts once.

    Returns
    -------
    dict
        Only modules that have such ports.
    """
    fed: dict[Hashable, list[Identifiers]] = {}
    seen = set()
    for route in routes:
        key = (id(route.pattern), frozenset(route.modules.items()))
        if key in seen:
            continue
        seen.add(key)
        interface, destinations = route.pattern.interface, np.unique(route.pattern.links.dst)
        for number, module in route.modules.items():
            rows = destinations[interface.mask(number)[destinations]]
            fed.setdefault(module, []).append(interface.ids.take(rows))
    out = {}
    for module, parts in fed.items():
        ids = Identifiers.joined(parts)
        if len(again := PortIndex(ids).duplicates):
            several = ids.take(again)
            once = np.setdiff1d(np.arange(len(several)), PortIndex(several).duplicates)
            out[module] = several.take(once)
    return out


def check_fan_in(routes: Iterable[Route]) -> None:
    """Refuse a network in which several patterns feed one port.

    Raises
    ------
    PortError
        Which names the modules and ports.
    """
    found = find_fan_in(routes)
    if found:
        told = [f"{m!r}: {named(ids, np.arange(len(ids)))}" for m, ids in found.items()]
        message = "several patterns feed one port"
        raise PortError(f"Fan-in pattern entries detected: {message}; {'; '.join(told)}")
