"""An HDF5 file whose data sets are allocated before the run and then written in place."""

from __future__ import annotations

import bisect
import errno
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import numpy.typing as npt

from .. import system
from ..errors import RecordingError
from ..io.hdf5_files import open_hdf5, reading
from ..io.write import new_file
from ..results.sources import ENDS
from .base import LateNames, RecordingPlan

CHUNK_BYTES = 2**20
"""Size of a chunk; the default cache of a reader holds at least one."""

COPY_BYTES = 2**26
"""Most that one call copies, so that a signal need not wait."""


LAYOUT_BYTES = 2**16
"""About what a file needs beside its values."""

ROWS = ""
Counts = dict[str, int]
"""Variable -> events, `ROWS` -> rows: room in a file, or what is valid of it."""


@dataclass(frozen=True, slots=True)
class _Extent:
    """Where the rows of one data set lie in a file: runs of (first row, rows, byte offset)."""

    dtype: np.dtype[Any]
    row_bytes: int
    runs: list[tuple[int, int, int]]
    counted: str | None  # which of the counts says how long it is; None: one element

    def pieces(self, first: int, rows: int) -> Iterator[tuple[int, int, int]]:
        """Cut rows into stretches without gap: (first row, rows, byte offset)."""
        start = bisect.bisect_right(self.runs, first, key=lambda run: run[0]) - 1
        for begin, length, offset in self.runs[max(start, 0) :]:
            low, high = max(first, begin), min(first + rows, begin + length)
            if low >= high:
                break
            yield low, high - low, offset + (low - begin) * self.row_bytes


class PreallocatedFile:
    """A file laid out by HDF5, closed by it, and from then on written at known addresses."""

    def __init__(self) -> None:
        self.fd = -1
        self.capacity: Counts = {}
        self.extents: dict[str, _Extent] = {}

    def create(self, path: Path, plan: RecordingPlan, capacity: Counts) -> None:
        """Make the file; afterwards HDF5 has nothing more to write."""
        self.fd = new_file(path)
        self.capacity = capacity
        # HDF5 writes to memory, where only what it writes takes room. It does not survive a write
        # that fails: its objects stay open, and the process ends in a fault at its exit.
        with system.file_in_memory() as memory:
            # The oldest format: no checksums and no open flags, readable by every reader.
            _check_limit(plan, capacity)
            with h5py.File(memory, "w", libver="earliest") as file:
                self.extents = _lay_out(file, plan, capacity)
            _copy_layout(memory.fileno(), self.fd, self.extents.values())

    def open(self, path: Path, plan: RecordingPlan, step: int) -> Counts:
        """Open a file that was made for the same variables, to copy what is valid of it.

        Returns
        -------
        valid : Counts
            What was recorded before a step.
        """
        with open_hdf5(path, RecordingError) as file, reading(path, RecordingError):
            self.extents, valid = _found(file, plan, step)
        self.fd = os.open(path, system.READING)
        self.capacity = valid
        return valid

    def write(self, name: str, first: int, values: npt.NDArray[Any]) -> None:
        """Write rows of one data set."""
        extent = self.extents[name]
        if not values.size:
            return
        data = np.ascontiguousarray(values, extent.dtype).reshape(-1).view(np.uint8).data
        for row, rows, offset in extent.pieces(first, len(values)):
            begin = (row - first) * extent.row_bytes
            _write_all(self.fd, data[begin : begin + rows * extent.row_bytes], offset)

    def write_counters(self, valid: Counts, step: int) -> None:
        """Declare data valid."""
        counters = {"valid_steps": step} | {
            "valid_rows" if v == ROWS else f"{v}/valid_events": n for v, n in valid.items()
        }
        for name, n in counters.items():
            if name in self.extents:
                self.write(name, 0, np.array([n]))

    def write_complete(self) -> None:
        """Note that the recording was closed."""
        self.write("metadata", 0, np.array([1]))

    def copy_valid(self, source: PreallocatedFile, valid: Counts) -> None:
        """Copy the valid data of another file of the same plan."""
        for name, extent in self.extents.items() if source.extents else ():
            if extent.counted is None:
                continue
            for row, rows, offset in extent.pieces(0, valid[extent.counted]):
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

    def take_place(self, path: Path, target: Path, old: PreallocatedFile) -> None:
        """Give the file its name, where the old one of that name was, and close that one."""
        if not system.OPEN_FILES_MOVE:
            old.close()
            self.close()
        os.replace(path, target)
        if self.fd < 0:
            self.fd = os.open(target, system.WRITING)
        old.close()

    def close(self) -> None:
        """Close the file; safe to call twice."""
        fd, self.fd = self.fd, -1
        if fd >= 0:
            os.close(fd)


