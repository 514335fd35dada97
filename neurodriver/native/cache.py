"""Compiled files in a private folder, each under the hash of all that went into it."""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from .. import settings
from ..errors import CompileError

LOG = 4000
"""Characters of a compiler's log that an error shows."""


def kept(parts: Sequence[str], suffix: str, make: Callable[[Path], object]) -> Path:
    """Return a file of the cache, made now if it is not there.

    Parameters
    ----------
    parts : sequence of str
        All that decides what the file holds: text, compiler, version, flags, processor.
    suffix : str
        How the file's name ends.
    make : callable
        Writes the file to the path that it is given, in a folder of its own.

    Raises
    ------
    CompileError
        When the folder is not the user's alone; and what ``make`` raises, which leaves nothing.
    """
    folder = _private(settings.cache_folder())
    path = folder / (hashlib.sha256("\0".join(parts).encode()).hexdigest()[:40] + suffix)
    if not path.exists():
        with tempfile.TemporaryDirectory(dir=folder, prefix=".build-") as work:
            made = Path(work, path.name)
            make(made)
            os.replace(made, path)  # another process may have made it too: the same bytes
    return path


def _private(folder: Path) -> Path:
    """Refuse a cache that somebody else could write into: its files are run."""
    info = folder.stat()
    if info.st_uid != os.getuid() or info.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise CompileError(
            f"{folder}: the cache of compiled kernels must belong to you and be writable by you "
            f"alone; run `chmod 700 {folder}` or name another folder in NEURODRIVER_CACHE"
        )
    return folder


def refused(compiler: str, text: str, log: str, command: str) -> CompileError:
    """Return the error for a generated text, named by its first line, that a compiler refused."""
    return CompileError(
        f"{compiler} refused generated text ({text.splitlines()[0]}):\n"
        f"{log.strip()[:LOG]}\nwhile running {command}"
    )
