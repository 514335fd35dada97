"""Recordings of what was injected."""

from __future__ import annotations

import copy
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, NeurodriverError
from ..recorders.base import Block, Columns, RecordingPlan
from ..recorders.hdf5 import HDF5Recorder
from .base import Chunk, EventChunk, Input, Target, silenced

_WAIT_BYTES, _WAIT_SECONDS = 1 << 22, 0.5
"""Rows are collected up to these limits before they are written: a step alone is too little."""


class InputRecording:
    """An HDF5 file of the values that an input injects.

    Layout: ``metadata`` with the attributes ``dt``, ``sample_interval`` and ``DateCreated``, and
    for each variable ``<var>/uids`` (bytes) and ``<var>/data`` (rows, n): row j enters at step
    ``j * interval``, zeros where nothing does; ``spike_state`` too is stored as rows. A run that is
    killed leaves a readable file, as `HDF5Recorder` does.

    Parameters
    ----------
    interval : int
        Steps per row.
    attributes : mapping, optional
        Further attributes of ``metadata``.
    overwrite : bool
        Whether a file of an earlier run may be replaced; see `HDF5Recorder`.
    """

    def __init__(
        self,
        filename: str | os.PathLike[str],
        interval: int = 1,
        attributes: Mapping[str, Any] | None = None,
        overwrite: bool = False,
    ) -> None:
        self.attributes: dict[str, Any] = dict(attributes or {})
        self._recorder = HDF5Recorder(filename, [], interval, overwrite)
        self._plan: RecordingPlan | None = None  # once the recording has begun

    def check(self) -> None:
        """Raise RecordingError if a file is there and must not be replaced."""
        if self._plan is None:
            self._recorder.check()

    def begin(
        self,
        targets: Sequence[Target],
        dt: float,
        dtype: np.dtype,
        steps: int | None,
        first_step: int = 0,
    ) -> None:
        """Make the file for a run of ``steps`` steps, or of unknown length; or go on with it."""
        uids: dict[str, list[str]] = {}
        self._places: list[tuple[str, slice]] = []
        for variable, names in targets:
            held = uids.setdefault(variable, [])
            self._places.append((variable, slice(len(held), len(held) + len(names))))
            held += names
        columns = tuple(Columns(v, np.array(u, dtype=np.str_), "", False) for v, u in uids.items())
        interval = self._recorder.sample_interval
        if self._plan is not None and first_step > self._plan.first_step:
            every = None if steps is None else first_step + steps - self._plan.first_step
            self._plan = replace(self._plan, steps=every)
            self._recorder.reopen(self._plan, first_step)
        else:
            run = dt, steps, interval, dtype, columns, self.attributes
            self._plan = RecordingPlan(*run, from_start=True, first_step=first_step)
            self._recorder.open(self._plan)
        self._staged: list[Chunk | EventChunk | None] = [None] * len(targets)
        self._first, self._steps = first_step, 0
        self._waiting: dict[str, list[NDArray[Any]]] = {v: [] for v in uids}
        self._widths, self._dtype = {v: len(u) for v, u in uids.items()}, dtype
        before = self._plan.rows_before(first_step) - self._plan.first_row
        self._bytes, self._rows, self._flushed = 0, before, time.monotonic()

    def stage(self, number: int, chunk: Chunk | EventChunk, first: int, steps: int) -> None:
        """Take what target ``number`` would inject in the coming steps.

        The first step of the next call says how many of them were done.
        """
        if first != self._first or self._staged[number] is not None:
            self._commit(first)
            self._first, self._steps = first, steps
        self._steps = steps
        self._staged[number] = chunk

    def end(self, steps: int) -> None:
        """Write what waits and close the file; the run took ``steps`` steps."""
        try:
            if self._recorder.is_open:
                self._commit(steps)
                self._write(steps)
        finally:
            self._recorder.close()

    def _commit(self, step: int) -> None:
        """Keep the rows of the staged steps before ``step``."""
        done = min(step - self._first, self._steps)
        interval = self._recorder.sample_interval
        picked = slice(-self._first % interval, max(done, 0), interval)
        count = len(range(self._steps)[picked])
        rows = {v: np.zeros((count, n), self._dtype) for v, n in self._widths.items()}
        for (variable, columns), chunk in zip(self._places, self._staged, strict=True):
            if chunk is not None:
                row = chunk.row_of_step[picked]
                rows[variable][row >= 0, columns] = chunk.table[row[row >= 0]]
        for variable, values in rows.items():
            self._waiting[variable].append(values)
            self._bytes += values.nbytes
        self._staged = [None] * len(self._staged)
        if self._bytes >= _WAIT_BYTES or time.monotonic() - self._flushed > _WAIT_SECONDS:
            self._write(step)

    def _write(self, step: int) -> None:
        block = {v: np.concatenate(rows) for v, rows in self._waiting.items() if rows}
        for rows in self._waiting.values():
            rows.clear()
        first = self._recorder.plan.first_row + self._rows
        self._recorder.append(Block(first, block, {}, step))
        self._rows += max((len(b) for b in block.values()), default=0)
        self._bytes, self._flushed = 0, time.monotonic()


