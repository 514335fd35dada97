"""Read files after random damage: ``python tests/reliability/mutate.py KIND COUNT [SEED]``."""

from __future__ import annotations

import random
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

import isolated  # noqa: E402
import seeds  # noqa: E402

ANY = (isolated.CLEAR, isolated.WARNED, isolated.LEGAL)


def cases(kind: str, good: Path, count: int, first: int = 0) -> list[isolated.Case]:
    """Return mutations of a file."""
    data = good.read_bytes()

    def one(seed: int) -> Callable[[Path], object]:
        def run(folder: Path) -> None:
            path = folder / good.name
            path.write_bytes(seeds.mutated(data, random.Random(f"{kind} {seed}")))
            try:
                seeds.READ[kind](path)
            finally:
                path.unlink(missing_ok=True)

        return run

    return [isolated.Case(f"{kind} {n}", one(n), ANY) for n in range(first, first + count)]


def main(kinds: str, count: str = "1000", first: str = "0") -> int:
    """Tell how mutations of each kind end; the status is 1 where one is at fault."""
    bad = []
    with tempfile.TemporaryDirectory() as folder:
        good = seeds.make(Path(folder))
        for kind in good if kinds == "all" else kinds.split(","):
            some = cases(kind, good[kind], int(count), int(first))
            ends = isolated.ends_of(some, Path(folder, kind))
            print(kind, dict(Counter(end.kind for end in ends)), flush=True)
            bad += isolated.faults(some, ends)
    print(*bad, sep="\n")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
