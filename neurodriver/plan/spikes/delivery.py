"""The spikes of an access that are stored by their sources -> what deals them out on a GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...codegen.simt.spike_delivery import fan_kernel, fan_values
from ..unit import Unit

if TYPE_CHECKING:
    from ..program import Program


def fans(program: Program) -> list[Unit]:
    """Return what deals out the spikes of each access, on a GPU."""
    out = []
    for (number, access), gather in program.gathers.items():
        if gather.form != "fanout" or not program.memory.target.threads:
            continue
        model = program.circuit.groups[number].model
        ring = program.memory.rings[model.access(access).variable]
        owner = {s.start: int(name) for name, s in ring.segments.items() if name != "inputs"}
        blocks = gather.arrays["block"].tolist()
        sources = {(ring.variable, owner[begin]): first for _, begin, _, first, _ in blocks}
        kernel = fan_kernel(f"{model.__name__} {access}", gather)
        values, cost = fan_values(gather), np.zeros(0)
        out.append(Unit(kernel, (number,), 0, values, cost, sources=sources))
    return out
