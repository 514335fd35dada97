"""Blocks -> an HDF5 file that opens plainly whenever its run is killed.

Layout: ``metadata`` (scalar, attributes ``dt``, ``start_time``, ``sample_interval``,
``DateCreated`` and provenance; its value is 1 once the recording was closed), and per variable

* rows: ``<var>/data`` (rows, n), ``<var>/time`` (rows,) float64 s, ``<var>/uids`` (n,) UTF-8
  bytes, ``<var>/valid_rows``;
* events: ``<var>/data/time`` (m,) float64 s, ``<var>/data/index`` (m,) int32, ``<var>/uids``,
  ``<var>/valid_events``, ``<var>/valid_steps``;
* where the circuit has populations with names, ``<var>/population`` (n,) UTF-8 bytes: that of
  each column;
* of synapses that learn, ``<var>/pre`` and ``<var>/post`` (n,) UTF-8 bytes: uids of their ends.

Of a batch, ``copies`` is an attribute of ``metadata``, and the columns of copy b begin at b * n.

How a kill is survived: the HDF5 library only ever writes to memory, all data sets allocated. What
it wrote is copied to a *temporary* file (sparse, so the rest costs no disk) before ``os.replace``
gives it its name.
From then on HDF5 takes no part: blocks are written with ``pwrite`` at the known addresses of
the chunks, and then the counters of valid rows, eight bytes each. No metadata can be half
written, since none is. Growing and trimming make another temporary file, copy the valid data
inside the kernel, and replace. A reader may open the file at any time, also during the run.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import socket
import stat
import warnings
from collections.abc import Iterator
from pathlib import Path

from ..arguments import checked_arguments, file_path, truth
from ..errors import CircuitWarning, NeurodriverError, RecordingError
from ..results.batch import recording_of
from ..results.joint import open_recording
from ..results.recording import Recording
from ..results.sources import FileSource
from ..system import remove_abandoned
from .base import Block, Record, Recorder, RecordingPlan, RecordingProgress
from .preallocated import ROWS, Counts, PreallocatedFile

UNKNOWN_BYTES = 2**28
"""First allocation of the rows when the length of the run is not known."""

EVENTS_LEAST, EVENTS_MOST = 2**20, 2**26
"""Limits of the first allocation of events: sparse space costs nothing, growing a copy."""

EVENTS_SHARE = 64
"""One event allocated per so many component steps: 156 Hz of each neuron at dt = 0.1 ms."""


class HDF5Recorder(Recorder):
    """Writes a recording to an HDF5 file that is complete up to the last block at any moment.

    Parameters
    ----------
    filename : path
        The file.
    record, sample_interval
        See `Recorder`.
    overwrite : bool
        Whether a file of an earlier run may be replaced when the recording begins. Otherwise a
        file that is there raises RecordingError before any recorder of the run begins; one of a
        run that ended before its first step does not count.

    Notes
    -----
    When rows and events share a file, trimming the events at the end copies the rows as well.
    For recordings of many gigabytes, two recorders with a file each spare that.
    """

    outlives = True

    @checked_arguments(filename=file_path, overwrite=truth)
    def __init__(
        self,
        filename: str | os.PathLike[str],
        record: Record,
        sample_interval: int = 1,
        overwrite: bool = False,
    ) -> None:
        super().__init__(record, sample_interval)
        self.path = Path(filename)
        self.overwrite = overwrite
        self._target = self.path
        self._file = PreallocatedFile()
        self._valid: Counts = {}

    @property
    def recording(self) -> Recording:
        """The file as a `Recording`; during the run, too. Each use opens the file anew."""
        self.settle()
        if not self._file.extents:
            raise RecordingError(f"{self.path}: nothing recorded yet; run first")
        opened: Recording = recording_of(FileSource(self.path))
        return opened

    def check(self) -> None:
        if not self.overwrite:
            refuse_existing(self.path)

    def _open(self, plan: RecordingPlan) -> None:
        self.check()
        with self._errors("create"):
            # Through links: the file behind one is replaced, not the link.
            self._target = Path(os.path.realpath(self.path))
            if self._target.exists() and not stat.S_ISREG(self._target.stat().st_mode):
                raise RecordingError("not a regular file; choose another file name")
            _remove_stale(self._target)
            self._file = PreallocatedFile()
            self._valid = {ROWS: 0, **{c.variable: 0 for c in plan.events}}
            self._replace(plan, _first_capacity(plan))

    def _reopen(self, plan: RecordingPlan, step: int) -> RecordingProgress:
        with self._errors("go on with"):
            self._target = Path(os.path.realpath(self.path))
            _remove_stale(self._target)
            self._file = PreallocatedFile()
            self._valid = self._file.open(self._target, plan, step)
            self._progress = RecordingProgress(self._valid[ROWS], step)
            room = _first_capacity(plan)
            self._replace(plan, {name: max(n, self._valid[name]) for name, n in room.items()})
        return self._progress

    def _append(self, block: Block, rows: int) -> None:
        plan, valid = self.plan, self._valid
        with self._errors("write"):
            self._file.check_ours()
            needed = dict(valid)
            needed[ROWS] += rows
            for variable, (time, _) in block.events.items():
                needed[variable] += len(time)
            self._make_room(needed, block.step)
            if rows:
                for variable, values in block.rows.items():
                    self._file.write(f"{variable}/data", valid[ROWS], values)
                self._file.write("time", valid[ROWS], plan.time(valid[ROWS], rows))
            for variable, (time, index) in block.events.items():
                self._file.write(f"{variable}/time", valid[variable], time)
                self._file.write(f"{variable}/index", valid[variable], index)
            # Only now are the data there; a kill before this line leaves the counters before.
            self._file.write_counters(needed, block.step)
            self._valid = needed

    def _close(self) -> None:
        plan, valid = self.plan, self._valid
        try:
            with self._errors("finish"):
                self._file.check_ours()
                if self._file.capacity == valid:
                    self._file.write_complete()
                else:
                    self._trim(plan, valid)
        finally:
            with self._errors("finish"):
                self._file.close()

    def _trim(self, plan: RecordingPlan, valid: Counts) -> None:
        """Leave out what was allocated and not used; where there is no room for that, it stays."""
        try:
            self._replace(plan, valid, complete=True)
        except OSError as error:
            if error.errno not in FULL:
                raise
            self._file.write_complete()
            say = f"{self.path}: no room to trim the recording ({error.strerror})"
            rest = "rows behind 'valid_rows', and events behind 'valid_events', mean nothing"
            warnings.warn(f"{say}; it is complete, but {rest}", CircuitWarning, stacklevel=2)

    def _make_room(self, needed: Counts, step: int) -> None:
        """Grow what is too small, by a factor that makes one growth the usual number."""
        capacity = dict(self._file.capacity)
        for name, count in needed.items():
            if count > capacity[name] and name == ROWS:
                capacity[name] = max(2 * capacity[name], count)
            elif count > capacity[name]:
                capacity[name] = _room_for_events(count, step, self.plan.steps)
        if capacity != self._file.capacity:
            self._replace(self.plan, capacity)

    def _replace(self, plan: RecordingPlan, capacity: Counts, complete: bool = False) -> None:
        """Put a file of another capacity, with the valid data, in the place of the present one."""
        temporary = self._target.with_name(f"{_temporary_prefix(self._target)}{os.getpid()}.tmp")
        new = PreallocatedFile()
        try:
            new.create(temporary, plan, capacity)
            new.copy_valid(self._file, self._valid)
            new.write_counters(self._valid, self._progress.step)
            if complete:
                new.write_complete()
            new.take_place(temporary, self._target, self._file)
        except BaseException:
            new.close()
            temporary.unlink(missing_ok=True)
            raise
        self._file = new

    @contextlib.contextmanager
    def _errors(self, what: str) -> Iterator[None]:
        """Turn what the system or HDF5 says into a RecordingError that helps."""
        try:
            yield
        except RecordingError as error:
            raise RecordingError(f"{self.path}: {error}") from error
        except (OSError, RuntimeError, ValueError, TypeError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            advice = _advice(getattr(error, "errno", None), self._target.parent)
            if what != "create":
                advice += f" (kept and readable: {self._progress.step} steps)"
            raise RecordingError(
                f"{self.path}: cannot {what} the recording: {reason}; {advice}"
            ) from error


FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""What the system says where there is no room."""


