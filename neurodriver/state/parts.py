"""A checkpoint in several files: an index, and a part for each process.

The index is an HDF5 file with a group ``parts``. Its attributes are ``version``, ``step`` and
``digest``: SHA-256 of all that the group holds. Its columns ``name`` and ``digest`` tell the file
of each part, which is beside the index, and the digest of its state. The columns ``lpu`` and
``part`` tell which part holds which LPU.

Parts are written first, under names that the index before does not have. When the index takes its
name, the new parts take the place of the old ones at once.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import h5py
import numpy as np

from ..errors import NeurodriverError, StateError, quoted
from ..io.columns import put
from ..io.hdf5_files import open_hdf5, reading, written_hdf5
from ..io.write import complete_or_none
from .checkpoint import VERSION, StoredState, digest_of

_SETS = "ab"
_HEAD = ("version", "step")


class Index:
    """The index of a checkpoint in parts.

    Attributes
    ----------
    names, digests : list of str
        File and digest of each part.
    part_of : dict of str to int
        Part that holds each LPU.

    Raises
    ------
    NeurodriverError
        For a file that is missing, damaged, or no index of this version.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with open_hdf5(path) as file, reading(path, StateError):
            parts = file.get("parts")
            if not isinstance(parts, h5py.Group):
                raise StateError(f"{path}: no index of a checkpoint: there is no group 'parts'")
            if parts.attrs.get("version") != VERSION:
                said = f"has the version {parts.attrs.get('version')!s:.20} of the format"
                raise StateError(f"{path}: {said}; this program reads {VERSION}")
            if digest_of(parts, _HEAD) != parts.attrs.get("digest"):
                raise StateError(f"{path}: damaged: the index differs from its digest")
            self.step = int(parts.attrs["step"])
            self.names, self.digests, lpus = (
                [text.decode() for text in parts[name][()].tolist()]
                for name in ("name", "digest", "lpu")
            )
            self.part_of = dict(zip(lpus, parts["part"][()].tolist(), strict=True))

    def read(self, number: int) -> StoredState:
        """Return the state that a part holds.

        Raises
        ------
        NeurodriverError
            For a file that is missing, damaged, or of another checkpoint.
        """
        path = self.path.parent / self.names[number]
        lpus = [quoted(name) for name, part in self.part_of.items() if part == number]
        held = f"it holds the state of {', '.join(lpus[:5])}" + ", ..." * (len(lpus) > 5)
        if not path.exists():
            raise StateError(f"{path}: no such file, but {self.path} needs it: {held}")
        stored = StoredState(path)
        if stored.digest != self.digests[number]:
            raise StateError(f"{path}: belongs to another checkpoint than {self.path}; {held}")
        return stored


def has_parts(path: Path) -> bool:
    """Whether a file is the index of a checkpoint in parts."""
    with open_hdf5(path) as file, reading(path):
        return "parts" in file


def part_name(path: Path, which: int, number: int) -> str:
    """Return the file name of a part in one of the two sets of names."""
    return f"{path.stem}.{_SETS[which]}{number}{path.suffix}"


def free_set(path: Path) -> int:
    """Return the set of names that the index under this name does not use."""
    used: list[str] = []
    with suppress(NeurodriverError):
        used = Index(path).names
    return int(any(name.startswith(f"{path.stem}.{_SETS[0]}") for name in used))


def write_index(
    path: Path, step: int, names: Sequence[str], digests: Sequence[str], part_of: Mapping[str, int]
) -> None:
    """Let parts take the place of what was saved under this name."""
    with complete_or_none(path) as goal, written_hdf5(goal, libver=("v110", "v110")) as file:
        parts = file.create_group("parts")
        parts.attrs.update({"version": VERSION, "step": step})
        for name, texts in {"name": names, "digest": digests, "lpu": part_of}.items():
            put(parts, name, np.array(list(texts), np.str_))
        put(parts, "part", np.array(list(part_of.values()), np.int64))
        parts.attrs["digest"] = digest_of(parts, _HEAD)


def remove_others(path: Path, kept: Sequence[str] = ()) -> None:
    """Remove the parts of earlier checkpoints of this name, complete or not."""
    name = re.compile(f"{re.escape(path.stem)}[.][{_SETS}][0-9]+{re.escape(path.suffix)}")
    for found in os.listdir(path.parent):
        if name.fullmatch(found) and found not in kept:
            with suppress(OSError):
                (path.parent / found).unlink(missing_ok=True)
