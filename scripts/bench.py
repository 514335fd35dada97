"""Measure the speed cases, each with its peer in the same run.

    python scripts/bench.py                        all cases
    python scripts/bench.py lif optic_lobe         some
    python scripts/bench.py hh_alpha --peers peers-venv/bin/python

Prints a table and writes JSON with machine and commit. The peers' scripts are in
``scripts/peers``; its README tells how to make their environment.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from importlib import import_module
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from benchmarks.measure import machine

CASES = (
    "optic_lobe",
    "lif",
    "hh_alpha",
    "files",
    "ports",
    "recording",
    "photoreceptor",
    "exchange",
)


def cell(value: object) -> str:
    """Return a table's cell."""
    if isinstance(value, float):
        if math.isnan(value):
            return ""
        return f"{value:.3g}" if abs(value) < 100 else f"{value:.0f}"
    return str(value)


def markdown(rows: list[dict[str, object]]) -> str:
    """Return the rows as a Markdown table."""
    head = ["case", "us a step", "seconds", "peer", "ratio", "target", "floor"]
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    lines += ["| " + " | ".join(cell(row.get(h, "")) for h in head) + " |" for row in rows]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"of {', '.join(CASES)}")
    parser.add_argument("--rounds", type=int, default=5, help="ours and the peer in turn, so often")
    parser.add_argument("--peers", help="Python of the environment with Brian2 and Arbor")
    parser.add_argument("-o", "--output", type=Path, default=Path("out/bench.json"))
    arguments = parser.parse_args()
    unknown = [name for name in arguments.cases if name not in CASES]
    if unknown:
        parser.error(f"unknown case {unknown[0]}; known are {', '.join(CASES)}")
    rows: list[dict[str, object]] = []
    for name in arguments.cases or CASES:
        found = import_module(f"benchmarks.{name}").run(arguments.rounds, arguments.peers)
        print(markdown(found), flush=True)
        rows += found
    result = {"machine": machine(), "rows": rows}
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    arguments.output.write_text(json.dumps(result, indent=1))
    print(json.dumps(result["machine"]), arguments.output, sep="\n")


if __name__ == "__main__":
    main()
