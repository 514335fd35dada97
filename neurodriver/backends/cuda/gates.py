"""``Gates``: a running kernel waits at a gate until rows have been exchanged with other processes.

A gate ends each window of the exchange. The kernel reports how many steps are done; the host
exchanges the rows and reports how many steps may be done. Rows and reports lie in page-locked
memory of the host, so that a window needs neither a launch nor a copy.

Where kernels write into each other's memory (``peers.cuh``), they exchange the rows themselves. The
host only asks now and then whether another process has failed, and then ends the launch.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import NamedTuple

import numpy as np

from ...mpi.waiting import wait_until
from ...system import give_way
from .device import Device, Loaded, held_back, no_wait

Serve = Callable[[int], bool]
"""Exchanges rows after a number of steps; returns whether to go on."""

_REACHED, _OPEN = 0, 16
"""Offsets into the shared words, on cache lines of their own: steps done (written by the device),
steps that may be done (by the host)."""

_LEAVE = -1
_LOOK = 1 << 12
"""Polls of the memory between two checks whether the launch still runs."""


class KernelExchange(NamedTuple):
    """How kernels exchange rows with those of other GPUs, as a kernel reads it.

    Attributes
    ----------
    sent : int
        Rows that they have sent before a run; -1: the host exchanges the rows.
    kept : int
        Rows that receive buffers have room for.
    senders, takers : int
        Addresses of what describes the values that warps send at once, and those that come so.
    sending, taking : int
        How many entries there are.
    copied : bool
        Whether something is exchanged between barriers, at the end of a window.
    """

    sent: int = -1
    kept: int = 1
    senders: int = 0
    takers: int = 0
    sending: int = 0
    taking: int = 0
    copied: bool = True


class Gates:
    """The gates of a kernel, one after each ``window`` steps.

    Parameters
    ----------
    possible : bool
        Whether the text of the kernel contains gates.

    Attributes
    ----------
    window : int
        Steps between gates; 0: there are none.
    first : int
        The step at which the first window begins.
    peers : KernelExchange
        How kernels exchange rows by themselves.
    """

    def __init__(self, device: Device, possible: bool) -> None:
        self._device = device
        self.possible, self.window, self.first = possible, 0, 0
        self.peers = KernelExchange()
        self._words = device.pinned(32, np.int64)
        self._words[:] = 0
        self._serve: Serve = lambda step: True
        self._idle, self._held, self._holding = device.event(), False, ExitStack()

    def set(self, window: int, serve: Serve, first: int) -> bool:
        """Let ``serve`` be asked after each ``window`` steps; return whether it will."""
        if self.possible:
            self.window, self._serve, self.first = window, serve, first
        return self.possible

    @property
    def fields(self) -> tuple[int, ...]:
        """Window, address of the shared words, first step, exchange, as the kernel reads them."""
        return self.window, self._words.ctypes.data, self.first, *self.peers

    def settle(self, code: Loaded, left: bool) -> None:
        """Let later launches pass if one had to end (``left``).

        A kernel that had to leave within the last window has done all steps nevertheless.
        """
        if left or self._leaves():
            with self._device.current():
                self._device.upload(code.address("nd_shut"), np.array([np.iinfo(np.int64).max]))

    def hold(self) -> None:
        """Give no dropped device's memory back, as a launch that waits for others begins."""
        if self.window and not self._held:
            self._held = True
            self._holding.enter_context(held_back(True))
            self._device.before_wait = self._wait

    def let_go(self) -> bool:
        """Do so again, as no launch is left; return whether some had to end before."""
        self._holding.close()
        self._device.before_wait = no_wait
        held, self._held = self._held, False
        return held and self._leaves()

    def _leaves(self) -> bool:
        """Whether launches have to end, as another process has failed."""
        return bool(self._words[_OPEN] == _LEAVE)

    def open(self) -> None:
        """Let the next launch pass."""
        self._words[[_REACHED, _OPEN]] = 0

    def pass_all(self, first: int, end: int, ended: Callable[[], bool]) -> int:
        """Serve the gates of a launch of steps ``first`` to ``end - 1``; return the steps it does.

        Parameters
        ----------
        ended : callable
            Whether the launch has ended, as it does when it fails; raises what it failed with.
        """
        if not self.window:
            return end - first
        if self.peers.sent >= 0:
            return self._watch(first, end, ended)
        begin = first + self.window - (first - self.first) % self.window
        for step in range(begin, end, self.window):
            looks = 0
            while self._words[_REACHED] < step:
                looks += 1
                if looks % _LOOK == 0:
                    if ended() and self._words[_REACHED] < step:
                        return step - first
                    give_way()
            going = False
            try:
                going = self._serve(step)
            finally:
                self._words[_OPEN] = step if going else _LEAVE
            if not going:
                return step - first
        return end - first

    def _watch(self, first: int, end: int, ended: Callable[[], bool]) -> int:
        """Wait for a launch whose kernel exchanges rows itself; return the steps it does."""
        self._ask_until(ended, first)
        if not self._leaves():
            return end - first
        self._ask_until(self._marked(), first)  # later launches end, too
        return min(max(int(self._words[_REACHED]) - first, 0), end - first)

    def _wait(self) -> None:
        """Wait for all launches, and ask meanwhile whether another process has failed."""
        self._ask_until(self._marked(), 0)

    def _marked(self) -> Callable[[], bool]:
        """Return a function that says whether all that was begun is done."""
        with self._device.current():
            self._idle.record(self._device.stream)
        return self._is_idle

    def _is_idle(self) -> bool:
        with self._device.current():
            return bool(self._idle.query())

    def _ask_until(self, ended: Callable[[], bool], step: int) -> None:
        """Ask now and then whether another process has failed, and let launches end then."""

        def ask() -> None:
            if not self._leaves() and not self._serve(step):
                self._words[_OPEN] = _LEAVE

        try:
            wait_until(ended, 0, "the GPU", ask)
        except BaseException:
            self._words[_OPEN] = _LEAVE
            raise
