"""Spikes -> distributions over neurons by which simulations of one network are compared.

Rates, coefficients of variation of the intervals, and correlations of pairs, as van Albada et al.
compare simulators (2018, Front Neuroinform 12:291, doi:10.3389/fnins.2018.00291).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray
from scipy.stats import ks_2samp

BIN = 2e-3
"""Bin of the correlations, s."""

SAMPLE = 200
"""Neurons of a population whose pairs are correlated."""

LEAST = 10
"""Values of a distribution that is compared."""

MEASURES = ("rate", "cv", "correlation")

Distributions = dict[str, dict[str, NDArray[np.float64]]]
"""Measure -> population -> its values, one for each neuron or pair."""


def distributions(
    time: NDArray[np.float64],
    index: NDArray[np.int64],
    populations: Mapping[str, range],
    start: float,
    stop: float,
) -> Distributions:
    """Return the distributions of each population in a window of time.

    Parameters
    ----------
    time, index : (m,) array
        Time in s and neuron of each spike, in any order.
    populations : mapping of str to range
        Neurons of each population.
    start, stop : float
        s.
    """
    inside = (time >= start) & (time < stop)
    time, index = time[inside], index[inside]
    order = np.lexsort((time, index))
    time, index = time[order], index[order]
    out: Distributions = {measure: {} for measure in MEASURES}
    for name, neurons in populations.items():
        begin, end = np.searchsorted(index, [neurons.start, neurons.stop])
        train, who = time[begin:end], index[begin:end] - neurons.start
        counts = np.bincount(who, minlength=len(neurons))
        out["rate"][name] = counts / (stop - start)
        out["cv"][name] = interval_cvs(train, who)
        out["correlation"][name] = correlations(train, who, len(neurons), start, stop)
    return out


def interval_cvs(time: NDArray[np.float64], who: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the CV of each neuron with two intervals or more; spikes are sorted by neuron."""
    same = who[1:] == who[:-1]
    interval = np.diff(time)[same]
    _, neuron, number = np.unique(who[1:][same], return_inverse=True, return_counts=True)
    mean = np.bincount(neuron, interval) / number
    variance = np.bincount(neuron, (interval - mean[neuron]) ** 2) / number
    enough = number >= 2
    return np.sqrt(variance[enough]) / mean[enough]


def correlations(
    time: NDArray[np.float64], who: NDArray[np.int64], neurons: int, start: float, stop: float
) -> NDArray[np.float64]:
    """Return the correlation of the spike counts of each pair of some neurons that fire."""
    firing = np.unique(who)
    rng = np.random.default_rng(neurons)
    some = np.sort(rng.choice(firing, min(SAMPLE, firing.size), replace=False))
    mine = np.isin(who, some)
    edges = np.arange(0.0, stop - start + BIN / 2, BIN)
    which = np.searchsorted(some, who[mine])
    counts = np.histogram2d(which, time[mine] - start, [np.arange(some.size + 1), edges])[0]
    counts = counts[counts.std(axis=1) > 0]
    return np.corrcoef(counts)[np.triu_indices(len(counts), 1)]


def distances(pairs: Iterable[tuple[Distributions, Distributions]]) -> dict[str, list[float]]:
    """Return the Kolmogorov-Smirnov distances of each measure, over pairs and populations.

    A population with fewer than ``LEAST`` values in one of the two is left out.
    """
    out: dict[str, list[float]] = {measure: [] for measure in MEASURES}
    for one, other in pairs:
        for measure in MEASURES:
            out[measure] += [
                float(ks_2samp(values, other[measure][name]).statistic)
                for name, values in one[measure].items()
                if min(values.size, other[measure][name].size) >= LEAST
            ]
    return out


def within(found: list[Distributions]) -> dict[str, list[float]]:
    """Return the distances of all pairs of simulations of one program."""
    return distances(combinations(found, 2))


def between(ours: list[Distributions], theirs: list[Distributions]) -> dict[str, list[float]]:
    """Return the distances of each simulation of one program to each of another."""
    return distances(product(ours, theirs))


def described(found: Mapping[str, list[float]]) -> str:
    """Return mean and largest distance of each measure, as text."""
    return ", ".join(
        f"{measure} {np.mean(values):.3f} (largest {max(values):.3f})"
        for measure, values in found.items()
        if values
    )