def _check_limit(plan: RecordingPlan, capacity: Counts) -> None:
    """Raise what the system would say of a file that is longer than a process may write."""
    limit = system.longest_file()
    row = 8 + sum(column.width for column in plan.dense) * plan.dtype.itemsize
    least = capacity[ROWS] * row + 12 * sum(capacity[column.variable] for column in plan.events)
    if limit is not None and least + LAYOUT_BYTES > limit:
        raise OSError(errno.EFBIG, f"{os.strerror(errno.EFBIG)} (the limit is {limit:,} bytes)")


def _copy_layout(source: int, target: int, extents: Iterable[_Extent]) -> None:
    """Copy a file but for the rows of its data sets, which stay empty room."""
    size, at = os.fstat(source).st_size, 0
    os.ftruncate(target, size)
    rooms = [(place, n * one.row_bytes) for one in extents for _, n, place in one.runs]
    for begin, length in [*sorted(rooms), (size, 0)]:
        for place in range(at, begin, CHUNK_BYTES):
            data = system.read_at(source, min(CHUNK_BYTES, begin - place), place)
            _write_all(target, memoryview(data), place)
        at = max(at, begin + length)


def _lay_out(file: Any, plan: RecordingPlan, capacity: Counts) -> dict[str, _Extent]:
    """Write all metadata of a recording and allocate its data sets; return their places."""
    extents: dict[str, _Extent] = {}

    def allocate(
        name: str, dtype: Any, counted: str | None = None, width: tuple[int, ...] = ()
    ) -> Any:
        shape = None if counted is None else (capacity[counted], *width)
        dataset, runs, row_bytes = _allocate(file, shape, np.dtype(dtype))
        extents[name] = _Extent(np.dtype(dtype), row_bytes, runs, counted)
        return dataset

    file["metadata"] = allocate("metadata", np.int32)
    now = datetime.now().astimezone().isoformat(timespec="seconds")
    for name, value in (plan.attributes | plan.sampling | {"DateCreated": now}).items():
        file["metadata"].attrs[name] = value
    # One data set under the name of every variable: the rows of all become valid at once.
    shared: dict[str, Any] = {}
    if plan.dense:
        shared["time"] = allocate("time", np.float64, ROWS)
        shared["valid_rows"] = allocate("valid_rows", np.int64)
        shared["time"].attrs["units"] = "s"
    if plan.events:
        shared["valid_steps"] = allocate("valid_steps", np.int64)
    for c in plan.columns:
        v, group = c.variable, file.create_group(c.variable)
        group["uids"] = _encoded(c.uids)
        if c.population is not None:
            group["population"] = _encoded(c.population)
        for name, uids in zip(ENDS, c.ends or (), strict=False):
            group[name] = _encoded(uids)
        if c.events:
            group["data/time"] = allocate(f"{v}/time", np.float64, v)
            group["data/index"] = allocate(f"{v}/index", np.int32, v)
            group["data/time"].attrs["units"] = "s"
            group["valid_events"] = allocate(f"{v}/valid_events", np.int64)
            group["valid_steps"] = shared["valid_steps"]
        else:
            group["data"] = allocate(f"{v}/data", plan.dtype, ROWS, (c.width,))
            if c.unit:
                group["data"].attrs["units"] = c.unit
            group["time"], group["valid_rows"] = shared["time"], shared["valid_rows"]
    return extents


def _found(file: Any, plan: RecordingPlan, step: int) -> tuple[dict[str, _Extent], Counts]:
    """Return where the data sets of a recording lie, and what is valid of them before a step."""
    extents: dict[str, _Extent] = {}
    valid: Counts = {ROWS: 0}
    _check_same(file, plan, step)

    def add(name: str, dataset: Any, counted: str) -> None:
        row_bytes = dataset.dtype.itemsize * int(np.prod(dataset.shape[1:]))
        extents[name] = _Extent(dataset.dtype, row_bytes, _runs(dataset, row_bytes), counted)

    for c in plan.columns:
        v, group = c.variable, file[c.variable]
        if c.events:
            count = int(group["valid_events"][()])
            # half a step before its time: no event of the step itself
            before = np.searchsorted(group["data/time"][:count], (step - 0.5) * plan.dt)
            valid[v] = int(before)
            for part in ("time", "index"):
                add(f"{v}/{part}", group[f"data/{part}"], v)
        else:
            valid[ROWS] = plan.rows_before(step) - plan.first_row
            add(f"{v}/data", group["data"], ROWS)
            add("time", group["time"], ROWS)
    return extents, valid


