"""One circuit -> several, wired through ports.

Wherever a connection leads from one part to another, the source gets an output port in its part,
and that port an input port in the other part, from which the connection goes on. The order of each
component's inputs stays. A crossing takes one step more than the connection did.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import CircuitError, quoted
from ..model.kinds import VariableKind
from ..ports import Pattern
from .circuit import Circuit, Column, Connections, Group, Port
from .drawn import Drawn
from .drawn_share import DrawnShare, PartNumbers, crossing, is_divided
from .plastic import learns, with_largest
from .pointers import numbered_connections, pointers
from .random_keys import own_keys
from .space import Space
from .wiring import into_current

Numbers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Parts:
    """The pieces of a circuit.

    Attributes
    ----------
    circuits : dict of str to Circuit
    crossings : dict of (str, str) to (str, str)
        (source part, target part) -> selectors of output and of input ports, which belong together
        pair by pair.
    """

    circuits: dict[str, Circuit]
    crossings: dict[tuple[str, str], tuple[str, str]]

    def patterns(self) -> dict[tuple[str, str], Pattern]:
        """Return a pattern for each pair of parts between which something flows."""
        out = {}
        for (source, target), (sends, takes) in self.crossings.items():
            out[source, target] = Pattern.from_concat(
                sends, takes, from_sel=sends, to_sel=takes, data=1
            )
        return out


def cut(circuit: Circuit, part: ArrayLike, names: Sequence[str]) -> Parts:
    """Cut a circuit into parts.

    The parts draw the random numbers of the whole: they share its namespace, the empty one where
    it has none. So a Manager that runs two circuits cut alike, such as two eyes, needs a namespace
    for each of them: ``cut(eye.in_random_namespace("left"), part, names)``.

    Parameters
    ----------
    circuit : Circuit
    part : (count,) int
        Part of each component.
    names : sequence of str
        Names of the parts, identifiers.

    Raises
    ------
    CircuitError
        Where a conductance crosses: a synapse belongs to the part of its target, as the driving
        force needs the potential there. Where a text reads cells of another part by their place.
    """
    of = np.asarray(part, dtype=np.int64)
    if of.shape != (circuit.count,) or (of < 0).any() or (of >= len(names)).any():
        want = f"one number from 0 to {len(names) - 1} for each of {circuit.count} components"
        raise CircuitError(f"cut: {want} is needed")
    _check_reads(circuit, of, names)
    bridges = bridges_of(circuit, of, names)
    circuits = {name: _part(circuit, of, n, name, bridges) for n, name in enumerate(names)}
    crossings: dict[tuple[str, str], tuple[str, str]] = {}
    for one in bridges:
        ends = names[one.source], names[one.target]
        ports = [f"{head}[0:{len(one.sources)}]" for head in (one.sends, one.takes)]
        sends, takes = crossings.get(ends, ("", ""))
        crossings[ends] = _listed(sends, ports[0]), _listed(takes, ports[1])
    return Parts(circuits, crossings)


def _listed(selectors: str, another: str) -> str:
    return f"{selectors},{another}" if selectors else another


@dataclass(frozen=True, eq=False)
class Bridge:
    """What flows from one part to another through a port for each source."""

    source: int
    target: int
    variable: str
    sources: Numbers
    """Components of the whole, ascending."""
    sends: str
    takes: str
    """Beginnings of the ports' selectors."""


