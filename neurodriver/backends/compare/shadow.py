"""``ShadowBackend``: a backend whose every step is computed on the CPU, too, and compared."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...circuit.circuit import Circuit
from ...plan.arrays import Key
from ...plan.program import Program
from ...plan.target import CPU, Target
from ..base import Backend
from ..cpu.backend import CPUBackend
from ..live import Unchangeable
from ..tables import EventTable, InputTable, Probe
from .agreement import RELATIVE, DisagreementError, Verdict, same_bits
from .pairs import (
    Pairs,
    counterparts,
    injected,
    moved,
    name_of,
    ports,
    recorded_events,
    sampled,
    states,
    updated,
)

ROWS = 64
"""Rows of a ring: those of a whole call are there to be compared after it."""

_NO_CHANGE = (
    "NEURODRIVER_VALIDATE compares a run from its first step on: "
    "unset it to change, save or restore a simulation"
)

_BYTES = 256 << 20
"""Bytes of the rows of one variable at most, for calls of many steps."""

Rows = Callable[[int], int]


def deeper(
    circuit: Circuit, targets: Iterable[tuple[str, Any]], depth: Mapping[str, Rows]
) -> dict[str, Rows]:
    """Return the number of rows of rings that keep all rows of a call."""
    rows = max(2, min(ROWS, _BYTES // (8 * max(circuit.count, 1))))
    names = {*(variable for variable, _ in targets), *depth}
    for group in circuit.groups:
        names |= {*group.model.updates, *(access.variable for access in group.model.accesses)}

    def more(name: str) -> Rows:
        given = depth.get(name, int)
        return lambda needed: given(max(needed, rows))

    return {name: more(name) for name in sorted(names)}


def reference_target(target: Target) -> Target:
    """Return what the CPU's program is compiled for, so that its variables lie likewise."""
    powers, fuses = target.powers_of_two, target.fuses
    return replace(CPU, fuses=fuses, keeps_rows=False, powers_of_two=powers, events=False)


def shadowed(tested: Backend, program: Program, description: str) -> ShadowBackend:
    """Return a backend with a shadow.

    Parameters
    ----------
    program : Program
        The same circuit, compiled for ``reference_target``.
    description : str
        The tested backend in words.
    """
    return ShadowBackend(tested, CPUBackend(program), description)


