"""Processes that an old script starts: they find the old names, too."""

from __future__ import annotations

import os
from pathlib import Path

SITE = str(Path(__file__).parent / "site")
"""Folder of the ``sitecustomize`` that installs the names."""


def follow() -> None:
    """Let every Python that is started from here on, with this environment, have the old names."""
    known = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    rest = [folder for folder in known if folder and folder != SITE]
    os.environ["PYTHONPATH"] = os.pathsep.join([SITE, *rest])
