"""Presets for the tables of published connectomes, one file each."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from ...errors import CircuitError, near, quoted
from .release import SHORT as SHORT
from .release import SIDES as SIDES
from .release import SIGNS as SIGNS
from .release import UNKNOWN as UNKNOWN
from .release import Release as Release


def release(name: str | Release) -> Release:
    """Return a preset by its name; CircuitError where there is none."""
    if isinstance(name, Release):
        return name
    known = [one.name for one in iter_modules(__path__) if one.name != "release"]
    if name not in known:
        hint = near(str(name), known) or f"; there are {', '.join(known)}"
        raise CircuitError(f"no connectome {quoted(name)}{hint}")
    found: Release = import_module(f"{__name__}.{name}").RELEASE
    return found
