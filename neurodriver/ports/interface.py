"""Interfaces: the ports of one or more circuits, with number, direction and type."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from ..errors import SHOWN, PortError
from .blocks import Blocks, expanded, one_identifier
from .identifiers import Identifiers, Mask, PortIndex, Rows
from .labels import Labels, by_column
from .selector import Selector, SelectorLike, blocks_of, matching

COLUMNS = ("interface", "io", "type")


def named(ids: Identifiers, rows: Rows) -> str:
    """Return some identifiers as a message shows them."""
    texts = ids.take(rows[:SHOWN]).texts()
    more = f" and {len(rows) - SHOWN:,} more" if len(rows) > SHOWN else ""
    return ", ".join(f"'{text}'" for text in texts) + more


class Interface:
    """Ports with the attributes ``interface`` (number), ``io`` and ``type``.

    ``io`` is 'in' or 'out', ``type`` 'gpot' or 'spike'; an attribute that is not set is NaN.
    ``i[selector] = [0, 'in', 'spike']`` sets attributes, also ``i[selector, 'io'] = 'in'``.

    Parameters
    ----------
    selector : SelectorLike
        The ports.

    Attributes
    ----------
    ids : Identifiers
    labels : dict of str to Labels
        The attributes, a column each.

    Raises
    ------
    PortError
        When a port stands twice.
    """

    index_class: ClassVar[type[PortIndex]] = PortIndex
    selector_class: ClassVar[type[Selector]] = Selector

    def __init__(self, selector: SelectorLike = "") -> None:
        self._begin(self.selector_class(selector).ids)

    def _begin(self, ids: Identifiers) -> None:
        self.ids = ids
        self.labels = {name: Labels(name, len(ids)) for name in COLUMNS}
        if len(again := self.find.duplicates):
            raise PortError(f"Duplicate interface index entries detected: {named(ids, again)}")

    @classmethod
    def of_identifiers(cls, ids: Identifiers) -> Self:
        """Return an interface whose attributes are not set."""
        out = cls.__new__(cls)
        out._begin(ids)
        return out

    @cached_property
    def find(self) -> PortIndex:
        """The index that finds ports."""
        return self.index_class(self.ids)

    def __len__(self) -> int:
        return len(self.ids)

    def rows(self, selector: SelectorLike) -> Rows:
        """Return the rows of the ports of a selector; every one has to be there.

        Raises
        ------
        PortError
            Which names the ports that are not.
        """
        blocks = self._blocks(selector)
        one = one_identifier(blocks)  # the short way for p['/a[0]', '/b[0]'] = 1
        if one and (row := self.find.find_one(one)) >= 0:
            return np.array([row])
        if any(b.ambiguous for b in blocks):
            rows = matching(blocks, self.ids)
            if not len(rows):
                raise PortError(f"no port matches the selector {selector!r}")
            return rows
        ids = expanded(blocks)
        rows = self.find.find(ids)
        if len(missing := np.flatnonzero(rows < 0)):
            message = f"no such port: {named(ids, missing)}"
            raise PortError(f"{message}; '/a/*' means the ports below '/a'")
        return rows

    def _blocks(self, selector: SelectorLike) -> Blocks:
        return blocks_of(selector)

    def __setitem__(self, key: Any, value: Any) -> None:
        selector, *names = key if isinstance(key, tuple) else (key,)
        rows = self.rows(selector)
        if len(rows):
            self.assign(rows, by_column(names, list(self.labels), value))

    def assign(self, rows: Rows, values: Any) -> None:
        """Set attributes of some ports, by name; nothing is set where a value is wrong."""
        columns = {str(name): self._column(str(name)) for name in values}
        numbers = [columns[str(n)].numbers(len(rows), value) for n, value in values.items()]
        for (name, column), number in zip(columns.items(), numbers, strict=True):
            column.codes[rows] = number
            self.labels[name] = column

    def _column(self, name: str) -> Labels:
        if name not in self.labels:
            raise PortError(f"no attribute '{name}'; there are {', '.join(self.labels)}")
        return self.labels[name]

    def mask(self, i: Any = None, **attributes: Any) -> Mask:
        """Return which ports are in interface ``i`` (None: in any) and have these attributes."""
        mask: Mask = np.ones(len(self), np.bool_)
        if i is not None:
            mask &= self.labels["interface"].equal(i)
        for name, value in attributes.items():
            mask &= self.labels[name].equal(value)
        return mask

    @property
    def interface_ids(self) -> set[Any]:
        """Numbers of the interfaces that have ports."""
        return self.labels["interface"].distinct()

    def taken(self, rows: Rows | Mask) -> Self:
        """Return some of the ports with their attributes."""
        out = self.__class__.__new__(self.__class__)
        out.__dict__.update({k: v for k, v in self.__dict__.items() if k not in ("find", "labels")})
        out.ids = self.ids.take(rows)
        out.labels = {name: column.take(rows) for name, column in self.labels.items()}
        return out

    def __repr__(self) -> str:
        shown = [f"{name}: {column.counts()}" for name, column in self.labels.items()]
        return f"<{type(self).__name__} of {len(self):,} ports; {'; '.join(shown)}>"
