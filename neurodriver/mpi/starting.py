"""The start of MPI, which waits for all ranks, and what MPI leaves behind.

MPI starts no rank before the last one is there. So a thread watches the start, and kills a rank of
this host that has not come, is stopped, or has come to the end of its script. Then the launcher
ends the job. Each process that imports the package leaves a file in the folder that the launcher
has made for the job, and removes when the job ends.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import os
import sys
import threading
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .. import settings
from ..errors import NeurodriverError
from ..system import end_process, end_process_later, environments, shared_memory, state_of

OTHER_HOSTS = 10
"""Times the limit that ranks of other hosts may take to start: nothing is known of them."""

LAUNCHER_SECONDS = 5.0
"""What the launcher gets to end this process. Open MPI 5 hangs where a process is gone before the
launcher has answered its call, and a busy launcher answers late."""

ADVICE = "NEURODRIVER_TIMEOUT sets this time"

_JOB, _RANK = "PMIX_NAMESPACE", "PMIX_RANK"
"""Variables by which a launcher tells a process what it is."""

_STARTED, _WAITS, _ENDS = "started", "waits", "ends"

_END_SECONDS = 2.0
"""What a rank gets to end that has come to the end of its script: the launcher may end the job."""


def library() -> Any:
    """Return the module ``MPI`` of mpi4py.

    Raises
    ------
    NeurodriverError
        Where it cannot be imported.
    """
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        message = f'mpi4py cannot be imported ({error}); pip install "neurodriver[mpi]"'
        raise NeurodriverError(message) from error
    return MPI


def start(limit: float, communicators: int) -> tuple[Any, list[Any]]:
    """Start MPI with all ranks of the job.

    Parameters
    ----------
    limit : float
        Seconds after which the process ends where a rank does not come; 0 for never.
    communicators : int
        How many to make of all ranks.

    Returns
    -------
    module ``MPI`` of mpi4py, list of communicators
    """
    with _watched(limit):
        if "mpi4py.MPI" not in sys.modules:
            _start_without_lock()
        MPI = library()
        return MPI, [MPI.COMM_WORLD.Dup() for _ in range(communicators)]


def _start_without_lock() -> None:
    """Start MPI by a call that lets other threads of Python run; mpi4py keeps them from it."""
    try:
        import mpi4py
    except ImportError:
        return  # `library` reports it
    mpi4py.rc.initialize, mpi4py.rc.finalize = False, True
    MPI = library()
    if not MPI.Is_initialized():
        given = ctypes.c_int()
        functions = ctypes.CDLL(MPI.__file__)
        if hasattr(functions, "MPI_Init_thread"):
            functions.MPI_Init_thread(None, None, MPI.THREAD_MULTIPLE, ctypes.byref(given))
        else:  # Windows shows no functions of the libraries that a library uses
            MPI.Init_thread(MPI.THREAD_MULTIPLE)


# -- who has come ---------------------------------------------------------------------------------


def leave_sign(text: str = _STARTED) -> None:
    """Leave a file with the number of this process for the other ranks of this host.

    It does nothing without a launcher that has a folder for the job, and in children of a rank.
    """
    folder, rank = os.environ.get("PMIX_SERVER_TMPDIR"), os.environ.get("PMIX_RANK", "")
    if not folder or not rank.isdigit():
        return
    path = Path(folder, f"{_sign_name()}{rank}")
    with contextlib.suppress(OSError):
        if not path.exists() or _sign(path)[0] == os.getpid() or state_of(_sign(path)[0]) in " Z":
            new = path.with_suffix(f".{os.getpid()}")
            new.write_text(f"{os.getpid()} {text}", encoding="utf-8")
            new.replace(path)


def leave_signs() -> None:
    """Leave a file now, and another text in it when the script ends."""
    leave_sign()
    atexit.register(leave_sign, _ENDS)


def _sign_name() -> str:
    """Return how the files of this job begin; one launcher may start several jobs."""
    return f"neurodriver-{os.environ.get('PMIX_NAMESPACE', '').replace('/', '_')}-"


def _sign(path: Path) -> tuple[int, str]:
    number, _, text = path.read_text(encoding="utf-8").partition(" ")
    return int(number), text


@contextmanager
def _watched(limit: float) -> Iterator[None]:
    """Watch what waits for all ranks."""
    leave_sign(_WAITS)
    done = threading.Event()
    if limit:
        threading.Thread(target=_watch, args=(limit, done), daemon=True).start()
    try:
        yield
    finally:
        done.set()
        leave_sign()


def _watch(limit: float, done: threading.Event) -> None:
    begin = time.monotonic()
    while not done.wait(min(0.5, limit / 4)):
        waited = time.monotonic() - begin
        if waited < min(limit, _END_SECONDS):
            continue
        if missing := _missing(waited > limit, waited > OTHER_HOSTS * limit):
            first, ranks, text = missing
            if first:
                print(f"error: {text}", file=sys.stderr, flush=True)
                end_launcher_later()
                for process in _processes_of(ranks):
                    end_process(process)
            time.sleep(LAUNCHER_SECONDS)
            os._exit(1)


def _missing(late: bool, last: bool) -> tuple[bool, list[int], str] | None:
    """Return whether this rank is the one to say so, which ranks do not come, and how.

    Parameters
    ----------
    late : bool
        Whether ranks of this host had the time to start.
    last : bool
        Whether ranks of other hosts had it, too.
    """
    names = ("PMIX_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE")
    rank, local, size = (int(os.environ.get(name, "-1")) for name in names)
    found: dict[int, tuple[int, str]] = {}
    for path in Path(os.environ.get("PMIX_SERVER_TMPDIR", "/nowhere")).glob("neurodriver-*"):
        number = path.name.removeprefix(_sign_name())
        if number.isdigit():
            with contextlib.suppress(OSError, ValueError):
                found[int(number)] = _sign(path)
    first = rank == min((r for r, (_, text) in found.items() if text == _WAITS), default=rank)
    ended = [r for r, (one, text) in found.items() if text == _ENDS or state_of(one) in " Z"]
    ended = [r for r in ended if not {*_processes_of([r])} - {found[r][0]}]  # no other program
    if ended:
        say = f"{_ranks(ended)} has ended, and the others wait for it to start MPI"
        return first, ended, f"{say}; every rank must make the same calls"
    if not late:
        return None
    after = f"after {settings.timeout():g} s; {ADVICE}"
    stopped = [r for r, (process, _) in found.items() if state_of(process) in "Tt"]
    if stopped:
        return first, stopped, f"{_ranks(stopped)} is stopped and has not started MPI {after}"
    if found and len(found) < size:
        absent = sorted(set(range(rank - local, rank - local + size)) - set(found))
        which = _ranks(absent) if len(absent) == size - len(found) else "a rank of this host"
        return first, absent, f"{which} has not started {after}"
    return (first, [], f"a rank has not started MPI {after}") if last else None


def _processes_of(ranks: Collection[int]) -> list[int]:
    """Return the processes of some ranks of this job, without this one."""
    wanted = {f"{_RANK}={rank}".encode() for rank in ranks}
    job = f"{_JOB}={os.environ.get(_JOB)}".encode()
    return [one for one, given in environments() if job in given and given & wanted]


def _ranks(numbers: list[int]) -> str:
    return f"rank {', '.join(map(str, sorted(numbers)))}"


# -- what stays behind ----------------------------------------------------------------------------


def remove_segments(rank: int, every: int = 0) -> None:
    """Remove the names of shared memory of Open MPI that this rank has made.

    Ranks that use the memory keep it. It goes with the last one, however they end.

    Parameters
    ----------
    every : int
        Do nothing unless the process uses those of so many ranks.
    """
    found = {path for path in shared_memory() if "_segment." in path.name}
    if len(found) >= every:
        for path in found:
            if path.suffix == f".{rank}":
                with contextlib.suppress(OSError):
                    path.unlink()


SECONDS = 10.0
"""What the launcher gets to end the job. On a busy machine it may need some seconds."""


def leave_job() -> None:
    """End this process with status 1 where the launcher ends the other ranks then.

    Open MPI's does. Its ``MPI_Abort`` would do the same, but the launcher of Open MPI 5.0.11 hangs
    or crashes at it once in some hundred jobs. Other launchers may let the other ranks go on: there
    nothing is done.
    """
    if _by_open_mpi():
        end_launcher_later()
        os._exit(1)


def end_launcher_later() -> None:
    """See to it that Open MPI's launcher ends, whatever happens to this process.

    Its ranks may be gone while it hangs. So another process waits for it, and ends it.
    """
    if _by_open_mpi():
        end_process_later(os.getppid(), SECONDS)


def _by_open_mpi() -> bool:
    return "PRTE_LAUNCHED" in os.environ  # the parent of a rank is its launcher