def refuse_existing(path: str | os.PathLike[str]) -> None:
    """Refuse a file name where there is a file of an earlier run.

    Parameters
    ----------
    path : path
        Where a recording shall be written. A recording of no step is not missed by anybody.

    Raises
    ------
    RecordingError
        If anything else is there.
    """
    if not os.path.isfile(path):
        return  # what is no file cannot be replaced; who writes it says so
    what = "a file"
    with contextlib.suppress(NeurodriverError, OSError, ValueError, KeyError):
        with open_recording(path) as found:
            if found.complete and not found.duration:
                return
            what = f"a recording of {found.duration:g} s"
            if not found.complete:
                what += ", whose run goes on or was killed,"
    raise RecordingError(
        f"{path}: there is {what} already; choose another file name, or let it be replaced: "
        "overwrite=True, on the command line -f"
    )


def _first_capacity(plan: RecordingPlan) -> Counts:
    """Return what to allocate before the first step."""
    if plan.steps is None or plan.rows is None:
        widest = max((c.width for c in plan.dense), default=1) or 1
        rows = max(1024, UNKNOWN_BYTES // (widest * plan.dtype.itemsize))
        return {ROWS: rows, **{c.variable: EVENTS_LEAST for c in plan.events}}
    capacity = {ROWS: plan.rows if plan.dense else 0}
    for c in plan.events:
        most = plan.steps * c.width
        capacity[c.variable] = min(most, EVENTS_MOST, max(EVENTS_LEAST, most // EVENTS_SHARE))
    return capacity


def _room_for_events(count: int, step: int, steps: int | None) -> int:
    """Return how many events to allocate, once ``count`` in ``step`` of ``steps`` are too many."""
    whole_run = int(1.1 * count * steps / step) if steps and step else 0
    # A burst at the beginning says little about the rest.
    return max(2 * count, min(whole_run, 16 * count))


def _temporary_prefix(target: Path) -> str:
    """Return how names of temporary files begin; process numbers mean nothing to other hosts."""
    return f".{target.name}.{socket.gethostname()}-"


def _remove_stale(target: Path) -> None:
    """Remove what killed processes of this host left of the same recording."""
    prefix = _temporary_prefix(target)
    for name in os.listdir(target.parent):
        process = name.removeprefix(prefix).removesuffix(".tmp")
        if name == f"{prefix}{process}.tmp" and process.isdigit():
            remove_abandoned(target.with_name(name), int(process))


def _advice(number: int | None, folder: Path) -> str:
    """Return what the user can do about a failure."""
    if number == errno.ENOENT:
        return f"make the folder {folder} first"
    if number in (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR):
        return "choose a folder that you may write to"
    if number in FULL:
        with contextlib.suppress(OSError):
            free = shutil.disk_usage(folder).free / 2**30
            return f"free space ({free:.1f} GiB left), record fewer uids, or sample less often"
    return "choose another file name or folder"
