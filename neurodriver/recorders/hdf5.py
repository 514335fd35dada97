"""Blocks -> an HDF5 file that opens plainly whenever its run is killed.

Layout: ``metadata`` (scalar, attributes ``dt``, ``start_time``, ``sample_interval``,
``DateCreated`` and provenance; its value is 1 once the recording was closed), and per variable

* rows: ``<var>/data`` (rows, n), ``<var>/time`` (rows,) float64 s, ``<var>/uids`` (n,) UTF-8
  bytes, ``<var>/valid_rows``;
* events: ``<var>/data/time`` (m,) float64 s, ``<var>/data/index`` (m,) int32, ``<var>/uids``,
  ``<var>/valid_events``, ``<var>/valid_steps``.

How a kill is survived: the HDF5 library only ever writes *temporary* files, with all data sets
allocated (sparse, so they cost no disk) and closed before ``os.replace`` gives them their name.
From then on HDF5 is out of the game: blocks are written with ``pwrite`` at the known addresses of
the chunks, and then the counters of valid rows, eight bytes each. No metadata can be half
written, since none is. Growing and trimming make another temporary file, copy the valid data
inside the kernel, and replace. A reader may open the file at any time, also during the run.
"""

from __future__ import annotations

import bisect
import contextlib
import errno
import os
import shutil
import socket
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import numpy.typing as npt

from ..errors import RecordingError
from .base import Block, Recorder, RecordingPlan

CHUNK_BYTES = 2**20
"""Size of a chunk; the default cache of a reader holds at least one."""

