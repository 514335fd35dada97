"""The differences between Linux, macOS and Windows: processors, memory, files, processes, signals.

Functions of Python that only some systems have, such as ``os.pread``, are used in this module only.
On the other systems an alternative is used, or nothing is done. ``tests/unit/test_system.py``
checks this. How kernels are compiled on each system is in ``native/platforms.py``.
"""

from __future__ import annotations

import _thread
import contextlib
import ctypes
import os
import shutil
import signal
import stat
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import IO, Any

# -- processors and memory ------------------------------------------------------------------------


def cores() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def give_way() -> None:
    """Let another thread or process use the processor (yield)."""
    if hasattr(os, "sched_yield"):
        os.sched_yield()
    else:
        time.sleep(0)


@cache
def instructions() -> str:
    """Return a text that differs between processors with different instruction sets.

    It is the part of ``/proc/cpuinfo`` that names the instructions, or else the processor's name.
    """
    import platform

    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return platform.processor() + platform.machine()
    lines = [x for x in text.splitlines() if x.startswith(("flags", "Features", "model name"))]
    return "\n".join(sorted(set(lines)))


def free_memory() -> float:
    """Return the bytes of memory that a simulation may use.

    On Linux and Windows this is 0.9 of the free memory. On macOS it is half of all memory. It is
    infinity if the system tells neither.
    """
    with contextlib.suppress(OSError, StopIteration):
        text = Path("/proc/meminfo").read_text(encoding="utf-8")
        line = next(x for x in text.splitlines() if x.startswith("MemAvailable"))
        return 0.9 * 1024 * float(line.split()[1])
    if hasattr(os, "sysconf"):  # macOS tells the size of its memory, not how much is free
        return 0.5 * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if hasattr(ctypes, "windll"):
        status = _MemoryStatus(ctypes.sizeof(_MemoryStatus))
        if ctypes.windll.kernel32.GlobalMemoryStatusEx(ctypes.byref(status)):
            return 0.9 * float(status.available)
    return float("inf")


class _MemoryStatus(ctypes.Structure):
    """``MEMORYSTATUSEX`` of Windows."""

    _fields_ = [("length", ctypes.c_uint32), ("load", ctypes.c_uint32)]
    _fields_ += [(name, ctypes.c_uint64) for name in ("total", "available")]
    _fields_ += [(f"other{i}", ctypes.c_uint64) for i in range(5)]


# -- files ----------------------------------------------------------------------------------------

_PRIVATE = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOINHERIT", 0)
_PLAIN = _PRIVATE | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
READING = os.O_RDONLY | _PLAIN
"""Flags of ``os.open``: read bytes; child processes do not inherit the file; refuse links."""

WRITING = os.O_RDWR | _PLAIN
NEW = WRITING | os.O_CREAT | os.O_EXCL

OPEN_FILES_MOVE = os.name != "nt"
"""Whether a file that is open can be renamed, replaced and removed."""

_positions = threading.Lock()


def read_at(fd: int, count: int, place: int) -> bytes:
    """Return at most ``count`` bytes of a file, from the byte ``place`` on."""
    if hasattr(os, "pread"):
        return os.pread(fd, count, place)
    with _positions:
        os.lseek(fd, place, os.SEEK_SET)
        return os.read(fd, count)


def write_at(fd: int, data: memoryview, place: int) -> int:
    """Write bytes to a file, from the byte ``place`` on; return how many were written."""
    if hasattr(os, "pwrite"):
        return os.pwrite(fd, data, place)
    with _positions:
        os.lseek(fd, place, os.SEEK_SET)
        return os.write(fd, data)


def copy_range(source: int, target: int, count: int, origin: int, place: int) -> int:
    """Let the system copy bytes from one file to another.

    Parameters
    ----------
    source, target : int
        File descriptors.
    count : int
        Bytes to copy, at most.
    origin, place : int
        First byte in the source, and in the target.

    Returns
    -------
    int
        Bytes that were copied; 0 if the system cannot copy in this way.
    """
    if not hasattr(os, "copy_file_range"):
        return 0
    try:
        return os.copy_file_range(source, target, count, origin, place)
    except OSError:
        return 0


def file_in_memory() -> IO[bytes]:
    """Return a temporary file without a name; it is in memory if the system has such files."""
    if hasattr(os, "memfd_create"):
        return open(os.memfd_create("neurodriver"), "r+b", buffering=0)
    return tempfile.TemporaryFile(buffering=0)


