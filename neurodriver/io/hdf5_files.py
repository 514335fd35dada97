"""Opens HDF5 files, and checks those that are read; each failure is one sentence.

A file is data. What it holds lies in it: links out of the file, raw data elsewhere and data sets
that other files make up are refused. See ``docs/reliability.md``.
"""

from __future__ import annotations

import io
import math
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any

import h5py

from ..errors import CircuitError, NeurodriverError, quoted
from ..system import read_at

BROKEN: tuple[type[Exception], ...] = (
    OSError, RuntimeError, ValueError, TypeError, LookupError, ArithmeticError, AttributeError,
    AssertionError, MemoryError,
)  # fmt: skip
"""What h5py raises where a file is damaged."""


BUFFER = 1 << 20
"""Bytes that are written at once."""


def said(error: BaseException) -> str:
    """Return what an exception of h5py says, on one line, not too long."""
    if isinstance(error, MemoryError):
        return "it does not fit into the memory of this machine"
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 200 else f"{text[:200]}..."


@contextmanager
def reading(path: object, error: type[NeurodriverError] = CircuitError) -> Iterator[None]:
    """Turn an exception of h5py in a damaged file into one sentence that names the file.

    ``path`` is a file, or a file and a place in it.
    """
    try:
        yield
    except BROKEN as broken:
        if isinstance(broken, NeurodriverError):
            raise
        raise error(f"{path}: damaged ({said(broken)})") from None


class _Writes(io.FileIO):
    """A file whose first failed write is kept, and which takes all later ones for done.

    HDF5 does not survive a write that fails: objects stay open, and the process may end in a fault.
    """

    failed: OSError | None = None

    def write(self, data: Any) -> int:
        left = memoryview(data).cast("B")
        size = len(left)
        while self.failed is None and left:
            try:
                left = left[super().write(left) :]
            except OSError as error:
                self.failed = error
        self.seek(len(left), os.SEEK_CUR)  # as if the rest had been written
        return size

    def truncate(self, size: int | None = None) -> int:
        try:
            return super().truncate(size)
        except OSError as error:
            self.failed = self.failed or error
            return size or 0


@contextmanager
def written_hdf5(path: Path, mode: str = "w", **options: Any) -> Iterator[h5py.File]:
    """Open a file for writing, new or as it is.

    Parameters
    ----------
    mode : {"w", "r+"}
    **options
        As of ``h5py.File``.

    Raises
    ------
    OSError
        When a write has failed; at the end of the block.
    """
    writes = _Writes(path, "w+b" if mode == "w" else "r+b")
    try:
        with (
            io.BufferedRandom(writes, BUFFER) as buffer,
            h5py.File(buffer, mode, **options) as file,
        ):
            yield file
    except BROKEN:
        if writes.failed is None:
            raise
    if writes.failed is not None:
        raise writes.failed


def open_hdf5(
    path: Path,
    error: type[NeurodriverError] = CircuitError,
    linked: bool = False,
    locking: bool | None = False,
) -> h5py.File:
    """Open a file for reading, and check all of its links and data sets.

    Parameters
    ----------
    error : subclass of NeurodriverError
        Raised if the file does not exist, is damaged, or has values in other files.
    linked : bool
        Whether links to files of the same folder, or below it, are allowed.
    locking : bool or None
        As of ``h5py.File``. Without a lock a file can be read on all network file systems; but a
        script cannot open the same file with other settings meanwhile.

    Raises
    ------
    error
        With the file, and the place in it.
    """
    try:
        if not path.exists():
            raise error(f"{path}: no such file")
        if not path.is_file():
            raise error(f"{path}: not a regular file; an HDF5 file is expected")
    except (OSError, ValueError) as broken:
        if isinstance(broken, NeurodriverError):
            raise
        raise error(f"{path}: cannot be read ({said(broken)})") from None
    if place := _damaged_heap(path, SCANNED):
        raise error(f"{path}: damaged (its heap of texts at byte {place:,} is not in order)")
    try:
        file = h5py.File(path, "r", locking=locking)
    except BROKEN as broken:
        raise error(
            f"{path}: cannot be read as HDF5, not a whole HDF5 file ({said(broken)})"
        ) from None
    try:
        with reading(path, error):
            for fault in _strangers(file, linked):
                raise error(f"{path}: {fault}")
    except BaseException:
        file.close()
        raise
    return file