class ShadowBackend:
    """Runs a program on a backend and the same circuit on the CPU; compares all that they know.

    All rows of every variable are compared at each step, states without a row and recordings
    after each call. What is recorded is what the tested backend gives.

    Parameters
    ----------
    reference : CPUBackend
        The same circuit with its initial values, rings of at least as many rows.
    description : str
        The tested backend in words.

    Attributes
    ----------
    steps : int
        Steps compared so far.
    same : bool
        Whether all bits were equal.
    relative : float
        Allowed difference of values, as a share of the largest.
    """

    def __init__(self, tested: Backend, reference: CPUBackend, description: str) -> None:
        self.memory, self.findings = tested.memory, tested.findings
        self.generated, self.threads = tested.generated, tested.threads
        self._tested, self._reference, self._description = tested, reference, description
        self.program, self.instances = tested.program, tested.instances
        self.inputs: Any = []
        self.probes: Any = []
        self.events: Any = []
        self.exports: Any = []
        self.steps, self.same = 0, True
        self.stepwise, self.live = tested.stepwise, Unchangeable(tested.live, _NO_CHANGE)
        self._largest = 0.0, "", -1, 0
        self._open = True
        circuit, dtype = self.program.circuit, self.program.dtype
        self.relative = RELATIVE[dtype.name]
        self._both = both = self.program, reference.program
        self._variables = updated(both, self.relative)
        self._slots = injected(both)
        self._states = states(both, self.relative)
        self._ports = [one for one in ports(both) if not circuit.kinds.is_event(one[0])]
        depth = min((r.depth for p in both for r in p.layout.rings.values()), default=ROWS)
        self._most = max(1, depth - 1)

    # -- the interface of a backend -------------------------------------------------------------

    @property
    def longest(self) -> int:
        """Steps of a call at most."""
        return min(self._tested.longest, self._most)

    def publish(self) -> None:
        """Fill row 0 on both sides."""
        self._tested.publish()
        self._reference.publish()

    def put(self, variable: str, elements: Any, values: NDArray[Any]) -> None:
        """Set elements of every row of a variable on both sides."""
        self._tested.put(variable, elements, values)
        self._reference.put(variable, counterparts(self._both, variable)[elements], values)

    def row(self, variable: str, step: int) -> NDArray[Any]:
        """Return the row of a step on the tested side."""
        return self._tested.row(variable, step)

    def array(self, key: Key) -> NDArray[Any]:
        """Return an array of the program on the tested side."""
        return self._tested.array(key)

    def start(
        self,
        inputs: list[InputTable],
        probes: list[Probe],
        events: list[EventTable],
        exports: Sequence[Probe] = (),
    ) -> None:
        """Get both ready for steps; only the tested one records."""
        for variable in self._variables:
            self._compare(variable, 0)
        self._compare_states(0)
        self._tables = [moved(self._both, table) for table in inputs]
        self._counts = len(inputs), len(probes), len(events)
        self._tested.start(inputs, probes, events, exports)
        self._reference.start(self._tables, [], [])
        self.inputs, self.probes = self._tested.inputs, self._tested.probes
        self.events, self.exports = self._tested.events, self._tested.exports

    def run(self, first: int, steps: int) -> int:
        """Advance both up to ``steps`` steps; compare them unless ``run_step`` has to follow.

        Raises
        ------
        DisagreementError
            At the first variable, component and step that differ by more than the rule allows.
        """
        for place, table in enumerate(self.inputs[: self._counts[0]]):
            mine = self._reference.inputs[place]
            for name in ("table", "row_of_step", "version", "begin", "column", "value"):
                setattr(mine, name, getattr(table, name))
        self._take_ports(first)
        done = self._tested.run(first, min(steps, self.longest))
        self._reference.run(first, done)
        if not self.stepwise:
            self._judge(first, done)
        return done

    def buffer(self, count: int) -> NDArray[Any]:
        """Return zeros for what processes send each other."""
        return self._tested.buffer(count)

    def found(self, number: int) -> tuple[NDArray[np.integer], NDArray[np.int32]]:
        """Return the events of one table in the last call."""
        return self._tested.found(number)

    def run_step(self, step: int) -> None:
        """Let the instances of both write row ``step + 1``, and compare."""
        self._tested.run_step(step)
        self._reference.run_step(step)
        self._judge(step, 1)

    def worked(self) -> list[int]:
        """Return how many component updates the tested side has done."""
        return self._tested.worked()

    def close(self) -> None:
        """Say what was found; give threads and memory back."""
        with contextlib.ExitStack() as stack:
            stack.callback(self._reference.close)
            stack.callback(self._tested.close)
            if self._open and self.steps:
                print(self.report(), file=sys.stderr)
            self._open = False

    # -- comparing ------------------------------------------------------------------------------

    def report(self) -> str:
        """Return in words how well both agreed."""
        what = f"{len(self._variables)} variables and {len(self._states)} states"
        head = f"{self._description} beside the CPU: {self.steps:,} steps of {what}"
        if self.same:
            return f"{head}, all bits equal"
        share, name, number, step = self._largest
        where = f"{name} of {name_of(self.program.circuit, number)} at step {step:,}"
        return f"{head}, within {self._allowed()}; largest: {share:.2g} of that, {where}"

    def _allowed(self) -> str:
        return f"{self.relative:g} of the largest value"

    def _judge(self, first: int, steps: int) -> None:
        """Compare the rows that a call has written, then states and recordings."""
        for step in range(first + 1, first + steps + 1):
            for variable in self._slots:
                self._compare(variable, step - 1, self._slots[variable])
            for variable in self._variables:
                self._compare(variable, step)
            self.steps += 1
        if not self.stepwise:  # otherwise Python writes its rows later
            self._check_recordings(first, steps)
        self._compare_states(first + steps)

    def _compare(self, variable: str, step: int, pairs: Pairs | None = None) -> None:
        pairs = pairs or self._variables[variable]
        mine = self._tested.row(variable, step)[pairs.mine]
        theirs = self._reference.row(variable, step)[pairs.theirs]
        self._weigh(variable, step, pairs, mine, theirs)

    def _compare_states(self, step: int) -> None:
        for state in self._states:
            mine = self._tested.array(state.key)[state.pairs.mine]
            theirs = self._reference.array(state.key)[state.pairs.theirs]
            self._weigh(state.name, step, state.pairs, mine, theirs)

    def _weigh(
        self, name: str, step: int, pairs: Pairs, mine: NDArray[Any], theirs: NDArray[Any]
    ) -> None:
        verdict = pairs.judge.judge(mine, theirs)
        if verdict.same and verdict.share <= 1:
            return
        if verdict.share > 1:
            raise DisagreementError(self._message(name, step, pairs, mine, theirs, verdict))
        self.same &= verdict.same
        if verdict.worst >= 0 and self._largest[0] <= verdict.share:
            self._largest = verdict.share, name, int(pairs.number[verdict.worst]), step

    def _message(
        self,
        name: str,
        step: int,
        pairs: Pairs,
        mine: NDArray[Any],
        theirs: NDArray[Any],
        verdict: Verdict,
    ) -> str:
        at = verdict.worst
        others = int((~same_bits(mine, theirs)).sum())
        which = name_of(self.program.circuit, int(pairs.number[at]))
        bits = "bits were equal before" if self.same else "bits differed before, within the rule"
        return (
            f"{self._description} differs from the CPU: {name} of {which} at step "
            f"{step:,} is {mine[at]}, on the CPU {theirs[at]}; allowed is {self._allowed()}; "
            f"{others:,} of {len(mine):,} values differ there, {bits}"
        )

    def _check_recordings(self, first: int, steps: int) -> None:
        """Hold what was recorded in a call against the rows that it comes from."""
        _, probes, events = self._counts
        kept = chain(
            *(sampled(self.program, p, first, steps) for p in self.probes[:probes]),
            *(
                recorded_events(self.program, e, first, steps, *self._tested.found(number))
                for number, e in enumerate(self.events[:events])
            ),
        )
        for one in kept:
            row = self._tested.row(one.variable, one.step)[one.elements]
            row = (row != 0).astype(row.dtype) if one.events else row
            wrong = np.flatnonzero(~same_bits(one.values, row))
            if len(wrong):
                at = wrong[0]
                raise DisagreementError(
                    f"{self._description}: the recording of {one.variable}, column {at}, holds "
                    f"{one.values[at]} at step {one.step:,}, where the variable is {row[at]}"
                )

    # -- what other processes send --------------------------------------------------------------

    def _take_ports(self, first: int) -> None:
        """Give the reference what other processes put straight into rings."""
        memory = self._reference.memory
        for variable, mine, theirs in self._ports:
            rows = memory.get_buffer(variable)
            for step in range(max(0, first - len(rows) + 1), first + 1):
                rows[step % len(rows), theirs] = self._tested.row(variable, step)[mine]
