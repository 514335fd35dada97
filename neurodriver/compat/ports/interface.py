"""Interfaces with the methods of the old library: tables, tuples, compatibility, port mappers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from ...errors import PortError
from ...ports.grammar import parse_list
from ...ports.identifiers import Identifiers, Mask, PortIndex
from ...ports.interface import COLUMNS, named
from ...ports.labels import by_column
from ...ports.tokens import Token
from .frames import import_pandas
from .methods import to_identifier
from .port_mapper import BasePortMapper
from .port_table import PortTable, same
from .selector import Selector, SelectorLike, rows_of
from .tuples import Tuples, tuples_of

if TYPE_CHECKING:
    import networkx as nx


class Interface(PortTable):
    """Ports with the attributes ``interface`` (number), ``io`` and ``type``.

    ``io`` is 'in' or 'out', ``type`` 'gpot' or 'spike'; what is not set is NaN.
    ``i[selector] = [0, 'in', 'spike']`` sets attributes, also ``i[selector, 'io'] = 'in'``;
    ``i[selector]`` is a table of pandas.

    Parameters
    ----------
    selector : SelectorLike
        The ports.
    columns : sequence of str
        Names of the attributes.

    Raises
    ------
    PortError
        When a port stands twice.
    """

    def __init__(self, selector: SelectorLike = "", columns: Sequence[str] = COLUMNS) -> None:
        super().__init__(selector, columns)
        self.pm: dict[str, BasePortMapper] = {}

    def _begin(self, ids: Identifiers) -> None:
        super()._begin(ids)
        self.pm = {}

    @classmethod
    def from_csv(cls, file_name: str | Path, **kwargs: Any) -> Interface:
        """Read a file as ``i.data.to_csv(file)`` writes it.

        Parameters
        ----------
        file_name : path
            The columns before 'interface', 'io' or 'type' hold the identifiers.
        kwargs
            Passed to ``pandas.read_csv``.
        """
        pandas = import_pandas()
        if "index_col" not in kwargs:
            head = list(pandas.read_csv(file_name, **{**kwargs, "nrows": 0}).columns)
            first = min((head.index(name) for name in COLUMNS if name in head), default=0)
            kwargs["index_col"] = list(range(max(first, 1)))
        return cls.from_df(pandas.read_csv(file_name, **kwargs))

    @classmethod
    def from_dict(cls, d: Mapping[Any, Any]) -> Interface:
        """Return the interface of ``{selector: attributes}``, its ports in lexicographic order.

        Parameters
        ----------
        d : mapping
            A scalar is the first attribute, a sequence the attributes in order, a mapping goes by
            name.
        """
        listed = all(isinstance(key, str) for key in d) and parse_list(",".join(d))
        if listed and sum(map(len, listed)) == len(d):
            ids, counts = Selector.of_blocks(listed).ids, np.ones(len(d), np.int64)
        else:
            parts = [Selector(key).ids for key in d]
            ids, counts = Identifiers.joined(parts), np.array([len(p) for p in parts], np.int64)
        out = cls.of_identifiers(ids)
        owner = np.repeat(np.arange(len(d)), counts)
        told = [by_column((), COLUMNS, value) for value in d.values()]
        for name in dict.fromkeys(str(n) for values in told for n in values):
            given = [values.get(name) for values in told]
            out.assign(np.arange(len(ids)), {name: [given[k] for k in owner.tolist()]})
        return out.taken(ids.order())

    @classmethod
    def from_graph(cls, g: nx.Graph) -> Interface:
        """Return the interface whose ports are the nodes of a graph, with their attributes."""
        return cls.from_dict(dict(g.nodes(data=True)))

    @classmethod
    def from_selectors(
        cls,
        sel: SelectorLike,
        sel_in: SelectorLike = "",
        sel_out: SelectorLike = "",
        sel_spike: SelectorLike = "",
        sel_gpot: SelectorLike = "",
        *sel_int_list: SelectorLike,
    ) -> Interface:
        """Return an interface from selectors of its ports, by direction, type and number."""
        out = cls(sel)
        out[sel_in, "io"] = "in"
        out[sel_out, "io"] = "out"
        out[sel_spike, "type"] = "spike"
        out[sel_gpot, "type"] = "gpot"
        for number, part in enumerate(sel_int_list):
            out[part, "interface"] = number
        return out

    @overload
    def _chosen(self, mask: Mask, tuples: Literal[True]) -> Tuples: ...
    @overload
    def _chosen(self, mask: Mask, tuples: bool) -> Interface | Tuples: ...
    def _chosen(self, mask: Mask, tuples: bool) -> Interface | Tuples:
        return tuples_of(self.ids.take(mask)) if tuples else self.taken(mask)

    def in_ports(self, i: Any = None, tuples: bool = False) -> Interface | Tuples:
        """Return the input ports, of interface ``i`` or of all, as an interface or as tuples."""
        return self._chosen(self.mask(i, io="in"), tuples)

    def out_ports(self, i: Any = None, tuples: bool = False) -> Interface | Tuples:
        """Return the output ports, of interface ``i`` or of all, as an interface or as tuples."""
        return self._chosen(self.mask(i, io="out"), tuples)

    def gpot_ports(self, i: Any = None, tuples: bool = False) -> Interface | Tuples:
        """Return the graded potential ports, of interface ``i`` or of all."""
        return self._chosen(self.mask(i, type="gpot"), tuples)

    def spike_ports(self, i: Any = None, tuples: bool = False) -> Interface | Tuples:
        """Return the spike ports, of interface ``i`` or of all."""
        return self._chosen(self.mask(i, type="spike"), tuples)

    def interface_ports(self, i: Any = None, tuples: bool = False) -> Interface | Tuples:
        """Return the ports of interface ``i``, or all, as an interface or as tuples."""
        return self._chosen(self.mask(i), tuples)

    @property
    def io_inv(self) -> Interface:
        """The same ports seen from the other side: 'in' is 'out'."""
        out = self.copy()
        io = self.labels["io"]
        out.labels["io"].set(io.equal("in"), "out")
        out.labels["io"].set(io.equal("out"), "in")
        return out

    def data_select(self, f: Callable[[Any], Any], inplace: bool = False) -> Interface:
        """Return the ports for which ``f(table)`` is true; ``f`` gets a table of pandas."""
        return self._selected(np.asarray(f(self.data), np.bool_), inplace)

    def port_select(
        self, f: Callable[[tuple[Token, ...]], Any], inplace: bool = False
    ) -> Interface:
        """Return the ports for which ``f(tokens)`` is true; short identifiers end in ''."""
        kept = [bool(f(t)) for t in tuples_of(self.ids, self.num_levels)]
        return self._selected(np.array(kept, np.bool_), inplace)

    def _selected(self, mask: Mask, inplace: bool) -> Interface:
        out = self.taken(mask)
        if not inplace:
            return out
        self.__dict__.pop("find", None)
        self.ids, self.labels = out.ids, out.labels
        return self

    def to_tuples(self, i: Any = None) -> Tuples:
        """Return the identifiers of interface ``i``, or all, as tuples of tokens."""
        return self._chosen(self.mask(i), True)

    def to_selectors(self, i: Any = None) -> list[str]:
        """Return the identifiers of interface ``i``, or all, as texts such as ``'/foo[0]'``."""
        return [to_identifier(t) for t in self.to_tuples(i)]

    def which_int(self, s: SelectorLike) -> set[Any]:
        """Return the numbers of the interfaces that hold ports of a selector."""
        return self.labels["interface"].distinct(rows_of(s, self.find))

    def is_in_interfaces(self, s: SelectorLike) -> bool:
        """Return whether every port of a selector is here and belongs to an interface."""
        try:
            rows = self.rows(s)
        except PortError:
            return False
        return not self.labels["interface"].unset[rows].any()

    def get_common_ports(self, a: Any, i: Interface, b: Any, t: str | None = None) -> Tuples:
        """Return the ports that interface ``a`` shares with interface ``b`` of ``i``.

        Parameters
        ----------
        t : str, optional
            Only ports that have this type on both sides.
        """
        kind = {} if t is None else {"type": t}
        mine = self.ids.take(self.mask(a, **kind))
        theirs = PortIndex(i.ids.take(i.mask(b, **kind)))
        return tuples_of(mine.take(theirs.find(mine) >= 0))

    def is_compatible(self, a: Any, i: Interface, b: Any, allow_subsets: bool = False) -> bool:
        """Return whether interface ``a`` can be connected with interface ``b`` of ``i``.

        Both have to hold the same identifiers; of each, the types have to be equal or both unset
        and the directions opposite or both unset.

        Parameters
        ----------
        allow_subsets : bool
            One such port is enough.
        """
        mine = np.flatnonzero(self.mask(a))
        found = i.find.find(self.ids.take(mine))
        theirs_too = np.append(i.mask(b), False)  # the last for what is not found
        common = theirs_too[found]
        if not allow_subsets and not (common.all() and len(mine) == theirs_too.sum()):
            return False
        rows, others = mine[common], found[common]
        fits = same(self.labels["type"], rows, i.labels["type"], others)
        fits &= same(self.labels["io"], rows, i.io_inv.labels["io"], others)
        return bool(fits.any() if allow_subsets else fits.all())

    def set_pm(self, t: str, pm: BasePortMapper) -> None:
        """Keep a copy of a port mapper for the ports of a type.

        Raises
        ------
        PortError
            When the mapper holds a port that is not of this type here.
        """
        known = PortIndex(self.ids.take(self.mask(type=t)))
        strange = np.flatnonzero(known.find(pm.ids) < 0)
        if len(strange):
            message = f"not of type '{t}' here: {named(pm.ids, strange)}"
            raise PortError(f"cannot set mapper using undefined selectors: {message}")
        self.pm[t] = pm.copy()


def are_compatible(
    sel_in_0: SelectorLike,
    sel_out_0: SelectorLike,
    sel_spike_0: SelectorLike,
    sel_gpot_0: SelectorLike,
    sel_in_1: SelectorLike,
    sel_out_1: SelectorLike,
    sel_spike_1: SelectorLike,
    sel_gpot_1: SelectorLike,
    allow_subsets: bool = False,
) -> bool:
    """Return whether two interfaces, given as selectors of their ports, can be connected.

    Parameters
    ----------
    sel_in_0, ... sel_gpot_1 : SelectorLike
        Input, output, spike and graded potential ports of the first and of the second interface.
    allow_subsets : bool
        One port that fits is enough.
    """
    sides = []
    for parts in (
        (sel_in_0, sel_out_0, sel_spike_0, sel_gpot_0),
        (sel_in_1, sel_out_1, sel_spike_1, sel_gpot_1),
    ):
        ports = Selector.add_str(*parts).ids
        rows = np.setdiff1d(np.arange(len(ports)), PortIndex(ports).duplicates)
        side = Interface.of_identifiers(ports.take(rows))
        side.labels["interface"].set(slice(None), 0)
        for name, value, part in zip(
            ("io", "io", "type", "type"), ("in", "out", "spike", "gpot"), parts, strict=True
        ):
            side[part, name] = value
        sides.append(side)
    return sides[0].is_compatible(0, sides[1], 0, allow_subsets)
