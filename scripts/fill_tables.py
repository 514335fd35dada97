"""Fill the tables of docs, the chart of README.md, and the lines of walk-throughs.

Models and rules of plasticity come from their classes. The speed comes from a run of bench.py, and
its summary and the README's chart from the page on speed. The model of cost comes from
cost_model.py, and the lines from the files that a walk-through names.

python scripts/fill_tables.py [--check] [--bench out/bench.json [--mark TABLE]]
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench import COLUMNS, cell
from cost_model import heads, rows
from line_numbers import Gone, refreshed
from speed_chart import Times, chart

from neurodriver.cli.models import by_kind
from neurodriver.cli.rules import table as table_of_rules
from neurodriver.model.library import shipped, shipped_rules

ROOT = Path(__file__).parents[1]
MODELS = ROOT / "docs" / "models.md"
RULES = ROOT / "docs" / "plasticity.md"
SPEED = ROOT / "docs" / "speed.md"
CHART = ROOT / "data" / "figures" / "speed.svg"
WALKS = [ROOT / "docs" / "design" / f"way-of-a-{what}.md" for what in ("parameter", "spike")]
COST = ROOT / "docs" / "design" / "cost-model.md"
FILLED = (MODELS, RULES, SPEED, CHART, COST, *WALKS)

HEADS = {
    "us a step": "us per step",
    "float32 us": "us per step, float32",
    "wall us": "wall us per step",
    "wall of device": "wall / device",
    "ms a second": "ms per simulated s",
    "spikes a second": "spikes per simulated s",
    "build s": "build, s",
    "seconds": "time, s",
}
"""Column of bench.py -> head on the page; the others keep their names."""

LONGEST_CASE = 80
"""Characters of a case; what follows the first colon of a longer one stands below the table."""

BELOW = "activity"
"""Column that stands below the table."""


def replaced(text: str, name: str, lines: list[str], where: Path) -> str:
    """Return the text with new lines between the marks of one table."""
    pattern = rf"(<!-- {name}: [^\n]*-->\n).*?(<!-- end of {name} -->)"
    if not re.search(pattern, text, re.S):
        raise SystemExit(f"{where.name}: the marks of '{name}' are missing")
    body = "".join(line + "\n" for line in lines)
    return re.sub(pattern, lambda m: m.group(1) + body + m.group(2), text, flags=re.S)


def markdown_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a table in Markdown."""
    return ["| " + " | ".join(cells) + " |" for cells in (heads, ["---"] * len(heads), *rows)]


def shortened(row: Mapping[str, Any]) -> tuple[dict[str, str], str]:
    """Return the cells of a row, each with one entry, and what stands below the table instead."""
    cells = {name: cell(value) for name, value in row.items()}
    below = []
    case, colon, rest = cells["case"].partition(": ")
    if colon and len(cells["case"]) > LONGEST_CASE:
        cells["case"] = case
        below.append(rest)
    cells["floor"], _, rest = cells.get("floor", "").partition("; ")
    below.append(rest)
    activity = cells.pop(BELOW, "")
    below.append(f"ours/peer: {activity}" if activity else "")
    return cells, "; ".join(filter(None, below))