def longest_file() -> int | None:
    """Return how many bytes a file of this process may have, or None if there is no limit."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    limit, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
    return None if limit == resource.RLIM_INFINITY else int(limit)


def store(path: Path) -> None:
    """Wait until a closed file has been written to the disk (fsync)."""
    with open(path, "r+b") as file:  # on Windows fsync needs a file that is open for writing
        os.fsync(file.fileno())


def is_another_users(info: os.stat_result) -> bool:
    """Whether a file belongs to another user; False on Windows, whose files have no such number."""
    return hasattr(os, "getuid") and info.st_uid != os.getuid()


def others_can_write(info: os.stat_result) -> bool:
    """Whether the mode of a file lets other users write it."""
    return hasattr(os, "getuid") and bool(info.st_mode & (stat.S_IWGRP | stat.S_IWOTH))


def lock(file: IO[Any]) -> bool:
    """Lock a file until it is closed; return False if another process has locked it.

    On a file system without locks, the result is always True.
    """
    try:
        try:
            import fcntl
        except ImportError:
            import msvcrt

            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        else:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (PermissionError, BlockingIOError):
        return False
    except OSError:
        return True
    return True


def remove_abandoned(path: Path, process: int) -> None:
    """Remove a file that a process of this host has left, if this process has ended."""
    if OPEN_FILES_MOVE:
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            path.unlink(missing_ok=True)
        except OSError:
            pass  # the process runs, and belongs to another user
        return
    with contextlib.suppress(OSError):  # Windows does not remove a file that is open
        path.unlink(missing_ok=True)


def shared_memory() -> set[Path]:
    """Return the files of shared memory that this process uses; Linux alone lists them."""
    with contextlib.suppress(OSError, IndexError):
        lines = Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()
        names = {line.split(maxsplit=5)[5] for line in lines if "/dev/shm/" in line}
        return {Path(name) for name in names if name.startswith("/dev/shm/")}
    return set()


# -- processes and signals ------------------------------------------------------------------------

USER_SIGNAL: signal.Signals = getattr(signal, "SIGUSR1", signal.SIGTERM)
"""SIGUSR1, a signal for the program's own use; on Windows SIGTERM."""


def interrupt_main_thread() -> None:
    """Send SIGINT to the main thread.

    On Linux and macOS the signal also interrupts a system call in which this thread waits.
    """
    main = threading.main_thread().ident
    if hasattr(signal, "pthread_kill") and main is not None:
        signal.pthread_kill(main, signal.SIGINT)
    else:
        _thread.interrupt_main(signal.SIGINT)


def is_root() -> bool:
    """Whether this process has the rights of the user root."""
    return hasattr(os, "geteuid") and os.geteuid() == 0


def program(name: str) -> str | None:
    """Return the path of a program, or None.

    It is searched in the folder of this Python, as in a virtual environment, and then in ``PATH``.
    """
    beside = (str(Path(sys.executable).parent), sysconfig.get_path("scripts"))
    return shutil.which(name, path=os.pathsep.join(beside)) or shutil.which(name)


def environments() -> Iterator[tuple[int, set[bytes]]]:
    """Yield the other processes of this user, each with its environment variables (``NAME=value``).

    Linux alone tells them.
    """
    for path in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            given, process = set(path.read_bytes().split(b"\0")), int(path.parent.name)
            if process != os.getpid():
                yield process, given


def start_group(command: Sequence[str]) -> subprocess.Popen[str]:
    """Start a program that `end_group` can end with all programs that it starts itself."""
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, text=True, start_new_session=True, **pipes)


def end_group(process: subprocess.Popen[str]) -> None:
    """End a program, and those that it has started; they may remove their files first."""
    with contextlib.suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGTERM)
        else:
            process.terminate()


def end_process(process: int) -> None:
    """End another process at once, without a chance to clean up (SIGKILL)."""
    with contextlib.suppress(OSError):
        os.kill(process, getattr(signal, "SIGKILL", signal.SIGTERM))


_END_LATER = """
import select, signal, sys
process = int(sys.argv[1])
for number, seconds in ((signal.SIGTERM, float(sys.argv[2])), (signal.SIGKILL, 2.0)):
    if select.select([process], [], [], seconds)[0]:
        break
    signal.pidfd_send_signal(process, number)
"""


def end_process_later(process: int, seconds: float) -> None:
    """End another process if it is still there after some seconds.

    A third process waits for it, so that it is ended even if this one is gone. Linux alone can do
    so; elsewhere this does nothing.
    """
    if not hasattr(os, "pidfd_open"):
        return
    with contextlib.suppress(OSError):
        descriptor = os.pidfd_open(process)
        words = [sys.executable, "-I", "-S", "-c", _END_LATER, str(descriptor), str(seconds)]
        subprocess.Popen(
            words,
            env={k: v for k, v in os.environ.items() if k in ("PATH", "LD_LIBRARY_PATH")},
            pass_fds=[descriptor],
            start_new_session=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(descriptor)


def state_of(process: int) -> str:
    """Return the state of a process of this host, as ``ps`` writes it.

    It is a letter such as R (running), S (sleeping) or T (stopped), a blank if there is no such
    process, and ``?`` if the system does not tell.
    """
    return _state_and_seconds(process)[0]


def processor_seconds(process: int) -> float:
    """Return the processor time of a process of this host, s; 0 if the system does not tell."""
    return _state_and_seconds(process)[1]


def _state_and_seconds(process: int) -> tuple[str, float]:
    if Path("/proc/self/stat").exists():
        try:
            text = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return " ", 0.0
        fields = text.rpartition(")")[2].split()
        return fields[0], (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    asking = ["ps", "-o", "state=,time=", "-p", str(process)]
    try:
        said = subprocess.run(asking, capture_output=True, text=True, timeout=5).stdout.split()
    except (OSError, subprocess.SubprocessError):
        return "?", 0.0  # Windows has no such program
    return (said[0][0], _seconds(said[1])) if len(said) == 2 else (" ", 0.0)


def _seconds(text: str) -> float:
    """Return the seconds of a time as ``ps`` writes it: ``[[days-]hours:]minutes:seconds``."""
    days, _, rest = text.rpartition("-")
    total = 0.0
    for part in rest.split(":"):
        total = 60 * total + float(part)
    return total + 86400 * int(days or 0)
