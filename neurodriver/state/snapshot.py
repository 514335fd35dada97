"""``Snapshot``: all that decides how a simulation goes on, in the order of the circuit.

Step k of a run reads rows up to k and writes row k + 1. A snapshot at step k holds the rows that
later steps read, the states of all components, and the spikes that are on their way. It does not
depend on backend, threads, storage order or plans, so any of them can go on from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

TOO_LARGE = 1.5 * 2**62
"""Stands for a sum that no integer holds; `PendingSpikes.fill` refuses it."""

Column = NDArray[np.generic]


@dataclass(frozen=True, eq=False)
class Ragged:
    """Values of the sub-units of components: those of one component after those of the last.

    Attributes
    ----------
    values : (total,) array
    counts : (n,) int64
        How many each component has.
    """

    values: Column
    counts: NDArray[np.int64]

    def taken(self, which: NDArray[np.int64]) -> Ragged:
        """Return the values of some components, in the order asked for."""
        first = np.cumsum(self.counts) - self.counts
        counts = self.counts[which]
        begin = np.repeat(first[which] - (np.cumsum(counts) - counts), counts)
        return Ragged(self.values[begin + np.arange(counts.sum())], counts)


@dataclass(frozen=True, eq=False)
class Arrivals:
    """Weighted spikes on their way into one access.

    Attributes
    ----------
    sums : (steps, n) int64
        Row d is what each component reads at step k + d, as a multiple of its unit.
    unit : (n,) float64
    """

    sums: NDArray[np.int64]
    unit: NDArray[np.float64]

    def taken(self, which: NDArray[np.int64]) -> Arrivals:
        """Return those of some components, in the order asked for."""
        return Arrivals(self.sums[:, which], self.unit[which])

    def in_units(self, unit: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the sums as multiples of other units, (steps, n); rounded where these differ."""
        if np.array_equal(unit, self.unit):
            return self.sums
        ratio = self.unit / unit
        scaled = np.clip(np.rint(self.sums * ratio), -TOO_LARGE, TOO_LARGE).astype(np.int64)
        return np.where(ratio == 1, self.sums, scaled)


@dataclass(frozen=True, eq=False)
class GroupState:
    """The state of all components of one model.

    Attributes
    ----------
    name : str
        Of the model.
    uids : (n,) str array
        Unique among all components of the simulation.
    states : mapping of str to (n,) array
    rows : mapping of variable to (r, n) array
        Row j is that of step k - j.
    partial : frozenset of str
        Variables whose rows are not there for all components. They follow from the states.
    """

    name: str
    uids: NDArray[np.str_]
    states: Mapping[str, Column] = field(default_factory=dict)
    sub_units: Mapping[str, Ragged] = field(default_factory=dict)
    rows: Mapping[str, Column] = field(default_factory=dict)
    arrivals: Mapping[str, Arrivals] = field(default_factory=dict)
    partial: frozenset[str] = frozenset()

    def taken(self, which: NDArray[np.int64]) -> GroupState:
        """Return the state of some components, in the order asked for."""
        return replace(
            self,
            uids=self.uids[which],
            states={name: column[which] for name, column in self.states.items()},
            sub_units={name: one.taken(which) for name, one in self.sub_units.items()},
            rows={name: rows[:, which] for name, rows in self.rows.items()},
            arrivals={name: one.taken(which) for name, one in self.arrivals.items()},
        )


@dataclass(frozen=True, eq=False)
class InjectedRows:
    """What inputs have injected and connections with delays may still read.

    Attributes
    ----------
    uids : (n,) str array
        Components that each column is for.
    rows : (r, n) array
        Row j is that of step k - 1 - j: that of step k has not been injected yet.
    """

    uids: NDArray[np.str_]
    rows: Column


@dataclass(frozen=True, eq=False)
class SentRows:
    """What output ports have sent to other LPUs and what those may still read.

    Attributes
    ----------
    lpus : (n,) str array
        Ids of the LPUs that the ports belong to.
    ports : (n,) int64
        Numbers of the ports among the components of their LPU. A port may be there twice.
    rows : (r, n) array
        Row j is that of step k - j.
    counts : (n,) int64
        How many of the rows hold for each port.
    """

    lpus: NDArray[np.str_]
    ports: NDArray[np.int64]
    rows: Column
    counts: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class LearnedState:
    """What connections have learned, and what they will learn from.

    All spikes that the synapses saw before step k have been applied. Rows are numbers of steps.

    Attributes
    ----------
    learns : bool
        Whether the texts of the rule run.
    clamped : int
        Values that were too large to be sent.
    synapses : mapping of str to (m,) array
        ``weight`` and the variables of each synapse, in the order of the connections.
    source : (r,) int64
        A connection of each source. Where the synapses of a source stand at several places of the
        way, there is one for each place.
    arrival : (r,) int64
        Step in which its last spike arrived.
    pre : mapping of trace to (r,) array
        Values after that.
    target : (t,) int64
        A connection of each target.
    spikes : (k, t) int64
        Rows of its last spikes, the newest first.
    post : mapping of trace to (k, t) array
        Values after these.
    level : (modulators,) array
        Modulators of the rule after their last doses.
    dosed : (modulators,) int64
        Steps of these.
    """

    learns: bool
    clamped: int
    synapses: Mapping[str, Column]
    source: NDArray[np.int64]
    arrival: NDArray[np.int64]
    pre: Mapping[str, Column]
    target: NDArray[np.int64]
    spikes: NDArray[np.int64]
    post: Mapping[str, Column]
    level: Column
    dosed: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The state of a simulation at one step.

    Attributes
    ----------
    step : int
        Steps done.
    dt : float
        Step in seconds.
    learned : mapping of str to LearnedState
        By the names of connections.
    """

    step: int
    dt: float
    dtype: str
    seed: int
    groups: tuple[GroupState, ...]
    injected: Mapping[str, InjectedRows] = field(default_factory=dict)
    sent: Mapping[str, SentRows] = field(default_factory=dict)
    learned: Mapping[str, LearnedState] = field(default_factory=dict)
