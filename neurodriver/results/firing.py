"""Spikes of populations -> how they fire: rate, irregularity, synchrony.

The three numbers by which network models are compared (Potjans & Diesmann 2014, Cereb Cortex
24:785-806, doi:10.1093/cercor/bhs358): mean rate, mean coefficient of variation of the intervals
between spikes, and variance over mean of the number of spikes in bins.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import NeurodriverError
from .events import Events
from .variable import TOLERANCE

BIN = 3e-3
"""Bin of the synchrony, s."""


@dataclass(frozen=True, slots=True)
class Activity:
    """How a population fires.

    Attributes
    ----------
    population : str
    neurons : int
    rate : float
        Mean rate, spikes a second and neuron.
    cv : float
        Mean over the neurons of the coefficient of variation of their intervals; NaN where no
        neuron has two intervals. 1 for a Poisson process without refractory period, 0 for a clock.
    synchrony : float
        Variance over mean of the population's number of spikes in a bin; 1 for independent
        Poisson processes, NaN without spikes.
    """

    population: str
    neurons: int
    rate: float
    cv: float
    synchrony: float


def activity(
    time: ArrayLike | Mapping[str, Any] | Events,
    index: ArrayLike | None = None,
    populations: Mapping[str, ArrayLike] | None = None,
    stop: float | None = None,
    start: float = 0.0,
) -> list[Activity]:
    """Return how each population fires from ``start`` on until before ``stop``.

    Parameters
    ----------
    time : (m,) float, or spikes
        Times of the spikes, s, in any order. ``recording.spikes`` and what has ``"time"`` and
        ``"index"`` is taken whole.
    index : (m,) int
        Neuron of each spike; not for spikes that are given whole.
    populations : mapping of str to (n,) int
        Neurons of each population, without repetition; spikes of those in none do not count. By
        default those of ``recording.spikes``.
    stop, start : float
        s; by default all that was recorded, of ``recording.spikes``.

    Raises
    ------
    NeurodriverError
        Where the window is empty, a population holds no neuron or one twice, or columns differ in
        length.

    Examples
    --------
    >>> activity([0.1, 0.2, 0.3], [0, 0, 0], {"all": range(2)}, stop=1.0)[0].rate
    1.5
    """
    given = spikes_of("activity", time, index, populations, stop)
    when, who = spikes_in(given.time, given.index, start, given.stop)
    out = []
    for name, members in given.populations.items():
        neurons = members_of(name, members)
        mine = np.isin(who, neurons, kind="table" if who.size else None)
        train = when[mine]
        out.append(
            Activity(
                name,
                neurons.size,
                train.size / neurons.size / (given.stop - start),
                interval_cv(train, who[mine]),
                count_dispersion(train, start, given.stop),
            )
        )
    return out


class GivenSpikes(NamedTuple):
    """Spikes of populations, and where they end, s."""

    time: Any
    index: Any
    populations: Mapping[str, ArrayLike]
    stop: float


def spikes_of(
    name: str,
    time: Any,
    index: Any,
    populations: Mapping[str, ArrayLike] | None,
    stop: float | None,
) -> GivenSpikes:
    """Return spikes that were given as columns or whole, with what whole ones know themselves."""
    if hasattr(time, "keys"):
        if index is not None:
            say = "spikes that are given whole have their index"
            raise NeurodriverError(
                f"{name}: {say}; write {name}(spikes, populations=..., stop=...)"
            )
        spikes = time
        if lost := {"time", "index"} - set(spikes.keys()):
            raise NeurodriverError(f"{name}: the spikes have no {' and no '.join(sorted(lost))}")
        time, index = spikes["time"], spikes["index"]
        populations = getattr(spikes, "populations", None) if populations is None else populations
        stop = getattr(spikes, "duration", None) if stop is None else stop
    for one, value in (("index", index), ("populations", populations), ("stop", stop)):
        if value is None or (one == "populations" and not value):
            some = {"populations": ", such as {'all': range(100)}", "stop": ", in seconds"}
            raise NeurodriverError(f"{name}: {one} is missing{some.get(one, '')}")
    assert populations is not None and stop is not None
    return GivenSpikes(time, index, populations, stop)


def spikes_in(
    time: ArrayLike, index: ArrayLike, start: float, stop: float
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return times and neurons of the spikes in a window, sorted by neuron, then by time."""
    try:
        when, who = np.asarray(time, np.float64), np.asarray(index, np.int64)
    except (TypeError, ValueError, OverflowError):
        got = f"{time!r:.40} and {index!r:.40}"
        raise NeurodriverError(f"time and index of spikes must be numbers, got {got}") from None
    if when.shape != who.shape or when.ndim != 1:
        raise NeurodriverError(
            f"spikes need one time and one neuron each, got {when.shape} times and "
            f"{who.shape} neurons"
        )
    if not start < stop < math.inf:
        raise NeurodriverError(f"a time window from {start:g} to {stop:g} s is empty or endless")
    inside = (when >= start) & (when < stop)
    when, who = when[inside], who[inside]
    order = np.lexsort((when, who))
    return when[order], who[order]


def members_of(name: str, members: ArrayLike) -> NDArray[np.int64]:
    """Return the neurons of a population, ascending."""
    neurons = np.asarray(members)
    if neurons.ndim != 1 or not neurons.size or neurons.dtype.kind not in "iu":
        got = f"{neurons.dtype} of shape {neurons.shape}"
        raise NeurodriverError(f"population {name!r}: needs numbers of neurons, got {got}")
    once = np.unique(neurons)
    if once.size < neurons.size:
        twice = neurons.size - once.size
        raise NeurodriverError(f"population {name!r}: {twice} of {neurons.size} numbers repeat")
    return once.astype(np.int64)


def interval_cv(time: NDArray[np.float64], index: NDArray[np.int64]) -> float:
    """Return the mean coefficient of variation of the intervals between a neuron's events.

    Both arrays are sorted by neuron, then by time. NaN where no neuron has two intervals.
    """
    _, cv = interval_cvs(time, index)
    return float(cv.mean()) if cv.size else math.nan


def interval_cvs(
    time: NDArray[np.float64], index: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the neurons with two intervals or more, and the CV of the intervals of each."""
    same = index[1:] == index[:-1]
    neurons, neuron, number = np.unique(index[1:][same], return_inverse=True, return_counts=True)
    interval = np.diff(time)[same]
    mean = np.bincount(neuron, interval) / number
    variance = np.bincount(neuron, (interval - mean[neuron]) ** 2) / number
    enough = number >= 2
    return neurons[enough], np.sqrt(variance[enough]) / mean[enough]


def count_dispersion(time: NDArray[np.float64], start: float, stop: float) -> float:
    """Return variance over mean of the number of spikes in the whole bins of a window, s."""
    bins = int((stop - start) / BIN + TOLERANCE)
    bin_of = ((time - start) / BIN + TOLERANCE).astype(np.int64)
    counts = np.bincount(bin_of, minlength=bins)[:bins]
    return float(counts.var() / counts.mean()) if counts.any() else math.nan


def described(activities: Iterable[Activity]) -> str:
    """Return a line of text for each population, under a head."""
    lines = [f"{'population':<12}{'neurons':>9}{'rate Hz':>9}{'CV':>7}{'synchrony':>11}"]
    lines += [
        f"{a.population:<12}{a.neurons:>9,}{a.rate:>9.2f}{a.cv:>7.2f}{a.synchrony:>11.2f}"
        for a in activities
    ]
    return "\n".join(lines)
