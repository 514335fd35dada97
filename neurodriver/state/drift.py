"""What numbers of synapses are at a step: they have drifted since the last events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..codegen.calls import run_drift
from ..model.language import assigned
from ..model.plasticity import Plasticity
from ..model.synapse_traces import anchors
from ..plan.spikes.learning import NEVER, LearningPlan

if TYPE_CHECKING:
    from .synapses import Synapses, SynapsesOfGroup


def drifting(rule: Plasticity) -> set[str]:
    """Return the numbers of synapses that the text ``between`` changes."""
    return {*assigned(rule.checked("between").node)} if rule.between else set()


def values_at(synapses: Synapses, name: str, step: int) -> NDArray[np.floating]:
    """Return a number of each synapse after ``step`` steps, (m,); synapses are up to date.

    Nothing is stored. While synapses do not learn, their numbers stay as they are.
    """
    if name not in drifting(synapses.rule) or not len(synapses) or not synapses.learns:
        return synapses.read(name)
    own = {one: synapses.read(one) for one in synapses.names}
    levels = [
        (float(level), step - int(dosed))
        for level, dosed in zip(*synapses.modulators(), strict=True)
    ]
    since = step - _last_events(synapses, step)
    run_drift(synapses.rule, own, levels, since.astype(np.int32), synapses.dt * 1e3)
    return own[name]


def _last_events(synapses: Synapses, step: int) -> NDArray[np.int64]:
    """Return the step of the last event that each synapse has seen, (m,); NEVER where none was."""
    last = np.full(len(synapses), NEVER, np.int64)
    for part in synapses.parts:
        if isinstance(part.plan, LearningPlan):
            last[part.plan.order] = _of_part(synapses, part, part.plan, step)
            for name in synapses.rule.every:
                interval = part.plan.limits[f"every {name}"]
                run = (step - 1) // interval * interval
                last = np.maximum(last, run if run > 0 else NEVER)
    if anchors(synapses.rule):
        last = np.maximum(last, synapses.modulators()[1].max())
    return last


def _of_part(
    synapses: Synapses, part: SynapsesOfGroup, plan: LearningPlan, step: int
) -> NDArray[np.int64]:
    """Return the steps of the last arrival or spike, in the order in which synapses are stored."""

    def stored(name: str) -> NDArray[Any]:
        return np.asarray(synapses.backend.array(part.key(name)))

    row = np.repeat(np.arange(plan.rows_of_sources), np.diff(part.first))
    arrived = stored("arrivals").reshape(-1, plan.rows_of_sources, 2)[:, :, 0].max(axis=0)
    out: NDArray[np.int64] = arrived[row].astype(np.int64)
    spikes, target = plan.histories(stored("spikes")), np.asarray(plan.arrays["code"])
    for _, start, stop, first, _, back in plan.arrays["block"].tolist():
        mine = (row >= first) & (row < first + stop - start)
        seen = np.where(spikes + back < step, spikes + back, NEVER).max(axis=1)
        out[mine] = np.maximum(out[mine], seen[target[mine]])
    return out
