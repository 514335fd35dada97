"""Tables of a connectome, as they are released -> ``Circuit``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..circuit.circuit import Circuit, Column
from ..circuit.validate import repeats
from ..errors import CircuitError, Faults, quoted
from ..model.component import NDComponent
from .arrow import ColumnTable, arrow, table_name
from .releases import SHORT, SIDES, UNKNOWN, Release, release
from .tables import Number, by_appearance, places, read_tables, texts

FLY = {"weight_scale": 0.275, "delay": 1.8e-3, "receptor": "syn"}
"""Synapses of a LeakyIAFShiu: mV a synapse, s. Shiu et al. 2024, doi:10.1038/s41586-024-07763-9."""

TRANSMITTER = "transmitter"
"""Node column with the transmitter of each neuron."""

Signs = Mapping[str, Number] | Number | None


def read_connectome(
    name: str | Release,
    edges: Any,
    neurons: Sequence[Any] = (),
    *,
    model: type[NDComponent] | str = "LeakyIAFShiu",
    weight_scale: Number | tuple[Number, Number] | None = None,
    delay: Number | None = None,
    receptor: str | tuple[str, str] | None = None,
    signs: Signs = None,
    min_synapses: int = 1,
    where: Mapping[str, Any] | None = None,
    params: Mapping[str, Any] | None = None,
    drop_unknown: bool = True,
    models: Any = (),
    strict: bool = False,
) -> Circuit:
    """Read edges and neurons of a release; several rows of a pair are one connection.

    The weight of a connection is its number of synapses, times the sign of the source's
    transmitter, times ``weight_scale``. Connections are ordered by source and target, in the order
    of the first table of neurons.

    Parameters
    ----------
    name : str or Release
        ``"flywire"``, ``"neuprint"``, ``"male_cns"``, ``"banc"``; or your own preset.
    edges : str, Path or frame
        A row for each pair, or for each pair and region.
    neurons : sequence of str, Path or frame
        The neurons are those of the first table. Further tables add columns by id. Without a table
        the neurons are the ids that edges name, ascending.
    weight_scale : number or (number, number), optional
        What a synapse weighs; of sources that excite, and of those that inhibit.
    delay : number, optional
        Seconds.
    receptor : str or (str, str), optional
        One for all; or that of sources that excite, and of those that inhibit.
    signs : mapping or number, optional
        Transmitter -> factor of its synapses, in place of that of the preset. ``""`` stands for an
        unknown transmitter, 1 by default, with a warning. 0 leaves connections out. A number holds
        for all neurons.
    min_synapses : int
        Pairs with fewer synapses are left out.
    where : mapping, optional
        Column of a table of neurons -> value or list of values: other neurons are left out.
    params : mapping, optional
        Parameter -> number, or node column.
    drop_unknown : bool
        Leave out edges of neurons that are not listed, with a warning that counts them; otherwise
        they are errors.
    models, strict
        As in `Circuit.from_file`.

    Returns
    -------
    Circuit
        With the node columns ``type``, ``class``, ``super_class``, ``side``, ``region`` and
        ``transmitter``, where the tables have them, and all other columns of the neurons.

    Raises
    ------
    CircuitError
        With all faults, with file, column, row and value.
    """
    preset = release(name)
    called = table_name(edges, "the table of edges")
    faults = Faults(called)
    given = {"weight_scale": weight_scale, "delay": delay, "receptor": receptor}
    chosen = _of_synapses(model, given, faults)
    cells = _Neurons(preset, neurons, where or {}, faults)
    links = _edges(preset, edges, called, cells, faults)
    factors = _Signs(preset, signs, faults)
    if faults.count:
        faults.finish()
    ends, ids = _ends(links, cells, drop_unknown, faults)
    if cells.transmitters is not None or isinstance(signs, int | float):
        sign = factors.of(cells.transmitters, "neurons", len(ids))[ends[0]]
    else:
        sign = factors.of(links.transmitters, "rows of edges", links.table.rows)
    faults.finish(strict)
    source, target, weight = _summed(ends, links.synapses, sign, len(ids), min_synapses)
    if not len(source):
        raise CircuitError(f"{called}: no connection is left; look at min_synapses and signs")
    table = {"source": source, "target": target, "weight": weight}
    id = "id" if cells.id is None else cells.id
    columns = {key: column for key, column in cells.columns.items() if key != id}
    return read_tables(
        arrow().table(table), arrow().table({id: ids, **columns}), model=model, source="source",
        target="target", weight="weight", index=True, id=id, params=params, models=models,
        strict=strict, name=called, **chosen,
    )  # fmt: skip


def _of_synapses(
    model: type[NDComponent] | str, given: Mapping[str, Any], faults: Faults
) -> dict[str, Any]:
    """Return what is given for synapses, and for the rest that of the published fly model."""
    name = model if isinstance(model, str) else model.__name__
    usual: Mapping[str, Any] = FLY if name == "LeakyIAFShiu" else {}
    chosen = {**usual, **{key: value for key, value in given.items() if value is not None}}
    if "weight_scale" not in chosen:
        faults.add(f"weight_scale: say what a synapse of {model!r:.60} weighs")
    return chosen


def _present(table: ColumnTable, names: Iterable[str]) -> list[str]:
    """Return the columns of a table that a preset means, in the order of the preset."""
    found = []
    for name in names:
        if name.endswith("*"):
            ends = [n for n in table.names if n.startswith(name[:-1]) and n.endswith("_id")]
            found += ends
        elif name in table.names:
            found.append(name)
    return found


def _first(table: ColumnTable, names: Sequence[str], what: str, release: str) -> str:
    """Return the column of a table for something; note where there is none."""
    found = _present(table, names)
    if not found:
        known = ", ".join(quoted(n) for n in table.names[:8])
        say = f"has no column {' or '.join(quoted(n) for n in names)} with {what}"
        table.faults.add(f"{table.name} {say}, as {quoted(release)} has; it has {known}")
    return found[0] if found else ""


class _Neurons:
    """The tables of neurons, joined by id.

    Attributes
    ----------
    id : str or None
        Name of its column.
    columns : mapping of str to (n,) array
    transmitters : (n,) str array or None
    """

    def __init__(
        self, preset: Release, given: Sequence[Any], where: Mapping[str, Any], faults: Faults
    ) -> None:
        self.preset, self.faults = preset, faults
        self.ids: Any = None
        self.id: str | None = None
        self.columns: dict[str, Column] = {}
        self.transmitters: NDArray[np.str_] | None = None
        for number, one in enumerate(given):
            table = ColumnTable(one, faults, f"table {number + 1} of neurons")
            self._add(table)
        if not faults.count:
            self._choose(where)
        if not faults.count:
            self._rename()

    def _add(self, table: ColumnTable) -> None:
        id = _first(table, self.preset.id, "the id of a neuron", self.preset.name)
        names = [n for n in dict.fromkeys(table.names) if n.strip() and table.names.count(n) == 1]
        if not id:
            return
        table.need(dict.fromkeys([id, *names]))
        table.read()
        ids, before = table.ids(id), self.faults.count
        twice = list(repeats(texts(ids)))
        say = f"{table.name}, column {quoted(id)}, rows"
        self.faults.add_for(
            twice, lambda t: f"{say} {t[1] + 1:,} and {t[2] + 1:,}: both are {t[0]}"
        )
        if self.faults.count > before:
            return
        if self.ids is None:
            self.ids, self.id, rows = ids, id, None
        elif ids.type != self.ids.type:
            table.unfit(id, f"ids are {ids.type} here and {self.ids.type} in the first table")
            return
        else:
            rows = places(self.ids, ids)
        for name in names:
            column = table.node_column(name) if name != id else None
            if column is not None:
                column = column if rows is None else _taken(column, rows)
                known = self.columns.get(name)
                self.columns[name] = column if known is None else _filled(known, column)

    def _choose(self, where: Mapping[str, Any]) -> None:
        """Keep the neurons that fulfil conditions."""
        if not where:
            return
        kept = np.ones(0 if self.ids is None else len(self.ids), dtype=bool)
        for name, wanted in where.items():
            if name not in self.columns:
                known = ", ".join(self.columns) or "none"
                self.faults.add(f"where: there is no column {quoted(name)}; there are {known}")
                continue
            several = isinstance(wanted, Iterable) and not isinstance(wanted, str)
            kept &= np.isin(self.columns[name], list(wanted) if several else [wanted])
        if not kept.any() and not self.faults.count:
            self.faults.add(f"where: no neuron fulfils {dict(where)!r:.100}")
        if not self.faults.count:
            self.ids = self.ids.filter(arrow().array(kept))
            self.columns = {name: column[kept] for name, column in self.columns.items()}

    def _rename(self) -> None:
        """Give the columns the names that all connectomes share."""
        made: dict[str, Column] = {}
        used: set[str] = set()
        for name, sources in {**self.preset.columns, TRANSMITTER: self.preset.transmitter}.items():
            there = [n for n in sources if n in self.columns]
            for source in there:
                column = self.columns[source].astype(np.str_)
                made[name] = _filled(made[name], column) if name in made else column
            used.update(there)
        if "side" in made:
            made["side"] = _translated(made["side"], SIDES)
        if TRANSMITTER in made:
            made[TRANSMITTER] = transmitters(made[TRANSMITTER])
            self.transmitters = made[TRANSMITTER]
        kept = {n: c for n, c in self.columns.items() if n not in used and n not in made}
        self.columns = {**made, **kept}


def transmitters(names: NDArray[np.str_]) -> NDArray[np.str_]:
    """Return transmitters by their names, in small letters; empty where they are not known."""
    return _translated(names, {**SHORT, **dict.fromkeys(UNKNOWN, "")})


def _translated(column: NDArray[np.str_], names: Mapping[str, str]) -> NDArray[np.str_]:
    values, codes = np.unique(np.strings.lower(np.strings.strip(column)), return_inverse=True)
    return np.array([names.get(v, v) for v in values.tolist()] or [""], dtype=np.str_)[codes]


def _none_of(column: Column) -> Column:
    """Return where a column has no value."""
    if column.dtype.kind == "U":
        return np.asarray(column == "")
    return np.isnan(column) if column.dtype.kind == "f" else np.zeros(len(column), dtype=bool)


def _taken(column: Column, rows: NDArray[np.int32]) -> Column:
    """Return rows of a column, none where the row is -1."""
    lost = rows < 0
    if column.dtype.kind in "iu" and lost.any():
        column = column.astype(np.float64)
    out = column[np.where(lost, 0, rows)] if len(column) else np.zeros(len(rows), column.dtype)
    none: Any = {"U": "", "f": np.nan, "b": False}.get(column.dtype.kind, 0)
    return np.where(lost, none, out)


def _filled(column: Column, other: Column) -> Column:
    """Return a column, with the values of another one where it has none."""
    if (column.dtype.kind == "U") != (other.dtype.kind == "U"):
        return column
    return np.where(_none_of(column), other, column)


class _EdgeColumns:
    """The columns of the edges."""

    def __init__(self, table: ColumnTable, columns: tuple[str, str, str, str | None]) -> None:
        self.table = table
        source, target, synapses, transmitter = columns
        table.need(name for name in columns if name is not None)
        table.read()
        self.ids = {"source": source, "target": target}
        self.synapses = table.numbers(synapses)
        table.note(synapses, self.synapses < 0, self.synapses, lambda v: f"at least 0 (got {v:g})")
        self.transmitters: NDArray[np.str_] | None = None
        if transmitter is not None:
            coded = table.arrays[transmitter].dictionary_encode()
            known = np.array([*map(str, coded.dictionary.to_pylist()), ""], dtype=np.str_)
            codes = coded.indices.fill_null(len(known) - 1).to_numpy(zero_copy_only=False)
            self.transmitters = transmitters(known)[codes]


def _edges(
    preset: Release, edges: Any, called: str, cells: _Neurons, faults: Faults
) -> _EdgeColumns:
    table = ColumnTable(edges, faults, called)
    source = _first(table, preset.source, "the id of the presynaptic neuron", preset.name)
    target = _first(table, preset.target, "the id of the postsynaptic neuron", preset.name)
    synapses = _first(table, preset.synapses, "the number of synapses", preset.name)
    transmitter = None
    if cells.transmitters is None:
        transmitter = next(iter(_present(table, preset.transmitter)), None)
    if faults.count:
        faults.finish()
    return _EdgeColumns(table, (source, target, synapses, transmitter))


def _ends(
    links: _EdgeColumns, cells: _Neurons, drop: bool, faults: Faults
) -> tuple[tuple[NDArray[np.int64], NDArray[np.int64]], Any]:
    """Return the neurons at the ends of each row, -1 for unknown ones, and the ids of neurons."""
    table = links.table
    if cells.ids is None:
        found, ids = by_appearance(table, links.ids)
        source, target = (found[end].astype(np.int64) for end in ("source", "target"))
        return (source, target), ids
    ends = []
    for name in links.ids.values():
        ids = table.ids(name)
        if ids.type != cells.ids.type:
            table.unfit(name, f"ids are {ids.type} here and {cells.ids.type} in tables of neurons")
            ends.append(np.zeros(table.rows, np.int64))
            continue
        ends.append(places(ids, cells.ids).astype(np.int64))
        if not drop:
            lost = (ends[-1] < 0) & ids.is_valid().to_numpy(zero_copy_only=False)
            table.note(name, lost, ids, "{} is in no table of neurons; add it there".format)
    source, target = ends
    lost = int(((source < 0) | (target < 0)).sum())
    if lost and drop:
        say = "lead from or to neurons that are not listed; they are left out"
        faults.warn(f"{lost:,} of {len(source):,} rows of edges {say}")
    return (source, target), cells.ids


class _Signs:
    """Factors of the synapses by transmitter."""

    def __init__(self, preset: Release, given: Signs, faults: Faults) -> None:
        self.faults, self.all, self.preset = faults, None, preset
        self.factors: dict[str, float] = dict(preset.signs)
        self.said = False
        if isinstance(given, Mapping):
            names = transmitters(np.array([str(n) for n in given] or [""], dtype=np.str_))
            numbers = [*map(self._number, given.values())]
            self.factors.update(zip(names.tolist(), numbers, strict=bool(given)))
            self.said = "" in self.factors
        elif given is not None:
            self.all = self._number(given)

    def _number(self, value: Any) -> float:
        if isinstance(value, int | float | np.number) and np.isfinite(value):
            return float(value)
        self.faults.add(f"signs: a number such as 1, -1 or 0 is needed (got {value!r:.60})")
        return 0.0

    def of(self, names: NDArray[np.str_] | None, what: str, count: int) -> NDArray[np.float64]:
        """Return the factor of each neuron, or row of edges."""
        if self.all is not None:
            return np.full(count, self.all)
        if names is None:
            wanted = " or ".join(map(quoted, self.preset.transmitter))
            say = f"no table has a column {wanted} with transmitters"
            self.faults.add(f"{say}; give a table with one, or signs=1 if all neurons excite")
            return np.ones(count)
        values, codes = np.unique(names, return_inverse=True)
        counts = Counter(dict(zip(values.tolist(), np.bincount(codes).tolist(), strict=True)))
        for name in [n for n in counts if n and n not in self.factors]:
            fix = f"give signs={{{name!r}: 1}}, -1, or 0 to leave them out"
            say = f"the transmitter {quoted(name)} of {counts[name]:,} {what} has no sign"
            self.faults.add(f"{say}; {fix}")
        if counts[""] and not self.said:
            fix = "they are taken to excite; say signs={'': 1} or another factor"
            self.faults.warn(f"{counts['']:,} of {count:,} {what} have no transmitter; {fix}")
        return np.array([self.factors.get(n, 1.0) for n in values.tolist()] or [1.0])[codes]


def _summed(
    ends: tuple[NDArray[np.int64], NDArray[np.int64]],
    synapses: NDArray[np.float64],
    sign: NDArray[np.float64],
    neurons: int,
    least: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return source, target and signed synapses of each pair, by source and target."""
    source, target = ends
    kept = np.flatnonzero((source >= 0) & (target >= 0))
    key = source[kept] * neurons + target[kept]
    order = np.argsort(key, kind="stable")
    key, rows = key[order], kept[order]
    if not len(key):
        return key, key, np.zeros(0)
    first = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))
    total = np.add.reduceat(synapses[rows], first)
    weight = np.add.reduceat(synapses[rows] * sign[rows], first)
    enough = (total >= least) & (weight != 0)
    source, target = np.divmod(key[first][enough], neurons)
    return source, target, weight[enough]
