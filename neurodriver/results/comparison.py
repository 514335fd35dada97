"""Runs under several conditions -> rates of groups of components, side by side."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import html
from ..arguments import checked_arguments, instance, optional, text
from ..circuit.circuit import Circuit
from ..circuit.node_columns import POPULATION
from ..circuit.uids import uid_list
from ..errors import NeurodriverError, RecordingError
from ..model.kinds import SPIKES
from ..quantities import number_of_seconds
from .batch import BatchRecording
from .export import needed
from .recording import Recording

NONE = "(none)"
"""Group of components that have nothing in the column."""

LINES = 20
"""Groups that are printed; those whose rates differ most."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """Mean rates of groups of components under several conditions.

    Attributes
    ----------
    by : str
        Column by which components are grouped.
    conditions : tuple of str
    groups : tuple of str
    components : (groups,) int64
        Recorded components of each group.
    trials : (conditions,) int64
    rates : (conditions, groups) float64
        Spikes a second and component, mean over trials, Hz.
    deviations : (conditions, groups) float64
        Standard deviation over trials, Hz; NaN of one trial.
    """

    by: str
    conditions: tuple[str, ...]
    groups: tuple[str, ...]
    components: NDArray[np.int64]
    trials: NDArray[np.int64]
    rates: NDArray[np.float64]
    deviations: NDArray[np.float64]

    @property
    def order(self) -> NDArray[np.int64]:
        """Numbers of the groups, those whose rates differ most between conditions first."""
        spread = self.rates.max(axis=0) - self.rates.min(axis=0)
        return np.lexsort((-self.rates.max(axis=0), -spread))

    def to_pandas(self) -> Any:
        """Return a frame: a row for each group, a column of rates for each condition, Hz."""
        pd = needed("pandas")
        columns = dict(zip(self.conditions, self.rates, strict=True))
        index = pd.Index(self.groups, name=self.by)
        return pd.DataFrame({"components": self.components, **columns}, index=index)

    def plot(
        self, path: str | os.PathLike[str] | None = None, ax: Any = None, most: int = LINES
    ) -> Any:
        """Draw the rates of the groups that differ most.

        Parameters
        ----------
        path : path, optional
            Where to write the figure, too.
        ax : matplotlib axes, optional
            Where to draw; by default in a new figure.
        most : int
            Groups that are drawn.

        Returns
        -------
        matplotlib axes, Path or matplotlib Figure
            ``ax`` if it is given, else ``path`` if it is given, else the figure, which a
            notebook shows.
        """
        # `plot` is above this folder.
        draw = import_module("neurodriver.plot.comparison").draw_comparison
        return draw(self, path, ax, most)

    def _rows(self) -> list[tuple[object, ...]]:
        chosen = self.order[:LINES].tolist()
        rates = [[round(float(r), 2) for r in self.rates[:, g]] for g in chosen]
        counts = [int(self.components[g]) for g in chosen]
        return [(self.groups[g], n, *r) for g, n, r in zip(chosen, counts, rates, strict=True)]

    def __repr__(self) -> str:
        wide = max([len(self.by), *(len(str(row[0])) for row in self._rows())])
        columns = [max(len(c) + 2, 10) for c in self.conditions]
        heads = "".join(f"{c:>{w}}" for c, w in zip(self.conditions, columns, strict=True))
        lines = [f"{self.by:<{wide}}{'cells':>8}{heads}   (Hz)"]
        for name, count, *rates in self._rows():
            cells = "".join(f"{r:>{w}.2f}" for r, w in zip(rates, columns, strict=True))
            lines.append(f"{name:<{wide}}{count:>8,}{cells}")
        if len(self.groups) > LINES:
            lines.append(f"and {len(self.groups) - LINES:,} groups that differ less")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        head = (self.by, "cells", *(f"{name}, Hz" for name in self.conditions))
        return html.table("rates", head, self._rows(), len(self.groups))


def _groups(value: Any, name: str) -> Any:
    return value if isinstance(value, Mapping) else text(value, name)


@checked_arguments(
    circuit=optional(instance(Circuit)),
    by=_groups,
    start=number_of_seconds,
    stop=optional(number_of_seconds),
)
def compare(
    runs: Mapping[str, Any],
    circuit: Circuit | None = None,
    by: str | Mapping[str, Any] = POPULATION,
    start: float = 0.0,
    stop: float | None = None,
) -> Comparison:
    """Compare the rates of groups of components between conditions.

    Parameters
    ----------
    runs : mapping of str to run
        Condition -> a recording, that of a batch, the file of one, an LPU that has run, or a
        sequence of these. The copies of a batch and the members of a sequence are trials.
    circuit : Circuit, optional
        Whose node columns group the components; by default that of the first LPU.
    by : str or mapping
        Node column, such as ``"type"``; or name -> population, selection or uids. Without a
        circuit ``"population"`` is known from the recordings.
    start, stop : float
        Spikes count from ``start`` on until before ``stop``, s; by default the whole run.

    Returns
    -------
    Comparison

    Raises
    ------
    NeurodriverError
        Without runs or without groups, or where a run has no spikes or no such time.

    Examples
    --------
    >>> runs = {"control": recording, "silenced": other}  # doctest: +SKIP
    >>> print(nd.compare(runs, brain, by="type"))  # doctest: +SKIP
    """
    if not isinstance(runs, Mapping) or not runs:
        raise NeurodriverError(
            f"compare: a mapping of conditions to runs is needed, got {runs!r:.60}"
        )
    trials = {str(name): list(_trials(run)) for name, run in runs.items()}
    empty = [name for name, some in trials.items() if not some]
    if empty:
        raise NeurodriverError(f"compare: condition {empty[0]!r} has no run")
    if circuit is None:
        of = [getattr(run, "circuit", None) for run in runs.values()]
        circuit = next((one for one in of if isinstance(one, Circuit)), None)
    labels = _Labels(circuit, by)
    counted = [
        [_counts(one, labels, name, start, stop) for one in some] for name, some in trials.items()
    ]
    names = tuple(dict.fromkeys(n for some in counted for found in some for n in found))
    if not names:
        raise NeurodriverError(f"compare: no recorded component belongs to a group by {by!r:.60}")
    cells = [max(f.get(n, (0, 0.0))[0] for some in counted for f in some) for n in names]
    rates = [np.array([[f.get(n, (0, 0.0))[1] for n in names] for f in some]) for some in counted]
    spread = [r.std(axis=0, ddof=1) if len(r) > 1 else np.full(len(names), np.nan) for r in rates]
    return Comparison(
        by if isinstance(by, str) else "group",
        tuple(trials),
        names,
        np.array(cells, dtype=np.int64),
        np.array([len(r) for r in rates], dtype=np.int64),
        np.stack([r.mean(axis=0) for r in rates]),
        np.stack(spread),
    )


def _trials(run: Any) -> Iterable[Recording]:
    """Yield the recordings of a condition."""
    if isinstance(run, str | os.PathLike):
        run = Recording(run)
    elif not isinstance(run, Recording | BatchRecording) and hasattr(run, "recording"):
        run = run.recording
    if isinstance(run, BatchRecording):
        yield from run.copies
    elif isinstance(run, Recording):
        yield run
    elif isinstance(run, Sequence):
        for one in run:
            yield from _trials(one)
    else:
        want = "a recording, a file, an LPU or a sequence of these"
        raise NeurodriverError(f"compare: {want} is needed, got {run!r:.60}")


class _Labels:
    """Says to which groups components belong."""

    def __init__(self, circuit: Circuit | None, by: str | Mapping[str, Any]) -> None:
        self.circuit, self.by = circuit, by
        self.column: NDArray[Any] | None = None
        if isinstance(by, Mapping):
            self.members = {str(name): set(uid_list(who)) for name, who in by.items()}
        elif circuit is not None:
            every = circuit.select()
            column = every.column(by).astype(np.str_)
            self.column = np.full(circuit.count, "", dtype=column.dtype)
            self.column[every.numbers] = column
        elif by != POPULATION:
            raise NeurodriverError(f"compare: by={by!r:.60} needs circuit=, whose column it is")

    def of(self, recording: Recording, uids: list[str]) -> dict[str, NDArray[np.int64]]:
        """Return the columns of each group."""
        if isinstance(self.by, Mapping):
            found = {
                name: np.flatnonzero([uid in members for uid in uids])
                for name, members in self.members.items()
            }
            return {name: columns for name, columns in found.items() if len(columns)}
        if self.column is None:
            place = {uid: i for i, uid in enumerate(uids)}
            return {
                name: np.array([place[uid] for uid in members if uid in place], dtype=np.int64)
                for name, members in recording.populations.items()
            }
        assert self.circuit is not None
        numbers = self.circuit.find(uids)
        known = np.flatnonzero(numbers >= 0)
        column = self.column[numbers[known]]
        values, codes = np.unique(column, return_inverse=True)
        return {str(v) or NONE: known[codes == i] for i, v in enumerate(values.tolist())}


def _counts(
    recording: Recording, labels: _Labels, name: str, start: float, stop: float | None
) -> dict[str, tuple[int, float]]:
    """Return components and mean rate of each group in one run."""
    if SPIKES not in recording.variables:
        raise RecordingError(f"compare: {name}: {recording.name} holds no {SPIKES}; record it")
    end = recording.duration if stop is None else stop
    if not 0 <= start < end <= recording.duration * (1 + 1e-9):
        span = f"from {start:g} to {end:g} s"
        raise NeurodriverError(f"compare: {name}: no time {span} in {recording.duration:g} s")
    spikes = recording.spikes.between(start, end)
    counts = np.bincount(spikes.index, minlength=len(spikes.uids))
    groups = labels.of(recording, list(spikes.uids))
    return {g: (len(c), float(counts[c].mean()) / (end - start)) for g, c in groups.items()}
