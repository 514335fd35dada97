"""The passes: each rewrites a draft of a circuit before memory and sums are planned.

A pass is a module with a function ``apply``, which takes a `Draft` and returns another one. To add
a pass, write its module and name it in ``PASSES``, which is the order in which they run. A module
outside neurodriver adds its function to ``PASSES`` itself::

    from dataclasses import replace

    import numpy as np

    from neurodriver.plan import passes


    def apply(draft):
        circuit = draft.circuit
        kept = [one.taken(np.flatnonzero(one.data["weight"])) for one in circuit.connections]
        return replace(draft, circuit=circuit.with_parts(circuit.groups, kept))


    passes.PASSES = (apply, *passes.PASSES)
"""

from __future__ import annotations

from . import aggregate, expand, inject, listed, merge, pools, publish
from .draft import Draft, Pass

PASSES: tuple[Pass, ...] = (
    listed.apply, aggregate.apply, pools.apply, expand.apply, inject.apply, merge.apply,
    publish.apply,
)  # fmt: skip


def run(draft: Draft) -> Draft:
    """Return what all passes make of a draft, one after the other."""
    for one in PASSES:
        draft = one(draft)
    return draft
