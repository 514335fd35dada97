"""Every environment variable of the project, read in one place."""

from __future__ import annotations

import os
from pathlib import Path

from .errors import CompileError, NeurodriverError

TABLE: dict[str, tuple[str, str]] = {
    "NEURODRIVER_CACHE": ("~/.cache/neurodriver", "folder of compiled kernels"),
    "NEURODRIVER_CXX": ("", "C++ compiler to use instead of the one found"),
    "NEURODRIVER_THREADS": ("", "worker threads of the CPU backend; empty: by circuit size"),
    "NEURODRIVER_BACKEND": ("cpu", "what advances circuits: cpu or cuda"),
    "NEURODRIVER_DEVICE": ("0", "number of the GPU"),
    "NEURODRIVER_EXECUTOR": (
        "resident",
        "on a GPU: resident or stepwise",
    ),
    "NEURODRIVER_TIMEOUT": ("0", "seconds to wait for another rank; 0: as long as it takes"),
    "NEURODRIVER_DEBUG": ("0", "1 prints the plan of a circuit, 2 also the generated text"),
}
"""Name -> (default, meaning)."""


def get(name: str) -> str:
    """Return the value of one of the variables in ``TABLE``."""
    return os.environ.get(name) or TABLE[name][0]


def debug() -> int:
    """Return the debug level (0, 1 or 2)."""
    text = get("NEURODRIVER_DEBUG")
    return int(text) if text.isdigit() else 0


def timeout() -> float:
    """Return how many seconds a rank waits for another, 0 for ever."""
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
