"""The files of a SONATA circuit: tables of types, columns of a population."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from ..circuit.node_columns import fit_for_column
from ..errors import CircuitError, Faults, quoted
from .columns import Column
from .hdf5_files import open_hdf5
from .sonata_config import read_json

Rows = NDArray[np.int64]

MEANT = frozenset({"node_type_id", "population", "model_type", "model_template", "dynamics_params"})
"""Attributes of nodes that `io.sonata` looks at."""


def read_types(path: Path | None, kind: str, faults: Faults) -> list[dict[str, str]]:
    """Return the rows of a table of types, separated by spaces: column -> text that is not NULL."""
    if path is None:
        return []
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            lines = [line.strip() for line in file if line.strip()]
        head, *rows = [*csv.reader(lines, delimiter=" ", skipinitialspace=True)] or [[]]
    except (OSError, ValueError, csv.Error) as error:
        faults.add(f"{path}: cannot be read ({getattr(error, 'strerror', None) or error})")
        return []
    key = f"{kind}_type_id"
    if key not in head:
        faults.add(f"{path}: has no column '{key}' (separate by spaces)")
        return []
    out = []
    for line, row in enumerate(rows, 2):
        said = {n: t for n, t in zip(head, row, strict=False) if t not in ("NULL", "")}
        if len(row) != len(head):
            faults.add(f"{path}: line {line} has {len(row)} fields, the header has {len(head)}")
        elif not re.fullmatch(r"[-+]?\d+", said.get(key, "")):
            faults.add(f"{path}: '{key}' is no number ({quoted(said.get(key, ''))})")
        else:
            out.append(said)
    return out


def present(codes: Column) -> Rows:
    """Return which small numbers from 0 on a column holds, ascending."""
    return np.flatnonzero(np.bincount(codes))


def places(known: Rows, wanted: Column) -> Rows:
    """Return where ids stand in a column without repeats, -1 for others."""
    wanted = wanted.astype(np.int64, copy=False)
    if not len(known):
        return np.full(len(wanted), -1)
    if np.array_equal(known, np.arange(len(known))):
        return np.where((wanted >= 0) & (wanted < len(known)), wanted, -1)
    order = np.argsort(known, kind="stable")
    at = order[np.minimum(np.searchsorted(known, wanted, sorter=order), len(known) - 1)]
    return np.where(known[at] == wanted, at, -1)


class SonataPopulation:
    """The nodes or edges of one population, with the attributes of their types.

    ``at`` is its group, ``table`` what `read_types` returned.
    """

    def __init__(
        self,
        at: Any,
        kind: str,
        name: str,
        table: list[dict[str, str]],
        path: Path,
        faults: Faults,
    ) -> None:
        self.at, self.kind, self.name, self.faults = at, kind, name, faults
        self.where = where = f"{path}, population {quoted(name)}"
        self.types: dict[int, dict[str, str]] = {}
        for said in table:
            if said.get("population", name) == name:
                number = int(said[f"{kind}_type_id"])
                if number in self.types:
                    faults.add(f"{where}: {kind}_type_id {number} stands twice")
                self.types[number] = said
        first = f"{kind}_type_id" if kind == "node" else "source_node_id"
        shape = getattr(at.get(first), "shape", None)
        self.count = int(shape[0]) if shape else 0
        if not shape:
            faults.add(f"{where}: has no column '{first}'")
        self.groups = {int(k): at[k] for k in at if k.isdigit() and isinstance(at[k], h5py.Group)}
        self.type_rows = self._type_rows()
        self.members = self._members() if self.groups else {}

    def column(self, name: str, kinds: str = "iu") -> Column | None:
        """Return a column of the population, None where there is none."""
        found = self.at.get(name)
        if found is None:
            return None
        if not isinstance(found, h5py.Dataset) or found.dtype.kind not in kinds:
            self.faults.add(f"{self.where}: '{name}' must be a column of whole numbers")
            return None
        if found.shape != (self.count,):
            say = f"has the shape {found.shape}, expected ({self.count},)"
            self.faults.add(f"{self.where}: column '{name}' {say}")
            return None
        return found[()]  # type: ignore[no-any-return]

    def _type_rows(self) -> Rows:
        """Return the place of each member's type among the types, -1 without one."""
        ids = self.column(f"{self.kind}_type_id")
        known = np.array(sorted(self.types), dtype=np.int64)
        if ids is None or not len(known):
            return np.full(self.count, -1)
        rows = places(known, ids)
        if rows.min(initial=0) < 0:
            wanted = np.unique(ids[(rows < 0) & (ids >= 0)])
            if len(wanted):
                some = ", ".join(map(str, wanted[:5]))
                self.faults.add(f"{self.where}: no type has the {self.kind}_type_id {some}")
        return rows

    def _members(self) -> dict[int, tuple[Rows, Column]]:
        """Return for each group which members have their attributes there, and in which rows."""
        names = f"{self.kind}_group_id", f"{self.kind}_group_index"
        ids, rows = (self.column(name) for name in names)
        if ids is None or rows is None:
            if len(self.groups) > 1:
                self.faults.add(f"{self.where}: several groups need '{names[0]}', '{names[1]}'")
            every = np.arange(self.count)
            return dict.fromkeys(list(self.groups)[:1], (every, every))
        members = {number: np.flatnonzero(ids == number) for number in self.groups}
        if sum(map(len, members.values())) < self.count:
            lost = np.setdiff1d(ids, list(self.groups))
            some = ", ".join(map(str, lost[:5]))
            self.faults.add(f"{self.where}: '{names[0]}' names groups that are not there: {some}")
        rows = rows.astype(np.int64)
        return {number: (mine, rows[mine]) for number, mine in members.items()}

    def in_groups(self, name: str) -> list[tuple[Any, Rows, Column]]:
        """Return the data sets of an attribute, for which members, and their values there."""
        out = []
        for number, (members, rows) in self.members.items():
            found = self.groups[number].get(name)
            if not isinstance(found, h5py.Dataset):
                continue
            most = int(rows.max(initial=-1))
            if found.ndim != 1 or most >= len(found) or rows.min(initial=0) < 0:
                say = f"has the shape {found.shape}, but rows up to {most} are asked for"
                self.faults.add(f"{self.where}: '{number}/{name}' {say}")
            else:
                out.append((found, members, found[()][rows]))
        return out

    def numbers(self, name: str, typed: Column | None = None) -> NDArray[np.float64]:
        """Return an attribute of each member: its own, else that of its type, else NaN.

        ``typed``, (types + 1,), holds the values of the types, the last one for none; by default it
        comes from the table of types.
        """
        if typed is None:
            typed = self._typed(name)
        out: NDArray[np.float64] = typed[self.type_rows]
        for _, members, values in self.in_groups(name):
            if values.dtype.kind in "fiub":
                out[members] = values
            else:
                self.faults.add(f"{self.where}: '{name}' must hold numbers (got {values.dtype})")
        return out

    def _typed(self, name: str) -> Column:
        out = np.full(len(self.types) + 1, np.nan)
        for row, number in enumerate(sorted(self.types)):
            text = self.types[number].get(name)
            try:
                out[row] = np.nan if text is None else float(text)
            except ValueError:
                say = f"'{name}' must be a number (got {quoted(text)})"
                self.faults.add(f"{self.where}: {self.kind}_type_id {number}: {say}")
        return out

    def texts(self, name: str) -> tuple[list[str], Rows]:
        """Return the different texts of an attribute ("" for none), and which each member has."""
        typed = [self.types[number].get(name, "") for number in sorted(self.types)]
        texts = [*typed, ""]
        codes = np.where(self.type_rows < 0, len(typed), self.type_rows)
        for found, members, values in self.in_groups(name):
            library = found.parent.get(f"@library/{name}")
            if library is not None and values.dtype.kind in "iu":
                values = np.asarray(library[()])[values]
            if values.dtype.kind not in "OSU":
                self.faults.add(f"{self.where}: '{name}' must hold text (got {values.dtype})")
                continue
            plain = [v.decode(errors="replace") if isinstance(v, bytes) else str(v) for v in values]
            different, which = np.unique(np.array(plain), return_inverse=True)
            codes[members] = which + len(texts)
            texts += ["" if text == "NULL" else text for text in different.tolist()]
        return texts, codes

    def attributes(self) -> dict[str, Column]:
        """Return what else the file says of its members: columns of text or numbers, (count,).

        What a member does not have is an empty text or NaN.
        """
        said = {key for table in self.types.values() for key in table}
        held = {n for at in self.groups.values() for n, d in at.items() if _plain_column(d)}
        out = {}
        for name in sorted((said | held).difference(MEANT)):
            sets = [at[name] for at in self.groups.values() if name in at]
            kinds = {d.dtype.kind if _plain_column(d) else "" for d in sets}
            coded = any(f"@library/{name}" in at for at in self.groups.values())
            typed = [table[name] for table in self.types.values() if name in table]
            if not coded and kinds <= set("fiub") and all(map(_is_number, typed)):
                out[name] = self.numbers(name)
            elif kinds <= set("OSU") or (coded and kinds <= set("OSUiu")):
                texts, codes = self.texts(name)
                if fit_for_column(texts, name, self.faults):
                    out[name] = np.array(texts)[codes]
        return out

    def parameters(self, folder: Path | None) -> dict[str, Column]:
        """Return ``dynamics_params`` by name: of each member, else of its type's file, else NaN.

        A parameter that is a text in the file of a type is a column of texts, "" for none.
        """
        files: list[dict[str, float | str]] = []
        for number in sorted(self.types):
            name = self.types[number].get("dynamics_params")
            files.append({} if name is None else self._file(name, number, folder))
        names = {key: None for said in files for key in said}
        for number in self.members:
            inner = self.groups[number].get("dynamics_params")
            names |= dict.fromkeys(inner if isinstance(inner, h5py.Group) else ())
        out: dict[str, Column] = {}
        for name in names:
            typed = [said.get(name, np.nan) for said in files]
            if any(isinstance(value, str) for value in typed):
                plain = [value if isinstance(value, str) else "" for value in typed]
                out[name] = np.array([*plain, ""])[self.type_rows]
                typed = [np.nan if isinstance(value, str) else value for value in typed]
                if np.isnan(typed).all():
                    continue
                say = f"{quoted(name)} is a number of some types, and a text of others"
                self.faults.add(f"{self.where}: {say}")
            else:
                out[name] = self.numbers(f"dynamics_params/{name}", np.array([*typed, np.nan]))
        return out

    def _file(self, name: str, number: int, folder: Path | None) -> dict[str, float | str]:
        path = Path(name) if folder is None else folder / name
        try:
            said = read_json(path)
        except CircuitError as error:
            self.faults.add(f"{self.where}: {self.kind}_type_id {number}: {error}")
            return {}
        return dict(_leaves(said))


