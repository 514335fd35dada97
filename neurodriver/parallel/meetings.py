"""``Meetings``: all ranks tell each other some numbers at the same step of a run."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..mpi import Channel, World, wait_until
from .exchange import Left


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
