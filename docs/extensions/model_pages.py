"""The page of the models: below each name, what the class says, with its equations typeset."""

from __future__ import annotations

import inspect
import re
from typing import Any

from formulas import typeset

from neurodriver.model.library import shipped

PAGE = "models"


def described(text: str) -> str:
    """Return the page with the whole description of each model, not only its first line."""
    models = shipped()

    def section(found: re.Match[str]) -> str:
        head, model = found.group(), models.get(found.group(1))
        if model is None:
            return head
        _, _, rest = (inspect.getdoc(model) or "").partition("\n")
        return f"{head}\n\n{typeset(rest.strip(), '$%$')}\n" if rest.strip() else head

    return re.sub(r"^### (\w+)\n\n.+$", section, text, flags=re.M)


def read(app: Any, page: str, source: list[str]) -> None:
    """Complete the page of the models."""
    if page == PAGE:
        source[0] = described(source[0])


def setup(app: Any) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("source-read", read)
    return {"parallel_read_safe": True}