def _leaves(said: Any, name: str = "") -> Iterator[tuple[str, float | str]]:
    """Yield numbers and texts of an object, with names such as ``tau[2]`` and ``set.a``."""
    if isinstance(said, dict):
        for key, value in said.items():
            yield from _leaves(value, f"{name}.{key}" if name else str(key))
    elif isinstance(said, list):
        for place, value in enumerate(said):
            yield from _leaves(value, f"{name}[{place}]")
    elif isinstance(said, str):
        yield name, said
    else:
        try:
            yield name, np.nan if said is None else float(said)
        except OverflowError:  # a whole number of hundreds of digits
            yield name, np.inf


def _plain_column(found: Any) -> bool:
    """Whether something is a data set of one number or text for each member."""
    return isinstance(found, h5py.Dataset) and found.ndim == 1


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def populations(
    network: list[tuple[Path, Path | None]], kind: str, faults: Faults, files: ExitStack
) -> Iterator[SonataPopulation]:
    """Yield the populations of nodes or edges of all files; ``files`` closes these."""
    for path, table in network:
        types = read_types(table, kind, faults)
        try:
            root = files.enter_context(open_hdf5(path)).get(f"{kind}s")
        except CircuitError as error:
            faults.add(str(error))
            continue
        if not isinstance(root, h5py.Group):
            faults.add(f"{path}: no SONATA file of {kind}s: it has no group '/{kind}s'")
            continue
        for name, at in root.items():
            if isinstance(at, h5py.Group):
                yield SonataPopulation(at, kind, name, types, path, faults)
