"""The files of a SONATA circuit: configuration, tables of types, columns of a population."""

from __future__ import annotations

import csv
import json
import re
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from ..errors import CircuitError, Faults, near, quoted
from .columns import BROKEN

Column = NDArray[Any]
Rows = NDArray[np.int64]

_VARIABLE = re.compile(r"\$\{(\w+)\}|\$(\w+)")


@dataclass
class Network:
    """What a configuration names.

    Attributes
    ----------
    nodes, edges : list of (Path, Path or None)
        HDF5 file and table of types.
    components : mapping of str to Path
        Folders of parameter files.
    """

    nodes: list[tuple[Path, Path | None]] = field(default_factory=list)
    edges: list[tuple[Path, Path | None]] = field(default_factory=list)
    components: dict[str, Path] = field(default_factory=dict)


def read_config(path: Path) -> Network:
    """Read circuit_config.json, or the one that a simulation_config.json names.

    Paths are relative to the folder of the file.

    Raises
    ------
    CircuitError
        With all faults of the file.
    """
    said = read_json(path)
    faults = Faults(str(path))
    variables = said.get("manifest", {})
    if not isinstance(variables, dict):
        raise CircuitError(f"{path}: 'manifest' must be an object of variables")
    values = {str(k).strip("${}"): str(v) for k, v in variables.items()}

    def place(text: Any, where: str, depth: int = 0) -> Path:
        if not isinstance(text, str):
            faults.add(f"{where}: must be a path (got {text!r:.60})")
            return path
        folder = {"configdir": str(path.parent), **values}

        def value(match: re.Match[str]) -> str:
            name = match[1] or match[2]
            if name not in folder or depth > len(values):
                say = "leads back to itself" if name in folder else "is not in 'manifest'"
                faults.add(f"{where}: the variable {quoted(match[0])} {say}{near(name, values)}")
                return name
            inner = folder[name]
            return inner if name == "configdir" else str(place(inner, where, depth + 1))

        return path.parent / _VARIABLE.sub(value, text)

    if "networks" not in said and isinstance(said.get("network"), str):
        inner = place(said["network"], "'network'")
        faults.finish()
        return read_config(inner)
    out = Network()
    networks = said.get("networks")
    if not isinstance(networks, dict):
        raise CircuitError(f"{path}: not a SONATA circuit: it has no object 'networks'")
    for kind, files in (("nodes", out.nodes), ("edges", out.edges)):
        for number, entry in enumerate(networks.get(kind) or []):
            where = f"networks.{kind}[{number}]"
            if not isinstance(entry, dict) or f"{kind}_file" not in entry:
                faults.add(f"{where}: '{kind}_file' is missing")
                continue
            types = entry.get(f"{kind[:-1]}_types_file")
            table = None if types in (None, "", "NULL") else place(types, where)
            files.append((place(entry[f"{kind}_file"], where), table))
    for name, folder in (said.get("components") or {}).items():
        out.components[name] = place(folder, f"components.{name}")
    faults.finish()
    return out


def read_json(path: Path) -> dict[str, Any]:
    """Return the object in a JSON file.

    Raises
    ------
    CircuitError
        When there is none.
    """
    try:
        said = json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise CircuitError(f"{path}: cannot be read ({error.strerror or error})") from None
    except (ValueError, RecursionError) as error:
        raise CircuitError(f"{path}: not well-formed JSON ({str(error)[:200]})") from None
    if not isinstance(said, dict):
        raise CircuitError(f"{path}: an object is expected, got {type(said).__name__}")
    return said


