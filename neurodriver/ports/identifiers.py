"""Port identifiers as columns of codes, and finding them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from .tokens import PAD, Codes, Token, decode_all, encode_all, rank

Rows = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

RADIX_LIMIT = 2**62
"""Keys stay below this; more levels are first replaced by their place among the keys so far."""


class Identifiers:
    """Port identifiers, one column of codes per level.

    Parameters
    ----------
    codes : (levels, n) int64
        Codes of the tokens; ``PAD`` where an identifier has no such level.
    """

    __slots__ = ("codes",)

    def __init__(self, codes: Codes) -> None:
        self.codes = codes

    def __len__(self) -> int:
        return int(self.codes.shape[1])

    def __reduce__(self) -> tuple[Any, ...]:
        # codes of strings hold in this process only
        tables = [np.unique(column, return_inverse=True) for column in self.codes]
        levels = [(decode_all(found), inverse.reshape(-1)) for found, inverse in tables]
        return _restore, (levels, len(self))

    @property
    def levels(self) -> int:
        """Number of levels of the longest identifier."""
        return int(self.codes.shape[0])

    @property
    def depth(self) -> Rows:
        """Number of levels of each identifier, (n,)."""
        depth: Rows = (self.codes != PAD).sum(axis=0)
        return depth

    def trimmed(self) -> Identifiers:
        """Return the same identifiers without levels that none of them has."""
        levels = self.levels
        while levels and (self.codes[levels - 1] == PAD).all() and len(self):
            levels -= 1
        return self if levels == self.levels else Identifiers(self.codes[:levels])

    def padded(self, levels: int) -> Codes:
        """Return the codes with at least so many levels, (levels, n)."""
        if levels <= self.levels:
            return self.codes
        return np.pad(self.codes, ((0, levels - self.levels), (0, 0)), constant_values=PAD)

    def take(self, rows: Rows | Mask) -> Identifiers:
        """Return the identifiers of some rows."""
        return Identifiers(self.codes[:, rows])

    @staticmethod
    def joined(parts: Sequence[Identifiers]) -> Identifiers:
        """Return the identifiers of all parts, one after the other."""
        levels = max((p.levels for p in parts), default=0)
        if not parts:
            return Identifiers(np.empty((0, 0), np.int64))
        return Identifiers(np.concatenate([p.padded(levels) for p in parts], axis=1))

    def texts(self) -> list[str]:
        """Return ``/a/0`` per identifier."""
        if not self.levels:
            return [""] * len(self)
        columns = []
        for column in self.codes:
            found, inverse = np.unique(column, return_inverse=True)
            written = [f"/{token}" if token != "" else "" for token in decode_all(found)]
            columns.append([written[i] for i in inverse.reshape(-1).tolist()])
        return ["".join(parts) for parts in zip(*columns, strict=True)]

    def order(self) -> Rows:
        """Return the rows in lexicographic order; integers stand before strings."""
        if not self.levels:
            return np.arange(len(self))
        return np.lexsort([rank(column) for column in self.codes[::-1]])


def _restore(levels: list[tuple[list[Token], Rows]], count: int) -> Identifiers:
    columns = [encode_all(tokens)[inverse] for tokens, inverse in levels]
    return Identifiers(np.array(columns, np.int64).reshape(len(levels), count))


def distinct(column: Codes) -> Codes:
    """Return the sorted distinct codes; constant and rising columns need no sorting."""
    if len(column) > 1 and (column[0] == column).all():
        return column[:1]
    if (column[1:] > column[:-1]).all():
        return column
    ordered = np.sort(column)  # np.unique hashes, which takes ten times as long here
    kept = np.concatenate([[True], ordered[1:] != ordered[:-1]])
    out: Codes = ordered[kept]
    return out


def _place(values: Codes, code: int) -> int:
    """Return where a code stands among sorted distinct ones, -1 where it does not."""
    place = int(values.searchsorted(code))
    return place if place < len(values) and values[place] == code else -1


def _places(values: Codes, codes: Codes, repeats: bool = False) -> Rows:
    """Return where codes stand among sorted ones, first of equals, -1 where they do not."""
    count = len(values)
    if not repeats and values[-1] - values[0] == count - 1:  # an interval needs no search
        place = codes - values[0]
        return np.where((place >= 0) & (place < count), place, -1)
    place = np.minimum(np.searchsorted(values, codes), count - 1)
    return np.where(values[place] == codes, place, -1)


class PortIndex:
    """Finds identifiers among others.

    Every level's codes become places among the sorted codes of that level; the places of all levels
    make one key, and keys are looked up by bisection. So a look-up is a few NumPy calls, for one
    port or for a million.

    Parameters
    ----------
    ids : Identifiers
        The identifiers to be found, each at its row.
    """

    def __init__(self, ids: Identifiers) -> None:
        self.ids = ids
        self._values: list[Codes] = []
        self._prefixes: dict[int, Codes] = {}
        key = np.zeros(len(ids), np.int64)
        size = 1
        for level, column in enumerate(ids.codes):
            values = distinct(column)
            if size > RADIX_LIMIT // max(len(values), 1):
                self._prefixes[level] = prefixes = distinct(key)
                key, size = _places(prefixes, key), len(prefixes)
            self._values.append(values)
            if len(values) > 1:
                key = key * len(values) + _places(values, column)
            size *= max(len(values), 1)
        if (key[1:] > key[:-1]).all():
            self._rows, self._keys = None, key
        else:
            self._rows = np.argsort(key, kind="stable")
            self._keys = key[self._rows]

    def __reduce__(self) -> tuple[Any, ...]:
        return PortIndex, (self.ids,)

    def _key(self, ids: Identifiers) -> Codes:
        """Return the keys of identifiers, -1 where there is none such."""
        levels = len(self._values)
        codes = ids.padded(levels)
        known = (codes[levels:] == PAD).all(axis=0)
        key = np.zeros(len(ids), np.int64)
        for level, values in enumerate(self._values):
            if level in self._prefixes:
                key = _places(self._prefixes[level], key)
                known &= key >= 0
            place = _places(values, codes[level])
            known &= place >= 0
            key = key * len(values) + place
        return np.where(known, key, -1)

    def find(self, ids: Identifiers) -> Rows:
        """Return the row of each identifier, -1 where it is unknown, (n,).

        Of equal identifiers the first is found.
        """
        if not len(self._keys) or not len(ids):
            return np.full(len(ids), -1)
        key = self._key(ids)
        place = _places(self._keys, key, repeats=self._rows is not None)
        return place if self._rows is None else np.where(place >= 0, self._rows[place], -1)

    def find_one(self, codes: Sequence[int]) -> int:
        """Return the row of one identifier, -1 where it is unknown."""
        if not len(self._keys) or len(codes) > len(self._values):
            return -1
        key = 0
        for level, values in enumerate(self._values):
            if level in self._prefixes:
                key = _place(self._prefixes[level], key)
            place = _place(values, codes[level] if level < len(codes) else PAD)
            if place < 0 or key < 0:
                return -1
            key = key * len(values) + place
        place = _place(self._keys, key)
        return place if place < 0 or self._rows is None else int(self._rows[place])

    @cached_property
    def duplicates(self) -> Rows:
        """Rows whose identifier stands at an earlier row too, in the order of the rows."""
        again = np.flatnonzero(self._keys[1:] == self._keys[:-1]) + 1
        return np.sort(again if self._rows is None else self._rows[again])
