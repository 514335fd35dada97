"""``WholeSynapseRecording``: what a ``SynapseRecorder`` gets from a circuit in several parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..circuit.circuit import Circuit, Connections
from ..circuit.plastic import learning_connections
from ..recorders.base import Block, Columns, Recorder, RecordingPlan
from ..recorders.synapses import SynapseRecorder
from ..run.synapse_feed import columns_of, counted
from ..state.synapses import Synapses
from .part_blocks import PartColumns, PartRecorder
from .part_recorders import Arrived, WholeRecording

Numbers = NDArray[np.int64]


class WholeSynapseRecording(WholeRecording):
    """Reads the synapses of all parts where a slice ends with a row.

    Parameters
    ----------
    circuit : Circuit
        The whole.
    of : (count,) int64
        Part of each component.
    synapses : callable
        Returns the synapses of connections of the whole.
    """

    recorder: SynapseRecorder

    def __init__(
        self,
        recorder: SynapseRecorder,
        circuit: Circuit,
        of: Numbers,
        synapses: Callable[[Connections], Synapses],
    ) -> None:
        super().__init__(recorder, circuit, of)
        self._synapses, self._step = synapses, 0
        known = learning_connections(circuit)
        self._links = next(links for links in known if links.name == recorder.connections)
        self._which, self._edges = recorder.chosen(len(self._links)), recorder.edges(self._links)

    def of_part(self, part: int) -> PartRecorder | None:
        """Return no recorder: parts record nothing."""
        return None

    def read(self, step: int) -> Block:
        """Return the row of a step, where it is one of the recording; all ranks do so."""
        row: dict[str, NDArray[Any]] = {}
        if step % self.recorder.sample_interval == 0 and step > self._step:
            synapses = self._synapses(self._links)
            synapses.catch_up(step)
            for name in self.recorder.variables:
                values = synapses.at(name, step)[self._which]
                row[name] = counted(values, self._edges)[np.newaxis]
        first, self._step = self._step // self.recorder.sample_interval, step
        return Block(first, row, {}, step)

    def open(self, plan: RecordingPlan, step: int) -> None:
        self._step = step
        super().open(plan, step)

    def _every(self, columns: Sequence[PartColumns]) -> list[Columns]:
        return columns_of(self.recorder, self._circuit, self._links)

    def _together(self, arrived: Arrived) -> Block:
        """Return the row that was read, if the recording has one."""
        assert self._plan is not None and arrived.read is not None
        rows = {}
        for one in self._plan.columns:
            none = np.empty((0, one.width), self._plan.dtype)
            rows[one.variable] = arrived.read.rows.get(one.variable, none).astype(none.dtype)
        return replace(arrived.read, rows=rows)


def whole_recording(
    recorder: Recorder,
    circuit: Circuit,
    of: Numbers,
    synapses: Callable[[Connections], Synapses],
) -> WholeRecording:
    """Return what gives a recorder the recordings of parts."""
    if isinstance(recorder, SynapseRecorder):
        return WholeSynapseRecording(recorder, circuit, of, synapses)
    return WholeRecording(recorder, circuit, of)
