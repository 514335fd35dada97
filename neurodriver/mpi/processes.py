"""What the system tells of other processes of this host."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

JOB, RANK = "PMIX_NAMESPACE", "PMIX_RANK"
"""Variables by which a launcher tells a process what it is."""


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


def processes_of(ranks: Collection[int]) -> list[int]:
    """Return the processes of some ranks of this job, without this one."""
    wanted = {f"{RANK}={rank}".encode() for rank in ranks}
    job = f"{JOB}={os.environ.get(JOB)}".encode()
    out = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            given = set(path.read_bytes().split(b"\0"))
        except OSError:
            continue
        process = int(path.parent.name)
        if job in given and given & wanted and process != os.getpid():
            out.append(process)
    return out
