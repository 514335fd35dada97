"""Columns of a table into numbers and component numbers; every value that does not fit is named."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import Faults, quoted
from .arrow import Table, arrow

Column = NDArray[Any]
Rows = NDArray[np.int64]

EXACT = 2.0**53
"""Below it, floating-point numbers hold every whole number."""


class Values:
    """Turns the columns of one table into numpy, batch by batch.

    Parameters
    ----------
    table : Table
    faults : Faults
        Takes what is wrong, with file, column, row (from 1, the header not counted) and value.
    """

    def __init__(self, table: Table, faults: Faults) -> None:
        self.table, self.faults = table, faults
        self.row = 0
        self._told: set[str] = set()

    def note(self, name: str, bad: Column, say: Callable[[int], str]) -> None:
        """Note the rows of this batch where ``bad`` is true."""
        rows = np.flatnonzero(bad)
        where = self.table.column(name, self.faults)
        texts = (f"{where}, row {self.row + i + 1:,}: {say(i)}" for i in rows.tolist())
        self.faults.add_each(texts, len(rows))

    def _type(self, name: str, array: Any, want: str) -> None:
        """Note, once, a column of a type that has no meaning here."""
        some = next((v for v in array[:1000].to_pylist() if v is not None), None)
        got = f"{array.type}" + ("" if some is None else f", for instance {quoted(some)}")
        self.once(name, f"must hold {want} (got {got})")

    def once(self, name: str, say: str) -> None:
        """Note what is wrong with a whole column."""
        if name not in self._told:
            self._told.add(name)
            self.faults.add(f"{self.table.column(name, self.faults)}: {say}")

    def numbers(self, name: str, array: Any) -> NDArray[np.float64]:
        """Return a column of finite numbers as float64."""
        types = arrow().types
        array = _plain(array)
        kind = array.type
        if types.is_null(kind):
            out = np.full(len(array), np.nan)
        elif types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
            array = array.cast(arrow().float64(), safe=False)
            out = array.to_numpy(zero_copy_only=False).astype(np.float64, copy=False)
        else:
            self._type(name, array, "numbers")
            return np.zeros(len(array))
        bad = ~np.isfinite(out)
        if bad.any():
            empty = array.is_null().to_numpy(zero_copy_only=False)

            def say(i: int) -> str:
                got = "it is empty" if empty[i] else f"got {out[i]:g}"
                return f"must be a finite number ({got})"

            self.note(name, bad, say)
        return out

    def ids(self, name: str, array: Any) -> Any:
        """Return a column of ids as an arrow array of int64 or text, exactly; null where bad."""
        types, int64 = arrow().types, arrow().int64()
        array = _plain(array)
        kind = array.type
        if types.is_null(kind):
            array = array.cast(int64)
        elif types.is_floating(kind):
            array = self._whole(name, array)
        elif types.is_integer(kind) or types.is_decimal(kind):
            try:
                array = array.cast(int64)
            except arrow().ArrowInvalid:
                self._type(name, array, "whole numbers of 64 bits with a sign, or text")
                return arrow().nulls(len(array), int64)
        elif types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
            array = array.cast(arrow().string())
        else:
            self._type(name, array, "whole numbers or text")
            return arrow().nulls(len(array), int64)
        if not types.is_floating(kind) and array.null_count:
            empty = array.is_null().to_numpy(zero_copy_only=False)
            self.note(name, empty, lambda i: "the id is empty")
        return array

    def _whole(self, name: str, array: Any) -> Any:
        """Return floating-point ids as int64, where that is what they were."""
        values = array.to_numpy(zero_copy_only=False)
        fits = np.isfinite(values) & (np.abs(values) < EXACT)
        bad = ~fits | (np.floor(np.where(fits, values, 0)) != np.where(fits, values, 0))

        def say(i: int) -> str:
            if np.isnan(values[i]):
                return "the id is empty"
            if abs(values[i]) >= EXACT:
                lost = "a floating-point number does not hold it exactly; store ids as integers"
                return f"the id {values[i]:.0f} is too large: {lost} or text"
            return f"an id must be a whole number (got {values[i]:g})"

        self.note(name, bad, say)
        return arrow().array(np.where(bad, 0, values).astype(np.int64), mask=bad)

    def texts(self, name: str, array: Any) -> tuple[list[Any], Column]:
        """Return the different values of a column as text, and for each row which one it has."""
        coded = _plain(array).dictionary_encode()
        known = [str(v) for v in coded.dictionary.to_pylist()]
        codes = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        self.note(name, codes < 0, lambda i: "it is empty")
        return known, codes


def _plain(array: Any) -> Any:
    """Return an array with its values in their places."""
    types = arrow().types
    return array.dictionary_decode() if types.is_dictionary(array.type) else array


class Indices:
    """Component numbers that the table holds itself, from 0.

    Parameters
    ----------
    count : int or None
        Number of components; None: one more than the largest number.
    where : str
        What has so many rows, for messages.
    """

    def __init__(self, count: int | None, where: str) -> None:
        self.limit, self.where = count, where
        self.most = -1

    def codes(self, name: str, ids: Any, values: Values) -> NDArray[np.int32]:
        """Return the component numbers of a batch."""
        if ids.type != arrow().int64():
            values.note(name, np.ones(min(len(ids), 1)), lambda i: f"no number (got {ids[i]})")
            return np.zeros(len(ids), np.int32)
        given = ids.fill_null(0).to_numpy(zero_copy_only=False)
        top = 2**31 - 2 if self.limit is None else self.limit - 1
        beyond = f"{self.where} has {self.limit:,} rows" if self.limit is not None else ""
        bad = (given < 0) | (given > top)
        allowed = f"0 to {top:,}" + (f", as {beyond}" if beyond else "")
        values.note(name, bad, lambda i: f"a number of {allowed} is expected (got {given[i]})")
        self.most = max(self.most, int(given.max(initial=-1)))
        return np.where(bad, 0, given).astype(np.int32)

    @property
    def count(self) -> int:
        """Number of components."""
        return self.most + 1 if self.limit is None else self.limit


class Named:
    """Component numbers of ids that a table of nodes lists.

    Parameters
    ----------
    ids : pyarrow array of int64 or text
    where : str
        File of the nodes, for messages.
    drop : bool
        Whether edges of other nodes are left out.
    """

    def __init__(self, ids: Any, where: str, drop: bool) -> None:
        self.ids, self.where, self.drop = ids, where, drop
        self.count = len(ids)

    def codes(self, name: str, ids: Any, values: Values) -> NDArray[np.int32]:
        """Return the component numbers of a batch, -1 for an unknown node."""
        if ids.type != self.ids.type and ids.null_count < len(ids):
            say = f"ids are {ids.type} here and {self.ids.type} in {self.where}"
            values.once(name, say)
            return np.zeros(len(ids), np.int32)
        out = _places(ids, self.ids, -1)
        if not self.drop:
            lost = (out < 0) & ids.is_valid().to_numpy(zero_copy_only=False)
            fix = "add it there, or say drop_unknown=True"
            values.note(name, lost, lambda i: f"{ids[i]} is not in {self.where}; {fix}")
        return out


class Seen:
    """Component numbers of the ids that edges name, in ascending order in the end."""

    def __init__(self) -> None:
        self.ids: Any = None

    def codes(self, name: str, ids: Any, values: Values) -> NDArray[np.int32]:
        """Return numbers in the order of appearance, for `ranks`."""
        import pyarrow.compute as pc

        fresh = ids.drop_null().unique()
        if self.ids is None:
            self.ids = fresh
        elif fresh.type != self.ids.type and len(fresh):
            say = f"ids are {fresh.type} here and {self.ids.type} elsewhere"
            values.once(name, say)
            return np.zeros(len(ids), np.int32)
        elif len(fresh):
            fresh = fresh.filter(pc.invert(pc.is_in(fresh, self.ids)))
            self.ids = arrow().concat_arrays([self.ids, fresh])
        return _places(ids, self.ids, 0)

    @property
    def count(self) -> int:
        """Number of components."""
        return 0 if self.ids is None else len(self.ids)

    def ranks(self) -> tuple[Any, NDArray[np.int32]]:
        """Return the ids in ascending order, and the place there of each number given out."""
        import pyarrow.compute as pc

        order = pc.sort_indices(self.ids).to_numpy(zero_copy_only=False)
        ranks = np.empty(len(order), np.int32)
        ranks[order] = np.arange(len(order), dtype=np.int32)
        return self.ids.take(arrow().array(order)), ranks


def _places(ids: Any, known: Any, lost: int) -> NDArray[np.int32]:
    """Return where ids stand among the known ones."""
    import pyarrow.compute as pc

    found = pc.index_in(ids.cast(known.type), known).fill_null(lost)
    out: NDArray[np.int32] = found.to_numpy(zero_copy_only=False).astype(np.int32)
    return out


def id_texts(ids: Any) -> Column:
    """Return ids as names of components."""
    if ids.type == arrow().int64():
        numbers = ids.to_numpy(zero_copy_only=False)
        widest = max((len(str(n)) for n in (numbers.min(), numbers.max())), default=1)
        texts: Column = numbers.astype(f"U{widest}")
        return texts
    return np.array(ids.to_numpy(zero_copy_only=False).astype(str), dtype=np.str_)
