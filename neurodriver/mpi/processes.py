"""What the system tells of other processes of this host."""

from __future__ import annotations

import os


def _fields(process: int) -> list[str]:
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()
    except OSError:
        return []


def state_of(process: int) -> str:
    """Return its character, such as R, S or T (stopped); a blank where there is none."""
    return (_fields(process) or [" "])[0]


def processor_seconds(process: int) -> float:
    """Return the time that it has computed."""
    fields = _fields(process)
    ticks = int(fields[11]) + int(fields[12]) if fields else 0
    return ticks / os.sysconf("SC_CLK_TCK")
