"""Lists of links -> the order of the pages.

A page named here leads to the pages that the items of its lists link to. So the order of the site
is written once, in lists that can be read in the repository.
"""

from __future__ import annotations

import re
from typing import Any

INDEXES = ("index", "how-to", "coming-from", "design/README", "developers")
"""Pages whose lists say the order of others."""

MADE = {"API": "api/index", "Gallery": "gallery/index"}
"""First word of an item -> page that is not in the repository, as it is made with the site."""

ITEM = re.compile(r"^- (?:\*\*)?\[([^\]]+)\]\(([\w./-]+?)(?:\.md|\.rst)\)", re.M)


def listed(text: str) -> list[tuple[str, str]]:
    """Return title and page of each item that begins with a link."""
    return ITEM.findall(text)


def with_tree(page: str, text: str) -> str:
    """Return a page with a hidden tree of the pages that its lists name."""
    made = re.compile(rf"^- ({'|'.join(MADE)}):", re.M)
    text = made.sub(lambda found: f"- [{found[1]}](/{MADE[found[1]]}.rst):", text)
    entries = [f"{title} <{target}>" for title, target in listed(text)]
    return "\n".join([text.rstrip(), "", "```{toctree}", ":hidden:", "", *entries, "```", ""])


def read(app: Any, page: str, source: list[str]) -> None:
    """Add the tree to an index."""
    if page in INDEXES:
        source[0] = with_tree(page, source[0])


def setup(app: Any) -> dict[str, bool]:
    """Register with Sphinx; after `repository`, which changes the links."""
    app.connect("source-read", read, priority=600)
    return {"parallel_read_safe": True}