class RecordedInput(Input):
    """Injects what another input gives, and records it.

    Parameters
    ----------
    source : Input
        Any input.
    filename : path
        HDF5 file. `InputRecording` says its layout. `FileInput` can inject it again.
    interval : int
        Steps per row: rows are taken at the steps 0, interval, 2 * interval ...
    attributes : mapping, optional
        Further attributes of the file's ``metadata``.
    overwrite : bool
        Whether a file of an earlier run may be replaced when the run begins; see `HDF5Recorder`.

    Examples
    --------
    >>> train = PoissonInput("spike_state", ["s0"], 20.0)  # doctest: +SKIP
    >>> LPU(circuit, 1e-4, RecordedInput(train, "train.h5")).run(duration=1.0)  # doctest: +SKIP
    """

    def __init__(
        self,
        source: Input,
        filename: str | os.PathLike[str],
        interval: int = 1,
        attributes: Mapping[str, str | int | float] | None = None,
        overwrite: bool = False,
    ) -> None:
        if not isinstance(source, Input):
            raise InputError(f"RecordedInput: an Input is needed, got {source!r:.60}")
        self.source = source
        self.targets = source.targets
        try:
            self.recording = InputRecording(filename, interval, attributes, overwrite)
        except NeurodriverError as error:
            raise InputError(f"RecordedInput: interval is wrong: {error}") from None
        if source.per_step:
            self.per_step = True

    def attach(self, lpu: Any) -> None:
        self.source.attach(lpu)

    def check(self) -> None:
        self.recording.check()
        self.source.check()

    def in_random_namespace(self, namespace: str) -> Input:
        source = self.source.in_random_namespace(namespace)
        if source is self.source:
            return self
        other = copy.copy(self)
        other.source = source
        return other

    def random_keys(self) -> NDArray[np.uint64]:
        return self.source.random_keys()

    def open(self, dt: float, dtype: np.dtype) -> None:
        super().open(dt, dtype)
        self.source.open(dt, dtype)

    def begin_run(self, steps: int | None) -> None:
        self.source.first_step = self.first_step
        self.source.begin_run(steps)
        self.recording.begin(self.targets, self.dt, self.dtype, steps, self.first_step)

    def chunk(self, number: int, first: int, steps: int) -> Chunk | EventChunk:
        chunk = self.source.entering(number, first, steps)
        chunk = chunk if self.on else silenced(chunk, steps)
        self.recording.stage(number, chunk, first, steps)
        return chunk

    def row_bytes(self) -> int:
        return self.source.row_bytes()

    def end_run(self, steps: int) -> None:
        try:
            self.recording.end(steps)
        finally:
            self.source.end_run(steps)

    def close(self) -> None:
        self.source.close()