def bridges_of(circuit: Circuit, of: Numbers, names: Sequence[str]) -> list[Bridge]:
    """Return what flows between the parts, ordered by source, target and variable."""
    found: dict[tuple[int, int, str], list[Numbers]] = {}
    divided = []
    for links in circuit.connections:
        if isinstance(links, Drawn) and is_divided(circuit, links):
            divided.append(links)
            continue
        a, b = of[links.source], of[links.target]
        across = np.flatnonzero(a != b)
        if len(across):
            _check_steps(circuit, links, across)
            _check_values(circuit, links, across)
        if len(across) and carries_current(circuit, links):
            uids = circuit.uids
            at = across[0]
            raise CircuitError(
                f"cut: edge '{uids[links.source[at]]}' -> '{uids[links.target[at]]}' carries a "
                f"conductance from one part to another; put the synapse into the part of its target"
            )
        pairs = a[across] * len(names) + b[across]
        for pair in np.unique(pairs).tolist():
            sources = links.source[across[pairs == pair]].astype(np.int64)
            first, second = divmod(pair, len(names))
            found.setdefault((first, second, links.variable), []).append(sources)
    for variable, sends_to in crossing(divided, of, len(names)).items():
        for sender, second in np.argwhere(_sending_parts(sends_to, of)).tolist():
            sources = np.flatnonzero(sends_to[:, second] & (of == sender))
            found.setdefault((sender, second, variable), []).append(sources)
    out = []
    for (first, second, variable), parts in sorted(found.items()):
        sends = f"/{names[first]}/to_{names[second]}/{variable}"
        takes = f"/{names[second]}/from_{names[first]}/{variable}"
        sends_it = np.zeros(circuit.count, bool)
        sends_it[np.concatenate(parts)] = True
        sources = np.flatnonzero(sends_it)
        out.append(Bridge(first, second, variable, sources, sends, takes))
    return out


def _sending_parts(sends_to: NDArray[np.bool_], of: Numbers) -> NDArray[np.bool_]:
    """Return which parts send to which, from the parts that each component sends to."""
    parts = sends_to.shape[1]
    counts = [np.bincount(of, column, minlength=parts) for column in sends_to.T]
    return np.stack(counts, axis=1) > 0


def _check_steps(circuit: Circuit, links: Connections, across: Numbers) -> None:
    """Raise CircuitError where a connection from one part to another acts within a step."""
    phase = circuit.phase_of
    if phase is None:
        return
    early = phase[links.source[across]] < phase[links.target[across]]
    none = np.broadcast_to(links.delay, (len(links),))[across] == 0
    same = across[early & none & (phase[links.source[across]] >= 0)]
    if len(same):
        uids, at = circuit.uids, same[0]
        raise CircuitError(
            f"cut: edge '{uids[links.source[at]]}' -> '{uids[links.target[at]]}' has no delay and "
            f"leads to a later phase of the same step, from one part to another; a port takes a "
            f"step: keep both in one part, or give the edge a delay"
        )


def _check_values(circuit: Circuit, links: Connections, across: Numbers) -> None:
    """Raise CircuitError where a rule reads what its sources do not send to another part."""
    if names := own_values(links):
        uids, at = circuit.uids, across[0]
        raise CircuitError(
            f"cut: edge '{uids[links.source[at]]}' -> '{uids[links.target[at]]}' leads from one "
            f"part to another, and carries '{links.variable}'; its rule "
            f"{type(links.plasticity).__name__} reads {', '.join(names)} of the source, too: keep "
            f"both in one part"
        )


def own_values(links: Connections) -> list[str]:
    """Return the variables of sources that a rule reads beside the one that is carried."""
    read = [] if links.plasticity is None else links.plasticity.every_value()
    own = (one.variable(links.variable) for one in read if one.side == "pre")
    return [name for name in dict.fromkeys(own) if name != links.variable]


def carries_current(circuit: Circuit, links: Connections) -> bool:
    """Whether a conductance leads to where it becomes a current, or to a port."""
    conducts = circuit.kinds.of(links.variable) is VariableKind.CONDUCTANCE
    return conducts and (not links.access or into_current(circuit, links))


