"""Gives every injected component a slot of its own, which the values of inputs enter."""

from __future__ import annotations

from dataclasses import replace

from ..injection import make_slots
from .draft import Draft
from .held import with_injected


def apply(draft: Draft) -> Draft:
    """Return a draft with the slots of all inputs."""
    circuit = with_injected(draft.circuit, draft.targets)
    return replace(draft, circuit=circuit, slots=make_slots(circuit, draft.targets))
