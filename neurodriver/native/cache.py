"""Compiled files in a private folder, each under the hash of all that went into it."""

from __future__ import annotations

import atexit
import contextlib
import errno
import hashlib
import os
import re
import shutil
import stat
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path

from .. import settings, system
from ..errors import SHOWN, CompileError

LOG = 4000
"""Characters of a compiler's log that an error shows."""

_OF_USERS = re.compile(
    r"(?:\w+\.get_update_template|call of \w+'s update|SourceModule)\b.*\berror:"
)
"""A line about a text of a user, which has the name of a model in place of that of a file."""

AT_MOST = 120.0
"""Seconds to wait for another process that makes the same file."""

CHECKED = ".sha256"
"""Ending of the file beside each one that holds its checksum."""


def kept(parts: Sequence[str], suffix: str, make: Callable[[Path], object]) -> Path:
    """Return a file of the cache, made now if it is not there, or is not what was stored.

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
        When the folder, or the file in it, is not the user's alone; and what ``make`` raises, which
        leaves nothing.
    """
    folder = _folder()
    path = folder / (hashlib.sha256("\0".join(parts).encode()).hexdigest()[:40] + suffix)
    if _whole(path):
        return path
    try:
        with _held.setdefault(path.name, threading.Lock()), _one_at_a_time(path):
            return path if _whole(path) else _made(path, make)
    except OSError as error:
        if folder != settings.cache_folder():
            say = f"no kernels can be stored ({error.strerror or error})"
            raise CompileError(f"{folder}: {say}; make room there") from None
        return _made(_own_folder() / path.name, make)  # full, or only for reading


_held: dict[str, threading.Lock] = {}
"""Name of a file -> held while a thread of this process makes it; a locked file keeps none away."""


@contextlib.contextmanager
def _one_at_a_time(path: Path) -> Iterator[None]:
    """Wait while another process makes the same file: the ranks of a job ask at the same time.

    Where a file system has no locks, or the other one takes too long, both make it.
    """
    beside = path.with_name(path.name + ".lock")
    try:
        with open(beside, "wb") as file:
            end = time.monotonic() + AT_MOST
            while not system.lock(file) and time.monotonic() < end:
                time.sleep(0.02)
            yield
    finally:
        with contextlib.suppress(OSError):
            beside.unlink(missing_ok=True)


def _made(path: Path, make: Callable[[Path], object]) -> Path:
    """Return a file after writing it and its checksum; no part of it is ever seen."""
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".build-") as work:
        made, sums = Path(work, path.name), Path(work, path.name + CHECKED)
        make(made)
        sums.write_text(hashlib.sha256(made.read_bytes()).hexdigest(), encoding="ascii")
        for one in (made, sums):
            one.chmod(0o600)
            system.store(one)
        # The checksum is written last: a file without one is made again. Another process may write
        # both at the same time, with other bytes. If the two do not fit, the file is made again.
        path.with_name(sums.name).unlink(missing_ok=True)
        os.replace(made, path)
        os.replace(sums, path.with_name(sums.name))
    return path


def _whole(path: Path) -> bool:
    """Whether a file is there as it was stored; raise where somebody else could have written it."""
    try:
        said = _content(path.with_name(path.name + CHECKED))
        held = _content(path)
    except OSError:
        return False
    return hashlib.sha256(held).hexdigest() == said.decode(errors="replace").strip()


def _content(path: Path) -> bytes:
    """Return what a file of the cache holds."""
    fd = os.open(path, system.READING)
    with open(fd, "rb") as file:
        info = os.fstat(fd)
        if system.is_another_users(info):
            raise CompileError(
                f"{path}: this file of the cache of compiled kernels belongs to somebody else, who "
                f"may have put it there; it is not run: delete the folder {path.parent}"
            )
        if system.others_can_write(info) or not stat.S_ISREG(info.st_mode):
            raise PermissionError(errno.EPERM, "others can write it")
        return file.read()


def _folder() -> Path:
    """Return the folder of the cache; one of this process alone where it cannot be made."""
    try:
        folder = settings.cache_folder()
    except CompileError:
        if os.environ.get("NEURODRIVER_CACHE"):  # asked for
            raise
        return _own_folder()
    info = folder.stat()
    if system.is_another_users(info) or system.others_can_write(info):
        raise CompileError(
            f"{folder}: the cache of compiled kernels must belong to you and be writable by you "
            f"alone, as its files are run; somebody else may have written into it: delete it, or "
            f"name another folder in NEURODRIVER_CACHE"
        )
    return folder


@cache
def _own_folder() -> Path:
    """Return a folder that ends with this process."""
    folder = Path(tempfile.mkdtemp(prefix="neurodriver-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def refused(compiler: str, text: str, log: str, command: str) -> CompileError:
    """Return the error for a generated text, named by its first line, that a compiler refused.

    What the compiler says of a user's text is the user's to mend: then there are these lines alone.
    """
    own = [line.strip() for line in log.splitlines() if _OF_USERS.match(line)]
    if own:
        more = [f"... and {len(own) - SHOWN} more"] if len(own) > SHOWN else []
        return CompileError("\n  ".join([f"{compiler} refuses this text:", *own[:SHOWN], *more]))
    return CompileError(
        f"{compiler} refused generated text ({text.splitlines()[0]}):\n"
        f"{log.strip()[:LOG]}\nwhile running {command}"
    )
