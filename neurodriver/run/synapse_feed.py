"""What a ``SynapseRecorder`` gets: rows that are read from the memory of a backend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ..backends.base import Backend, Batched
from ..backends.tables import Probe
from ..circuit.circuit import Circuit, Connections
from ..circuit.plastic import learning_connections
from ..plan.program import Program
from ..plan.sorting import times_before
from ..recorders.base import Columns, Recorder
from ..recorders.synapses import SynapseRecorder
from ..state.drift import drifting
from ..state.synapses import ChosenSynapses, Synapses
from .execution import RecorderFeed

Numbers = NDArray[np.int64]


class SynapseFeed(RecorderFeed):
    """Reads chosen synapses where a call ends with a row.

    Parameters are those of `RecorderFeed`.
    """

    waits = True

    def __init__(
        self, program: Program, recorder: SynapseRecorder, scope: str | None, copies: int = 0
    ) -> None:
        super().__init__(program, recorder, scope, copies)
        name = recorder.connections if scope is None else f"{scope}/{recorder.connections}"
        named = (one for one in learning_connections(program.circuit) if one.name == name)
        self._links = next(named)
        rule = self._links.plasticity
        assert rule is not None
        self._rule = rule
        self._which = recorder.chosen(len(self._links))
        self._edges = recorder.edges(self._links)
        self.columns = columns_of(recorder, program.circuit, self._links)
        self.columns = [replace(one, copies=copies) for one in self.columns]
        self._copies, self._chosen = copies, list[ChosenSynapses]()

    def bind(self, backend: Backend) -> None:
        """Read from the memory of a backend, or of its copies, from now on."""
        each = cast(Batched, backend).copies if self._copies else [backend]
        self._chosen = [ChosenSynapses(Synapses(one, self._links), self._which) for one in each]

    def prepare(self, probes: Sequence[Probe], first: int, steps: int) -> None:
        """Do nothing: rows are read where the call ends."""

    def dense(self, first: int, done: int) -> dict[str, NDArray[np.generic]]:
        """Return the row of the step that the call has ended with, or none."""
        interval = self.recorder.sample_interval
        rows = (first + done) // interval - first // interval
        out: dict[str, NDArray[np.generic]] = {}
        for one in self._chosen if rows else ():
            one.backend.live.catch_up(first + done)
        for columns in self.columns:
            row = np.empty((rows, columns.width), self._dtype)
            if rows:
                row[:] = self._row(columns.variable, first + done)
            out[columns.variable] = row
        return out

    def _row(self, name: str, step: int) -> NDArray[np.generic]:
        """Return values of the chosen synapses, or how many of them are in each bin, by copies."""
        rows: list[NDArray[Any]] = [one.read(name) for one in self._chosen]
        if name in drifting(self._rule):
            every = (Synapses(one.backend, self._links) for one in self._chosen)
            rows = [one.at(name, step)[self._which] for one in every]
        return np.concatenate([counted(values, self._edges) for values in rows])


def columns_of(recorder: SynapseRecorder, circuit: Circuit, links: Connections) -> list[Columns]:
    """Return the columns of a recording: of each chosen synapse, or of each bin."""
    edges, rule = recorder.edges(links), links.plasticity
    assert rule is not None
    if edges is None:
        labels, ends = _labels(circuit, links, recorder.chosen(len(links)))
        return [
            Columns(variable, labels, rule.unit_of(variable), False, ends=ends)
            for variable in recorder.variables
        ]
    pairs = zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)
    bins = np.array([f"{low:.6g} to {high:.6g}" for low, high in pairs])
    return [Columns(variable, bins, "", False) for variable in recorder.variables]


def counted(values: NDArray[Any], edges: NDArray[np.float64] | None) -> NDArray[Any]:
    """Return values, or how many of them are in each bin."""
    return values if edges is None else np.histogram(values, edges)[0]


def feed_of(
    program: Program, recorder: Recorder, scope: str | None, copies: int = 0
) -> RecorderFeed:
    """Return what gives a recorder its blocks."""
    kind = SynapseFeed if isinstance(recorder, SynapseRecorder) else RecorderFeed
    return kind(program, recorder, scope, copies)  # type: ignore[arg-type]


def _labels(
    circuit: Circuit, links: Connections, which: Numbers
) -> tuple[NDArray[np.str_], tuple[NDArray[np.str_], NDArray[np.str_]]]:
    """Return a name of each chosen synapse, and the uids of its ends."""
    uids = np.concatenate([group.uids for group in circuit.groups])
    pre, post = uids[links.source[which]], uids[links.target[which]]
    names = np.strings.add(np.strings.add(pre, " -> "), post)
    times = times_before(links.target, links.source)[which]
    more = np.strings.add(np.strings.add(" (", (times + 1).astype("U")), ")")
    return np.strings.add(names, np.where(times > 0, more, "")), (pre, post)
