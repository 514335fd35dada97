"""``Member``: one LPU's share of a simulation of one or several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..inputs.base import Input
from ..plan.passes.draft import Recorded
from ..recorders.base import Recorder

Attributes = dict[str, str | int | float]


Scoped = tuple[str | None, Input]
"""Id of an LPU, and an input into it."""


@dataclass
class Member:
    """One LPU's share of a simulation; ``attributes`` are those of its recordings.

    ``own`` are the inputs of each copy of a batch, beside ``inputs``; ``keep`` are models and their
    fields that are not to be computed away.
    """

    scope: str | None = None  # its id in a joined circuit; None where there is one circuit
    inputs: list[Input] = field(default_factory=list)
    recorders: list[Recorder] = field(default_factory=list)
    attributes: Attributes = field(default_factory=dict)
    merge: bool = True
    own: list[list[Input]] = field(default_factory=list)
    keep: Sequence[tuple[str, str]] = ()

    @property
    def every_input(self) -> list[Input]:
        """The inputs of all copies, each once."""
        return list(dict.fromkeys([*self.inputs, *(one for part in self.own for one in part)]))


def inputs_of(members: Sequence[Member]) -> tuple[list[Scoped], list[list[Scoped]]]:
    """Return the inputs that all copies get, and those of each copy of a batch."""
    inputs = [(m.scope, one) for m in members for one in m.inputs]
    return inputs, [[(m.scope, one) for one in part] for m in members for part in m.own]


def merging_of(members: Sequence[Member]) -> Recorded:
    """Return what is recorded, and which LPUs keep their synapses apart."""
    requests = [(m.scope, v, uids) for m in members for r in m.recorders for v, uids in r.record]
    kept = [(m.scope, model) for m in members for model, _ in m.keep]
    return Recorded(requests, [m.scope for m in members if not m.merge], kept)


def read_of(members: Sequence[Member]) -> set[str]:
    """Return the variables that recorders read, or that are to be kept."""
    recorded = {v for m in members for r in m.recorders for v, _ in r.record}
    return recorded | {v for m in members for _, v in m.keep}


def injected(inputs: Sequence[tuple[str | None, Input]]) -> list[tuple[str, Sequence[str]]]:
    """Return what inputs inject where, as a joined circuit names it."""
    return [(v, scoped(scope, uids)) for scope, one in inputs for v, uids in one.targets]


def scoped(scope: str | None, uids: Sequence[str]) -> Sequence[str]:
    """Return uids as a joined circuit names them."""
    return uids if scope is None else [f"{scope}/{uid}" for uid in uids]