COPY_BYTES = 2**26
"""Most that one call copies, so that a signal need not wait."""

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
        The file; one of an earlier run is replaced when the recording opens.
    record, sample_interval
        See `Recorder`.

    Notes
    -----
    When rows and events share a file, trimming the events at the end copies the rows as well.
    For recordings of many gigabytes, two recorders with a file each spare that.
    """

    def __init__(
        self,
        filename: str | os.PathLike[str],
        record: Iterable[tuple[str, Sequence[str] | None]],
        sample_interval: int = 1,
    ) -> None:
        super().__init__(record, sample_interval)
        self.path = Path(filename)
        self._target = self.path
        self._file = _RawFile()
        self._valid = _Lengths(0, {})

    def _open(self, plan: RecordingPlan) -> None:
        with self._errors("create"):
            # Through links: the file behind one is replaced, not the link.
            self._target = Path(os.path.realpath(self.path))
            if self._target.exists() and not stat.S_ISREG(self._target.stat().st_mode):
                raise RecordingError("not a regular file; choose another file name")
            _remove_stale(self._target)
            self._file, self._valid = _RawFile(), _Lengths(0, {c.variable: 0 for c in plan.events})
            self._replace(plan, _first_capacity(plan))

    def _append(self, block: Block, rows: int) -> None:
        plan, valid = self.plan, self._valid
        with self._errors("write"):
            self._file.check_ours()
            new = {v: len(time) for v, (time, _) in block.events.items()}
            events = {v: n + new.get(v, 0) for v, n in valid.events.items()}
            needed = _Lengths(valid.rows + rows, events)
            self._make_room(needed, block.step)
            if rows:
                for variable, values in block.rows.items():
                    self._file.write(f"{variable}/data", valid.rows, values)
                self._file.write("time", valid.rows, plan.time(valid.rows, rows))
            for variable, (time, index) in block.events.items():
                self._file.write(f"{variable}/time", valid.events[variable], time)
                self._file.write(f"{variable}/index", valid.events[variable], index)
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
                    self._replace(plan, valid, complete=True)
        finally:
            with self._errors("finish"):
                self._file.close()

    def _make_room(self, needed: _Lengths, step: int) -> None:
        """Grow what is too small, by a factor that makes one growth the usual number."""
        plan, capacity = self.plan, self._file.capacity
        if needed.fits(capacity):
            return
        rows = capacity.rows
        if needed.rows > rows:
            rows = max(2 * rows, needed.rows)
        events = dict(capacity.events)
        for variable, count in needed.events.items():
            if count > events[variable]:
                whole_run = int(1.1 * count * plan.steps / step) if plan.steps and step else 0
                # A burst at the beginning says little about the rest.
                events[variable] = max(2 * count, min(whole_run, 16 * count))
        self._replace(plan, _Lengths(rows, events))

    def _replace(self, plan: RecordingPlan, capacity: _Lengths, complete: bool = False) -> None:
        """Put a file of another capacity, with the valid data, in the place of the present one."""
        temporary = self._target.with_name(f"{_temporary_prefix(self._target)}{os.getpid()}.tmp")
        new = _RawFile()
        try:
            new.create(temporary, plan, capacity)
            new.copy_valid(self._file, self._valid)
            new.write_counters(self._valid, self._progress.step)
            if complete:
                new.write_complete()
            os.replace(temporary, self._target)
        except BaseException:
            new.close()
            temporary.unlink(missing_ok=True)
            raise
        self._file, old = new, self._file
        old.close()

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


@dataclass(frozen=True, slots=True)
class _Lengths:
    """Rows, and events per variable: capacities or valid numbers."""

    rows: int
    events: dict[str, int]

    def fits(self, other: _Lengths) -> bool:
        """Tell whether ``other`` is large enough."""
        return self.rows <= other.rows and all(n <= other.events[v] for v, n in self.events.items())


@dataclass(frozen=True, slots=True)
class _Extent:
    """Where the rows of one data set lie in a file: runs of (first row, rows, byte offset)."""

    dtype: np.dtype[Any]
    row_bytes: int
    runs: list[tuple[int, int, int]]

    def pieces(self, first: int, rows: int) -> Iterator[tuple[int, int, int]]:
        """Cut rows into stretches without gap: (first row, rows, byte offset)."""
        start = bisect.bisect_right(self.runs, first, key=lambda run: run[0]) - 1
        for begin, length, offset in self.runs[max(start, 0) :]:
            low, high = max(first, begin), min(first + rows, begin + length)
            if low >= high:
                break
            yield low, high - low, offset + (low - begin) * self.row_bytes


class _RawFile:
    """A file laid out by HDF5, closed by it, and from then on written at known addresses."""

    def __init__(self) -> None:
        self.fd = -1
        self.capacity = _Lengths(0, {})
        self.extents: dict[str, _Extent] = {}

    def create(self, path: Path, plan: RecordingPlan, capacity: _Lengths) -> None:
        """Make the file; afterwards HDF5 has nothing more to write."""
        # Before HDF5, whose errors do not always say what the system said.
        self.fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o666)
        self.capacity = capacity
        # The oldest format: no checksums and no open flags, readable by every reader. No locks:
        # they fail on some network file systems and would keep readers out during the run.
        with h5py.File(path, "w", libver="earliest", locking=False) as file:
            self.extents = _lay_out(file, plan, capacity)

    def write(self, name: str, first: int, values: npt.NDArray[Any]) -> None:
        """Write rows of one data set."""
        extent = self.extents[name]
        if not values.size:
            return
        data = np.ascontiguousarray(values, extent.dtype).reshape(-1).view(np.uint8).data
        for row, rows, offset in extent.pieces(first, len(values)):
            begin = (row - first) * extent.row_bytes
            _write_all(self.fd, data[begin : begin + rows * extent.row_bytes], offset)

    def write_counters(self, valid: _Lengths, step: int) -> None:
        """Declare data valid."""
        counters = {f"{v}/valid_events": n for v, n in valid.events.items()}
        for name, n in (counters | {"valid_steps": step, "valid_rows": valid.rows}).items():
            if name in self.extents:
                self.write(name, 0, np.array([n]))

    def write_complete(self) -> None:
        """Note that the recording was closed."""
        self.write("metadata", 0, np.array([1]))

    def copy_valid(self, source: _RawFile, valid: _Lengths) -> None:
        """Copy the valid data of another file of the same plan."""
        for name, extent in self.extents.items() if source.extents else ():
            variable, _, part = name.rpartition("/")
            if name == "time" or part == "data":
                count = valid.rows
            elif part in ("time", "index"):
                count = valid.events[variable]
            else:
                continue
            for row, rows, offset in extent.pieces(0, count):
                for first, n, origin in source.extents[name].pieces(row, rows):
                    target = offset + (first - row) * extent.row_bytes
                    _copy(source.fd, self.fd, origin, target, n * extent.row_bytes)

    def check_ours(self) -> None:
        """Refuse to write into a file that nobody can see any more."""
        if os.fstat(self.fd).st_nlink == 0:
            raise RecordingError(
                "replaced or removed during the recording; give every run and every recorder "
                "a file of its own"
            )

    def close(self) -> None:
        """Close the file; safe to call twice."""
        fd, self.fd = self.fd, -1
        if fd >= 0:
            os.close(fd)


def _lay_out(file: Any, plan: RecordingPlan, capacity: _Lengths) -> dict[str, _Extent]:
    """Write all metadata of a recording and allocate its data sets; return their places."""
    extents: dict[str, _Extent] = {}

    def allocate(name: str, shape: tuple[int, ...] | None, dtype: Any, unit: str = "") -> Any:
        dataset, extents[name] = _allocate(file, shape, np.dtype(dtype))
        if unit:
            dataset.attrs["units"] = unit
        return dataset

    file["metadata"] = allocate("metadata", None, np.int32)
    own = {
        "start_time": (plan.sample_interval - 1) * plan.dt,
        "sample_interval": plan.sample_interval,
        "dt": plan.dt,
        "DateCreated": datetime.now().astimezone().isoformat(timespec="seconds"),
    }
    for name, value in (plan.attributes | own).items():
        file["metadata"].attrs[name] = value
    # One data set under the name of every variable: the rows of all become valid at once.
    shared: dict[str, Any] = {}
    if plan.dense:
        shared["time"] = allocate("time", (capacity.rows,), np.float64, "s")
        shared["valid_rows"] = allocate("valid_rows", None, np.int64)
    if plan.events:
        shared["valid_steps"] = allocate("valid_steps", None, np.int64)
    for c in plan.columns:
        v, group = c.variable, file.create_group(c.variable)
        uids = [uid.encode() for uid in c.uids.tolist()]
        group["uids"] = np.array(uids, dtype=f"S{max(map(len, uids), default=0) or 1}")
        if c.events:
            events = (capacity.events[v],)
            group["data/time"] = allocate(f"{v}/time", events, np.float64, "s")
            group["data/index"] = allocate(f"{v}/index", events, np.int32)
            group["valid_events"] = allocate(f"{v}/valid_events", None, np.int64)
            group["valid_steps"] = shared["valid_steps"]
        else:
            rows = (capacity.rows, len(c.uids))
            group["data"] = allocate(f"{v}/data", rows, plan.dtype, c.unit)
            group["time"], group["valid_rows"] = shared["time"], shared["valid_rows"]
    return extents


def _allocate(
    file: Any, shape: tuple[int, ...] | None, dtype: np.dtype[Any]
) -> tuple[Any, _Extent]:
    """Make a data set without a name, all of it allocated and none of it written."""
    how = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    how.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
    how.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
    kind = h5py.h5t.py_create(dtype, logical=True)
    if shape is None:
        space = h5py.h5s.create(h5py.h5s.SCALAR)
        dataset = h5py.h5d.create(file.id, None, kind, space, how)
        runs = [(0, 1, dataset.get_offset())]
        return h5py.Dataset(dataset), _Extent(dtype, dtype.itemsize, runs)
    row_bytes = dtype.itemsize * int(np.prod(shape[1:]))
    chunk_rows = max(1, min(shape[0], CHUNK_BYTES // max(1, row_bytes)))
    how.set_chunk((chunk_rows, *(max(1, n) for n in shape[1:])))
    # HDF5 refuses a fixed length of 0, so a variable without columns may grow both ways.
    limits = (h5py.h5s.UNLIMITED, *(n or h5py.h5s.UNLIMITED for n in shape[1:]))
    space = h5py.h5s.create_simple(shape, limits)
    dataset = h5py.h5d.create(file.id, None, kind, space, how)
    chunks: list[tuple[int, int]] = []
    if row_bytes:
        dataset.chunk_iter(lambda c: chunks.append((c.chunk_offset[0], c.byte_offset)))
    runs = []
    for first, offset in sorted(chunks):
        if runs and runs[-1][2] + runs[-1][1] * row_bytes == offset:
            runs[-1] = (runs[-1][0], runs[-1][1] + chunk_rows, runs[-1][2])
        else:
            runs.append((first, chunk_rows, offset))
    return h5py.Dataset(dataset), _Extent(dtype, row_bytes, runs)


def _first_capacity(plan: RecordingPlan) -> _Lengths:
    """Return what to allocate before the first step."""
    if plan.steps is None or plan.rows is None:
        widest = max((len(c.uids) for c in plan.dense), default=1) or 1
        rows = max(1024, UNKNOWN_BYTES // (widest * plan.dtype.itemsize))
        return _Lengths(rows, {c.variable: EVENTS_LEAST for c in plan.events})
    events = {}
    for c in plan.events:
        most = plan.steps * len(c.uids)
        events[c.variable] = min(most, EVENTS_MOST, max(EVENTS_LEAST, most // EVENTS_SHARE))
    return _Lengths(plan.rows if plan.dense else 0, events)


def _write_all(fd: int, data: memoryview, offset: int) -> None:
    """Write at an address; one call of the system may write less than it was given."""
    while data:
        done = os.pwrite(fd, data, offset)
        data, offset = data[done:], offset + done


def _copy(source: int, target: int, origin: int, offset: int, count: int) -> None:
    """Copy bytes between files, inside the kernel where it can."""
    while count:
        try:
            done = os.copy_file_range(source, target, min(count, COPY_BYTES), origin, offset)
        except (AttributeError, OSError):
            done = 0
        if not done:
            data = os.pread(source, min(count, CHUNK_BYTES), origin)
            _write_all(target, memoryview(data), offset)
            done = len(data)
        if not done:
            raise OSError(errno.EIO, f"{count} bytes at address {origin} cannot be read back")
        origin, offset, count = origin + done, offset + done, count - done


def _temporary_prefix(target: Path) -> str:
    """Return how names of temporary files begin; process numbers mean nothing to other hosts."""
    return f".{target.name}.{socket.gethostname()}-"


def _remove_stale(target: Path) -> None:
    """Remove what killed processes of this host left of the same recording."""
    prefix = _temporary_prefix(target)
    for name in os.listdir(target.parent):
        process = name.removeprefix(prefix).removesuffix(".tmp")
        if name == f"{prefix}{process}.tmp" and process.isdigit():
            try:
                os.kill(int(process), 0)
            except ProcessLookupError:
                target.with_name(name).unlink(missing_ok=True)
            except OSError:
                pass  # alive, and another user's


def _advice(number: int | None, folder: Path) -> str:
    """Return what the user can do about a failure."""
    if number == errno.ENOENT:
        return f"make the folder {folder} first"
    if number in (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR):
        return "choose a folder that you may write to"
    if number in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        with contextlib.suppress(OSError):
            free = shutil.disk_usage(folder).free / 2**30
            return f"free space ({free:.1f} GiB left), record fewer uids, or sample less often"
    return "choose another file name or folder"
