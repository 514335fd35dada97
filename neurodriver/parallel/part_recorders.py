"""Recordings of the parts of a circuit, joined to one recording of the whole."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..circuit.circuit import Circuit, Group
from ..circuit.groups import read_only
from ..circuit.uids import Uids
from ..errors import RequestError
from ..recorders.base import Block, Columns, LateNames, Recorder, RecordingPlan
from .event_merge import ColumnsOfPart, Events, merged
from .part_blocks import PartColumns, PartRecorder

Numbers = NDArray[np.int64]


def _chosen(uids: Uids, mask: NDArray[np.bool_]) -> Uids:
    """Return some uids, as an array where they are one."""
    if not isinstance(uids, np.ndarray):
        return (*compress(uids, mask.tolist()),)
    return read_only(uids[mask])


@dataclass(frozen=True)
class Arrived:
    """What has been recorded since the last time.

    Attributes
    ----------
    blocks : sequence of sequence of Block
        Of each part.
    read : Block or None
        What was read besides, see `WholeRecording.read`.
    step : int
        Steps done.
    """

    blocks: Sequence[Sequence[Block]]
    read: Block | None
    step: int


Put = Callable[[Arrived | Block], None]
"""Takes what has been recorded, maybe put together."""


class WholeRecording:
    """Joins the recordings of the parts, and gives them to the recorder of the whole.

    Parameters
    ----------
    circuit : Circuit
        The whole.
    of : (count,) int64
        Part of each component.
    """

    def __init__(self, recorder: Recorder, circuit: Circuit, of: Numbers) -> None:
        self.recorder, self._circuit, self._of = recorder, circuit, of
        self._plan: RecordingPlan | None = None
        self._asked: dict[str, Numbers] = {}
        self._finding = threading.Lock()
        self._columns: tuple[Columns, ...] = ()
        self._places: list[dict[str, ColumnsOfPart]] = []
        self._joined, self._joining = 0, threading.Lock()  # steps put together
        self.resumes = False  # whether the recording was begun by another process

    def check(self) -> None:
        """Raise RecordingError if the recording begins and cannot be written."""
        if self._plan is None and not self.resumes:
            self.recorder.check()

    def go_on(self, before: WholeRecording) -> None:
        """Go on with a recording of the same recorder."""
        self._plan = before._plan

    @property
    def width(self) -> int:
        """Values of a row of the open recording."""
        return 0 if self._plan is None else sum(one.width for one in self._plan.dense)

    def longest(self, step: int) -> int | None:
        """Return after how many steps a slice has to end; None where it may end at any."""
        return self.recorder.longest(step)

    def read(self, step: int) -> Block | None:
        """Return what the blocks of the parts do not have; all ranks do so."""
        return None

    # -- what a `Writer` asks of a recorder -------------------------------------------------------

    @property
    def per_step(self) -> bool:
        """Whether the recorder is called step by step, in the thread of the run."""
        return self.recorder.per_step

    @property
    def settle(self) -> Callable[[], None]:
        """Wait for what is on its way to the recorder."""
        return self.recorder.settle

    @settle.setter
    def settle(self, wait: Callable[[], None]) -> None:
        self.recorder.settle = wait

    def close(self) -> None:
        """Close the recorder."""
        self.recorder.close()

    def of_part(self, part: int) -> PartRecorder | None:
        """Return the recorder of a part; None if the part has nothing to record."""
        record = list(self._requests(part))
        return PartRecorder(self.recorder, record) if record else None

    def _requests(self, part: int) -> Iterator[tuple[str, Any]]:
        """Yield what a part has to record; part 0 gets what no part has, and reports it."""
        for variable, uids in self.recorder.record:
            if any(variable in group.model.pools for group in self._circuit.groups):
                say = f"record: '{variable}' is a pool; parts of a circuit record variables alone"
                raise RequestError(f"{say}: let a text copy it into a variable")
            if uids is None:
                having = self._parts_with(variable)
                if part in having or (not having and part == 0):
                    yield variable, None
            else:
                mine = self._parts_of(variable, uids) == part
                if mine.any():
                    every = np.array_equal(self._asked[variable][mine], self._shown(variable, part))
                    yield variable, None if every else _chosen(uids, mine)

    def _parts_with(self, variable: str) -> set[int]:
        """Return the parts with components that update a variable and are not hidden."""
        found: set[int] = set()
        for group, first in zip(self._circuit.groups, self._circuit.starts, strict=False):
            if self._shows(group, variable):
                found.update(np.unique(self._of[first : first + group.count]).tolist())
        return found

    def _parts_of(self, variable: str, uids: Uids) -> Numbers:
        """Return the part of each component that is named for a variable; 0 of unknown names."""
        with self._finding:  # parts are made side by side
            if variable not in self._asked:
                self._asked[variable] = self._circuit.find(uids)
        found = self._asked[variable]
        return np.where(found < 0, 0, self._of[found])

    def put_together(self, columns: Sequence[PartColumns]) -> None:
        """Get to know the columns of each part, before the recording begins."""
        self._columns = tuple(self._every(columns))

    def open(self, plan: RecordingPlan, step: int) -> None:
        """Begin the recording, or go on with it.

        Parameters
        ----------
        plan : RecordingPlan
            Without columns.
        step : int
            Steps done.
        """
        self._joined = step
        if self._plan is None and self.resumes:
            self._plan = replace(plan, columns=self._columns, steps=None)
        if self._plan is None:
            begun = replace(plan, columns=self._columns, first_step=step)
            self.recorder.open(begun)
            self._plan = begun
            return
        steps = None if plan.steps is None else step + plan.steps - self._plan.first_step
        self._plan = replace(self._plan, steps=steps, attributes=plan.attributes)
        self.recorder.reopen(self._plan, step)

    def _every(self, columns: Sequence[PartColumns]) -> list[Columns]:
        """Return the columns of the whole; note where those of the parts are among them."""
        self._places, every = [{} for _ in columns], []
        for variable, uids in self.recorder.record:
            some = [(part, one[variable]) for part, one in enumerate(columns) if variable in one]
            if some:
                every.append(self._columns_of(variable, uids, some))
        return every

    def _columns_of(
        self, variable: str, uids: Uids | None, some: list[tuple[int, Columns]]
    ) -> Columns:
        """Return the columns of the whole; note where those of each part are among them."""
        if uids is None:
            keys = [self._recorded_of(variable, part, one) for part, one in some]
        else:
            of = self._parts_of(variable, uids)
            keys = [np.flatnonzero(of == part) for part, _ in some]
            for n, (_, one) in enumerate(some):
                if len(keys[n]) > len(one.uids):  # some were left out
                    keys[n] = keys[n][np.isin(np.asarray(uids)[keys[n]], one.uids)]
        order = np.argsort(np.concatenate(keys), kind="stable")
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        ends = np.cumsum([len(one) for one in keys])
        for (part, _), end, mine in zip(some, ends, keys, strict=True):
            self._places[part][variable] = ColumnsOfPart(place[end - len(mine) : end])
        parts = [one for _, one in some]

        def named() -> NDArray[np.str_]:
            every: NDArray[np.str_] = np.concatenate([np.asarray(one.uids) for one in parts])
            return every[order]

        late = any(isinstance(one.uids, LateNames) for one in parts)
        names = [one.population for one in parts]
        known = [name for name in names if name is not None]
        return replace(
            parts[0],
            uids=LateNames(len(order), named) if late else named(),
            population=np.concatenate(known)[order] if len(known) == len(names) else None,
        )

    def _recorded_of(self, variable: str, part: int, columns: Columns) -> Numbers:
        """Return the components that a part records where all that have a variable are."""
        found = self._shown(variable, part)
        if len(found) == len(columns.uids):
            return found
        return self._circuit.find(columns.uids.tolist())

    def _shown(self, variable: str, part: int) -> Numbers:
        """Return the components of a part that update a variable and are not hidden."""
        shown = np.zeros(self._circuit.count, bool)
        for group, first in zip(self._circuit.groups, self._circuit.starts, strict=False):
            shown[first : first + group.count] = self._shows(group, variable)
        return np.flatnonzero(shown & (self._of == part))

    def _shows(self, group: Group, variable: str) -> bool:
        """Whether a group updates a variable and is not hidden."""
        shown = not group.is_port and (not group.hidden or self.recorder.lenient)
        return shown and variable in group.model.updates

    def follow(self, parts: Sequence[PartRecorder | None], put: Put) -> None:
        """Put blocks together as soon as all parts, which are in this process, have come so far.

        Parameters
        ----------
        put : callable
            Gets what has been recorded; any thread may call it.
        """
        for one in parts:
            if one is not None and not self.recorder.per_step:
                one.arrived = partial(self._follow, parts, put)

    def _follow(self, parts: Sequence[PartRecorder | None], put: Put) -> None:
        with self._joining:
            step = min(one.step for one in parts if one is not None)
            if step > self._joined:
                self._joined = step
                blocks = [one.take(step) if one else [] for one in parts]
                arrived = Arrived(blocks, None, step)
                found: Arrived | Block = arrived
                with contextlib.suppress(Exception):  # then `append` fails, and so the recorder
                    found = self._together(arrived)
                put(found)

    def append(self, arrived: Arrived | Block) -> None:
        """Give the recorder what all parts have recorded up to a step, maybe put together."""
        block = arrived if isinstance(arrived, Block) else self._together(arrived)
        self.recorder.append(block)

    def _together(self, arrived: Arrived) -> Block:
        """Return what all parts have recorded as that of the whole."""
        assert self._plan is not None
        blocks, step = arrived.blocks, arrived.step
        rows: dict[str, NDArray[Any]] = {}
        events: dict[str, Events] = {}
        first = min((one.first_row for part in blocks for one in part[:1]), default=0)
        for columns in self._plan.columns:
            if columns.events:
                events[columns.variable] = self._events(columns, blocks)
            else:
                rows[columns.variable] = self._rows(columns, blocks)
        return Block(first, rows, events, step)

    def _rows(self, columns: Columns, blocks: Sequence[Sequence[Block]]) -> NDArray[Any]:
        name, plan = columns.variable, self._plan
        assert plan is not None
        out: NDArray[Any] | None = None
        for places, part in zip(self._places, blocks, strict=True):
            if name not in places:
                continue
            mine = [block.rows[name] for block in part if name in block.rows]
            size = sum(map(len, mine))
            if out is None:
                out = np.empty((size, columns.width), plan.dtype)
            if size:
                out[:, places[name].column] = np.concatenate(mine)
        return np.empty((0, columns.width), plan.dtype) if out is None else out

    def _events(self, columns: Columns, blocks: Sequence[Sequence[Block]]) -> Events:
        """Return the events of all parts by time, and by column where times are equal."""
        name, plan = columns.variable, self._plan
        assert plan is not None
        parts = [
            ([block.events[name] for block in part], places[name])
            for places, part in zip(self._places, blocks, strict=True)
            if name in places
        ]
        return merged(parts)
