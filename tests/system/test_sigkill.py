"""A run killed with SIGKILL at any moment leaves no file, or one that opens plainly and is right.

Once at random moments, and once at, and in the middle of, every single call that changes a file.
"""

from __future__ import annotations

import mmap
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from neurodriver.recorders import (
    Block,
    Columns,
    HDF5Recorder,
    RecordingPlan,
    Writer,
    hdf5,
    preallocated,
)
from neurodriver.results import open_recording

pytestmark = pytest.mark.needs("fork")

DT = 1e-4
NEURONS = 23
KILLS = 100
PROMISED_SECONDS = 1.0


@dataclass(frozen=True)
class Case:
    """One kind of run: ``blocks`` of ``size`` steps, ``pause`` seconds apart."""

    blocks: int
    size: int
    planned: bool = True
    events: bool = True
    pause: float = 0.0
    interval: int = 1
    writer: bool = False
    early: bool = False  # fewer blocks than planned


CASES = {
    "steady": (Case(400, 5, pause=1e-4), 30),
    "growing": (Case(600, 7, planned=False), 30),
    "sampled": (Case(300, 10, interval=3, early=True), 10),
    "rows only": (Case(3, 4, events=False), 8),
    "short": (Case(2, 4), 8),
    "aborted": (Case(2, 6, early=True), 8),
    "threaded": (Case(900, 5, pause=2e-3, writer=True), 6),
}
"""Name -> (case, number of kills)."""

OPENING, RUNNING, GROWING, CLOSING, ENDED = range(1, 6)
STAGES = {
    OPENING: "opening", RUNNING: "running", GROWING: "growing", CLOSING: "closing", ENDED: "ended",
}  # fmt: skip


class Ledger:
    """What a child has done, in memory shared with its parent."""

    def __init__(self) -> None:
        self._ints = np.frombuffer(mmap.mmap(-1, 4096), dtype=np.int64)
        self.put = np.frombuffer(mmap.mmap(-1, 1 << 16), dtype=np.float64)  # time of each block

    @property
    def stage(self) -> int:
        return int(self._ints[0])

    @stage.setter
    def stage(self, value: int) -> None:
        self._ints[0] = value

    @property
    def blocks(self) -> int:
        """Number of blocks handed over."""
        return int(self._ints[1])

    @property
    def seconds(self) -> float:
        """How long the whole run took."""
        return float(self.put[-1] - self.put[-2])

    def note(self, block: int) -> None:
        self.put[block] = time.monotonic()
        self._ints[1] = block + 1


class Watched(HDF5Recorder):
    """Tells the ledger what it is doing."""

    ledger: Ledger

    def _replace(self, *args: Any, **kwargs: Any) -> None:
        before = self.ledger.stage
        if before == RUNNING:
            self.ledger.stage = GROWING
        super()._replace(*args, **kwargs)
        self.ledger.stage = before

    def _close(self) -> None:
        self.ledger.stage = CLOSING
        super()._close()


def plan_of(case: Case) -> RecordingPlan:
    uids = np.array([f"n{i}" for i in range(NEURONS)])
    columns = [Columns("V", uids, "mV", False), Columns("g", uids[:4], "mS", False)]
    if case.events:
        columns.append(Columns("spike_state", uids, "", True))
    steps = case.blocks * case.size * (2 if case.early else 1)
    return RecordingPlan(
        DT,
        steps if case.planned else None,
        case.interval,
        np.dtype("f8"),
        tuple(columns),
        {"run": "new"},
    )


def rows_of(first: int, last: int, columns: int) -> np.ndarray:
    return np.arange(first, last)[:, None] * 100.0 + np.arange(columns) + 1


