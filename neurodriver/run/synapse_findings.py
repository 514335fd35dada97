"""What synapses that learn count while they run: values that they clamp, or that are no numbers."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..backends.base import Backend
from ..backends.live import StateReads
from ..circuit.plastic import MARGIN, learning_connections
from ..circuit.validate import edge_name
from ..errors import CircuitWarning, LPUExecutionError, NonFiniteError, quoted
from ..model.rule_sums import sums_of
from ..state.synapses import SynapseNames, Synapses

Arrays = Sequence[NDArray[Any]]

Counts = tuple[int, int, int]
"""Values that were too large to be sent, values that were no numbers, and sums too large."""


class SynapseCounts:
    """Reads what the synapses of all copies of a program have counted, at once."""

    def __init__(self) -> None:
        self._first: Backend | None = None
        self._reads: StateReads | None = None
        self._arrive: Callable[[], Arrays] = list
        self._found: Arrays | None = None

    def begin_run(self, backends: Sequence[Backend]) -> None:
        """Begin to read from the memories of the copies."""
        if backends[0] is not self._first:  # a GPU keeps memory for what is read so
            self._first, *others = backends
            links = learning_connections(self._first.program.circuit)
            keys = [key for one in links for key in Synapses(self._first, one).counted()]
            wanted, more = [[(key, slice(None))] for key in keys], [one.live for one in others]
            self._reads = self._first.live.reads(wanted, more) if wanted else None
        self.begin()

    @property
    def some(self) -> bool:
        """Whether there are synapses that count."""
        return self._reads is not None

    def begin(self) -> None:
        """Begin to read what has been counted when all calls that have begun are done."""
        self._arrive, self._found = list if self._reads is None else self._reads.begin(), None

    def of(self, copy: int) -> Arrays:
        """Return what the threads of a copy had counted when `begin` was called."""
        if self._found is None:
            self._found = self._arrive()
        return [one[copy] for one in self._found]


class SynapseFindings:
    """Tells of what the synapses of a program have counted since a run began.

    Parameters
    ----------
    counts : SynapseCounts
        Reads what has been counted, in all copies.
    copy : int
        Which of them this is.
    policy : {"raise", "warn", "off"}
        What happens where a value is not a number.
    said : str
        What messages begin with.

    Attributes
    ----------
    number : int or None
        Component of the circuit that was raised for.
    """

    def __init__(self, counts: SynapseCounts, copy: int, policy: str, said: str = "") -> None:
        self._counted, self._copy, self._policy, self._said = counts, copy, policy, said
        self._backend: Backend | None = None
        self._synapses = list[Synapses]()
        self._before = list[Counts]()
        self._sizes = list[int]()
        self._seen = b""
        self.number: int | None = None

    def begin_run(self, backend: Backend) -> None:
        """Count from here on, in the memory of a backend."""
        if backend is not self._backend:
            self._backend = backend
            links = learning_connections(backend.program.circuit)
            self._synapses = [Synapses(backend, one) for one in links]
            self._sizes = [len(one.counted()) for one in self._synapses]
        self._before = self._counts(self._read())
        self.number = None

    def _read(self) -> Arrays:
        """Return what threads have counted; keep it for the next comparison."""
        arrays = self._counted.of(self._copy)
        self._seen = b"".join(one.tobytes() for one in arrays)
        return arrays

    def _counts(self, arrays: Arrays) -> list[Counts]:
        """Return what has been counted, for each set of connections."""
        left = iter(arrays)
        return [
            synapses.counts([*islice(left, size)])
            for synapses, size in zip(self._synapses, self._sizes, strict=True)
        ]

    def check(self, step: int, raises: bool = True) -> None:
        """Look for values that are not numbers, and for sums too large.

        Raises
        ------
        NonFiniteError
            For a value that was not a number when a synapse sent it.
        LPUExecutionError
            For a sum that is beyond its range.
        """
        seen, arrays = self._seen, self._read()
        if self._seen == seen:
            return
        found: list[tuple[Synapses, LPUExecutionError]] = []
        counts = zip(self._synapses, self._counts(arrays), strict=True)
        for number, (synapses, now) in enumerate(counts):
            before = self._before[number]
            self._before[number] = (before[0], *now[1:])
            if now[1] > before[1] and self._policy != "off":
                message = self._undefined(synapses, now[1] - before[1])
                found.append((synapses, NonFiniteError(message, step=step)))
            if now[2] > before[2]:
                message = self._overflown(synapses)
                found.append((synapses, LPUExecutionError(message, step=step)))
        ends = raises and self._policy == "raise"
        for _, error in found[1:] if ends else found:
            warnings.warn(str(error), CircuitWarning, stacklevel=4)
        if found and ends:  # the others were warned of
            synapses, error = found[0]
            self.number = int(synapses.links.expanded().target[0])
            raise error

    def finish(self) -> None:
        """Warn of values that were clamped since the run began, and of what is not told yet."""
        self.check(0, raises=False)
        counts = zip(self._synapses, self._counts(self._read()), strict=True)
        for number, (synapses, now) in enumerate(counts):
            before = self._before[number]
            if more := now[0] - before[0]:
                warnings.warn(self._said + _clamped(synapses, more), CircuitWarning, stacklevel=2)
            self._before[number] = (now[0], *before[1:])

    def _undefined(self, synapses: Synapses, count: int) -> str:
        """Return what is said of values that were not numbers when they were sent."""
        weight, rule = synapses.read("weight"), type(synapses.rule).__name__
        bad = np.flatnonzero(~np.isfinite(weight))
        where = f"all weights are finite now, so look at the text on_arrival of {rule}"
        if len(bad):
            name = edge_name(*SynapseNames(synapses.circuit, synapses.links)[int(bad[0])])
            where = (
                f"the weight of {name} is {weight[bad[0]]:g} now, and {len(bad):,} weights are "
                f"not finite; look at the texts and numbers of {rule}"
            )
        goes_on = "; nonfinite='warn' goes on" if self._policy == "raise" else ""
        return (
            f"{self._said}{_named(synapses)}: {count:,} values that synapses sent were not a "
            f"number (nan), and nothing of them has arrived; {where}{goes_on}"
        )

    def _overflown(self, synapses: Synapses) -> str:
        """Return what is said of sums that are too large."""
        rule = type(synapses.rule)
        which, value, limit = synapses.largest_sum()
        name = [*rule.every][which >> 8]
        variable, term = sums_of(rule.every[name])[0][which & 255]
        return (
            f"{self._said}{_named(synapses)}: {rule.__name__}.every['{name}']: "
            f"{variable} = sum({term}) reaches {value:g} at a target, and sums of these synapses "
            f"must lie between {-limit:g} and {limit:g}: their unit follows from the largest value "
            f"that is sent; sum less, as in sum(0.001 * {term}), or give the projection a larger "
            f"'largest'"
        )


def _named(synapses: Synapses) -> str:
    return f"{synapses.circuit.name}: connections {quoted(synapses.links.name)}"


def _clamped(synapses: Synapses, count: int) -> str:
    links, circuit = synapses.links, synapses.circuit
    weight = synapses.read("weight")
    largest = int(np.argmax(np.nan_to_num(np.abs(weight))))
    limit = max(getattr(part.plan, "largest", 0.0) for part in synapses.parts)
    why = "which bounds and first weights give"
    if synapses.rule.limits is None:
        why = f"{MARGIN:g} times the largest first weight"
    why = "which 'largest' gives" if "largest" in links.data else why
    name = edge_name(*SynapseNames(circuit, links)[largest])
    return (
        f"{_named(synapses)}: {count:,} values that synapses sent "
        f"were clamped to {limit:g}, {why}; the largest weight is {weight[largest]:g} now, of "
        f"{name}; give the projection a larger 'largest', or the rule bounds"
    )
