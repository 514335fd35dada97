"""``SynapseRecorder``: numbers of synapses that learn, over time."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..arguments import (
    MANY_STEPS,
    checked_arguments,
    file_path,
    optional,
    text,
    texts,
    truth,
    whole_number,
)
from ..circuit.circuit import Circuit, Connections
from ..circuit.intervals import rounded
from ..circuit.plastic import learning_connections, limits_of, numbers_of_synapses, widest
from ..errors import CircuitWarning, RecordingError, near, quoted
from ..quantities import number_of_seconds
from ..results.recording import Recording
from .base import Block, Recorder, RecordingPlan, RecordingProgress
from .hdf5 import HDF5Recorder
from .memory import MemoryRecorder

Numbers = npt.NDArray[np.int64]


MANY_BINS = 2**20
"""Largest number of bins of a histogram."""


def _any_number(value: object, name: str) -> int:
    return whole_number(value, name, -MANY_STEPS, MANY_STEPS)


class SynapseRecorder(Recorder):
    """Records numbers of synapses that learn, at intervals.

    A row holds all that the synapses saw before its time, and a step more. The run goes on with
    equal bits, whatever is recorded. The recording is a `Recording` like any other: its variables
    are ``weight`` and what else is named, with a column for each synapse, which is called
    ``source -> target``. A further synapse between the same two is ``source -> target (2)``.
    ``recording.ends("weight")`` are the uids of both ends.

    Parameters
    ----------
    filename : path or None
        HDF5 file, which is readable at any moment of the run and after a kill. None: in memory.
    connections : str
        Name of connections that learn.
    variables : sequence of str
        ``weight``, or variables of the synapses.
    synapses : sequence of int, optional
        Numbers of the synapses to record, in the order of the connections. All by default.
    count : int, optional
        Instead: so many synapses, drawn at random, ascending.
    bins : int or array, optional
        Record counts alone: how many of the synapses have values in each bin. The number of bins
        between the bounds of the rule, or their edges. What lies beyond the edges is not counted.
    interval : float
        Time between two rows in seconds, rounded to whole steps; a warning says so.
    seed : int
        Of the random choice.
    overwrite : bool
        Whether a file of an earlier run may be replaced.

    Examples
    --------
    >>> weights = SynapseRecorder("w.h5", "learning", count=100, interval=0.1)  # doctest: +SKIP
    >>> LPU(circuit, 1e-4, recorders=[weights]).run(duration=10.0)  # doctest: +SKIP
    >>> weights.recording.weight[-1]  # doctest: +SKIP
    """

    outlives = True

    @checked_arguments(
        filename=optional(file_path),
        connections=text,
        variables=texts,
        count=optional(_any_number),
        interval=number_of_seconds,
        seed=whole_number,
        overwrite=truth,
    )
    def __init__(
        self,
        filename: str | os.PathLike[str] | None,
        connections: str,
        variables: Sequence[str] = ("weight",),
        synapses: Sequence[int] | npt.NDArray[np.integer] | None = None,
        *,
        count: int | None = None,
        bins: int | npt.ArrayLike | None = None,
        interval: float,
        seed: int = 0,
        overwrite: bool = False,
    ) -> None:
        super().__init__([])
        self.connections = connections
        self.variables = (variables,) if isinstance(variables, str) else tuple(variables)
        self.interval = interval
        self._given, self._count, self._seed, self._bins = synapses, count, seed, bins
        self._check_arguments()
        self.store: HDF5Recorder | MemoryRecorder = (
            MemoryRecorder([])
            if filename is None
            else HDF5Recorder(filename, [], overwrite=overwrite)
        )
        self.outlives = filename is not None

    def _check_arguments(self) -> None:
        who = "SynapseRecorder"
        if not (np.isfinite(self.interval) and self.interval > 0):
            raise RecordingError(f"{who}: interval must be above 0 s (got {self.interval:g})")
        if self._given is not None and self._count is not None:
            raise RecordingError(f"{who}: give 'synapses' or 'count', not both")
        if self._count is not None and self._count < 1:
            raise RecordingError(f"{who}: count must be at least 1 (got {self._count})")
        if not self.variables or len(set(self.variables)) < len(self.variables):
            raise RecordingError(f"{who}: name each variable once (got {self.variables})")

    @property
    def recording(self) -> Recording:
        """What has been recorded so far, as a `Recording`; during the run, too."""
        self.settle()
        return self.store.recording

    def attach(self, lpu: Any) -> None:
        """Get to know the LPU: its step, and the connections that it has."""
        circuit: Circuit = lpu.circuit
        known = {links.name: links for links in learning_connections(circuit)}
        if self.connections not in known:
            there = f"connections that learn: {', '.join(map(quoted, known)) or 'none'}"
            hint = near(self.connections, known)
            said = f"no connections that learn are called {quoted(self.connections)}{hint}"
            raise RecordingError(f"SynapseRecorder: {said}; {there}")
        rule = known[self.connections].plasticity
        assert rule is not None
        names = numbers_of_synapses(known[self.connections])
        for name in self.variables:
            if name not in names:
                say = f"synapses of {type(rule).__name__} have no {quoted(name)}{near(name, names)}"
                raise RecordingError(f"SynapseRecorder: {say}; they have: {', '.join(names)}")
        self.chosen(len(known[self.connections]))
        self.edges(known[self.connections])
        steps = max(round(self.interval / lpu.dt), 1)
        if text := rounded(self.interval, lpu.dt):
            said = f"SynapseRecorder: interval = {self.interval * 1e3:g} ms is {text}"
            warnings.warn(said, CircuitWarning, stacklevel=2)
        self.sample_interval = whole_number(
            steps, "SynapseRecorder: steps of interval", 1, MANY_STEPS
        )
        self.store.sample_interval = self.sample_interval

    def chosen(self, number: int) -> Numbers:
        """Return which of so many synapses are recorded, in their order.

        Raises
        ------
        RecordingError
            Where there are none of these numbers.
        """
        if self._count is not None:
            drawn = np.random.default_rng(self._seed)
            return np.sort(drawn.choice(number, min(self._count, number), replace=False))
        if self._given is None:
            return np.arange(number)
        given = np.asarray(self._given)
        if given.ndim != 1 or not given.size or given.dtype.kind not in "iu":
            want = "'synapses' must be numbers of synapses, at least one"
            raise RecordingError(f"SynapseRecorder: {want} (got {self._given!r:.60})")
        bad = given[(given < 0) | (given >= number)]
        if len(bad):
            say = f"{quoted(self.connections)} has {number:,} synapses, from 0 on"
            raise RecordingError(f"SynapseRecorder: {say} (got {bad[0]})")
        return given.astype(np.int64)

    def edges(self, links: Connections) -> npt.NDArray[np.float64] | None:
        """Return the edges of the bins, (bins + 1,), ascending; None where values are recorded.

        Raises
        ------
        RecordingError
            Where they are no edges, or a number of bins comes without bounds to divide.
        """
        if self._bins is None:
            return None
        if isinstance(self._bins, int | np.integer) and not isinstance(self._bins, bool):
            limits = widest(limits_of(links))
            if limits is None or self.variables != ("weight",):
                say = "a number of 'bins' divides the bounds of the weights; here, give edges"
                raise RecordingError(f"SynapseRecorder: {say} (got {self._bins})")
            if not 1 <= self._bins <= MANY_BINS:
                want = f"'bins' must be at least 1, and at most {MANY_BINS:,}"
                raise RecordingError(f"SynapseRecorder: {want} (got {self._bins})")
            return np.linspace(*limits, int(self._bins) + 1)
        try:
            edges = np.asarray(self._bins, np.float64)
        except (TypeError, ValueError):
            edges = np.zeros(0)
        if edges.ndim != 1 or len(edges) < 2 or not (np.diff(edges) > 0).all():
            want = "'bins' must be a number, or edges that ascend, two at least"
            raise RecordingError(f"SynapseRecorder: {want} (got {self._bins!r:.60})")
        return edges

    def check(self) -> None:
        self.store.check()

    def longest(self, step: int) -> int | None:
        """Return the steps from ``step`` to the next row: a call ends there."""
        return self.sample_interval - step % self.sample_interval

    def _open(self, plan: RecordingPlan) -> None:
        self.store.open(plan)

    def _reopen(self, plan: RecordingPlan, step: int) -> RecordingProgress:
        return self.store.reopen(plan, step)

    def _append(self, block: Block, rows: int) -> None:
        self.store.append(block)

    def _close(self) -> None:
        self.store.close()
