"""Every environment variable of the project, read in one place."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from .errors import CompileError, NeurodriverError

TABLE: dict[str, tuple[str, str]] = {
    "NEURODRIVER_CACHE": ("~/.cache/neurodriver", "folder of compiled kernels"),
    "NEURODRIVER_CXX": ("", "C++ compiler to use instead of the one found"),
    "NEURODRIVER_THREADS": ("", "worker threads of the CPU backend; empty: by circuit size"),
    "NEURODRIVER_BACKEND": ("cpu", "what advances circuits: cpu or cuda"),
    "NEURODRIVER_DEVICE": ("", "number of the GPU; empty: by the rank's place on its host"),
    "NEURODRIVER_EXECUTOR": ("resident", "on a GPU: resident or stepwise"),
    "NEURODRIVER_FUZZ": ("0", "not 0: a GPU takes its work in orders drawn from it, for tests"),
    "NEURODRIVER_VALIDATE": ("0", "1 runs every step on the CPU, too, and compares all values"),
    "NEURODRIVER_TIMEOUT": (
        "24",
        "seconds without progress of a rank until the job ends; 0: never",
    ),
    "NEURODRIVER_DEBUG": ("0", "1 prints the plan of a circuit, 2 also the generated text"),
}
"""Name -> (default, meaning)."""


_DEFAULTS: ContextVar[Mapping[str, str] | None] = ContextVar("defaults", default=None)


@contextmanager
def defaults(**values: str) -> Iterator[None]:
    """Let variables that are not set have other defaults, in this thread and for a while."""
    token = _DEFAULTS.set({**(_DEFAULTS.get() or {}), **values})
    try:
        yield
    finally:
        _DEFAULTS.reset(token)


_LAUNCHED = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS", "PMIX_RANK")


def launched() -> bool:
    """Whether a launcher of MPI started this process."""
    return any(name in os.environ for name in _LAUNCHED)


def get(name: str) -> str:
    """Return the value of one of the variables in ``TABLE``."""
    given = os.environ.get(name) or (_DEFAULTS.get() or {}).get(name)
    return given or TABLE[name][0]


def debug() -> int:
    """Return the debug level (0, 1 or 2)."""
    text = get("NEURODRIVER_DEBUG")
    return int(text) if text.isdigit() else 0


def validates() -> bool:
    """Whether every step is run on the CPU, too."""
    text = get("NEURODRIVER_VALIDATE")
    if text not in ("0", "1"):
        raise NeurodriverError(f"NEURODRIVER_VALIDATE must be 0 or 1, got '{text}'")
    return text == "1"


def fuzz() -> int:
    """Return the seed of the orders of work on a GPU, 0 for the usual one."""
    text = get("NEURODRIVER_FUZZ")
    if not text.isdigit() or int(text) >= 1 << 62:
        raise NeurodriverError(f"NEURODRIVER_FUZZ must be a whole number, got '{text}'")
    return int(text)


def timeout() -> float:
    """Return after how many seconds without progress of a rank the job ends; 0: never."""
    text = get("NEURODRIVER_TIMEOUT")
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < float("inf"):
        raise NeurodriverError(f"NEURODRIVER_TIMEOUT must be seconds, at least 0, got '{text}'")
    return seconds


def cache_folder() -> Path:
    """Return the folder of compiled kernels, made if need be, private to the user."""
    path = Path(get("NEURODRIVER_CACHE")).expanduser()
    try:
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        advice = "name a folder of your own in NEURODRIVER_CACHE"
        raise CompileError(f"{path}: cannot be made ({error.strerror}); {advice}") from None
    return path