def _strangers(file: h5py.File, linked: bool) -> Iterator[str]:
    """Yield one phrase for each link or data set that leads out of a file."""
    sets: list[bytes] = []
    links: list[tuple[bytes, int]] = []

    def see(name: bytes, info: Any) -> None:
        if info.type == h5py.h5l.TYPE_HARD:
            sets.append(name)
        else:
            links.append((name, info.type))

    file.id.links.visit(see, info=True)
    for name, kind in links:
        where = quoted("/" + name.decode(errors="replace"))
        if kind == h5py.h5l.TYPE_SOFT:
            if file.get(name) is None:
                yield f"{where} is a link that leads nowhere"
            continue
        target = file.id.links.get_val(name)[0].decode(errors="replace")
        if not linked or kind != h5py.h5l.TYPE_EXTERNAL or not _beside(target):
            beside = " outside of its folder" if linked else ""
            what = f"a link to the file {quoted(target, 300)}{beside}"
            yield f"{where} is {what}, which is not followed"
    groups = {b"": h5py.h5o.get_info(file.id).addr}
    for name in sets:
        info = h5py.h5o.get_info(file.id, name)
        if info.type == h5py.h5o.TYPE_GROUP:
            parts = name.split(b"/")
            if info.addr in (groups.get(b"/".join(parts[:n])) for n in range(len(parts))):
                yield f"{quoted('/' + name.decode(errors='replace'))} is a group that it lies in"
            groups[name] = info.addr
        if info.type != h5py.h5o.TYPE_DATASET:
            continue
        plan = h5py.h5d.open(file.id, name).get_create_plist()
        where = quoted("/" + name.decode(errors="replace"))
        if plan.get_external_count():
            target = plan.get_external(0)[0].decode(errors="replace")
            yield f"the values of {where} lie in the file {quoted(target, 300)}, which is not read"
        if plan.get_layout() == h5py.h5d.VIRTUAL:
            names = {plan.get_virtual_filename(i) for i in range(plan.get_virtual_count())}
            if elsewhere := sorted(names - {"."}):
                say = "which is not read; copy the values into this file"
                yield f"the values of {where} lie in the file {quoted(elsewhere[0], 300)}, {say}"


SCANNED = 1 << 28
"""Bytes of a file that are searched for heaps; of a larger one its beginning and its end."""

_BLOCK = 1 << 24
_HEAP = b"GCOL\x01\x00\x00\x00"


def _damaged_heap(path: Path, most: int) -> int | None:
    """Return where a file has a heap of texts in which HDF5 would loop endlessly, or None.

    HDF5 2.0 goes from object to object by their sizes, and does not end where one is 0.
    """
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            half = most // 2
            parts = [(0, size)] if size <= most else [(0, half), (size - half, size)]
            for begin, end in parts:
                for first in range(begin, end, _BLOCK):
                    block = read_at(file.fileno(), _BLOCK + len(_HEAP) - 1, first)
                    at = block.find(_HEAP)
                    while at >= 0:
                        if not _in_order(file.fileno(), first + at, size):
                            return first + at
                        at = block.find(_HEAP, at + 1)
    except OSError:  # whoever opens it says why
        return None
    return None


def _in_order(fd: int, place: int, size: int) -> bool:
    """Whether the objects of a heap fill it."""
    (whole,) = struct.unpack("<Q", read_at(fd, 8, place + 8).ljust(8, b"\0"))
    if whole > size - place:
        return False
    heap, at = read_at(fd, whole, place), 16
    while at + 16 <= len(heap):
        number, _, _, length = struct.unpack_from("<HHIQ", heap, at)
        step = 16 + -(-length // 8) * 8 if number else length
        if not step or at + step > whole:
            return False
        at += step
    return True


def _beside(target: str) -> bool:
    """Whether a link leads to a file in the same folder, or below it."""
    place = PurePosixPath(target)
    return not place.is_absolute() and ".." not in place.parts


def unwritten(data: h5py.Dataset) -> str:
    """Return which values of a data set were never written, or ""."""
    if not data.size or data.is_virtual:
        return ""
    if data.chunks is None:
        stored = data.id.get_create_plist().get_layout() == h5py.h5d.COMPACT
        return "" if stored or data.id.get_offset() is not None else "none was ever written"
    pairs = zip(data.shape, data.chunks, strict=True)
    every = math.prod(-(-size // part) for size, part in pairs)
    lost = every - data.id.get_num_chunks()
    return f"{lost:,} of its {every:,} chunks were never written" if lost > 0 else ""


class StoredData:
    """A data set that is read later; errors name the file and the place.

    Parameters
    ----------
    where : str
        File and place.
    """

    def __init__(self, data: h5py.Dataset, where: str, error: type[NeurodriverError]) -> None:
        self._data, self._where, self._error = data, where, error
        with reading(where, error):
            self.shape, self.dtype = data.shape, data.dtype
            self.ndim = -1 if data.shape is None else data.ndim

    def demand(self, kinds: str, axes: int) -> StoredData:
        """Raise where the values are of another kind, or have another number of axes."""
        if self.ndim != axes:
            got = "nothing" if self.ndim < 0 else f"the shape {self.shape}"
            raise self._error(f"{self._where}: {axes} axes are needed, it has {got}")
        if self.dtype.kind not in kinds:
            raise self._error(f"{self._where}: numbers are needed, it holds {self.dtype}")
        return self

    def __getitem__(self, key: Any) -> Any:
        with reading(self._where, self._error):
            return self._data[key]

    def __len__(self) -> int:
        return int(self.shape[0])

    def __bool__(self) -> bool:
        return bool(self._data)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not hasattr(h5py.Dataset, name):
            raise AttributeError(name)
        with reading(self._where, self._error):
            return getattr(self._data, name)
