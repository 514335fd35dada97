"""What a file or a run brings to those who read it, as a digest: equal for what means the same."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import seeds

from neurodriver import Circuit


def digest(kind: str, path: Path) -> str:
    """Read a file of a kind of `seeds`; return the digest of all that comes of it."""
    return digest_of(seeds.READ[kind](path), str(path))


def digest_of(value: Any, path: str = "no path") -> str:
    """Return the digest of a value, in which a path does not count."""
    out = hashlib.sha256()
    for part in _parts(value):
        out.update(part.replace(path.encode(), b""))
    return out.hexdigest()


TOLD = ("experiment", "metadata")
"""Data sets of recordings that repeat what was asked for."""

_TIMES = re.compile(r"[\d.]+ s(?= |$|;)|\([\d.e+-]+ x real time\)", re.MULTILINE)


def digest_of_run(folder: Path, given: set[str], said: str = "") -> str:
    """Return the digest of what a command has said and written.

    Parameters
    ----------
    given : set of str
        Names of files that were there before.
    said : str
        Times in it are left out.
    """
    out = hashlib.sha256(_TIMES.sub("", said).replace(str(folder), "").encode())
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if name in given or not path.is_file():
            continue
        out.update(name.encode())
        if not h5py.is_hdf5(path):
            out.update(path.read_bytes())
            continue
        with h5py.File(path, "r") as file:
            for part in _data_sets(file):
                out.update(part)
    return out.hexdigest()


def _data_sets(file: h5py.File) -> Iterator[bytes]:
    """Yield the values of all data sets, and where the links to other files lead."""
    found: list[str] = []
    file.visit_links(found.append)
    for name in sorted(found):
        link = file.get(name, getlink=True)
        yield name.encode()
        if isinstance(link, h5py.ExternalLink):
            yield link.filename.encode()
        elif isinstance(file[name], h5py.Dataset) and name.split("/")[-1] not in TOLD:
            yield from _parts(file[name][()])


def _parts(value: Any) -> Iterator[bytes]:
    """Yield a value and all that it holds as bytes."""
    if isinstance(value, np.ndarray):
        yield f"{value.dtype} {value.shape}".encode()
        yield repr(value.tolist()).encode() if value.dtype.hasobject else value.tobytes()
    elif isinstance(value, Mapping):
        for key in sorted(value, key=repr):
            yield repr(key).encode()
            yield from _parts(value[key])
    elif isinstance(value, list | tuple):
        yield f"{len(value)} values".encode()
        for one in value:
            yield from _parts(one)
    elif isinstance(value, Circuit):
        names = [(one.name, one.variable, one.access) for one in value.connections]
        yield from _parts([value.digest, value.uids, value.groups, names])
    elif hasattr(value, "__dict__") and not isinstance(value, type):
        yield type(value).__name__.encode()
        yield from _parts(vars(value))
    else:
        yield repr(value).encode()
