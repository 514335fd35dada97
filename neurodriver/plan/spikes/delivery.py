"""The accesses of the form ``fanout`` -> deliveries: which groups send spikes to which access.

Only programs for a GPU have deliveries. On a CPU the kernel of the targets delivers the spikes.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..layout import Layout
from ..unit import Delivery, Unit


def deliveries(layout: Layout, units: Sequence[Unit]) -> tuple[Delivery, ...]:
    """Return a delivery for each access of the form ``fanout``; none on a CPU."""
    out = []
    for spec in sorted((s for unit in units for s in unit.specs), key=lambda s: s.number):
        for access in spec.model.accesses if layout.target.threads else ():
            gather = spec.gathers[access.name]
            if gather.form == "fanout" and gather.edges:
                ring = layout.rings[access.variable]
                owner = {
                    s.start: int(name) for name, s in ring.segments.items() if name != "inputs"
                }
                blocks = gather.arrays["block"].tolist()
                sources = {(ring.variable, owner[begin]): first for _, begin, _, first in blocks}
                out.append(Delivery(spec, access.name, sources))
    return tuple(out)
