"""Ranks tell each other that they are alive, and end the job where one of them gets no further.

A thread of each rank sends a message to rank 0 every half second, and rank 0 sends one to each. It
runs while compiled code computes, so a rank that computes long is alive. The job ends where

* a rank sends no message for the time of the limit, and, on the same host, uses no processor: it
  is stopped, or its host is gone,
* code of the user that a run calls takes longer than the limit, or so does a call into compiled
  code, or
* all ranks wait for each other for so long.

A rank that is in the middle of its script, or of work of this package that may take long (to read,
draw, compile, write), may take its time: then there is only a note.
"""

from __future__ import annotations

import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..system import processor_seconds, state_of
from .tasks import SCRIPT, TASKS, WAITING, Seen

PAUSE = 0.5
"""Seconds between two heartbeats."""

CLOSE_SECONDS = 4.0
"""What ranks get to close their files before the job is ended."""

LONGER = 10
"""Times the limit that a silent rank may compute."""

ADVICE = "NEURODRIVER_TIMEOUT sets this time"

NOTHING = Seen()

_BEAT, _VERDICT, _LEFT = 1, 2, 3  # tags
_MESSAGE = np.dtype([("state", np.int64), ("seconds", np.float64), ("place", "S400")])


@dataclass
class _Peer:
    """What is known of another rank; times are of ``time.monotonic``."""

    process: tuple[str, int]  # host and number
    heard: float
    seen: Seen = NOTHING
    left: bool = False
    processor: float | None = None  # seconds that it had computed when it fell silent