def speed_lines(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the rows of a run as a table in Markdown, and the notes below it."""
    pairs = [shortened(row) for row in rows]
    heads = [
        head
        for head, always in COLUMNS.items()
        if head != BELOW and (always or any(cells.get(head) for cells, _ in pairs))
    ]
    lines = markdown_table(
        [HEADS.get(head, head) for head in heads],
        [[cells.get(head, "") for head in heads] for cells, _ in pairs],
    )
    notes = [f"- {cells['case']}: {below}." for cells, below in pairs if below]
    return [*lines, "", "Notes:", "", *notes] if notes else lines


def speed_table(path: Path) -> list[str]:
    """Return the table of a run, its notes, and a line about the machine."""
    found = json.loads(path.read_text())
    machine = found["machine"]
    device, how = "", "medians, ours and the peer in turn"
    if "device" in machine:
        device, how = f"{machine['device']}, ", "medians after a warm-up, by the device's events"
    note = (
        f"{device}{machine['processor']}, {machine['cores']} cores, {machine['compiler']}, "
        f"commit {machine['commit']}, {machine['date']}; {how}."
    )
    return [*speed_lines(found["rows"]), "", note]


def speed_mark(path: Path) -> str:
    """Return the name of the table that a run of bench.py belongs into."""
    return "speed on a GPU" if "device" in json.loads(path.read_text())["machine"] else "speed"


def summary(page: str) -> list[str]:
    """Return the table of a simulated second of each network, from the tables below it."""
    heads = ("network", "neurons", "CPU, s", "ratio", "GPU, ms", "GeNN, ms")
    rows = []
    for title, neurons, (cpu, gpu) in measured(page):
        ratio = f"{cpu.peer / cpu.ours:.3g}" if cpu.ours and cpu.peer else ""
        ms = (_short(1e3 * time) if time else "" for time in (gpu.ours, gpu.peer))
        rows.append((title, f"{neurons:,}", f"{cpu.ours:.3g}" if cpu.ours else "", ratio, *ms))
    return markdown_table(heads, rows)


def measured(page: str) -> list[tuple[str, int, tuple[Times, Times]]]:
    """Return the times of a simulated second of each network, on a CPU and on a GPU.

    The CPU's times are those of float64, the GPU's those of float32 by the host's clock.
    """
    cpu, gpu = {}, {}
    for row, *network in networks(page, "spiking networks", "float64"):
        ours = _number(row["time, s"])
        if ours:
            ratio = _number(row["ratio"])
            cpu[tuple(network)] = Times(ours, ours * ratio if ratio else None)
    for row, *network in networks(page, "spiking networks on a GPU", "float32"):
        ms = float(row["ms per simulated s"])
        ms *= float(row["wall us per step"]) / float(row["us per step"])
        genn = re.search(r"GeNN [\d.]+: ([\d,.]+) ms", row["peer"])
        gpu[tuple(network)] = Times(ms / 1e3, _number(genn[1]) / 1e3 if genn else None)
    none = Times()
    return [
        (title, neurons, (cpu.get((title, neurons), none), gpu.get((title, neurons), none)))
        for title, neurons in dict.fromkeys([*cpu, *gpu])
    ]


def _short(number: float) -> str:
    """Return a number with three digits, or more where it is large."""
    return f"{number:.3g}" if number < 1000 else f"{number:,.0f}"


def _number(text: str) -> float:
    """Return a number of a table; 0 of an empty cell."""
    return float(text.replace(",", "") or 0)


def networks(page: str, table: str, dtype: str) -> Iterator[tuple[dict[str, str], str, int]]:
    """Yield the rows of one precision in a table of networks, with title and neurons.

    Networks with other weights than the published ones are left out.
    """
    text = re.search(rf"<!-- {table}: .*?<!-- end of {table} -->", page, re.S)
    lines = [line for line in text.group().splitlines() if line.startswith("|")] if text else []
    heads, *rows = [[cell.strip() for cell in line[1:-1].split("|")] for line in lines]
    for cells in rows:
        row = dict(zip(heads, cells, strict=True))
        size = rf"([\d,]+) neurons, [\d,]+ connections, {dtype}"
        case = re.fullmatch(rf"(?!.*, weights )(.+), {size}", row["case"])
        if case:
            yield row, case.group(1), int(case.group(2).replace(",", ""))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="say whether they are current")
    parser.add_argument("--bench", type=Path, help="result of bench.py for docs/speed.md")
    parser.add_argument("--mark", help="table that --bench goes to; default: by its machine")
    arguments = parser.parse_args()
    old = {path: path.read_text(encoding="utf-8") if path.exists() else "" for path in FILLED}
    new = {MODELS: replaced(old[MODELS], "models", ["", *by_kind(shipped()), ""], MODELS)}
    new[RULES] = replaced(old[RULES], "rules", ["", *table_of_rules(shipped_rules()), ""], RULES)
    new[SPEED] = old[SPEED]
    if arguments.bench:
        mark = arguments.mark or speed_mark(arguments.bench)
        table = ["", *speed_table(arguments.bench), ""]
        new[SPEED] = replaced(old[SPEED], mark, table, SPEED)
    new[SPEED] = replaced(new[SPEED], "summary", ["", *summary(new[SPEED]), ""], SPEED)
    new[CHART] = "".join(f"{line}\n" for line in chart(measured(new[SPEED])))
    cost = ["", *markdown_table(heads(), rows()), ""]
    new[COST] = replaced(old[COST], "cost model", cost, COST)
    for path in WALKS:
        try:
            new[path] = refreshed(old[path], ROOT)
        except Gone as error:
            raise SystemExit(f"{path.relative_to(ROOT)}: {error}") from None
    if arguments.check:
        for path in old:
            state = "current" if new[path] == old[path] else "run scripts/fill_tables.py"
            print(f"{path.relative_to(ROOT)}: {state}")
        return int(new != old)
    for path, text in new.items():
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
