"""Gives every injected component a slot of its own, which the values of inputs enter."""

from __future__ import annotations

from dataclasses import replace

from ..injection import make_slots
from .draft import Draft


def apply(draft: Draft) -> Draft:
    """Return a draft with the slots of all inputs."""
    return replace(draft, slots=make_slots(draft.circuit, draft.targets))
