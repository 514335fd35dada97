"""The recordings of several LPUs, seen as one file: links to their files, nothing else."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from ..errors import RecordingError


def write_master(
    path: Path,
    recordings: Mapping[str, Path],
    attributes: Mapping[str, str | int | float],
    text: str = "",
) -> None:
    """Write a file that links recordings; what they will hold need not be there yet.

    Parameters
    ----------
    path : Path
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
    import h5py

    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with h5py.File(temporary, "w", locking=False, track_order=True) as file:
            metadata = file.create_dataset("metadata", data=0)
            metadata.attrs.update(attributes)
            if text:
                file["experiment"] = text
            for lpu, recording in recordings.items():
                target = os.path.relpath(recording, path.parent)
                file[lpu] = h5py.ExternalLink(target, "/")
        os.replace(temporary, path)
    except (OSError, ValueError) as error:
        temporary.unlink(missing_ok=True)
        reason = getattr(error, "strerror", None) or str(error)
        raise RecordingError(f"{path}: cannot be written: {reason}") from error