class Types:
    """A table of node or edge types: few rows, separated by spaces.

    Parameters
    ----------
    path : Path or None
        None: no types.
    kind : {"node", "edge"}
    faults : Faults
    """

    def __init__(self, path: Path | None, kind: str, faults: Faults) -> None:
        self.path, self.kind, self.faults = path, kind, faults
        self.names: list[str] = []
        self.rows: list[list[str]] = []
        if path is not None:
            self._read(path)

    def _read(self, path: Path) -> None:
        try:
            with open(path, newline="", encoding="utf-8-sig") as file:
                lines = [line.strip() for line in file if line.strip()]
            table = list(csv.reader(lines, delimiter=" ", skipinitialspace=True))
        except (OSError, ValueError, csv.Error) as error:
            said = getattr(error, "strerror", None) or error
            self.faults.add(f"{path}: cannot be read ({said})")
            return
        if not table or f"{self.kind}_type_id" not in table[0]:
            self.faults.add(f"{path}: has no column '{self.kind}_type_id' (separate by spaces)")
            return
        self.names = table[0]
        for number, row in enumerate(table[1:], 2):
            if len(row) == len(self.names):
                self.rows.append(row)
            else:
                say = f"line {number} has {len(row)} fields"
                self.faults.add(f"{path}: {say}, the header has {len(self.names)}")

    def of(self, population: str) -> dict[int, dict[str, str]]:
        """Return the types of a population: id -> column -> text, without what is NULL."""
        out: dict[int, dict[str, str]] = {}
        for row in self.rows:
            said = {n: t for n, t in zip(self.names, row, strict=True) if t not in ("NULL", "")}
            if said.get("population", population) != population:
                continue
            text = said.get(f"{self.kind}_type_id", "")
            try:
                number = int(text)
            except ValueError:
                self.faults.add(f"{self.path}: '{self.kind}_type_id' is no number ({quoted(text)})")
                continue
            if number in out:
                self.faults.add(f"{self.path}: {self.kind}_type_id {number} stands twice")
            out[number] = said
        return out


def present(codes: Column) -> Rows:
    """Return which small numbers from 0 on a column holds, ascending."""
    return np.flatnonzero(np.bincount(codes))


class Places:
    """Where ids stand in a column without repeats.

    Parameters
    ----------
    ids : (n,) int64
    """

    def __init__(self, ids: Rows) -> None:
        self.ids = ids
        top = int(ids.max(initial=0))
        self.table: NDArray[np.int32] | None = None
        if ids.min(initial=0) >= 0 and top < 4 * len(ids) + 2**16:  # one look for each
            self.table = np.full(top + 2, -1, np.int32)
            self.table[ids] = np.arange(len(ids), dtype=np.int32)
        else:
            self.order = np.argsort(ids, kind="stable")
            self.sorted = ids[self.order]

    def find(self, wanted: Column) -> Rows:
        """Return the place of each, -1 where there is none."""
        wanted = wanted.astype(np.int64, copy=False)
        if self.table is not None:
            last = len(self.table) - 1
            out: Column = self.table[np.where((wanted < 0) | (wanted > last), last, wanted)]
            return out
        at = np.minimum(np.searchsorted(self.sorted, wanted), len(self.ids) - 1)
        return np.where(self.sorted[at] == wanted, self.order[at], -1)