def _part(circuit: Circuit, of: Numbers, part: int, name: str, bridges: list[Bridge]) -> Circuit:
    """Return the circuit of one part: its components in their order, then its ports."""
    groups, number = own_groups(circuit, of, part)
    first = int(number.max(initial=-1)) + 1
    heads: list[Column] = []
    labels: dict[str, list[Column]] = {"selector": heads, "port_type": [], "port_io": []}
    outgoing: list[Connections] = []
    entries: list[tuple[Bridge, int]] = []
    for one in bridges:
        if part not in (one.source, one.target):
            continue
        count, sends = len(one.sources), part == one.source
        head = f"{one.sends if sends else one.takes}/"
        heads.append(np.strings.add(head, np.arange(count).astype("U")))
        kind = "spike" if circuit.kinds.is_event(one.variable) else "gpot"
        labels["port_type"].append(np.full(count, kind))
        labels["port_io"].append(np.full(count, "out" if sends else "in"))
        if sends:
            here, there = number[one.sources], np.arange(first, first + count)
            ends = here.astype(np.int32), there.astype(np.int32)
            outgoing.append(Connections(one.variable, "", *ends))
        else:
            entries.append((one, first))
        first += count
    if heads:
        columns = {key: np.concatenate(parts) for key, parts in labels.items()}
        uids = np.strings.add("port ", columns["selector"])
        groups.append(Group(Port, {}, len(uids), uids, columns))
    numbers = part_numbers(number, entries)
    whole = map(with_largest, circuit.connections)
    links = [into_part(circuit, links, of, part, numbers).expanded() for links in whole]
    kept = tuple(one for one in links if len(one))
    namespace = circuit.random_namespace or ""
    connections = kept + tuple(outgoing)
    more = {"source": circuit.source, "random_namespace": namespace}
    spaces = spaces_of_part(circuit, of, part)
    return Circuit.from_columns(name, groups, connections, spaces=spaces, **more)


def spaces_of_part(circuit: Circuit, of: Numbers, part: int) -> dict[str, Space]:
    """Return where the cells of the populations are of which a part has some."""
    out = {}
    for name, space in circuit.spaces.items():
        mine = of[np.asarray(circuit.populations[name].numbers)] == part
        if mine.any():
            out[name] = space if mine.all() else space.taken(mine)
    return out


def _check_reads(circuit: Circuit, of: Numbers, names: Sequence[str]) -> None:
    """Raise CircuitError where a text in one part reads cells of another part by their place."""
    for one in pointers(circuit):
        reader = circuit.starts[one.reader]
        here, there = of[reader], of[circuit.starts[one.group] + one.first]
        if here != there:
            layer = circuit.groups[one.reader].layer
            assert layer is not None
            say = f"population {quoted(layer.population)}, in part {quoted(names[here])}, reads"
            other = f"{quoted(one.population)}, in part {quoted(names[there])}"
            raise CircuitError(f"cut: {say} cells of {other}; put both into one part")
    for links in numbered_connections(circuit):
        apart = np.flatnonzero(of[links.source] != of[links.target])
        if len(apart):
            a, b = (circuit.uids[ends[apart[0]]] for ends in (links.source, links.target))
            say = f"the text of {quoted(b)} reads the number of {quoted(a)} in its population"
            raise CircuitError(f"cut: {say}; put that population and its targets into one part")


def own_groups(circuit: Circuit, of: Numbers, part: int) -> tuple[list[Group], Numbers]:
    """Return the groups of one part, and the number in it of each component; -1: in another."""
    groups: list[Group] = []
    number = np.full(circuit.count, -1, dtype=np.int64)
    number[of == part] = np.arange((of == part).sum())
    for g, group in enumerate(circuit.groups):
        mine = np.flatnonzero(of[circuit.starts[g] : circuit.starts[g + 1]] == part)
        if len(mine):
            keys = own_keys(circuit, g)[mine] if group.model.draws_random() else None
            names = (access.name for access in group.model.accesses)
            learning = frozenset(name for name in names if learns(circuit, g, name))
            groups.append(replace(group.taken(mine), keys=keys, learning=learning))
    return groups, number


def part_numbers(own: Numbers, entries: Sequence[tuple[Bridge, int]]) -> PartNumbers:
    """Return the numbers in a part; ``entries`` has the first import of each bridge into it."""
    return PartNumbers(own, [(one.variable, one.sources, first) for one, first in entries])


def into_part(
    circuit: Circuit, links: Connections, of: Numbers, part: int, numbers: PartNumbers
) -> Connections:
    """Return the connections into one part, in their order; those from elsewhere from ports."""
    sources, targets = numbers.sources(links.variable), numbers.targets
    if isinstance(links, Drawn) and is_divided(circuit, links):
        return DrawnShare(links, sources, targets)
    mine = links.taken(np.flatnonzero(of[links.target] == part))
    ends = sources.table[mine.source], targets.table[mine.target]
    return replace(mine, source=ends[0], target=ends[1])
