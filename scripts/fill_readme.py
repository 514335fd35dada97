"""Fill the README's tables: models from their classes, speed from the last run of bench.py.

python scripts/fill_readme.py [--check] [--bench out/bench.json]
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path

from neurodriver.cli.models import markdown as model_table
from neurodriver.library import shipped

README = Path(__file__).parents[1] / "README.md"


def replaced(text: str, name: str, lines: list[str]) -> str:
    """Return the text with new lines between the marks of one table."""
    pattern = rf"(<!-- {name}: [^\n]*-->\n).*?(<!-- end of {name} -->)"
    if not re.search(pattern, text, re.S):
        raise SystemExit(f"README.md: the marks of '{name}' are missing")
    body = "".join(line + "\n" for line in lines)
    return re.sub(pattern, lambda m: m.group(1) + body + m.group(2), text, flags=re.S)


def speed_table(path: Path) -> list[str]:
    """Return the speed table and a line about the machine."""
    from bench import markdown

    found = json.loads(path.read_text())
    machine = found["machine"]
    note = (
        f"{machine['processor']}, {machine['cores']} cores, {machine['compiler']}, "
        f"commit {machine['commit']}, {machine['date']}; medians, ours and the peer in turn."
    )
    return [*markdown(found["rows"]).splitlines(), "", note]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="only tell whether models are current")
    parser.add_argument("--bench", type=Path)
    arguments = parser.parse_args()
    text = README.read_text(encoding="utf-8")
    new = replaced(text, "models", model_table(shipped()))
    if arguments.check:
        print("README.md:", "current" if new == text else "run scripts/fill_readme.py")
        return 0 if new == text else 1
    if arguments.bench:
        new = replaced(new, "speed", speed_table(arguments.bench))
    README.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
