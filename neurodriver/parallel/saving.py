"""``Saving``: the ranks of a job advance, agree now and then, and save at the same steps."""

from __future__ import annotations

import time
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..mpi import Channel, World, wait_until
from ..run.progress import Progress
from ..state.parts import free_set, part_name, remove_others, write_index
from .checkpoints import check_savable, save_share
from .exchange import Left
from .job import Job

MEETING_SECONDS = 0.25
"""About how long ranks advance between two meetings; a run ends so soon after `Manager.stop`."""

_TOLD = np.dtype(
    [
        ("stops", bool),
        ("step_seconds", float),
        ("since_saved", float),  # seconds
        ("names", int),  # set of names of the next parts
        ("share", bool),  # whether the rank has something to save
        ("step", int),
        ("digest", np.uint8, 32),  # of what it has saved
    ]
)


class Saving:
    """Checkpoints of a job while it runs.

    Parameters
    ----------
    job : Job
    path : Path
    every : float
        Real time between two checkpoints in seconds.

    Raises
    ------
    StateError
        On every rank, where what runs on any of them cannot be saved.
    """

    def __init__(self, job: Job, path: Path, every: float) -> None:
        check_savable(job)
        self._job, self._path, self._every = job, path, every
        self._meetings = Meetings(job.world, _TOLD)

    def advance(self, steps: int | None, stopping: Event, progress: Progress | None) -> None:
        """Advance by some steps, or until a rank shall stop, and save at the end, too."""
        saved, left, length, spent = time.monotonic(), steps, 1, 0.0
        pause = min(MEETING_SECONDS, self._every)
        while left is None or left > 0:
            length = length if left is None else min(length, left)
            begin = time.perf_counter()
            if self._job.simulation is not None:
                self._job.simulation.advance(length, progress)
                spent = (time.perf_counter() - begin) / length
            left = None if left is None else left - length
            since = time.monotonic() - saved
            stops = stopping.is_set()
            reports = self._meetings.meet(stops=stops, step_seconds=spent, since_saved=since)
            if reports["stops"].any():
                break
            if reports["since_saved"][0] >= self._every and left != 0:
                self.save()
                saved = time.monotonic()
            slowest = float(reports["step_seconds"].max())
            length = max(1, min(int(pause / slowest) if slowest else 1, 8 * length))
        self.save()

    def save(self) -> None:
        """Save the states of all ranks at their common step."""
        job, path, rank = self._job, self._path, self._job.world.rank
        if job.world.size == 1:
            save_share(job, path)
            remove_others(path)
            return
        names = int(self._meetings.meet(names=0 if rank else free_set(path))["names"][0])
        share = {}
        if job.simulation is not None:
            digest = save_share(job, path.parent / part_name(path, names, rank))
            digest_bytes = np.frombuffer(bytes.fromhex(digest), np.uint8)
            share = {"share": True, "step": job.simulation.step, "digest": digest_bytes}
        reports = self._meetings.meet(**share)
        if rank == 0:
            ranks = np.flatnonzero(reports["share"]).tolist()
            files = [part_name(path, names, one) for one in ranks]
            digests = [reports["digest"][one].tobytes().hex() for one in ranks]
            part_of = {name: ranks.index(one) for name, one in job.ranks.items()}
            write_index(path, int(reports["step"].max()), files, digests, part_of)
            remove_others(path, files)

    def close(self) -> None:
        """Let go of what connects the ranks."""
        self._meetings.close()


class Meetings:
    """A table with a row for each rank; rank 0 collects the rows and sends the table to all.

    A rank that has failed gives the alarm, and those that wait for it leave.

    Parameters
    ----------
    dtype : structured dtype
        What each rank tells.
    """

    def __init__(self, world: World, dtype: DTypeLike) -> None:
        self._world = world
        self._table = np.zeros(world.size, dtype)
        self._own = self._table[world.rank :][:1]
        every = self._table.view(np.uint8)
        if world.rank:
            self._own = self._own.copy()
            own = self._own.view(np.uint8)
            self._ways = [world.channel(0, [own], [every], apart=True)]
        else:
            others = range(1, world.size)
            rows = np.split(every, world.size)
            collect = [world.channel(rank, [], [rows[rank]], apart=True) for rank in others]
            send = [world.channel(rank, [every], [], apart=True) for rank in others]
            self._ways = [Channel.together(collect), Channel.together(send)]

    def meet(self, **numbers: Any) -> NDArray[Any]:
        """Wait for all ranks; return what each has told, fields that it has not named are 0.

        Raises
        ------
        Left
            When another rank has failed.
        """
        self._own[:] = np.zeros(1, self._own.dtype)
        for name, value in numbers.items():
            self._own[name] = value
        for way in self._ways:
            way.start()
            whom = "the other ranks"
            wait_until(way.done, 0.0, whom, self._listen, self._world.crowded)
        return self._table.copy()

    def _listen(self) -> None:
        if self._world.alarm():
            raise Left(self._world.verdict or "another rank has failed")

    def close(self) -> None:
        """Let go of the requests."""
        for way in self._ways:
            way.free()
