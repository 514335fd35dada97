"""Attributes of an LPU that a user assigns: what would have no effect is refused."""

from __future__ import annotations

from ..errors import near

INSTEAD = {
    "inputs": "give the inputs to run(inputs=...)",
    "recorders": "give the recorders to run(record=...)",
    "circuit": "make a new LPU",
    "dt": "make a new LPU",
    "seed": "make a new LPU",
}
"""Attributes that say what an LPU was made with, and what changes it."""


def check_assignment(lpu: object, name: str) -> None:
    """Raise AttributeError where the assignment of an attribute of an LPU would change nothing."""
    if name in INSTEAD:
        raise AttributeError(f"LPU: '{name}' cannot be assigned; {INSTEAD[name]}")
    known = [one for one in dir(lpu) if not one.startswith("_")]
    if not name.startswith("_") and name not in known:
        say = f"LPU: no attribute is called '{name}'{near(name, known)}"
        raise AttributeError(
            f"{say}; lpu.set('V', ...) and lpu['cells'].V = ... set values of components, "
            f"lpu.connections['loop'].weight = ... those of connections"
        )
