"""How strong one event, or a pulse of current, must be to make a resting cell fire.

A few copies of the cell get stimuli of different strength. Their mathematics is computed in NumPy,
without compiling it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .component import NDComponent
from .kinds import VariableKind
from .language.evaluate import Column, NotReadError
from .sub_step import SubStep

STEP = 1e-4
"""Step of the trial, s."""

WINDOW = 15e-3
"""A spike counts that comes within it, s."""

REST = 50e-3
"""Time without a stimulus after which a cell is taken to rest, s."""

PULSE = 1e-3
"""Length of a pulse of current, s."""

MARGIN = 10.0
"""How much stronger than the weakest sufficient stimulus one for a single spike is at most."""

_COARSE = np.geomspace(1e-4, 1e6, 61)
"""Strengths that are tried first; between two of them others follow."""

_FINE = 17


@dataclass(frozen=True)
class Response:
    """How a resting cell answers.

    Attributes
    ----------
    strength : float
        The weakest stimulus that makes all cells fire: a weight, or the value of a current.
    single : float
        The strongest one, up to `MARGIN` times as strong, that makes each cell fire once. It also
        makes cells fire that do not rest.
    latency : float
        Time of the last first spike after that stimulus, s.
    """

    strength: float
    single: float
    latency: float


def weakest(
    model: type[NDComponent],
    access: str,
    params: Mapping[str, Column],
    states: Mapping[str, Column],
) -> Response | None:
    """Return the weakest stimulus at an access that makes resting cells fire.

    Parameters
    ----------
    access : str
        Of events, which arrive once; or of anything else, which lasts for `PULSE` seconds.
    params, states : mapping of str to (n,) float64
        Of the cells; the states are those at rest.

    Returns
    -------
    Response or None
        None where no stimulus makes each of the cells fire, where the model has no spikes, and
        where its mathematics cannot be evaluated.
    """
    columns = [
        (name, tuple(np.atleast_1d(column).tolist()))
        for table in (params, states)
        for name, column in table.items()
    ]
    key = model, access, len(params), tuple(columns)
    if key not in _KNOWN:
        _KNOWN[key] = _weakest(model, access, params, states)
    return _KNOWN[key]


_KNOWN: dict[Any, Response | None] = {}
"""Responses of cells that have been tried."""


def _weakest(
    model: type[NDComponent],
    access: str,
    params: Mapping[str, Column],
    states: Mapping[str, Column],
) -> Response | None:
    if model.runtime.opaque or model.sub_units is not None or not states:
        return None
    if not _spikes(model):
        return None
    trial = _Trial(model, access, params, states)
    try:
        with np.errstate(all="ignore"):
            trial.settle()
            return _found(trial)
    except (NotReadError, KeyError, TypeError, ValueError):
        return None


def _found(trial: _Trial) -> Response | None:
    """Return the response to the weakest of many stimuli that suffices."""
    enough = np.isfinite(trial.first_spikes(_COARSE)).all(axis=1)
    if not enough.any():
        return None
    first = int(np.argmax(enough))
    strengths = np.geomspace(_COARSE[first - 1] if first else 1e-5, _COARSE[first], _FINE)
    fine = trial.first_spikes(strengths)
    place = int(np.argmax(np.isfinite(fine).all(axis=1)))
    least = float(strengths[place])
    tried = np.geomspace(least, MARGIN * least, _FINE)
    once = trial.spikes(tried).max(axis=1) <= 1
    last = len(tried) if once.all() else max(int(np.argmin(once)), 1)
    return Response(least, float(tried[last - 1]), float(fine[place].max()))


def _spikes(model: type[NDComponent]) -> list[str]:
    return [name for name in model.updates if model.kind_of(name) is VariableKind.EVENT]


class _Trial:
    """Cells that get stimuli of different strength."""

    def __init__(
        self,
        model: type[NDComponent],
        access: str,
        params: Mapping[str, Column],
        states: Mapping[str, Column],
    ) -> None:
        self.model, self.access = model, access
        self.sub_step = SubStep(model)
        self.params, self.states = params, states
        event = model.kind_of(model.access(access).variable) is VariableKind.EVENT
        self.stimulated = 1 if event else round(PULSE / STEP)
        self.cells = max(len(column) for column in states.values())

    def first_spikes(self, strengths: Column) -> NDArray[np.float64]:
        """Return the time of the first spike by strength and cell, s; infinite without one.

        A spike that also comes without a stimulus does not count.
        """
        given = np.concatenate([[0.0], strengths])
        times, _ = self._run(given)
        answers = times[1:] < times[0]
        return np.where(answers, times[1:], np.inf)

    def spikes(self, strengths: Column) -> NDArray[np.int64]:
        """Return the number of spikes within the window by strength and cell."""
        return self._run(strengths, whole=True)[1]

    def settle(self) -> None:
        """Let the cells come to rest."""
        nothing = np.zeros(self.cells)
        for _ in range(round(REST / STEP)):
            before = self.states
            self.states, _ = self._step(self.params, before, nothing)
            if all(np.array_equal(self.states[name], before[name]) for name in before):
                return

    def _step(
        self, params: Mapping[str, Column], states: Mapping[str, Column], values: Column
    ) -> tuple[Mapping[str, Column], NDArray[np.bool_]]:
        """Return the states after a step, and which cells fired in it."""
        fired = np.zeros(len(values), dtype=bool)
        for substep in range(self.model.substeps(STEP)):
            given = {self.access: values}
            names = self.sub_step.names_after(states, params, STEP, given, substep)
            for spike in _spikes(self.model):
                fired |= np.broadcast_to(names[spike], values.shape) > 0
            states = {name: names[name] for name in states}
        return states, fired

    def _run(
        self, strengths: Column, whole: bool = False
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return the first spike and the number of spikes by strength and cell.

        Without ``whole`` the trial ends when all but those of the first strength have fired.
        """
        n = len(strengths)
        values = np.repeat(strengths, self.cells)
        params = {name: np.tile(column, n) for name, column in self.params.items()}
        states: Mapping[str, Column] = {n_: np.tile(c, n) for n_, c in self.states.items()}
        times, counts = np.full(n * self.cells, np.inf), np.zeros(n * self.cells, np.int64)
        for step in range(round(WINDOW / STEP)):
            now = values if step < self.stimulated else np.zeros_like(values)
            states, fired = self._step(params, states, now)
            times = np.where(fired & np.isinf(times), (step + 1) * STEP, times)
            counts += fired
            if not whole and np.isfinite(times[self.cells :]).all():
                break
        return times.reshape(n, self.cells), counts.reshape(n, self.cells)
