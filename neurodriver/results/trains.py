"""Measures of single spike trains: rate and CV, and those of elephant where it is installed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import checked_arguments, keyed, number, optional, texts
from ..errors import NeurodriverError, near, quoted
from ..io.optional import needed
from .events import Events
from .firing import interval_cvs, members_of, spikes_in, spikes_of

Values = NDArray[np.float64]

OWN = ("rate", "cv")
"""Measures that need no other package."""

OF_ELEPHANT = ("cv2", "lv", "lvr")
"""Measures of intervals that elephant computes, by the names that they have there."""


@checked_arguments(populations=optional(keyed), stop=optional(number), start=number, measures=texts)
def train_measures(
    time: ArrayLike | Mapping[str, Any] | Events,
    index: ArrayLike | None = None,
    populations: Mapping[str, ArrayLike] | None = None,
    stop: float | None = None,
    start: float = 0.0,
    measures: str | Sequence[str] = OWN,
) -> dict[str, dict[str, Values]]:
    """Return measures of each neuron's spikes from ``start`` on until before ``stop``.

    Parameters
    ----------
    time, index, populations, stop, start
        As of `activity`.
    measures : str or sequence of str
        ``"rate"`` in Hz, ``"cv"`` of the intervals, and through elephant ``"cv2"`` (Holt et al.
        1996, doi:10.1152/jn.1996.75.5.1806), ``"lv"`` (Shinomoto et al. 2003,
        doi:10.1162/089976603322518759) and ``"lvr"`` (Shinomoto et al. 2009,
        doi:10.1371/journal.pcbi.1000433).

    Returns
    -------
    dict of str to dict of str to (n,) float
        Population -> measure -> value of each neuron, in ascending order of the neurons. NaN where
        a neuron has fewer than two intervals; a rate is never NaN.

    Raises
    ------
    NeurodriverError
        For an unknown measure, one that needs elephant where it is missing, and as of `activity`.

    Examples
    --------
    >>> train_measures([0.1, 0.2, 0.3], [0, 0, 0], {"all": range(2)}, stop=1.0)["all"]["rate"]
    array([3., 0.])
    """
    wanted = [measures] if isinstance(measures, str) else list(measures)
    known = (*OWN, *OF_ELEPHANT)
    for name in wanted:
        if name not in known:
            say = f"unknown measure {quoted(name)}{near(name, known)}"
            raise NeurodriverError(f"train_measures: {say}; there are {', '.join(known)}")
    functions = {name: _of_elephant(name) for name in wanted if name in OF_ELEPHANT}
    spikes = spikes_of("train_measures", time, index, populations, stop)
    when, who = spikes_in(spikes.time, spikes.index, start, spikes.stop)
    out: dict[str, dict[str, Values]] = {}
    for population, given in spikes.populations.items():
        neurons = members_of(population, given)
        mine = np.isin(who, neurons, kind="table" if who.size else None)
        train, owner = when[mine], who[mine]
        ends = np.searchsorted(owner, [neurons, neurons + 1])
        found: dict[str, Values] = {"rate": (ends[1] - ends[0]) / (spikes.stop - start)}
        cv = np.full(neurons.size, math.nan)
        those, values = interval_cvs(train, owner)
        cv[np.searchsorted(neurons, those)] = values
        found["cv"] = cv
        for name, function in functions.items():
            found[name] = np.array(
                [
                    function(np.diff(train[first:last])) if last - first > 2 else math.nan
                    for first, last in ends.T.tolist()
                ],
                np.float64,
            )
        out[population] = {name: found[name] for name in wanted}
    return out


def _of_elephant(name: str) -> Any:
    """Return a function of intervals in s."""
    statistics = needed("elephant.statistics", "statistics")
    if name != "lvr":
        return getattr(statistics, name)
    second = needed("quantities", "statistics").s
    return lambda intervals: statistics.lvr(intervals * second)
