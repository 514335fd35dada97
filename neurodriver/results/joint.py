"""The recordings of several LPUs behind the links of one file, seen as one recording."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

import h5py

from ..errors import RecordingError, near, quoted
from ..model.kinds import SPIKES
from .events import Events
from .recording import Recording, _plain
from .variable import Variable


class JointRecording(Recording):
    """The recordings of several LPUs, opened through a file that links them.

    ``recording["retina"]`` is the `Recording` of an LPU, ``recording["retina/V"]`` a variable of
    it. Figures, movies and exports name variables like that.

    Parameters
    ----------
    path : path

    Attributes
    ----------
    lpus : mapping of str to Recording
        In the order of the file.
    missing : tuple of str
        LPUs whose files are not there (yet), or hold no recording.
    variables : tuple of str
        ``<LPU>/<variable>``.

    Examples
    --------
    >>> with neurodriver.open("out.h5") as recording:  # doctest: +SKIP
    ...     recording.lpus, recording["retina"]["V"], recording["lamina/V"]
    """

    def __init__(self, path: str | os.PathLike[str], dt: float | None = None) -> None:
        self.lpus: Mapping[str, Recording] = {}
        self.missing: tuple[str, ...] = ()
        super().__init__(path, dt=dt)

    def _read_header(self) -> None:
        found: dict[str, Recording] = {}
        missing = []
        for name in self._root:
            linked = isinstance(self._root.get(name, getlink=True), h5py.ExternalLink)
            if not linked and self._root.get(name, getclass=True) is not h5py.Group:
                continue
            try:
                found[name] = Recording(self.path, group=name, dt=self._told["dt"])
            except RecordingError:
                missing.append(name)
        self.lpus, self.missing = found, tuple(missing)
        if not found:
            files = [self._root.get(name, getlink=True) for name in missing]
            names = ", ".join(getattr(link, "filename", "?") for link in files)
            raise RecordingError(
                f"{self.path}: none of the recordings that it links is there: {names}; "
                "keep them beside it"
            )
        self.variables = tuple(f"{name}/{v}" for name, one in found.items() for v in one.variables)
        self.attributes: dict[str, Any] = {}
        if "metadata" in self._root:
            self.attributes = {k: _plain(v) for k, v in self._root["metadata"].attrs.items()}
        self.dt = min(one.dt for one in found.values())
        self.sample_interval = min(one.sample_interval for one in found.values())

    def __getitem__(self, name: str) -> Any:
        return self.lpus[name] if name in self.lpus else super().__getitem__(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self.lpus)

    def __len__(self) -> int:
        return len(self.lpus)

    def __contains__(self, name: object) -> bool:
        return name in self.lpus or name in self.variables

    def __repr__(self) -> str:
        if not self._file:
            return f"JointRecording '{self.path}' (closed)"
        parts = [f"{len(self.lpus)} LPUs, {self.duration:g} s, dt {self.dt:g} s"]
        parts += [] if self.complete else ["incomplete"]
        lines = [f"JointRecording '{self.path}': {', '.join(parts)}"]
        for name, one in self.lpus.items():
            state = "" if one.complete else f" ({one.duration:g} s, incomplete)"
            lines += [f"  {name}{state}", *(f"    {one[v]!r}" for v in one.variables)]
        lines += [f"  {name}: no recording there" for name in self.missing]
        return "\n".join(lines)

    def close(self) -> None:
        """Close all files."""
        for one in self.lpus.values():
            one.close()
        super().close()

    @property
    def complete(self) -> bool:
        """False if the run of any LPU was killed or is still going on."""
        return not self.missing and all(one.complete for one in self.lpus.values())

    @property
    def duration(self) -> float:
        """Time simulated, s; that of the LPU which came furthest."""
        return max(one.duration for one in self.lpus.values())

    def as_events(self, variable: str = SPIKES) -> Events:
        one, name = self._part(variable)
        return one.as_events(name)

    def data(self, variable: str, uids: Any = None) -> Variable:
        one, name = self._part(variable)
        return one.data(name, uids)

    def uids(self, variable: str) -> list[str]:
        one, name = self._part(variable)
        return one.uids(name)

    def _part(self, variable: str) -> tuple[Recording, str]:
        """Return the recording of an LPU and the name of a variable there."""
        lpu, mark, name = variable.partition("/")
        if lpu in self.missing:
            raise RecordingError(f"{self.path}: the recording of '{lpu}' is not there")
        if not mark:
            owners = [k for k, one in self.lpus.items() if variable in one.variables]
            if len(owners) == 1:  # no doubt which is meant
                return self.lpus[owners[0]], variable
            if owners:
                said = ", ".join(f"'{k}/{variable}'" for k in owners)
                message = f"several LPUs recorded '{variable}': name one of {said}"
                raise RecordingError(f"{self.path}: {message}")
        if lpu not in self.lpus:
            hint = near(lpu, self.lpus) or near(variable, self.variables)
            there = ", ".join(self.lpus)
            raise RecordingError(f"{self.path}: no LPU {quoted(lpu)}{hint}; there are {there}")
        if not mark:
            raise RecordingError(f"{self.path}: '{lpu}' is an LPU; name '{lpu}/<variable>'")
        return self.lpus[lpu], name

    def _group(self, variable: str) -> Any:
        one, name = self._part(variable)
        return one._group(name)


def holds_several(path: str | os.PathLike[str]) -> bool:
    """Whether a file only links recordings."""
    try:
        with h5py.File(path, "r", locking=False) as file:
            kinds = [file.get(name, getlink=True) for name in file]
            own = [name for name in file if isinstance(file.get(name, getlink=True), h5py.HardLink)]
            linked = any(isinstance(kind, h5py.ExternalLink) for kind in kinds)
            return linked and not any(isinstance(file[name], h5py.Group) for name in own)
    except OSError:
        return False  # told by who opens it