class Population:
    """The nodes or edges of one population, with the attributes of their types.

    Parameters
    ----------
    at : h5py.Group
    kind : {"node", "edge"}
    types : mapping
        From `Types.of`.
    where : str
        File and population, for messages.
    faults : Faults
    """

    def __init__(
        self, at: Any, kind: str, types: dict[int, dict[str, str]], where: str, faults: Faults
    ) -> None:
        self.at, self.kind, self.types, self.where, self.faults = at, kind, types, where, faults
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
        rows = Places(known).find(ids)
        if rows.min(initial=0) < 0:
            wanted = np.unique(ids[(rows < 0) & (ids >= 0)])
            if len(wanted):
                some = ", ".join(map(str, wanted[:5]))
                self.faults.add(f"{self.where}: no type has the {self.kind}_type_id {some}")
        return rows

    def _members(self) -> dict[int, tuple[Column | slice, Column | slice]]:
        """Return for each group which members have their attributes there, and in which row."""
        names = f"{self.kind}_group_id", f"{self.kind}_group_index"
        ids, rows = (self.column(name) for name in names)
        if ids is None or rows is None:
            if len(self.groups) > 1:
                self.faults.add(f"{self.where}: several groups need '{names[0]}', '{names[1]}'")
            return {number: (slice(None), slice(None)) for number in list(self.groups)[:1]}
        out: dict[int, tuple[Column | slice, Column | slice]] = {}
        told = 0
        for number in self.groups:
            mine = ids == number
            told += int(mine.sum())
            if told == self.count and not out:
                straight = np.array_equal(rows, np.arange(self.count))
                out[number] = slice(None), slice(None) if straight else rows.astype(np.int64)
            else:
                out[number] = np.flatnonzero(mine), rows[mine].astype(np.int64)
        if told < self.count:
            lost = np.setdiff1d(ids, list(self.groups))
            some = ", ".join(map(str, lost[:5]))
            self.faults.add(f"{self.where}: '{names[0]}' names groups that are not there: {some}")
        return out

    def in_groups(self, name: str) -> list[tuple[Any, Column | slice, Column | slice]]:
        """Return the data sets of an attribute, for which members, from which rows."""
        out = []
        for number, (members, rows) in self.members.items():
            found = self.groups[number].get(name)
            if not isinstance(found, h5py.Dataset):
                continue
            most = self.count - 1 if isinstance(rows, slice) else int(rows.max(initial=-1))
            least = 0 if isinstance(rows, slice) else int(rows.min(initial=0))
            if found.ndim != 1 or most >= len(found) or least < 0:
                say = f"has the shape {found.shape}, but rows up to {most} are asked for"
                self.faults.add(f"{self.where}: '{number}/{name}' {say}")
            else:
                out.append((found, members, rows))
        return out

    def numbers(self, name: str, typed: Column | None = None) -> NDArray[np.float64]:
        """Return an attribute of each member: its own, else that of its type, else NaN.

        Parameters
        ----------
        name : str
            Attribute, or ``dynamics_params/<name>``.
        typed : (types + 1,) float64, optional
            Values of the types, the last one for none; by default from the table of types.
        """
        if typed is None:
            typed = self._typed(name)
        out: NDArray[np.float64] = typed[self.type_rows]
        for found, members, rows in self.in_groups(name):
            if found.dtype.kind not in "fiub":
                self.faults.add(f"{self.where}: '{name}' must hold numbers (got {found.dtype})")
                continue
            values = found[: self.count] if isinstance(rows, slice) else found[()][rows]
            out[members] = values
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
        for found, members, rows in self.in_groups(name):
            values = found[()] if isinstance(rows, slice) else found[()][rows]
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

    def parameters(self, folder: Path | None) -> dict[str, NDArray[np.float64]]:
        """Return ``dynamics_params`` by name: of each member, else of its type's file, else NaN."""
        files: list[dict[str, Any]] = []
        for number in sorted(self.types):
            name = self.types[number].get("dynamics_params")
            files.append({} if name is None else self._file(name, number, folder))
        names = {key: None for said in files for key in said}
        for number in self.members:
            inner = self.groups[number].get("dynamics_params")
            names |= dict.fromkeys(inner if isinstance(inner, h5py.Group) else ())
        out = {}
        for name in names:
            typed = [_number(said.get(name)) for said in files]
            out[name] = self.numbers(f"dynamics_params/{name}", np.array([*typed, np.nan]))
        return out

    def _file(self, name: str, number: int, folder: Path | None) -> dict[str, Any]:
        path = Path(name) if folder is None else folder / name
        try:
            said = read_json(path)
        except CircuitError as error:
            self.faults.add(f"{self.where}: {self.kind}_type_id {number}: {error}")
            return {}
        for key, value in said.items():
            if np.isnan(_number(value)) and value is not None:
                self.faults.add(f"{path}: {quoted(key)} must be a number (got {value!r:.60})")
        return said


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) else np.nan


def populations(path: Path, kind: str, faults: Faults, files: ExitStack) -> list[tuple[str, Any]]:
    """Return the populations of an HDF5 file; ``files`` closes it."""
    try:
        file = files.enter_context(h5py.File(path, "r", locking=False))
        root = file.get(f"{kind}s")
        if isinstance(root, h5py.Group):
            return [(name, root[name]) for name in root if isinstance(root[name], h5py.Group)]
        faults.add(f"{path}: no SONATA file of {kind}s: it has no group '/{kind}s'")
    except FileNotFoundError:
        faults.add(f"{path}: no such file")
    except BROKEN as error:
        said = " ".join(str(error).split())[:200]
        faults.add(f"{path}: not a whole HDF5 file ({said})")
    return []
