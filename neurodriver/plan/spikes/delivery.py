"""The accesses of the form ``fanout`` -> deliveries: which groups send spikes to which access.

Connections that are stencils, and those of inputs, have deliveries of their own, into the slots of
the access.

Only programs for a GPU have deliveries. On a CPU the kernel of the targets delivers the spikes.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..layout import Layout
from ..sums.gather import input_part, stencil_part
from ..unit import INPUTS, Delivery, Unit


def deliveries(layout: Layout, units: Sequence[Unit]) -> tuple[Delivery, ...]:
    """Return the deliveries of a program; none on a CPU."""
    out = []
    for spec in sorted((s for unit in units for s in unit.specs), key=lambda s: s.number):
        for access in spec.model.accesses if layout.target.threads else ():
            gather = spec.gathers[access.name]
            if gather.form != "fanout":
                continue
            ring = layout.rings[access.variable]
            owner = {s.start: int(name) for name, s in ring.segments.items() if name != "inputs"}
            shared = enumerate(gather.stencils)
            parts = [(access.name, gather)] if gather.edges else []
            for name, plan in [*parts, *((stencil_part(access.name, i), p) for i, p in shared)]:
                blocks = plan.arrays["block"].tolist()
                sources = {(ring.variable, owner[begin]): first for _, begin, _, first in blocks}
                out.append(Delivery(spec, access.name, name, sources))
            if gather.inputs is not None:
                entering = {(ring.variable, INPUTS): 0}
                out.append(Delivery(spec, access.name, input_part(access.name), entering))
    return tuple(out)
