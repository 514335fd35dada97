"""Links between pages of the repository -> links between pages of the site.

A page keeps the links that work in the repository. Pages outside ``docs`` are pages of the site,
too. A link to another file becomes the file's name.
"""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePosixPath
from typing import Any

ROOT = Path(__file__).resolve().parents[2]

ELSEWHERE = {
    "project/changes": "CHANGELOG.md",
    "project/code": "neurodriver/README.md",
    "project/contributing": "CONTRIBUTING.md",
}
"""Page of the site -> file outside ``docs``."""

PAGES = {file: page for page, file in ELSEWHERE.items()}

LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")


def file_of(page: str) -> PurePosixPath:
    """Return the file of a page, relative to the root."""
    return PurePosixPath(ELSEWHERE.get(page, f"docs/{page}.md"))


def page_of(file: str) -> str | None:
    """Return the page of a file, or None where the site has none."""
    if file in PAGES:
        return PAGES[file]
    return file[len("docs/") : -len(".md")] if re.fullmatch(r"docs/.*\.md", file) else None


def relinked(page: str, text: str) -> str:
    """Return the text of a page with links that hold on the site."""
    folder = file_of(page).parent

    def link(found: re.Match[str]) -> str:
        mark, words, target = found.groups()
        name, _, anchor = target.partition("#")
        if "://" in target or not name:
            return found.group()
        file = os.path.normpath(folder / name).replace(os.sep, "/")
        if not (ROOT / file).exists():
            return found.group()  # Sphinx says that it leads nowhere
        if mark:
            return f"![{words}](/{file})"  # copied
        other = page_of(file)
        if other is None:
            return words if "`" in words or "/" in words else f"{words} (`{file}`)"
        return f"[{words}](/{other}.md{'#' + anchor if anchor else ''})"

    return LINK.sub(link, text)


def read(app: Any, page: str, source: list[str]) -> None:
    """Change the links of a page of Markdown."""
    if str(app.env.doc2path(page)).endswith(".md"):
        source[0] = relinked(page, source[0])


def setup(app: Any) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("source-read", read)
    return {"parallel_read_safe": True}
