"""Whether a step is too long for a model: what one sub-step makes of a small deviation.

A sub-step maps old states to new ones. Near a point this map is a matrix, whose eigenvalues say
what becomes of a deviation. Exact integration gives ``exp(-dt / tau)``, between 0 and 1, for any
``dt``. Explicit Euler gives ``1 - dt / tau``; below -1 the deviation changes its sign and grows in
each sub-step: the numbers explode, whatever the equation does. Growth without a change of sign can
be the equation's own and is no fault. The matrix comes from the text of the model, by differences
of its mathematics around given states, without input.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .component import NDComponent
from .language.evaluate import Column, NotReadError
from .sub_step import SubStep

_LEAST = -1.0 - 1e-6
"""An eigenvalue below this makes a deviation grow."""

_DIFFERENCE = 1e-6


@dataclass(frozen=True)
class Overshoot:
    """How a sub-step that is too long shows.

    Attributes
    ----------
    component : int
        Number of the worst of the components that were looked at.
    factor : float
        By which a sub-step multiplies a deviation: below -1.
    state : str
        The state that deviates most.
    parameter : str
        What decides on the factor; empty where no parameter does.
    stable : float
        Longest stable step of that component, s.
    """

    component: int
    factor: float
    state: str
    parameter: str
    stable: float


def overshoot(
    model: type[NDComponent], params: Mapping[str, Column], states: Mapping[str, Column], dt: float
) -> Overshoot | None:
    """Return how a step overshoots in some components of a model; None where it does not.

    Parameters
    ----------
    params, states : mapping of str to (n,) float64
        Of components; the states are those around which the model is looked at.
    dt : float
        Step in seconds.
    """
    if model.runtime.opaque or model.sub_units is not None or not states:
        return None
    try:
        with np.errstate(all="ignore"):
            return _Linearised(model, params, states).overshoot(dt)
    except (NotReadError, KeyError, TypeError, ValueError, np.linalg.LinAlgError):
        return None  # a text beyond this module


class _Linearised(SubStep):
    """One sub-step of some components, around given states."""

    def __init__(
        self,
        model: type[NDComponent],
        params: Mapping[str, Column],
        states: Mapping[str, Column],
    ) -> None:
        super().__init__(model)
        self.params = {name: np.asarray(values, dtype=float) for name, values in params.items()}
        self.point = np.stack([np.asarray(states[name], dtype=float) for name in model.states])
        self.count = self.point.shape[1]

    def after(self, point: Column, dt: float, params: Mapping[str, Column]) -> Column:
        """Return the states after a sub-step, (states, n)."""
        states = dict(zip(self.model.states, point, strict=True))
        names = self.names_after(states, params, dt)
        rows = [np.broadcast_to(names[name], (self.count,)) for name in self.model.states]
        return np.stack(rows).astype(float)

    def matrices(self, dt: float, params: Mapping[str, Column] | None = None) -> Column:
        """Return the matrix of a sub-step of each component, (n, states, states)."""
        given = self.params if params is None else params
        base = self.after(self.point, dt, given)
        columns = []
        for number in range(len(self.point)):
            size = _DIFFERENCE * np.fmax(np.abs(self.point[number]), 1.0)
            ahead, back = (self._slope(number, sign * size, base, dt, given) for sign in (1, -1))
            columns.append(np.where(np.isnan(ahead), np.where(np.isnan(back), 0.0, back), ahead))
        return np.moveaxis(np.stack(columns), (0, 1, 2), (2, 1, 0))

    def _slope(
        self, number: int, size: Column, base: Column, dt: float, given: Mapping[str, Column]
    ) -> Column:
        """Return the change of all states for that of one, (states, n); NaN where they jump."""
        slopes = []
        for part in (size, size / 16):
            point = self.point.copy()
            point[number] += part
            moved = point[number] - self.point[number]
            slopes.append((self.after(point, dt, given) - base) / moved)
        wide, near = slopes
        largest = np.fmax(np.abs(wide), np.abs(near))
        smooth = np.abs(wide - near) <= 0.02 * largest + 1e-4
        return np.where(smooth, wide, np.nan)

    def factors(self, dt: float, params: Mapping[str, Column] | None = None) -> Column:
        """Return the least eigenvalue of each component by its real part, (n,)."""
        matrices = self.matrices(dt, params)
        known: NDArray[np.bool_] = np.asarray(np.isfinite(matrices).all(axis=(1, 2)))
        values = np.linalg.eigvals(np.where(known[:, None, None], matrices, 0.0))
        least: Column = np.where(known, values.real.min(axis=1), 0.0)
        return least

    def overshoot(self, dt: float) -> Overshoot | None:
        """Return the worst component that overshoots because of the step."""
        factors = self.factors(dt)
        by_step = np.asarray(self.factors(dt / 1000) >= _LEAST)
        factors = np.asarray(np.where(by_step, factors, 0.0))
        worst = int(np.argmin(factors))
        if factors[worst] >= _LEAST:
            return None
        return Overshoot(
            worst, float(factors[worst]), self._state(worst, dt), self._deciding(worst, dt),
            self._stable(worst, dt),
        )  # fmt: skip

    def _state(self, number: int, dt: float) -> str:
        values, vectors = np.linalg.eig(self.matrices(dt)[number])
        vector = np.abs(vectors[:, int(np.argmin(values.real))])
        return str(list(self.model.states)[int(np.argmax(vector))])

    def _deciding(self, number: int, dt: float) -> str:
        """Return the parameter on which the factor depends most; a time comes first."""
        before, best, name = self.factors(dt)[number], 1e-3, ""
        for one in sorted(self.params, key=lambda n: self.model.params[n].unit not in ("ms", "s")):
            more = {**self.params, one: self.params[one] * 1.001}
            change = 1e3 * abs(self.factors(dt, more)[number] - before) / abs(before)
            if change > 1.05 * best:
                best, name = float(change), one
        return name

    def _stable(self, number: int, dt: float) -> float:
        """Return the longest step below ``dt`` that is stable for a component."""
        low, high = dt / 1000, dt
        for _ in range(24):
            middle = float(np.sqrt(low * high))
            if self.factors(middle)[number] >= _LEAST:
                low = middle
            else:
                high = middle
        return low


def sampled(columns: Mapping[str, NDArray[np.floating]], count: int, most: int) -> list[int]:
    """Return components to look at: ``most`` of them, and the extremes of each column."""
    chosen = {*np.linspace(0, count - 1, min(count, most)).astype(int).tolist()}
    for column in columns.values():
        if np.ndim(column):
            chosen |= {int(np.argmin(column)), int(np.argmax(column))}
    return sorted(chosen)
