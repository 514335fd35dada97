"""Which part of a circuit each component belongs to: parts of equal work, few connections between.

Components that must be in the same part form a cluster:

* a synapse and the target of its conductance;
* the ends of a connection that acts within a step;
* an input port and its targets;
* the cells of a population whose model has axes, fields, sources or pools, and the populations that
  its text reads;
* the components of a class with code of its own;
* the targets of synapses with a modulator, and those that release it;
* both ends of a connection and the population of its source, if a text reads the number of the
  source in its population;
* both ends of a synapse whose rule reads another variable of its source than the one it carries.

If populations have names, the clusters of each population are distributed evenly over all parts.
Then each part has the same mixture of neurons, and rates that differ between populations do not
matter. Clusters of equal work that follow one another stay side by side: a part can tell the rank
of a drawn connection in its row from how many targets are lower. Otherwise pymetis (Karypis & Kumar
1998, doi 10.1137/S1064827595287997) cuts the graph, if it is installed. If it is not, the clusters
of each model are distributed evenly.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import CircuitError
from .circuit import Circuit, Connections
from .cut import carries_current, own_values
from .drawn import Drawn
from .drawn_share import is_divided
from .pointers import numbered_connections, pointers
from .selection import has_populations, population_runs

Numbers = NDArray[np.int64]

CONNECTION_COST = 0.1
"""Work of a connection; that of a component is 1."""


def partition(circuit: Circuit, parts: int) -> Numbers:
    """Return the part of each component, (count,), from 0 to ``parts`` - 1.

    Raises
    ------
    CircuitError
        For fewer than one part, or more parts than clusters.

    Examples
    --------
    >>> partition(circuit, 2)  # doctest: +SKIP
    array([0, 1, 0, 1])
    """
    if isinstance(parts, bool) or not isinstance(parts, int | np.integer) or parts < 1:
        raise CircuitError(f"parts: a whole number from 1 on, got {parts!r}")
    cluster = clusters(circuit)
    count = int(cluster.max(initial=-1)) + 1
    if parts > max(count, 1):
        raise CircuitError(
            f"{circuit.name}: parts: got {parts}, of {circuit.count:,} components; some may "
            f"have to stay together: take at most {count:,}"
        )
    if parts == 1:
        return np.zeros(circuit.count, np.int64)
    work = np.bincount(cluster, work_of(circuit), minlength=count).astype(np.float64)
    if has_populations(circuit) or _random(circuit) or find_spec("pymetis") is None:
        return _dealt(circuit, cluster, work, parts)[cluster]
    return _cut(circuit, cluster, work, parts)[cluster]


def _random(circuit: Circuit) -> bool:
    """Whether most connections are drawn at random: then no cut is better than another one."""
    drawn, others = 0.0, 0
    for links in circuit.connections:
        degree = links.mean_degree if isinstance(links, Drawn) else None
        if degree is None:
            others += len(links)
        elif isinstance(links, Drawn):
            drawn += degree * len(links.ends.target)
    return drawn > others


def given_parts(circuit: Circuit, part: ArrayLike) -> Numbers:
    """Return the parts of components that a user has chosen, after checking them.

    Raises
    ------
    CircuitError
        For another number of components, an empty part, or components in different parts that must
        be in the same one.
    """
    of = np.asarray(part)
    if of.shape != (circuit.count,) or of.dtype.kind not in "iu":
        say = f"one whole number for each of {circuit.count:,} components"
        raise CircuitError(f"{circuit.name}: parts: {say} is needed, got {of.dtype} {of.shape}")
    found = np.unique(of)
    if (found != np.arange(len(found))).any():
        say = "parts are counted from 0 on, and each one needs components"
        raise CircuitError(f"{circuit.name}: parts: {say}; got parts {_listed(found)}")
    cluster, of = clusters(circuit), of.astype(np.int64)
    first = np.unique(cluster, return_index=True)[1]
    apart = np.flatnonzero(of != of[first][cluster])
    if len(apart):
        a, b = circuit.uids[first[cluster[apart[0]]]], circuit.uids[apart[0]]
        raise CircuitError(
            f"{circuit.name}: parts: '{a}' is in part {of[first[cluster[apart[0]]]]} and '{b}' in "
            f"part {of[apart[0]]}, but they belong together ({len(apart):,} components are apart); "
            f"take parts='auto', or put them into one part"
        )
    return of


def _listed(numbers: Numbers) -> str:
    """Return the first and the last of many numbers."""
    some = [str(one) for one in numbers.tolist()]
    return ", ".join(some if len(some) < 10 else [*some[:5], "...", *some[-3:]])


def work_of(circuit: Circuit) -> NDArray[np.float64]:
    """Return the estimated work of each component, its incoming connections included."""
    work = np.ones(circuit.count)
    degrees: dict[range, float] = {}  # many projections have the same targets
    for links in circuit.connections:
        degree = links.mean_degree if isinstance(links, Drawn) else None
        if degree is not None and isinstance(links, Drawn):
            degrees[links.ends.target] = degrees.get(links.ends.target, 0.0) + degree
            continue
        work += CONNECTION_COST * np.bincount(links.target, minlength=circuit.count)
    for targets, degree in degrees.items():
        work[targets.start : targets.stop] += CONNECTION_COST * degree
    return work


def clusters(circuit: Circuit) -> Numbers:
    """Return the cluster of each component, (count,), numbered by their first components."""
    cluster = np.arange(circuit.count)
    pairs = list(_together(circuit))
    if not pairs:
        return cluster
    a, b = (np.concatenate(ends).astype(np.int64) for ends in zip(*pairs, strict=True))
    while True:  # each takes the least number of its neighbours, and then the number of that one
        before = cluster.copy()
        least = np.minimum(cluster[a], cluster[b])
        np.minimum.at(cluster, a, least)
        np.minimum.at(cluster, b, least)
        cluster = cluster[cluster]
        if (cluster == before).all():
            return np.unique(cluster, return_inverse=True)[1].astype(np.int64)


def _together(circuit: Circuit) -> Iterator[tuple[Numbers, Numbers]]:
    """Yield pairs of components that must be in the same part."""
    phase = circuit.phase_of
    is_port = np.repeat([g.is_port for g in circuit.groups], [g.count for g in circuit.groups])
    for links in circuit.connections:
        if isinstance(links, Drawn) and is_divided(circuit, links):
            continue
        fed = is_port[links.source]
        if fed.any():
            yield links.source[fed].astype(np.int64), links.target[fed].astype(np.int64)
        if carries_current(circuit, links) or own_values(links):
            yield links.source.astype(np.int64), links.target.astype(np.int64)
        elif phase is not None:
            early = (phase[links.source] >= 0) & (phase[links.source] < phase[links.target])
            same = early & (np.broadcast_to(links.delay, (len(links),)) == 0)
            yield links.source[same].astype(np.int64), links.target[same].astype(np.int64)
        yield from _modulated(circuit, links)
    for number, group in enumerate(circuit.groups):
        if group.layer is not None or group.model.runtime.instance:
            yield _one(np.arange(circuit.starts[number], circuit.starts[number + 1]))
    for links in numbered_connections(circuit):
        ends = np.unique(np.concatenate([links.source, links.target]))
        yield _one(ends)
        for members in circuit.populations.values():
            numbers = np.asarray(members.numbers)
            if np.isin(numbers, links.source).any():
                yield _one(np.append(numbers, ends[0]))
    for one in pointers(circuit):
        first = int(circuit.starts[one.group])
        both = first, int(circuit.starts[one.reader])
        yield _one(np.arange(first, int(circuit.starts[one.group + 1])))
        yield np.array(both[:1]), np.array(both[1:])


def _modulated(circuit: Circuit, links: Connections) -> Iterator[tuple[Numbers, Numbers]]:
    """Yield the targets of connections whose modulator some components release, and these."""
    rule = links.plasticity
    if rule is None or not rule.released_by or not len(links):
        return
    for uids in rule.released_by.values():
        ends = circuit.find(list(uids))
        yield _one(np.concatenate([ends[ends >= 0], np.unique(links.target)]))


def _one(members: Numbers) -> tuple[Numbers, Numbers]:
    """Return the pairs that make one cluster of some components."""
    return members[:1].repeat(max(len(members) - 1, 0)), members[1:]


def _dealt(circuit: Circuit, cluster: Numbers, work: NDArray[np.float64], parts: int) -> Numbers:
    """Return the part of each cluster; those of a population are distributed by their work."""
    most = np.maximum.accumulate(cluster)
    first = np.flatnonzero(np.diff(most, prepend=-1) > 0)  # clusters are numbered by these
    names, counts = population_runs(circuit)
    run = np.repeat(np.arange(len(names)), counts)
    run = run if len(first) == len(run) else run[first]
    begin = np.flatnonzero(np.diff(run, prepend=-1))
    _, index, number = np.unique(names[run[begin]], return_index=True, return_inverse=True)
    number = np.argsort(np.argsort(index))[number]  # by their first components
    population = np.repeat(number, np.diff(np.append(begin, len(run))))
    sizes, step = np.bincount(population), np.diff(population)
    if ((step > 0) | (step == 0) & (np.diff(work) <= 0)).all():
        order = np.arange(len(work))
    else:
        order = np.lexsort((-work, population))  # stable
    number = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    turn, place = np.divmod(number, parts)
    whole = turn < np.repeat(sizes // parts, sizes)
    back = whole & (turn % 2 == 1)  # parts 0, 1, ..., then back: ..., 1, 0
    begin = np.cumsum(sizes) - sizes  # a population goes on where the one before ended
    given = (np.where(back, parts - 1 - place, place) + np.repeat(begin, sizes)) % parts
    shares = np.bincount(population[order] * parts + given, minlength=parts * len(sizes))
    blocks = np.repeat(np.tile(np.arange(parts), len(sizes)), shares)
    ends = begin, begin + sizes - 1
    alike = np.equal(*(work[order[end]] for end in ends))  # most work first, least last
    part = np.empty(len(order), np.int64)
    part[order] = np.where(np.repeat(alike, sizes), blocks, given)
    return part


def _cut(circuit: Circuit, cluster: Numbers, work: NDArray[np.float64], parts: int) -> Numbers:
    """Return the part of each cluster that pymetis chooses."""
    import pymetis

    count = len(work)
    ends = [(cluster[links.source], cluster[links.target]) for links in circuit.connections]
    a = np.concatenate([np.minimum(*pair) for pair in ends] or [np.empty(0, np.int64)])
    b = np.concatenate([np.maximum(*pair) for pair in ends] or [np.empty(0, np.int64)])
    edge, weight = np.unique((a * count + b)[a != b], return_counts=True)
    a, b = edge // count, edge % count
    source, target = np.concatenate([a, b]), np.concatenate([b, a])
    order = np.argsort(source, kind="stable")
    begin = np.concatenate([[0], np.cumsum(np.bincount(source, minlength=count))])
    found = pymetis.part_graph(
        parts,
        pymetis.CSRAdjacency(begin.tolist(), target[order].tolist()),
        vweights=np.ceil(10 * work).astype(int).tolist(),
        eweights=np.concatenate([weight, weight])[order].tolist(),
    )
    part = np.asarray(found[1], np.int64)
    empty = np.setdiff1d(np.arange(parts), part)
    return part if not len(empty) else _dealt(circuit, cluster, work, parts)
