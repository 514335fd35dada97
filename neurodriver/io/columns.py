"""Columns in an HDF5 file: numbers as they are, text as UTF-8, all under checksums."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import quote, unquote

import h5py
import numpy as np
from numpy.typing import NDArray

from ..errors import Faults, NeurodriverError, quoted
from .hdf5_files import BROKEN, said, unwritten

Column = NDArray[Any]

CHUNK_BYTES = 2**20
"""Size of a chunk."""

COMPACT_BYTES = 2**10
"""Columns up to this size lie in the header of their data set."""

_EMPTY = "%"
"""Stands for the empty name; no other name is written so."""


def stored_name(name: object) -> str:
    """Return the name of an HDF5 object for any text."""
    text = quote(str(name), safe=" ")
    return text.replace(".", "%2E") or _EMPTY if not text.strip(".") else text


def shown_name(stored: str) -> str:
    """Return the text that a name stands for."""
    return "" if stored == _EMPTY else unquote(stored)


def put(parent: h5py.Group, name: object, column: Column, compress: bool = False) -> None:
    """Write a column of numbers, truth values or text, of any shape, under any name.

    What HDF5 has no room for in a name is escaped. Text is compressed always, numbers on demand. A
    text that cannot be stored raises NeurodriverError.
    """
    text = column.dtype.kind == "U"
    try:
        key = stored_name(name)
        values = _encoded(column) if text else np.ascontiguousarray(column)
    except UnicodeEncodeError:
        say = "holds a character that cannot be stored (half of a pair); leave it out"
        raise NeurodriverError(f"{quoted(name)} {say}") from None
    more: dict[str, Any] = {}
    if values.nbytes <= COMPACT_BYTES:
        layout = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        layout.set_layout(h5py.h5d.COMPACT)
        more["dcpl"] = layout
    else:
        rows = max(CHUNK_BYTES // max(values.nbytes // len(values), 1), 1)
        more.update(chunks=(min(rows, len(values)), *values.shape[1:]), fletcher32=True)
        if text or compress:
            more.update(compression="gzip", compression_opts=1, shuffle=not text)
    made = parent.create_dataset(key, data=values.reshape(column.shape), **more)
    if text:
        made.attrs["dtype"] = column.dtype.str


def _encoded(column: Column) -> Column:
    out = np.strings.encode(column, "utf-8")
    return out if out.dtype.itemsize else out.astype("S1")


class ColumnReader:
    """Takes columns from a file; what is wrong goes to the faults."""

    def __init__(self, faults: Faults) -> None:
        self.faults = faults

    def attempt(self, where: str, read: Callable[[], Any], what: str = "damaged") -> Any:
        """Return what a function gives, None after noting that it failed."""
        try:
            return read()
        except BROKEN as error:
            self.faults.add(f"{where}: {what} ({said(error)})")
        return None

    def attribute(self, node: Any, name: str, kind: type) -> Any:
        """Return an attribute of a type; None after noting that it is not there."""
        where = f"{node.name}, attribute '{name}'"
        value = self.attempt(where, lambda: node.attrs.get(name), "cannot be read")
        value = value.item() if isinstance(value, np.generic) else value
        value = value.decode(errors="replace") if isinstance(value, bytes) else value
        if type(value) is kind:
            return value
        want = {str: "a text", int: "a whole number", bool: "true or false"}[kind]
        got = "nothing" if value is None else f"{value!r:.60}"
        self.faults.add(f"{where}: must be {want} (got {got})")
        return None

    def members(self, parent: Any, name: str) -> dict[str, Any]:
        """Return the members of a group in their order, {} after noting that it is not there."""
        where = f"{parent.name.rstrip('/')}/{name}"
        found = self.attempt(where, lambda: parent.get(name), "cannot be read")
        if not isinstance(found, h5py.Group):
            self.faults.add(f"{where}: a group of this name is expected")
            return {}
        out = self.attempt(where, lambda: {shown_name(key): found[key] for key in found})
        return out or {}

    def column(self, parent: Any, name: str, kinds: str, *shapes: tuple[int, ...]) -> Column | None:
        """Return a column of a group; None after noting what is wrong with it.

        ``kinds`` are the admissible ``dtype.kind``, ``U`` for text; ``shapes`` the admissible
        shapes.
        """
        where = f"{parent.name}/{name}"
        found = self.attempt(where, lambda: parent.get(name), "cannot be read")
        return self.values(found, where, kinds, *shapes)

    def values(self, found: Any, where: str, kinds: str, *shapes: tuple[int, ...]) -> Column | None:
        """Return the values of a data set; None after noting what is wrong with it."""
        if not isinstance(found, h5py.Dataset):
            self.faults.add(f"{where}: this column is missing")
            return None
        dtype = self.attempt(where, lambda: found.dtype, "has a type that cannot be read")
        if dtype is None:
            return None
        if dtype.kind not in kinds.replace("U", "S"):
            want = " or ".join(dict.fromkeys(_KINDS[kind] for kind in kinds))
            self.faults.add(f"{where}: must hold {want} (got {dtype})")
            return None
        if found.shape not in shapes:
            want = " or ".join(map(str, dict.fromkeys(shapes)))
            self.faults.add(f"{where}: expected the shape {want}, got {found.shape}")
            return None
        if lost := self.attempt(where, lambda: unwritten(found)):
            self.faults.add(f"{where}: damaged ({lost})")
            return None
        return self.attempt(where, lambda: _values(found))  # type: ignore[no-any-return]


_KINDS = {"f": "numbers", "i": "whole numbers", "u": "whole numbers", "U": "text", "b": "booleans"}


def _values(found: h5py.Dataset) -> Column:
    out = np.empty(found.shape, found.dtype)
    if out.size:
        found.read_direct(out)
    if out.dtype.kind != "S":
        return out.astype(out.dtype.newbyteorder("="), copy=False)
    text = np.strings.decode(out, "utf-8")
    dtype = np.dtype(found.attrs.get("dtype", text.dtype))
    if dtype.kind != "U" or dtype.itemsize < text.dtype.itemsize:
        raise ValueError(f"text of the type {text.dtype} under the type {dtype}")
    return text.astype(dtype, copy=False)