def events_of(first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
    """Two events at each step; none of them is zero in the file."""
    step = np.repeat(np.arange(first, last), 2) + 1
    index = (np.arange(2 * first, 2 * last) * 7) % (NEURONS - 1) + 1
    return step * DT, index.astype(np.int32)


def blocks_of(case: Case) -> Iterator[Block]:
    for block in range(case.blocks):
        first, last = block * case.size, (block + 1) * case.size
        row, end = first // case.interval, last // case.interval
        rows = {"V": rows_of(row, end, NEURONS), "g": rows_of(row, end, 4)}
        yield Block(row, rows, {"spike_state": events_of(first, last)} if case.events else {}, last)


def simulate(path: Path, case: Case, ledger: Ledger) -> None:
    """The run that will be killed."""
    hdf5.EVENTS_LEAST, hdf5.EVENTS_MOST, hdf5.UNKNOWN_BYTES = 300, 300, 1
    recorder = Watched(path, [], case.interval, overwrite=True)
    recorder.ledger = ledger
    ledger.put[-2] = time.monotonic()
    ledger.stage = OPENING
    recorder.open(plan_of(case))
    ledger.stage = RUNNING
    writer = Writer([recorder]) if case.writer else None
    for number, block in enumerate(blocks_of(case)):
        if writer:
            writer.put(recorder, block)
        else:
            recorder.append(block)
        ledger.note(number)
        if case.pause:
            time.sleep(case.pause)
    (writer or recorder).close()
    ledger.put[-1] = time.monotonic()
    ledger.stage = ENDED


def fork(work: Callable[[], None]) -> int:
    """Run in a child; its status is 0 unless it raised."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            work()
            status = 0
        finally:
            sys.stderr.flush()
            os._exit(status)
    return child


def kill_after(child: int, ledger: Ledger, delay: float) -> tuple[int, float]:
    """Kill a child some time after it began; return its wait status and the moment."""
    while not ledger.stage:
        time.sleep(1e-5)
    end = time.perf_counter() + delay
    time.sleep(max(0.0, delay - 1e-3))
    while time.perf_counter() < end:
        pass
    moment = time.monotonic()
    os.kill(child, signal.SIGKILL)
    return os.waitpid(child, 0)[1], moment


def check(path: Path, case: Case, blocks: int) -> int:
    """Compare a file, opened plainly, with what at least so many blocks must have left."""
    with h5py.File(path, "r") as file:
        rows = int(file["V/valid_rows"][()])
        least = blocks * case.size // case.interval
        assert least <= rows <= case.blocks * case.size // case.interval
        assert file["V/data"].shape[0] >= rows
        if file["metadata"][()]:
            assert file["V/data"].shape == (rows, NEURONS) and file["V/time"].shape == (rows,)
        np.testing.assert_array_equal(file["V/data"][:rows], rows_of(0, rows, NEURONS))
        np.testing.assert_array_equal(file["g/data"][:rows], rows_of(0, rows, 4))
        times = (np.arange(1, rows + 1) * case.interval - 1) * DT
        np.testing.assert_array_equal(file["V/time"][:rows], times)
        assert file["V/uids"][()].tolist() == [b"n%d" % i for i in range(NEURONS)]
        if case.events:
            count = int(file["spike_state/valid_events"][()])
            steps = int(file["spike_state/valid_steps"][()])
            assert count >= 2 * blocks * case.size and steps >= blocks * case.size
            when, index = events_of(0, count // 2)
            np.testing.assert_array_equal(file["spike_state/data/time"][:count], when)
            np.testing.assert_array_equal(file["spike_state/data/index"][:count], index)
    with open_recording(path) as recording:
        assert recording.data("V").shape[0] == rows
    return rows


def one_kill(path: Path, case: Case, delay: float) -> tuple[str, int]:
    """Kill one run; return the stage that was hit and the rows found."""
    ledger = Ledger()
    status, moment = kill_after(fork(lambda: simulate(path, case, ledger)), ledger, delay)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, "the run itself failed"
    stage, blocks = ledger.stage, ledger.blocks
    if case.writer:
        # Blocks may wait in the queue, but not for long.
        blocks = int((ledger.put[:blocks] < moment - PROMISED_SECONDS).sum())
    if not path.exists():
        assert stage == OPENING and not blocks
        return STAGES[stage], 0
    return STAGES[stage], check(path, case, blocks)


def test_killed_at_random(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(int(time.time()))
    hit: Counter[str] = Counter()
    mid_run = 0
    assert sum(kills for _, kills in CASES.values()) == KILLS
    for name, (case, kills) in CASES.items():
        # The quicker of two, so that most kills come before the end on a busy machine as well.
        unharmed = min(whole_run(tmp_path / f"{name}.h5", case) for _ in range(2))
        for number in range(kills):
            folder = tmp_path / f"{name}{number}"
            folder.mkdir()
            low = PROMISED_SECONDS if case.writer else 0.0
            stage, rows = one_kill(folder / "run.h5", case, rng.uniform(low, max(low, unharmed)))
            hit[stage] += 1
            mid_run += stage in ("running", "growing") and rows > 0
    with capsys.disabled():
        print(f"\n{KILLS} kills: {mid_run} amid data; {dict(hit)}")
    # On an idle machine about 65 and 5; the rest hit creation and close.
    assert mid_run >= KILLS // 3
    assert hit["ended"] < KILLS // 3


def whole_run(path: Path, case: Case) -> float:
    """Run without a kill; return the seconds that it took."""
    ledger = Ledger()
    assert os.waitpid(fork(lambda: simulate(path, case, ledger)), 0)[1] == 0
    assert check(path, case, case.blocks), "an unharmed run holds everything"
    return ledger.seconds


class Bomb:
    """Kills its process at the n-th call that changes a file, before it or half way through."""

    def __init__(self, at: int, half: bool) -> None:
        self.at, self.half, self.calls = at, half, 0

    def arm(self) -> None:
        for module, name in (
            (os, "open"), (os, "pwrite"), (os, "copy_file_range"), (os, "replace"),
            (os, "close"), (preallocated, "_allocate"),
        ):  # fmt: skip
            setattr(module, name, self._around(getattr(module, name), name))

    def _around(self, call: Callable[..., Any], name: str) -> Callable[..., Any]:
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            self.calls += 1
            if self.calls == self.at:
                if self.half and name == "pwrite":
                    call(args[0], args[1][: len(args[1]) // 2], args[2])
                elif self.half and name == "copy_file_range":
                    call(args[0], args[1], args[2] // 2, *args[3:])
                elif self.half:
                    call(*args, **kwargs)
                os.kill(os.getpid(), signal.SIGKILL)
            return call(*args, **kwargs)

        return wrapped


@pytest.mark.parametrize("half", [False, True], ids=["before", "amid"])
@pytest.mark.parametrize("case", [Case(4, 80, planned=False), Case(2, 6, early=True)], ids=str)
def test_killed_at_every_write(tmp_path: Path, case: Case, half: bool) -> None:
    path = tmp_path / "run.h5"
    old = RecordingPlan(DT, 2, 1, np.dtype("f8"), plan_of(case).columns, {"run": "old"})
    found: Counter[str] = Counter()
    for at in range(1, 1000):
        path.unlink(missing_ok=True)
        recorder = HDF5Recorder(path, [])
        recorder.open(old)
        recorder.append(Block(0, {"V": rows_of(0, 2, NEURONS), "g": rows_of(0, 2, 4)}, {}, 2))
        recorder.close()
        ledger, bomb = Ledger(), Bomb(at, half)

        def work(ledger: Ledger = ledger, bomb: Bomb = bomb) -> None:
            bomb.arm()
            simulate(path, case, ledger)

        status = os.waitpid(fork(work), 0)[1]
        if not os.WIFSIGNALED(status):
            assert os.WEXITSTATUS(status) == 0
            check(path, case, case.blocks)
            break
        with h5py.File(path, "r") as file:
            run = file["metadata"].attrs["run"]
            if run == "old":
                assert ledger.stage == OPENING and file["V/data"].shape == (2, NEURONS)
        if run == "new":
            check(path, case, ledger.blocks)
        found[f"{run} file, {STAGES[ledger.stage]}"] += 1
    else:
        pytest.fail("the run never came to its end")
    wanted = {"old file, opening", "new file, running", "new file, closing"}
    assert wanted | ({"new file, growing"} if case.blocks == 4 else set()) <= set(found), found
    # What the last killed run left behind was swept by the ones after it.
    assert sorted(os.listdir(tmp_path)) == ["run.h5"]
