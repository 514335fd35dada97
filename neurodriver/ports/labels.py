"""A column of attributes that many ports share: each value once, and its number per port."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, TypeGuard

import numpy as np
import numpy.typing as npt

from ..errors import PortError, near
from .identifiers import Mask, Rows

UNSET = -1
ALLOWED = {"io": ("in", "out"), "type": ("gpot", "spike")}
"""Attributes whose values are fixed."""


def is_sequence(value: object) -> TypeGuard[Sequence[Any]]:
    """Whether a value stands for several values, and is no text."""
    return isinstance(value, Sequence | np.ndarray) and not isinstance(value, str | bytes)


def plain(value: Any) -> Any:
    """Return a value without NumPy's type; None when it is missing (None or NaN)."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float):
        if np.isnan(value):
            return None
        return int(value) if value.is_integer() else value
    return value


Values = set[Any]  # a name that `Labels.set` does not hide


class Labels:
    """Attributes of n ports, unset at first.

    Parameters
    ----------
    name : str
        Name of the attribute.
    count : int
        Number of ports.
    """

    def __init__(self, name: str, count: int) -> None:
        self.name = name
        self.codes: npt.NDArray[np.int32] = np.full(count, UNSET, np.int32)
        self._values: list[Any] = []
        self._code: dict[Any, int] = {}

    def _number(self, value: Any) -> int:
        """Return the number of a value, a new one when it is new."""
        value = plain(value)
        if value is None:
            return UNSET
        allowed = ALLOWED.get(self.name)
        if allowed and value not in allowed:
            if value == "":
                return UNSET
            said = " or ".join(f"'{a}'" for a in allowed)
            hint = near(str(value), allowed)
            raise PortError(f"attribute '{self.name}' is {said} (got {value!r}){hint}")
        if not isinstance(value, Hashable):
            raise PortError(f"attribute '{self.name}' has to be a single value (got {value!r})")
        code = self._code.setdefault(value, len(self._values))
        if code == len(self._values):
            self._values.append(value)
        return code

    def set(self, rows: Rows | Mask | slice, value: Any) -> None:
        """Set the attribute of some ports to one value, or to one each."""
        self.codes[rows] = self.numbers(len(self.codes[rows]), value)

    def numbers(self, count: int, value: Any) -> int | list[int]:
        """Return the numbers of one value, or of one each for so many ports."""
        if not is_sequence(value):
            return self._number(value)
        if len(value) != count:
            message = f"{count} values are needed, one per port (got {len(value)})"
            raise PortError(f"attribute '{self.name}': {message}")
        return [self._number(v) for v in value]

    def equal(self, value: Any) -> Mask:
        """Return which ports have this value, (n,)."""
        mask: Mask = self.codes == self._code.get(plain(value), UNSET - 1)
        return mask

    @property
    def unset(self) -> Mask:
        """Which ports have no value, (n,)."""
        mask: Mask = self.codes == UNSET
        return mask

    def values(self, rows: Rows | Mask | slice = slice(None)) -> npt.NDArray[np.object_]:
        """Return the values of some ports; NaN where unset."""
        table = np.empty(len(self._values) + 1, object)
        table[:-1] = self._values
        table[-1] = np.nan
        out: npt.NDArray[np.object_] = table[self.codes[rows]]
        return out

    def distinct(self, rows: Rows | Mask | slice = slice(None)) -> Values:
        """Return the values that some ports have."""
        return {self._values[c] for c in np.unique(self.codes[rows]).tolist() if c != UNSET}

    def counts(self) -> str:
        """Return how many ports have which value, for messages."""
        most = sorted(self.distinct(), key=str)[:4]
        counts = [f"{int(self.equal(v).sum()):,} {v!r}" for v in most]
        return ", ".join([*counts, f"{int(self.unset.sum()):,} unset"])

    def take(self, rows: Rows | Mask | slice) -> Labels:
        """Return the attributes of some ports."""
        out = Labels(self.name, 0)
        out.codes = self.codes[rows].copy()
        out._values, out._code = list(self._values), dict(self._code)
        return out


def by_column(names: Sequence[str], columns: Sequence[str], value: Any) -> Mapping[str, Any]:
    """Return which column gets which value.

    Parameters
    ----------
    names : sequence of str
        Columns that were named; none: all, in order.
    columns : sequence of str
        All columns.
    value : mapping, sequence or scalar
        A scalar goes to each column named, or to the first of all.

    Raises
    ------
    PortError
        When there are more values than columns.
    """
    if isinstance(value, Mapping):
        return value
    if not is_sequence(value):
        return dict.fromkeys(names or columns[:1], value)
    wanted = names or columns
    if len(value) > len(wanted):
        message = f"{len(value)} values for {len(wanted)} columns ({', '.join(wanted)})"
        raise PortError(f"cannot assign specified value: {message}")
    return dict(zip(wanted, value, strict=False))
