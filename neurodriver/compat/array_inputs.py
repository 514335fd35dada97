"""The old input processors of arrays and files."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import h5py
import networkx as nx
import numpy as np

from ..errors import InputError
from ..inputs.array import ArrayInput
from ..inputs.base import Input, uid_list
from ..inputs.file import FileInput
from ..io.hdf5_files import open_hdf5, reading, written_hdf5
from ..io.write import complete_or_none
from .input_base import ReadyInputProcessor
from .recordings import select, uid_bytes, write_output


class ArrayInputProcessor(ReadyInputProcessor):
    """Injects row r of an array at step r, or events at their times.

    Parameters
    ----------
    inputs : dict
        Variable -> ``{"uids": list, "data": D}``. D is an array (T, n), or events: a dict of
        ``time`` (s) and ``index`` (columns).
    mode : {0, 1}
        After the last row 0 injects zero, 1 repeats it. A variable that ends before the others
        gives zero from there on.
    cache_length : int
        Kept.
    input_file, input_interval, sensory_file, sensory_interval
        As for `BaseInputProcessor`.

    Attributes
    ----------
    data : dict
        Variable -> D.
    """

    def __init__(
        self,
        inputs: Mapping[str, Any] = {},
        mode: int = 0,
        cache_length: int = 1000,
        input_file: Any = None,
        input_interval: int = 1,
        sensory_file: Any = None,
        sensory_interval: int = 1,
    ) -> None:
        files = input_file, input_interval, sensory_file, sensory_interval
        super().__init__([], mode, "gpu", *files)
        self.cache_length = cache_length
        self.data: dict[str, Any] = {}
        self.add_inputs(inputs)

    def add_inputs(self, inputs: Mapping[str, Any]) -> None:
        """Inject more; the form is that of ``inputs``."""
        for variable, entry in inputs.items():
            self.add_input(variable, *(_part(entry, k, variable, self) for k in ("uids", "data")))

    def add_input(self, var: str, uids: Sequence[str], data: Any) -> None:
        """Inject ``data`` into ``uids``; a variable may be added to more than once.

        Arrays that are shorter than another one of the same variable are followed by zeros.
        """
        known = self.variables.get(var, {"uids": []})["uids"]
        self.data[var] = joined(
            self.data.get(var), data, len(known), len(uid_list(uids)), self._at(var)
        )
        self.add_variables([(var, uids)])

    def get_input(
        self, var: Any = None, uids: Any = None, dt: float = 1, start_time: float = 0
    ) -> Any:
        """Return what is injected: all of ``data``, or by variable, by uid, or by both.

        Parameters
        ----------
        var : str, optional
        uids : str, list, tuple or set of str, optional
        dt, start_time : float
            Distance and begin of the times that come with rows, s.
        """
        content = self._content()
        if var is None and uids is None:
            return {variable: entry["data"] for variable, entry in content.items()}

        def times(variable: str) -> Any:
            return np.arange(len(content[variable]["data"])) * dt + start_time

        return select(content, times, var, uids)

    def to_file(self, filename: Any) -> None:
        """Write what is injected to a file that `FileInputProcessor` takes."""
        write_output(filename, self._content(), {"DateCreated": datetime.now().isoformat()})

    def open(self, dt: float, dtype: np.dtype) -> None:
        super().open(dt, dtype)
        source: Any = self._source
        lengths = source.lengths()
        source.modes = [self.mode if n == max(lengths) else 0 for n in lengths]

    def _native(self) -> Input:
        pairs = {
            variable: (uids, (self.data[variable]["time"], self.data[variable]["index"])
                       if isinstance(self.data[variable], Mapping) else self.data[variable])
            for variable, uids in self.targets
        }  # fmt: skip
        return ArrayInput(pairs, self.mode, name=type(self).__name__)

    def _content(self) -> dict[str, Any]:
        return {v: {"uids": list(u), "data": self.data[v]} for v, u in self.targets}

    def _at(self, variable: str) -> str:
        return f"{type(self).__name__}, '{variable}'"


class FileInputProcessor(ArrayInputProcessor):
    """Injects what an HDF5 file holds; `FileInput` tells its layout.

    Parameters
    ----------
    filename : path
    file_mode : {"r", "w", "r+", "a"}
        All but "r" let `add_input` and `append_input` write into the file, before it is injected.
    mode : {0, 1}
        As for `ArrayInputProcessor`.
    cache_length : int
        Kept.
    preload : bool
        Read everything at once; what is added then stays in memory.
    """

    def __init__(
        self,
        filename: Any,
        file_mode: str = "r",
        mode: int = 0,
        cache_length: int = 1000,
        preload: bool = False,
    ) -> None:
        super().__init__({}, mode, cache_length)
        if file_mode not in ("r", "w", "r+", "a"):
            raise InputError(f"{filename}: file_mode must be r, w, r+ or a, got {file_mode!r}")
        self.filename, self.file_mode, self.preload = filename, file_mode, preload
        if file_mode == "w" or (file_mode == "a" and not Path(filename).exists()):
            with _written(Path(filename)):
                pass
        elif file_mode == "r" or _variables(filename):
            source = FileInput(filename, mode)  # finds all that is wrong
            source.close()
            self.add_variables(source.targets)
            if preload:
                self.data = {v: entry["data"] for v, entry in self._read().items()}

    def add_input(self, var: str, uids: Sequence[str], data: Any) -> None:
        """Inject ``data`` into ``uids``, and write both into the file unless it is preloaded."""
        if self.preload:
            super().add_input(var, uids, data)
            return
        self._check_writable()
        old = self._read().get(var, {"uids": [], "data": None})
        both = joined(old["data"], data, len(old["uids"]), len(uid_list(uids)), self._at(var))
        self._write(var, [*old["uids"], *uid_list(uids)], both)
        self.add_variables([(var, uids)])

    def append_input(self, var: str, data: Any) -> None:
        """Write more rows, or later events, of a variable that the file holds."""
        self._check_writable()
        if self.preload:
            raise InputError(f"{self.filename}: preloaded, so nothing can be appended to the file")
        content = self._read()
        if var not in content:
            raise InputError(f"{self.filename}: no '{var}' to append to; use add_input")
        old, uids = content[var]["data"], content[var]["uids"]
        new = checked(data, len(uids), self._at(var))
        if isinstance(old, dict) != isinstance(new, dict):
            raise InputError(f"{self._at(var)}: the file holds the other form, events or rows")
        if isinstance(new, dict):
            both: Any = {k: np.concatenate([old[k], new[k]]) for k in ("time", "index")}
        else:
            both = np.vstack([old, new])
        self._write(var, uids, both)

    def _check_writable(self) -> None:
        if self.file_mode == "r":
            raise InputError(f"{self.filename}: file_mode is 'r'; open it with 'r+', 'a' or 'w'")

    def _write(self, variable: str, uids: list[str], data: Any) -> None:
        """Put a variable into the file, in the place of its former content."""
        with _written(Path(self.filename), "r+") as file:
            if variable in file:
                del file[variable]
            group = file.create_group(variable)
            group["uids"] = uid_bytes(uids)
            if isinstance(data, dict):
                order = np.argsort(data["time"], kind="stable")
                for name in ("time", "index"):
                    values = data[name][order]
                    group.create_dataset(f"data/{name}", data=values, maxshape=(None,))
            else:
                limits = (None, data.shape[1] or None)
                group.create_dataset("data", data=data, maxshape=limits, chunks=True)

    def _read(self) -> dict[str, Any]:
        """Return what the file holds, variable -> uids and data."""
        if not _variables(self.filename):
            return {}
        source = FileInput(self.filename, preload=True)
        content: dict[str, Any] = {}
        for (variable, uids), data in zip(source.targets, source.contents(), strict=True):
            content[variable] = {"uids": list(uids), "data": data}
        return content

    def _native(self) -> Input:
        if self.preload:
            return super()._native()
        return FileInput(self.filename, self.mode)

    def _content(self) -> dict[str, Any]:
        return super()._content() if self.preload else self._read()


class PresynapticInputProcessor(ArrayInputProcessor):
    """Injects into synapses that it adds to the circuit itself.

    Parameters
    ----------
    inputs : dict
        As for `ArrayInputProcessor`; each entry has ``components`` too: the attributes of the new
        synapses, one dict or one for each uid. The synapse of a uid is named
        ``synaptic_input_to_<uid>_<8 hex digits>``; the digits follow from what is added.
    mode, cache_length, input_file, input_interval, sensory_file, sensory_interval
        As for `ArrayInputProcessor`.
    """

    def __init__(
        self,
        inputs: Mapping[str, Any] = {},
        mode: int = 0,
        cache_length: int = 1000,
        input_file: Any = None,
        input_interval: int = 1,
        sensory_file: Any = None,
        sensory_interval: int = 1,
    ) -> None:
        self._graph = nx.MultiDiGraph()
        files = input_file, input_interval, sensory_file, sensory_interval
        super().__init__(inputs, mode, cache_length, *files)

    def add_inputs(self, inputs: Mapping[str, Any]) -> None:
        """Inject more; the form is that of ``inputs``."""
        parts = ("uids", "data", "components")
        for variable, entry in inputs.items():
            self.add_input(variable, *(_part(entry, k, variable, self) for k in parts))

    def add_input(  # type: ignore[override]
        self, var: str, uids: Sequence[str], data: Any, components: Any
    ) -> None:
        """Add a synapse to each uid and inject ``data`` into the synapses."""
        names = uid_list(uids)
        given = [components] * len(names) if isinstance(components, Mapping) else list(components)
        if len(given) != len(names) or not all(isinstance(one, Mapping) for one in given):
            want = f"one dict of attributes, or {len(names)} of them"
            raise InputError(f"{self._at(var)}: components must be {want}, got {components!r:.60}")
        checked(data, len(names), self._at(var))
        synapses = []
        for name, attributes in zip(names, given, strict=True):
            said = repr((var, name, sorted(attributes.items(), key=lambda a: str(a[0]))))
            turn = 0
            while (synapse := _synapse(name, said, turn)) in self._graph:
                turn += 1
            self._graph.add_node(synapse, **attributes)
            self._graph.add_edge(synapse, name)
            synapses.append(synapse)
        super().add_input(var, synapses, data)

    def get_new_graph(self) -> nx.MultiDiGraph:
        """Return the synapses and their edges."""
        return self._graph


def _synapse(uid: str, said: str, turn: int) -> str:
    digits = hashlib.blake2b(f"{said} {turn}".encode(), digest_size=4).hexdigest()
    return f"synaptic_input_to_{uid}_{digits}"


def checked(data: Any, count: int, where: str) -> Any:
    """Return data as an array (T, count), or events as a dict of two arrays."""
    events = isinstance(data, Mapping)
    missing = [k for k in ("time", "index") if k not in data] if events else []
    if missing:
        raise InputError(f"{where}: events need 'time' and 'index'; '{missing[0]}' is missing")
    given = (data["time"], data["index"]) if events else data
    try:
        given = tuple(map(np.asarray, given)) if events else np.asarray(given)
    except ValueError:
        raise InputError(f"{where}: data must be rows of one length") from None
    ArrayInput({"": ([""] * count, given)}, name=where)  # raises what is wrong
    if not events:
        return given
    return {"time": given[0].astype(np.float64), "index": given[1].astype(np.int32)}


def joined(old: Any, data: Any, before: int, count: int, where: str) -> Any:
    """Return data with further columns: those of ``data`` after ``before`` earlier ones."""
    new = checked(data, count, where)
    if old is None:
        return new
    if isinstance(old, dict) != isinstance(new, dict):
        raise InputError(f"{where}: was added before in the other form, events or rows")
    if isinstance(new, dict):
        index = np.concatenate([old["index"], new["index"] + np.int32(before)])
        return {"time": np.concatenate([old["time"], new["time"]]), "index": index}
    rows = max(len(old), len(new))
    both = np.zeros((rows, before + count), dtype=np.result_type(old, new))
    both[: len(old), :before] = old
    both[: len(new), before:] = new
    return both


def _part(entry: Any, name: str, variable: str, processor: ReadyInputProcessor) -> Any:
    if not isinstance(entry, Mapping) or name not in entry:
        kind = type(processor).__name__
        raise InputError(f"{kind}, '{variable}': '{name}' is missing, got {entry!r:.60}")
    return entry[name]


def _variables(filename: Any) -> list[str]:
    """Return the names of the groups of a file."""
    with open_hdf5(Path(filename), InputError, locking=None) as file, reading(filename, InputError):
        return [name for name, group in file.items() if isinstance(group, h5py.Group)]


@contextmanager
def _written(path: Path, mode: str = "w") -> Iterator[h5py.File]:
    """Open a file, new or a copy of the present one, which takes its place when it is complete."""
    with complete_or_none(path, InputError) as part:
        if mode == "r+":
            shutil.copyfile(path, part)
        with written_hdf5(part, mode) as file:
            yield file
