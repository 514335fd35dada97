"""What ranks compare before they run: LPUs, connections and steps that differ cannot run."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..circuit.circuit import Circuit
from ..inputs.base import Input
from ..recorders.base import Recorder
from ..run.injected import injected_by
from .job_plan import JobPlan, Order
from .patterns import PatternLinks

Compared = dict[str, object]


def of_plan(plan: JobPlan) -> Compared:
    """Return what all ranks must have in common of a job."""
    out: Compared = {"the ids of the LPUs": ", ".join(plan.ids)}
    for order in plan.orders:
        out |= {f"{what} of LPU '{order.id}'": value for what, value in _of_order(order)}
    for wired in plan.wirings:
        out |= _of_wiring(wired, out)
    return out | {"strict": plan.strict}


def _of_order(order: Order) -> Iterator[tuple[str, object]]:
    yield "the class", order.target.__qualname__
    yield "the rank", order.rank
    if order.rank is not None:  # other ranks do not make it, and need not have its circuit
        return
    named = {str(place): value for place, value in enumerate(order.args)} | order.kwargs
    for name, value in named.items():
        if isinstance(value, Circuit):
            yield "the circuit", value.digest
        elif isinstance(value, bool | int | float | np.number):
            yield ("argument " + name if name.isdigit() else name), value


def _of_wiring(wired: PatternLinks, before: Compared) -> Compared:
    names = dict.fromkeys(name for one in wired.ends for name in (one.source, one.target))
    here = f"the connection of {' and '.join(repr(name) for name in sorted(names))}"
    number = 2
    while f"the delay of {here}" in before:
        here = f"{here.partition(' (')[0]} ({number})"
        number += 1
    state = hashlib.sha256()
    for one in wired.ends:
        for column in (one.out_port, one.in_port, one.out_type, one.in_type):
            state.update("\0".join(np.asarray(column).tolist()).encode())
    return {f"the delay of {here}": wired.delay, f"the ports of {here}": state.hexdigest()}


def of_circuit(
    circuit: Circuit, inputs: Sequence[Input], recorders: Sequence[Recorder], **more: Any
) -> Compared:
    """Return what all ranks must have in common of a circuit in several parts."""
    sizes = [f"{one.count:,} {one.name}" for one in circuit.groups]
    return {
        "the components": ", ".join(sizes),
        "the circuit": circuit.digest,
        "the inputs": injected_by(inputs).replace("\n", "; "),
        "the recorders": "; ".join(map(_of_recorder, recorders)),
        **more,
    }


def _of_recorder(recorder: Recorder) -> str:
    wanted = (f"{name} of {'all' if uids is None else len(uids)}" for name, uids in recorder.record)
    return f"{type(recorder).__name__} of {', '.join(wanted)} each {recorder.sample_interval}"
