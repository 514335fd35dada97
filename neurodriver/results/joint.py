"""The recordings of several LPUs behind the links of one file, written and read as one."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import h5py

from ..arguments import checked_arguments, file_path, from_one_on, number, optional, text
from ..errors import RecordingError, near, quoted
from ..io.hdf5_files import open_hdf5, reading, written_hdf5
from ..io.write import new_file
from ..model.kinds import SPIKES
from .batch import recording_of
from .events import Events
from .recording import Recording
from .sources import FileSource, StoredVariable
from .variable import Variable


@checked_arguments(
    path=file_path, group=text, dt=optional(number), sample_interval=optional(from_one_on),
    start_time=optional(number),
)  # fmt: skip
def open_recording(
    path: str | os.PathLike[str],
    *,
    group: str = "/",
    dt: float | None = None,
    sample_interval: int | None = None,
    start_time: float | None = None,
) -> Recording:
    """Open a recording for reading, also one whose run was killed or is still going on.

    ``neurodriver.open`` is this function.

    Parameters
    ----------
    path : path
        A file of `HDF5Recorder`, one of an older program, or an input file. One that links the
        recordings of several LPUs gives a `JointRecording`, unless a ``group`` is chosen; one of
        a batch gives a `BatchRecording`.
    group, dt, sample_interval, start_time
        See `Recording`.
    """
    if group == "/" and _holds_links(path):
        return JointRecording(path, dt=dt)
    options = {"dt": dt, "sample_interval": sample_interval, "start_time": start_time}
    opened: Recording = recording_of(FileSource(path, group), **options)
    return opened


def write_master(
    path: Path,
    recordings: Mapping[str, Path],
    attributes: Mapping[str, str | int | float],
    text: str = "",
) -> None:
    """Write a file that links recordings; what they will hold need not be there yet.

    Parameters
    ----------
    recordings : mapping of LPU to Path
        ``/<LPU>`` links the file; links are relative, so a folder can be moved.
    attributes : mapping
        Of ``metadata``; ``dt`` among them.
    text : str
        Kept as the data set ``experiment``.

    Raises
    ------
    RecordingError
        When it cannot be written.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        os.close(new_file(temporary))
        with written_hdf5(temporary, track_order=True) as file:
            metadata = file.create_dataset("metadata", data=0)
            metadata.attrs.update(attributes)
            if text:
                file["experiment"] = text
            for lpu, recording in recordings.items():
                target = Path(os.path.relpath(recording, path.parent)).as_posix()
                file[lpu] = h5py.ExternalLink(target, "/")
        os.replace(temporary, path)
    except (OSError, ValueError) as error:
        temporary.unlink(missing_ok=True)
        reason = getattr(error, "strerror", None) or str(error)
        raise RecordingError(f"{path}: cannot be written: {reason}") from error


class JointRecording(Recording):
    """The recordings of several LPUs, opened through a file that links them.

    ``recording["retina"]`` is the `Recording` of an LPU, ``recording["retina/V"]`` a variable of
    it. Figures, movies and exports name variables like that.

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
        recordings: dict[str, Recording] = {}
        missing = []
        for name in self._source.root:
            linked = isinstance(self._source.root.get(name, getlink=True), h5py.ExternalLink)
            if not linked and self._source.root.get(name, getclass=True) is not h5py.Group:
                continue
            try:
                recordings[name] = Recording(self.name, group=name, dt=self._overrides["dt"])
            except RecordingError:
                missing.append(name)
        self.lpus, self.missing = recordings, tuple(missing)
        if not recordings:
            files = [self._source.root.get(name, getlink=True) for name in missing]
            names = ", ".join(getattr(link, "filename", "?") for link in files)
            raise RecordingError(
                f"{self.path}: none of the recordings that it links is there: {names}; "
                "keep them beside it"
            )
        pairs = ((name, v) for name, one in recordings.items() for v in one.variables)
        self.variables = tuple(f"{name}/{variable}" for name, variable in pairs)
        self.attributes = dict(self._source.attributes)
        self.dt = min(one.dt for one in recordings.values())
        self.sample_interval = min(one.sample_interval for one in recordings.values())

    def __getitem__(self, name: str) -> Any:
        return self.lpus[name] if name in self.lpus else super().__getitem__(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self.lpus)

    def __len__(self) -> int:
        return len(self.lpus)

    def __contains__(self, name: object) -> bool:
        return name in self.lpus or name in self.variables

    def __repr__(self) -> str:
        if not self.is_open:
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

    @property
    def populations(self) -> dict[str, list[str]]:
        """``<LPU>/<population>`` -> uids of its recorded components."""
        parts = ((k, one.populations) for k, one in self.lpus.items())
        return {f"{k}/{name}": uids for k, found in parts for name, uids in found.items()}

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

    def _stored(self, variable: str) -> StoredVariable:
        one, name = self._part(variable)
        return one._stored(name)


def _holds_links(path: str | os.PathLike[str]) -> bool:
    """Whether a file only links recordings."""
    with open_hdf5(Path(path), RecordingError, linked=True) as file, reading(path, RecordingError):
        kinds = [file.get(name, getlink=True) for name in file]
        own = [name for name in file if isinstance(file.get(name, getlink=True), h5py.HardLink)]
        linked = any(isinstance(kind, h5py.ExternalLink) for kind in kinds)
        return linked and not any(isinstance(file[name], h5py.Group) for name in own)
