"""Measure the speed cases, each with its peer in the same run.

    python scripts/bench.py                        all cases
    python scripts/bench.py lif optic_lobe         some
    python scripts/bench.py hh_alpha --peers peers-venv/bin/python
    python scripts/bench.py --backend cuda         the table of the GPU, with its ceilings
    python scripts/bench.py --backend cuda potjans fly        rows of that table
    python scripts/bench.py --table --small        the same cases, small, on the CPU

Prints a table and writes JSON with machine and commit. ``scripts/fill_tables.py --bench FILE``
writes it into docs/speed.md. The peers' scripts are in ``scripts/peers``; its README says how to
make their environment.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import traceback
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from benchmarks.measure import machine
from benchmarks.table import Table

CASES = (
    "optic_lobe",
    "lif",
    "hh_alpha",
    "files",
    "columns",
    "ports",
    "recording",
    "photoreceptor",
    "exchange",
    "lif_ampa",
    "generic",
    "projections",
    "coba_lif",
    "cuba_lif",
    "coba_hh",
    "brunel",
    "izhikevich",
    "potjans",
    "microcircuit",
    "fly",
    "cuts",
    "living",
    "batches",
    "stdp_hpc",
    "stdp_izhikevich",
    "hmax",
    "sheet",
    "associator",
    "lvis",
    "lvis_items",
    "lvis_changes",
)

TABLE = (
    "ceilings",
    "lif_ampa",
    "generic",
    "hh_alpha",
    "optic_lobe",
    "lif",
    "recording",
    "start",
    "coba_lif",
    "cuba_lif",
    "coba_hh",
    "brunel",
    "izhikevich",
    "fly",
    "projections",
    "potjans",
    "microcircuit",
    "multi_area",
    "multi_area_build",
    "delivery",
    "exchange",
    "cuts",
    "living",
    "batches",
    "stdp_hpc",
    "stdp_izhikevich",
    "reward",
    "hmax",
    "sheet",
    "lvis",
    "lvis_items",
    "lvis_changes",
)
"""Cases that run on any backend, most with targets on the GPU."""

COLUMNS = {"case": True, "us a step": True, "wall us": False, "wall of device": False,
           "float32 us": False,
           "ms a second": False, "spikes a second": False, "build s": False, "seconds": True,
           "peer": True, "ratio": True, "target": True, "met": False, "activity": False,
           "floor": True}  # fmt: skip
"""Head of the table -> whether it stands there without a value."""


def cell(value: object) -> str:
    """Return a table's cell."""
    if isinstance(value, float):
        if math.isnan(value):
            return ""
        return f"{value:.3g}" if abs(value) < 100 else f"{value:.0f}"
    return str(value)


def markdown(rows: list[dict[str, object]]) -> str:
    """Return the rows as a Markdown table."""
    head = [h for h, always in COLUMNS.items() if always or any(h in row for row in rows)]
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    lines += ["| " + " | ".join(cell(row.get(h, "")) for h in head) + " |" for row in rows]
    return "\n".join(lines)


def measured(name: str, arguments: argparse.Namespace) -> Iterator[dict[str, object]]:
    """Yield the rows of a case; in a table the failure of one is a row, too."""
    module = import_module(f"benchmarks.{name}")
    if not arguments.table and hasattr(module, "run"):
        yield from module.run(arguments.rounds, arguments.peers)
        return
    given = arguments.backend, arguments.rounds, arguments.small, arguments.devices
    try:
        yield from module.table(Table(*given))
    except Exception as error:
        traceback.print_exc()
        yield {"case": f"{name}: failed", "met": "no", "floor": f"{error!s:.200}"}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    known = tuple(dict.fromkeys(CASES + TABLE))
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"of {', '.join(known)}")
    parser.add_argument("--backend", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument(
        "--devices",
        type=int,
        default=1,
        help="compute each published network on one GPU, and on so many together",
    )
    parser.add_argument("--table", action="store_true", help="the GPU's cases, on any backend")
    parser.add_argument("--small", action="store_true", help="small circuits in the table")
    parser.add_argument("--rounds", type=int, default=5, help="ours and the peer in turn, so often")
    parser.add_argument("--peers", help="Python of the environment with Brian2, NEST and Arbor")
    parser.add_argument("-o", "--output", type=Path, default=Path("out/bench.json"))
    arguments = parser.parse_args()
    arguments.table |= arguments.backend == "cuda"
    possible = TABLE if arguments.table else known
    unknown = [name for name in arguments.cases if name not in possible]
    if unknown:
        parser.error(f"unknown case {unknown[0]}; known are {', '.join(possible)}")
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    result: dict[str, Any] = {"machine": machine(arguments.backend), "rows": []}
    head = ""
    for name in arguments.cases or (TABLE if arguments.table else CASES):
        for row in measured(name, arguments):
            lines = markdown([row]).splitlines()
            print("\n".join(lines[-1:] if lines[0] == head else lines), flush=True)
            head = lines[0]
            result["rows"].append(row)
            arguments.output.write_text(json.dumps(result, indent=1))
    if arguments.table:
        print(markdown(result["rows"]))
    print(json.dumps(result["machine"]), arguments.output, sep="\n")
    return any("failed" in str(row["case"]) for row in result["rows"])


if __name__ == "__main__":
    sys.exit(main())
