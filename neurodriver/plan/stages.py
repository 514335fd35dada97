"""Phases of a circuit -> stages of a step, with a barrier between them.

On a CPU, neighbouring phases between which no connection acts within a step are one stage: nothing
that they read changes meanwhile. On a GPU, each population is in the first stage after those that
it reads in the same step, whatever its phase. So there are fewer stages, each with more work. A
population that reads in the same step, and that none reads, is in the last stage.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from ..circuit.circuit import Circuit
from ..circuit.pointers import pointers
from ..circuit.step_order import same_step_pairs
from ..errors import CircuitError
from .member_sums import MemberSum

NONE: Mapping[int, MemberSum] = MappingProxyType({})


def stages_of(circuit: Circuit, sums: Mapping[int, MemberSum] = NONE) -> tuple[int, ...]:
    """Return the stage of each group; 0 for ports.

    Parameters
    ----------
    sums : mapping of int to MemberSum
        Pools whose members add to them.

    Raises
    ------
    CircuitError
        For a class with a ``run_step`` in a circuit of several stages.

    Examples
    --------
    With phases a, b, c and connections of delay 0 from b to c alone, a and b are stage 0.
    """
    phase = [group.phase for group in circuit.groups]
    if not any(phase):
        return (0,) * len(phase)
    read = {(phase[a], phase[b]) for a, b in _same_step(circuit, sums)}
    stage, first, number = {}, 0, 0
    for one in range(max(phase) + 1):
        if any((before, one) in read for before in range(first, one)):
            first, number = one, number + 1
        stage[one] = number
    if number:
        _check(circuit)
    return tuple(0 if g.is_port else stage[g.phase] for g in circuit.groups)


def earliest_stages(circuit: Circuit, sums: Mapping[int, MemberSum] = NONE) -> tuple[int, ...]:
    """Return the first stage that each group may be in; 0 for ports.

    A group that reads others in the same step, and that none reads, is in the last stage. There
    it is advanced beside its like, and no stage before takes as long as it does. Arguments and
    errors are those of `stages_of`.

    Examples
    --------
    With phases a, b, c, d, where b reads a, and d reads c, within a step: a and c are stage 0, b
    and d are stage 1. By `stages_of`, there are three stages.
    """
    groups = circuit.groups
    stage = [0] * len(groups)
    if not any(group.phase for group in groups):
        return tuple(stage)
    sources: dict[int, list[int]] = {}
    for source, target in _same_step(circuit, sums):
        if groups[source].phase < groups[target].phase:
            sources.setdefault(target, []).append(source)
    for one in sorted(sources, key=lambda number: groups[number].phase):
        stage[one] = 1 + max(stage[source] for source in sources[one])
    read = {source for some in sources.values() for source in some}
    last = max(stage)
    for one in sources.keys() - read:
        stage[one] = last
    if any(stage):
        _check(circuit)
    return tuple(stage)


def _same_step(circuit: Circuit, sums: Mapping[int, MemberSum]) -> Iterator[tuple[int, int]]:
    """Yield pairs of groups: one, and one that may read it in the same step.

    Who reads a pool that its members add to reads what these have written.
    """
    for links in circuit.connections:
        yield from same_step_pairs(circuit, links)
    for pointer in pointers(circuit):
        read = sums.get(pointer.group)
        if read is None:
            yield pointer.group, pointer.reader
        elif read.ahead:
            yield read.members, pointer.reader


def _check(circuit: Circuit) -> None:
    """Raise CircuitError where a class runs when all stages are done."""
    own = [group.name for group in circuit.groups if group.model.runtime.stepwise]
    if own:
        fix = "give its connections from and to other phases a delay, such as one step"
        raise CircuitError(
            f"{circuit.name}: order: {own[0]} has a run_step of its own, which runs when all "
            f"phases are done; {fix}"
        )