def _check_same(file: Any, plan: RecordingPlan, step: int) -> None:
    """Refuse a file of other variables or components, or one that ends before a step."""
    names = {name for name in file if isinstance(file[name], h5py.Group)}
    wanted = {c.variable for c in plan.columns}
    if names != wanted:
        texts = (", ".join(sorted(some)) or "nothing" for some in (names, wanted))
        raise RecordingError("holds {}, and this run records {}".format(*texts))
    for c in plan.columns:
        uids = [uid.encode() for uid in c.uids.tolist()]
        if file[c.variable]["uids"][()].tolist() != uids:
            raise RecordingError(f"holds other components of '{c.variable}' than this run")
    held = file["metadata"].attrs
    for name, value in plan.sampling.items():
        if held.get(name) != value:
            raise RecordingError(f"'{name}' is {held.get(name)}, and {value} in this run")
    for c in plan.columns:
        group = file[c.variable]
        rows = plan.rows_before(step) - plan.first_row
        if not c.events and int(group["valid_rows"][()]) < rows:
            raise RecordingError(f"ends before step {step:,}: {rows:,} rows are needed")
        if c.events and int(group["valid_steps"][()]) < step:
            raise RecordingError(f"ends before step {step:,}")


def _runs(dataset: Any, row_bytes: int) -> list[tuple[int, int, int]]:
    """Return where the chunks of a data set lie: runs of (first row, rows, byte offset)."""
    chunks: list[tuple[int, int]] = []
    if row_bytes:
        dataset.id.chunk_iter(lambda c: chunks.append((c.chunk_offset[0], c.byte_offset)))
    runs: list[tuple[int, int, int]] = []
    rows = dataset.chunks[0]
    for first, offset in sorted(chunks):
        if runs and runs[-1][2] + runs[-1][1] * row_bytes == offset:
            runs[-1] = (runs[-1][0], runs[-1][1] + rows, runs[-1][2])
        else:
            runs.append((first, rows, offset))
    return runs


def _encoded(texts: npt.NDArray[np.str_] | LateNames) -> npt.NDArray[np.bytes_]:
    """Return texts in UTF-8."""
    out = [text.encode() for text in texts.tolist()]
    return np.array(out, dtype=f"S{max(map(len, out), default=0) or 1}")


def _allocate(
    file: Any, shape: tuple[int, ...] | None, dtype: np.dtype[Any]
) -> tuple[Any, list[tuple[int, int, int]], int]:
    """Make a data set without a name, all of it allocated and none of it written.

    Return it with the runs and the bytes of its rows; for a ``shape`` of None it is one element.
    """
    properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    properties.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
    properties.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
    kind = h5py.h5t.py_create(dtype, logical=True)
    if shape is None:
        space = h5py.h5s.create(h5py.h5s.SCALAR)
        dataset = h5py.h5d.create(file.id, None, kind, space, properties)
        return h5py.Dataset(dataset), [(0, 1, dataset.get_offset())], dtype.itemsize
    row_bytes = dtype.itemsize * int(np.prod(shape[1:]))
    chunk_rows = max(1, min(shape[0], CHUNK_BYTES // max(1, row_bytes)))
    properties.set_chunk((chunk_rows, *(max(1, n) for n in shape[1:])))
    # HDF5 refuses a fixed length of 0, so a variable without columns may grow both ways.
    limits = (h5py.h5s.UNLIMITED, *(n or h5py.h5s.UNLIMITED for n in shape[1:]))
    space = h5py.h5s.create_simple(shape, limits)
    dataset = h5py.h5d.create(file.id, None, kind, space, properties)
    made = h5py.Dataset(dataset)
    return made, _runs(made, row_bytes), row_bytes


def _write_all(fd: int, data: memoryview, offset: int) -> None:
    """Write at an address; one call of the system may write less than it was given."""
    while data:
        done = system.write_at(fd, data, offset)
        data, offset = data[done:], offset + done


def _copy(source: int, target: int, origin: int, offset: int, count: int) -> None:
    """Copy bytes between files, inside the kernel where it can."""
    while count:
        done = system.copy_range(source, target, min(count, COPY_BYTES), origin, offset)
        if not done:
            data = system.read_at(source, min(count, CHUNK_BYTES), origin)
            _write_all(target, memoryview(data), offset)
            done = len(data)
        if not done:
            raise OSError(errno.EIO, f"{count} bytes at address {origin} cannot be read back")
        origin, offset, count = origin + done, offset + done, count - done
