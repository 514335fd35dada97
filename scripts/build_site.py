"""Build the documentation site from the pages in ``docs``; every warning is an error.

    pip install -e ".[docs]"
    python scripts/build_site.py                 into out/site/html
    python scripts/build_site.py --quick         no example of the gallery is run

The pages are copied to ``out/site/source`` first, as the gallery and the reference of the API are
written beside them.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
sys.path.insert(0, str(DOCS / "extensions"))
from gallery import copy_examples  # noqa: E402
from repository import ELSEWHERE  # noqa: E402

LEFT_OUT = ("conf.py", "extensions", "__pycache__")


def copy_pages(source: Path) -> None:
    """Copy the pages of the site, and remove what has no page any more."""
    for old in source.rglob("*.md"):
        page = old.relative_to(source).with_suffix("").as_posix()
        if page not in ELSEWHERE and not (DOCS / f"{page}.md").exists():
            old.unlink()
    ignore = shutil.ignore_patterns(*LEFT_OUT)
    shutil.copytree(DOCS, source, dirs_exist_ok=True, ignore=ignore)
    for page, file in ELSEWHERE.items():
        target = source / f"{page}.md"
        target.parent.mkdir(exist_ok=True)
        shutil.copy2(ROOT / file, target)
    figures = source / "data" / "figures"
    figures.mkdir(parents=True, exist_ok=True)
    for picture in (ROOT / "data" / "figures").iterdir():
        if picture.suffix in (".png", ".svg"):
            shutil.copy2(picture, figures)


def command(source: Path, output: Path, quick: bool) -> list[str]:
    """Return the call of Sphinx."""
    words = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html"]
    words += ["-c", str(DOCS), "-d", str(output.parent / "doctrees")]
    if quick:
        words += ["-D", "plot_gallery=0"]
    return [*words, str(source), str(output)]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="run no example of the gallery")
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "out" / "site")
    given = parser.parse_args()
    source, html = given.output / "source", given.output / "html"
    source.mkdir(parents=True, exist_ok=True)
    copy_pages(source)
    examples = given.output.resolve() / "examples"
    copy_examples(ROOT / "examples", examples)
    here = {**os.environ, "SITE_EXAMPLES": str(examples), "MPLBACKEND": "agg"}
    done = subprocess.run(command(source, html, given.quick), cwd=ROOT, env=here)
    if done.returncode == 0:
        print(html / "index.html")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
