"""Fill the tables of README.md and docs/models.md.

Models come from their classes, speed from the last run of bench.py.

python scripts/fill_readme.py [--check] [--bench out/bench.json [--mark TABLE]]
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path

from neurodriver.cli.models import by_kind
from neurodriver.cli.models import markdown as model_table
from neurodriver.model.library import shipped

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
MODELS = ROOT / "docs" / "models.md"


def replaced(text: str, name: str, lines: list[str], where: Path = README) -> str:
    """Return the text with new lines between the marks of one table."""
    pattern = rf"(<!-- {name}: [^\n]*-->\n).*?(<!-- end of {name} -->)"
    if not re.search(pattern, text, re.S):
        raise SystemExit(f"{where.name}: the marks of '{name}' are missing")
    body = "".join(line + "\n" for line in lines)
    return re.sub(pattern, lambda m: m.group(1) + body + m.group(2), text, flags=re.S)


def speed_table(path: Path) -> list[str]:
    """Return the speed table and a line about the machine."""
    from bench import markdown

    found = json.loads(path.read_text())
    machine = found["machine"]
    device, how = "", "medians, ours and the peer in turn"
    if "device" in machine:
        device, how = f"{machine['device']}, ", "medians after a warm-up, by the device's events"
    note = (
        f"{device}{machine['processor']}, {machine['cores']} cores, {machine['compiler']}, "
        f"commit {machine['commit']}, {machine['date']}; {how}."
    )
    return [*markdown(found["rows"]).splitlines(), "", note]


def speed_mark(path: Path) -> str:
    """Return the name of the table that a run of bench.py belongs into."""
    return "speed on a GPU" if "device" in json.loads(path.read_text())["machine"] else "speed"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="only tell whether models are current")
    parser.add_argument("--bench", type=Path)
    parser.add_argument("--mark", help="table that --bench goes to; default: by its machine")
    arguments = parser.parse_args()
    old = {path: path.read_text(encoding="utf-8") for path in (README, MODELS)}
    new = {
        README: replaced(old[README], "models", model_table(shipped())),
        MODELS: replaced(old[MODELS], "models", ["", *by_kind(shipped()), ""], MODELS),
    }
    if arguments.check:
        for path in old:
            state = "current" if new[path] == old[path] else "run scripts/fill_readme.py"
            print(f"{path.relative_to(ROOT)}: {state}")
        return 0 if new == old else 1
    if arguments.bench:
        new[README] = replaced(
            new[README],
            arguments.mark or speed_mark(arguments.bench),
            speed_table(arguments.bench),
        )
    for path, text in new.items():
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
