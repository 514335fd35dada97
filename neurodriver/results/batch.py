"""The recording of a batch -> the recordings of its copies, and arrays of all copies.

A batch is recorded with n columns for each copy, one copy after the other. The recording of one
copy is what its run alone would record.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..errors import RecordingError, near
from .recording import OpenRecording, Recording
from .sources import RecordingSource, StoredVariable
from .tables import batch_html
from .variable import Times

if TYPE_CHECKING:
    import xarray

COPIES, SEEDS = "copies", "seeds"
"""Attributes of the recording of a batch: how many copies there are, and the seed of each."""


class CopyColumns:
    """The columns of one copy in the rows of all copies; read when they are sliced.

    Parameters
    ----------
    rows : array or data set, (rows, copies * width)
    first, width : int
        Columns of the copy.
    """

    ndim = 2

    def __init__(self, rows: Any, first: int, width: int) -> None:
        self._rows, self._first = rows, first
        self.shape = len(rows), width
        self.dtype = rows.dtype

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice) -> npt.NDArray[Any]:
        if hasattr(self._rows, "id") and not self._rows:
            raise RecordingError("the recording is closed; read what you need before")
        out: npt.NDArray[Any] = self._rows[rows, self._first : self._first + self.shape[1]]
        return out


class CopyVariable:
    """A variable of one copy.

    Parameters
    ----------
    stored : StoredVariable
        That of all copies.
    """

    def __init__(self, stored: StoredVariable, copy: int) -> None:
        self._stored, self._copy = stored, copy
        self.events, self.unit = stored.events, stored.unit
        self._names = stored.uids()

    @cached_property
    def data(self) -> Any:
        """Rows (rows, n); of events a mapping of ``time`` and ``index``."""
        width, data = len(self._names), self._stored.data
        first = self._copy * width
        if not self.events:
            return CopyColumns(data, first, width)
        count = self._stored.count
        index = np.asarray(data["index"][:count])
        mine = (index >= first) & (index < first + width)
        return {"time": np.asarray(data["time"][:count])[mine], "index": index[mine] - first}

    @property
    def count(self) -> int | None:
        """Number of valid rows or events."""
        return len(self.data["time"]) if self.events else self._stored.count

    @property
    def steps(self) -> int | None:
        """Steps that were searched for events."""
        return self._stored.steps

    @property
    def times(self) -> Times | None:
        """Function that gives the times of rows."""
        return self._stored.times

    def uids(self) -> list[str]:
        """Return the component of each column."""
        return self._names

    def population(self) -> list[str] | None:
        """Return the population of each column; None without any."""
        return self._stored.population()

    def ends(self) -> tuple[list[str], list[str]] | None:
        """Return the source and the target of each column; None where columns are no synapses."""
        return self._stored.ends()


class CopySource:
    """What one copy of a batch has recorded.

    Parameters
    ----------
    source : RecordingSource
        That of all copies.
    """

    def __init__(self, source: RecordingSource, copy: int) -> None:
        self._source, self._copy = source, copy
        self.path: Path | None = source.path
        self.name = f"{source.name}, copy {copy}"
        self.variables: Sequence[str] = source.variables
        left = {k: v for k, v in source.attributes.items() if k not in (COPIES, SEEDS, "seed")}
        seeds = str(source.attributes.get(SEEDS, "")).split()
        seed = {"seed": int(seeds[copy])} if seeds else {}
        self.attributes: Mapping[str, Any] = {**left, **seed}

    @property
    def is_open(self) -> bool:
        return self._source.is_open

    @property
    def complete(self) -> bool:
        return self._source.complete

    def variable(self, name: str) -> CopyVariable:
        return CopyVariable(self._source.variable(name), self._copy)

    def close(self) -> None:
        """Leave the source to the recording of the batch."""


class BatchRecording(OpenRecording):
    """The recording of a batch; a context manager.

    ``recording[3]`` is the `Recording` of copy 3. ``recording.V`` and ``recording["V"]`` are the
    rows of all copies, (copies, rows, n); of a variable that is stored as events, they are the
    `Events` of each copy.

    Parameters
    ----------
    source : RecordingSource

    Attributes
    ----------
    path : Path or None
        The file; None if the recording is in memory.
    name : str
        What messages call the recording.
    copies : tuple of Recording
    variables : tuple of str
        What was recorded.
    attributes : dict
        ``copies``, ``seeds`` where the copies have different ones, and those of a `Recording`.
    dt : float
        Time step, s.
    sample_interval : int
        Steps per row.

    Examples
    --------
    >>> recording = nd.open("batch.h5")  # doctest: +SKIP
    >>> recording.V.mean(axis=0)  # mean of the copies, (rows, n)  # doctest: +SKIP
    >>> recording[3].spikes()["n0"]  # doctest: +SKIP
    """

    def __init__(self, source: RecordingSource) -> None:
        self._source = source
        self.path, self.name = source.path, source.name
        self.attributes: dict[str, Any] = dict(source.attributes)
        number = int(self.attributes[COPIES])
        self.copies = tuple(Recording(CopySource(source, copy)) for copy in range(number))
        first = self.copies[0]
        self.variables, self.dt = first.variables, first.dt
        self.sample_interval = first.sample_interval

    def __len__(self) -> int:
        return len(self.copies)

    def __iter__(self) -> Iterator[Recording]:
        return iter(self.copies)

    def __getitem__(self, key: int | str) -> Any:
        if isinstance(key, str):
            if self.copies[0].is_events(key):
                return tuple(one.as_events(key) for one in self.copies)
            return np.stack([one.data(key)[:] for one in self.copies])
        if not -len(self) <= key < len(self):
            raise RecordingError(f"{self.name}: copy {key}: there are 0 to {len(self) - 1}")
        return self.copies[key]

    def __getattr__(self, name: str) -> Any:
        held = () if name.startswith("_") or "variables" not in vars(self) else self.variables
        if name not in held:
            kind = type(self).__name__
            raise AttributeError(f"{kind} has no variable or attribute {name!r}{near(name, held)}")
        return self[name]

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *(name for name in self.variables)})

    def __repr__(self) -> str:
        return f"{len(self):,} copies of {self.copies[0]!r}" if self.is_open else "(closed)"

    def _repr_html_(self) -> str:
        return batch_html(self)

    @property
    def duration(self) -> float:
        """Time simulated, s."""
        return max(one.duration for one in self.copies)

    @property
    def time(self) -> npt.NDArray[np.float64]:
        """Times of the rows, (rows,) float64, s."""
        return np.asarray(self.copies[0].time)

    def uids(self, variable: str) -> list[str]:
        """Return the uids of the columns of a variable in each copy."""
        return self.copies[0].uids(variable)

    def unit(self, variable: str) -> str:
        """Return the unit of a variable, empty if the recording does not say."""
        return self.copies[0].unit(variable)

    @property
    def spikes(self) -> list[Any]:
        """The events of ``spike_state`` of each copy."""
        return [one.spikes for one in self.copies]

    def to_xarray(self, variables: str | Sequence[str] | None = None) -> xarray.Dataset:
        """Return variables of all copies as one `xarray.Dataset`.

        Parameters
        ----------
        variables : str or sequence of str, optional
            All by default.

        Returns
        -------
        xarray.Dataset
            As `Recording.to_xarray` gives it, with the dimension ``copy`` in front of ``time``.
            Of events, ``spike_state_copy`` is the copy of each one; those of copy 0 come first.
        """
        from .export import needed

        xr = needed("xarray")
        parts = [one.to_xarray(variables) for one in self.copies]
        first, rows, events = parts[0], [], {}
        for name, one in first.data_vars.items():
            if not str(one.dims[0]).endswith("_event"):
                rows.append(name)
                continue
            columns = [part[name].variable for part in parts]
            events[name] = xr.Variable.concat(columns, one.dims[0])
            copy = np.repeat(np.arange(len(self)), [len(column) for column in columns])
            events[f"{str(one.dims[0]).removesuffix('_event')}_copy"] = (one.dims[0], copy)
        copies = xr.IndexVariable("copy", np.arange(len(self)))
        whole = {
            name: xr.Variable(
                ("copy", *first[name].dims),
                np.stack([part[name].values for part in parts]),
                first[name].attrs,
            )
            for name in rows
        }
        attributes = {**self.attributes, "source": self.name}
        return xr.Dataset({**whole, **events}, {**first.coords, "copy": copies}, attributes)


def recording_of(source: RecordingSource, **options: Any) -> Any:
    """Return the recording that a source holds: a `Recording`, or a `BatchRecording`.

    Parameters
    ----------
    **options
        Of a `Recording`.
    """
    if COPIES in source.attributes:
        return BatchRecording(source)
    return Recording(source, **options)


def single(recording: Any, copy: int | None = None) -> Recording:
    """Return a recording; of a batch, that of a copy.

    Raises
    ------
    RecordingError
        For a batch of which no copy is chosen, or a copy of what is no batch.
    """
    batch = isinstance(recording, BatchRecording)
    if batch and copy is None:
        raise RecordingError(
            f"{recording.name}: holds {len(recording):,} copies of a batch; choose one: "
            f"recording.copies[0], on the command line --copy 0"
        )
    if copy is not None and not batch:
        raise RecordingError(f"{recording.name}: holds no batch, so no copy {copy}")
    one: Recording = recording if copy is None else recording[copy]
    return one