class Heartbeats:
    """The thread of one rank.

    Parameters
    ----------
    comm : mpi4py communicator
        Its own.
    MPI : module
    processes : sequence of (str, int)
        Host and number of the process of each rank.
    limit : float
        Seconds without progress; 0 for ever.
    end : callable
        Ends all ranks at once.

    Attributes
    ----------
    verdict : str
        Why the job ends; empty as long as it goes on.
    """

    def __init__(
        self,
        comm: Any,
        MPI: Any,
        processes: Sequence[tuple[str, int]],
        limit: float,
        end: Callable[[], None],
    ) -> None:
        self.limit, self.verdict = limit, ""
        self._comm, self._mpi, self._end = comm, MPI, end
        self._rank = comm.rank
        others = [rank for rank in range(comm.size) if rank != self._rank]
        now = time.monotonic()
        self._all = {rank: _Peer(processes[rank], now) for rank in others}
        self._sent: list[tuple[Any, Any]] = []
        self._noted, self._until = 30.0, 0.0
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="neurodriver-heart", daemon=True)
        self._thread.start()

    # -- what the main thread calls --------------------------------------------------------------

    def close(self) -> None:
        """Tell the others that this rank has ended well, and end the thread."""
        self._closing.set()
        if self._thread is not threading.current_thread():
            self._thread.join()
        if not self.verdict:
            self._send(_LEFT, self._peers(), np.zeros(1, _MESSAGE))

    def wait_for_end(self) -> None:
        """Give the others the time to close their files, after a verdict."""
        time.sleep(max(0.0, self._until - time.monotonic()))

    # -- the thread ------------------------------------------------------------------------------

    def _run(self) -> None:
        last = time.monotonic()
        while not self._closing.wait(min(PAUSE, self.limit / 4 or PAUSE)):
            now = time.monotonic()
            gap, last = now - last, now
            if gap > 4 * PAUSE:  # this process was stopped, and maybe the others, too
                TASKS.paused(gap)
                for peer in self._all.values():
                    peer.heard += gap
            if not self.verdict:
                self._beat(now)
            elif now > self._until:
                self._end()

    def _beat(self, now: float) -> None:
        mine = TASKS.seen()
        message = np.zeros(1, _MESSAGE)
        message[0] = mine.state, mine.seconds, mine.place.encode()[:400]
        self._send(_BEAT, self._peers() if self._rank == 0 else [0], message)
        self._listen(now)
        if not self.limit or self.verdict:
            return
        if mine.state not in (SCRIPT, WAITING) and mine.seconds > self.limit:
            self._judge([self._rank], f"it is {mine.place}")
            return
        self._look_for_the_dead(now)
        if self._rank == 0 and not self.verdict:
            self._look_at_all({0: mine, **{rank: one.seen for rank, one in self._all.items()}})

    def _peers(self) -> list[int]:
        return [rank for rank, one in self._all.items() if not one.left]

    def _send(self, tag: int, ranks: Sequence[int], message: NDArray[Any]) -> None:
        self._sent = [one for one in self._sent if not one[0].Test()]
        for rank in ranks:
            data = message.view(np.uint8)
            request = self._comm.Isend([data, self._mpi.BYTE], rank, tag)
            self._sent.append((request, data))

    def _listen(self, now: float) -> None:
        status = self._mpi.Status()
        while self._comm.Iprobe(self._mpi.ANY_SOURCE, self._mpi.ANY_TAG, status):
            message = np.zeros(status.Get_count(self._mpi.BYTE), np.uint8)
            source, tag = status.source, status.tag
            self._comm.Recv([message, self._mpi.BYTE], source, tag)
            peer = self._all[source]
            peer.heard = now
            if tag == _VERDICT:
                self._take_verdict(message.tobytes().decode())
            elif tag == _LEFT:
                peer.left = True
            else:
                state, seconds, place = message.view(_MESSAGE)[0].item()
                peer.seen = Seen(state, seconds, place.decode(errors="replace"))

    def _look_for_the_dead(self, now: float) -> None:
        """End the job where a rank sends nothing; rank 0 hears all, the others hear rank 0.

        Of these, the lowest rank is the first to do so, and the others hear of it.
        """
        limit = self.limit + 2 * PAUSE * min(max(self._rank - 1, 0), 3)
        dead, why = [], ""
        for rank, peer in self._all.items():
            silent = now - peer.heard
            if peer.left or (self._rank and rank) or silent < 2 * PAUSE:
                peer.processor = None
                continue
            state, used = _processor_of(peer.process)
            peer.processor = used if peer.processor is None else peer.processor
            computes = used > peer.processor + 0.1  # but its threads get no turn
            if silent > limit * (LONGER if computes else 1):
                dead.append(rank)
                why = state
        if dead:
            self._judge(dead, why)

    def _look_at_all(self, seen: Mapping[int, Seen]) -> None:
        """End the job where all wait for each other; note whom the others wait for."""
        here = {rank: one for rank, one in seen.items() if rank == 0 or not self._all[rank].left}
        waiting = {rank: one for rank, one in here.items() if one.state == WAITING}
        if not waiting:
            self._noted = 30.0
            return
        longest = min(one.seconds for one in waiting.values())
        if len(waiting) == len(here):
            if longest > self.limit:
                said = "; ".join(f"rank {rank} {one.place}" for rank, one in here.items())
                self._announce(
                    f"all ranks wait for each other for {self.limit:g} s ({said}); every rank must "
                    f"make the same calls with the same values"
                )
            return
        if longest > self._noted:
            self._noted *= 4
            rank, one = next((r, s) for r, s in here.items() if s.state != WAITING)
            print(f"note: rank {rank} is {one.place}; others wait for it", file=sys.stderr)

    def _judge(self, ranks: Sequence[int], why: str) -> None:
        names = ", ".join(map(str, ranks))
        said = f"rank {names} has made no progress for {self.limit:g} s"
        self._announce(f"{said}: {why}; {ADVICE}")

    def _announce(self, text: str) -> None:
        """End the job: tell all ranks why, and print it."""
        print(f"error: {text}", file=sys.stderr, flush=True)
        self._send(_VERDICT, self._peers(), np.frombuffer(text.encode(), np.uint8).copy())
        self._take_verdict(text)

    def _take_verdict(self, text: str) -> None:
        if not self.verdict:
            self._until = time.monotonic() + CLOSE_SECONDS
            self.verdict = text


def this_process() -> tuple[str, int]:
    """Return the host and the number of this process."""
    return socket.gethostname(), os.getpid()


def _processor_of(process: tuple[str, int]) -> tuple[str, float]:
    """Return what is wrong with a silent process, and the seconds that it has computed.

    Nothing is known of other hosts.
    """
    host, number = process
    if host != socket.gethostname():
        return f"it gives no sign of life (on host {host})", 0.0
    state = state_of(number)
    if state in "Tt":
        return "its process is stopped", 0.0
    if state in " ZX":
        return "its process is gone", 0.0
    return "it gives no sign of life", processor_seconds(number)
