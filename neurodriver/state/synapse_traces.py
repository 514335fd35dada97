"""What numbers of synapses are at a step: traces have decayed since their last events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..model.synapse_traces import taus
from ..plan.spikes.learning import LearningPlan

if TYPE_CHECKING:
    from .synapses import Synapses, SynapsesOfGroup


def values_at(synapses: Synapses, name: str, step: int) -> NDArray[np.floating]:
    """Return a number of each synapse after ``step`` steps, (m,); synapses are up to date.

    Nothing is stored. While synapses do not learn, their traces stay as they are.
    """
    values, tau = synapses.read(name), taus(synapses.rule.synapse).get(name)
    if tau is None or not synapses.learns:
        return values
    dt_ms = synapses.dt * 1e3
    passed = (step - _last_events(synapses, step)) * dt_ms
    kept = np.exp(-passed / synapses.rule.numbers(dt_ms)[tau])
    return (values * kept).astype(values.dtype)


def _last_events(synapses: Synapses, step: int) -> NDArray[np.float64]:
    """Return the step of the last event that each synapse has seen, (m,); -inf where none was."""
    last = np.full(len(synapses), -np.inf)
    for part in synapses.parts:
        if isinstance(part.plan, LearningPlan):
            last[part.plan.order] = _of_part(synapses, part, part.plan, step)
    if synapses.rule.doses():
        last = np.maximum(last, synapses.modulators()[1].max())
    return np.where(last < 0, -np.inf, last)


def _of_part(
    synapses: Synapses, part: SynapsesOfGroup, plan: LearningPlan, step: int
) -> NDArray[np.float64]:
    """Return the steps of the last arrival or spike, in the order in which synapses are stored."""

    def stored(name: str) -> NDArray[Any]:
        return np.asarray(synapses.backend.array(part.key(name)))

    row = np.repeat(np.arange(plan.rows_of_sources), np.diff(part.first))
    arrived = stored("arrivals").reshape(-1, plan.rows_of_sources, 2)[:, :, 0].max(axis=0)
    out: NDArray[np.float64] = arrived[row].astype(np.float64)
    spikes, target = plan.histories(stored("spikes")), np.asarray(plan.arrays["code"])
    for _, start, stop, first, _, back in plan.arrays["block"].tolist():
        mine = (row >= first) & (row < first + stop - start)
        seen = np.where(spikes + back < step, spikes + back, -np.inf).max(axis=1)
        out[mine] = np.maximum(out[mine], seen[target[mine]])
    return out
