"""Run a program and write a digest of all that its recorders took.

``recorded_digests.py OUT SCRIPT ARGUMENT ...`` or ``recorded_digests.py OUT -m MODULE ARGUMENT
...``: OUT gets a line of JSON for each variable of each recorder, in the order in which they began:
variable, bytes, digest, and whether anything changed.
"""

from __future__ import annotations

import hashlib
import json
import runpy
import sys
from pathlib import Path
from typing import Any

import numpy as np

from neurodriver.recorders import Block, Recorder, RecordingPlan


class Digest:
    """What one recorder took of one variable, however it was cut into blocks."""

    def __init__(self) -> None:
        self.hashes: dict[str, Any] = {}
        self.bytes = 0
        self.first: bytes | None = None
        self.moves = False

    def take(self, part: str, values: np.ndarray) -> None:
        """Add rows."""
        self.hashes.setdefault(part, hashlib.sha256()).update(
            np.ascontiguousarray(values).tobytes()
        )
        self.bytes += values.nbytes
        for row in values[:: max(1, len(values) // 50)]:
            self.first = self.first if self.first is not None else row.tobytes()
            self.moves = self.moves or row.tobytes() != self.first


kept: list[tuple[Recorder, dict[str, Digest]]] = []
opens, appends = Recorder.open, Recorder.append


def begin(self: Recorder, plan: RecordingPlan) -> None:
    """Begin digests with a recording."""
    kept.append((self, {columns.variable: Digest() for columns in plan.columns}))
    opens(self, plan)


def append(self: Recorder, block: Block) -> None:
    """Take a block into the digests, then as ever."""
    digests = next(mine for recorder, mine in reversed(kept) if recorder is self)
    for variable, rows in block.rows.items():
        digests[variable].take("rows", rows)
    for variable, (time, index) in block.events.items():
        digests[variable].take("time", time)
        digests[variable].take("index", index)
    appends(self, block)


def main(out: Path, program: str, *arguments: str) -> None:
    """Run the program, then write."""
    Recorder.open, Recorder.append = begin, append  # type: ignore[method-assign]
    try:
        if program == "-m":
            module, *rest = arguments
            sys.argv = [module, *rest]
            runpy.run_module(module, run_name="__main__", alter_sys=True)
        else:
            sys.argv = [program, *arguments]
            sys.path[0] = str(Path(program).parent)
            runpy.run_path(program, run_name="__main__")
    except SystemExit as end:
        if end.code:
            raise
    lines = [
        {"variable": variable, "bytes": digest.bytes, "moves": digest.moves,
         "digest": {part: made.hexdigest() for part, made in digest.hashes.items()}}
        for _, digests in kept
        for variable, digest in digests.items()
    ]  # fmt: skip
    out.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
