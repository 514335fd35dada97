"""What a view looks at: recordings of files, or of LPUs that live, and the circuits behind them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from ..circuit.circuit import Circuit
from ..errors import RecordingError, near
from ..results import JointRecording, Recording, open_recording
from ..results.batch import single
from ..results.variable import VariableLabels

Opener = Callable[[], Recording]
"""Returns a recording as it is now; it may still grow."""


class Watched:
    """A recording that may grow while it is looked at.

    Parameters
    ----------
    name : str
        What the page calls it: the LPU, or the file.
    open : callable
        Returns the recording as it is now. Each question opens it anew.
    circuit : Circuit, optional
        Tells where the components are.
    """

    def __init__(self, name: str, open: Opener, circuit: Circuit | None = None) -> None:
        self.name, self.circuit = name, circuit
        self._open = open
        self._labels: dict[str, VariableLabels] = {}
        self._of: tuple[object, ...] = ()

    @contextmanager
    def recording(self) -> Iterator[Recording]:
        """Open the recording, and close it at the end of the block."""
        with self._open() as found:
            run = tuple(sorted((k, str(v)) for k, v in found.attributes.items()))
            if run != self._of:  # another run has replaced the file
                self._labels, self._of = {}, run
            found.share_labels(self._labels)
            yield found


def watched_file(
    path: str | os.PathLike[str],
    copy: int | None = None,
    circuits: Mapping[str, Circuit] | None = None,
) -> list[Watched]:
    """Return the recordings of a file: that of each LPU, if it links several.

    Parameters
    ----------
    copy : int, optional
        Copy of a batch.
    circuits : mapping of LPU to Circuit, optional
        Circuits of the LPUs. The key '' stands for all of them.

    Raises
    ------
    RecordingError
        For a file that is no recording, or for a circuit of an LPU that the file does not hold.
    """
    given = dict(circuits or {})
    with open_recording(path) as found:
        joint = isinstance(found, JointRecording)
        names = [*found.lpus, *found.missing] if isinstance(found, JointRecording) else [""]
        if not joint:
            single(found, copy)  # a batch of which no copy is chosen is refused now
        elif copy is not None:
            raise RecordingError(f"{path}: holds no batch, so no copy {copy}")
    for name in given:
        if name and name not in names:
            there = ", ".join(filter(None, names)) or "one LPU without a name"
            hint = near(name, names)
            raise RecordingError(f"{path}: no recording of an LPU '{name}'{hint}; it has {there}")

    whole = given.get("")
    return [
        watched_path(name or os.path.basename(path), path, given.get(name, whole), name, copy)
        for name in names
    ]


def watched_path(
    name: str,
    path: str | os.PathLike[str],
    circuit: Circuit | None = None,
    lpu: str = "",
    copy: int | None = None,
) -> Watched:
    """Return the recording of an LPU in a file, which may not be there yet.

    Parameters
    ----------
    name : str
        What the page calls it.
    circuit : Circuit, optional
    lpu : str
        The LPU, if the file links several.
    copy : int, optional
        Copy of a batch.
    """
    group = f"/{lpu}" if lpu else "/"
    return Watched(name, lambda: single(open_recording(path, group=group), copy), circuit)
